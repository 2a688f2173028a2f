"""The house's rules, held by its files: who imports whom, how long a module may be, and that shared machinery knows no operator."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmlcts.spec.abi import abi

ROOT = Path(__file__).parents[1]

MAY_IMPORT: dict[str, set[str]] = {
    "spec": set(),
    "reports": set(),
    "reference": {"spec"},
    "generator": {"spec"},
    "conformance": {"spec", "reference", "generator", "reports"},
}
"""Imports run one way. A room may always import itself."""

LONGEST = 450

MODULES = [module for room in MAY_IMPORT for module in sorted((ROOT / room).rglob("*.py"))]

SHARED = [
    module
    for module in MODULES
    if module.relative_to(ROOT).parts[0] in ("generator", "conformance", "reports") and "mutants" not in module.parts
]


def named(module: Path) -> str:
    return module.relative_to(ROOT).as_posix()


def literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of every string, docstrings left out: those may give an example."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def imported(source: str, room: str, depth: int = 1) -> set[str]:
    """The rooms that a module of ``room`` imports, wherever in it and however: by statement, relatively, or by a name in a string.

    ``depth`` is how many folders below ``dmlcts`` the module lies.
    """
    tree = ast.parse(source)
    names = [text for _, text in literals(tree) if re.fullmatch(r"dmlcts(\.\w+)+", text)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = ["dmlcts", room, *["?"] * (depth - 1)]
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = [*base, *(node.module or "").split(".")] if node.module else base
            names += [".".join([*module, alias.name]) for alias in node.names]
    parts = [name.split(".") for name in names]
    return {part[1] for part in parts if part[0] == "dmlcts" and len(part) > 1} - {room}


def operators_named(source: str) -> list[tuple[int, str]]:
    """Line and text of every string that names an operator."""
    known = abi().operator_types
    return [
        (line, text)
        for line, text in literals(ast.parse(source))
        if text.removeprefix("DML_OPERATOR_") in known or re.search(r"ELEMENT_WISE_[A-Z]|ACTIVATION_[A-Z]", text)
    ]


def test_the_rooms_have_modules() -> None:
    assert {named(module).partition("/")[0] for module in MODULES} == MAY_IMPORT.keys()
    assert len(SHARED) > 20


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_imports_run_one_way(module: Path) -> None:
    room, *inner = module.relative_to(ROOT).parts
    found = imported(module.read_text(encoding="utf-8"), room, len(inner))
    assert found <= MAY_IMPORT[room], f"{room} may import {', '.join(sorted(MAY_IMPORT[room])) or 'no other room'}"


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_a_module_is_not_too_long(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("module", SHARED, ids=named)
def test_shared_machinery_names_no_operator(module: Path) -> None:
    assert operators_named(module.read_text(encoding="utf-8")) == []


def test_every_package_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(project["tool"]["setuptools"]["packages"])
    there = {f"dmlcts.{'.'.join(init.relative_to(ROOT).parent.parts)}" for init in MODULES if init.name == "__init__.py"}
    assert listed == there


# The checks themselves, fed what they must find


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("import dmlcts.spec.abi", {"spec"}),
        ("from dmlcts.spec.abi import abi", {"spec"}),
        ("from dmlcts import spec, reports", {"spec", "reports"}),
        ("from ..spec import abi", {"spec"}),
        ("from .. import spec", {"spec"}),
        ("from .case import Case", set()),
        ("from . import case", set()),
        ("def f():\n    from dmlcts.conformance import run", {"conformance"}),
        ("if TYPE_CHECKING:\n    import dmlcts.reports", {"reports"}),
        ("import_module('dmlcts.reference.registry')", {"reference"}),
        ("from dmlcts.generator.case import Case", set()),
        ("import numpy\nfrom spec import x", set()),
        ('"""See dmlcts.spec.abi."""', set()),
        ("'dmlcts.spec is where it stands'", set()),
    ],
)
def test_the_import_check_finds_what_it_must(source: str, rooms: set[str]) -> None:
    assert imported(source, "generator") == rooms


def test_the_import_check_in_a_folder_of_a_room() -> None:
    assert imported("from ..backend import Backend", "conformance", depth=2) == set()
    assert imported("from ...spec import abi", "conformance", depth=2) == {"spec"}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("if name == 'ELEMENT_WISE_ROUND': pass", [(1, "ELEMENT_WISE_ROUND")]),
        ("x = 1\ny = {'DML_OPERATOR_GEMM': 1}", [(2, "DML_OPERATOR_GEMM")]),
        ("re.match('ACTIVATION_R.*', name)", [(1, "ACTIVATION_R.*")]),
        ("f'{x} ELEMENT_WISE_ADD'", [(1, " ELEMENT_WISE_ADD")]),
        ('def f():\n    """Of ELEMENT_WISE_ROUND."""', []),
        ("'GEMMS', 'ACTIVATION', 'element_wise'", []),
    ],
)
def test_the_operator_check_finds_what_it_must(source: str, found: list[tuple[int, str]]) -> None:
    assert operators_named(source) == found
