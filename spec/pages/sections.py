"""An operator described in sections, with everything inherited, default, or measured: what ``dmlcts spec show`` prints, and the site shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dmlcts.spec.model.abi import abi, level_text
from dmlcts.spec.model.case_data import Values
from dmlcts.spec.model.measurement import Measurement
from dmlcts.spec.model.operator import DOCUMENTED, Domain, Example, Field, Operator, Shape, Tolerance
from dmlcts.spec.reading.loader import measured_folder
from dmlcts.spec.reading.measured import kinds_of
from dmlcts.spec.reading.promises import plain
from dmlcts.spec.writing.yaml_writer import entry, flow

Rows = Iterator[tuple[str, ...]]

_KINDS, _NETWORKS = 20, 6
"""The most kinds of dispatch that are shown of an operator, and the most networks of each."""


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of cells, or YAML texts by their keys. ``label`` is what the labels of the promises in it begin with (generator/checks/promises), if they
    are promises that single cases test; a row's first cell, or a text's key, is the label's end."""

    title: str
    rows: tuple[tuple[str, ...], ...] = ()
    texts: Mapping[str, str] | None = None
    label: str = ""


def sections(operator: Operator) -> Iterator[Section]:
    """What the spec says, what the cases are made of, and what was measured, without empty sections."""
    return (section for section in _sections(operator) if section.rows or section.texts)


def _sections(operator: Operator) -> Iterator[Section]:
    yield _rows("fields", ((f.name, f.kind, f.enum or f.type, _field(f)) for f in operator.fields))
    yield _rows("constants", ((name, _numbers(constants)) for name, constants in constants_of(operator).items()))
    for support in operator.tables():
        when = "".join(f", {name} in {', '.join(map(str, values))}" for name, values in support.when.items())
        rows = ((n, "-".join(map(str, sorted({*r.dimensions}))) + "d", " ".join(r.data_types)) for n, r in support.tensors.items())
        yield _rows(f"tensor support at feature level {support.level.text}{when}{_unless_documented(support.basis)}", rows)
    yield _rows(
        "constraints",
        ((c.label, c.basis, c.text + (f", before {c.before}" if c.before else "")) for c in operator.constraints),
        label="rejects/constraint/",
    )
    for shape in operator.shapes:
        yield _rows(f"shape{f' when {shape.when.text}' if shape.when else ''}", _shape(shape))
    yield _rows(
        "in place",
        ((p.output, p.basis, f"may alias {(' and ' if p.together else ' or ').join(p.inputs)}") for p in operator.in_place),
    )
    yield _rows("tolerance", _tolerance(operator.tolerance))
    accepted = ((a.rule, " ".join(a.ways), f"with {' '.join(a.types)}", a.evidence) for a in operator.accepts)
    yield _rows("not required to be rejected", accepted)
    yield _texts("examples", {example.id: _example(example) for example in operator.examples}, label="example/")
    yield _rows("errata", ((e.id, e.severity, f"{e.text} [{e.evidence}]") for e in operator.errata))
    yield _rows("sources", ((s.title, s.commit, f"{s.repo} {s.path}".strip()) for s in operator.sources))
    yield _rows("cases: values of attributes", ((f.name, flow(plain(f.values))) for f in operator.attributes() if f.values))
    configurations = {
        label: _present({**plain(limits), "basis": operator.bases.get(label)}) for label, limits in operator.configurations.items()
    }
    yield _texts("cases: configurations", configurations)
    yield _rows("cases: sizes", ((symbol, flow(plain(sizes))) for symbol, sizes in operator.sizes.items()))
    turning = _present(plain(operator.turning) or {})
    yield _rows("cases: turning sizes", ((name, flow(plain(value))) for name, value in turning.items()))
    resize = _present(plain(operator.resize) or {})
    yield _rows("cases: sizes that differ in some dimensions", ((name, flow(plain(value))) for name, value in resize.items()))
    yield _texts("cases: workloads", {label: _present(plain(workload)) for label, workload in operator.workloads.items()})
    yield _texts("cases: single dispatches", {label: _present(plain(each)) for label, each in operator.dispatches.items()})
    yield _texts("cases: data of tensors", {name: _values(values) for name, values in operator.values.items()})
    yield _rows("cases: further layouts", ((layout,) for layout in operator.layouts))
    relations = {r.label: _without_defaults(plain(r), "label") for r in operator.relations}
    yield _texts("cases: relations", relations, label="relation/")
    yield _rows("dispatched by networks (dmlcts census): kinds, by count", _kinds(operator))
    for measured in operator.probe_measurements:
        yield _rows(f"measured (dmlcts probe): {measured.by}, {measured.date}", _measurement_rows(measured))


def _kinds(operator: Operator) -> Rows:
    """The most frequent kinds of dispatch that networks have, each with its count and some of its networks."""
    kinds = kinds_of(measured_folder(), operator.name) if operator.file is not None else ()
    for kind in kinds[:_KINDS]:
        more = f" and {len(kind.networks) - _NETWORKS} more" if len(kind.networks) > _NETWORKS else ""
        yield kind.kind, str(kind.count), ", ".join(kind.networks[:_NETWORKS]) + more
    if len(kinds) > _KINDS:
        yield (
            f"{len(kinds) - _KINDS} more kinds",
            str(sum(kind.count for kind in kinds[_KINDS:])),
            f"spec/measured/census/{operator.name.lower()}.yaml",
        )


def constants_of(operator: Operator) -> dict[str, dict[str, int]]:
    """The numbers of the constants that a desc of this operator has: of its enumerations, of data types and of tensor flags."""
    names = dict.fromkeys((*(field.enum for field in operator.fields if field.enum), "DML_TENSOR_DATA_TYPE"))
    return {name: abi().enums[name].values for name in names} | {"DML_TENSOR_FLAGS": abi().tensor_flags}


def _numbers(constants: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in constants.items())


def _rows(title: str, rows: Iterable[tuple[str, ...]], label: str = "") -> Section:
    return Section(title, tuple(rows), label=label)


def _texts(title: str, data: Mapping[str, object], label: str = "") -> Section:
    return Section(title, texts={key: "\n".join(entry(f"{key}:", value, 0)) for key, value in data.items()}, label=label)


def _unless_documented(basis: str) -> str:
    return "" if basis == DOCUMENTED else f" ({basis})"


def _field(field: Field) -> str:
    facts = {
        "optional": "optional" + (f" since feature level {field.optional_since.text}" if field.optional_since else "")
        if field.optional
        else "",
        "count": f"as many as {field.count}" if field.count else "",
        "data_type": f"of type {field.data_type}" if field.data_type else "",
        "domain": _domain(field.domain),
        "owned": "never owned by DML" if field.kind == "input" and not field.owned_by_dml else "",
        "packed": "packed" if field.packed else "",
        "overlap": "no strides of 0" if field.kind == "input" and not field.overlap else "",
        "operators": ", ".join(f"{name} ({level.text})" for name, level in field.operators.items()),
    }
    return "; ".join(filter(None, facts.values()))


def _domain(domain: Domain | None) -> str:
    bounds = {"at least": domain.least, "at most": domain.most} if domain else {}
    found = ", ".join(f"{word} {bound.text}" for word, bound in bounds.items() if bound)
    return found + _unless_documented(domain.basis) if domain else found


def _shape(shape: Shape) -> Rows:
    yield from ((name, f"[{', '.join(row)}]") for name, row in shape.sizes.items())
    yield from ((symbol, f"= {expression.text}") for symbol, expression in shape.where.items())
    yield from ((f"*{symbol}", f"{expression.text} sizes") for symbol, expression in shape.counts.items())
    yield from ((symbol, _domain(domain)) for symbol, domain in shape.domains.items())


def _tolerance(tolerance: Tolerance) -> Rows:
    yield "everywhere else" if tolerance.exceptions else "everywhere", _class(tolerance)
    for exception in tolerance.exceptions:
        when = (" ".join(exception.outputs), " ".join(exception.data_types), exception.when.text if exception.when else "")
        yield ", ".join(filter(None, when)), _class(exception.tolerance)


def _class(tolerance: Tolerance) -> str:
    parameters = "".join(f", {name} {flow(plain(value))}" for name, value in tolerance.parameters.items())
    return f"{tolerance.judge}{parameters}" + (", bit patterns" if tolerance.compare == "bits" else "")


def _example(example: Example) -> dict[str, object]:
    data = plain(example)
    outputs = data["answers"] if len(data["answers"]) > 1 else next(iter(data["answers"].values()))
    key = "answers" if len(data["answers"]) > 1 else "outputs"
    shown = {"basis": example.basis, "inputs": data["inputs"], "attributes": data["attributes"], key: outputs}
    return _present(shown) | {"evidence": example.evidence} | _present({"note": example.note})


def _values(values: Values) -> dict[str, object]:
    data = plain(values)
    return _present({"random": {"recipe": data.pop("recipe"), **data.pop("parameters")}, **data})


def _without_defaults(data: dict[str, object], *without: str) -> dict[str, object]:
    return _present({key: value for key, value in data.items() if key not in without})


def _present(data: Mapping[str, object]) -> dict[str, object]:
    """The non-empty entries."""
    return {key: value for key, value in data.items() if value not in (None, "", [], {}, ())}


def _measurement_rows(m: Measurement) -> Rows:
    yield (
        "probes",
        f"{m.probes} on {m.device or 'an unnamed device'} at feature level {level_text(m.level)}, with suite {m.suite}: {m.command}",
    )
    yield "cells", f"{m.confirmed} of {m.cells} confirmed"
    yield "refused", ", ".join(f"{count} at {stage}" for stage, count in m.rejections.items()) or "none"
    for kind, entries in (("accepted beyond", m.accepts), ("refused besides", m.refuses), ("unknown", m.unknown)):
        for each in entries:
            details = (" ".join(each.ways), f"with {' '.join(each.types)}" if each.types else "", each.message)
            yield kind, "; ".join(filter(None, (each.what, *details, "not required to be rejected" if each.waived else "")))
