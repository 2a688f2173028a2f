"""A mutant, and the backend that it is: the reference's way through a dispatch, with a hook at each step.

| step | hook | right one |
|---|---|---|
| look for broken rules | ``rules`` | ``same_rules`` |
| everything between reading and writing | ``around`` | ``only_run`` |
| read each input | ``read`` | ``read_at`` |
| compute, for a desc | ``desc`` | ``same_desc`` |
| what is computed | ``value`` | ``same_value`` |
| write each output | ``write`` | ``write_tensor`` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.array_backend import binding_violations
from dmlcts.conformance.backends.backend import Bytes, Dispatch
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.generator.case import AGREEMENT, REJECTION, RELATION, Case
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.loader import load
from dmlcts.spec.model import DOCUMENTED
from dmlcts.spec.rules import Violation, violations

Array = NDArray[Any]

Rules = Callable[[Dispatch, list[Violation]], list[Violation]]
"""(dispatch, the rules that it breaks) -> the rules that the mutant says it breaks. May raise."""

Around = Callable[[Dispatch, Callable[[Dispatch], None]], None]
"""(dispatch, what runs a dispatch): runs it, and does something before or after."""

Read = Callable[[int, Bytes, TensorDesc, int], Array]
"""(position among the inputs, buffer, tensor desc, offset in bytes) -> the packed array."""

Desc = Callable[[OperatorDesc], OperatorDesc]
"""operator desc -> the one that the mutant takes it for: another operator of the same tensors, or other attributes."""

Where = Callable[[OperatorDesc], bool]
"""Whether a mutant may go wrong for a desc."""

Value = Callable[[OperatorDesc, Mapping[str, Array], Array], Array]
"""(operator desc, packed inputs by name, the right output) -> what the mutant computes, of the right output's sizes and type."""

Write = Callable[[Bytes, TensorDesc, Array, int], None]
"""(buffer, tensor desc, packed array, offset in bytes): writes the array."""


def same_rules(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
    """The rules that are broken."""
    return broken


def only_run(dispatch: Dispatch, run: Callable[[Dispatch], None]) -> None:
    """Runs the dispatch."""
    run(dispatch)


def read_at(position: int, buffer: Bytes, tensor: TensorDesc, offset: int) -> Array:
    """The tensor as it lies."""
    return read_tensor(buffer, tensor, offset)


def same_desc(desc: OperatorDesc) -> OperatorDesc:
    """The desc as it is."""
    return desc


def same_value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
    """The right output."""
    return right


@dataclass(frozen=True, slots=True)
class Mutant:
    """A planted fault.

    ``operators`` are those that it concerns, and the suite finds it if it finds it in each. ``does`` is a sentence. ``basis`` is the one
    whose cases find it: ``documented``, or ``measured`` where the documentation allows what it does. ``equivalent`` is why no case can
    tell it from a right implementation, empty if one should. ``first`` are the kinds of cases to try first; where ``where`` is given and
    false, it is right, so that such cases need not be run. ``rejections`` says whether it shows in cases that demand a rejection alone
    (True), in others alone (False), or in either (None).
    """

    name: str
    operators: tuple[str, ...]
    does: str
    basis: str = DOCUMENTED
    equivalent: str = ""
    first: tuple[str, ...] = ()
    rules: Rules = same_rules
    around: Around = only_run
    read: Read = read_at
    desc: Desc = same_desc
    value: Value = same_value
    write: Write = write_tensor
    where: Where | None = None
    rejections: bool | None = None

    def may_show(self, case: Case) -> bool:
        """Whether a case can tell it from a right implementation: what cannot is not worth running."""
        if self.rejections is not None and self.rejections != (case.expect == REJECTION):
            return False
        if case.expect == REJECTION:
            return self.rules is not same_rules or self.around is not only_run
        return self.where is None or case.expect in (RELATION, AGREEMENT) or self.where(case.desc)

    @property
    def backend(self) -> str:
        """How ``--backend`` names it."""
        return f"python:{__package__}:{self.name}"


class MutantBackend(ReferenceBackend):
    """The reference with a fault. Operators that the mutant does not concern are computed rightly."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__()
        self.mutant = mutant
        # Nothing is claimed of how it computes: it is judged as loosely as any implementation may be.
        self.info = replace(self.info, name=f"mutant {mutant.name}", accumulator=0, nearest=False)

    def run(self, dispatch: Dispatch) -> None:
        """Executes one dispatch wrongly, where the fault shows."""
        if dispatch.desc.type not in self.mutant.operators:
            super().run(dispatch)
            return
        broken = broken_rules(dispatch)
        claimed = self.mutant.rules(dispatch, broken)
        if claimed:
            self.refuse(claimed, dispatch)
        if not broken:  # what is accepted and should not be is left alone: that nothing was said is fault enough
            self.mutant.around(dispatch, self._execute)

    def _execute(self, dispatch: Dispatch) -> None:
        desc, mutant = dispatch.desc, self.mutant
        tensors = dict(desc.tensors())
        inputs = {}
        for position, name in input_positions(desc):
            binding = dispatch.bindings[name]
            inputs[name] = mutant.read(position, dispatch.resources[binding.resource], tensors[name], binding.offset)
        for name in load(desc.type).read_outputs(desc.fields):  # outputs that the operator reads first
            binding = dispatch.bindings[name]
            inputs[name] = read_at(-1, dispatch.resources[binding.resource], tensors[name], binding.offset)
        taken = mutant.desc(desc)
        try:
            outputs = self.compute(taken, inputs)
        except ValueError:  # the tensors are none for what it is taken for: there the mutant does what is right
            if taken == desc:
                raise
            outputs = self.compute(desc, inputs)
        for name in dispatch.outputs:
            binding = dispatch.bindings[name]
            right = fitted(outputs[name], tensors[name].sizes)
            with np.errstate(all="ignore"):
                array = mutant.value(desc, inputs, right)
            mutant.write(dispatch.resources[binding.resource], tensors[name], array, binding.offset)


def input_positions(desc: OperatorDesc) -> Iterator[tuple[int, str]]:
    """The desc's inputs, each with its place among all that the operator has: it is the same whatever optional ones are absent."""
    for position, field in enumerate(load(desc.type).inputs()):
        yield from ((position, name) for name, _ in desc.tensors() if name.partition("[")[0] == field.name)


def fitted(array: Array, sizes: tuple[int, ...]) -> Array:
    """The array cut to the sizes, or with zeros behind it: what an implementation writes that works out another size than the output's."""
    if array.shape == sizes:
        return array
    array = array.reshape(array.shape[-len(sizes) :] if array.ndim > len(sizes) else (1,) * (len(sizes) - array.ndim) + array.shape)
    kept = tuple(slice(0, min(have, want)) for have, want in zip(array.shape, sizes, strict=True))
    found = np.zeros(sizes, array.dtype)
    found[kept] = array[kept]
    return found


def broken_rules(dispatch: Dispatch) -> list[Violation]:
    """What is wrong with a desc, or with the bindings of a right one."""
    return violations(load(dispatch.desc.type), dispatch.desc) or binding_violations(dispatch)
