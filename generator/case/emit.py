"""Cases as pytest modules: one for each operator, readable, run by plain pytest with this package installed.

A module holds the ids of its cases and calls the fixture ``run_case`` (conformance/runner/plugin), so that it and ``dmlcts run`` execute the same
cases with the same code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dmlcts.generator.case.case import Case
from dmlcts.spec.model.operator import DOCUMENTED, Operator
from dmlcts.spec.reading.promises import spec_version
from dmlcts.spec.writing.files import writing_to

TITLES = {
    "example": "The documentation's examples, and what DirectML.dll was measured to give.",
    "table": "One plain case for each choice of data types.",
    "combination": "Data types, ranks, sizes, layouts, attributes, data and bindings in every combination of two or three.",
    "values": "Special values, in every combination over the inputs.",
    "sizes": "Large tensors, and the sizes that the spec gives.",
    "network": "What real networks dispatch, cut to small sizes and as it is.",
    "typical": "A plain, batched, tile-sized dispatch with one or two things unusual.",
    "gaps": "Bytes between the elements of a strided output.",
    "negative": "Descs and bindings that must be rejected: each breaks one rule.",
    "property": "Agreement with the reference, and laws between outputs, on many random examples.",
    "random": "Random valid dispatches: sizes, strides and offsets beyond those that combinations have.",
    "sequence": "The operator initialized, bound and dispatched again: what one dispatch leaves must not show in the next.",
    "huge": "Byte offsets and strides beyond 2^32, with few elements.",
}
"""A description of each kind of case, in the order of the module."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A case in the template: its id, and a remark where it is not of basis documented."""

    id: str
    note_text: str


def module_text(operator: Operator, cases: Iterable[Case], version: str) -> str:
    """The pytest module of one operator's cases."""
    kinds: dict[str, dict[str, Any]] = {}
    for case in cases:
        entry = kinds.setdefault(case.kind, {"title": TITLES[case.kind], "cases": []})
        entry["cases"].append(_Line(case.id, "" if case.basis == DOCUMENTED else case.basis))
    environment = Environment(
        loader=PackageLoader("dmlcts.generator.case"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 (Python source, of names that the spec's schema limits)
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return environment.get_template("module.py.j2").render(
        operator=operator,
        kinds=kinds,
        version=version,
        spec_version=spec_version([operator.name]),
        file=module_name(operator.name),
    )


def module_name(operator: str) -> str:
    """The file name of an operator's module."""
    return f"test_{operator.lower()}.py"


def write_modules(cases: Iterable[Case], folder: Path, version: str) -> list[Path]:
    """Writes a module for each operator that has cases, and returns the files. Raises OSError for a folder that cannot be written."""
    by_operator: dict[Operator, list[Case]] = {}
    for case in cases:
        by_operator.setdefault(case.operator, []).append(case)
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written = []
    for operator, own in by_operator.items():
        file = folder / module_name(operator.name)
        with writing_to(file):
            file.write_text(module_text(operator, own, version), encoding="utf-8", newline="\n")
        written.append(file)
    return written
