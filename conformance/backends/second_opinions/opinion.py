"""Second opinions: other implementations, where an operator of DirectML maps onto one of theirs.

A table beside this module says which of the library's functions that is (conformance/backends/second_opinions/table); a ``Library`` calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.array_backend import ArrayBackend
from dmlcts.conformance.backends.backend import BackendFault, BackendUnavailable, Unsupported
from dmlcts.conformance.backends.second_opinions.table import (
    Call,
    Either,
    EitherNode,
    Node,
    NodeMapping,
    Several,
    Table,
    choose_mapping,
    float32,
)
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias, TensorDesc, field_of
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.loader import load

Array = NDArray[Any]


class Library(Protocol):
    """The operations of a library for ``evaluate``. A value is whatever represents a tensor or a number in its calls."""

    def tensor(self, name: str, array: Array) -> Any:
        """The value of an input."""
        ...

    def constant(self, number: float) -> Any:
        """The value of a number in a call's place. Raises Unsupported if it is none of the tensors' type."""
        ...

    def numbers(self, numbers: Sequence[float]) -> Any:
        """The value of a list in a call's place: sizes or axes where all are integers, else of the tensors' type, as ``constant``."""
        ...

    def call(self, function: str, arguments: list[Any], keywords: dict[str, Any], result: tuple[int, int] | None) -> Any:
        """The value of a call, or of one of so many results. An argument is None where an optional tensor is absent."""
        ...

    def array(self, value: Any) -> Array:
        """The array of a value. Raises Unsupported if the library has no such function for the tensors' types."""
        ...


def evaluate(node: Node, scope: Mapping[str, Any], tensors: Mapping[str, Any], library: Library) -> Any:
    """The library's value of a node: ``scope`` has what expressions name, ``tensors`` the library's value of each tensor that is there.

    None where the node is a tensor that is absent, or would be made of one: a call whose first argument is.
    """
    if isinstance(node, Call):
        first = evaluate(node.arguments[0], scope, tensors, library)
        if first is None:
            return None
        arguments = [first, *(evaluate(argument, scope, tensors, library) for argument in node.arguments[1:])]
        keywords = {name: expression.evaluate(scope) for name, expression in node.keywords}
        return library.call(node.function, arguments, keywords, node.result)
    if isinstance(node, EitherNode):
        return evaluate(node.nodes[0 if node.test.evaluate(scope) else 1], scope, tensors, library)
    if isinstance(node, Either | Several):
        values = (evaluate(part, scope, tensors, library) for part in node.nodes)
        there = (value for value in values if value is not None)
        return list(there) if isinstance(node, Several) else next(there, None)
    if node.text in tensors:
        return tensors[node.text]
    value: Any = node.evaluate(scope)
    if isinstance(value, int | float):
        return library.constant(value)
    return value if value is None else library.numbers(tuple(value))


def exact(number: float, dtype: np.dtype[Any]) -> Array:
    """``number`` as a scalar array of ``dtype``. Raises Unsupported unless it is one of the type's values: rounding it would be ours."""
    integral = dtype.kind in "iu"
    if integral and not (isfinite(number) and number == int(number) and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max):
        raise Unsupported(f"{number} is no {dtype}, and the library computes in the tensor's type")
    with np.errstate(over="ignore"):
        value = np.array(int(number) if integral else number, dtype)
    if not integral and number == number and value.item() != number:
        raise Unsupported(f"{number} is no {dtype}, and the library computes in the tensor's type")
    return value


class OpinionBackend(ArrayBackend):
    """A library behind a table. Derive from it, set ``info`` and ``table``, and give a Library."""

    table: Table

    def library(self, dtype: np.dtype[Any]) -> Library:
        """A Library for one dispatch, whose numbers are of ``dtype``."""
        raise NotImplementedError

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The library's result. Raises Unsupported for what does not map."""
        name, table = self.info.name, self.table
        way = choose_mapping(table, desc, name)
        why_not = REFUSALS[way.refuses](desc, inputs) if way.refuses else ""
        if why_not:
            raise Unsupported(f"{desc.type} does not map: {why_not}")
        library = self.library(next(iter(inputs.values())).dtype)
        tensors = {tensor: library.tensor(tensor, input_copy(array, way.bits)) for tensor, array in inputs.items()}
        values = self.outputs_of(desc, way, tensors, library)
        return {output: _given_back(library.array(value), desc.tensor(output), way.bits, name) for output, value in values.items()}

    def outputs_of(self, desc: OperatorDesc, way: NodeMapping, inputs: Mapping[str, Any], library: Library) -> dict[str, Any]:
        """The library's values of the outputs, by tensor, from those of the inputs. Raises Unsupported for what does not map."""
        table, scope, tensors = self.table, way.scope(desc), dict(inputs)
        before = desc.fields.get("ScaleBias")
        if isinstance(before, ScaleBias):
            scaled = {**scope, "Scale": float32(before.scale), "Bias": float32(before.bias)}
            tensors["InputTensor"] = evaluate(table.scale_bias.nodes[0], scaled, tensors, library)
        for array in {field_of(tensor) for tensor in inputs} - inputs.keys():
            tensors[array] = [tensors[tensor] for tensor, _ in desc.called(array)]
        nodes = dict(zip((output.name for output in load(desc.type).outputs()), way.nodes, strict=True))
        outputs = {output: given for output, given in desc.tensors() if field_of(output) in nodes}
        values = {
            output: evaluate(_of_output(nodes[field_of(output)], output, desc), scope, tensors, library) for output in outputs
        }
        after = desc.fields.get("FusedActivation")
        if isinstance(after, OperatorDesc):
            ((output, given),) = outputs.items()
            after = after.with_fields(InputTensor=given, OutputTensor=given)  # a fused activation has no tensors of its own
            activation = choose_mapping(table, after, self.info.name)
            values[output] = evaluate(activation.nodes[0], activation.scope(after), {"InputTensor": values[output]}, library)
        return values


def _of_output(node: Node, output: str, desc: OperatorDesc) -> Node:
    """The node of an output; of an array of outputs it is a call that has a result for each."""
    field = field_of(output)
    if output == field:
        return node
    assert isinstance(node, Call)
    names = [name for name, _ in desc.called(field)]
    return replace(node, result=(names.index(output), len(names)))


def input_copy(array: Array, bits: str) -> Array:
    """A packed copy of an input, as integers where the operator is about bits."""
    packed = np.array(array, order="C")
    return packed.view(f"{bits[0]}{packed.dtype.itemsize}") if bits else packed


def _given_back(array: Array, tensor: TensorDesc, bits: str, library: str) -> Array:
    """An output in its tensor's type: truth becomes 0 and 1, and nothing else is converted."""
    dtype = numpy_dtype(tensor.data_type)
    if array.dtype == np.bool_:
        return array.astype(dtype)
    if bits and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)
    if array.dtype != dtype:
        raise Unsupported(f"{library} returns {array.dtype}, but {tensor.data_type} is required")
    if array.shape != tensor.sizes:
        raise BackendFault(f"{library} returns sizes {list(array.shape)}, but {list(tensor.sizes)} are required")
    return array


def _trapping_divisors(desc: OperatorDesc, inputs: Mapping[str, Array]) -> str:
    """Integer quotients that do not exist or overflow: the processor traps, which ends the process."""
    if desc.tensor("ATensor").type.is_float:
        return ""
    a, b = inputs["ATensor"], inputs["BTensor"]
    overflows = a.dtype.kind == "i" and ((a == np.iinfo(a.dtype).min) & (b == -1)).any()
    return "dividing an integer by zero, or the least by -1, is an error or a trap there" if overflows or (b == 0).any() else ""


def _wide_shifts(_: OperatorDesc, inputs: Mapping[str, Array]) -> str:
    b = inputs["BTensor"]
    return "a shift by the type's width or more is undefined there" if (b >= 8 * b.dtype.itemsize).any() else ""


def _indices_beyond(desc: OperatorDesc, inputs: Mapping[str, Array]) -> str:
    beyond = (inputs["IndicesTensor"] >= desc.tensor("OutputTensor").count).any()
    return "an index beyond the output is an error there" if beyond else ""


def _axes_indexed(desc: OperatorDesc) -> tuple[int, ...]:
    """The sizes of the axes that indices name: of Axis alone, or of one for each index of the last dimension."""
    tensor = desc.fields.get("InputTensor") or desc.fields["OutputTensor"]  # ONE_HOT has no other
    assert isinstance(tensor, TensorDesc)
    if isinstance(axis := desc.fields.get("Axis"), int):
        return (tensor.sizes[axis],)
    count, batch = desc.fields["InputDimensionCount"], desc.fields.get("BatchDimensionCount", 0)
    assert isinstance(count, int)
    assert isinstance(batch, int)
    first = len(tensor.sizes) - count + batch
    return tensor.sizes[first : first + desc.tensor("IndicesTensor").sizes[-1]]


def _indices_without_place(desc: OperatorDesc, inputs: Mapping[str, Array]) -> str:
    indices, sizes = inputs["IndicesTensor"].astype(object), np.array(_axes_indexed(desc), object)
    return "" if ((indices < sizes) & (indices >= -sizes)).all() else "an index beyond its axis is an error there"


def _indices_from_the_end(desc: OperatorDesc, inputs: Mapping[str, Array]) -> str:
    beyond = _indices_without_place(desc, inputs)
    return beyond or ("a negative index is an error there" if (inputs["IndicesTensor"] < 0).any() else "")


def _lengths_beyond(desc: OperatorDesc, inputs: Mapping[str, Array]) -> str:
    axis = desc.fields["Axis"]
    assert isinstance(axis, int)
    beyond = (inputs["SequenceLengthsTensor"] > desc.tensor("InputTensor").sizes[axis]).any()
    return "a length beyond the axis is an error there" if beyond else ""


def _numbers_beyond(desc: OperatorDesc, inputs: Mapping[str, Array]) -> str:
    """Numbers that an integer type does not hold: what they become is left to the compiler."""
    x, output = inputs["InputTensor"], data_type(desc.tensor("OutputTensor").data_type)
    if output.is_float:
        return ""
    least, most = output.limits
    whole = np.trunc(x.astype(np.float64)) if x.dtype.kind == "f" else x.astype(object)
    return (
        "" if ((whole >= least) & (whole < most + 1)).all() else "numbers that the type does not hold have no defined result there"
    )


REFUSALS: dict[str, Callable[[OperatorDesc, Mapping[str, Array]], str]] = {
    "indices beyond": _indices_beyond,
    "indices from the end": _indices_from_the_end,
    "indices without a place": _indices_without_place,
    "lengths beyond": _lengths_beyond,
    "numbers beyond": _numbers_beyond,
    "trapping divisors": _trapping_divisors,
    "wide shifts": _wide_shifts,
}
"""What ``refuses`` in a table may say: desc and inputs -> why the library must not be given them, empty if it may. Inputs that do not matter may lack."""


def packages(spec: str, *names: str) -> list[Any]:
    """The imported packages that the backend ``spec`` needs, which is also the name of the extra that installs them.

    Raises:
        BackendUnavailable: one is missing or cannot be imported.
    """
    try:
        return [import_module(name) for name in names]
    except (ImportError, OSError) as error:  # OSError: a shared library of theirs is missing
        raise BackendUnavailable(
            f"{spec} needs {' and '.join(names)}: pip install 'directml-conformance[{spec}]' ({error})"
        ) from None
