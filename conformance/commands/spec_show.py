"""The text of ``dmlcts spec show``: an operator with everything inherited, default, or measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dmlcts.spec.measurement import Measurement
from dmlcts.spec.model import DOCUMENTED, Domain, Example, Field, Operator, Shape, Tolerance, Values
from dmlcts.spec.promises import plain
from dmlcts.spec.yaml_writer import entry, flow

Rows = Iterator[tuple[str, ...]]


def print_operator(out: Console, operator: Operator) -> None:
    """Prints everything known about an operator: its promises, how they are tested, and measurements."""
    out.print(f"[bold]{operator.name}[/]  type {operator.type}, since feature level {operator.introduced}")
    out.print(f"{escape(operator.summary)}\n")
    _print(out, "fields", ((f.name, f.kind, f.enum or f.type, _field(f)) for f in operator.fields))
    for support in operator.tables():
        when = "".join(f", {name} in {', '.join(map(str, values))}" for name, values in support.when.items())
        rows = ((n, "-".join(map(str, sorted({*r.dimensions}))) + "d", " ".join(r.data_types)) for n, r in support.tensors.items())
        _print(out, f"tensor support at feature level {support.level}{when}{_unless_documented(support.basis)}", rows)
    _print(
        out,
        "constraints",
        ((c.label, c.basis, c.text + (f", before {c.before}" if c.before else "")) for c in operator.constraints),
    )
    for shape in operator.shapes:
        _print(out, f"shape{f' when {shape.when.text}' if shape.when else ''}", _shape(shape))
    _print(
        out,
        "in place",
        ((p.output, p.basis, f"may alias {(' and ' if p.together else ' or ').join(p.inputs)}") for p in operator.in_place),
    )
    _print(out, "tolerance", _tolerance(operator.tolerance))
    accepted = ((a.rule, " ".join(a.ways), f"with {' '.join(a.types)}", a.evidence) for a in operator.accepts)
    _print(out, "not required to be rejected", accepted)
    _block(out, "examples", {example.id: _example(example) for example in operator.examples})
    _print(out, "errata", ((e.id, e.severity, f"{e.text} [{e.evidence}]") for e in operator.errata))
    _print(out, "sources", ((s.title, s.commit, f"{s.repo} {s.path}".strip()) for s in operator.sources))
    _print(out, "cases: values of attributes", ((f.name, flow(plain(f.values))) for f in operator.attributes() if f.values))
    configurations = {
        label: _present({**plain(limits), "basis": operator.bases.get(label)}) for label, limits in operator.configurations.items()
    }
    _block(out, "cases: configurations", configurations)
    _print(out, "cases: sizes", ((symbol, flow(plain(sizes))) for symbol, sizes in operator.sizes.items()))
    _print(
        out, "cases: turning sizes", ((name, flow(plain(value))) for name, value in _present(plain(operator.turning) or {}).items())
    )
    _block(out, "cases: workloads", {label: _present(plain(workload)) for label, workload in operator.workloads.items()})
    _block(out, "cases: data of tensors", {name: _values(values) for name, values in operator.values.items()})
    _print(out, "cases: further layouts", ((layout,) for layout in operator.layouts))
    _block(out, "cases: relations", {r.label: _without_defaults(plain(r), "label") for r in operator.relations})
    for measured in operator.measured:
        _print(out, f"measured (dmlcts probe): {measured.by}, {measured.date}", _measured(measured))
    out.print(f"file: {operator.file}", style="dim")


def _print(out: Console, title: str, rows: Rows) -> None:
    found = list(rows)
    if found:
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for row in found:
            table.add_row(*(escape(cell) for cell in row))
        out.print(f"[dim]{escape(title)}[/]")
        out.print(table, "")


def _block(out: Console, title: str, data: Mapping[str, object]) -> None:
    if data:
        out.print(f"[dim]{escape(title)}[/]")
        for key, value in data.items():
            out.print("\n".join(entry(f"{key}:", value, 0)), markup=False, highlight=False, soft_wrap=True)
        out.print("")


def _unless_documented(basis: str) -> str:
    return "" if basis == DOCUMENTED else f" ({basis})"


def _field(field: Field) -> str:
    facts = {
        "optional": "optional" + (f" since {field.optional_since}" if field.optional_since else "") if field.optional else "",
        "count": f"as many as {field.count}" if field.count else "",
        "data_type": f"of type {field.data_type}" if field.data_type else "",
        "domain": _domain(field.domain),
        "owned": "never owned by DML" if field.kind == "input" and not field.owned_by_dml else "",
        "packed": "packed" if field.packed else "",
        "operators": ", ".join(f"{name} ({level})" for name, level in field.operators.items()),
    }
    return "; ".join(filter(None, facts.values()))


def _domain(domain: Domain | None) -> str:
    bounds = {"at least": domain.least, "at most": domain.most} if domain else {}
    return ", ".join(f"{word} {bound.text}" for word, bound in bounds.items() if bound)


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


def _measured(m: Measurement) -> Rows:
    yield "probes", f"{m.probes} on {m.device or 'an unnamed device'} at feature level {m.level}, with suite {m.suite}: {m.command}"
    yield "cells", f"{m.confirmed} of {m.cells} confirmed"
    yield "refused", ", ".join(f"{count} at {stage}" for stage, count in m.rejections.items()) or "none"
    for kind, entries in (("accepted beyond", m.accepts), ("refused besides", m.refuses), ("unknown", m.unknown)):
        for each in entries:
            details = (" ".join(each.ways), f"with {' '.join(each.types)}" if each.types else "", each.message)
            yield kind, "; ".join(filter(None, (each.what, *details, "not required to be rejected" if each.waived else "")))
