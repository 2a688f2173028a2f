"""Faults of any operator, made from its spec."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.faults.model.fault import Fault
from dmlcts.conformance.faults.model.mutant import broken_rules
from dmlcts.conformance.faults.transforms import attributes, conditions, memory, rules, strides, tensors
from dmlcts.conformance.faults.transforms.tensors import axes_of, axis_label
from dmlcts.generator.case.case import REFERENCE, REJECTION, Case
from dmlcts.generator.negative.cases import unenforced_rules
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import Violation

ADD, GEMM, CONVOLUTION, PAD = "ELEMENT_WISE_ADD", "GEMM", "CONVOLUTION", "MAX_POOLING2"


def made(module: Any, name: str) -> dict[str, Fault]:
    found: Iterable[tuple[str, Fault]] = module.faults(load(name))
    return dict(found)


def case_of(name: str, **fields: object) -> Case:
    """The first case of an operator whose desc has these fields."""
    cases = (case for case in operator_cases(name, "core") if case.expect == REFERENCE)
    return next(case for case in cases if all(case.desc.fields[field] == value for field, value in fields.items()))


def misread(name: str, label: str, desc: OperatorDesc) -> OperatorDesc:
    fault = made(attributes, name)[label]
    assert fault.desc is not None
    return fault.desc(desc)


@pytest.mark.parametrize("module", [attributes, conditions, memory, rules, strides, tensors], ids=lambda module: module.__name__)
def test_every_operator_has_faults_of_every_sort(module: Any) -> None:
    for name in operator_names():
        operator = load(name)
        labels = [label for label, _ in module.faults(operator)]
        assert len(set(labels)) == len(labels)
        assert bool(labels) == bool(module is not attributes or operator.attributes() or labels), name


# Attributes


def test_a_constant_is_misread() -> None:
    desc = case_of(GEMM, TransA="NONE").desc
    assert misread(GEMM, "TransA/is-TRANSPOSE", desc).fields["TransA"] == "TRANSPOSE"
    assert misread(GEMM, "TransA/next", desc).fields["TransA"] == "TRANSPOSE"
    assert misread(GEMM, "TransA/ignored", desc).fields["TransA"] == "NONE"
    assert "TransA/is-NONE" not in made(attributes, GEMM)  # that is what TransA/ignored does


def test_a_number_is_misread() -> None:
    desc = case_of(GEMM).desc.with_fields(Alpha=0.1)
    found = {
        label: misread(GEMM, f"Alpha/{label}", desc).fields["Alpha"]
        for label in ("ignored", "doubled", "negated", "plus-1", "truncated")
    }
    assert found == {"ignored": 1.0, "doubled": 0.2, "negated": -0.1, "plus-1": 1.1, "truncated": 0.0}
    assert misread(GEMM, "Alpha/exchanged-with-Beta", desc.with_fields(Beta=3.0)).fields["Alpha"] == 3.0


def test_an_array_is_misread() -> None:
    desc = next(
        c.desc for c in operator_cases(PAD, "core") if c.expect == REFERENCE and len(set(c.desc.fields["StartPadding"])) > 1
    )  # type: ignore[call-overload]
    first, *rest = desc.fields["StartPadding"]  # type: ignore[misc]
    for label, expected in {
        "reversed": (*reversed(rest), first),
        "first-for-all": (first,) * (1 + len(rest)),
        "rotated": (*rest, first),
        "first-plus-1": (first + 1, *rest),
    }.items():
        assert misread(PAD, f"StartPadding/{label}", desc).fields["StartPadding"] == expected, label


def test_what_would_be_no_valid_value_is_not_misread() -> None:
    desc = case_of(PAD).desc.with_fields(Strides=(1, 1))
    assert misread(PAD, "Strides/first-minus-1", desc) == desc
    assert not made(attributes, PAD)["Strides/first-minus-1"].applies(desc)


def test_a_usual_value_that_is_computed_is_computed_for_the_desc() -> None:
    """Attributes whose first value is an expression are ignored like all others."""
    computed = []
    for name in operator_names():
        for field in load(name).attributes():
            if field.values and type(field.values[0]).__name__ == "Expression" and len(field.values) > 1:
                computed.append(f"{field.name}/ignored" in made(attributes, name))
    assert computed
    assert all(computed)


def test_a_fused_activation_is_ignored_or_another() -> None:
    fused = next(c.desc for c in operator_cases(GEMM, "core") if isinstance(c.desc.fields["FusedActivation"], OperatorDesc))
    assert misread(GEMM, "FusedActivation/ignored", fused).fields["FusedActivation"] is None
    own = fused.fields["FusedActivation"].type  # type: ignore[attr-defined]
    label = next(label for label in made(attributes, GEMM) if label.startswith(f"FusedActivation/{own}-as-"))
    assert misread(GEMM, label, fused).fields["FusedActivation"].type == label.rpartition("-as-")[2]  # type: ignore[attr-defined]


def test_scale_and_bias_are_misread() -> None:
    desc = OperatorDesc("ELEMENT_WISE_ABS", {**case_of("ELEMENT_WISE_ABS").desc.fields, "ScaleBias": ScaleBias(2.0, 3.0)})
    assert misread("ELEMENT_WISE_ABS", "ScaleBias/ignored", desc).fields["ScaleBias"] is None
    assert misread("ELEMENT_WISE_ABS", "ScaleBias/bias-first", desc).fields["ScaleBias"] == ScaleBias(2.0, 6.0)


def test_another_operator_of_the_same_fields_is_computed() -> None:
    assert misread(ADD, "as/ELEMENT_WISE_MULTIPLY", case_of(ADD).desc).type == "ELEMENT_WISE_MULTIPLY"
    assert not any(label.startswith("as/") for label in made(attributes, GEMM))


# Tensors


def test_axes_that_shapes_tell_apart() -> None:
    def axes(row: tuple[str, ...]) -> list[int]:
        operator: Any = SimpleNamespace(shapes=[SimpleNamespace(sizes={"T": row})])
        return axes_of(operator, SimpleNamespace(name="T"))  # type: ignore[arg-type]

    assert axes(("N", "C", "*Spatial")) == [-1, 0, 1, 2]
    assert axes(("*Batch", "M", "N")) == [-3, -2, -1, 0]
    assert axes(("*1", "1", "C")) == [-1]
    assert axes(("1",)) == []
    assert [axis_label(axis) for axis in (0, 2, -1, -3)] == ["axis-0", "axis-2", "last-axis", "last-axis-but-2"]


def test_operators_on_bits_have_no_faults_of_numbers() -> None:
    assert "ATensor/negated" in made(tensors, ADD)
    assert "ATensor/negated" not in made(tensors, "ELEMENT_WISE_BIT_OR")
    assert "ATensor/first-for-all" in made(tensors, "ELEMENT_WISE_BIT_OR")


def test_what_is_optional_is_left_out_where_it_may_be() -> None:
    assert "CTensor/absent" in made(tensors, GEMM)
    assert "ATensor/absent" not in made(tensors, GEMM)
    assert "QueryTensor/absent" not in made(tensors, "MULTIHEAD_ATTENTION1")


# Rules


def accepted(name: str, label: str, labels: list[str]) -> list[str]:
    """Of broken rules, those that the fault still finds broken."""
    fault = made(rules, name)[f"accepts/{label}"]
    assert fault.accepts is not None
    dispatch: Any = SimpleNamespace(desc=case_of(name).desc)
    return [violation.label for violation in fault.accepts(dispatch, [Violation(rule, "") for rule in labels])]


def test_a_constraint_lets_shapes_pass_only_where_it_is_broken_itself() -> None:
    label = next(
        label
        for label in made(rules, CONVOLUTION)
        if f"constraint/{label.removeprefix('accepts/')}" in constraints(load(CONVOLUTION))
    )
    rule = f"constraint/{label.removeprefix('accepts/')}"
    assert accepted(CONVOLUTION, label.removeprefix("accepts/"), [rule, "shape/OutputTensor"]) == []
    assert accepted(CONVOLUTION, label.removeprefix("accepts/"), ["shape/OutputTensor"]) == ["shape/OutputTensor"]
    assert accepted(CONVOLUTION, label.removeprefix("accepts/"), ["domain/Strides"]) == ["domain/Strides"]


def constraints(operator: Operator) -> set[str]:
    return {f"constraint/{constraint.label}" for constraint in operator.constraints}


def test_a_rule_of_one_tensor_is_not_enforced_for_it_alone() -> None:
    flags = ["tensor/ATensor/flags", "tensor/BTensor/flags"]
    assert accepted(ADD, "tensor/ATensor/flags", flags) == ["tensor/BTensor/flags"]


def test_one_tensor_is_looked_over_only_where_the_others_follow_the_rule() -> None:
    alone = ["support/ATensor/data-type", "constraint/same-data-type"]
    assert accepted(ADD, "ATensor/any-data-type", alone) == []
    assert accepted(ADD, "ATensor/any-data-type", [*alone, "support/BTensor/data-type"]) == ["support/BTensor/data-type"]
    assert accepted(ADD, "ATensor/any-data-type", ["constraint/same-data-type"]) == ["constraint/same-data-type"]


def test_what_directml_accepts_is_no_rule() -> None:
    lenient = next(load(name) for name in operator_names() if unenforced_rules(load(name)))
    for rule in unenforced_rules(lenient):
        assert f"accepts/{rule.removeprefix('constraint/')}" not in made(rules, lenient.name)


def test_a_check_done_by_half_finds_some_breaches_and_not_others() -> None:
    fault = made(rules, ADD)["accepts/sizes-by-counts"]
    assert fault.accepts is not None
    refused = []
    for case in operator_cases(ADD, "core"):
        if case.expect == REJECTION and case.rule == "constraint/same-sizes" and not case.bindings:
            dispatch = Dispatch(case.desc, [], {}, ())
            refused.append(bool(fault.accepts(dispatch, broken_rules(dispatch))))
    assert True in refused


# Memory and strides


def test_strides_are_misread_where_that_makes_a_difference() -> None:
    ignored = made(strides, ADD)["strides/ignored/ATensor"]
    seen = {
        case.desc.tensor("ATensor").strides is not None: ignored.applies(case.desc)
        for case in operator_cases(ADD, "core")
        if case.kind == "combination"
    }
    assert not seen.get(False, False)
    assert any(ignored.applies(case.desc) for case in operator_cases(ADD, "core"))


def test_in_place_faults_are_of_operators_that_permit_it() -> None:
    assert any(label.startswith("in-place/") for label in made(memory, ADD))
    assert not any(label.startswith("in-place/") for label in made(memory, GEMM))
