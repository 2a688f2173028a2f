"""The command ``dmlcts probe``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from probing import (
    COUNT,
    ROUND,
    SHIFT,
    Taught,
    measured_in,
    once,
    refuses,
    takes_any_mode,
    takes_int8,
    takes_odd_totals,
    types_of,
)

from dmlcts.conformance.backends.backend import Backend, BackendUnavailable, Dispatch
from dmlcts.conformance.commands.backends import probe as command_module
from dmlcts.conformance.commands.cli import main

# The command


def invoke(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["probe", *map(str, arguments)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Backend], None]:
    """Makes every backend that the command opens this one."""
    return lambda backend: monkeypatch.setattr(command_module, "open_backend", lambda spec: backend)


def test_exit_0_where_the_documentation_is_confirmed(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(ROUND.lower(), SHIFT) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.search(r"on NumPy \S+, feature level 6_4$", lines[0])
    assert [line.split()[::2] for line in lines[2:4]] == [[ROUND, "36", "0"], [SHIFT, "177", "0"]]
    assert lines[4:] == ["the documentation of 2 of 2 operators is confirmed"]


@pytest.mark.parametrize(
    ("mind", "message"),
    [
        (takes_any_mode, f"not listed, and accepted: {ROUND} enum/RoundingMode: in every way that was tried"),
        (
            refuses(lambda d: "FLOAT16" in types_of(d)),
            "listed, and refused: " + ROUND + " support/2_1/InputTensor+OutputTensor: FLOAT16 4d",
        ),
        (once, f"not known: {ROUND} total-size/OutputTensor: +64, with FLOAT16 (the host ended)"),
    ],
)
def test_exit_1_where_it_is_not(
    use: Callable[[Backend], None], capsys: pytest.CaptureFixture[str], mind: Callable[[Dispatch], bool], message: str
) -> None:
    use(Taught(mind))
    assert invoke(ROUND) == 1
    out = capsys.readouterr().out
    assert message in out
    assert "the documentation of 0 of 1 operator is confirmed" in out


def test_exit_2_for_what_there_is_not(capsys: pytest.CaptureFixture[str], use: Callable[[Backend], None]) -> None:
    assert invoke("NO_SUCH") == 2
    assert "no operator 'NO_SUCH'" in capsys.readouterr().err
    use(Taught(feature_level="2_0"))
    assert invoke(ROUND) == 2
    assert "DirectML has feature level 2_0" in capsys.readouterr().err


def test_exit_3_where_the_backend_cannot_start(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke("--backend", "process:no-such-program-anywhere", ROUND) == 3
    assert "no-such-program-anywhere" in capsys.readouterr().err

    def missing(spec: str) -> Backend:
        raise BackendUnavailable(f"{spec}: nothing here")

    monkeypatch.setattr(command_module, "open_backend", missing)
    assert invoke("-b", "directml") == 3
    assert "directml: nothing here" in capsys.readouterr().err


def test_operators_that_are_newer_are_left_out(use: Callable[[Backend], None], capsys: pytest.CaptureFixture[str]) -> None:
    use(Taught(feature_level="2_1"))
    assert invoke("--json", ROUND, COUNT) == 0
    assert [(row["operator"], row["cells"]) for row in json.loads(capsys.readouterr().out)] == [(ROUND, 4)]


def test_json(use: Callable[[Backend], None], capsys: pytest.CaptureFixture[str]) -> None:
    use(Taught(lambda dispatch: once(dispatch) or takes_any_mode(dispatch)))
    assert invoke("--json", ROUND) == 1
    [row] = json.loads(capsys.readouterr().out)
    assert (row["operator"], row["by"], row["cells"], row["confirmed"]) == (ROUND, "DirectML 9.9", 36, 36)
    besides = {"what": "enum/RoundingMode", "ways": [], "types": [], "message": "", "waived": False}
    ways = ["enum/RoundingMode=3", "enum/RoundingMode=4294967295"]
    assert row["accepts"] == [besides, {**besides, "ways": ways, "types": ["all"], "waived": True}]
    assert row["promises"]["support/3_0/InputTensor/FLOAT16/8d"] == "confirmed"
    assert row["unanswered"] == [
        {"probe": f"{ROUND}/FLOAT16/probe/total-size/OutputTensor=+64", "message": "the host ended\nexit code 7"}
    ]


def test_write_and_table(
    tmp_path: Path, use: Callable[[Backend], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "measured", tmp_path / "measured.md"
    monkeypatch.setattr(command_module, "measured_folder", lambda: folder)
    use(Taught(takes_odd_totals))
    for changed in ("what was measured of 2 operators changed", "what was measured of 0 operators changed"):
        assert invoke(ROUND, SHIFT, "--write", "--table", out) == 1
        assert changed in capsys.readouterr().out
    for name in (ROUND, SHIFT):
        [found] = measured_in(folder, name).probe_measurements
        assert (found.by, found.command) == ("DirectML 9.9", f"dmlcts probe --backend reference {name}")
    assert out.read_bytes().count(b"\n## ELEMENT_WISE_") == 2
    assert b"\r" not in out.read_bytes()


def test_nothing_is_written_unasked(tmp_path: Path, use: Callable[[Backend], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_module, "measured_folder", lambda: tmp_path)
    use(Taught(takes_int8))
    invoke(ROUND)
    assert list(tmp_path.iterdir()) == []


def test_the_backend_is_closed_whatever_it_does(use: Callable[[Backend], None], capsys: pytest.CaptureFixture[str]) -> None:
    class Rude(Taught):
        def close(self) -> None:
            raise RuntimeError("not yet")

    use(Rude())
    assert invoke(ROUND) == 0
    assert "close() raised RuntimeError: not yet" in capsys.readouterr().err
