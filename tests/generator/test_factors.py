"""What an operator's cases vary: the factors from its spec, and the value of each that a case has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dmlcts.generator.case.case import OFFSETS, Binding, Case
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import Model, model_of, size_class
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import find_case
from dmlcts.generator.values.layouts import INPUT_LAYOUTS, OUTPUT_LAYOUTS, laid_out
from dmlcts.spec.reading.loader import load

ROUND, CLIP, CONVOLUTION = "ELEMENT_WISE_ROUND", "ELEMENT_WISE_CLIP1", "CONVOLUTION"


def model(name: str) -> Model:
    return model_of(plan_of(load(name)))


def values(name: str) -> dict[str, tuple[str, ...]]:
    return {factor.name: factor.values for factor in model(name).factors}


def measured(case: Case) -> dict[str, str]:
    """The values that a case has, by factor; those that it has not are left out."""
    own = model(case.operator.name)
    return {f.name: f.values[at] for f, at in zip(own.factors, row_of(own, case), strict=True) if at != NONE}


def test_the_factors_of_a_simple_operator() -> None:
    found = values(ROUND)
    assert found["type"] == ("FLOAT32", "FLOAT16")
    assert found["rank"] == tuple(map(str, range(1, 9)))
    assert found["RoundingMode"] == ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")
    assert found["layout InputTensor"] == INPUT_LAYOUTS
    assert found["layout OutputTensor"] == OUTPUT_LAYOUTS
    assert found["in place"] == ("no", "Output-on-Input")
    assert found["offset"] == (*map(str, OFFSETS), "any")
    assert found["long"] == ("none", "many", *(f"S[-{place}]" for place in range(1, 9)))
    assert found["slack"][0] == "none"
    assert {"size S first", "size S middle", "size S last"} <= found.keys()


def test_optional_tensors_named_sizes_and_several_inputs_are_factors() -> None:
    found = values(CONVOLUTION)
    assert found["BiasTensor"] == ("present", "absent")
    assert {"layout BiasTensor", "layout FilterTensor", "Mode", "Direction", "FusedActivation"} <= found.keys()
    assert any(name.startswith("size ") and " " not in name[5:] for name in found)
    assert found["resource"] == ("apart", "inputs", "all")
    assert "B-is-A" in values("ELEMENT_WISE_ADD")["in place"]  # one tensor bound as two inputs


def test_inputs_whose_data_differ_are_never_one_tensor() -> None:
    """A shift amount must be less than the width, a scale positive: as an input's data are, neither would be promised."""
    for name in ("ELEMENT_WISE_BIT_SHIFT_RIGHT", "ELEMENT_WISE_QUANTIZE_LINEAR"):
        assert not any("-is-" in value for value in values(name).get("in place", ()))


@pytest.mark.parametrize("name", [ROUND, CLIP, CONVOLUTION, "REDUCE", "GEMM"])
def test_every_factor_has_a_choice_and_what_the_desc_depends_on_comes_first(name: str) -> None:
    own = model(name)
    assert all(len(factor.values) == len(set(factor.values)) > 1 for factor in own.factors)
    assert all(0 <= factor.usual < len(factor.values) for factor in own.factors)
    later = {factor.kind for factor in own.factors[own.structural :]}
    assert later <= {"data", "in place", "layout", "owned", "offset", "resource", "slack"}
    assert not later & {factor.kind for factor in own.factors[: own.structural]}


@pytest.mark.parametrize(("size", "of"), [(1, "1"), (2, "2-16"), (16, "2-16"), (17, "17+"), (4096, "17+")])
def test_size_classes(size: int, of: str) -> None:
    assert size_class(size) == of


def test_what_a_plain_case_has() -> None:
    found = measured(find_case(f"{ROUND}/FLOAT32/4d/HALVES_TO_NEAREST_EVEN"))  # of sizes 5, 1, 3, 2
    assert found == {
        "type": "FLOAT32",
        "rank": "4",
        "size S first": "2-16",
        "size S middle": "2-16",
        "size S last": "2-16",
        "long": "none",
        "RoundingMode": "HALVES_TO_NEAREST_EVEN",
        "in place": "no",
        "layout InputTensor": "packed",
        "layout OutputTensor": "packed",
        "owned": "none",
        "offset": "64",
        "resource": "apart",
        "slack": "none",
    }


def test_what_a_changed_case_has() -> None:
    plain = find_case(f"{ROUND}/FLOAT32/4d/HALVES_TO_NEAREST_EVEN")
    tensor = plain.desc.tensor("InputTensor")

    def of(**changes: object) -> Case:
        return replace(plain, desc=plain.desc.with_fields(InputTensor=replace(tensor, **changes)))  # type: ignore[arg-type]

    def only(case: Case) -> dict[str, str]:
        before = measured(plain)
        return {name: value for name, value in measured(case).items() if before.get(name) != value}

    assert only(of(strides=laid_out(tensor, "transposed").strides)) == {"layout InputTensor": "transposed"}
    assert only(of(total_size=tensor.bytes + 16)) == {"slack": "total-size"}
    assert only(of(alignment=16)) == {"slack": "alignment"}
    assert only(of(flags=1)) == {"owned": "Input"}
    assert only(replace(plain, bindings={"InputTensor": Binding(short=-16)})) == {"slack": "binding"}
    assert only(replace(plain, in_place={"OutputTensor": "InputTensor"})) == {"in place": "Output-on-Input"}
    assert only(replace(plain, offset=256)) == {"offset": "256"}
    assert only(replace(plain, offset=80)) == {"offset": "any"}
    assert only(replace(plain, resource="all")) == {"resource": "all"}
