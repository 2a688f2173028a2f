"""Faults of in-place execution: an output that lies on an input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dmlcts.conformance.backend import Dispatch
from dmlcts.conformance.buffers import read_tensor, write_tensor
from dmlcts.conformance.mutants.old.mutant import Around, Mutant
from dmlcts.spec.model import Operator

Run = Callable[[Dispatch], None]

_FIRST = ("in-place",)


def _shared(dispatch: Dispatch, position: int | None = None) -> tuple[str, str] | None:
    """The names of an input (at a position, if given) and of an output that lie on one another, None if none do."""
    names = [name for name in dispatch.bindings if name not in dispatch.outputs]
    for name in names if position is None else names[position : position + 1]:
        for output in dispatch.outputs:
            if dispatch.bindings[name].resource == dispatch.bindings[output].resource:
                return name, output
    return None


def _in_a_copy(*positions: int) -> Around:
    """In place on the inputs at these positions, the result goes to a copy and stays there."""

    def around(dispatch: Dispatch, run: Run) -> None:
        shared = all(_shared(dispatch, position) for position in positions)
        run(replace(dispatch, resources=[resource.copy() for resource in dispatch.resources]) if shared else dispatch)

    return around


def _again(dispatch: Dispatch, run: Run) -> None:
    """In place, the operator runs a second time, on its own result."""
    run(dispatch)
    if _shared(dispatch):
        run(dispatch)


def _copied_first(dispatch: Dispatch, run: Run) -> None:
    """The first input is copied to the output and the second combined with it: where the output lies on the second, it is gone."""
    names = [name for name in dispatch.bindings if name not in dispatch.outputs]
    shared = _shared(dispatch, 1)
    if shared:
        first, second = (dispatch.bindings[name] for name in names[:2])
        tensors = [dispatch.desc.tensor(name) for name in names[:2]]
        copied = read_tensor(dispatch.resources[first.resource], tensors[0], first.offset)
        write_tensor(dispatch.resources[second.resource], tensors[1], copied, second.offset)
    run(dispatch)


def _blocks_overlap(dispatch: Dispatch, run: Run) -> None:
    """From the last block of 16 elements to the first; each store begins one element too early, before that element is read."""
    shared = _shared(dispatch)
    if shared is None:
        run(dispatch)
        return
    name, output = shared
    binding, tensor = dispatch.bindings[name], dispatch.desc.tensor(name)
    resource = dispatch.resources[binding.resource]
    before = read_tensor(resource, tensor, binding.offset).reshape(-1)
    run(dispatch)
    result = read_tensor(resource, dispatch.desc.tensor(output), binding.offset).reshape(-1)
    before[15:-1:16] = result[16::16]
    write_tensor(resource, tensor, before.reshape(tensor.sizes), binding.offset)
    run(dispatch)


def in_place_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every fault of in-place execution, for the operators that may be executed so."""

    def allowed(position: int) -> tuple[str, ...]:
        return tuple(
            operator.name
            for operator in operators
            if len(operator.inputs()) > position
            and any(operator.inputs()[position].name in permission.inputs for permission in operator.in_place)
        )

    first, second = allowed(0), allowed(1)
    for position, concerned in enumerate((first, second)):
        does = f"in place on input {position}, writes the result to a copy"
        yield Mutant(f"in-place/copy/input-{position}", concerned, does, first=_FIRST, around=_in_a_copy(position))
    together = tuple(o.name for o in operators if any(p.together and len(p.inputs) > 1 for p in o.in_place))
    does = "in place on all inputs, writes the result to a copy"
    yield Mutant("in-place/copy/together", together, does, first=_FIRST, around=_in_a_copy(0, 1))
    does = "in place, overwrites elements before it reads them"
    yield Mutant("in-place/blocks-overlap", first, does, first=_FIRST, around=_blocks_overlap)
    does = "in place on the second input, overwrites it with the first"
    yield Mutant("in-place/first-copied", second, does, first=_FIRST, around=_copied_first)
    yield Mutant("in-place/twice", first, "in place, runs twice", first=_FIRST, around=_again)
