"""Compares an example of a reference page with one of a spec: equal, or the first difference."""

from __future__ import annotations

from dmlcts.spec.model.operator import DOCUMENTED, UNDEFINED, Example, Field, Literal, Operator
from dmlcts.spec.pages.examples import PageExample, Value


def unknown_names(shown: PageExample, operator: Operator) -> str:
    """Names in the page's example that the operator does not have, empty if none."""
    known = {field.name for field in operator.fields}
    unknown = [name for name in (*shown.tensors, *shown.attributes) if name.partition("[")[0] not in known]
    return f"it has {', '.join(unknown)}, but {operator.name} does not" if unknown else ""


def unlike(shown: PageExample, example: Example, operator: Operator) -> str:
    """The first difference between an example of the page and one of the spec, empty if there is none."""
    unknown = unknown_names(shown, operator)
    if unknown:
        return unknown
    ours = {**example.inputs, **example.answers.get(DOCUMENTED, {})}
    for name in dict.fromkeys((*shown.tensors, *ours)):
        if name not in ours or name not in shown.tensors:
            return f"{name} is only {'on the page' if name in shown.tensors else 'in the spec'}"
        there, here = shown.tensors[name], ours[name]
        if (there.data_type, there.sizes) != (here.data_type, here.sizes):
            return f"{name} is {_shape(there)} on the page and {_shape(here)} in the spec"
        for index, (a, b) in enumerate(zip(there.data, here.data, strict=True)):
            if a != b and b != UNDEFINED:
                return f"element {index} of {name} is {a} on the page and {b} in the spec"
    on_page = {name: _short(operator.field(name), value) for name, value in shown.attributes.items()}
    in_spec = {name: tuple(value) if isinstance(value, list) else value for name, value in example.attributes.items()}
    lengths = {len(value) for value in (*on_page.values(), *in_spec.values()) if isinstance(value, tuple)}
    lengths |= {sum(name.startswith(f"{field.name}[") for name in ours) for field in operator.fields if field.is_tensor}
    counts = {field.count for field in operator.fields}
    for name in dict.fromkeys((*on_page, *in_spec)):
        theirs, mine = on_page.get(name), in_spec.get(name)
        # A count may be omitted beside the array that it counts.
        implied = name in counts and None in (theirs, mine) and {theirs, mine} & lengths
        if theirs != mine and not implied:
            return f"{name} is {theirs} on the page and {mine} in the spec"
    return ""


def summary(shown: PageExample) -> str:
    """A short summary of an example of the page."""
    tensors = (f"{name} {_shape(value)}" for name, value in shown.tensors.items())
    return ", ".join((*tensors, *(f"{name} = {value}" for name, value in shown.attributes.items()))) or "nothing that can be read"


def _shape(literal: Literal) -> str:
    return f"{literal.data_type} {'x'.join(map(str, literal.sizes))}"


def _short(field: Field, value: Value) -> Value:
    """An attribute as spec files write it: a constant without its enumeration's name."""
    return value.removeprefix(f"{field.enum}_") if field.enum and isinstance(value, str) else value
