"""Types, functions and data meet along each choice of axes, and where more elements are reduced than 16 bits count."""

from functools import cache
from math import prod

from dmlcts.generator.case.case import Case
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.one_factor.reductions import reduction_cases, row_cases
from dmlcts.generator.sweeps.table import BEYOND_16_BITS
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import violations


@cache
def cases(name: str) -> tuple[Case, ...]:
    return tuple(reduction_cases(plan_of(load(name))))


def long(name: str) -> list[Case]:
    return [case for case in cases(name) if f"={BEYOND_16_BITS}." in case.id or "=31x65x33" in case.id]


def label(case: Case) -> str:
    return case.id.split("/")[3]


def reduced(case: Case) -> int:
    """How many elements each result of a reduction comes from."""
    axes = case.desc.fields["Axes"]
    assert isinstance(axes, tuple)
    return prod(case.desc.tensor("InputTensor").sizes[axis] for axis in axes)


def test_each_function_type_and_kind_of_data_meet() -> None:
    found = long("REDUCE")
    assert all(reduced(case) > 1 << 16 for case in found)
    assert all(not violations(case.operator, case.desc) and case.level == "full" for case in found)
    met = {(case.desc.fields["Function"], case.data_type, case.id.split("/")[3].partition(".of-")[2]) for case in found}
    for function in ("AVERAGE", "MIN", "MAX", "SUM", "LOG_SUM_EXP"):
        assert {(function, "FLOAT16", kind) for kind in ("random", "Input-positive", "Input-negative", "Input-large")} <= met


def test_each_choice_of_axes_meets_them_where_dimensions_are_short() -> None:
    short = [case for case in cases("REDUCE") if "/short.of-" in case.id]
    met = {(case.desc.fields["Function"], case.desc.fields["Axes"], case.data_type, case.id.split("/")[3]) for case in short}
    for axes in ((3,), (0,), (1,), (0, 2), (3, 1), (0, 1, 2, 3)):
        assert {("LOG_SUM_EXP", axes, "FLOAT16", f"short.of-Input-{kind}") for kind in ("wide", "negative")} <= met


def test_rows_take_an_odd_number_of_rounds_and_columns_no_whole_blocks() -> None:
    lines = {(label(case), case.data_type, case.desc.fields["Function"]): case for case in cases("REDUCE")}
    for size in (384, 640):
        for data_type in ("FLOAT32", "FLOAT16"):
            assert reduced(lines[f"S[-1]={size}.of-random", data_type, "MAX"]) == size
    columns = [case for case in cases("REDUCE") if "=4099.of-Input-negative" in case.id]
    assert {case.desc.fields["Function"] for case in columns} >= {"SUM", "MAX", "LOG_SUM_EXP", "L2"}
    assert all(reduced(case) == 4099 and case.desc.tensor("InputTensor").sizes[-1] == 3 for case in columns)


def test_one_dimension_is_long_or_several_together() -> None:
    longest = [max(case.desc.tensor("InputTensor").sizes) for case in long("REDUCE")]
    assert longest.count(BEYOND_16_BITS) > 100
    assert sum(size < 100 for size in longest) > 100


def test_an_operator_with_a_single_axis_has_one_long_dimension() -> None:
    assert {case.desc.tensor("InputTensor").sizes[-1] for case in long("CUMULATIVE_SUMMATION")} == {BEYOND_16_BITS}


def test_so_many_rows_and_planes_that_groups_of_threads_are_counted_beyond_16_bits() -> None:
    for name in ("REDUCE", "CUMULATIVE_SUMMATION", "ACTIVATION_SOFTMAX1"):
        found = {label(case): case for case in cases(name) if f"S={BEYOND_16_BITS}x" in case.id}
        rows, planes = found[f"S={BEYOND_16_BITS}x33.of-random"], found[f"S={BEYOND_16_BITS}x2x4.of-random"]
        assert rows.data_type.startswith("FLOAT16")
        assert rows.desc.tensor("InputTensor").sizes == (1, 1, BEYOND_16_BITS, 33)
        assert planes.desc.tensor("InputTensor").sizes == (1, BEYOND_16_BITS, 2, 4)
    assert {case.desc.fields["Axis"] for case in cases("CUMULATIVE_SUMMATION") if f"S={BEYOND_16_BITS}x2x4" in case.id} == {2}


def test_operators_without_axes_and_levels_below_full_have_none() -> None:
    assert not cases("ELEMENT_WISE_ADD")
    assert not list(reduction_cases(plan_of(load("REDUCE")), "core"))


def test_every_operator_with_axes_has_some() -> None:
    assert all(cases(name) for name in operator_names() if load(name).turning is not None)


def test_core_has_rows_of_each_length_for_each_type_and_function() -> None:
    cases = list(row_cases(plan_of(load("REDUCE")), "core"))
    assert {case.level for case in cases} == {"core"}
    lengths = {(case.desc.fields["Function"], case.data_type, case.desc.tensor("InputTensor").sizes[-1]) for case in cases}
    functions = {(function, data_type) for function, data_type, _ in lengths}
    assert {("SUM", "FLOAT32"), ("ARGMIN", "INT8"), ("MULTIPLY", "INT64")} <= functions
    assert len(lengths) == len(functions) * len(table.ROW_LENGTHS)
    counts = {case.desc.tensor("InputTensor").sizes[-2] for case in cases}
    assert counts == set(table.ROW_COUNTS)
    assert all(case.desc.tensor("OutputTensor").sizes[-1] == 1 for case in cases)


def test_rows_are_a_small_part_of_core_and_of_no_operator_without_axes() -> None:
    assert list(row_cases(plan_of(load("GEMM")), "core")) == []
    assert list(row_cases(plan_of(load("ACTIVATION_SOFTMAX1")), "smoke")) == []
    assert len(list(row_cases(plan_of(load("ACTIVATION_SOFTMAX1")), "full"))) == 2 * len(table.ROW_LENGTHS)
