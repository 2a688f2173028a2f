"""Loads spec files as ``Operator``: read, parse, validate against the JSON Schema, build.

Every error is a ``SpecError`` that names file, line and field.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from importlib import resources
from pathlib import Path

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.building.builder import build
from dmlcts.spec.reading.document import Document, Path_, SpecError, parse, read
from dmlcts.spec.reading.inherit import check_alone, merged_document
from dmlcts.spec.reading.measured import measurements_of
from dmlcts.spec.reading.schema import validate


def operators_folder() -> Path:
    """The folder of the package's spec files."""
    return Path(str(resources.files("dmlcts.spec"))) / "operators"


def profiles_folder() -> Path:
    """The folder of the profiles, which many operators extend."""
    return operators_folder().parent / "profiles"


def measured_folder() -> Path:
    """The folder of measurements: one file for each implementation and device."""
    return operators_folder().parent / "measured"


@cache
def _files() -> dict[str, Path]:
    order = abi().operator_types
    found = {file.stem.upper(): file for file in operators_folder().rglob("*.yaml")}
    return {name: found[name] for name in sorted(found, key=lambda name: order.get(name, 0))}


def operator_names() -> tuple[str, ...]:
    """The operators that have a spec file, by name, in order of the ABI's type numbers. No file is read."""
    return tuple(_files())


PREFIXES = ("ELEMENT_WISE_", "ACTIVATION_")
"""What the short form of an operator's name leaves out."""


def short_form(name: str) -> str:
    """The short form of an operator's name: ``ADD1`` of ``ELEMENT_WISE_ADD1``."""
    prefix = next((prefix for prefix in PREFIXES if name.startswith(prefix)), "")
    return name.removeprefix(prefix)


def family_of(name: str) -> str | None:
    """The folder of spec/operators that an operator's file lies in, if it has a file. No file is read."""
    return _files()[name].parent.name if name in _files() else None


def load(name: str) -> Operator:
    """The operator called ``name``, with or without DML_OPERATOR_. Reads only its own file and those that it extends.

    Raises:
        KeyError: it has no spec file; the message says how to list those that exist.
        SpecError: its file is wrong.
    """
    return _load(name.removeprefix("DML_OPERATOR_"))


@cache
def _load(name: str) -> Operator:
    if name not in _files():
        raise KeyError(f"no spec for operator {name!r}; `dmlcts spec list` shows the available ones")
    return load_file(_files()[name], measured_folder())


def load_all() -> tuple[Operator, ...]:
    """Every operator that has a spec file. Raises SpecError for the first file that is wrong."""
    return tuple(load(name) for name in operator_names())


def load_file(file: Path, measured: Path | None = None) -> Operator:
    """The operator in ``file``, with the measurements in the folder ``measured``, which are read on demand.

    Raises:
        SpecError: the file cannot be read, is not YAML, does not match the schema, or contradicts itself.
    """
    operator = load_text(read(file), file)
    if file.name != f"{operator.name.lower()}.yaml":
        raise SpecError(file, 1, ("operator",), f"the file of {operator.name} must be called {operator.name.lower()}.yaml")
    return operator if measured is None else with_measurements(operator, measured)


def with_measurements(operator: Operator, folder: Path) -> Operator:
    """The operator with its measurements in a folder."""
    tensors = tuple(field.name for field in operator.fields if field.is_tensor)
    return replace(operator, measurements=partial(measurements_of, folder, operator.name, tensors))


def load_text(text: str, file: Path | None = None) -> Operator:
    """The operator in a spec file's text. Raises SpecError."""
    return build(load_document(text, file))


def load_document(text: str, file: Path | None = None) -> Document:
    """A spec file's text as resolved and validated data. Raises SpecError."""
    document = _resolve_extends(parse(text, file))
    validate(document, "dmlcts.spec", "operator")
    return document


def _resolve_extends(document: Document) -> Document:
    """A document merged with everything that it extends."""
    chain, names = [document], [document.data.get("operator", document.data.get("profile"))]
    while "extends" in chain[-1].data:
        child, name = chain[-1], chain[-1].data["extends"]
        if not isinstance(name, str) or name not in (_files().keys() | _profiles().keys()):
            raise child.error(("extends",), f"there is no operator or profile {name!r}; profiles: {', '.join(_profiles())}")
        without = child.data.get("without", [])
        if not isinstance(without, list) or not all(isinstance(entry, str) for entry in without):
            raise child.error(("without",), "must be a list of names")
        if name in names:
            raise child.error(("extends",), f"{' extends '.join((*names, name))}, without end")
        names.append(name)
        chain.append(_parse_spec(name))
    resolved = chain.pop()
    check_alone(resolved)
    while chain:
        resolved = merged_document(chain.pop(), resolved)
    return resolved


@cache
def _parse_spec(name: str) -> Document:
    """The file of an operator (``MAX_POOLING``) or a profile (``unary``), unresolved."""
    file = (_files() | _profiles())[name]
    return parse(read(file), file)


@cache
def _profiles() -> dict[str, Path]:
    return {file.stem: file for file in sorted(profiles_folder().glob("*.yaml"))}


def error_in(operator: Operator, path: Path_, problem: str) -> SpecError:
    """An error in an operator's spec that shows only when its cases are made or run, to be raised; it names file and line, also of what is inherited."""
    if operator.file is None:
        return SpecError(None, None, path, problem)
    return load_document(read(operator.file), operator.file).error(path, problem)


def profile_names() -> tuple[str, ...]:
    """The profiles of spec/profiles, by name. No file is read."""
    return tuple(_profiles())


def profile(name: str) -> Document:
    """A profile as it stands, with what it extends, unchecked. Raises KeyError for an unknown one, SpecError."""
    return _resolve_extends(_parse_spec(name))
