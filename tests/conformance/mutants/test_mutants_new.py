"""The families of faults as tables: each changes something, is what its table says, and what is marked no fault has a rule that says so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands import mutants as module
from dmlcts.conformance.mutants import dense, equivalent
from dmlcts.conformance.mutants.activations import LINES
from dmlcts.conformance.mutants.arithmetic import ARITHMETIC
from dmlcts.conformance.mutants.bases import OTHER_BASIS, has_other_basis
from dmlcts.conformance.mutants.bitwise import BITWISE
from dmlcts.conformance.mutants.catalogue import find_mutant, mutants, mutated_operators
from dmlcts.conformance.mutants.comparison import COMPARISON
from dmlcts.conformance.mutants.curves import CURVES
from dmlcts.conformance.mutants.fault import Fault, Faults, main_type, marked, merged, of_argument, of_inputs, saturated, stored
from dmlcts.conformance.mutants.functions import FUNCTIONS
from dmlcts.conformance.mutants.hunt import Hunt, Kill, chosen_cases, kills_in
from dmlcts.conformance.mutants.limits import LIMITS
from dmlcts.conformance.mutants.mutant import Mutant
from dmlcts.conformance.mutants.operands import operand_mutants
from dmlcts.conformance.mutants.powers import POWERS
from dmlcts.conformance.mutants.quantization import QUANTIZATION
from dmlcts.conformance.mutants.quotients import QUOTIENTS
from dmlcts.conformance.mutants.softmax import SOFTMAX
from dmlcts.conformance.mutants.table import sort_of, table
from dmlcts.generator.case import REJECTION
from dmlcts.generator.solver import spread
from dmlcts.spec.desc import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.spec.loader import load
from dmlcts.spec.model import DOCUMENTED, MEASURED

Array = NDArray[Any]

FAMILIES: dict[str, Faults] = {
    "activations": LINES,
    "arithmetic": ARITHMETIC,
    "bitwise": BITWISE,
    "comparison": COMPARISON,
    "curves": CURVES,
    "functions": FUNCTIONS,
    "limits": LIMITS,
    "powers": POWERS,
    "quantization": QUANTIZATION,
    "quotients": QUOTIENTS,
    "softmax": SOFTMAX,
    **{family.__name__.rpartition(".")[2]: family.FAULTS for family in dense.FAMILIES if family.FAULTS},
}


def given(name: str, inputs: Mapping[str, Array], **attributes: object) -> Array:
    """What a mutant of one operator computes of these inputs."""
    mutant = find_mutant(name)
    (operator,) = mutant.operators
    tensors = {key: TensorDesc(array.dtype.name.upper(), array.shape) for key, array in inputs.items()}
    first = next(iter(tensors.values()))
    desc = OperatorDesc(operator, {**tensors, "OutputTensor": first, **attributes})
    right = ReferenceBackend().compute(desc, inputs)["OutputTensor"]
    with np.errstate(all="ignore"):
        return mutant.value(desc, inputs, right)


def pair(a: object, b: object, dtype: str) -> dict[str, Array]:
    return {"ATensor": np.array(a, dtype), "BTensor": np.array(b, dtype)}


# The tables


@pytest.mark.parametrize("family", FAMILIES)
def test_every_operator_of_a_family_has_faults_of_its_own(family: str) -> None:
    for operator, faults in FAMILIES[family].items():
        assert load(operator).name == operator
        assert len([fault for fault in faults.values() if not fault.equivalent]) >= 4, operator


def test_every_operator_is_in_a_family() -> None:
    elsewhere = {f"ELEMENT_WISE_{name}" for name in ("ROUND", "BIT_AND", "BIT_OR", "BIT_XOR", "BIT_COUNT", "BIT_SHIFT_RIGHT")}
    listed = [operator for family in FAMILIES.values() for operator in family]
    assert len(listed) == len(set(listed))
    assert set(listed) | elsewhere == {operator.name for operator in mutated_operators()}


def test_marked_faults_keep_the_rest() -> None:
    faults: Faults = {"X": {"a": Fault("does a", of_inputs(lambda x: x)), "b": Fault("does b", of_inputs(lambda x: x))}}
    found = marked(faults, ("X/a",), {"X/b": "nothing changes"})
    assert (found["X"]["a"].basis, found["X"]["a"].equivalent) == (MEASURED, "")
    assert (found["X"]["b"].basis, found["X"]["b"].equivalent) == (DOCUMENTED, "nothing changes")
    with pytest.raises(KeyError, match="X/c"):
        marked(faults, ("X/c",))
    assert list(merged(faults, {"X": {"c": faults["X"]["a"]}})["X"]) == ["a", "b", "c"]


# What functions are made of


def test_reals_saturate_in_integers_and_integers_wrap_around() -> None:
    right = np.zeros(5, np.int8)
    assert stored(np.array([np.nan, np.inf, -np.inf, 127.9, -128.9]), right).tolist() == [0, 127, -128, 127, -128]
    assert stored(np.array([128, 255, 256, -129, 1]), right).tolist() == [-128, -1, 0, 127, 1]
    assert stored(2.0**63, np.zeros(1, np.int64)).tolist() == [2**63 - 1]
    assert stored(2.0**64, np.zeros(1, np.uint64)).tolist() == [2**64 - 1]
    assert stored(1.5, np.zeros(2, np.float16)).tolist() == [1.5, 1.5]


def test_saturated_sums_do_not_wrap_around() -> None:
    add = saturated(lambda a, b: a + b)
    ends = np.array([2**63 - 1, -(2**63)], np.int64)
    assert add(ends, np.array([1, -1], np.int64)).tolist() == ends.tolist()
    assert add(np.array([200], np.uint8), np.array([100], np.uint8)).tolist() == [255]


def test_argument_is_scaled_as_the_desc_holds_it() -> None:
    tensor = TensorDesc("FLOAT32", (1,))
    desc = OperatorDesc("ELEMENT_WISE_EXP", {"InputTensor": tensor, "OutputTensor": tensor, "ScaleBias": ScaleBias(0.1, 2.0)})
    found = of_argument(lambda x: x)(desc, {"InputTensor": np.ones(1, np.float32)}, np.ones(1, np.float32))
    assert found[0] == float(np.float32(0.1)) + 2


def test_the_condition_does_not_count_as_the_main_type() -> None:
    tensors = {name: TensorDesc("FLOAT16", (1,)) for name in ("ATensor", "BTensor", "OutputTensor")}
    desc = OperatorDesc("ELEMENT_WISE_IF", {"ConditionTensor": TensorDesc("UINT8", (1,)), **tensors})
    assert main_type(desc) == "FLOAT16"


# Faults are what they say, by hand


def test_integer_division_that_floors() -> None:
    assert given("ELEMENT_WISE_DIVIDE/floors", pair([-7, 7, -8], [2, 2, 2], "int32")).tolist() == [-4, 3, -4]


def test_a_quotient_by_zero_is_left_as_it_is() -> None:
    inputs = pair([5, 5], [0, 2], "int32")
    assert given("ELEMENT_WISE_DIVIDE/rounds", inputs)[1] == 2


def test_comparison_without_sign() -> None:
    name = "ELEMENT_WISE_LOGICAL_LESS_THAN/unsigned"
    inputs = pair([-1, 1], [1, 2], "int32")
    out = TensorDesc("UINT8", (2,))
    desc = OperatorDesc(
        "ELEMENT_WISE_LOGICAL_LESS_THAN",
        {"ATensor": TensorDesc("INT32", (2,)), "BTensor": TensorDesc("INT32", (2,)), "OutputTensor": out},
    )
    assert find_mutant(name).value(desc, inputs, np.array([1, 1], np.uint8)).tolist() == [0, 1]


def test_softmax_that_overflows() -> None:
    x = np.array([[0, 100, 0]], np.float32)
    assert np.isnan(given("ACTIVATION_SOFTMAX/overflows", {"InputTensor": x})).any()
    assert not np.isnan(given("ACTIVATION_SOFTMAX/overflows", {"InputTensor": x / 2})).any()


def test_hardmax_of_equals() -> None:
    x = np.array([[1, 3, 3, 2]], np.float32)
    assert given("ACTIVATION_HARDMAX/last-of-equals", {"InputTensor": x}).tolist() == [[0, 0, 1, 0]]
    assert given("ACTIVATION_HARDMAX/all-of-equals", {"InputTensor": x}).tolist() == [[0, 1, 1, 0]]


def test_gelu_by_tanh_lies_off_by_more_than_an_ulp() -> None:
    x = np.linspace(-4, 4, 101, dtype=np.float32)
    found = given("ACTIVATION_GELU/by-tanh", {"InputTensor": x})
    right = ReferenceBackend().compute(
        OperatorDesc("ACTIVATION_GELU", {n: TensorDesc("FLOAT32", x.shape) for n in ("InputTensor", "OutputTensor")}),
        {"InputTensor": x},
    )["OutputTensor"]
    assert 1e-5 < np.abs(found - right).max() < 1e-3


def test_faults_of_some_types_are_right_in_others() -> None:
    inputs = pair([7, 249], [2, 2], "uint8")
    assert given("ELEMENT_WISE_DIVIDE/floors", inputs).tolist() == (inputs["ATensor"] // inputs["BTensor"]).tolist()


def test_sum_in_float16_differs_from_the_sum() -> None:
    x = np.zeros((1, 4096), np.float32)
    right = 1 / 4096
    assert given("ACTIVATION_SOFTMAX/sum-in-float16", {"InputTensor": x})[0, 0] == pytest.approx(2 * right)  # it stands at 2048


# Operands


def test_operands_are_changed_by_name_where_one_is_absent() -> None:
    operator = load("ELEMENT_WISE_QUANTIZED_LINEAR_ADD")
    by_name = {mutant.name: mutant for mutant in operand_mutants([operator])}
    scalar = TensorDesc("FLOAT32", (1,))
    whole = TensorDesc("INT8", (2,))
    fields = {"ATensor": whole, "AScaleTensor": scalar, "AZeroPointTensor": None, "BTensor": whole, "BScaleTensor": scalar}
    fields |= {"BZeroPointTensor": None, "OutputScaleTensor": scalar, "OutputZeroPointTensor": None, "OutputTensor": whole}
    desc = OperatorDesc(operator.name, fields)
    one = np.ones(1, np.float32)
    inputs = {"ATensor": np.array([1, 2], np.int8), "AScaleTensor": one, "BTensor": np.array([10, 20], np.int8)}
    inputs |= {"BScaleTensor": one, "OutputScaleTensor": one}
    right = np.array([11, 22], np.int8)
    absent, present = by_name["operands/first-for-all/input-2"], by_name["operands/first-for-all/input-3"]
    assert absent.where is not None
    assert not absent.where(desc)
    assert absent.value(desc, inputs, right) is right
    assert present.value(desc, inputs, right).tolist() == [11, 12]


# What is no fault


def test_reasons_come_from_the_specs() -> None:
    add, subtract = load("ELEMENT_WISE_ADD"), load("ELEMENT_WISE_SUBTRACT")
    assert equivalent.reason("operands/exchanged/input-1", add)
    assert not equivalent.reason("operands/exchanged/input-1", subtract)
    assert equivalent.reason("in-place/twice", load("ACTIVATION_RELU"))
    assert not equivalent.reason("in-place/twice", load("ELEMENT_WISE_CEIL"))  # idempotent without ScaleBias alone
    assert equivalent.reason("in-place/twice", load("ELEMENT_WISE_MAX"))
    assert not equivalent.reason("in-place/twice", add)
    assert equivalent.reason("in-place/copy/together", load("ELEMENT_WISE_MIN"))
    assert not equivalent.reason("in-place/copy/input-0", load("ELEMENT_WISE_MIN"))


def test_nothing_lies_outside_the_last_dimensions_of_a_matrix() -> None:
    for name in ("ACTIVATION_SOFTMAX", "ACTIVATION_HARDMAX"):
        assert equivalent.reason("lost/outside-last-4d", load(name))
    for name in ("ACTIVATION_SOFTMAX1", "ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "ELEMENT_WISE_ADD"):
        assert not equivalent.reason("lost/outside-last-4d", load(name))
    assert not equivalent.reason("lost/beyond-256", load("ACTIVATION_SOFTMAX"))


def test_a_rule_that_is_not_enforced_is_no_fault() -> None:
    hardmax = load("ACTIVATION_HARDMAX1")
    enforced = {entry.rule for entry in hardmax.accepts}
    assert bool(equivalent.reason("accepts/binding-size/input-0", hardmax)) == ("binding/InputTensor/size" in enforced)
    assert not equivalent.reason("accepts/alignment/input-0", load("ELEMENT_WISE_ADD"))


def test_reasons_name_operators_and_mutants_that_there_are() -> None:
    names = {mutant.name for mutant in mutants()}
    known = {operator.name for operator in mutated_operators()} | {equivalent.ANYWHERE}
    for mutant, reasons in equivalent.EQUIVALENT.items():
        assert set(reasons) <= known, mutant
    for mutant, operators in OTHER_BASIS.items():
        assert set(operators) <= known, mutant
        for operator in operators:
            assert mutant in names or f"{mutant}/{operator}" in names
            assert has_other_basis(mutant, load(operator))


def test_other_bases_are_the_other_one() -> None:
    assert find_mutant("numbers/input-0/nan-as-zero").basis == MEASURED
    assert find_mutant("numbers/input-0/nan-as-zero/ELEMENT_WISE_IS_NAN").basis == DOCUMENTED
    assert "ELEMENT_WISE_IS_NAN" not in find_mutant("numbers/input-0/nan-as-zero").operators


NOT_DEMANDED = (
    "demanded of nobody",
    "is allowed",
    "Direct3D allows",
    "nothing is demanded",
    "either answer passes",
    "computed in FLOAT32",
)
"""What the reasons say of results that do change, and of which nothing is demanded."""

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
"""Every FLOAT16."""


def proved() -> list[Any]:
    """Each fault of numbers that is none, with the descs of FLOAT16 on which it must change nothing."""
    found = []
    for mutant in mutants():
        if (
            not mutant.equivalent
            or not mutant.name.startswith("numbers/")
            or any(said in mutant.equivalent for said in NOT_DEMANDED)
        ):
            continue
        operator = load(mutant.operators[0])
        types = {
            name: "FLOAT16" for table in operator.support for name in table.tensors if "FLOAT16" in table.tensors[name].data_types
        }
        alone = len(operator.inputs()) == 1 and not operator.name.endswith("1") and spread(operator)
        if alone and operator.inputs()[0].name in types:
            found.append(pytest.param(mutant, operator.name, id=mutant.name))
    return found


def descs_of_halves(operator: str) -> list[OperatorDesc]:
    """A desc of every FLOAT16, a row each, for every choice of attributes that a case has."""
    found: dict[str, OperatorDesc] = {}
    for case in chosen_cases(operator, "core", MEASURED):
        tensors = dict(case.desc.tensors())
        if case.expect == REJECTION or next(iter(tensors.values())).data_type != "FLOAT16":
            continue
        shaped = {name: TensorDesc(tensor.data_type, (HALVES.size, 1)) for name, tensor in tensors.items()}
        desc = case.desc.with_fields(**shaped)
        found.setdefault(str(desc), desc)
    return list(found.values())


@pytest.mark.parametrize(("mutant", "operator"), proved())
def test_what_is_no_fault_changes_no_result_of_any_float16(mutant: Mutant, operator: str) -> None:
    descs = descs_of_halves(operator)
    assert descs
    x = HALVES.reshape(-1, 1)
    reference = ReferenceBackend()
    for desc in descs:
        with np.errstate(all="ignore"):
            seen = mutant.read(0, x.view(np.uint8).reshape(-1), desc.tensor("InputTensor"), 0)
            right = reference.compute(desc, {"InputTensor": x})["OutputTensor"]
            found = mutant.value(desc, {"InputTensor": x}, reference.compute(desc, {"InputTensor": seen})["OutputTensor"])
        same = (found == right) & (np.signbit(found) == np.signbit(right)) if right.dtype.kind == "f" else found == right
        assert (same | ((found != found) & (right != right))).all(), f"{desc}: {x[~same][:5]}"


# Which cases are run


def test_rules_not_enforced_show_in_rejections_alone() -> None:
    cases = chosen_cases("ELEMENT_WISE_ROUND", "core", DOCUMENTED)
    accepting, refusing = find_mutant("accepts/same-sizes"), find_mutant("refuses/strides")
    assert {case.expect for case in cases if accepting.may_show(case)} == {REJECTION}
    assert REJECTION not in {case.expect for case in cases if refusing.may_show(case)}
    assert any(refusing.may_show(case) for case in cases)


def test_misread_strides_show_where_they_differ() -> None:
    mutant = find_mutant("strides/ignored-beyond-4d/input-0")
    assert mutant.where is not None
    tensor = TensorDesc("FLOAT32", (2, 3), strides=(4, 1))
    deep = TensorDesc("FLOAT32", (1, 1, 1, 2, 3), strides=(8, 8, 8, 4, 1))
    shown = [mutant.where(OperatorDesc("ELEMENT_WISE_ROUND", {"InputTensor": t, "OutputTensor": t})) for t in (tensor, deep)]
    assert shown == [False, True]


def test_kills_by_operator_are_those_of_the_hunt() -> None:
    chosen = [find_mutant("ELEMENT_WISE_SIGN/zero-as-positive"), find_mutant("order/reversed")]
    found = kills_in("ELEMENT_WISE_SIGN", chosen, "smoke", DOCUMENTED)
    assert set(found) == {mutant.name for mutant in chosen}
    assert all(kill.case.startswith("ELEMENT_WISE_SIGN/") for kill in found.values())


# The table


ROUND, OR = "ELEMENT_WISE_ROUND", "ELEMENT_WISE_BIT_OR"


def test_table_counts_and_names() -> None:
    kill = Kill("a case", "fail", "wrong")
    hunts = [
        Hunt(Mutant("order/reversed", (ROUND, OR), "reverses"), {ROUND: kill, OR: kill}),
        Hunt(Mutant(f"{ROUND}/half", (ROUND,), "halves"), {}),
        Hunt(Mutant(f"order/same/{OR}", (OR,), "does nothing", equivalent="nothing | changes"), {}),
    ]
    lines = table(hunts, [ROUND, OR]).splitlines()
    assert f"| {ROUND} | 1 | 2 | 0 |" in lines
    assert f"| {OR} | 1 | 1 | 1 |" in lines
    assert "| together | 2 | 3 | 1 |" in lines
    assert f"- `{ROUND}/half`, which halves: {ROUND}" in lines
    assert lines[-2:] == ["- nothing | changes:", f"  - `order/same`: {OR}"]


def test_sorts_of_names() -> None:
    assert sort_of(f"{ROUND}/half") == "of the operator's own"
    assert {sort_of(mutant.name) for mutant in mutants()} >= {"numbers", "operands", "strides", "accepts", "refuses"}


def test_command_writes_the_table(tmp_path: Path) -> None:
    file = tmp_path / "mutants.md"
    ran = CliRunner().invoke(module.command, ["--level", "smoke", ROUND, "-k", "order/reversed", "--table", str(file)])
    assert ran.exit_code == 0, ran.output
    assert f"| {ROUND} | 1 | 1 | 0 |" in file.read_text(encoding="utf-8")
