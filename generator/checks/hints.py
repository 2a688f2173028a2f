"""What a complete spec may still lack: hints, none of which is an error.

``dmlcts spec coverage`` calls a spec complete if each of its promises has a case. A spec that promises little is soon complete.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.spec.model.operator import MEASURED, Operator


def hints(operator: Operator) -> Iterator[str]:
    """What the operator's spec lacks that others of its kind have, each as a sentence that says where to add it."""
    if not operator.examples:
        yield "no example: `examples` takes those of the page, and what DirectML.dll was measured to give"
    if not operator.relations:
        yield (
            "no law: all cases compare with the reference, so that its own mistakes show nowhere; "
            "`cases.relations` takes laws that need no reference"
        )
    if not operator.workloads:
        yield "no workload: `cases.workloads` takes sizes that people use; more cases lie around each of them"
    if axes := _axes_without_sizes(operator):
        yield f"no critical sizes of single axes: `cases.turning: {{axes: {axes}}}` gives each axis the sizes at which kernels turn"
    for source in operator.sources:
        if not source.commit and source.repo:
            yield f"no commit: {source.title!r} may change, and then nobody knows what was read; add `commit` in `sources`"
    yield from _unfounded_rules(operator)


def _axes_without_sizes(operator: Operator) -> str:
    """The attribute that names axes of tensors whose shape is one ``*`` symbol, if ``cases.turning`` does not name it."""
    first = next(field.name for field in operator.fields if field.is_tensor)
    rows = (shape.sizes[first] for shape in operator.shapes if first in shape.sizes)
    if operator.turning or not any(len(row) == 1 and row[0].startswith("*") for row in rows):
        return ""
    return next((field.name for field in operator.attributes() if field.name in ("Axis", "Axes")), "")


def _unfounded_rules(operator: Operator) -> Iterator[str]:
    """The rules that rest on a measurement where none is recorded, neither by a probe nor as an erratum or an example."""
    shown = (
        operator.probe_measurements
        or any(e.measured for e in operator.errata)
        or any(e.basis == MEASURED for e in operator.examples)
    )
    if shown:
        return
    rules = [f"constraint {constraint.label}" for constraint in operator.constraints if constraint.basis == MEASURED]
    rules += [f"the table of {table.level}" for table in operator.support if table.basis == MEASURED]
    rules += [f"in-place of {entry.output}" for entry in operator.in_place if entry.basis == MEASURED]
    for rule in rules:
        yield f"no evidence: {rule} is measured, and no erratum, example or probe says on what; `dmlcts probe --write` records one"
    yield (
        f"never held against DirectML.dll: `dmlcts run {operator.name} --backend directml --level full --basis measured`, "
        f"then `dmlcts probe --backend directml --write {operator.name}`"
    )
