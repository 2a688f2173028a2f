"""Operators by data type and feature level: what is promised, what was measured, and what is contested."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dmlcts.spec.model.abi import FeatureLevel, abi
from dmlcts.spec.model.measurement import ORACLE, Measurement
from dmlcts.spec.model.operator import DOCUMENTED, Operator

CONFIRMED, PROMISED, CONTESTED, BEYOND, NEITHER = "confirmed", "promised", "contested", "beyond", "neither"

SYMBOLS = {CONFIRMED: "✓", PROMISED: "?", CONTESTED: "≠", BEYOND: "+", NEITHER: ""}

WORDS = {
    CONFIRMED: "promised, and measured: accepted as the tables say",
    PROMISED: "promised, and not all of it confirmed",
    CONTESTED: "promised, and contested: DirectML.dll does otherwise in some cases",
    BEYOND: "in no table, and accepted",
    NEITHER: "neither promised nor accepted",
}
"""What a cell is, in words."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is known of an operator and a data type: the first level that promises it, what that is worth, and which tensors have it."""

    kind: str
    level: FeatureLevel | None
    title: str


def cells(operator: Operator, contested: Collection[str] = ()) -> dict[str, Cell]:
    """A cell for each data type of the ABI. ``contested`` are those of the operator's contested cases."""
    return {name: _cell(operator, name, name in contested, None) for name in abi().data_types}


def level_rows(operator: Operator, contested: Collection[str] = ()) -> tuple[list[FeatureLevel], dict[str, list[Cell]]]:
    """The levels at which the tables change, and for each data type with anything known a cell for each of them."""
    levels = sorted({table.level for table in operator.support if table.basis == DOCUMENTED}, key=lambda level: level.value)
    rows = {
        name: [_cell(operator, name, name in contested, level) for level in levels]
        for name, cell in cells(operator, contested).items()
        if cell.kind != NEITHER
    }
    return levels, rows


def _cell(operator: Operator, data_type: str, contested: bool, most: FeatureLevel | None) -> Cell:
    """A cell, at a level or at the highest."""
    since: dict[str, FeatureLevel] = {}
    for table in operator.support:
        if table.basis != DOCUMENTED or (most is not None and table.level > most):
            continue
        for tensor, row in table.tensors.items():
            if data_type in row.data_types:
                since[tensor] = min(since.get(tensor, table.level), table.level)
    if since:
        title = ", ".join(f"{tensor} since {level.text}" for tensor, level in since.items())
        confirmed = any(found.confirmed == found.cells for found in _of_directml(operator))
        return Cell(CONTESTED if contested else CONFIRMED if confirmed else PROMISED, min(since.values()), title)
    tensors = ", ".join(sorted({tensor for found in _of_directml(operator) for tensor in _accepted_tensors(found, data_type)}))
    return Cell(BEYOND, None, f"{tensors}: accepted by DirectML.dll, in no table") if tensors else Cell(NEITHER, None, "")


def measured_by(operator: Operator) -> set[str]:
    """The versions of DirectML.dll that were asked what they accept."""
    return {found.by for found in _of_directml(operator)}


def _of_directml(operator: Operator) -> Iterator[Measurement]:
    return (found for found in operator.probe_measurements if found.by.partition(" ")[0] == ORACLE)


def _accepted_tensors(found: Measurement, data_type: str) -> Iterator[str]:
    """The tensors that were accepted with a data type that no table has."""
    for entry in found.accepts:
        rule, _, rest = entry.what.partition("/")
        tensor, _, what = rest.partition("/")
        if (rule, what) == ("support", "data-type") and any(data_type in (way, way.partition("=")[2]) for way in entry.ways):
            yield tensor
