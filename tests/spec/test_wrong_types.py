"""Values of the wrong type in the block ``cases`` of a spec: each is an error that names the place, or has a meaning there; nothing else happens."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dmlcts.generator.checks.written import written_wrong
from dmlcts.spec.reading.document import SpecError, parse, read
from dmlcts.spec.reading.loader import load_text, operators_folder

WRONG: tuple[Any, ...] = (None, True, "x", [[1]], {"a": [1]})
SPECS = ("resample2", "gather", "element_wise_round")

Place = tuple[str | int, ...]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    if at:
        yield at
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*at, key))


def kinds(block: dict[str, Any]) -> list[Place]:
    """One place of each kind: the elements of a list are alike, and so are workloads with the same keys."""
    found: dict[Place, Place] = {}
    for place in places(block):
        label = (*place[:1], "*") if place[0] in ("workloads", "dispatches", "configurations") else place[:2]
        found.setdefault((*label, *("#" if isinstance(key, int) else key for key in place[2:])), place)
    return list(found.values())


def with_value(data: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(data)
    inner: Any = changed["cases"]
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return changed


@pytest.mark.parametrize("name", SPECS)
def test_a_wrong_type_in_cases_is_an_error_of_the_file(name: str) -> None:
    file = next(operators_folder().rglob(f"{name}.yaml"))
    data = json.loads(json.dumps(parse(read(file), file).data))
    problems = [
        problem for place in kinds(data["cases"]) for value in WRONG if (problem := refusal(with_value(data, place, value)))
    ]
    assert all(problem.path for problem in problems)
    assert len(problems) > len(kinds(data["cases"])) * len(WRONG) / 2


def refusal(data: dict[str, Any]) -> SpecError | None:
    """Why a spec is refused; None if it is not."""
    try:
        list(written_wrong(load_text(json.dumps(data))))
    except SpecError as error:
        return error
    return None


@pytest.mark.parametrize("value", ["true", "5", "{a: 1}", "[{a: 1}]", "[true]"])
@pytest.mark.parametrize("name", ["OutputPixelOffsets", "Mode", "InterpolationMode"])
@pytest.mark.parametrize("section", ["workloads", "configurations"])
def test_an_attribute_of_a_workload_has_its_type(section: str, name: str, value: str) -> None:
    """``OutputPixelOffsets: true`` was a TypeError."""
    file = next(operators_folder().rglob("resample2.yaml"))
    data = json.loads(json.dumps(parse(read(file), file).data))
    entry: dict[str, Any] = {name: parse(f"value: {value}").data["value"]}
    data["cases"][section] = {"mine": entry if section == "configurations" else {"sizes": {"S": [1, 1, 2, 2]}, "attributes": entry}}
    with pytest.raises(SpecError, match=rf"cases\.{section}\.mine\."):
        load_text(json.dumps(data))
