"""What was reviewed: reviewed.yaml is read, and says what the catalogue does.

That its entries speak of faults that are planted, `dmlcts faults hunt` checks in .ci/run.
"""

from __future__ import annotations

from typing import Any

import pytest

from dmlcts.conformance.faults import catalogue, reviewed
from dmlcts.conformance.faults.catalogue import check_review, find_mutant, mutants_of
from dmlcts.conformance.faults.reviewed import PROPERTIES, ReviewError, read_entries, review, unused_entries
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED
from dmlcts.spec.reading.loader import load, operator_names

ADD, SUBTRACT = "ELEMENT_WISE_ADD", "ELEMENT_WISE_SUBTRACT"


def entry(**fields: Any) -> dict[str, Any]:
    return {"faults": ["strides/*"], "operators": [ADD], "reason": "none has any", **fields}


def test_an_entry_that_speaks_of_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tuple(mutants_of(ADD).values())  # made, and kept, with the true entries
    entries = read_entries({"no_fault": [entry(), entry(faults=["strides/none"])], "measured": [entry(operators=["NONE"])]})
    monkeypatch.setattr(reviewed, "entries", lambda: entries)
    monkeypatch.setattr(catalogue, "mutants", lambda: planted)
    assert [str(found) for found in unused_entries([(ADD, "strides/ignored")])] == [
        "reviewed.yaml, no_fault, entry 2 (strides/none)",
        "reviewed.yaml, measured, entry 1 (strides/*)",
    ]
    with pytest.raises(ReviewError, match=r"no_fault, entry 2 .*; reviewed\.yaml, measured, entry 1"):
        check_review()


def test_an_entry_is_about_its_operators_and_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {
        "no_fault": [entry(), entry(operators=["*"], faults=["*/twice"], when="commutative", reason="first")],
        "measured": [entry(reason="m")],
    }
    monkeypatch.setattr(reviewed, "entries", lambda: read_entries(data))
    assert review(ADD, "strides/ignored/ATensor") == {"no_fault": "none has any", "measured": "m"}
    assert review(SUBTRACT, "strides/ignored/ATensor") == {}
    assert review(ADD, "ATensor/twice") == {"no_fault": "first"}
    assert review(SUBTRACT, "ATensor/twice") == {}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "no_fault, measured and open, and nothing else"),
        ({"other": []}, "no_fault, measured and open, and nothing else"),
        ({"no_fault": ["x"]}, "no_fault, entry 1 must have faults"),
        ({"no_fault": [entry(), entry(extra=1)]}, "no_fault, entry 2 must have faults"),
        ({"measured": [entry(faults="strides/*")]}, "needs a list of faults"),
        ({"measured": [{"faults": ["strides/*"]}]}, "needs a list of faults and a reason"),
        ({"no_fault": [entry(when="blue")]}, "when is one of commutative"),
    ],
)
def test_a_wrong_file_is_refused(data: Any, message: str) -> None:
    with pytest.raises(ReviewError, match=message):
        read_entries(data)


def test_every_property_tells_operators_apart() -> None:
    operators = [load(name) for name in operator_names()]
    for name, has in PROPERTIES.items():
        assert {has(operator) for operator in operators} == {True, False}, name


def test_the_catalogue_says_what_was_reviewed() -> None:
    assert find_mutant(f"{ADD}/refuses/as-unsupported").no_fault
    assert find_mutant(f"{ADD}/memory/padding").basis == MEASURED
    assert find_mutant(f"{ADD}/strides/ignored/ATensor").basis == DOCUMENTED


def test_mutants_are_found_by_their_names() -> None:
    mutant = find_mutant(f"{ADD}/strides/ignored/ATensor")
    assert mutants_of(ADD)["strides/ignored/ATensor"] is mutant
    with pytest.raises(KeyError, match=r"no mutant .*near it: ELEMENT_WISE_ADD/strides/ignored/"):
        find_mutant(f"{ADD}/strides/ignord")
    with pytest.raises(KeyError, match="near it: ELEMENT_WISE_ADD"):
        find_mutant("ELEMENT_WISE_AD/strides/ignored")


@pytest.mark.parametrize("operator", [ADD, "CONVOLUTION", "GEMM", "ACTIVATION_SOFTMAX"])
def test_every_mutant_says_what_it_does(operator: str) -> None:
    for mutant in mutants_of(operator).values():
        assert mutant.fault.does, mutant.name
        assert not mutant.fault.does.endswith("."), mutant.name
        assert not mutant.fault.does[0].isupper(), mutant.name
