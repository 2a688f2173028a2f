"""Spec files into ``Operator``: parse, validate against the JSON Schema, check what no schema can, build.

Every error is a ``SpecError`` that names file, line and field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import jsonschema_rs

from dmlcts.spec.abi import FeatureLevel, abi
from dmlcts.spec.document import Document, Path_, SpecError, parse
from dmlcts.spec.expression import Expression, ExpressionError, compile_expression
from dmlcts.spec.model import (
    CONTESTED,
    DOCUMENTED,
    Acceptance,
    Constraint,
    Erratum,
    Example,
    Field,
    InPlace,
    Literal,
    Operator,
    Relation,
    Shape,
    Source,
    Support,
    TensorSupport,
    Tolerance,
    Values,
)

T = TypeVar("T")


def operators_folder() -> Path:
    """The folder of the spec files that come with the package."""
    return Path(str(resources.files("dmlcts.spec"))) / "operators"


@cache
def operator_names() -> tuple[str, ...]:
    """The operators that have a spec file, by name, in order of the ABI's type numbers."""
    order = abi().operator_types
    return tuple(sorted((p.stem.upper() for p in operators_folder().rglob("*.yaml")), key=lambda n: order.get(n, 0)))


@cache
def load(name: str) -> Operator:
    """The operator called ``name``, with or without DML_OPERATOR_.

    Raises:
        KeyError: no spec file for it; the message says which there are.
        SpecError: its file is wrong.
    """
    short = name.removeprefix("DML_OPERATOR_")
    for file in operators_folder().rglob(f"{short.lower()}.yaml"):
        return load_file(file)
    raise KeyError(f"no spec for operator {name!r}; `dmlcts spec list` shows those there are")


def load_all() -> tuple[Operator, ...]:
    """Every operator that has a spec file. Raises SpecError for the first file that is wrong."""
    return tuple(load(name) for name in operator_names())


def load_file(file: Path) -> Operator:
    """The operator in ``file``.

    Raises:
        SpecError: the file cannot be read, is not YAML, is not of the schema, or contradicts itself.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(file, None, (), f"cannot be read: {error}") from None
    operator = load_text(text, file)
    if file.stem != operator.name.lower():
        raise SpecError(file, 1, ("operator",), f"the file of {operator.name} must be called {operator.name.lower()}.yaml")
    return operator


def load_text(text: str, file: Path | None = None) -> Operator:
    """The operator in a spec file's text. Raises SpecError."""
    document = parse(text, file)
    for error in _validator().iter_errors(document.data):
        raise document.error(tuple(error.instance_path), _said(error))
    return _Builder(document).operator()


@cache
def _validator() -> Any:
    schema = resources.files("dmlcts.spec").joinpath("schema/operator.schema.json").read_text(encoding="utf-8")
    return jsonschema_rs.validator_for(json.loads(schema))


def _said(error: Any) -> str:
    """The validator's message, shortened where it quotes a whole document."""
    message = str(error.message)
    return message if len(message) < 300 else f"{message[:140]} ... {message[-140:]}"


class _Builder:
    """Builds an Operator out of a document that the schema has accepted. One method a part; each checks what the schema cannot."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.data = document.data
        self.fields = tuple(Field(**entry) for entry in self.data["fields"])
        self.by_name = {field.name: field for field in self.fields}
        self.tensors = {field.name for field in self.fields if field.is_tensor}

    def operator(self) -> Operator:
        name = self.data["operator"]
        self.check_header(name)
        file = self.document.file
        return Operator(
            name=name,
            type=self.data["type"],
            family=file.parent.name if file else "",
            introduced=self.level(self.data["introduced"], ("introduced",)),
            summary=self.data["summary"],
            fields=self.fields,
            support=tuple(self.each("support", self.support)),
            constraints=tuple(self.labelled("constraints", self.constraint)),
            shapes=tuple(self.each("shapes", self.shape)),
            values={name: self.values(name, value) for name, value in self.data.get("values", {}).items()},
            in_place=tuple(self.each("in_place", self.in_place)),
            tolerance=self.tolerance(),
            examples=tuple(self.labelled("examples", self.example)),
            relations=tuple(self.labelled("relations", self.relation)),
            accepts=tuple(self.each("accepts", self.acceptance)),
            errata=tuple(self.labelled("errata", self.erratum)),
            sources=tuple(Source(**entry) for entry in self.data["sources"]),
            file=file,
        )

    def each(self, key: str, build: Callable[[Path_, Any], T]) -> Iterator[T]:
        return (build((key, index), entry) for index, entry in enumerate(self.data.get(key, ())))

    def labelled(self, key: str, build: Callable[[Path_, str, Any], T]) -> Iterator[T]:
        return (build((key, label), label, entry) for label, entry in self.data.get(key, {}).items())

    def check_header(self, name: str) -> None:
        known = abi().operator_types.get(name)
        if known != self.data["type"]:
            raise self.document.error(
                ("type",), f"the ABI gives {name} the type {known}" if known else f"the ABI has no operator {name}"
            )
        seen: set[str] = set()
        for index, field in enumerate(self.fields):
            path = ("fields", index)
            if field.name in seen:
                raise self.document.error(path, f"the field {field.name} is given twice")
            seen.add(field.name)
            if field.is_tensor == (field.kind == "attribute"):
                raise self.document.error((*path, "kind"), f"a field of type {field.type} cannot be of kind {field.kind}")
            if field.enum and field.enum not in abi().enums:
                raise self.document.error((*path, "enum"), f"unknown enumeration {field.enum}; known: {', '.join(abi().enums)}")

    def level(self, name: str, path: Path_) -> FeatureLevel:
        level = abi().feature_levels.get(name)
        if level is None:
            raise self.document.error(path, f"unknown feature level {name}; known: {', '.join(abi().feature_levels)}")
        return level

    def tensor(self, name: str, path: Path_, kind: str | None = None) -> str:
        if name not in self.tensors or (kind and self.by_name[name].kind != kind):
            known = ", ".join(sorted(t for t in self.tensors if not kind or self.by_name[t].kind == kind))
            raise self.document.error(path, f"unknown {kind or ''}{' ' if kind else ''}tensor {name!r}; this operator has {known}")
        return name

    def expression(self, text: str, path: Path_, names: set[str] | None = None) -> Expression:
        try:
            expression = compile_expression(text)
        except ExpressionError as error:
            raise self.document.error(path, f"{error} (at column {error.column + 1} of {text!r})") from None
        unknown = sorted(expression.names - (names if names is not None else self.by_name.keys()))
        if unknown:
            said = ", ".join(repr(name) for name in unknown)
            what = "tensor or attribute" if names is None else "name"
            known = ", ".join(sorted(names if names is not None else self.by_name))
            raise self.document.error(path, f"{text!r} names an unknown {what}: {said}; known: {known}")
        return expression

    def optional(self, entry: Mapping[str, Any], key: str, path: Path_, names: set[str] | None = None) -> Expression | None:
        return self.expression(entry[key], (*path, key), names) if key in entry else None

    def support(self, path: Path_, entry: Mapping[str, Any]) -> Support:
        tensors = {}
        for name, row in entry["tensors"].items():
            at = (*path, "tensors", name)
            self.tensor(name, at)
            low, _, high = row["dimensions"].partition("-")
            dimensions = (int(low), int(high or low))
            if dimensions[0] > dimensions[1]:
                raise self.document.error((*at, "dimensions"), f"{row['dimensions']!r} runs backwards")
            tensors[name] = TensorSupport(dimensions, tuple(row["types"]))
        for name in sorted(self.tensors - tensors.keys()):
            raise self.document.error((*path, "tensors"), f"the table has no row for {name}")
        when = {name: tuple(allowed) for name, allowed in entry.get("when", {}).items()}
        for name, allowed in when.items():
            self.check_attribute(name, allowed, (*path, "when", name))
        return Support(self.level(entry["level"], (*path, "level")), tensors, when, entry.get("basis", DOCUMENTED))

    def check_attribute(self, name: str, values: Sequence[object], path: Path_) -> None:
        field = self.by_name.get(name)
        if field is None or field.kind != "attribute":
            raise self.document.error(path, f"unknown attribute {name!r}")
        constants = abi().enums[field.enum].values if field.enum else None
        for value in values:
            if constants is not None and value not in constants:
                raise self.document.error(path, f"{field.enum} has no {value!r}; it has {', '.join(constants)}")

    def constraint(self, path: Path_, label: str, entry: Mapping[str, Any]) -> Constraint:
        return Constraint(
            label=label,
            same=entry.get("same"),
            tensors=tuple(self.tensor(name, (*path, "of", i)) for i, name in enumerate(entry.get("of", ()))),
            that=self.optional(entry, "that", path),
            when=self.optional(entry, "when", path),
            basis=entry.get("basis", DOCUMENTED),
        )

    def shape(self, path: Path_, entry: Mapping[str, Any]) -> Shape:
        sizes = {}
        symbols: set[str] = set()
        for name, row in entry["sizes"].items():
            self.tensor(name, (*path, "sizes", name))
            sizes[name] = tuple(str(size) for size in row)
            for index, size in enumerate(sizes[name]):
                text = size.removeprefix("*")
                try:
                    symbols |= compile_expression(text).names
                except ExpressionError as error:
                    raise self.document.error((*path, "sizes", name, index), f"{error} in {size!r}") from None
        names = symbols | self.by_name.keys()
        where = {s: self.expression(t, (*path, "where", s), names) for s, t in entry.get("where", {}).items()}
        return Shape(sizes, where, self.optional(entry, "when", path))

    def values(self, name: str, entry: Mapping[str, Any]) -> Values:
        self.tensor(name, ("values", name), "input")
        parameters = {key: value for key, value in entry["random"].items() if key != "recipe"}
        special, measured = tuple(entry.get("special", ())), tuple(entry.get("measured", ()))
        return Values(entry["random"]["recipe"], parameters, special, measured)

    def in_place(self, path: Path_, entry: Mapping[str, Any]) -> InPlace:
        output = self.tensor(entry["output"], (*path, "output"), "output")
        inputs = tuple(self.tensor(name, (*path, "inputs", i), "input") for i, name in enumerate(entry["inputs"]))
        return InPlace(output, inputs, entry.get("basis", DOCUMENTED))

    def tolerance(self) -> Tolerance:
        entry = dict(self.data["tolerance"])
        return Tolerance(entry.pop("class"), entry.pop("compare", "value"), entry)

    def literals(self, path: Path_, entry: Mapping[str, Any], kind: str) -> dict[str, Literal]:
        found = {}
        for name, value in entry.items():
            self.tensor(name, (*path, name), kind)
            if isinstance(value, list):
                for index, element in enumerate(value):
                    found[f"{name}[{index}]"] = self.literal((*path, name, index), element)
            else:
                found[name] = self.literal((*path, name), value)
        return found

    def literal(self, path: Path_, entry: Mapping[str, Any]) -> Literal:
        count = 1
        for size in entry["sizes"]:
            count *= size
        if len(entry["data"]) != count:
            sizes = "x".join(str(size) for size in entry["sizes"])
            raise self.document.error((*path, "data"), f"sizes {sizes} need {count} values, and {len(entry['data'])} are given")
        return Literal(entry["type"], tuple(entry["sizes"]), tuple(entry["data"]))

    def example(self, path: Path_, label: str, entry: Mapping[str, Any]) -> Example:
        basis = entry.get("basis", DOCUMENTED)
        if (basis == CONTESTED) != ("answers" in entry):
            raise self.document.error(path, "a contested example has `answers` of both sides, any other one has `outputs`")
        given = entry["answers"] if basis == CONTESTED else {basis: entry["outputs"]}
        where = "answers" if basis == CONTESTED else "outputs"
        answers = {
            whose: self.literals((*path, where, whose) if basis == CONTESTED else (*path, where), outputs, "output")
            for whose, outputs in given.items()
        }
        attributes = entry.get("attributes", {})
        for name, value in attributes.items():
            self.check_attribute(name, (value,), (*path, "attributes", name))
        inputs = self.literals((*path, "inputs"), entry["inputs"], "input")
        return Example(label, basis, inputs, attributes, answers, entry["evidence"], entry.get("note", ""))

    def relation(self, path: Path_, label: str, entry: Mapping[str, Any]) -> Relation:
        for variable, name in entry["given"].items():
            self.tensor(name, (*path, "given", variable), "input")
        names = {*entry["given"], "f", "width"}
        return Relation(
            label=label,
            law=self.expression(entry["law"], (*path, "law"), names | RELATION_FUNCTIONS),
            given=entry["given"],
            where=self.optional(entry, "where", path, names),
            basis=entry.get("basis", DOCUMENTED),
        )

    def acceptance(self, path: Path_, entry: Mapping[str, Any]) -> Acceptance:
        return Acceptance(entry["rule"], entry["evidence"], tuple(entry.get("types", ())))

    def erratum(self, path: Path_, label: str, entry: Mapping[str, Any]) -> Erratum:
        differences = tuple(entry.get("differences", ()))
        return Erratum(label, entry["text"], entry["evidence"], entry.get("severity", "erratum"), differences)


RELATION_FUNCTIONS = frozenset({"implies"})
"""What a relation may call besides ``f`` and the expression language's own functions."""
