"""Common parts of reading a spec file: names, levels and expressions, checked, with errors that name the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from dmlcts.spec.model.abi import FeatureLevel, abi
from dmlcts.spec.model.expression import Expression, ExpressionError, compile_expression
from dmlcts.spec.model.operator import DOCUMENTED, Domain, Field
from dmlcts.spec.reading.document import Document, Path_, SpecError
from dmlcts.spec.reading.schema import did_you_mean
from dmlcts.spec.rules.attribute_value import attribute_value
from dmlcts.spec.rules.shape import INDEXED

T = TypeVar("T")


class Reader:
    """A document and its fields: the ``names`` of all, ``by_name`` once they are read, and the ``tensors`` among them."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.data = document.data
        self.cases: Mapping[str, Any] = self.data.get("cases", {})
        names = [entry["name"] for entry in self.data["fields"]]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise document.error(("fields", index, "name"), f"the field {name} is given twice")
        # Expressions in the fields use other fields, so all names must be known first.
        self.names = set(names)
        self.by_name: dict[str, Field] = {}
        self.tensors: set[str] = set()

    def each(self, key: str, build: Callable[[Path_, Any], T]) -> Iterator[T]:
        """Each entry of a list, built."""
        return (build((key, index), entry) for index, entry in enumerate(self.data.get(key, ())))

    def each_labelled(self, key: str, build: Callable[[Path_, str, Any], T]) -> Iterator[T]:
        """Each entry of a mapping, built with its label."""
        return (build((key, label), label, entry) for label, entry in self.data.get(key, {}).items())

    def in_cases(self, key: str, build: Callable[[Path_, str, Any], T]) -> Iterator[T]:
        """Each entry of a section of ``cases``, built with its label."""
        return (build(("cases", key, label), label, entry) for label, entry in self.cases.get(key, {}).items())

    def level(self, name: str, path: Path_) -> FeatureLevel:
        """A feature level. Raises SpecError for an unknown one."""
        level = abi().feature_levels.get(name)
        if level is None:
            raise self.document.error(path, f"unknown feature level {name}; known: {', '.join(abi().feature_levels)}")
        return level

    def optional_level(self, entry: Mapping[str, Any], key: str, path: Path_) -> FeatureLevel | None:
        """The feature level under a key, None without it."""
        return self.level(entry[key], (*path, key)) if key in entry else None

    def tensor(self, name: str, path: Path_, kind: str | None = None) -> str:
        """The name of a tensor, or of one tensor of an array: ``QuantizationTensors[0]``."""
        field = self.by_name.get(name.partition("[")[0])
        indexed = bool(INDEXED.fullmatch(name))
        if field is None or not field.is_tensor or (kind and field.kind != kind) or indexed > field.type.endswith("_ARRAY"):
            known = sorted(t for t in self.tensors if not kind or self.by_name[t].kind == kind)
            what = f"{kind} tensor" if kind else "tensor"
            raise self.document.error(
                path, f"unknown {what} {name!r}{did_you_mean(name, known)}; this operator has {', '.join(known)}"
            )
        return name

    def compile_text(self, text: object, path: Path_, calls: frozenset[str] = frozenset()) -> Expression:
        """Compiles a text, which may call ``calls`` besides the language's functions."""
        try:
            return compile_expression(str(text), calls)
        except ExpressionError as error:
            raise self.document.error(path, f"{error} (at column {error.column + 1} of {text!r})") from None

    def expression(
        self, text: object, path: Path_, names: set[str] | None = None, calls: frozenset[str] = frozenset()
    ) -> Expression:
        """Compiles a text that may use only ``names``, the operator's fields where None."""
        expression = self.compile_text(text, path, calls)
        unknown = sorted(expression.names - (self.names if names is None else names) - calls)
        if unknown:
            known = sorted(self.names if names is None else names)
            listed = ", ".join(f"{name!r}{did_you_mean(name, known)}" for name in unknown)
            what = "tensor or attribute" if names is None else "name"
            raise self.document.error(path, f"{text!r} names an unknown {what}: {listed}; known: {', '.join(known)}")
        return expression

    def optional(self, entry: Mapping[str, Any], key: str, path: Path_, names: set[str] | None = None) -> Expression | None:
        """The expression under a key, None without it."""
        return self.expression(entry[key], (*path, key), names) if key in entry else None

    def domain(self, path: Path_, entry: Mapping[str, Any], names: set[str] | None = None) -> Domain | None:
        """The bounds ``least`` and ``most`` and their ``basis``, None without them."""
        least, most = (self.optional(entry, key, path, names) for key in ("least", "most"))
        if least or most:
            return Domain(least, most, entry.get("basis", DOCUMENTED))
        if "basis" in entry:
            raise self.document.error((*path, "basis"), "there is no least and no most that the basis is of")
        return None

    def check_attribute(self, name: str, values: Sequence[object], path: Path_) -> None:
        """Raises SpecError unless ``name`` is an attribute and, if it is an enumeration, the values are its constants."""
        field = self.by_name.get(name)
        if field is None or field.kind != "attribute":
            known = [field.name for field in self.by_name.values() if field.kind == "attribute"]
            raise self.document.error(path, f"unknown attribute {name!r}{did_you_mean(name, known)}")
        constants = abi().enums[field.enum].values if field.enum else None
        for value in values:
            if constants is not None and value not in constants:
                raise self.document.error(path, f"{field.enum} has no {value!r}; it has {', '.join(constants)}")

    def attribute_value(self, path: Path_, entry: Mapping[str, Any], raw: object) -> object:
        """The value of the attribute with this entry."""
        optional = entry.get("optional", False) or "optional_since" in entry
        try:
            return attribute_value(
                entry["type"], entry.get("enum"), optional, raw, lambda text: self.expression(text, path, self.names)
            )
        except ValueError as error:
            if isinstance(error, SpecError):
                raise
            raise self.document.error(path, str(error)) from None
