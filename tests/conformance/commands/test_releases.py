"""``dmlcts releases``: each release once, on from where it stopped, and a page of all. The reference stands for every DLL."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from commands import dmlcts

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml import wheels
from dmlcts.conformance.backends.directml.dll import Dll
from dmlcts.conformance.commands.backends import releases
from dmlcts.reports.record.record import NOT_RUN, read_record, write_record


@pytest.fixture(autouse=True)
def reference(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Releases are fetched from nowhere, but for one that cannot be had, and run on the reference. Gives those that were asked for."""
    asked: list[str] = []

    def fetch(release: str, say: object) -> Dll:
        asked.append(release)
        if release == "1.9.0":
            raise BackendUnavailable("the wheel is gone")
        return Dll(Path(release), "", "", release)

    monkeypatch.setattr(wheels, "fetch_release", fetch)
    monkeypatch.setattr(releases, "backend_of", lambda path: "reference")
    return asked


def run(out: Path, *more: str) -> int:
    return dmlcts("releases", "ELEMENT_WISE_BIT_OR", "--level", "smoke", "-n", "0", "--out", out, *more)


def test_each_release_has_a_folder_and_all_have_a_page(
    tmp_path: Path, reference: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--versions", "1.12.1,1.8.0") == 0
    assert reference == ["1.8.0", "1.12.1"], "from old to new"
    assert [len(read_record(tmp_path / name / "results.jsonl").results) > 3 for name in reference] == [True, True]
    assert {file.name for file in (tmp_path / "page").iterdir()} == {"index.html", "runs.json", "summary.md", "history.jsonl"}
    assert len(json.loads((tmp_path / "page" / "runs.json").read_text(encoding="utf-8"))["runs"]) == 2
    assert "1.8.0: success\n1.12.1: success\n" in capsys.readouterr().out


def test_what_is_done_is_kept_and_what_was_stopped_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--versions", "1.8.0,1.12.1") == 0
    file = tmp_path / "1.12.1" / "results.jsonl"
    record = read_record(file)
    results = (replace(record.results[0], status=NOT_RUN), *record.results[1:])
    (tmp_path / "1.12.1" / "claim.json").unlink()
    write_record(replace(record, results=results, manifest=replace(record.manifest, interrupted=True)), file)
    capfd.readouterr()
    assert run(tmp_path, "--versions", "1.8.0,1.12.1") == 0
    printed = capfd.readouterr().out
    assert f"1.8.0: already done in {tmp_path / '1.8.0'}" in printed
    assert "1.12.1: going on with level smoke" in printed
    assert len(read_record(file).manifest.resumed) == 1
    assert run(tmp_path, "--versions", "1.12.1", "--basis", "documented") == 0
    assert "1.12.1: running level smoke" in capfd.readouterr().out, "with other options it runs anew"


def test_a_release_that_cannot_be_had_costs_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--versions", "1.9.0,1.8.0") == 3
    printed = capsys.readouterr()
    assert "dmlcts releases: 1.9.0: the wheel is gone" in printed.err
    assert "1.8.0: success\n1.9.0: not run\n" in printed.out


@pytest.mark.parametrize(
    ("versions", "problem"), [("1.5.1", "1.5.1 cannot be tested: it is compressed"), ("1.7", "no release '1.7' is known")]
)
def test_a_release_that_is_not_known_is_an_error(
    versions: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--versions", versions) == 2
    assert problem in capsys.readouterr().err


def test_the_releases_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("releases", "--list") == 0
    assert "1.12.1   from onnxruntime-directml 1.16.3\n" in capsys.readouterr().out
