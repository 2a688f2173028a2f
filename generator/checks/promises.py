"""Which promises of a spec no case tests.

A promise is a label (``support/4_1/ATensor/UINT8/4d``, ``constraint/same-sizes``, ``example/page-1``); cases list the labels that they
cover. Each column of ``dmlcts spec coverage`` is a kind of promise. Missing promises are always listed one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dmlcts.generator.case.case import Case
from dmlcts.generator.case.inputs import data_values
from dmlcts.generator.negative.cases import unenforced_rules
from dmlcts.generator.plan.attributes import NotGenerable, choice_labels
from dmlcts.generator.plan.forms import forms
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.networks import label_of, promised_networks
from dmlcts.generator.sweeps.special_values import special_set
from dmlcts.generator.values.layouts import has_layout, layouts_of
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.operator import Operator


@dataclass(frozen=True, slots=True)
class Column:
    """One kind of promise of one operator."""

    name: str
    promised: int
    missing: tuple[str, ...]

    @property
    def covered_count(self) -> int:
        """How many promises have a case."""
        return self.promised - len(self.missing)


@dataclass(frozen=True, slots=True)
class Coverage:
    """An operator's columns. ``complete``: every promise has a case."""

    operator: str
    columns: tuple[Column, ...]
    cases: int

    @property
    def complete(self) -> bool:
        """Whether nothing is missing in any column."""
        return not any(column.missing for column in self.columns)


def coverage(operator: Operator, cases: Sequence[Case], referenced: bool) -> Coverage:
    """The promises that the operator's cases, of all levels and bases, cover. ``referenced``: it has a reference function."""
    covered = {label for case in cases for label in case.covers} | ({"reference"} if referenced else set())
    covered |= set(map(of_fields, covered))
    columns = []
    for name, promises in COLUMNS.items():
        labels = list(dict.fromkeys(promises(operator)))
        columns.append(Column(name, len(labels), tuple(label for label in labels if label not in covered)))
    return Coverage(operator.name, tuple(columns), len(cases))


def promised_labels(operator: Operator) -> frozenset[str]:
    """The labels of every promise of the operator; a case covers more, such as an attribute's value that follows from its sizes."""
    return frozenset(label for promises in COLUMNS.values() for label in promises(operator))


def of_fields(label: str) -> str:
    """A label of a tensor of an array as one of the array: a promise for the array is tested by any of its tensors."""
    return re.sub(r"\[[0-9]+\]", "", label)


def _support(operator: Operator) -> Iterator[str]:
    for table in operator.support:
        for name, row in table.tensors.items():
            for data_type in row.data_types:
                yield from (f"support/{table.level}/{name}/{data_type}/{count}d" for count in row.dimension_counts())


def at_its_level(case: Case) -> Iterator[str]:
    """The labels that a case covers also in a run at the feature level of their support table: an attribute's value may need a newer one."""
    level = feature_level(case.feature_level)
    for label in case.covers:
        if not label.startswith("support/") or feature_level(label.split("/")[1]) >= level:
            yield label


def _attributes(operator: Operator) -> Iterator[str]:
    return (label for choice in plan_of(operator).combinations for label in choice_labels(choice))


def _examples(operator: Operator) -> Iterator[str]:
    return (f"example/{example.id}" for example in operator.examples)


def _values(operator: Operator) -> Iterator[str]:
    for name, values in operator.values.items():
        for label in (*values.special, *values.measured):
            data = special_set(operator, name, label)
            if any(data_values(data, data_type).size for table in operator.support for data_type in table.row(name).data_types):
                yield of_fields(f"values/{name}/{label}")
        yield from (of_fields(f"values/{name}/{label}") for label in values.data)


def _layouts(operator: Operator) -> Iterator[str]:
    plain = _plain_tensors(operator)
    for field in (*operator.inputs(), *operator.outputs()):
        for layout in layouts_of(operator, field):
            if layout == "packed" or any(has_layout(tensor.sizes, layout) for tensor in plain.get(field.name, ())):
                yield f"layout/{field.name}/{layout}"
        yield from (f"slack/{field.name}/{what}" for what in ("total-size", "binding", "alignment"))
    yield from (f"owned/{field.name}" for field in operator.inputs() if field.owned_by_dml)
    yield from (
        f"layout/{count}d" for count in sorted({n for choice in plan_of(operator).choices for n in choice.dimension_counts})
    )


def _plain_tensors(operator: Operator) -> dict[str, set[TensorDesc]]:
    """The packed tensors of some descs, with no size of 1 where a shape does not demand it."""
    found: dict[str, set[TensorDesc]] = {}
    choice = plan_of(operator).choices[0]
    for count in choice.dimension_counts:
        for attributes in choice.presences:
            with suppress(NotGenerable):
                for field, _, tensor in choice.desc((3,) * count, attributes).by_field():
                    found.setdefault(field, set()).add(tensor)
    return found


def _in_place(operator: Operator) -> Iterator[str]:
    for entry in operator.in_place:
        yield from (f"in-place/{entry.output}/{name}" for name in entry.inputs)
        if entry.together and len(entry.inputs) > 1:
            yield f"in-place/{entry.output}/{'+'.join(entry.inputs)}"


def _relations(operator: Operator) -> Iterator[str]:
    yield "relation/agreement"
    yield from (f"relation/{relation.label}" for relation in operator.relations)


def _rejections(operator: Operator) -> Iterator[str]:
    accepted, plain = set(map(of_fields, unenforced_rules(operator))), _plain_tensors(operator)
    # A constraint that a level lifted can be broken only below it, and a backend is tested at its newest level.
    labels = [f"constraint/{constraint.label}" for constraint in operator.constraints if constraint.before is None]
    for field in operator.fields:
        if field.is_tensor:
            labels += [
                f"support/{field.name}/data-type",
                f"support/{field.name}/dimension-count",
                f"tensor/{field.name}/total-size",
            ]
            labels += [f"tensor/{field.name}/sizes", f"tensor/{field.name}/flags", f"tensor/{field.name}/alignment"]
            several = any(tensor.count > 1 for tensor in plain.get(field.name, ()))
            labels += [f"tensor/{field.name}/overlap"] if several and not field.may_overlap else []
            labels += [f"binding/{field.name}/size", f"binding/{field.name}/offset"]
            labels += [] if field.optional else [f"binding/{field.name}"]
            labels += [] if field.optional or field.is_tensor_array else [f"field/{field.name}"]
        elif field.enum:
            labels.append(f"enum/{field.name}")
    return (f"rejects/{label}" for label in labels if label not in accepted)


def _networks(operator: Operator) -> Iterator[str]:
    """The networks that dispatch the operator as its rules allow."""
    return map(label_of, promised_networks(plan_of(operator)))


def _reference(operator: Operator) -> Iterator[str]:
    yield "reference"


def _sequences(operator: Operator) -> Iterator[str]:
    return (f"sequence/{form}" for form in forms())


COLUMNS = {
    "support": _support,
    "attributes": _attributes,
    "examples": _examples,
    "values": _values,
    "layouts": _layouts,
    "in-place": _in_place,
    "rejections": _rejections,
    "relations": _relations,
    "networks": _networks,
    "sequences": _sequences,
    "reference": _reference,
}
"""Every kind of promise, and the function that lists an operator's labels of it."""
