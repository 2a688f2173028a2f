"""What ``dmlcts spec check`` finds with the generator's help, before any case is made."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from dmlcts.generator.checks.written import written_wrong
from dmlcts.spec.reading.document import SpecError, read
from dmlcts.spec.reading.loader import load, load_document, load_text, operator_names

Change = Callable[[dict[str, Any]], object]


def changed(name: str, change: Change) -> list[str]:
    """What is wrong with an operator whose spec is changed."""
    file = load(name).file
    assert file is not None
    data = json.loads(json.dumps(load_document(read(file), file).data))
    change(data)
    return list(written_wrong(load_text(json.dumps(data))))


def other_sizes(spec: dict[str, Any]) -> None:
    spec["examples"]["page-1"]["inputs"]["InputTensor"] |= {"sizes": [4], "data": [0, 1, 2, 3]}


def other_type(spec: dict[str, Any]) -> None:
    spec["examples"]["page-1"]["outputs"]["OutputTensor"]["type"] = "UINT64"


def other_set(spec: dict[str, Any]) -> None:
    spec["cases"]["values"]["InputTensor"]["special"][0] = "bit-paterns"


def other_recipe(spec: dict[str, Any]) -> None:
    spec["cases"]["values"]["InputTensor"]["random"] = {"recipe": "uniform", "least": 1}


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        (other_sizes, "examples.page-1", "breaks constraint/same-dimension-count"),
        (other_type, "examples.page-1", "breaks support/OutputTensor/data-type"),
        (other_set, "cases.values.InputTensor", "unknown set of special values 'bit-paterns' (did you mean 'bit-patterns'?)"),
        (other_recipe, "cases.values.InputTensor.random", "uniform takes high, low, not least"),
    ],
)
def test_what_is_written_wrong_is_found(change: Change, field: str, problem: str) -> None:
    found = changed("ELEMENT_WISE_BIT_COUNT", change)
    assert found
    assert all(text.startswith(f"<spec>: {field}: ") for text in found), found
    assert any(problem in text for text in found), found


def test_a_measured_example_keeps_the_rules_too() -> None:
    def beyond(spec: dict[str, Any]) -> None:
        example = next(example for example in spec["examples"].values() if example["evidence"] == {"measured": "1.15.4"})
        example["attributes"]["PooledSize"] = {"Width": 0, "Height": 1}

    assert any("breaks " in text for text in changed("ROI_POOLING", beyond))


@pytest.mark.parametrize("name", operator_names())
def test_nothing_is_wrong_in_the_specs(name: str) -> None:
    assert list(written_wrong(load(name))) == []


# The dimension count of a workload


@pytest.mark.parametrize(
    ("dimensions", "problem"),
    [
        (4, "4 is what InputTensor has in a workload without `dimensions`"),
        (3, "no table lists 3 dimensions for any tensor; they list 4, 5"),
        (6, "no table lists 6 dimensions for any tensor; they list 4, 5"),
    ],
)
def test_a_workload_has_a_dimension_count_that_is_listed_and_not_the_usual_one(dimensions: int, problem: str) -> None:
    def with_workload(spec: dict[str, Any]) -> None:
        spec["cases"]["workloads"] = {"mine": {"dimensions": dimensions, "sizes": {"N": 1}}}

    with pytest.raises(SpecError, match=r"cases\.workloads\.mine\.dimensions: ") as error:
        changed("MAX_POOLING", with_workload)
    assert problem in str(error.value)


def test_a_workload_may_have_another_dimension_count_that_is_listed() -> None:
    def with_workload(spec: dict[str, Any]) -> None:
        spec["cases"]["workloads"] = {"mine": {"dimensions": 5, "sizes": {"N": 1}}}

    assert changed("MAX_POOLING", with_workload) == []
