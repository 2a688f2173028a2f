"""The situation that a dispatch is in, as an implementation sees it."""

from __future__ import annotations

from collections.abc import Mapping

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.backends.buffers import read_tensor
from dmlcts.generator.facts.situation import Inputs, Situation
from dmlcts.spec.model.desc import field_of
from dmlcts.spec.reading.loader import load


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
