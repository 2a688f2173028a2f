"""Faults of operators of several inputs, whichever they are: an input taken for another, or its first element for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.mutants.mutant import Array, Mutant, Value, Where
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import Operator

Change = Callable[[list[Array], int], list[Array]]
"""(the inputs, a position from 1 on) -> the inputs that are computed with."""


def operand_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every fault, for each input after the first."""
    most = max((len(operator.inputs()) for operator in operators), default=0)
    for position in range(1, most):
        concerned = tuple(o.name for o in operators if len(o.inputs()) > position)
        for name, (does, change) in _CHANGES.items():
            alike = tuple(o for o in concerned) if name in _ALONE else _alike(operators, position)
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
        tensors = [tensor for _, tensor in desc.tensors()][:-1]
        if len(tensors) <= position:
            return False
        one, other = tensors[position - 1 : position + 1]
        return not alike or (one.data_type == other.data_type and one.sizes == other.sizes)

    return where


def _computed(change: Change, position: int, alike: bool) -> Value:
    where = _present(position, alike)

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        if not where(desc):
            return right
        changed = dict(zip(inputs, change(list(inputs.values()), position), strict=True))
        return next(iter(ReferenceBackend().compute(desc, changed).values()))

    return value


def _replaced(arrays: list[Array], changes: Mapping[int, Array]) -> list[Array]:
    return [changes.get(at, array) for at, array in enumerate(arrays)]


_ALONE = ("first-for-all", "next", "first-row")
"""The changes that need no other input."""

_CHANGES: dict[str, tuple[str, Change]] = {
    "exchanged": (
        "exchanges inputs {before} and {position}",
        lambda arrays, at: _replaced(arrays, {at - 1: arrays[at], at: arrays[at - 1]}),
    ),
    "earlier-twice": ("reads input {before} for input {position} too", lambda arrays, at: _replaced(arrays, {at: arrays[at - 1]})),
    "later-twice": ("reads input {position} for input {before} too", lambda arrays, at: _replaced(arrays, {at - 1: arrays[at]})),
    "first-for-all": (
        "takes the first element of input {position} for all",
        lambda arrays, at: _replaced(arrays, {at: np.full_like(arrays[at], arrays[at].flat[0])}),
    ),
    "first-row": (
        "takes the first row of input {position} for every row",
        lambda arrays, at: _replaced(
            arrays, {at: np.ascontiguousarray(np.broadcast_to(arrays[at].reshape(-1, arrays[at].shape[-1])[0], arrays[at].shape))}
        ),
    ),
    "next": (
        "takes the next element of input {position}",
        lambda arrays, at: _replaced(arrays, {at: np.roll(arrays[at], -1)}),
    ),
}
