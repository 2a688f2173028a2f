"""A backend for implementations that work on arrays: derive from ``ArrayBackend`` and implement ``compute``.

class Mine(ArrayBackend):
    info = BackendInfo("mine", "1.0", data_types=("UINT32",))

    def compute(self, desc, inputs):
        if desc.type != "ELEMENT_WISE_BIT_OR":
            raise Unsupported(desc.type)
        return {"OutputTensor": inputs["ATensor"] | inputs["BTensor"]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendFault, BackendInfo, BufferBinding, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import Violation, violations

Array = NDArray[Any]


class ArrayBackend:
    """Unpacks inputs from their strides, calls ``compute`` and packs what it returns."""

    info = BackendInfo("array backend")

    _dispatch: Dispatch | None = None

    def path(self, label: str, *numbers: int) -> None:
        """Notes a code path that the dispatch at hand takes, as ``Dispatch.path`` does: ``self.path("gemm, tile of 64", 8, 8)``."""
        if self._dispatch is not None:
            self._dispatch.path(label, *numbers)

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """The outputs by tensor name, each of its tensor's sizes and data type. Raise Unsupported for what you do not implement."""
        raise NotImplementedError

    def refuse(self, broken: list[Violation], dispatch: Dispatch) -> None:
        """Called for an invalid desc or binding. Must raise.

        By default it raises Unsupported, since an implementation that works on arrays does not validate. To have validation
        tested, override it and raise Rejected.
        """
        raise Unsupported(f"{self.info.name} does not validate descs ({broken[0].label}: {broken[0].message})")

    def describe(self) -> BackendInfo:
        """The class's ``info``; it declares no validation unless ``refuse`` is overridden."""
        return self.info if type(self).refuse is not ArrayBackend.refuse else replace(self.info, validates=False)

    def close(self) -> None:
        """Nothing to release."""

    def run(self, dispatch: Dispatch) -> None:
        """Executes one dispatch; see Backend."""
        self._dispatch, desc = dispatch, dispatch.desc
        broken = violations(load(desc.type), desc, feature_level(self.info.feature_level))
        if not broken:
            broken = binding_violations(dispatch)
        if broken:
            self.refuse(broken, dispatch)
        tensors, read_outputs = dict(desc.tensors()), load(desc.type).read_outputs(desc.fields)
        inputs = {
            name: read_tensor(dispatch.resources[binding.resource], tensors[name], binding.offset)
            for name, binding in dispatch.bindings.items()
            if name not in dispatch.outputs or name in read_outputs
        }
        outputs = self.compute(desc, inputs)
        if isinstance(outputs, Mapping) and outputs.keys() - set(dispatch.outputs):
            raise BackendFault(
                f"compute must return a mapping with {', '.join(dispatch.outputs)}", f"compute returned {_describe_value(outputs)}"
            )
        for name in dispatch.outputs:
            tensor, binding = tensors[name], dispatch.bindings[name]
            array = outputs.get(name) if isinstance(outputs, Mapping) else None
            if array is None:
                raise BackendFault(f"compute did not return the output {name}", f"compute returned {_describe_value(outputs)}")
            expected = numpy_dtype(tensor.data_type)
            if not isinstance(array, np.ndarray) or array.dtype != expected or array.shape != tensor.sizes:
                raise BackendFault(
                    f"compute must return {name} as {expected} of sizes {list(tensor.sizes)}, not {_describe_value(array)}"
                )
            write_tensor(dispatch.resources[binding.resource], tensor, array, binding.offset)


def binding_violations(dispatch: Dispatch) -> list[Violation]:
    """What is wrong with the bindings of a valid desc: an unbound tensor, a binding that is too small, a misaligned offset."""
    found = []
    for name, tensor in dispatch.desc.tensors():
        binding = dispatch.bindings.get(name)
        if binding is None:
            found.append(Violation(f"binding/{name}", f"{name} is not bound"))
        elif binding.size < tensor.bytes or not _is_inside(binding, dispatch):
            found.append(Violation(f"binding/{name}/size", f"{name} needs {tensor.bytes} bytes, but {binding.size} are bound"))
        elif binding.offset % 16:
            found.append(
                Violation(f"binding/{name}/offset", f"{name} is bound at offset {binding.offset}, which is not a multiple of 16")
            )
    return found


def _is_inside(binding: BufferBinding, dispatch: Dispatch) -> bool:
    return binding.offset + binding.size <= dispatch.resources[binding.resource].size


def _describe_value(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of sizes {list(value.shape)}"
    if isinstance(value, Mapping):
        return f"a mapping of {', '.join(map(str, value)) or 'nothing'}"
    return f"a {type(value).__name__}"


def rejection(broken: list[Violation]) -> Rejected:
    """The rejection that a validating backend raises for broken rules: at create for the desc, at bind for a binding."""
    stage = "bind" if broken[0].label.startswith("binding/") else "create"
    return Rejected("; ".join(f"{v.label}: {v.message}" for v in broken), stage, "E_INVALIDARG")
