"""The house's rules, held by its files: who imports whom, how long a module may be, and that shared machinery knows no operator."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmlcts.spec.abi import abi

ROOT = Path(__file__).parents[1]

MAY_IMPORT: dict[str, set[str]] = {
    "spec": set(),
    "reports": {"spec"},
    "reference": {"spec"},
    "generator": {"spec"},
    "conformance": {"spec", "reference", "generator", "reports"},
}
"""Imports run one way. A room may always import itself."""

ROOMS: tuple[str, ...] = ("backends", "execution", "properties", "probing", "dxdispatch", "runner", "mutants", "commands")
"""The rooms of conformance/, in the direction in which a case goes through them: a room imports those before it alone."""

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


def rooms_imported(source: str) -> set[str]:
    """The rooms of conformance/ that a module imports, wherever in it and however."""
    tree = ast.parse(source)
    names = [text for _, text in literals(tree) if re.fullmatch(r"dmlcts(\.\w+)+", text)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    parts = [name.split(".") for name in names]
    return {part[2] for part in parts if part[:2] == ["dmlcts", "conformance"] and len(part) > 2 and part[2].islower()}


def test_conformance_has_ten_entries_at_its_top_or_fewer() -> None:
    entries = {entry.name for entry in (ROOT / "conformance").iterdir() if entry.name != "__pycache__"}
    assert entries == {*ROOMS, "__init__.py", "py.typed"}
    assert len(entries) <= 10


@pytest.mark.parametrize("room", ROOMS)
def test_data_flow_through_conformance_in_one_direction(room: str) -> None:
    before = set(ROOMS[: ROOMS.index(room) + 1])
    for module in sorted((ROOT / "conformance" / room).rglob("*.py")):
        back = rooms_imported(module.read_text(encoding="utf-8")) - before
        assert not back, f"{named(module)} imports {', '.join(sorted(back))}, which come after {room}"


def test_every_package_is_installed() -> None:
    """setup.py finds folders with an ``__init__.py``: one without it would be missing from the wheel."""
    folders = {module.parent for module in MODULES if "native" not in module.parts}
    assert [named(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


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


def test_the_direction_check_finds_what_it_must() -> None:
    assert rooms_imported("from dmlcts.conformance.commands.cli import main") == {"commands"}
    assert rooms_imported("def f():\n    from dmlcts.conformance.runner import journal") == {"runner"}
    assert rooms_imported("import dmlcts.conformance.mutants") == {"mutants"}
    assert rooms_imported("import_module('dmlcts.conformance.probing.probe')") == {"probing"}
    assert rooms_imported("from dmlcts.conformance import ArrayBackend") == set()


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
