"""The output folder: one run's at a time, and nobody's files are lost in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import dmlcts

from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.folder.out_folder import LOCK, claim_folder
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.reports.record.files import write_text
from dmlcts.reports.record.record import Record

CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"
RUN = ("run", "-q", "--case", CASE, "--out")


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but the lock."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file() and f.name != LOCK}


def test_a_second_run_is_refused_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts(*RUN, tmp_path) == 0
    before = content(tmp_path)
    with claim_folder(tmp_path):
        assert dmlcts(*RUN, tmp_path) == 2
        assert dmlcts("report", tmp_path, "--out", tmp_path) == 2
    assert capsys.readouterr().err.count(f"another run is writing to the output folder {tmp_path}") == 2
    assert content(tmp_path) == before
    assert dmlcts(*RUN, tmp_path) == 0


def test_a_lock_does_not_outlive_the_process_that_had_it(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from dmlcts.conformance.runner.folder.out_folder import claim_folder\n"
        "with claim_folder(Path(sys.argv[1])): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 9
    assert (tmp_path / LOCK).exists()
    with claim_folder(tmp_path):
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
    with pytest.raises(UsageError, match="cannot be written"), claim_folder(tmp_path / "out"):
        pass


# Older runs, and folders that cannot be written


def test_a_run_that_is_refused_leaves_the_older_one(tmp_path: Path) -> None:
    assert dmlcts("run", "-q", "--case", CASE, "--out", tmp_path) == 0
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert dmlcts("run", "-q", "-k", "nothing-is-called-so", "--out", tmp_path) == 2
    assert dmlcts("run", "-q", "--case", CASE, "--feature-level", "9_9", "--out", tmp_path) == 2
    assert dmlcts("run", "-q", "--case", "ELEMENT_WISE_BIT_OR/UINT8/4dd", "--out", tmp_path) == 2
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_the_results_of_an_older_run_are_not_those_of_a_run_that_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, run = tmp_path / "out", ("run", "-q", "--case", CASE, "--out", tmp_path / "out")
    older = out / journal.OLDER

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def not_started(code: int, *options: object) -> None:
        assert dmlcts(*run) == 0
        before = (out / "results.jsonl").read_bytes()
        with monkeypatch.context() as patch:
            if not options:
                patch.setattr("dmlcts.conformance.runner.run.opened_to_describe", interrupt)
            assert dmlcts(*run, *options) == code
        assert {file.name for file in out.iterdir() if file.is_file()} == {".dmlcts.lock", older.name}
        assert not [*(out / "junit").glob("*"), *(out / "ctrf").glob("*")]
        assert older.read_bytes() == before
        capsys.readouterr()
        assert dmlcts("report", out, "--out", tmp_path / "report") == 2
        assert f"its last run did not start; {older} has those of the run before it" in capsys.readouterr().err
        assert dmlcts("gate", out, "--baseline", older) == 2

    not_started(3, "--backend", "python:nosuch:Backend")
    not_started(2, "--waivers", tmp_path / "nosuch.yaml")
    not_started(130)
    assert dmlcts(*run, "--backend", "python:nosuch:Backend") == 3  # twice
    assert dmlcts("report", older, "--out", tmp_path / "report") == 0
    assert dmlcts(*run) == 0
    assert (out / "results.jsonl").exists()
    assert not older.exists()


def test_a_stopped_run_can_still_be_resumed_after_a_backend_did_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ("run", "-q", "--case", CASE, "--out", tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("dmlcts.reports.write_all", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        assert dmlcts(*run) == 2  # what is left is the journal
    for options in ((), ("--resume",)):
        assert dmlcts(*run, "--backend", "python:nosuch:Backend", *options) == 3
        assert dmlcts("report", tmp_path, "--out", tmp_path / "report") == 130
    assert dmlcts(*run, "--resume") == 0


@pytest.mark.parametrize("where", ["file", "file/below", "folder"])
def test_a_folder_that_cannot_be_written_is_found_before_anything_runs(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert dmlcts("run", "-q", "--case", CASE, "--out", tmp_path / "folder") == 0
    capsys.readouterr()
    (tmp_path / "folder" / "index.html").unlink()
    (tmp_path / "folder" / "index.html").mkdir()  # a folder where a report must go
    monkeypatch.setattr("dmlcts.conformance.runner.workers.session.Session.run", lambda *_: pytest.fail("a case ran"))
    assert dmlcts("run", "--case", CASE, "--out", tmp_path / where) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "file" in captured.err if where == "file" else f"the output folder {tmp_path / where} cannot be written" in captured.err
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions hold for users other than root")
def test_a_folder_without_permission(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert dmlcts("run", "--case", CASE, "--out", folder) == 2
    assert "cannot be written: Permission denied; choose another with --out" in capsys.readouterr().err


def test_a_disk_that_fills_up_costs_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dmlcts.reports.write_all", full)
    assert dmlcts("run", "-q", "--case", CASE, "--out", tmp_path) == 2
    record: Record = journal.read_run(tmp_path)
    assert {result.case: result.status for result in record.results} == {CASE: "pass"}
