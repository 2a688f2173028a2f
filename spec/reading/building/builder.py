"""Builds an ``Operator`` from a parsed spec file: one method for each part, which also checks what a JSON Schema cannot.

A file must be consistent: names exist, constants and levels are the ABI's, rows and examples are complete, expressions
compile and use only names that exist. Nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

from dmlcts.spec.model.abi import FeatureLevel, abi
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.measurement import Acceptance, types_of
from dmlcts.spec.model.operator import (
    CONTESTED,
    DOCUMENTED,
    UNDEFINED,
    Constraint,
    Domain,
    Example,
    Field,
    InPlace,
    Literal,
    Operator,
    Relation,
    Shape,
    Support,
    TensorSupport,
    Tolerance,
    ToleranceException,
)
from dmlcts.spec.model.source import Erratum, Source
from dmlcts.spec.reading.building.case_reader import CaseReader
from dmlcts.spec.reading.building.evidence import basis_of, sentence, wrong_commit
from dmlcts.spec.reading.building.law import RELATION_FUNCTIONS, law_problems, name_problems
from dmlcts.spec.reading.document import Document, Path_
from dmlcts.spec.rules.shape import FAILURES, size_symbol


def build(document: Document) -> Operator:
    """The operator that a document of the schema describes. Raises SpecError."""
    return _Builder(document).operator()


class _Builder(CaseReader):
    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self.fields = tuple(self.each("fields", self.field))
        self.by_name = {field.name: field for field in self.fields}
        self.tensors = {field.name for field in self.fields if field.is_tensor}

    def operator(self) -> Operator:
        name = self.data["operator"]
        known = abi().operator_types.get(name)
        if known is None:
            raise self.document.error(("operator",), f"the ABI has no operator {name}")
        if known != self.data["type"]:
            raise self.document.error(("type",), f"the ABI gives {name} the type {known}, not {self.data['type']}")
        file = self.document.file
        constraints = tuple(self.each_labelled("constraints", self.constraint))
        for attribute in self.cases.get("attributes", {}):
            self.check_attribute(attribute, (), ("cases", "attributes", attribute))
        return Operator(
            name=name,
            type=self.data["type"],
            family=file.parent.name if file else "",
            introduced=self.level(self.data["introduced"], ("introduced",)),
            summary=self.data["summary"],
            fields=self.fields,
            support=tuple(self.each("support", self.support)),
            constraints=constraints,
            shapes=tuple(self.each("shapes", self.shape)),
            values=dict(self.in_cases("values", self.values)),
            in_place=tuple(self.each("in_place", self.in_place)),
            tolerance=self.tolerance(("tolerance",), self.data["tolerance"]),
            examples=tuple(self.each_labelled("examples", self.example)),
            relations=tuple(self.in_cases("relations", self.relation)),
            lenient=tuple(self.each("accepts", self.acceptance)),
            errata=tuple(self.each_labelled("errata", self.erratum)),
            sources=tuple(map(_source, self.data["sources"])),
            file=file,
            sizes=self.sizes(),
            largest=self.largest(),
            most_elements=self.most_elements(),
            usual_elements=self.usual_elements(),
            turning=self.turning(),
            resize=self.resize(),
            workloads=dict(self.in_cases("workloads", self.workload)),
            dispatches=dict(self.in_cases("dispatches", self.dispatch)),
            configurations=dict(self.in_cases("configurations", self.configuration)),
            bases={label: entry["basis"] for label, entry in self.cases.get("configurations", {}).items() if "basis" in entry},
            measured_where=self.optional(self.cases, "measured-where", ("cases",)),
            layouts=tuple(self.cases.get("layouts", ())),
        )

    # The parts

    def field(self, path: Path_, entry: Mapping[str, Any]) -> Field:
        for key, types in _ONLY_OF.items():
            if key in entry and entry["type"] not in types:
                raise self.document.error((*path, key), f"a field of type {entry['type']} has no {key}")
        field = Field(
            name=entry["name"],
            kind=entry["kind"],
            type=entry["type"],
            optional=entry.get("optional", False) or "optional_since" in entry,
            enum=entry.get("enum"),
            optional_since=self.optional_level(entry, "optional_since", path),
            count=entry.get("count"),
            data_type=entry.get("data_type"),
            domain=self.domain(path, entry),
            operators=self.inner_operators(path, entry),
            owned_by_dml=entry.get("owned_by_dml", True),
            packed=entry.get("packed", False),
            overlap=entry.get("overlap", True),
            values=self.attribute_values(entry),
        )
        if field.is_tensor == (field.kind == "attribute"):
            raise self.document.error((*path, "kind"), f"a field of type {field.type} cannot be of kind {field.kind}")
        if field.enum and field.enum not in abi().enums:
            raise self.document.error((*path, "enum"), f"unknown enumeration {field.enum}; known: {', '.join(abi().enums)}")
        for key, name in (("count", field.count), ("data_type", field.data_type)):
            if name and name not in self.names:
                raise self.document.error((*path, key), f"unknown attribute {name!r}")
        for name in field.operators.keys() - abi().operator_types.keys():
            raise self.document.error((*path, "operators"), f"the ABI has no operator {name}")
        return field

    def attribute_values(self, entry: Mapping[str, Any]) -> tuple[object, ...]:
        """The values that cases use for the attribute with this entry."""
        values = self.cases.get("attributes", {}).get(entry["name"], ())
        at = ("cases", "attributes", entry["name"])
        if values and entry["type"] not in _WITH_VALUES:
            raise self.document.error(at, f"a field of type {entry['type']} has no values of its own")
        return tuple(self.attribute_value((*at, index), entry, raw) for index, raw in enumerate(values))

    def inner_operators(self, path: Path_, entry: Mapping[str, Any]) -> dict[str, FeatureLevel]:
        """The operators that may stand in a field: with ``fused`` the ABI's fused activations, from the operator's own feature level on."""
        introduced = self.level(self.data["introduced"], ("introduced",))
        fused = abi().fused_activations if entry.get("fused") else {}
        found = {name: max(self.level(level, path), introduced) for name, level in fused.items()}
        for level, names in entry.get("operators", {}).items():
            found |= dict.fromkeys(names, self.level(level, (*path, "operators", level)))
        return found

    def support(self, path: Path_, entry: Mapping[str, Any]) -> Support:
        rows, usual = entry.get("tensors", {}), {key: entry[key] for key in ("dimensions", "types") if key in entry}
        for name in rows:
            if name not in self.tensors:
                self.tensor(name, (*path, "tensors", name))
        tensors = {}
        for name in (field.name for field in self.fields if field.is_tensor):
            if name not in rows and len(usual) < 2:
                raise self.document.error((*path, "tensors"), f"the table has no row for {name}")
            row = usual | rows.get(name, {})
            for key in ("dimensions", "types"):
                if key not in row:
                    raise self.document.error((*path, "tensors", name), f"neither the row nor the table has {key}")
            low, _, high = row["dimensions"].partition("-")
            dimensions = (int(low), int(high or low))
            if dimensions[0] > dimensions[1]:
                at = (*path, "tensors", name, "dimensions") if "dimensions" in rows.get(name, ()) else (*path, "dimensions")
                raise self.document.error(at, f"{row['dimensions']!r} runs backwards")
            tensors[name] = TensorSupport(dimensions, tuple(row["types"]))
        when = {name: tuple(allowed) for name, allowed in entry.get("when", {}).items()}
        for name, allowed in when.items():
            self.check_attribute(name, allowed, (*path, "when", name))
        return Support(self.level(entry["level"], (*path, "level")), tensors, when, entry.get("basis", DOCUMENTED))

    def constraint(self, path: Path_, label: str, entry: Mapping[str, Any]) -> Constraint:
        return Constraint(
            label=label,
            same=entry.get("same"),
            tensors=tuple(self.tensor(name, (*path, "of", i)) for i, name in enumerate(entry.get("of", ()))),
            that=self.optional(entry, "that", path),
            when=self.optional(entry, "when", path),
            basis=entry.get("basis", DOCUMENTED),
            before=self.optional_level(entry, "before", path),
        )

    def shape(self, path: Path_, entry: Mapping[str, Any]) -> Shape:
        where, counts, domains = (entry.get(key, {}) for key in ("where", "counts", "domains"))
        rows = {self.tensor(name, (*path, "sizes", name)): tuple(str(size) for size in row) for name, row in entry["sizes"].items()}
        self.check_lengths((*path, "sizes"), rows, {*where, *counts})
        symbols = {symbol for row in rows.values() for size in row if (symbol := size_symbol(size))} - self.names
        symbols |= self.solved_symbols((*path, "sizes"), rows, symbols)
        for key, named in (("where", where), ("counts", counts), ("domains", domains)):
            for symbol in named.keys() - symbols:
                raise self.document.error(
                    (*path, key, symbol), f"no size is called {symbol}; there are {', '.join(sorted(symbols))}"
                )
        names = symbols | self.names
        return Shape(
            sizes=rows,
            where={symbol: self.expression(text, (*path, "where", symbol), names) for symbol, text in where.items()},
            when=self.optional(entry, "when", path),
            counts={symbol: self.expression(text, (*path, "counts", symbol)) for symbol, text in counts.items()},
            domains={
                symbol: self.domain((*path, "domains", symbol), bounds, names) or Domain() for symbol, bounds in domains.items()
            },
        )

    def check_lengths(self, path: Path_, rows: Mapping[str, Sequence[str]], known: set[str]) -> None:
        """In each row, all ``*`` parts but one must have a known length: from a count or an earlier row."""
        for name, row in rows.items():
            stars = [size[1:] for size in row if size.startswith("*")]
            if len([star for star in stars if star not in known]) > 1:
                names = " and ".join(f"*{star}" for star in stars)
                raise self.document.error((*path, name), f"how many sizes are {names}? Give all but one of them a count")
            known.update(stars)

    def solved_symbols(self, path: Path_, rows: Mapping[str, Sequence[str]], symbols: set[str]) -> set[str]:
        """The symbols that occur only in expressions, such as H in ``4 * H``: at least twice, since a single use constrains nothing."""
        found: dict[str, Path_] = {}
        often: set[str] = set()
        for name, row in rows.items():
            for index, size in enumerate(row):
                if size_symbol(size) is None and size != "*1":
                    at = (*path, name, index)
                    if size.startswith("*"):
                        raise self.document.error(at, f"{size!r} must be * and a symbol, or *1 for any number of ones")
                    for symbol in self.compile_text(size, at).names - self.names - symbols:
                        if symbol in found:
                            often.add(symbol)
                        found[symbol] = at
        for symbol in found.keys() - often:
            raise self.document.error(found[symbol], f"the value of {symbol} cannot be known: no other size uses it")
        return often

    def in_place(self, path: Path_, entry: Mapping[str, Any]) -> InPlace:
        output = self.tensor(entry["output"], (*path, "output"), "output")
        inputs = tuple(self.tensor(name, (*path, "inputs", i), "input") for i, name in enumerate(entry["inputs"]))
        return InPlace(output, inputs, entry.get("basis", DOCUMENTED), entry.get("together", False))

    def tolerance(self, path: Path_, entry: Mapping[str, Any]) -> Tolerance:
        rest = dict(entry)
        judge, compare = rest.pop("class"), rest.pop("compare", "value")
        exceptions = tuple(
            self.tolerance_exception((*path, "exceptions", index), exception)
            for index, exception in enumerate(rest.pop("exceptions", ()))
        )
        return Tolerance(judge, compare, rest, exceptions)

    def tolerance_exception(self, path: Path_, entry: Mapping[str, Any]) -> ToleranceException:
        rest = {key: value for key, value in entry.items() if key not in ("of", "types", "when", "basis")}
        return ToleranceException(
            tolerance=self.tolerance(path, rest),
            outputs=tuple(self.tensor(name, (*path, "of", i), "output") for i, name in enumerate(entry.get("of", ()))),
            data_types=tuple(entry.get("types", ())),
            when=self.optional(entry, "when", path),
            basis=entry.get("basis", DOCUMENTED),
        )

    def literals(self, path: Path_, entry: Mapping[str, Any], kind: str) -> dict[str, Literal]:
        found = {}
        held = {name for name, values in self.cases.get("values", {}).items() if "when" in values}
        for name, value in entry.items():
            self.tensor(name, (*path, name), None if kind == "input" and name in held else kind)
            if isinstance(value, list):
                for index, element in enumerate(value):
                    found[f"{name}[{index}]"] = self.literal((*path, name, index), element, kind)
            else:
                found[name] = self.literal((*path, name), value, kind)
        given = {name.partition("[")[0] for name in found}
        for field in self.fields:
            if field.kind == kind and not field.optional and field.name not in given:
                raise self.document.error(path, f"the {kind} {field.name} is missing")
        return found

    def literal(self, path: Path_, entry: Mapping[str, Any], kind: str) -> Literal:
        count = prod(entry["sizes"])
        if len(entry["data"]) != count:
            sizes = "x".join(str(size) for size in entry["sizes"])
            raise self.document.error((*path, "data"), f"sizes {sizes} need {count} values, but {len(entry['data'])} are given")
        data_type = abi().data_types[entry["type"]]
        for index, value in enumerate(entry["data"]):
            if not data_type.holds(value) and (value != UNDEFINED or kind != "output"):
                raise self.document.error((*path, "data", index), f"{value} is not a valid {kind} value of type {entry['type']}")
        return Literal(entry["type"], tuple(entry["sizes"]), tuple(entry["data"]))

    def example(self, path: Path_, label: str, entry: Mapping[str, Any]) -> Example:
        basis = basis_of(entry)
        if (basis == CONTESTED) != ("answers" in entry):
            raise self.document.error(path, "a contested example must have `answers` of both sides, any other example `outputs`")
        given = entry["answers"] if basis == CONTESTED else {basis: entry["outputs"]}
        where = "answers" if basis == CONTESTED else "outputs"
        answers = {
            whose: self.literals((*path, where, whose) if basis == CONTESTED else (*path, where), outputs, "output")
            for whose, outputs in given.items()
        }
        inputs = self.literals((*path, "inputs"), entry["inputs"], "input")
        attributes = self.example_attributes(
            path, entry, inputs, {k: v for outputs in answers.values() for k, v in outputs.items()}
        )
        evidence = self.evidence(path, entry, label)
        return Example(label, basis, inputs, attributes, answers, evidence, entry.get("note", ""))

    def example_attributes(
        self, path: Path_, entry: Mapping[str, Any], inputs: Mapping[str, Literal], outputs: Mapping[str, Literal]
    ) -> dict[str, object]:
        """An example's attributes in the struct's order: as given, by default, or counted."""
        given = entry.get("attributes", {})
        for name in given:
            self.check_attribute(name, (), (*path, "attributes", name))
        found: dict[str, object] = {}
        known: dict[str, object] = {
            name: TensorDesc(literal.data_type, literal.sizes) for name, literal in {**outputs, **inputs}.items()
        }
        counts = {field.count: field.name for field in self.fields if field.count}
        for raw in self.data["fields"]:
            name = raw["name"]
            if raw["kind"] != "attribute" or (name in counts and name not in given):
                continue
            if name in given:
                found[name] = known[name] = self.attribute_value((*path, "attributes", name), raw, given[name])
            elif "default" in raw:
                found[name] = known[name] = self.default(path, name, raw, known)
            elif not self.by_name[name].optional:
                raise self.document.error((*path, "attributes"), f"the attribute {name} is missing")
        for count, counted in counts.items():
            if count not in found and isinstance(found.get(counted), tuple):
                found[count] = len(cast(tuple[object, ...], found[counted]))
        return {field.name: found[field.name] for field in self.fields if field.name in found}

    def default(self, path: Path_, name: str, entry: Mapping[str, Any], known: Mapping[str, object]) -> object:
        """An attribute's usual value for an example's tensors."""
        value = self.attribute_value(("fields", list(self.by_name).index(name), "default"), entry, entry["default"])
        if not isinstance(value, Expression):
            return value
        try:
            computed = value.evaluate(known)
        except FAILURES as error:
            raise self.document.error(
                (*path, "attributes"), f"{name} must be given: its default {value.text} fails ({error})"
            ) from None
        return tuple(computed) if isinstance(computed, list | range) else computed

    def relation(self, path: Path_, label: str, entry: Mapping[str, Any]) -> Relation:
        given, uses = entry["given"], entry.get("uses", {})
        if not given and any(field.kind == "input" for field in self.fields):
            raise self.document.error((*path, "given"), "names no tensor, but the operator has inputs")
        for variable, name in given.items():  # of an output only the sizes are used
            self.tensor(name, (*path, "given", variable), None if variable in entry.get("data", {}) else "input")
        for variable in entry.get("data", {}).keys() - given.keys():
            raise self.document.error((*path, "data", variable), f"the law has no variable {variable!r}")
        for at, problem in name_problems(entry):
            raise self.document.error((*path, *at), problem)
        names = {*given, "width", *(self.names - self.tensors)}
        law = self.expression(entry["law"], (*path, "law"), names, RELATION_FUNCTIONS | {"f", *uses})
        for at, problem in law_problems(self.data, self.fields, entry, law):
            raise self.document.error((*path, *at), problem)
        return Relation(
            label=label,
            law=law,
            given=given,
            where=self.expression(entry["where"], (*path, "where"), names, RELATION_FUNCTIONS) if "where" in entry else None,
            basis=entry.get("basis", DOCUMENTED),
            uses=uses,
            data_types=tuple(entry.get("types", ())),
            when=self.optional(entry, "when", path),
            data={variable: self.random(other) for variable, other in entry.get("data", {}).items()},
        )

    def acceptance(self, path: Path_, entry: Mapping[str, Any]) -> Acceptance:
        kind, _, label = entry["rule"].partition("/")
        if kind == "constraint" and label not in self.data["constraints"]:
            raise self.document.error((*path, "rule"), f"there is no constraint {label!r}")
        return Acceptance(entry["rule"], self.evidence(path, entry), tuple(entry["ways"]), types_of(entry))

    def evidence(self, path: Path_, entry: Mapping[str, Any], example: str = "") -> str:
        """An entry's evidence in words, for an example with the command that measures it again."""
        if word := wrong_commit(entry["evidence"]):
            raise self.document.error((*path, "evidence"), f"{word!r} is no commit: give 8 to 40 of its hexadecimal digits")
        return sentence(entry["evidence"], self.data["operator"], example)

    def erratum(self, path: Path_, label: str, entry: Mapping[str, Any]) -> Erratum:
        differences = tuple(entry.get("differences", ()))
        evidence = entry["evidence"] if isinstance(entry["evidence"], Mapping) else {}
        measured, shown_by = str(evidence.get("measured", "")), str(evidence.get("shown_by", ""))
        return Erratum(
            label,
            entry["text"],
            self.evidence(path, entry),
            entry.get("severity", "note"),
            differences,
            measured,
            shown_by,
            entry.get("effect", ""),
        )


def _source(entry: Mapping[str, Any]) -> Source:
    """A page; for an operator desc's own page, the struct's name and the commit are enough."""
    if "page" not in entry:
        return Source(**entry)
    path = f"sdk-api-src/content/directml/ns-directml-{entry['page'].lower()}.md"
    return Source(f"{entry['page']} structure", "MicrosoftDocs/sdk-api", path, entry.get("commit", ""))


_WITH_VALUES = (
    *("UINT", "UINT64", "INT", "FLOAT", "BOOL", "UINT_ARRAY", "INT_ARRAY", "FLOAT_ARRAY"),
    *("SIZE_2D", "SCALE_BIAS", "SCALAR_UNION", "OPERATOR_DESC_ARRAY"),
)
"""The types of fields that have values in ``cases.attributes``, and a ``default``."""

_ONLY_OF = {
    "default": _WITH_VALUES,
    "count": ("TENSOR_DESC_ARRAY", "OPERATOR_DESC_ARRAY", "UINT_ARRAY", "INT_ARRAY", "FLOAT_ARRAY"),
    "data_type": ("SCALAR_UNION",),
    "enum": ("UINT",),
    "least": ("UINT", "INT", "FLOAT", "UINT_ARRAY", "INT_ARRAY", "FLOAT_ARRAY"),
    "most": ("UINT", "INT", "FLOAT", "UINT_ARRAY", "INT_ARRAY", "FLOAT_ARRAY"),
    "operators": ("OPERATOR_DESC", "OPERATOR_DESC_ARRAY"),
    "owned_by_dml": ("TENSOR_DESC", "TENSOR_DESC_ARRAY"),
    "packed": ("TENSOR_DESC", "TENSOR_DESC_ARRAY"),
    "overlap": ("TENSOR_DESC", "TENSOR_DESC_ARRAY"),
    "fused": ("OPERATOR_DESC", "OPERATOR_DESC_ARRAY"),
}
"""The field types that can carry a property."""
