"""The output folder: one run's at a time, and nobody's files are lost in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.runner import journal
from dmlcts.conformance.runner.options import UsageError
from dmlcts.conformance.runner.out_folder import LOCK, claimed
from dmlcts.reports.files import write_text

RUN = ("run", "-q", "--case", "ELEMENT_WISE_BIT_OR/UINT8/4d", "--out")


def dmlcts(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but the lock."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file() and f.name != LOCK}


def test_a_second_run_is_refused_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts(*RUN, tmp_path) == 0
    before = content(tmp_path)
    with claimed(tmp_path):
        assert dmlcts(*RUN, tmp_path) == 2
        assert dmlcts("report", tmp_path, "--out", tmp_path) == 2
    assert capsys.readouterr().err.count(f"another run is writing to the output folder {tmp_path}") == 2
    assert content(tmp_path) == before
    assert dmlcts(*RUN, tmp_path) == 0


def test_a_lock_does_not_outlive_the_process_that_had_it(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from dmlcts.conformance.runner.out_folder import claimed\n"
        "with claimed(Path(sys.argv[1])): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 9
    assert (tmp_path / LOCK).exists()
    with claimed(tmp_path):
        pass


def test_what_is_written_replaces_a_symbolic_link(tmp_path: Path) -> None:
    """Code under test may put one there while the run goes on."""
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    for name in ("summary.md", "summary.md.partial"):
        (tmp_path / name).symlink_to(victim)
    write_text(tmp_path / "summary.md", "text")
    assert victim.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "summary.md").is_symlink()


FOREIGN = {
    "a file": ("notes.txt", "mine"),
    "a page": ("index.html", "<h1>my site</h1>"),
    "a summary": ("summary.md", "# mine"),
    "a folder called parts": ("parts/engine.stl", "solid"),
    "results of something else": ("results.jsonl", '{"score": 1}\n'),
}


@pytest.mark.parametrize(("name", "text"), FOREIGN.values(), ids=list(FOREIGN))
@pytest.mark.parametrize("command", ["run", "report"])
def test_a_folder_of_somebody_else_is_left_alone(
    command: str, name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text(text, encoding="utf-8")
    if command == "report":
        assert dmlcts(*RUN, tmp_path / "ours") == 0
    arguments = (*RUN, out) if command == "run" else ("report", tmp_path / "ours", "--out", out)
    assert dmlcts(*arguments) == 2
    assert "holds files but no results of a run" in capsys.readouterr().err
    assert content(out) == {name.replace("/", str(Path("/"))): text.encode()}


def test_parts_that_no_run_wrote_are_left_alone_beside_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts(*RUN, tmp_path) == 0
    (tmp_path / journal.FOLDER).mkdir()
    (tmp_path / journal.FOLDER / "engine.stl").write_text("solid", encoding="utf-8")
    before = content(tmp_path)
    assert dmlcts(*RUN, tmp_path) == 2
    assert "holds files that no run wrote" in capsys.readouterr().err
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", ["index.html", "data", "results.jsonl.partial", journal.FOLDER, journal.EXAMPLES])
def test_a_symbolic_link_is_not_followed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    assert dmlcts(*RUN, out) == 0
    elsewhere.mkdir()
    (elsewhere / "kept.txt").write_text("kept", encoding="utf-8")
    for file in (out / "data").iterdir():
        file.unlink()
    (out / "data").rmdir()
    (out / name).unlink(missing_ok=True)
    try:
        (out / name).symlink_to(elsewhere, target_is_directory=True)
    except OSError:
        pytest.skip("this platform lets no user make symbolic links")
    assert dmlcts(*RUN, out) == 2
    assert f"{out / name} is a symbolic link" in capsys.readouterr().err
    assert content(elsewhere) == {"kept.txt": b"kept"}


def test_examples_of_an_earlier_run_go_with_it_and_other_files_stay(tmp_path: Path) -> None:
    assert dmlcts(*RUN, tmp_path) == 0
    examples = tmp_path / journal.EXAMPLES
    examples.mkdir()
    (examples / "old.json").write_text("{}", encoding="utf-8")
    (examples / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert dmlcts(*RUN, tmp_path) == 0
    assert [file.name for file in examples.iterdir()] == ["notes.txt"]
    assert (tmp_path / "notes.txt").exists()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be written"), claimed(tmp_path / "out"):
        pass
