"""What the suite must try, demand by demand: the lists of values, sizes, layouts and wrong descs that were asked for."""

import math
from itertools import product
from math import prod

import numpy as np
import pytest

from dmlcts.generator.case.case import REJECTION, Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.negative.cases import unenforced_rules
from dmlcts.generator.suite.suite import operator_cases, select
from dmlcts.generator.values.layouts import INPUT_LAYOUTS, layout_of
from dmlcts.spec.model.abi import abi, data_type
from dmlcts.spec.model.desc import TensorDesc, packed_strides
from dmlcts.spec.model.dtypes import bits_dtype
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load

BINARY = ("ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_BIT_XOR", "ELEMENT_WISE_BIT_SHIFT_RIGHT")
BITS = (*BINARY, "ELEMENT_WISE_BIT_COUNT")
# The first operators; then attributes of every kind, an optional tensor beside types that differ, and sizes with symbols.
SAMPLE = (*BITS, "ELEMENT_WISE_ROUND", "ELEMENT_WISE_CLIP1", "ELEMENT_WISE_QUANTIZE_LINEAR", "ACTIVATION_SOFTMAX")
NOT_IN_PLACE = {"ELEMENT_WISE_BIT_COUNT", "ELEMENT_WISE_QUANTIZE_LINEAR", "ACTIVATION_SOFTMAX"}
MODES = ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")


def cases(name: str, kind: str, level: str = "core") -> list[Case]:
    """The documented cases of a kind at a level."""
    return [case for case in select(operator_cases(name), level=level) if case.kind == kind]


def shapes(name: str) -> set[tuple[int, ...]]:
    return {next(case.desc.tensors())[1].sizes for kind in ("combination", "sizes") for case in cases(name, kind, "full")}


# Tables


@pytest.mark.parametrize("name", SAMPLE)
def test_every_cell_of_every_table(name: str) -> None:
    operator = load(name)
    covered = {label for kind in ("table", "combination") for case in cases(name, kind, "full") for label in case.covers}
    for table in operator.support:
        for tensor, row in table.tensors.items():
            for listed in row.data_types:
                for count in row.dimension_counts():
                    assert f"support/{table.level}/{tensor}/{listed}/{count}d" in covered


@pytest.mark.parametrize("count", range(1, 9))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["FLOAT16", "FLOAT32"])
def test_every_rounding_mode_at_every_dimension_count(count: int, mode: str, name: str) -> None:
    found = [
        case
        for kind in ("combination", "random")
        for case in cases("ELEMENT_WISE_ROUND", kind, "full")
        if case.desc.fields["RoundingMode"] == mode
        and case.desc.tensor("InputTensor").data_type == case.desc.tensor("OutputTensor").data_type == name
        and case.desc.tensor("InputTensor").DimensionCount == count
    ]
    assert found


@pytest.mark.parametrize("name", SAMPLE)
def test_every_example_of_the_documentation(name: str) -> None:
    documented = {example.id for example in load(name).examples if example.basis == "documented"}
    assert {case.covers[-1].removeprefix("example/") for case in cases(name, "example", "smoke")} == documented


# Values of the bit operators


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_patterns_for_bits(name: str, width: int) -> None:
    ones = (1 << width) - 1
    alternating = ones // 3
    wanted = {0, 1, ones, alternating, ones ^ alternating, 1 << (width - 1), ones >> 1, *(1 << bit for bit in range(width))}
    for tensor in ("ATensor", "BTensor") if name in BINARY[:2] else ("InputTensor",) if name not in BINARY else ("ATensor",):
        seen: set[int] = set()
        for case in cases(name, "values"):
            found = inputs(case)[tensor]
            if data_type(case.data_type).bits == width:
                seen |= {int(pattern) & ones for pattern in found.ravel().view(bits_dtype(case.data_type))}
        assert wanted <= seen, tensor


@pytest.mark.parametrize("name", ["UINT8", "UINT16", "UINT32", "UINT64"])
def test_shift_amounts(name: str) -> None:
    width = data_type(name).bits
    seen: set[int] = set()
    for case in cases("ELEMENT_WISE_BIT_SHIFT_RIGHT", "values"):
        if case.data_type == name:
            seen |= set(inputs(case)["BTensor"].ravel().tolist())
    assert {0, 1, width - 1} <= seen
    assert max(seen) < width  # documented cases stop there


@pytest.mark.parametrize("name", ["UINT8", "UINT16", "UINT32"])
def test_shift_amounts_from_the_width_on_are_measured(name: str) -> None:
    (case,) = [
        case
        for case in operator_cases("ELEMENT_WISE_BIT_SHIFT_RIGHT")
        if case.kind == "example" and case.data_type == name and case.basis == "measured"
    ]
    amounts = set(inputs(case)["BTensor"].tolist())
    width = data_type(name).bits
    assert {width, 32, 33, 64, 255} <= amounts
    assert min(amounts) >= width


def test_random_data_of_a_shift_stay_below_the_width() -> None:
    for case in operator_cases("ELEMENT_WISE_BIT_SHIFT_RIGHT"):
        if case.basis == "documented" and case.expect != REJECTION:
            assert (inputs(case)["BTensor"].astype(np.uint64) < data_type(case.data_type).bits).all(), case.id


# Values of ROUND


def seen_by_round(name: str, mode: str, basis: str = "documented") -> np.ndarray:
    """Every value that ROUND is given in core, as float64; NaN and zeros keep their signs."""
    found = [
        inputs(case)["InputTensor"].ravel()
        for case in select(operator_cases("ELEMENT_WISE_ROUND"), level="core", basis=basis)
        if case.kind == "values" and case.data_type == name and case.desc.fields["RoundingMode"] == mode
    ]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return np.concatenate(found).astype(np.float64)


@pytest.mark.parametrize("name", ["FLOAT16", "FLOAT32"])
@pytest.mark.parametrize("mode", MODES)
def test_values_for_rounding(name: str, mode: str) -> None:
    values = seen_by_round(name, mode)
    have = set(values.tolist())
    digits = {"FLOAT16": 10, "FLOAT32": 23}[name]
    smallest = {"FLOAT16": 2.0**-24, "FLOAT32": 2.0**-149}[name]
    assert {0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, -3.5} <= have  # halves of both signs, beside even and odd numbers
    above, below = 1.5 + 2.0**-digits, 1.5 - 2.0**-digits
    assert {above, below, -above, -below} <= have  # the numbers beside halves
    assert {2.0**digits, 2.0**digits + 2, -(2.0 ** (digits + 1))} <= have  # no fraction is left there
    assert 2.0**digits - 0.5 in have  # the last fraction
    assert {smallest, -smallest} <= have  # denormals
    zeros = values[values == 0]
    assert set(np.signbit(zeros).tolist()) == {True, False}
    assert np.isfinite(values).all()


@pytest.mark.parametrize("name", ["FLOAT16", "FLOAT32"])
@pytest.mark.parametrize("mode", MODES)
def test_nan_and_infinities_are_tried_on_the_measured_basis(name: str, mode: str) -> None:
    values = seen_by_round(name, mode, "measured")
    assert {math.inf, -math.inf} <= set(values.tolist())
    assert np.isnan(values).any()


# Sizes


@pytest.mark.parametrize("name", SAMPLE)
def test_sizes(name: str) -> None:
    found = shapes(name)
    sizes = {size for shape in found for size in shape}
    assert sizes >= {1, 2, 3, 4, 5}
    beside = {edge + step for edge in (32, 64, 128, 256, 512, 1024) for step in (-1, 0, 1)}
    assert len(beside & sizes) > 9  # beside powers of two, on which kernels turn
    assert any(prod(shape) > 65_536 for shape in found)
    assert any(shape[0] > 1 and shape[-1] > 16 for shape in found if len(shape) > 1)
    assert any(set(shape[:-1]) == {1} and shape[-1] > 1 for shape in found if len(shape) > 1)  # ones in front
    if not any("*1" in row for shape in load(name).shapes for row in shape.sizes.values()):
        assert any(shape[0] > 1 and set(shape[1:]) == {1} for shape in found if len(shape) > 1)  # ones behind
        assert any(shape[0] > 1 and 1 in shape[1:-1] and shape[-1] > 1 for shape in found)  # ones in the middle


# Layouts


def layouts_of(name: str, tensor: str, level: str = "core") -> list[TensorDesc]:
    return [case.desc.tensor(tensor) for case in cases(name, "combination", level) if case.desc.fields.get(tensor)]


@pytest.mark.parametrize("name", SAMPLE)
def test_layouts_of_inputs_and_outputs(name: str) -> None:
    operator = load(name)
    for field in (*operator.inputs(), *operator.outputs()):
        found = layouts_of(name, field.name)
        given = [tensor for tensor in found if tensor.strides is not None]
        assert any(tensor.strides is None for tensor in found), "packed"
        assert any(tensor.strides == packed_strides(tensor.sizes) for tensor in given), "packed, with strides"
        assert any(layout_of(tensor) in ("permuted", "transposed") for tensor in given), "permuted"
        assert {"padded-rows", "spread"} <= {layout_of(tensor) for tensor in given}
        zero = [tensor for tensor in given if 0 in tensor.effective_strides]
        assert bool(zero) == (field.kind == "input"), "broadcast"
        if zero:
            assert any(set(tensor.effective_strides) == {0} for tensor in zero)
            assert any(set(tensor.effective_strides) != {0} for tensor in zero)


@pytest.mark.parametrize("name", BINARY)
def test_both_inputs_are_laid_out_each_in_its_own_way(name: str) -> None:
    """Every pair in core, in full with each data type as well, but for a few: the cases have nearly all triples."""
    wanted = set(product(INPUT_LAYOUTS, INPUT_LAYOUTS))

    def pairs(level: str, *types: str) -> set[tuple[str, ...]]:
        found = [*cases(name, "combination", level), *(cases(name, "random", level) if level == "full" else ())]
        found = [case for case in found if case.data_type in types or not types]
        return {tuple(layout_of(case.desc.tensor(tensor)) for tensor in ("ATensor", "BTensor")) for case in found}

    assert pairs("core") == wanted
    for choice in ("UINT32", "UINT8"):
        assert len(pairs("full", choice)) > 0.75 * len(wanted)


@pytest.mark.parametrize("name", SAMPLE)
def test_strides_at_every_dimension_count(name: str) -> None:
    for field in load(name).fields:
        if field.is_tensor:
            found = layouts_of(name, field.name)
            strided = {tensor.DimensionCount for tensor in found if tensor.strides not in (None, packed_strides(tensor.sizes))}
            assert strided >= set(range(2, 9))


@pytest.mark.parametrize("name", SAMPLE)
def test_more_room_than_needed(name: str) -> None:
    for field in load(name).fields:
        if field.is_tensor:
            found = [(case.desc.fields[field.name], case.bindings.get(field.name)) for case in cases(name, "combination")]
            found = [(tensor, binding) for tensor, binding in found if isinstance(tensor, TensorDesc)]
            assert any(tensor.total_size is not None and tensor.total_size > tensor.least_bytes for tensor, _ in found)
            assert any(binding is not None and binding.short < 0 for _, binding in found)
            assert any(tensor.alignment >= 16 for tensor, _ in found)


@pytest.mark.parametrize("name", SAMPLE)
def test_in_place_where_it_is_permitted_and_nowhere_else(name: str) -> None:
    permitted: set[tuple[str, ...]] = set()
    for entry in load(name).in_place:
        permitted |= {(entry.output, tensor) for tensor in entry.inputs}
        permitted |= {(entry.output, *entry.inputs)} if entry.together and len(entry.inputs) > 1 else set()
    found = set()
    for case in cases(name, "combination", "full"):
        if not case.in_place or not any(tensor.startswith("Output") for tensor in case.in_place):
            continue
        assert len(set(case.in_place.values())) == 1
        shared = {*case.in_place, *case.in_place.values()}
        found.add(tuple(sorted(shared, key=lambda tensor: (not tensor.startswith("Output"), tensor))))
        assert len({case.desc.tensor(tensor) for tensor in shared}) == 1, f"{case.id}: one resource, two descs"
    assert found == permitted
    assert (name in NOT_IN_PLACE) == (not permitted)


@pytest.mark.parametrize("name", ["ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_BIT_XOR"])
def test_inputs_that_share_a_resource_hold_the_same(name: str) -> None:
    found = [case for case in cases(name, "combination", "full") if "+" in case.id]
    assert found
    for case in found:
        values = inputs(case)
        assert values["ATensor"].tobytes() == values["BTensor"].tobytes(), case.id


# Wrong descs


def rejected(name: str, level: str = "full") -> list[Case]:
    return cases(name, "negative", level)


def demanded(operator: Operator, rule: str) -> bool:
    """Whether what breaks the rule must be refused: DirectML.dll was not measured to accept it."""
    return rule not in unenforced_rules(operator)


@pytest.mark.parametrize("name", SAMPLE)
def test_each_data_type_outside_the_table(name: str) -> None:
    operator = load(name)
    newest = max(operator.support, key=lambda table: table.level)
    for tensor, row in newest.tensors.items():
        tried = {
            case.desc.tensor(tensor).data_type for case in rejected(name) if f"rejects/support/{tensor}/data-type" in case.covers
        }
        outside = (set(abi().data_types) | {"UNKNOWN"}) - set(row.data_types)
        if any(constraint.that and tensor in constraint.that.names for constraint in operator.constraints):
            assert {"UNKNOWN"} <= tried <= outside  # another type would break a constraint too
        else:
            assert tried == outside


@pytest.mark.parametrize("name", SAMPLE)
def test_each_dimension_count_outside_the_table(name: str) -> None:
    for field in load(name).fields:
        if field.is_tensor:
            tried = {
                len(case.desc.tensor(field.name).sizes)
                for case in rejected(name)
                if f"rejects/support/{field.name}/dimension-count" in case.covers
            }
            assert tried == {0, 9}


@pytest.mark.parametrize("name", SAMPLE)
def test_buffers_that_are_too_small(name: str) -> None:
    for field in load(name).fields:
        if field.is_tensor:
            short = [case.bindings[field.name].short for case in rejected(name) if case.rule == f"binding/{field.name}/size"]
            assert set(short) == ({4} if demanded(load(name), f"binding/{field.name}/size") else set())
            tensors = [case.desc.tensor(field.name) for case in rejected(name) if case.rule == f"tensor/{field.name}/total-size"]
            assert {tensor.strides is None for tensor in tensors} == {True, False}
            assert all(tensor.total_size == tensor.least_bytes - 4 for tensor in tensors)


def test_wrong_values_of_an_enumeration() -> None:
    tried = {case.desc.fields["RoundingMode"] for case in rejected("ELEMENT_WISE_ROUND") if case.rule == "enum/RoundingMode"}
    assert tried == {3, 0xFFFFFFFF}


@pytest.mark.parametrize("name", SAMPLE)
def test_each_tensor_missing_unbound_and_misaligned(name: str) -> None:
    rules = {case.rule for case in rejected(name, "core")}
    assert rules == {case.rule for case in rejected(name)}
    for field in load(name).fields:
        if field.is_tensor:
            assert {f"binding/{field.name}", f"binding/{field.name}/offset"} <= rules
            assert (f"field/{field.name}" in rules) != field.optional


# Laws


@pytest.mark.parametrize(
    ("name", "laws"),
    [
        ("ELEMENT_WISE_BIT_XOR", {"f(a, a) == 0", "f(f(a, b), b) == a"}),
        ("ELEMENT_WISE_BIT_OR", {"f(a, a) == a"}),
        ("ELEMENT_WISE_BIT_COUNT", {"f(a) + f(b) == 2 * f(a | b) - f(a ^ b)"}),
        ("ELEMENT_WISE_BIT_SHIFT_RIGHT", {"f(f(a, j), k) == f(a, j + k)"}),
        ("ELEMENT_WISE_ROUND", {"f(f(x)) == f(x)", "f(-x) == -f(x)", "implies(x <= y, f(x) <= f(y))"}),
    ],
)
def test_laws(name: str, laws: set[str]) -> None:
    texts = {relation.label: relation.law.text for relation in load(name).relations}
    tried = {texts[case.relation] for case in cases(name, "property") if case.relation}
    assert laws <= tried
    assert any(case.expect == "agreement" for case in cases(name, "property"))
