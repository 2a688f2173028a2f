"""What a condition may look at: a desc, where its tensors lie, and what its inputs hold. The costly parts are made on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.backends.buffers import read_tensor
from dmlcts.conformance.execution.layout import output_names, places
from dmlcts.conformance.mutants.fault import Inputs
from dmlcts.generator.case import Case
from dmlcts.generator.data import inputs as case_inputs
from dmlcts.spec.desc import OperatorDesc, field_of
from dmlcts.spec.loader import load

_KEPT = 1 << 14
"""Elements of a dispatch whose inputs are kept."""


class Situation:
    """A dispatch, or the one that a case will be."""

    def __init__(
        self, desc: OperatorDesc, offsets: Callable[[], Mapping[str, int]], inputs: Callable[[], Inputs], in_place: bool
    ) -> None:
        self.desc, self.in_place = desc, in_place
        self._offsets, self._inputs = offsets, inputs
        self._kept: Inputs | None = None

    @cached_property
    def offsets(self) -> Mapping[str, int]:
        """Where each tensor's binding begins in its resource, in bytes."""
        return self._offsets()

    @property
    def inputs(self) -> Inputs:
        """The inputs' elements by tensor name, packed. Large ones are made anew each time: a hunt has thousands of situations."""
        if self._kept is not None:
            return self._kept
        found = self._inputs()
        if sum(tensor.count for _, tensor in self.desc.tensors()) <= _KEPT:
            self._kept = found
        return found


def of_case(case: Case) -> Situation:
    """The situation that a case makes."""
    outputs = output_names(case.operator, case.desc)
    in_place = any(name in outputs for name in case.in_place)

    def offsets() -> Mapping[str, int]:
        return {name: place.begin + place.offset for name, place in places(case).items()}

    return Situation(case.desc, offsets, lambda: case_inputs(case), in_place)


def of_dispatch(dispatch: Dispatch) -> Situation:
    """The situation that a dispatch is in, before it runs."""
    desc = dispatch.desc
    inputs = {field.name for field in load(desc.type).inputs()}
    bound = {name: (binding.resource, binding.offset) for name, binding in dispatch.bindings.items()}
    read = {place for name, place in bound.items() if field_of(name) in inputs}

    def contents() -> Inputs:
        return {
            name: read_tensor(dispatch.resources[bound[name][0]], tensor, bound[name][1])
            for name, tensor in desc.tensors()
            if field_of(name) in inputs
        }

    def offsets() -> Mapping[str, int]:
        return {name: binding.offset for name, binding in dispatch.bindings.items()}

    return Situation(desc, offsets, contents, any(bound[name] in read for name in dispatch.outputs))
