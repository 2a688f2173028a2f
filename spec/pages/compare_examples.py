"""An example of a reference page against an example of a spec: the same numbers, or the first thing that is unlike."""

from __future__ import annotations

from dmlcts.spec.model import DOCUMENTED, UNDEFINED, Example, Field, Literal, Operator
from dmlcts.spec.pages.examples import PageExample, Value


def unknown_names(shown: PageExample, operator: Operator) -> str:
    """What an example of the page gives that the operator has not, empty if there is nothing."""
    known = {field.name for field in operator.fields}
    unknown = [name for name in (*shown.tensors, *shown.attributes) if name.partition("[")[0] not in known]
    return f"it gives {', '.join(unknown)}, which {operator.name} has not" if unknown else ""


def unlike(shown: PageExample, example: Example, operator: Operator) -> str:
    """The first thing in which an example of the page is unlike one of the spec, empty if they are the same."""
    unknown = unknown_names(shown, operator)
    if unknown:
        return unknown
    ours = {**example.inputs, **example.answers.get(DOCUMENTED, {})}
    for name in dict.fromkeys((*shown.tensors, *ours)):
        if name not in ours or name not in shown.tensors:
            return f"{name} stands only {'on the page' if name in shown.tensors else 'in the spec'}"
        there, here = shown.tensors[name], ours[name]
        if (there.data_type, there.sizes) != (here.data_type, here.sizes):
            return f"{name} is {_shape(there)} on the page and {_shape(here)} in the spec"
        for index, (a, b) in enumerate(zip(there.data, here.data, strict=True)):
            if a != b and b != UNDEFINED:
                return f"element {index} of {name} is {a} on the page and {b} in the spec"
    said = {name: _short(operator.field(name), value) for name, value in shown.attributes.items()}
    written = {name: tuple(value) if isinstance(value, list) else value for name, value in example.attributes.items()}
    lengths = {len(value) for value in (*said.values(), *written.values()) if isinstance(value, tuple)}
    lengths |= {sum(name.startswith(f"{field.name}[") for name in ours) for field in operator.fields if field.is_tensor}
    counts = {field.count for field in operator.fields}
    for name in dict.fromkeys((*said, *written)):
        theirs, mine = said.get(name), written.get(name)
        # A count need not stand beside the array that it counts.
        implied = name in counts and None in (theirs, mine) and {theirs, mine} & lengths
        if theirs != mine and not implied:
            return f"{name} is {theirs} on the page and {mine} in the spec"
    return ""


def summary(shown: PageExample) -> str:
    """What an example of the page gives, in short."""
    tensors = (f"{name} {_shape(value)}" for name, value in shown.tensors.items())
    return ", ".join((*tensors, *(f"{name} = {value}" for name, value in shown.attributes.items()))) or "nothing that can be read"


def _shape(literal: Literal) -> str:
    return f"{literal.data_type} {'x'.join(map(str, literal.sizes))}"


def _short(field: Field, value: Value) -> Value:
    """An attribute as spec files write it: a constant without its enumeration's name."""
    return value.removeprefix(f"{field.enum}_") if field.enum and isinstance(value, str) else value
