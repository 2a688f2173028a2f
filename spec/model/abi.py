"""The numbers of the DirectML ABI: operator types, data types, feature levels and enumerations.

They come from ``abi.yaml``; this module reads them once and gives them types. Source: DirectML.h at DML_TARGET_VERSION 0x6400.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class DataType:
    """One DML_TENSOR_DATA_TYPE: ``value`` is its number, ``bits`` its width, ``kind`` one of float, int, uint."""

    name: str
    value: int
    bits: int
    kind: str
    since: str = "1_0"

    @property
    def size(self) -> float:
        """Bytes of one element: 0.5 for the 4-bit types."""
        return self.bits / 8

    @property
    def is_float(self) -> bool:
        """Whether the type is FLOAT16, FLOAT32 or FLOAT64."""
        return self.kind == "float"

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest value of an integer type."""
        return (-(1 << self.bits - 1), (1 << self.bits - 1) - 1) if self.kind == "int" else (0, (1 << self.bits) - 1)

    def holds(self, value: float | int | str) -> bool:
        """Whether a value is of this type: a number in its range (a float may be rounded), or nan, inf, -inf, or bits ``0x7FC00001``."""
        if isinstance(value, str):
            return int(value, 16) < 1 << self.bits if value.startswith("0x") else self.is_float and value in ("nan", "inf", "-inf")
        if self.is_float:
            return (isinstance(value, float) and not isfinite(value)) or abs(value) <= _LARGEST[self.bits]
        least, most = self.limits
        return isinstance(value, int) and least <= value <= most


_LARGEST = {16: 65504.0, 32: 3.4028234663852886e38, 64: 1.7976931348623157e308}
"""The largest finite number of a float, by width."""


@dataclass(frozen=True, slots=True)
class FeatureLevel:
    """A DML_FEATURE_LEVEL such as ``6_4``; levels are strict supersets and compare by ``value`` (0x6400).

    ``operators_from``: the number of the first DML_OPERATOR_TYPE that the level added; 0 where it added none.
    """

    name: str
    value: int
    directml: str
    operators_from: int = 0

    def __lt__(self, other: FeatureLevel) -> bool:
        return self.value < other.value

    def __le__(self, other: FeatureLevel) -> bool:
        return self.value <= other.value

    def __gt__(
        self, other: FeatureLevel
    ) -> bool:  # functools.total_ordering is three times slower, and levels are compared a million times
        return self.value > other.value

    def __ge__(self, other: FeatureLevel) -> bool:
        return self.value >= other.value

    def __str__(self) -> str:
        return self.name

    @property
    def text(self) -> str:
        """As people write it: ``6.4``."""
        return level_text(self.name)


def level_text(name: str) -> str:
    """A feature level as people write it: ``6.4`` for ``6_4``."""
    return name.replace("_", ".")


@dataclass(frozen=True, slots=True)
class Enum:
    """A DirectML enumeration: its constants by short name (without the enumeration's prefix) and number."""

    name: str
    values: dict[str, int]
    since: dict[str, str]

    @property
    def prefix(self) -> str:
        """The prefix of a constant's name in DirectML.h: ``DML_ROUNDING_MODE_``."""
        return f"{self.name}_"


@dataclass(frozen=True, slots=True)
class Abi:
    """Everything in ``abi.yaml``."""

    data_types: dict[str, DataType]
    feature_levels: dict[str, FeatureLevel]
    enums: dict[str, Enum]
    operator_types: dict[str, int]
    tensor_flags: dict[str, int]
    execution_flags: dict[str, int]
    limits: dict[str, int]
    fused_activations: dict[str, str]
    """The operators that most FusedActivation fields allow, each with its feature level."""


@cache
def abi() -> Abi:
    """The ABI's tables, read from the package once for each process."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    raw: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (a safe loader)
    data_types = {name: DataType(name, **entry) for name, entry in raw["data_types"].items()}
    enums = {name: Enum(name, entry["values"], entry.get("since", {})) for name, entry in raw["enums"].items()}
    enums["DML_TENSOR_DATA_TYPE"] = Enum(
        "DML_TENSOR_DATA_TYPE",
        {name: entry.value for name, entry in data_types.items()},
        {name: entry.since for name, entry in data_types.items() if entry.since != "1_0"},
    )
    return Abi(
        data_types=data_types,
        feature_levels={name: FeatureLevel(name, **entry) for name, entry in raw["feature_levels"].items()},
        enums=enums,
        operator_types=raw["operator_types"],
        tensor_flags=raw["tensor_flags"],
        execution_flags=raw["execution_flags"],
        limits=raw["limits"],
        fused_activations={name: level for level, names in raw["fused_activations"].items() for name in names},
    )


def data_type(name: str) -> DataType:
    """The data type called ``name``, with or without the DML_TENSOR_DATA_TYPE prefix.

    Raises:
        KeyError: no such data type; the message lists the known ones.
    """
    short = name.removeprefix("DML_TENSOR_DATA_TYPE_")
    try:
        return abi().data_types[short]
    except KeyError:
        raise KeyError(f"unknown data type {name!r}; known: {', '.join(abi().data_types)}") from None


@cache
def newest_level() -> FeatureLevel:
    """The newest feature level."""
    return max(abi().feature_levels.values())


def feature_level(name: str) -> FeatureLevel:
    """The feature level called ``name``: ``6_4``, ``6.4`` or ``DML_FEATURE_LEVEL_6_4``.

    Raises:
        KeyError: no such level; the message lists the known ones.
    """
    short = name.removeprefix("DML_FEATURE_LEVEL_").replace(".", "_")
    try:
        return abi().feature_levels[short]
    except KeyError:
        raise KeyError(f"unknown feature level {name!r}; known: {', '.join(abi().feature_levels)}") from None


def first_level(operator: str) -> FeatureLevel:
    """The feature level that added an operator: numbers of DML_OPERATOR_TYPE grow with the levels.

    Raises:
        KeyError: no such operator.
    """
    number = abi().operator_types[operator]
    return max(level for level in abi().feature_levels.values() if 0 < level.operators_from <= number)


def enum(name: str) -> Enum:
    """The enumeration called ``name``.

    Raises:
        KeyError: no such enumeration.
    """
    try:
        return abi().enums[name]
    except KeyError:
        raise KeyError(f"unknown enumeration {name!r}; known: {', '.join(abi().enums)}") from None
