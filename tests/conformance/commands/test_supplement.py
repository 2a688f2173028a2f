"""What reports say from the specs: where an operator is documented, its spec, and a failing case as a model."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dmlcts.conformance.commands.results.supplement import MOST_ELEMENTS, SpecSupplement
from dmlcts.conformance.dxdispatch.read import read_model
from dmlcts.generator.case.case import REFERENCE, Case, to_json
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import find_case, operator_cases
from dmlcts.reports.record.record import FAIL, Result

SUPPLEMENT = SpecSupplement("smoke")


def failure(case: str, operator: str = "ELEMENT_WISE_ADD", **evidence: object) -> Result:
    return Result(case, operator, "FLOAT32", "table", "documented", "1_0", FAIL, evidence=evidence)


@pytest.mark.parametrize(
    ("operator", "path"),
    [
        ("ELEMENT_WISE_ADD", "windows/win32/api/directml/ns-directml-dml_element_wise_add_operator_desc"),
        ("MULTIHEAD_ATTENTION1", "windows/ai/directml/api/ns-directml-dml_multihead_attention1_operator_desc"),
    ],
)
def test_an_operator_has_microsofts_page(operator: str, path: str) -> None:
    assert SUPPLEMENT.page(operator) == f"https://learn.microsoft.com/{path}"


def test_an_operator_has_its_spec() -> None:
    text = SUPPLEMENT.spec("ELEMENT_WISE_ADD")
    assert text.startswith("ELEMENT_WISE_ADD  type ")
    assert "tensor support" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("kind", ["table", "combination"])
def test_a_failing_case_becomes_a_model_in_one_file(kind: str, tmp_path: Path) -> None:
    case = next(c for c in operator_cases("ELEMENT_WISE_ADD", "smoke") if c.kind == kind and c.expect == REFERENCE)
    file = tmp_path / "model.json"
    file.write_text(SUPPLEMENT.model(failure(case.id)), encoding="utf-8")
    model = read_model(file)
    assert str(model.dispatchables["operator"].desc) == str(case.desc)
    (name, array), *_ = inputs(case).items()
    if case.desc.tensor(name).strides is None:
        assert np.array_equal(model.resources[name].content.view(array.dtype)[: array.size], array.ravel())


def test_a_case_of_a_higher_level_and_the_example_of_a_property_have_one_too() -> None:
    known = {case.id for case in operator_cases("ELEMENT_WISE_ADD", "smoke")}
    others = (c for c in operator_cases("ELEMENT_WISE_ADD") if c.expect == REFERENCE and c.id not in known)
    higher = next(c for c in others if elements(c) <= MOST_ELEMENTS)
    assert json.loads(SUPPLEMENT.model(failure(higher.id)))["description"].startswith(higher.id)
    example = to_json(replace(find_case("ELEMENT_WISE_ADD/FLOAT32/4d"), note="a shrunken example"))
    model = json.loads(SUPPLEMENT.model(failure("ELEMENT_WISE_ADD/FLOAT32/property/commutative", example=example)))
    assert model["description"].endswith("a shrunken example")


def test_what_is_not_known_or_too_large_or_no_case_has_nothing() -> None:
    assert SUPPLEMENT.page("NO_SUCH") == SUPPLEMENT.spec("NO_SUCH") == SUPPLEMENT.model(failure("NO_SUCH/1", "NO_SUCH")) == ""
    assert SUPPLEMENT.model(failure("ELEMENT_WISE_ADD/FLOAT32/none")) == ""
    for example in ({}, [], "x", {"id": 1}, {"desc": {"Type": "ELEMENT_WISE_ADD"}}):
        assert SUPPLEMENT.model(failure("ELEMENT_WISE_ADD/FLOAT32/4d", example=example)) == ""
    large = next(c for c in operator_cases("ELEMENT_WISE_ADD") if c.expect == REFERENCE and elements(c) > MOST_ELEMENTS)
    assert SUPPLEMENT.model(failure(large.id)) == ""


def elements(case: Case) -> int:
    return sum(tensor.count for _, tensor in case.desc.tensors())
