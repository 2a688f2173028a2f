"""The pin: it changes with what a case is, and with nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from dmlcts.conformance.commands.specs import spec_pin
from dmlcts.generator.case.case import AGREEMENT, REFERENCE, RELATION, Case
from dmlcts.generator.suite import pin
from dmlcts.generator.suite.graph_cases.graph_case import GRAPHS, graph_cases
from dmlcts.generator.suite.pin import Pin, changes, pins_of, read_pins, write_pins
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, operator_names

SMALL = "ACTIVATION_IDENTITY"
CASES = [case for case in operator_cases(SMALL, "smoke") if case.expect == REFERENCE]


def line(cases: list[Case], operator: Operator | None = None, level: str = "smoke") -> Pin:
    return pin._pin(SMALL, level, cases, pin._expectation(operator or load(SMALL)))


CHANGES: dict[str, Callable[[Case], Case]] = {
    "desc": lambda case: replace(case, desc=next(other.desc for other in CASES if other.desc != case.desc)),
    "basis": lambda case: replace(case, basis="measured"),
    "data": lambda case: replace(case, data={}),
    "where it is bound": lambda case: replace(case, offset=48),
    "what must happen": lambda case: replace(case, expect=AGREEMENT),
    "checks": lambda case: replace(case, checks=("gaps",)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_content_of_one_case_shows_and_the_ids_stay(what: str) -> None:
    old, new = line(CASES), line([CHANGES[what](CASES[0]), *CASES[1:]])
    assert (new.cases, new.ids) == (old.cases, old.ids)
    assert new.contents != old.contents
    assert new.change(old) == "the same ids, other contents"


def test_a_case_that_is_gone_or_renamed_shows() -> None:
    old = line(CASES)
    assert line(CASES[1:]).change(old) == f"other ids: {old.cases} cases before, {old.cases - 1} now"
    assert line([replace(CASES[0], id=f"{CASES[0].id}/x"), *CASES[1:]]).change(old).startswith("other ids")


def test_order_and_notes_do_not_count() -> None:
    assert line(CASES[::-1]) == line(CASES)
    assert line([replace(CASES[0], note="in other words", covers=()), *CASES[1:]]) == line(CASES)


def test_another_tolerance_shows() -> None:
    operator = load(SMALL)
    wider = replace(operator, tolerance=replace(operator.tolerance, judge=f"{operator.tolerance.judge}!"))
    assert line(CASES, wider).change(line(CASES)) == "the same ids, other contents"


def test_another_text_of_a_law_shows() -> None:
    name = next(name for name in operator_names() if load(name).relations)
    operator = load(name)
    law = operator.relations[0]
    case = next(case for case in operator_cases(name, "core") if case.expect == RELATION and case.relation == law.label)
    other = replace(operator, relations=(replace(law, basis="another"), *operator.relations[1:]))
    assert line([case], operator).contents != line([case], other).contents


def test_other_bytes_of_the_same_recipe_show_below_level_full(monkeypatch: pytest.MonkeyPatch) -> None:
    before, full = line(CASES), line(CASES, level="full")
    for name, recipe in RECIPES.items():
        shifted = replace(recipe, make=lambda raw, *rest, make=recipe.make: make(raw[::-1], *rest))
        monkeypatch.setitem(RECIPES, name, shifted)
    assert line(CASES).contents != before.contents
    assert line(CASES, level="full") == full


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "pins.txt"
    pins = [Pin("B", "core", 2, "aa", "bb"), Pin("A", "full", 3, "cc", "dd"), Pin("A", "smoke", 1, "ee", "ff")]
    write_pins(pins, file)
    assert file.read_text(encoding="utf-8").splitlines() == ["A smoke 1 ee ff", "A full 3 cc dd", "B core 2 aa bb"]
    assert set(read_pins(file).values()) == set(pins)
    assert read_pins(tmp_path / "none") == {}


def test_a_level_without_cases_is_a_change() -> None:
    old = {(SMALL, level): Pin(SMALL, level, 5, "a", "b") for level in ("smoke", "core")}
    (change,) = changes([old[SMALL, "smoke"]], old)
    assert change == (old[SMALL, "core"], "its 5 cases are gone")
    assert list(changes([Pin("OTHER", "smoke", 1, "a", "b")], old)) == [(Pin("OTHER", "smoke", 1, "a", "b"), "1 cases are new")]


def test_the_operators_of_the_suite_are_pinned_at_each_level() -> None:
    stored = read_pins()
    assert {name for name, _ in stored} == {*operator_names(), GRAPHS}
    assert all((name, level) in stored for name in operator_names() for level in ("smoke", "core", "full"))


def test_cases_are_those_that_are_pinned() -> None:
    """Of one operator: `dmlcts spec pin --check` looks at all."""
    assert list(changes(pins_of(SMALL), read_pins())) == []


def test_the_command_tells_a_change_and_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pins.txt"
    stored = [replace(each, contents="other") if each.level == "core" else each for each in pins_of(SMALL)]
    write_pins([*stored, Pin("NO_SUCH", "core", 1, "a", "b")], file)
    monkeypatch.setattr(spec_pin, "read_pins", lambda: read_pins(file))
    monkeypatch.setattr(spec_pin, "write_pins", lambda pins: write_pins(pins, file))
    check = CliRunner().invoke(spec_pin.command, [SMALL, "--check"])
    assert check.exit_code == 1
    assert f"{SMALL}, level core: the same ids, other contents" in check.output
    assert "NO_SUCH, level core: there is no such operator" in check.output
    assert CliRunner().invoke(spec_pin.command, [SMALL]).exit_code == 0
    assert CliRunner().invoke(spec_pin.command, [SMALL, "--check"]).exit_code == 0
    assert {each.operator for each in read_pins(file).values()} == {SMALL}


def test_graphs_are_those_that_are_pinned() -> None:
    assert list(changes(pins_of(GRAPHS), read_pins())) == []


def test_a_graph_that_changes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {(each.operator, each.level): each for each in pins_of(GRAPHS)}
    fewer = graph_cases("full")[:-1]
    monkeypatch.setattr(pin, "graph_cases", lambda level: [case for case in fewer if level == "full" or case.level == level])
    assert [told.partition(":")[0] for _, told in changes(pins_of(GRAPHS), before)] == ["other ids"]
    monkeypatch.setitem(RECIPES, "quarters", RECIPES["small-integers"])
    monkeypatch.setattr(pin, "graph_cases", lambda level: [case for case in graph_cases("core") if level == "core"])
    told = {each.level: how for each, how in changes(pins_of(GRAPHS)[:1], before)}
    assert told["core"] == "the same ids, other contents", "at level core the numbers count"
