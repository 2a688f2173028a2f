"""Every file that is written has a name that Windows takes: most users are there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis.strategies import text

from dmlcts.conformance.dxdispatch.case_folder import write_case
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.sequences.promises.promise import promises
from dmlcts.generator.case.case import LEVELS
from dmlcts.generator.suite.graphs.families import FAMILIES
from dmlcts.generator.suite.suite import find_case, operator_cases
from dmlcts.reports.record.files import MOST, file_name, file_names
from dmlcts.reports.record.record import API
from dmlcts.spec.reading.loader import operator_names

DEVICES = {
    "CON",
    "PRN",
    "AUX",
    "NUL",
    "CONIN$",
    "CONOUT$",
    *(f"{port}{digit}" for port in ("COM", "LPT") for digit in "0123456789¹²³"),
}
LONGEST = 240
"""Characters of a path, its folder included: Windows allows 259."""

FOLDER = "C:/Users/somebody.with.a.long.name/source/repos/implementation/conformance/results-of-tonight/examples/"
"""A folder such as a CI's."""


def problem(path: str) -> str:
    """What is wrong with a path on Windows; empty if nothing is."""
    for name in path.split("/"):
        if re.search(r'[<>:"\\|?*\x00-\x1f]', name):
            return "a character that no name has"
        if name.rstrip(". ") != name or not name:
            return "its end"
        if name.partition(".")[0].rstrip().upper() in DEVICES:
            return "a device"
    return "its length" if len(FOLDER + path) > LONGEST else ""


def wrong(paths: Iterable[str]) -> list[str]:
    return [f"{path}: {problem(path)}" for path in paths if problem(path)]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("GEMM.json", ""), ("a/b.npy", ""), ("InputTensors[0].npy", ""), ("CONCAT.json", ""), ("_CON.json", ""),
        ("con.json", "a device"), ("x/LPT1", "a device"), ("nul .txt", "a device"), ("a:b", "a character that no name has"),
        ("a*", "a character that no name has"), ("a.", "its end"), ("a /b", "its end"), ("a//b", "its end"), ("x" * 200, "its length"),
    ],
)  # fmt: skip
def test_what_windows_refuses_is_seen(path: str, found: str) -> None:
    assert problem(path) == found


@given(text())
@example("CON")
@example("lpt1.x")
@example("x. ")
@example("é/ü:*" * 60)
def test_of_anything_that_has_a_name(name: str) -> None:
    """Cases, laws' examples, drawn cases, graphs, faults: whatever their ids hold."""
    assert wrong([file_name(name, ".json")]) == []


@pytest.mark.parametrize("operator", operator_names()[::8])
def test_of_each_case(operator: str) -> None:
    """Level smoke has every kind of case. No two have one name."""
    ids = [case.id for case in operator_cases(operator, LEVELS[0])]
    names = [file_name(case_id, ".json") for case_id in ids]
    assert ids
    assert wrong(names) == []
    assert len({name.lower() for name in names}) == len(set(ids))


def test_a_long_id_is_cut_and_keeps_its_own_name() -> None:
    one, other = (file_name(f"GEMM/{'x' * 300}/{end}", ".json") for end in "ab")
    assert one != other
    assert len(one) == len(other) == MOST
    assert file_name("NUL", ".json") == "_NUL.json"
    assert file_name("GEMM/FLOAT32/2d/1x5/fuzz-7-1234", ".json") == "GEMM-FLOAT32-2d-1x5-fuzz-7-1234.json"


def test_of_reports_pages_and_modules() -> None:
    """JUnit, CTRF and the pages of the site have a file for each operator, as have emitted modules and the journal's corpora."""
    every = [*operator_names(), API]
    for extension in (".xml", ".json", ".html"):
        names = file_names(every, extension, reserved="index").values()
        assert wrong(names) == []
        assert len({name.lower() for name in names}) == len(every)
    assert wrong(f"test_{name.lower()}.py" for name in every) == []
    assert wrong(f"{journal.FOLDER}/{journal.LISTED.format(number=number)}" for number in (0, 10**6)) == []


def test_of_promises_and_graphs() -> None:
    assert wrong(file_name(promise.id, ".json") for promise in promises()) == []
    assert wrong(file_name(name, ".json") for name in FAMILIES) == []


@pytest.mark.parametrize("case", ["GEMM/FLOAT32/tiled/256x256x256", "JOIN/FLOAT32/4d"])
def test_of_a_case_as_a_folder(case: str, tmp_path: Path) -> None:
    try:
        found = find_case(case)
    except KeyError:
        found = operator_cases(case.partition("/")[0], LEVELS[0])[0]
    assert wrong(write_case(found, tmp_path)) == []
