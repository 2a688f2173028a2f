"""Fields that have another name in what is inherited, and inherited configurations and laws that are changed in part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dmlcts.spec.reading.document import Document, SpecError, parse
from dmlcts.spec.reading.inherit import merged_document
from dmlcts.spec.reading.loader import load, load_text

BASE = """\
operator: A
fields:
  - {name: X, kind: input}
  - {name: Heads, kind: attribute}
  - {name: Sizes, kind: attribute, count: Heads}
support:
  - {level: "1_0", tensors: {X: {dimensions: "4"}}, when: {Heads: [1]}}
constraints:
  even: {that: "Heads % 2 == 0 and X.Sizes[0] > 0"}
shapes:
  - {when: Heads > 1, sizes: {X: [N, 2 * Heads, "*S"]}}
examples:
  one: {inputs: {X: {data: [1]}}, attributes: {Heads: 2}, evidence: {page: Heads}, note: Heads of X}
errata:
  open: {text: Nobody knows what Heads of X are., evidence: Heads}
cases:
  attributes: {Heads: [2, 4]}
  configurations:
    plain: {X: present, Heads: [2, 4], Y: absent}
    wide: {X: present, Heads: [8], Y: absent}
  workloads:
    usual: {sizes: {N: 1}, attributes: {Heads: 12}}
  relations:
    law: {law: "f(x, Heads=Heads // 2) == g(x, X=1) + Heads", given: {x: X}, when: "Heads == 2"}
    other: {law: f(x) == x, given: {x: X}, when: Heads == 2}
"""


def merged(own: str) -> Document:
    return merged_document(parse(f"operator: B\nextends: A\n{own}", Path("own.yaml")), parse(BASE, Path("base.yaml")))


def test_a_field_has_its_new_name_everywhere_but_in_prose() -> None:
    data = merged("renamed: {Heads: Groups, X: Input}\n").data
    assert [field["name"] for field in data["fields"]] == ["Input", "Groups", "Sizes"]
    assert data["fields"][2]["count"] == "Groups"
    assert data["support"][0]["tensors"] == {"Input": {"dimensions": "4"}}
    assert data["support"][0]["when"] == {"Groups": [1]}
    assert data["constraints"]["even"] == {"that": "Groups % 2 == 0 and Input.Sizes[0] > 0"}
    assert data["shapes"] == [{"when": "Groups > 1", "sizes": {"Input": ["N", "2 * Groups", "*S"]}}]
    assert data["examples"]["one"]["inputs"] == {"Input": {"data": [1]}}
    assert data["examples"]["one"]["attributes"] == {"Groups": 2}
    assert data["cases"]["attributes"] == {"Groups": [2, 4]}
    assert data["cases"]["relations"]["law"] == {
        "law": "f(x, Groups=Groups // 2) == g(x, Input=1) + Groups",
        "given": {"x": "Input"},
        "when": "Groups == 2",
    }
    assert data["examples"]["one"]["note"] == "Heads of X"
    assert data["examples"]["one"]["evidence"] == {"page": "Heads"}
    assert data["errata"] == parse(BASE).data["errata"]


def test_a_field_that_has_become_two_is_equal_in_what_is_inherited() -> None:
    data = merged("renamed: {Heads: [Queries, Keys]}\n").data
    assert [field["name"] for field in data["fields"]] == ["X", "Queries", "Keys", "Sizes"]
    assert data["examples"]["one"]["attributes"] == {"Queries": 2, "Keys": 2}
    cases = data["cases"]
    assert cases["attributes"] == {"Queries": [2, 4], "Keys": ["Queries"]}
    assert list(cases["configurations"]["plain"].items()) == [
        ("X", "present"),
        ("Queries", [2, 4]),
        ("Keys", "Queries"),
        ("Y", "absent"),
    ]
    assert cases["workloads"]["usual"]["attributes"] == {"Queries": 12, "Keys": "Queries"}
    assert cases["relations"]["law"]["law"] == "f(x, Queries=Queries // 2, Keys=Queries // 2) == g(x, X=1) + Queries"
    assert data["constraints"]["even"]["that"] == "Queries % 2 == 0 and X.Sizes[0] > 0"


def test_a_renamed_field_may_be_given_anew() -> None:
    found = merged("renamed: {Heads: [Queries, Keys]}\nfields: [{name: Keys, kind: input}]\n").data["fields"]
    assert [(field["name"], field["kind"]) for field in found][:3] == [("X", "input"), ("Queries", "attribute"), ("Keys", "input")]


@pytest.mark.parametrize(
    ("path", "line"),
    [(("constraints", "even", "that"), 9), (("fields", 3, "count"), 5), (("fields", 2, "kind"), 4), (("shapes", 0, "when"), 11)],
)
def test_what_is_renamed_keeps_its_line(path: tuple[str | int, ...], line: int) -> None:
    file, found = merged("renamed: {Heads: [Queries, Keys]}\n").place(path)
    assert (str(file), found) == ("base.yaml", line)


@pytest.mark.parametrize(
    ("renamed", "problem"),
    [
        ("{Heds: Groups}", "renamed.Heds: no field 'Heds' (did you mean 'Heads'?) is inherited"),
        ("{Heads: 7}", "renamed.Heads: must be the new name, or a list of new names"),
        ("{Heads: []}", "renamed.Heads: must be the new name, or a list of new names"),
    ],
)
def test_what_cannot_be_renamed(renamed: str, problem: str) -> None:
    with pytest.raises(SpecError) as error:
        merged(f"renamed: {renamed}\n")
    assert str(error.value) == f"own.yaml:3: {problem}"


# Entries like others


def test_an_inherited_entry_is_changed_in_part() -> None:
    laws = merged("cases:\n  relations:\n    law: {like: law, when: Heads == 4}\n").data["cases"]["relations"]
    assert laws["law"] == {**parse(BASE).data["cases"]["relations"]["law"], "when": "Heads == 4"}
    assert list(laws) == ["law", "other"]


def test_a_new_entry_may_be_like_an_inherited_one_or_one_before() -> None:
    found = merged("cases:\n  configurations:\n    mine: {like: plain, Heads: [6], Z: 1}\n    yours: {like: mine, Z: 2}\n").data[
        "cases"
    ]["configurations"]
    assert list(found["mine"].items()) == [("X", "present"), ("Heads", [6]), ("Y", "absent"), ("Z", 1)]
    assert found["yours"] == {"X": "present", "Heads": [6], "Y": "absent", "Z": 2}
    assert "like" not in str(found)


def test_every_inherited_entry_is_changed_and_no_new_one() -> None:
    own = "fields: [{name: Z, after: X, kind: input}]\n"
    own += (
        'cases:\n  configurations:\n    "*": {Z: absent, Heads: [1]}\n    new: {X: absent}\n    like-it: {like: wide, Y: present}\n'
    )
    found = merged(own).data["cases"]["configurations"]
    assert list(found) == ["plain", "wide", "new", "like-it"]
    assert list(found["plain"].items()) == [("X", "present"), ("Z", "absent"), ("Heads", [1]), ("Y", "absent")]
    assert found["new"] == {"X": "absent"}
    assert found["like-it"] == {**found["wide"], "Y": "present"}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("mine: {like: plan}", "no entry 'plan' (did you mean 'plain'?) is inherited or stands before"),
        ("mine: {like: yours}\n    yours: {X: absent}", "no entry 'yours' is inherited or stands before"),
        ("mine: {like: mine}", "no entry 'mine' is inherited or stands before"),
    ],
)
def test_what_no_entry_can_be_like(entry: str, problem: str) -> None:
    with pytest.raises(SpecError) as error:
        merged(f"cases:\n  configurations:\n    {entry}\n")
    assert str(error.value) == f"own.yaml:5: cases.configurations.mine.like: {problem}"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("renamed: {X: Y}\n", "renamed: this file inherits nothing"),
        ("without: [examples]\n", "without: this file inherits nothing"),
        ("cases: {relations: {it: {like: other}}}\n", "cases.relations.it: `like` and `*` need what is inherited"),
        ('cases: {configurations: {"*": {X: present}}}\n', "cases.configurations.*: `like` and `*` need what is inherited"),
    ],
)
def test_a_file_that_extends_nothing_has_nothing_to_change(change: str, problem: str) -> None:
    text = 'operator: ELEMENT_WISE_ABS\ntype: 2\nintroduced: "1_0"\nsummary: x\n'
    text += "fields: []\nsupport: []\nconstraints: {}\ntolerance: {class: exact}\nsources: []\n"
    with pytest.raises(SpecError) as error:
        load_text(text + change)
    assert problem in str(error.value)


def test_an_operator_whose_field_has_become_two() -> None:
    operator = load("MULTIHEAD_ATTENTION1")
    example = next(example for example in operator.examples if example.id == "no-preference")
    assert (example.attributes["QueryHeadCount"], example.attributes["KeyValueHeadCount"]) == (1, 1)
    limits: dict[str, Any] = dict(operator.configurations["boolean"])
    assert limits["QueryHeadCount"] == (2,)
    assert limits["KeyValueHeadCount"][0].text == "QueryHeadCount"
    assert limits["PastSequenceLengthsTensor"] == ("absent",)
