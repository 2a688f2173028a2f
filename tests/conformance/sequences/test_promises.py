"""Promises as data: files are read and checked, the reference keeps what it performs, and what breaks a promise is named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands.cli import dmlcts
from dmlcts.conformance.faults.beyond.sequences import FaultySequences
from dmlcts.conformance.sequences.calls import Call, Reply
from dmlcts.conformance.sequences.perform import Performer
from dmlcts.conformance.sequences.promises.judge import promise_outcome
from dmlcts.conformance.sequences.promises.pages import promising_pages
from dmlcts.conformance.sequences.promises.promise import Expected, Promise, promises, read_promises
from dmlcts.reports.record.record import FAIL, PASS, UNSUPPORTED
from dmlcts.spec.reading.document import SpecError

EVERY = {promise.name: promise for promise in promises()}

PERFORMED = {
    "BIN-11",
    "BIN-12",
    "BIN-2",
    "BIN-4",
    "BIN-5",
    "BIN-6",
    "BIN-7",
    "GRA-13",
    "GRA-16",
    "GRA-19",
    "GRA-2",
    "GRA-21",
    "GRA-5",
    "GRA-6",
    "GRA-7",
    "GRA-8",
    "INI-1",
    "INI-2",
    "INI-3",
    "INI-4",
    "INI-4-array",
    "INI-4-empty",
    "INI-9",
    "OPR-6",
    "OPR-6-small",
    "OPR-7",
    "OWN-4",
    "OWN-5",
    "PER-2",
    "PRO-1",
    "REC-1",
    "REC-11",
    "REC-2",
    "REC-3",
    "REC-4",
    "REC-5",
    "REC-6",
    "REC-7",
    "REC-8",
    "TAB-1",
    "TAB-2",
    "TAB-4",
    "TAB-5",
    "TMP-4",
}
"""What a backend of single dispatches can be asked: no devices, references or refusals."""


def outcome(promise: Promise, backend: Any = None) -> tuple[str, str]:
    found, _ = promise_outcome(promise, backend or ReferenceBackend())
    return found.status, found.message


@pytest.mark.parametrize("promise", EVERY.values(), ids=EVERY)
def test_the_reference_keeps_what_it_performs(promise: Promise) -> None:
    status, message = outcome(promise)
    assert status == (PASS if promise.name in PERFORMED else UNSUPPORTED), message


def test_every_page_is_one_that_promises_name() -> None:
    assert [page.name for page in promising_pages() if not page.promises] == []


def test_ids_are_unique_among_all_files() -> None:
    assert len(EVERY) == len(list(promises()))


@pytest.mark.parametrize(
    ("fault", "broken"),
    [("recorded-bindings", "REC-4"), ("owned-read-late", "OWN-5"), ("submitted-once", "REC-4"), ("table-not-reset", "TAB-5")],
)
def test_a_planted_fault_breaks_a_promise(fault: str, broken: str) -> None:
    status, message = outcome(EVERY[broken], FaultySequences(fault))
    assert status == FAIL
    assert message


class Replies(ReferenceBackend):
    """The reference, but for one reply."""

    def __init__(self, index: int, **changes: Any) -> None:
        super().__init__()
        self.index, self.changes = index, changes

    def perform(self, calls: list[Call]) -> list[Reply]:
        found = Performer(ReferenceBackend()).perform(calls)
        found[self.index] = replace(found[self.index], **self.changes)
        return found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"code": "E_FAIL", "message": "no"}, "call 15 (read) gave E_FAIL, expected S_OK: no"),
        ({"removed": True}, "call 15 (read) removed the device"),
        ({"value": b"\x01\x02\x03\x04"}, "call 15 (read) gave 01020304, expected a5a5a5a5"),
    ],
)
def test_what_breaks_a_promise_is_named(changes: Any, message: str) -> None:
    at = [type(call).__name__ for call in EVERY["REC-2"].calls].index("Read")
    assert outcome(EVERY["REC-2"], Replies(at, **changes)) == (FAIL, message.replace("15", str(at)))


def test_a_code_may_be_given_by_its_number() -> None:
    assert outcome(EVERY["REC-2"], Replies(0, code="0x00000000"))[0] == PASS
    refused = replace(EVERY["REC-2"], expected=(Expected(("E_INVALIDARG",)), *EVERY["REC-2"].expected[1:]))
    assert outcome(refused, Replies(0, code="0x80070057"))[0] == PASS
    assert outcome(refused, Replies(0, code="0x80004005"))[0] == FAIL
    assert outcome(refused, Replies(0, code="no code"))[0] == FAIL


def test_misuse_must_be_survived_and_no_more() -> None:
    assert outcome(EVERY["BIN-1"], Replies(4, code="E_INVALIDARG"))[0] == PASS
    assert outcome(replace(EVERY["BIN-1"], severity="must"), Replies(4, code="E_INVALIDARG"))[0] == FAIL


def test_what_is_undefined_is_never_asked() -> None:
    assert outcome(replace(EVERY["REC-2"], severity="undefined"), Replies(0, code="E_FAIL"))[0] == UNSUPPORTED


RIGHT = """\
area: execution
parts:
  buffer:
    - {call: create-resource, makes: 3, size: 16, fill: 0}
  again: [buffer]
promises:
  - id: REC-1
    api: IDMLCommandRecorder::RecordDispatch
    page: recorddispatch
    severity: must
    says: something
    calls:
      - again
      - {call: read, resource: 3, size: 2, gives: {hex: "0000"}}
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RIGHT, encoding="utf-8")
    (promise,) = read_promises(tmp_path / "a.yaml")
    assert (promise.area, promise.severity, len(promise.calls)) == ("execution", "must", 2)
    assert outcome(promise) == (PASS, "")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("severity: must", "severity: should", "a.yaml:10: promises.0..severity: unknown 'should'"),
        ("- again", "- agian", "REC-1: parts of calls: unknown 'agian' \\(did you mean 'again'"),
        ("again: [buffer]", "again: [again]", "REC-1: again contains itself"),
        ("page: recorddispatch", "page: recorddispach", "pages of shared.yaml: unknown 'recorddispach' \\(did you mean"),
        ("resource: 3, size: 2", "resource: 4, size: 2", r"REC-1: calls\[1\] \(read\): no call before it makes object 4"),
        ("call: read", "call: reed", "unknown 'reed' \\(did you mean 'read'"),
        ("id: REC-1", "id: rec", "promises.0..id: 'rec' has not the form"),
        ("    says: something\n", "", "a.yaml:7: promises.0..says"),
        ('{hex: "0000"}', "S_FINE", "gives"),
        ('{hex: "0000"}', "{same-as: first}", "REC-1: read: labels of calls before it: unknown 'first'"),
        ('{hex: "0000"}', "{same-as: last}, label: last", "REC-1: read: labels of calls before it: unknown 'last'"),
        (
            "- again",
            "- {call: wait, label: a}\n      - {call: wait, label: a}\n      - again",
            r"calls\[1\] \(wait\): the label a is there twice",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_named_with_its_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in RIGHT
    (tmp_path / "a.yaml").write_text(RIGHT.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError, match=problem):
        read_promises(tmp_path / "a.yaml")


def test_an_id_may_stand_once_alone(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RIGHT + RIGHT.split("promises:\n")[1], encoding="utf-8")
    with pytest.raises(SpecError, match="REC-1 is there twice"):
        read_promises(tmp_path / "a.yaml")


def test_spec_check_reads_promises_too(tmp_path: Path) -> None:
    file = tmp_path / "api" / "a.yaml"
    file.parent.mkdir()
    for text, code, message in (
        (RIGHT, 0, "1 file checked, 0 problems"),
        (RIGHT.replace("severity: must", "severity: should"), 1, "1 file checked, 1 problem"),
    ):
        file.write_text(text, encoding="utf-8")
        checked = CliRunner().invoke(
            dmlcts, ["spec", "check", str(file)]
        )  # not the command alone: click keeps the names of its help option
        assert checked.exit_code == code, checked.output
        assert message in checked.output
