"""What a release of the project needs: one version everywhere, what a package index shows, and a shell that completes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import dmlcts

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_stands_in_one_place_and_all_others_agree(capsys: pytest.CaptureFixture[str]) -> None:
    version = PROJECT["version"]
    assert metadata.version("directml-conformance") == version
    assert dmlcts("--version") == 0
    assert capsys.readouterr().out == f"dmlcts, version {version}\n"
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == version
    assert re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0] == version


def test_no_module_of_the_product_has_a_version_of_its_own() -> None:
    files = [file for room in ("spec", "generator", "reference", "conformance", "reports") for file in (ROOT / room).rglob("*.py")]
    assert [file for file in files if PROJECT["version"] in file.read_text(encoding="utf-8")] == []


def test_the_citation_is_of_this_project() -> None:
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (found["title"], found["license"], found["type"]) == (PROJECT["name"], PROJECT["license"], "software")
    assert {"cff-version", "message", "authors"} <= found.keys()


def test_classifiers_begin_with_the_oldest_python() -> None:
    versions = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r"Python :: 3\.", name)]
    assert f">={versions[0]}" == PROJECT["requires-python"]


@pytest.mark.parametrize(
    ("shell", "variables", "printed"),
    [
        ("bash_source", {}, "complete -o nosort -F _dmlcts_completion dmlcts"),
        ("bash_complete", {"COMP_WORDS": "dmlcts rel", "COMP_CWORD": "1"}, "plain,releases"),
        ("bash_complete", {"COMP_WORDS": "dmlcts gate --rep", "COMP_CWORD": "2"}, "plain,--repeat"),
        ("zsh_source", {}, "#compdef dmlcts"),
        ("fish_source", {}, "complete --no-files --command dmlcts"),
    ],
)
def test_a_shell_is_told_how_a_line_goes_on(shell: str, variables: dict[str, str], printed: str) -> None:
    environment = {**os.environ, **variables, "_DMLCTS_COMPLETE": shell}
    if shell == "bash_source" and sys.platform == "win32":
        pytest.skip("click asks bash for its version")
    done = subprocess.run(
        [sys.executable, "-m", "dmlcts.conformance.commands.start"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert printed in done.stdout
