"""The examples in docs/ci: valid for the systems that read them, and every `dmlcts` command in them works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from records import result, run

from dmlcts.conformance.commands.cli import dmlcts, main
from dmlcts.reports.record.record import write_record

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = sorted((DOCS / "ci").glob("*.yml"))
PACKAGE = DOCS / "ci" / "github-package.yml"
MAP = DOCS / "ci" / "github-map.yml"
USERS = [file for file in EXAMPLES if file not in (PACKAGE, MAP)]
"""Those that test an implementation."""

GITHUB = [file for file in EXAMPLES if file.name.startswith("github")]
GITLAB = [file for file in EXAMPLES if file.name.startswith("gitlab")]
SHARDS = 4


def scripts(file: Path) -> Iterator[str]:
    """The shell scripts of an example, in the order in which they run; or the code blocks of a guide."""
    if file.suffix == ".md":
        yield from re.findall(r"^```sh\n(.*?)^```", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        return
    data: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    for job in data.get("jobs", {}).values():
        yield from (step["run"] for step in job["steps"] if "run" in step)
    for name in data.get("stages", []):
        jobs = [job for job in data.values() if isinstance(job, dict) and job.get("stage") == name]
        yield from (line for job in jobs for line in job["script"])


def commands(file: Path) -> list[list[str]]:
    """The words of every dmlcts command, with sample values for variables."""
    found = []
    for script in scripts(file):
        for line in filter(re.compile(r"\bdmlcts ").search, script.replace("\\\n", " ").splitlines()):
            sample = re.sub(r"\$\{\{.*?\}\}|\$CI_NODE_INDEX", "1", line).replace("$CI_NODE_TOTAL", str(SHARDS))
            sample = sample.replace("$BACKEND", "reference").replace("$LEVEL", "core")
            assert "$" not in sample.partition("||")[0], f"a variable without a sample value: {sample}"
            words = shlex.split(sample.partition("||")[0], comments=True)
            found.append(words[words.index("dmlcts") + 1 :])
    return found


def test_the_guide_links_every_example() -> None:
    text = (DOCS / "ci.md").read_text(encoding="utf-8")
    assert {file.name for file in EXAMPLES} == {
        "github-linux.yml",
        "github-map.yml",
        "github-package.yml",
        "github-windows.yml",
        "gitlab-ci.yml",
    }
    assert all(f"(ci/{file.name})" in text for file in EXAMPLES)


def test_the_map_is_made_of_waivers_and_graphs_that_exist() -> None:
    found = commands(MAP)
    assert [words[0] for words in found] == ["setup", "releases", "spec"]
    files = {DOCS.parent / word for words in found for word in words if word.startswith("docs/")}
    assert files == {*(DOCS / "waivers").iterdir(), DOCS / "measured" / "graphs"}


def test_every_command_of_the_map_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Path, "convert", lambda self, value, *_: value)
    for name, *words in commands(MAP):
        command = dmlcts.get_command(click.Context(dmlcts), name)
        assert command is not None
        context = command.make_context(name, words)
        if isinstance(command, click.Group):
            _, inner, rest = command.resolve_command(context, words)
            assert inner is not None
            inner.make_context(inner.name, rest, parent=context)


@pytest.mark.parametrize(("schema", "files"), [("github-workflows", GITHUB), ("gitlab-ci", GITLAB)])
def test_the_examples_match_the_schemas_of_their_systems(schema: str, files: list[Path]) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is missing: pip install -e '.[dev]'")
    transform = ["--data-transform", "gitlab-ci"] if schema == "gitlab-ci" else []
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *transform, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actionlint_finds_nothing() -> None:
    program = shutil.which("actionlint")
    if program is None:
        pytest.skip("actionlint is missing; see https://github.com/rhysd/actionlint")
    done = subprocess.run([program, *map(str, GITHUB)], capture_output=True, text=True, encoding="utf-8", timeout=100, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", [*USERS, DOCS / "ci.md"], ids=lambda file: file.name)
def test_every_command_is_parsed(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "merged.jsonl").touch()
    found = commands(file)
    names = [words[0] for words in found]
    assert [name for name in names if name != "setup"] == ["run", "merge", "report", "gate"]
    for name, *words in found:
        command = dmlcts.get_command(click.Context(dmlcts), name)
        assert command is not None
        command.make_context(name, words)


@pytest.mark.parametrize("file", USERS, ids=lambda file: file.name)
def test_merge_report_and_gate_run_as_written(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for index in range(1, SHARDS + 1):
        shard = run(result(number=index), shard=f"{index}/{SHARDS}")
        (tmp_path / "shards" / f"shard-{index}").mkdir(parents=True)
        write_record(shard, tmp_path / "shards" / f"shard-{index}" / "results.jsonl")
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "waivers.yaml").write_text("waivers: []\n", encoding="utf-8")
    merge, report, gate = [words for words in commands(file) if words[0] in ("merge", "report", "gate")]
    for words in (merge, report):
        assert exit_code(words) == 0
    baseline = Path(gate[gate.index("--baseline") + 1])
    baseline.mkdir(parents=True)
    write_record(run(*(result(number=index) for index in (1, 2, 3, 4))), baseline / "results.jsonl")
    assert exit_code(gate) == 0
    assert Path("gate.md").read_text(encoding="utf-8").startswith("# ✓ PASS: no regression in 4 cases")
    write_record(run(*(result(number=index) for index in range(6))), baseline / "results.jsonl")
    assert exit_code(gate) == 1
    assert "2 vanished" in Path("gate.md").read_text(encoding="utf-8")


def deciding(file: Path) -> Iterator[str]:
    """The shell scripts of an example whose failure ends their job, of GitLab's the whole job as one."""
    data: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    for job in data.get("jobs", {}).values():
        yield from (step["run"] for step in job["steps"] if "run" in step and not step.get("continue-on-error"))
    yield from ("\n".join(job["script"]) for job in data.values() if isinstance(job, dict) and "script" in job)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is missing")
@pytest.mark.parametrize(("code", "goes_on"), [(0, True), (1, True), (4, True), (2, False), (3, False), (130, False)])
@pytest.mark.parametrize("file", USERS, ids=lambda file: file.name)
def test_known_failures_do_not_keep_the_gate_from_running(file: Path, code: int, goes_on: bool, tmp_path: Path) -> None:
    """Merge and report end like the run, with 1 for known failures; the gate decides. Without results there is nothing to decide."""
    (script,) = (script for script in deciding(file) if "dmlcts report" in script)
    until_report = script[: script.index("\n", script.index("dmlcts report"))] if "\n" in script else script
    stub = f"dmlcts() {{ return {code}; }}\n"
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", stub + until_report], cwd=tmp_path, timeout=100, check=False)
    assert (done.returncode == 0) is goes_on


def test_the_packages_are_tried_on_every_python_that_they_are_for() -> None:
    """With the commands that they are tried with, and the script that builds the wheel for Windows."""
    jobs: dict[str, Any] = yaml.safe_load(PACKAGE.read_text(encoding="utf-8"))["jobs"]
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [name.rpartition(" ")[2] for name in project["classifiers"] if re.search(r"Python :: 3\.", name)]
    assert jobs["try"]["strategy"]["matrix"]["python"] == versions
    for name, *words in commands(PACKAGE):
        if not name.startswith("-"):
            command = dmlcts.get_command(click.Context(dmlcts), name)
            assert command is not None
            command.make_context(name, words)
    steps = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    (script,) = [step.split()[1] for step in steps if step.startswith("python conformance/")]
    assert (DOCS.parent / script).is_file()


def exit_code(words: list[str]) -> int:
    """The exit code of a command in this process; globs are expanded as a shell does."""
    expanded = [name for word in words for name in (sorted(map(str, Path().glob(word))) if "*" in word else [word])]
    with pytest.raises(SystemExit) as ended:
        main(expanded)
    assert isinstance(ended.value.code, int)
    return ended.value.code
