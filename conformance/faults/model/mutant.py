"""A mutant, the reference with one fault planted in one operator, and the backend that it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmlcts.conformance.backends.array_backend import binding_violations
from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.faults.model.bounded import bounded_memory
from dmlcts.conformance.faults.model.fault import Array, Fault, Inputs
from dmlcts.reference.stage import replace_stages
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import Violation, violations


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault planted in an operator, called ``OPERATOR/LABEL``.

    ``basis`` is that of the cases that find it: ``documented``, or ``measured`` where the documentation allows what it does.
    ``no_fault`` is why no case can tell it from a right implementation, empty if one should. ``open`` is why no case finds it so far: a gap
    of the suite.
    """

    operator: str
    label: str
    fault: Fault
    basis: str = DOCUMENTED
    no_fault: str = ""
    open: str = ""

    @property
    def name(self) -> str:
        """How it is called on the command line."""
        return f"{self.operator}/{self.label}"

    @property
    def backend(self) -> str:
        """How ``--backend`` names it."""
        return f"python:{__package__.rpartition('.')[0]}:{self.name}"


class MutantBackend(ReferenceBackend):
    """The reference with a fault. Operators other than the mutant's are computed rightly."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__()
        self.mutant = mutant
        # Nothing is claimed of how it computes: it is judged as loosely as any implementation may be.
        self.info = replace(self.info, name=f"mutant {mutant.name}", accumulator=0, nearest=False)

    def run(self, dispatch: Dispatch) -> None:
        """Executes one dispatch wrongly, where the fault shows. Raises MemoryError where that takes far more than is right."""
        with bounded_memory():
            self._run(dispatch)

    def _run(self, dispatch: Dispatch) -> None:
        fault = self.mutant.fault
        if dispatch.desc.type != self.mutant.operator:
            super().run(dispatch)
            return
        broken = broken_rules(dispatch)
        if broken:
            claimed = broken if fault.accepts is None else fault.accepts(dispatch, broken)
            if claimed:
                self.refuse(claimed, dispatch)
            return  # what is accepted and should not be is left alone: that nothing was refused is fault enough
        if fault.where is not None and not fault.where(dispatch):
            super().run(dispatch)
            return
        if fault.refuses is not None and fault.applies(dispatch.desc) and fault.refuses(dispatch):
            self.refuse([Violation("field/refused", "refused")], dispatch)
        if fault.around is None or not fault.applies(dispatch.desc):
            self._execute(dispatch)
        else:
            fault.around(dispatch, self._execute)

    def _execute(self, dispatch: Dispatch) -> None:
        desc, fault = dispatch.desc, self.mutant.fault
        applies = fault.applies(desc)
        inputs = dict(self._read(dispatch, fault if applies else Fault("")))
        outputs = self.wrong(desc, inputs) if applies else self.compute(desc, inputs)
        for name in dispatch.outputs:
            binding, tensor = dispatch.bindings[name], desc.tensor(name)
            array = fit_to_sizes(outputs[name], tensor.sizes)
            write = fault.write if applies and fault.write is not None and fault.concerns(name) else write_tensor
            write(dispatch.resources[binding.resource], tensor, array, binding.offset)

    def _read(self, dispatch: Dispatch, fault: Fault) -> Iterator[tuple[str, Array]]:
        operator = load(dispatch.desc.type)
        outputs = {field.name for field in operator.outputs()}
        held = operator.read_outputs(dispatch.desc.fields)  # outputs that the operator reads first
        for name, tensor in dispatch.desc.tensors():
            binding, is_output = dispatch.bindings[name], name.partition("[")[0] in outputs
            buffer = dispatch.resources[binding.resource]
            if not is_output and fault.read is not None:
                yield name, fault.read(name, buffer, tensor, binding.offset)
            elif not is_output or name in held:
                yield name, read_tensor(buffer, tensor, binding.offset)

    def wrong(self, desc: OperatorDesc, inputs: Inputs) -> dict[str, Array]:
        """The outputs with the fault, by name, for a desc that it applies to."""
        with bounded_memory():
            return self._wrong(desc, inputs)

    def _wrong(self, desc: OperatorDesc, inputs: Inputs) -> dict[str, Array]:
        fault = self.mutant.fault
        try:
            misread = desc if fault.desc is None else fault.desc(desc)
            given = inputs
            if fault.inputs is not None:
                with np.errstate(all="ignore"):
                    given = fault.inputs(misread, inputs)
                misread = with_tensors_of(misread, given)
            with replace_stages(fault.stages) if fault.stages else nullcontext():
                outputs = self.compute(misread, given)
        except Exception:
            if fault.desc is None and fault.inputs is None:
                raise
            # The tensors are none for what is misread: there the mutant does what is right.
            outputs = self.compute(desc, inputs)
        if fault.value is None:
            return outputs
        for name, right in outputs.items():
            if fault.concerns(name):
                with np.errstate(all="ignore"):
                    outputs[name] = store_like(fault.value(desc, inputs, right), right)
        return outputs


def with_tensors_of(desc: OperatorDesc, inputs: Inputs) -> OperatorDesc:
    """The desc with tensors of these inputs' sizes and types, and without optional inputs that are not among them."""
    fields: dict[str, object] = {}
    names = {field.name for field in load(desc.type).inputs()}
    for name, value in desc.fields.items():
        if name in names and isinstance(value, TensorDesc):
            fields[name] = _tensor_like(value, inputs[name]) if name in inputs else None
        elif name in names and isinstance(value, tuple):
            fields[name] = tuple(_tensor_like(tensor, inputs[f"{name}[{index}]"]) for index, tensor in enumerate(value))
    return desc.with_fields(**fields)


def _tensor_like(tensor: TensorDesc, array: Array) -> TensorDesc:
    if array.dtype == numpy_dtype(tensor.data_type):
        return TensorDesc(tensor.data_type, array.shape)
    return TensorDesc(next(name for name in abi().data_types if numpy_dtype(name) == array.dtype), array.shape)


def fit_to_sizes(array: Array, sizes: tuple[int, ...]) -> Array:
    """The array cut to the sizes, or with zeros behind it: what an implementation writes that works out another size than the output's."""
    if array.shape == sizes:
        return array
    array = array.reshape(array.shape[-len(sizes) :] if array.ndim > len(sizes) else (1,) * (len(sizes) - array.ndim) + array.shape)
    inside = tuple(slice(0, min(have, want)) for have, want in zip(array.shape, sizes, strict=True))
    found = np.zeros(sizes, array.dtype)
    found[inside] = array[inside]
    return found


def store_like(values: Any, right: Array) -> Array:
    """Values as an output like the right one: reals rounded; for integers cut, saturated, and 0 for NaN; integers wrapped around."""
    array = np.asarray(values)
    if right.dtype.kind != "f" and array.dtype.kind == "f":
        info = np.iinfo(right.dtype)
        whole = np.trunc(np.nan_to_num(array.astype(np.float64), posinf=np.inf, neginf=-np.inf))
        inside = (whole >= float(info.min)) & (whole < float(info.max))
        array = np.where(
            inside, np.where(inside, whole, 0).astype(right.dtype), np.where(whole > 0, info.max, info.min).astype(right.dtype)
        )
    return np.ascontiguousarray(np.broadcast_to(array.astype(right.dtype), right.shape))


def broken_rules(dispatch: Dispatch) -> list[Violation]:
    """What is wrong with a desc, or with the bindings of a right one."""
    return violations(load(dispatch.desc.type), dispatch.desc) or binding_violations(dispatch)
