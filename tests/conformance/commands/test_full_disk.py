"""A full disk, by a limit on the size of a file: each command names the file that it could not write, and ends with exit code 2."""

import errno
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from records import of

from dmlcts.conformance.commands.cli import main
from dmlcts.reports.record.record import FAIL, write_record
from dmlcts.spec.writing.files import WriteError, writing_to

resource = pytest.importorskip("resource", reason="Windows has no such limit")

CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"


@contextmanager
def full(most: int) -> Iterator[None]:
    """No file gets more bytes than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


COMMANDS = {
    "report": ("report", "{record}", "--out", "{out}/report"),
    "repro": ("repro", CASE, "--out", "{out}/repro"),
    "show": ("show", CASE, "--frame", "{out}/frames"),
    "generate": ("generate", "-k", "BIT_OR", "--level", "smoke", "--out", "{out}/tests"),
    "gate": ("gate", "{record}", "--baseline", "{record}", "--json", "{out}/gate.json"),
    "run": ("run", "BIT_OR", "--level", "smoke", "--quiet", "--out", "{out}/run"),
    "run in a process": ("run", "BIT_OR", "--level", "smoke", "-n", "1", "--quiet", "--out", "{out}/run"),
    "fuzz": ("fuzz", "BIT_OR", "--minutes", "0.01", "--quiet", "--out", "{out}/fuzz"),
    "findings": ("spec", "findings", "--out", "{out}/findings.md"),
}


@pytest.mark.parametrize("processes", ["0", "1"])
@pytest.mark.parametrize(("most", "file"), [(3_000, "parts"), (9_000, "index.html")])
def test_a_disk_that_is_full_in_the_middle_of_a_run_is_no_fault_of_a_case(
    processes: str, most: int, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While a worker process lists cases, and while the reports are written."""
    monkeypatch.setattr("dmlcts.generator.case.case_cache.shared", "")
    with full(most), pytest.raises(SystemExit) as ended:
        main(["run", "BIT_OR", "--level", "smoke", "-n", processes, "--quiet", "--out", str(tmp_path / "out")])
    printed = capsys.readouterr().err
    assert ended.value.code == 2, printed
    assert printed.startswith(f"dmlcts: {tmp_path / 'out' / file}")
    assert printed.endswith("it cannot be written: File too large; free some space, or choose another folder\n")


@pytest.mark.parametrize("most", [0, 150])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_file_is_named(
    command: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the first byte on, and in the middle of a file."""
    monkeypatch.setattr("dmlcts.generator.case.case_cache.shared", "")  # cases are kept in a folder otherwise
    record = tmp_path / "record.jsonl"
    write_record(of(**{FAIL: 20}), record)
    arguments = [word.format(record=record, out=tmp_path / "out") for word in COMMANDS[command]]
    (tmp_path / "out").mkdir()
    with full(most), pytest.raises(SystemExit) as ended:
        main(arguments)
    printed = capsys.readouterr().err
    assert ended.value.code == 2, printed
    assert str(tmp_path / "out") in printed
    assert "File too large" in printed
    assert "choose another" in printed
    assert "Traceback" not in printed


def test_a_merged_record_is_named(tmp_path: Path) -> None:
    record = of(**{FAIL: 20})
    with full(150), pytest.raises(WriteError, match=r"merged\.jsonl: it cannot be written: File too large; free some space"):
        write_record(record, tmp_path / "merged.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has this device")
@pytest.mark.parametrize("arguments", [("show", CASE), ("spec", "show", "ROUND", "--json")])
def test_standard_output_is_named(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as stream:
        done = subprocess.run(
            [sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()", *arguments],
            stdout=stream,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "dmlcts: standard output cannot be written: No space left on device; free some space, or print to another place\n"
    )


def test_an_error_names_the_innermost_place_and_keeps_its_cause(tmp_path: Path) -> None:
    with pytest.raises(WriteError) as raised, writing_to(tmp_path / "outer"), writing_to(tmp_path / "inner"):
        raise OSError(errno.ENOSPC, "No space left on device")
    message = f"{tmp_path / 'inner'}: it cannot be written: No space left on device; free some space, or choose another folder"
    assert str(raised.value) == str(pickle.loads(pickle.dumps(raised.value))) == message
    assert raised.value.errno == errno.ENOSPC
