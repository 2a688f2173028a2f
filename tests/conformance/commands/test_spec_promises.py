"""Promises of the API in ``dmlcts spec`` and ``dmlcts show``."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from commands import dmlcts

from dmlcts.conformance.commands.specs import spec_promises
from dmlcts.conformance.sequences.call_json import BY_NAME
from dmlcts.conformance.sequences.promises.promise import promises


@dataclass(frozen=True)
class Done:
    exit_code: int
    output: str
    error: str


def spec(*arguments: str) -> Done:
    """A command as a user types it."""
    out, error = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = dmlcts("spec", *arguments)
    return Done(code, out.getvalue(), error.getvalue())


def test_a_list_has_every_promise_of_an_area_and_no_other() -> None:
    found = [entry["promise"] for entry in json.loads(spec("list", "tables", "--json").output)]
    assert found == [promise.name for promise in promises() if promise.area == "tables"]


def test_the_list_of_operators_counts_promises() -> None:
    assert f"{len(promises())} promises of the API: dmlcts spec list api" in spec("list").output


def test_a_promise_is_shown_with_page_calls_and_what_they_must_give() -> None:
    printed = spec("show", "DEV-1").output
    assert "/080b6c05e7f35ee5427e1ef481c22fea6b0f4aa2/sdk-api-src/content/directml/nf-directml-dmlcreatedevice1.md" in printed
    assert "1 create-device {'makes': 21, 'level': '99_0'}  -> DXGI_ERROR_UNSUPPORTED" in printed
    assert "DirectML 1.15.4: as documented" in printed


@pytest.mark.parametrize(
    ("name", "expected"),
    [("BIN-1", "removes the device"), ("FEA-2", "4096"), ("DEV-3", "S_OK or DXGI_ERROR_SDK_COMPONENT_MISSING")],
)
def test_what_a_call_must_give_is_data_too(name: str, expected: str) -> None:
    (shown,) = json.loads(spec("show", name, "--json").output)
    assert next(call["expected"] for call in shown["calls"] if "expected" in call) == expected


def test_what_no_promise_is_called_is_an_error() -> None:
    assert "no promise of the API is called 'nothing'" in spec("list", "nothing").error
    assert "no operator 'DEV-999'" in spec("show", "DEV-999").error
    assert "DEV-1 is no operator" in spec("show", "DEV-1", "--yaml").error


def test_every_call_is_made_by_some_promise() -> None:
    assert spec_promises.unused_calls(promises()) == []
    assert spec("coverage", "api").exit_code == 0


def test_a_call_that_no_promise_makes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_promises, "BY_NAME", {**BY_NAME, "forget-all": object})
    found = spec("coverage", "api")
    assert found.exit_code == 1
    assert "the call forget-all" in found.output


def test_coverage_counts_each_promise_once() -> None:
    areas: dict[str, dict[str, int]] = json.loads(spec("coverage", "api", "--json").output)["areas"]
    assert sum(sum(counts.values()) for counts in areas.values()) == len(promises())


def test_all_files_are_checked() -> None:
    assert all(spec("check", str(file)).exit_code == 0 for file in spec_promises.promise_files())


@pytest.mark.parametrize(
    ("place", "text", "problem"),
    [
        ("clients/mine.yaml", "description: x\nclient: It\nable: run\npromises: [DEV-999]\n", "there is no promise 'DEV-999'"),
        ("api/mine.yaml", "area: mine\npromises: []\n", "promises"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, place: str, text: str, problem: str) -> None:
    file = tmp_path / place
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    found = spec("check", str(file))
    assert found.exit_code == 1
    assert problem in found.error


def test_findings_have_what_breaks_a_promise_and_not_what_was_not_measured() -> None:
    rows = spec_promises.broken_promises()
    assert any("REM-2-name" in row for row in rows)
    assert not any("RES-1" in row or "[DEV-1]" in row for row in rows)


def test_show_prints_a_promise(capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("show", "api/DEV-1") == 0
    assert "DMLCreateDevice1" in capsys.readouterr().out
    assert dmlcts("show", "api/DEV-1", "--json") == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (shown["case"], len(shown["calls"])) == ("api/DEV-1", 2)
    assert dmlcts("show", "api/DEV-999") == 2


def test_the_requests_of_a_promise_may_be_written(tmp_path: Path) -> None:
    file = tmp_path / "request.bin"
    assert dmlcts("show", "api/DEV-1", "--frame", file) == 0
    assert b"create-device" in file.read_bytes()


EVICT = """---
UID: NF:directml.IDMLDevice.Evict
---

# IDMLDevice::{name} method

It tells a device, by IDMLDevice::MakeResident too, what may leave memory.
"""

FEATURE = "---\nuid: NF:directml.IDMLDevice.CheckFeatureSupport\n---\n\n# CheckFeatureSupport\n\nFor an unknown feature it gives {code}.\n"


def test_compare_finds_the_promises_of_a_page_and_says_at_which_commit_it_was_read(tmp_path: Path) -> None:
    page = tmp_path / "evict.md"
    page.write_text(EVICT.format(name="Evict"), encoding="utf-8")
    done = spec("compare", str(page))
    assert done.exit_code == 0
    names = ", ".join(promise.name for promise in promises() if promise.page.endswith("-evict.md"))
    assert f"read at 2cd469d9bd0f for {names}" in " ".join(done.output.split())
    (entry,) = json.loads(spec("compare", str(page), "--json").output)
    assert (entry["about"], entry["commit"], entry["differences"]) == ("evict", "2cd469d9bd0f6451ad53ff1b136ad9b5d4eb6593", [])


def test_compare_shows_what_a_page_no_longer_names(tmp_path: Path) -> None:
    page = tmp_path / "any.md"
    page.write_text(EVICT.format(name="Offload").replace("MakeResident", "Load"), encoding="utf-8")
    done = spec("compare", str(page), "--json")
    assert done.exit_code == 1
    (entry,) = json.loads(done.output)
    assert [each["key"] for each in entry["differences"]][:2] == ["promise/RES-1/api", "promise/RES-2/api"]
    for code, exit_code, found in (("DXGI_ERROR_UNSUPPORTED", 0, []), ("E_INVALIDARG", 1, ["promise/FEA-5/code"])):
        page.write_text(FEATURE.format(code=code), encoding="utf-8")
        done = spec("compare", str(page), "--json")
        assert (done.exit_code, [each["key"] for each in json.loads(done.output)[0]["differences"]]) == (exit_code, found)


def test_compare_knows_an_article_by_its_name(tmp_path: Path) -> None:
    page = tmp_path / "dml-errors.md"
    page.write_text("# Errors\n\nDXGI_ERROR_DEVICE_REMOVED\n", encoding="utf-8")
    done = spec("compare", str(page), "--json")
    assert (done.exit_code, json.loads(done.output)[0]["about"]) == (0, "errors")
    page.rename(tmp_path / "mine.md")
    assert spec("compare", str(tmp_path / "mine.md")).exit_code == 2
