"""Where ``dmlcts`` starts. Nothing is imported but what Python has built in until it is known that no file stands in place of a module.

A ``click.py`` on PYTHONPATH that exits when it is imported would else end the command with its own exit code, such as 0, and nothing would have run.
"""

# ruff: noqa: PTH100, PTH113, PTH118, PTH120, PTH208
# (pathlib is a file, in place of which another could stand)

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing is not imported to learn it
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

EXIT_ERROR, EXIT_INTERRUPTED = 2, 130

DISTRIBUTIONS = {
    "_pytest": "pytest",
    "array_api_compat": "array_api_compat",
    "click": "click",
    "hypothesis": "hypothesis",
    "iniconfig": "iniconfig",
    "jinja2": "jinja2",
    "jsonschema_rs": "jsonschema_rs",
    "markdown_it": "markdown_it_py",
    "markupsafe": "markupsafe",
    "mdurl": "mdurl",
    "ml_dtypes": "ml_dtypes",
    "numpy": "numpy",
    "packaging": "packaging",
    "pluggy": "pluggy",
    "psutil": "psutil",
    "pygments": "pygments",
    "pytest": "pytest",
    "rich": "rich",
    "sortedcontainers": "sortedcontainers",
    "yaml": "pyyaml",
}
"""The modules that our dependencies and theirs are imported as, each with its distribution: what ``pip install`` brings."""

UNUSED = frozenset(
    {"__hello__", "__phello__", "antigravity", "idlelib", "lib2to3", "test", "this", "tkinter", "turtle", "turtledemo"}
)
"""Modules of Python's own that no command imports: a folder ``test`` on PYTHONPATH does no harm."""

_METADATA, _SUFFIXES = (".dist-info", ".egg-info"), (".py", ".pyc", ".so", ".pyd")


def main() -> NoReturn:
    """Runs the command line and exits. A file in place of a module, and whatever ends the imports, is an error: one line, exit code 2."""
    _refuse(foreign(sys.path))
    try:
        from dmlcts.conformance.commands.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BaseException as error:  # a module in place of another may raise anything, SystemExit(0) too
        advice = "; install the suite again, with its dependencies" if isinstance(error, ImportError) else ""
        _refuse(f"{_place(error)} raised {type(error).__name__} when it was imported, and nothing was run: {error}{advice}")
    command_line()
    raise AssertionError("the command line exits by itself")


def foreign(path: Sequence[str]) -> str:
    """The first file that would be imported in place of a module of Python's or of a dependency, in words; empty if there is none.

    ``path`` has folders in the order in which Python looks for modules. A dependency's own folder is the first with both the module and the
    metadata of its distribution; a dependency without such a folder, as in an editable installation, is not checked.
    """
    python = os.path.realpath(os.path.dirname(os.__file__))
    listed = [(folder, *_contents(folder or os.curdir)) for folder in path]
    for folder, modules, _ in listed:
        if os.path.realpath(folder) == python:
            break
        for module in modules.keys() & sys.stdlib_module_names - UNUSED:
            return _words(folder, modules[module], f"Python's module {module}", python)
    for module, distribution in DISTRIBUTIONS.items():
        having = [
            (folder, modules[module], distribution in installed) for folder, modules, installed in listed if module in modules
        ]
        own = next((folder for folder, _, is_own in having if is_own), None)
        if own is not None and not having[0][2]:
            return _words(*having[0][:2], f"the module {module}", own)
    return ""


def _contents(folder: str) -> tuple[dict[str, str], set[str]]:
    """The modules in a folder, each with the name of its file or folder, and the distributions that are installed there."""
    modules, installed = dict[str, str](), set[str]()
    try:
        names = os.listdir(folder)
    except OSError:  # not there, or an archive
        return modules, installed
    for name in names:
        stem = name.partition(".")[0]
        if name.endswith(_METADATA):
            installed.add(name.partition("-")[0].lower().replace(".", "_"))
        elif name.endswith(_SUFFIXES):
            modules.setdefault(stem, name)
        elif (name in DISTRIBUTIONS or name in sys.stdlib_module_names) and _is_package(folder, name):
            modules[name] = name  # comes before a file of that name
    return modules, installed


def _is_package(folder: str, name: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, name, f"__init__{suffix}")) for suffix in _SUFFIXES)


def _words(folder: str, file: str, what: str, own: str) -> str:
    return (
        f"{os.path.join(os.path.abspath(folder), file)} would be imported in place of {what}, which is in {own}: "
        "rename it, or take its folder off PYTHONPATH"
    )


def _place(error: BaseException) -> str:
    """The file that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename if trace is not None else "a module"


def _refuse(problem: str) -> None:
    """Exits with a problem; not if it is empty."""
    if problem:
        print(f"dmlcts: {problem}", file=sys.stderr)
        sys.exit(EXIT_ERROR)


if __name__ == "__main__":
    main()
