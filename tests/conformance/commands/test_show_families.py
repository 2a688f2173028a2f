"""``dmlcts show OPERATOR``: what is tested of an operator, a line a family of cases."""

from __future__ import annotations

import json

import pytest

from dmlcts.conformance.commands.cli import main
from dmlcts.generator.suite.families import FAMILIES, by_family
from dmlcts.generator.suite.suite import MAKERS, operator_cases
from dmlcts.spec.reading.loader import load

NAME = "ELEMENT_WISE_BIT_NOT"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["show", *arguments])
    assert not ended.value.code
    return capsys.readouterr().out


def test_each_case_is_of_one_family() -> None:
    cases = operator_cases(NAME, "full")
    found = [case.id for _, own in by_family(load(NAME), cases, "full") for case in own]
    assert sorted(found) == sorted(case.id for case in cases)


def test_each_family_says_what_it_has_and_why() -> None:
    assert tuple(family.maker for family in FAMILIES) == MAKERS
    assert len({family.has for family in FAMILIES}) == len({family.why for family in FAMILIES}) == len(FAMILIES)


def test_the_table_counts_what_each_level_adds(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.split() for line in printed(capsys, NAME, "--level", "core").splitlines()]
    assert lines[0][:4] == ["cases", "have", "smoke", "core"]
    total = next(line for line in lines if line[0] == "together")
    cases = operator_cases(NAME, "core")
    assert total[1:3] == [str(sum(case.level == level for case in cases)) for level in ("smoke", "core")]


def test_as_json_it_names_a_case_of_each_family(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, NAME, "--level", "core", "--json"))
    ids = {case.id for case in operator_cases(NAME, "core")}
    assert {entry["first"] for entry in found} <= ids
    assert sum(sum(entry["cases"].values()) for entry in found) == len(ids)


def test_a_lone_case_is_printed_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, f"{NAME}/UINT8/4d").startswith(f"{NAME}/UINT8/4d\n")
