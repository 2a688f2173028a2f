"""Faults of operators of several inputs, whichever they are: an input taken for another, or its first element for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.mutants.old.elsewise import output_like
from dmlcts.conformance.mutants.old.mutant import Array, Mutant, Value, Where, fitted
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.loader import load
from dmlcts.spec.model import Operator

Change = Callable[[Array, Array], tuple[Array, Array]]
"""(an input, the one after it) -> those that are computed with."""


def operand_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every fault, for each input after the first."""
    most = max((len(operator.inputs()) for operator in operators), default=0)
    for position in range(1, most):
        concerned = tuple(o.name for o in operators if len(o.inputs()) > position)
        for name, (does, change) in _CHANGES.items():
            alike = concerned if name in _ALONE else _alike(operators, position)
            if alike:
                yield Mutant(
                    f"operands/{name}/input-{position}",
                    alike,
                    does.format(position=position, before=position - 1),
                    value=_computed(change, position, name not in _ALONE),
                    where=_present(position, name not in _ALONE),
                )


def _alike(operators: Sequence[Operator], position: int) -> tuple[str, ...]:
    """The operators whose input at the position may be of the type of the one before."""
    found = []
    for operator in operators:
        if len(operator.inputs()) > position:
            one, other = (operator.inputs()[at].name for at in (position - 1, position))
            if any(set(table.tensors[one].data_types) & set(table.tensors[other].data_types) for table in operator.support):
                found.append(operator.name)
    return tuple(found)


def _present(position: int, alike: bool) -> Where:
    def where(desc: OperatorDesc) -> bool:
        fields = load(desc.type).inputs()
        one, other = (desc.fields.get(fields[at].name) for at in (position - 1, position))
        if not isinstance(other, TensorDesc):
            return False
        return not alike or (isinstance(one, TensorDesc) and (one.data_type, one.sizes) == (other.data_type, other.sizes))

    return where


def _computed(change: Change, position: int, alike: bool) -> Value:
    where = _present(position, alike)

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        if not where(desc):
            return right
        names = [field.name for field in load(desc.type).inputs()]
        before, name = names[position - 1], names[position]
        pair = change(inputs.get(before, inputs[name]), inputs[name])
        changed = {other: pair[(before, name).index(other)] if other in (before, name) else x for other, x in inputs.items()}
        outputs = ReferenceBackend().compute(desc, changed)
        return fitted(outputs[output_like(outputs, right)], right.shape)

    return value


def _first_row(x: Array) -> Array:
    return np.ascontiguousarray(np.broadcast_to(x.reshape(-1, x.shape[-1])[0], x.shape))


_ALONE = ("first-for-all", "next", "first-row")
"""The changes that need no other input."""

_CHANGES: dict[str, tuple[str, Change]] = {
    "exchanged": ("exchanges inputs {before} and {position}", lambda a, b: (b, a)),
    "earlier-twice": ("reads input {before} for input {position} too", lambda a, b: (a, a)),
    "later-twice": ("reads input {position} for input {before} too", lambda a, b: (b, b)),
    "first-for-all": ("takes the first element of input {position} for all", lambda a, b: (a, np.full_like(b, b.flat[0]))),
    "first-row": ("takes the first row of input {position} for every row", lambda a, b: (a, _first_row(b))),
    "next": ("takes the next element of input {position}", lambda a, b: (a, np.roll(b, -1))),
}
