"""``dmlcts show CASE --frame FILE``: the bytes that a host reads, for one that is started in a debugger."""

import subprocess
import sys
from pathlib import Path

import pytest

from dmlcts.conformance.backends.process import process
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.suite.suite import find_case, operator_cases

HOST = Path(__file__).parents[3] / "docs" / "example_host.py"
CASES = {case.kind: case.id for case in operator_cases("ELEMENT_WISE_BIT_OR", "smoke")}


def show(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["show", *arguments])
    return int(ended.value.code or 0)


def bytes_of_a_run(case: str, host: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """What the suite writes to a host in a run of a case, which passes."""
    sent = bytearray()
    write = process.write_pieces

    def noted(stream: object, pieces: process.Pieces) -> None:
        sent.extend(b"".join(pieces))
        write(stream, pieces)  # type: ignore[arg-type]

    monkeypatch.setattr(process, "write_pieces", noted)
    session = Session(RunOptions(), ProcessBackend([sys.executable, "-S", "-E", str(host)]))
    assert session.run(find_case(case)).status == "pass"
    assert session.close() == ""
    return bytes(sent)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_file_has_the_bytes_of_a_run(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain case, a negative one, and those that send several requests: exactly what the suite writes to a host."""
    assert show(case, "--frame", str(tmp_path / "frames")) == 0
    assert (tmp_path / "frames").read_bytes() == bytes_of_a_run(case, HOST, monkeypatch)


SEQUENCE_HOST = HOST.with_name("example_sequence_host.py")


def test_the_file_has_the_bytes_of_a_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = "ELEMENT_WISE_BIT_OR/UINT32/sequence/again/4d"
    assert show(case, "--frame", str(tmp_path / "frames")) == 0
    assert (tmp_path / "frames").read_bytes() == bytes_of_a_run(case, SEQUENCE_HOST, monkeypatch)


def test_a_promise_is_a_sequence_that_a_host_reads_from_a_file(tmp_path: Path) -> None:
    assert show("api/DEV-2", "--frame", str(tmp_path / "frames")) == 0
    with (tmp_path / "frames").open("rb") as stream:
        done = subprocess.run([sys.executable, str(SEQUENCE_HOST)], stdin=stream, capture_output=True, check=True)
    assert b'"status": "ok", "id": 1, "replies": [{"unsupported": "this host does not perform create-device"' in done.stdout


def test_the_example_host_answers_it(tmp_path: Path) -> None:
    assert show("ELEMENT_WISE_BIT_OR/UINT8/4d", "--frame", str(tmp_path / "frames")) == 0
    with (tmp_path / "frames").open("rb") as stream:
        done = subprocess.run([sys.executable, str(HOST)], stdin=stream, capture_output=True, check=True)
    assert done.stdout.count(b"DMLCTS\x01\n") == 2
    assert b'{"status": "ok", "id": 1, "resources": [2], "paths": [{"label": "bit or"' in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frame", "f"], "--frame needs CASE"),
        (["NIX", "--frame", "f"], "no operator 'NIX'"),
        (["ELEMENT_WISE_BIT_OR/UINT8/4d", "--frame", "nosuch/f"], "f: it cannot be written: No such file or directory; choose"),
    ],
)
def test_wrong_input(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert show(*arguments) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "f").exists()
