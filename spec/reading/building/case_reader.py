"""The values to test, from a spec file: sizes, configurations of attributes, and input data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.spec.model.case_data import RandomData, Values
from dmlcts.spec.model.case_sizes import Resize, SingleDispatch, Turning, Workload
from dmlcts.spec.model.operator import ABSENT, DOCUMENTED, PRESENT
from dmlcts.spec.reading.building.reader import Reader
from dmlcts.spec.reading.document import Path_

_USUAL = 4
"""Cases about other things have so many dimensions, or the nearest number that a table lists (generator/plan/type_choices)."""


class CaseReader(Reader):
    """Reads these parts of a document, after its fields."""

    def sizes(self) -> dict[str, tuple[int | tuple[int, ...], ...]]:
        """The values of each free symbol. A symbol must occur in some shape."""
        self.check_symbols(("cases", "sizes"))
        return {symbol: tuple(map(_sizes, values)) for symbol, values in self.cases.get("sizes", {}).items()}

    def largest(self) -> dict[str, int]:
        """The largest value of free symbols in combinations."""
        self.check_symbols(("cases", "largest"))
        return dict(self.cases.get("largest", {}))

    def most_elements(self) -> int:
        """The largest product of free symbols in combinations."""
        return int(self.cases.get("most-elements", 1 << 32))

    def usual_elements(self) -> int:
        """A soft limit on the product of free symbols in combinations."""
        return int(self.cases.get("usual-elements", 1 << 32))

    def turning(self) -> Turning | None:
        """The axes that have turning sizes, and the attributes that meet each of them."""
        entry, path = self.cases.get("turning"), ("cases", "turning")
        if entry is None:
            return None
        names = (entry["axes"], *entry.get("each", ()))
        for name in names:
            self.check_attribute(name, (), path)
        first = next((field.name for field in self.by_name.values() if field.is_tensor), "")
        if not any(len(row) == 1 and str(row[0]).startswith("*") for row in self.rows(first)):
            raise self.document.error((*path, "axes"), f"the sizes of {first} must be one `*` symbol, whose axes are counted")
        return Turning(names[0], names[1:])

    def resize(self) -> Resize | None:
        """The symbols whose sizes differ in each choice of dimensions, with the types and attributes that such cases have."""
        entry, path = self.cases.get("resize"), ("cases", "resize")
        if entry is None:
            return None
        for end in ("from", "to"):
            if not any(row == [f"*{entry[end]}"] for name in self.by_name for row in self.rows(name)):
                raise self.document.error((*path, end), f"no tensor has the sizes *{entry[end]} and no others")
        if entry["from"] == entry["to"]:
            raise self.document.error((*path, "to"), "must be another symbol than that of `from`")
        attributes = self.single_values((*path, "attributes"), "resize", entry.get("attributes", {}))
        return Resize(entry["from"], entry["to"], tuple(entry["types"]), attributes, entry.get("level", "full"))

    def workload(self, path: Path_, label: str, entry: Mapping[str, Any]) -> tuple[str, Workload]:
        """A single case with sizes and attributes of its own."""
        self.check_symbols((*path, "sizes"))
        attributes = self.single_values((*path, "attributes"), label, entry.get("attributes", {}))
        self.check_dimensions((*path, "dimensions"), entry.get("dimensions"))
        sizes = {symbol: _sizes(value) for symbol, value in entry["sizes"].items()}
        return label, Workload(
            sizes, attributes, entry.get("type"), entry.get("basis"), entry.get("level", "full"), entry.get("dimensions")
        )

    def single_values(self, path: Path_, label: str, entry: Mapping[str, Any]) -> dict[str, object]:
        """One value of each attribute that an entry names."""
        _, limits = self.configuration(path, label, entry)
        if empty := next((name for name, values in limits.items() if not values), None):
            raise self.document.error((*path, empty), "must be a value, and not an empty list")
        return {name: values[0] for name, values in limits.items()}

    def dispatch(self, path: Path_, label: str, entry: Mapping[str, Any]) -> tuple[str, SingleDispatch]:
        """A dispatch around which nothing else lies, with data of its own for some tensors."""
        for name in entry.get("data", {}):
            self.tensor(name, (*path, "data", name), "input")
        order = list(self.by_name)
        for name, other in entry.get("shared", {}).items():
            at = (*path, "shared", name)
            self.tensor(name, at, "input"), self.tensor(other, at, "input")
            if order.index(other.partition("[")[0]) >= order.index(name.partition("[")[0]):
                raise self.document.error(at, f"{other} does not stand before {name}, so that it has no place yet")
        if "type" in entry and entry.get("of-each") == "type":
            raise self.document.error((*path, "of-each"), "a dispatch with a type is of that type alone")
        data = {name: self.random(recipe) for name, recipe in entry.get("data", {}).items()}
        return label, SingleDispatch(self.workload(path, label, entry)[1], data, entry.get("of-each", ""), entry.get("shared", {}))

    def check_dimensions(self, path: Path_, count: int | None) -> None:
        """Raises SpecError unless some table gives a tensor so many dimensions, and they are not those that the first one usually has."""
        counts = {field.name: self.dimension_counts(field.name) for field in self.by_name.values() if field.is_tensor}
        first, own = next(iter(counts.items()))
        every = sorted(set().union(*counts.values()))
        if count is None or not own:
            return
        if count not in every:
            raise self.document.error(
                path, f"no table lists {count} dimensions for any tensor; they list {', '.join(map(str, every))}"
            )
        if count == min(own, key=lambda each: (abs(each - _USUAL), each)):
            raise self.document.error(path, f"{count} is what {first} has in a workload without `dimensions`: leave it out")

    def dimension_counts(self, tensor: str) -> set[int]:
        """The dimension counts that the tables list for a tensor."""
        rows = ({**table, **table.get("tensors", {}).get(tensor, {})} for table in self.data["support"])
        ends = (row["dimensions"].partition("-") for row in rows if "dimensions" in row)
        return {number for low, _, high in ends for number in range(int(low), int(high or low) + 1)}

    def check_symbols(self, path: Path_) -> None:
        """Raises SpecError unless the keys of an entry are free symbols of some shape."""
        sizes = {size.removeprefix("*") for name in self.tensors for row in self.rows(name) for size in map(str, row)}
        read = {name for size in sizes for name in self.compile_text(size, ("shapes",)).names}
        entry: Any = self.data
        for key in path:
            entry = entry.get(key, {})
        for symbol in entry:
            if symbol not in read or symbol in self.names:
                raise self.document.error((*path, symbol), f"no shape has a free size called {symbol}")

    def rows(self, tensor: str) -> list[list[str | int]]:
        """The sizes of a tensor, as each shape has them."""
        return [entry["sizes"][tensor] for entry in self.data.get("shapes", ()) if tensor in entry["sizes"]]

    def configuration(self, path: Path_, label: str, entry: Mapping[str, Any]) -> tuple[str, dict[str, tuple[object, ...]]]:
        """The values that a configuration allows for each of its fields, without its ``basis``. A value that the field does not have is an error."""
        entries = {raw["name"]: raw for raw in self.data["fields"]}
        found: dict[str, tuple[object, ...]] = {}
        for name, raw in entry.items():
            if name == "basis":
                continue
            at, given = (*path, name), raw if isinstance(raw, list) else [raw]
            field = self.by_name.get(name)
            if field is None:
                raise self.document.error(at, f"the operator has no field {name!r}")
            if field.is_tensor:
                if not field.optional or not all(value in (PRESENT, ABSENT) for value in given):
                    raise self.document.error(at, f"an optional tensor is {PRESENT} or {ABSENT}")
                found[name] = tuple(given)
            elif field.operators:
                for operator in given:
                    if operator is not None and operator not in (*field.operators,):
                        raise self.document.error(at, f"{operator} is not allowed in {name}")
                found[name] = tuple(given)
            elif field.type.endswith("_ARRAY") and isinstance(raw, list) and not any(isinstance(v, list | str) for v in raw):
                found[name] = (self.attribute_value(at, entries[name], raw),)
            else:
                found[name] = tuple(self.attribute_value(at, entries[name], value) for value in given)
        return label, found

    def random(self, entry: Mapping[str, Any]) -> RandomData:
        """A recipe with its parameters."""
        parameters = {key: value for key, value in entry.items() if key not in ("recipe", "basis", "combined")}
        return RandomData(entry["recipe"], parameters, entry.get("basis", DOCUMENTED), entry.get("combined", True))

    def values(self, path: Path_, name: str, entry: Mapping[str, Any]) -> tuple[str, Values]:
        """The content of an input, or of an output that is read before it is written."""
        self.tensor(name, path, None if "when" in entry else "input")
        parameters = self.random(entry["random"]).parameters
        special, measured = tuple(entry.get("special", ())), tuple(entry.get("measured", ()))
        where = self.optional(entry, "where", path, self.names | {"x"})
        own = entry.get("sets", {})
        for label in own.keys() - {*special, *measured}:
            raise self.document.error((*path, "sets", label), "neither special nor measured names this set")
        sets = {label: tuple(numbers) for label, numbers in own.items() if isinstance(numbers, list)}
        parts = {
            label: (part["of"], self.expression(part["where"], (*path, "sets", label, "where"), {"x"}))
            for label, part in own.items()
            if isinstance(part, dict)
        }
        data = {label: self.random(other) for label, other in entry.get("data", {}).items()}
        when = self.optional(entry, "when", path)
        return name, Values(entry["random"]["recipe"], parameters, special, measured, where, sets, parts, data, when)


def _sizes(value: int | list[int]) -> int | tuple[int, ...]:
    return tuple(value) if isinstance(value, list) else value
