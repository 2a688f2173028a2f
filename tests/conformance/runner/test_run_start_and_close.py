"""``dmlcts run`` on backends that cannot be started, or do not close: the message, the exit code, and which case an error is charged to."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from commands import dmlcts
from unruly_runs import CASE, HOSTS, OTHERS, results, started

from dmlcts.conformance.backends.process import process

pytestmark = pytest.mark.usefixtures("hosts_at_hand")


# Before and after

UNAVAILABLE = {
    "nosuch": "unknown backend 'nosuch'; known: reference,",
    "reference:nosuch": "reference:nosuch is unknown",
    "python:": "must be MODULE:CLASS",
    "python:unruly": "must be MODULE:CLASS",
    "python:nosuchmodule:X": "cannot be imported: ModuleNotFoundError: No module named 'nosuchmodule'",
    "python:unruly:NoSuch": "module 'unruly' has no attribute 'NoSuch'",
    "python:broken:X": "cannot be imported: SyntaxError",
    "python:exiting:X": "cannot be imported: SystemExit: 0",
    "python:unruly:np": "could not be made: TypeError: 'module' object is not callable",
    "python:unruly:RaisesWhenMade": "could not be made: RuntimeError: no device",
    "python:unruly:ExitsWhenMade": "could not be made: SystemExit: 0",
    "python:unruly:HasNoRun": "has no run; derive it from dmlcts.conformance.ArrayBackend",
    "python:unruly:RaisesWhenAsked": "cannot describe itself: OSError: driver does not answer",
    "python:unruly:DescribedByADict": "must return a BackendInfo from describe(), not a dict",
    "python:unruly:OfNoLevel": "the description's feature_level cannot be '9_9'",
    "python:unruly:OfNoType": "the description's data_types cannot be ['uint32']",
    "python:unruly:OfNoJson": "Object of type object is not JSON serializable",
    "process:": "needs a command",
    "process:nosuchprogram --option": "cannot start 'nosuchprogram'",
    'process:"open': "No closing quotation",
    f"process:{shlex.join([sys.executable, '-c', 'print(1)'])}": "describe: ",
}


@pytest.mark.parametrize("backend", UNAVAILABLE)
def test_a_backend_that_cannot_be_started_is_exit_code_3(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text("def x(:\n", encoding="utf-8")
    (tmp_path / "exiting.py").write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    assert dmlcts("run", "--level", "smoke", "--backend", backend) == 3
    captured = capsys.readouterr()
    assert UNAVAILABLE[backend] in captured.err
    assert captured.err.startswith("dmlcts: ")
    assert "Traceback" not in captured.err
    assert (captured.out, {file for file in tmp_path.iterdir() if file.name != "__pycache__"}) == ("", before)


def test_a_device_for_one_process_says_so(tmp_path: Path) -> None:
    arguments = ("run", "-q", "--level", "smoke", "-k", "BIT_OR", "--backend", "python:unruly:ForOne", "--out", tmp_path / "out")
    lock = str(tmp_path / "lock")
    one = started(*arguments, "-n", 1, UNRULY_LOCK=lock)  # the process that starts the other has given it back
    assert (one.returncode, one.stderr) == (0, "")
    assert not Path(lock).exists()
    two = started(*arguments, "-n", 2, UNRULY_LOCK=lock)
    assert (two.returncode, two.stdout) == (3, "")
    assert (
        "python:unruly:ForOne: describe: could not be made: RuntimeError: the device is taken (in one of 2 processes" in two.stderr
    )
    assert "Traceback" not in two.stderr
    assert not Path(lock).exists()


@pytest.mark.parametrize("processes", [0, 1])
@pytest.mark.parametrize("kind", ["python", "inprocess"])
def test_a_backend_that_fails_to_close_costs_the_last_case(
    kind: str, processes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = f"{kind}:unruly:RaisesWhenClosed"
    assert dmlcts("run", "-q", "--case", CASE, "--backend", backend, "-n", processes, "--out", tmp_path) == 1
    result = results(tmp_path)[CASE]
    assert result.status == "error"
    assert result.message.startswith("after this case, the last one, the backend failed to close: ")
    assert result.message.endswith("closed already")
    assert CASE in result.repro
    capsys.readouterr()


LINGERING = f"process:{shlex.join([sys.executable, str(HOSTS / 'lingering.py')])}"
CLOSED_BADLY = [
    ("python:unruly:HangsWhenClosed", 0, "did not exit within 1 s when it was asked to close"),
    ("python:unruly:HangsWhenClosed", 1, "did not exit within 8 s when it was asked to close"),
    ("inprocess:unruly:HangsWhenClosed", 0, "the backend did not close within 10 s"),
    (LINGERING, 0, "did not exit within 1 s when it was asked to close"),
    ("python:unruly:DiesAtClose", 0, "the host ended with exit code 0 when it was asked to close"),
    ("inprocess:unruly:DiesAtClose", 0, "its process died, with exit code 0"),
    ("python:unruly:LeavesAThread", 0, "did not exit within 1 s when it was asked to close"),
]


@pytest.mark.parametrize(("backend", "processes", "message"), CLOSED_BADLY)
def test_a_backend_that_does_not_close_costs_the_last_case(
    backend: str, processes: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNRULY_OUT", str(tmp_path))
    monkeypatch.setattr(process, "GRACE_AT_CLOSE", 1.0)  # of this process alone
    chosen = ("--case", OTHERS[0], "-n", processes, "--out", tmp_path / "out")
    assert dmlcts("run", "-q", "--backend", backend, *chosen) == 1
    result = results(tmp_path / "out")[OTHERS[0]]
    assert result.status == "error"
    assert result.message.startswith("after this case, the last one, ")
    assert message in result.message
    assert OTHERS[0] in result.repro


@pytest.mark.parametrize(
    ("message", "status"), [("", "error"), ("*, the backend failed to close: * ended with exit code 0 *", "waived")]
)
def test_a_waiver_of_the_last_case_excuses_no_backend_that_does_not_close_unless_it_names_that(
    message: str, status: str, tmp_path: Path
) -> None:
    waivers = tmp_path / "waivers.yaml"
    entry = "reason: known, issue: '1'"
    closing = f"- {{cases: {CASE}, {entry}, message: '{message}'}}\n" if message else ""
    waivers.write_text(
        f"waivers:\n{closing}- {{cases: {CASE}, {entry}, message: '*elements wrong*'}}\n- {{cases: {CASE}, {entry}}}",
        encoding="utf-8",
    )
    chosen = ("--case", OTHERS[0], "--case", CASE, "--waivers", waivers, "--out", tmp_path / "out")
    assert dmlcts("run", "-q", "--backend", "python:unruly:WrongAndDiesAtClose", *chosen) == (1 if status == "error" else 0)
    assert [result.status for result in results(tmp_path / "out").values()] == ["pass", status]


def test_what_a_dispatch_before_the_last_writes_later_is_an_error(tmp_path: Path) -> None:
    selected = ("--level", "smoke", "-k", "BIT_OR/UINT8 and not negative")
    assert dmlcts("run", "-q", *selected, "--backend", "python:unruly:WritesLater", "--out", tmp_path) == 1
    found = list(results(tmp_path).values())
    assert 1 < len(found) < 24, "or it would be found before the end"
    assert [result.status for result in found] == [*["pass"] * (len(found) - 1), "error"]
    assert "wrote to a resource after it had returned" in found[-1].message
