"""The house's rules, held by its files: who imports whom, how long a module may be, what a function may be called, and that shared machinery
knows no operator.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from dmlcts.spec.model.abi import abi

ROOT = Path(__file__).parents[1]


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAY_IMPORT: dict[str, set[str]] = {
    "spec": set(),
    "reports": {"spec"},
    "reference": {"spec"},
    "generator": {"spec"},
    "conformance": {"spec", "reference", "generator", "reports"},
}
"""Imports run one way. A room may always import itself."""

ENTRIES = 10
"""How many files and folders a folder may have: what one looks through at a glance."""

CATALOGUES = {
    "spec/operators": "a folder a family, a file an operator",
    "spec/profiles": "a file a profile",
    "spec/measured": "a file an implementation and family",
    "generator/covering/rows": "a file an operator",
    "reference/operators": "a folder a family, a module a kind of operator",
    "conformance/faults/families": "a module a family of operators",
    "conformance/backends/directml/native": "sources in another language",
}
"""Folders, with all below them, that may have more: one finds an entry by the name of what it is about."""

LONGEST = 450

PARTICIPLES = words(
    "became begun bought brought built caught done drawn fallen found frozen given gone grown held hidden kept known laid led lost made meant met "
    "paid proven ran said seen sent shown shrunk sold sought spoken sunk taken taught thought thrown told torn understood woken won written"
)
"""Irregular ones that are nothing else. Words that are verbs as well, such as ``read``, ``split`` or ``put``, may be names."""

PREPOSITIONS = words(
    "about above across after against along alone among apart around as at before behind below beneath beside besides between beyond but by "
    "despite during except for from in inside into like near of off on onto out outside over past per since through throughout to together "
    "toward towards under until up upon with within without"
)
"""With the adverbs that stand for them."""

WORDS_OF_THE_FIELD = {
    "called": "OperatorDesc.called, which backends of users call (docs/python-backend.md)",
    "instead": "what takes a stage's place: the type is Instead (reference/stage.py)",
    "mapping": "a mapping of YAML",
    "mixed": "a class of tolerances, called so in specs",
    "padding": "a noun, and an operator",
    "rounding": "a noun: the way of rounding",
    "turning": "a key of specs: cases.turning",
}
"""Names of functions that look like participles, with what makes them good names."""

MODULES = [module for room in MAY_IMPORT for module in sorted((ROOT / room).rglob("*.py"))]

SHARED = [
    module
    for module in MODULES
    if module.relative_to(ROOT).parts[0] in ("generator", "conformance", "reports")
    and "faults" not in module.parts
    and module.relative_to(ROOT).as_posix() != "generator/suite/graphs/families.py"  # graphs that clients build
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


def bare_names(source: str) -> list[tuple[int, str]]:
    """Line and name of every function and method whose whole name is a participle or a preposition: it does not say what is done to what."""
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return sorted((node.lineno, node.name) for node in functions if is_bare(node.name.strip("_")))


def is_bare(word: str) -> bool:
    """Whether a word is a participle (``stored``, ``running``, ``kept``) or a preposition (``within``), and no word of the field."""
    looks_so = re.fullmatch(r"[a-z]+(?<!e)ed|[a-z]{2,}ing", word) is not None
    return (looks_so or word in PARTICIPLES | PREPOSITIONS) and word not in WORDS_OF_THE_FIELD


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_a_function_says_what_it_does_to_what(module: Path) -> None:
    assert bare_names(module.read_text(encoding="utf-8")) == [], "call it by a verb with its object, or by what it gives"


def test_every_word_of_the_field_is_in_use() -> None:
    used = {
        node.name.strip("_")
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert sorted(WORDS_OF_THE_FIELD.keys() - used) == []


@pytest.mark.parametrize("module", SHARED, ids=named)
def test_shared_machinery_names_no_operator(module: Path) -> None:
    assert operators_named(module.read_text(encoding="utf-8")) == []


@cache
def imported_modules(source: str) -> frozenset[str]:
    """What a module imports of the package, by whole names, wherever in it and however."""
    tree = ast.parse(source)
    names = [text for _, text in literals(tree) if re.fullmatch(r"dmlcts(\.\w+)+", text)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return frozenset(name.removeprefix("dmlcts.") for name in names if name.startswith("dmlcts."))


def arrows(folder: Path, root: Path = ROOT) -> dict[str, set[str]]:
    """For each entry of a folder, a module or a folder, the other entries that it imports."""
    prefix, found = [*folder.relative_to(root).parts], dict[str, set[str]]()
    for module in folder.rglob("*.py"):
        inner = module.relative_to(folder).with_suffix("").parts
        if inner == ("__init__",):
            continue
        others = [name.split(".") for name in imported_modules(module.read_text(encoding="utf-8"))]
        inside = {name[len(prefix)] for name in others if name[: len(prefix)] == prefix and len(name) > len(prefix)}
        found.setdefault(inner[0], set()).update(inside - {inner[0]})
    return {entry: others & found.keys() for entry, others in found.items()}


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The entries of which each imports another of them; none if all imports run one way."""
    left = dict(graph)
    while free := [entry for entry, others in left.items() if not others & left.keys()]:
        for entry in free:
            del left[entry]
    return sorted(left)


FOLDERS = sorted({module.parent for module in MODULES if "native" not in module.parts})


def catalogued(folder: Path) -> bool:
    """Whether a folder is one of the catalogues or lies in one."""
    return any(named(folder) == name or named(folder).startswith(f"{name}/") for name in CATALOGUES)


def entries(folder: Path) -> set[str]:
    """What one sees in a folder, without what every package has."""
    return {entry.name for entry in folder.iterdir()} - {"__pycache__", "__init__.py", "py.typed"}


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if not catalogued(folder)], ids=named)
def test_a_folder_has_few_entries(folder: Path) -> None:
    assert len(entries(folder)) <= ENTRIES


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_imports_in_a_folder_run_one_way(folder: Path) -> None:
    assert circle(arrows(folder)) == []


def test_catalogues_are_there() -> None:
    assert [name for name in CATALOGUES if not (ROOT / name).is_dir()] == []


def test_every_package_is_installed() -> None:
    """setup.py finds folders with an ``__init__.py``: one without it would be missing from the wheel."""
    folders = {module.parent for module in MODULES if "native" not in module.parts}
    assert [named(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


# The checks themselves, fed what they must find


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("import dmlcts.spec.model.abi", {"spec"}),
        ("from dmlcts.spec.model.abi import abi", {"spec"}),
        ("from dmlcts import spec, reports", {"spec", "reports"}),
        ("from ..spec import abi", {"spec"}),
        ("from .. import spec", {"spec"}),
        ("from .case import Case", set()),
        ("from . import case", set()),
        ("def f():\n    from dmlcts.conformance import run", {"conformance"}),
        ("if TYPE_CHECKING:\n    import dmlcts.reports", {"reports"}),
        ("import_module('dmlcts.reference.registry')", {"reference"}),
        ("from dmlcts.generator.case.case import Case", set()),
        ("import numpy\nfrom spec import x", set()),
        ('"""See dmlcts.spec.model.abi."""', set()),
        ("'dmlcts.spec is where it stands'", set()),
    ],
)
def test_the_import_check_finds_what_it_must(source: str, rooms: set[str]) -> None:
    assert imported(source, "generator") == rooms


def test_the_circle_check_finds_what_it_must(tmp_path: Path) -> None:
    def write(name: str, text: str) -> None:
        (tmp_path / "room" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "room" / name).write_text(text, encoding="utf-8")

    write("__init__.py", "from dmlcts.room.one import a")
    write("one.py", "from dmlcts.room.inner.deep import x\nimport dmlcts.elsewhere")
    write("inner/deep.py", "from dmlcts.room.inner import other")
    write("inner/other.py", "")
    assert arrows(tmp_path / "room", tmp_path) == {"one": {"inner"}, "inner": set()}
    assert circle(arrows(tmp_path / "room", tmp_path)) == []
    write("inner/other.py", "def f():\n    from dmlcts.room import two")
    write("two.py", "import_module('dmlcts.room.one')")
    assert circle(arrows(tmp_path / "room", tmp_path)) == ["inner", "one", "two"]
    write("two.py", "if TYPE_CHECKING:\n    import dmlcts.room.one.x")
    assert circle(arrows(tmp_path / "room", tmp_path)) == ["inner", "one", "two"]


def test_the_import_check_knows_whole_names() -> None:
    assert imported_modules("from dmlcts.conformance.commands.cli import main") == {"conformance.commands.cli.main"}
    assert imported_modules("import_module('dmlcts.conformance.probing.probe')") == {"conformance.probing.probe"}


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


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def stored(): pass", [(1, "stored")]),
        ("def _kept_(): pass", [(1, "_kept_")]),
        ("async def running(): pass", [(1, "running")]),
        ("class A:\n    def within(self): pass", [(2, "within")]),
        ("def f():\n    def of(x): pass", [(2, "of")]),
        ("def stored_rows(): pass\ndef is_within(): pass\ndef round_to_type(): pass", []),
        ("def read(): pass\ndef _split(): pass\ndef run(): pass", []),
        ("def seed(): pass\ndef speed(): pass\ndef ring(): pass", []),
        ("def padding(): pass", []),
        ("stored = kept = 1\nclass within: pass", []),
    ],
)
def test_the_name_check_finds_what_it_must(source: str, found: list[tuple[int, str]]) -> None:
    assert bare_names(source) == found
