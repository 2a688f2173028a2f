"""Where the command line starts: no file in place of a module ends it with success, and none that does no harm stops it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest

from dmlcts.conformance.commands.start import DISTRIBUTIONS, UNUSED, foreign

PROGRAM = (sys.executable, "-c", "from dmlcts.conformance.commands.start import main; main()")
ENDS = (
    "raise SystemExit(0)",
    "raise SystemExit(3)",
    "import os; os._exit(0)",
    "raise KeyError('no')",
    "raise GeneratorExit",
    "def x(:",
)


def started(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [*PROGRAM, *arguments], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("code", ENDS)
@pytest.mark.parametrize("file", ["click.py", "rich/__init__.py", "numpy.py", "textwrap.py", "difflib.py", "queue/__init__.py"])
def test_a_file_in_place_of_a_module_is_an_error_that_names_it(file: str, code: str, tmp_path: Path) -> None:
    """Modules of dependencies and of Python, imported at the start or later; ``os._exit`` cannot be caught once it is called."""
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(code, encoding="utf-8")
    done = started(tmp_path, "run", "--case", "ELEMENT_WISE_BIT_OR/UINT8/4d", "--out", str(tmp_path / "out"))
    name = file.partition("/")[0]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dmlcts: {tmp_path / name} would be imported in place of ")
    assert done.stderr.endswith("rename it, or take its folder off PYTHONPATH\n")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("code", [code for code in ENDS if "_exit" not in code])
def test_whatever_ends_the_imports_is_an_error_that_names_the_file(code: str, tmp_path: Path) -> None:
    """Of a module that the check does not know."""
    (tmp_path / "unknown.py").write_text(code, encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(
        "import builtins, sys\nimported = builtins.__import__\n"
        "def planted(name, *arguments):\n    if name == 'click': imported('unknown')\n    return imported(name, *arguments)\n"
        "builtins.__import__ = planted\nfrom dmlcts.conformance.commands.start import main\nmain()\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script), "--help"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"dmlcts: .* raised \w+ when it was imported, and nothing was run.*\n", done.stderr)
    assert "unknown.py" in done.stderr


def test_files_that_do_no_harm_stop_nothing(tmp_path: Path) -> None:
    for name in ("mine.py", "numpy_helpers.py", "click.txt", "json.yaml"):
        (tmp_path / name).write_text("raise SystemExit(0)", encoding="utf-8")
    (tmp_path / "rich").mkdir()  # no package: Python prefers the one that is installed
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "__init__.py").touch()
    done = started(tmp_path, "--version")
    assert (done.returncode, done.stderr) == (0, "")


def test_another_installation_of_a_dependency_may_come_first(tmp_path: Path) -> None:
    """As with ``pip install --target``: then that is the dependency. An editable one has no folder that could be compared."""
    for name in ("first", "second"):
        (tmp_path / name / "yaml").mkdir(parents=True)
        (tmp_path / name / "yaml" / "__init__.py").touch()
    path = [str(tmp_path / "first"), str(tmp_path / "second")]
    assert foreign(path) == ""
    (tmp_path / "second" / "PyYAML-6.0.dist-info").mkdir()
    assert "the module yaml, which is in " in foreign(path)
    (tmp_path / "first" / "pyyaml-6.1.egg-info").mkdir()
    assert foreign([*path, str(tmp_path / "nosuch"), __file__]) == ""


def test_every_module_of_our_dependencies_and_theirs_is_checked() -> None:
    needed, waiting = set[str](), ["directml-conformance"]
    while waiting:
        try:
            requires = distribution(waiting.pop()).requires or []
        except PackageNotFoundError:  # for another platform
            continue
        found = {re.split(r"[^\w.-]", text)[0].lower().replace("-", "_") for text in requires if "extra ==" not in text}
        waiting += sorted(found - needed)
        needed |= found
    modules = packages_distributions()
    normal = {name: {each.lower().replace("-", "_").replace(".", "_") for each in owners} for name, owners in modules.items()}
    public = {name: owners & needed for name, owners in normal.items() if owners & needed and not name.startswith("_")}
    del public["py"]  # of pytest, for code of 2010
    assert {name: next(iter(owners)) for name, owners in public.items()} == {
        name: owner for name, owner in DISTRIBUTIONS.items() if not name.startswith("_")
    }
    assert UNUSED.isdisjoint(sys.modules)


def test_the_command_that_is_installed_starts_here() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dmlcts = "dmlcts.conformance.commands.start:main"' in text


def test_nothing_is_imported_before_the_check_that_a_file_could_stand_in_place_of() -> None:
    """What Python itself imports at its start is beyond reach."""
    code = (
        "import sys; before = set(sys.modules); import dmlcts.conformance.commands.start; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert all(name.startswith("dmlcts") for name in done.stdout.split()), done.stdout
