"""Second opinions: other people's implementations, where an operator of DirectML's maps onto one of theirs.

A table beside this module (``onnxruntime.yaml``, ``torch.yaml``) says for each operator which call of the library it is:
``ACTIVATION_ELU: Elu(InputTensor, alpha=Alpha)``. The names are the desc's fields. What stands in a call's place is a tensor or a number, what
is given by keyword is the library's own attribute. Calls nest, but one function of the library does the work: around it stand only the
additions and multiplications that DirectML's formula has, so that the opinion is the library's and not ours.

An operator may have several calls, each with a ``when`` in the expression language of the spec files; the first that holds is taken. ``bits``
hands the tensors over as integers of their width, ``refuses`` names values that the library must not be given (``REFUSALS``). What is in
``not_mapped``, and what no ``when`` holds for, is Unsupported for the reason that stands there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from math import isfinite
from typing import Any, Protocol

import numpy as np
import yaml
from numpy.typing import NDArray

from dmlcts.conformance.array_backend import ArrayBackend
from dmlcts.conformance.backend import BackendFault, BackendUnavailable, Unsupported
from dmlcts.spec.abi import abi
from dmlcts.spec.desc import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.spec.dtypes import numpy_dtype
from dmlcts.spec.expression import Expression, compile_expression

Array = NDArray[Any]

DATA_TYPES = tuple(name for name, entry in abi().data_types.items() if entry.bits >= 8)
"""What a library is handed: NumPy has no arrays of the 4-bit types that one would take."""

KINDS = {
    "FLOATS": frozenset(name for name in DATA_TYPES if abi().data_types[name].is_float),
    "INTEGERS": frozenset(name for name in DATA_TYPES if not abi().data_types[name].is_float),
}
"""What a ``when`` may name besides the desc's fields."""


class Library(Protocol):
    """What a library does for ``evaluate``. A value is whatever stands for a tensor or a number in its calls."""

    def tensor(self, name: str, array: Array) -> Any:
        """The value of an input."""
        ...

    def constant(self, number: float) -> Any:
        """The value of a number in a call's place. Raises Unsupported if it is none of the tensors' type."""
        ...

    def call(self, function: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """The value of a call. An argument is None where an optional tensor is absent."""
        ...

    def array(self, value: Any) -> Array:
        """The array of a value. Raises Unsupported if the library has no such function for the tensors' types."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One way in which an operator maps."""

    tree: ast.expr
    when: Expression | None = None
    bits: str = ""
    refuses: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A library's table. ``scale_bias`` is what DML_SCALE_BIAS does to ``InputTensor`` before the operator."""

    operators: Mapping[str, tuple[Call, ...]]
    not_mapped: Mapping[str, str]
    scale_bias: ast.expr


@cache
def read_table(name: str) -> Table:
    """The table ``name``.yaml beside this module."""
    text = resources.files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    raw: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (a safe loader)
    operators = {
        operator: tuple(_call(way) for way in (ways if isinstance(ways, list) else [ways]))
        for operator, ways in raw["operators"].items()
    }
    return Table(operators, raw["not_mapped"], _parsed(raw["scale_bias"]))


def _call(way: str | Mapping[str, str]) -> Call:
    if isinstance(way, str):
        return Call(_parsed(way))
    when = compile_expression(way["when"]) if "when" in way else None
    return Call(_parsed(way["call"]), when, way.get("bits", ""), way.get("refuses", ""))


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def chosen(table: Table, desc: OperatorDesc, library: str) -> Call:
    """The call that ``desc`` maps onto. Raises Unsupported where there is none, and says why."""
    for call in table.operators.get(desc.type, ()):
        if call.when is None or call.when.evaluate({**KINDS, **desc.fields}):
            return call
    raise Unsupported(f"{desc.type} does not map: {table.not_mapped.get(desc.type, f'no call of {library} is known for it')}")


def evaluate(node: ast.expr, scope: Mapping[str, Any], library: Library) -> Any:
    """The library's value of an expression; ``scope`` has the library's value of each tensor, and each attribute as it is."""
    if isinstance(node, ast.Call):
        arguments = [evaluate(argument, scope, library) for argument in node.args]
        keywords = {str(keyword.arg): _plain(keyword.value, scope) for keyword in node.keywords}
        return library.call(ast.unparse(node.func), arguments, keywords)
    value = _plain(node, scope)
    return library.constant(value) if isinstance(value, int | float) else value


def _plain(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    """A value as it is: a field, an element of one, or a literal."""
    if isinstance(node, ast.Name):
        return scope[node.id]
    if isinstance(node, ast.Subscript):
        return _plain(node.value, scope)[ast.literal_eval(node.slice)]
    return ast.literal_eval(node)


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
        """The library's answer. Raises Unsupported for what does not map."""
        name = self.info.name
        call = chosen(self.table, desc, name)
        why_not = REFUSALS[call.refuses](inputs) if call.refuses else ""
        if why_not:
            raise Unsupported(f"{desc.type} does not map: {why_not}")
        library = self.library(next(iter(inputs.values())).dtype)
        scope = _attributes(desc)
        scope |= {tensor: library.tensor(tensor, _handed(array, call.bits)) for tensor, array in inputs.items()}
        before = desc.fields.get("ScaleBias")
        if isinstance(before, ScaleBias):
            scaled = {**scope, "Scale": _float32(before.scale), "Bias": _float32(before.bias)}
            scope["InputTensor"] = evaluate(self.table.scale_bias, scaled, library)
        value = evaluate(call.tree, scope, library)
        (output,) = ((tensor, given) for tensor, given in desc.tensors() if tensor not in inputs)
        after = desc.fields.get("FusedActivation")
        if isinstance(after, OperatorDesc):
            after = after.with_fields(InputTensor=output[1], OutputTensor=output[1])  # a fused activation has no tensors of its own
            value = evaluate(chosen(self.table, after, name).tree, {**_attributes(after), "InputTensor": value}, library)
        return {output[0]: _given_back(library.array(value), output[1], call.bits, name)}


def _attributes(desc: OperatorDesc) -> dict[str, Any]:
    """The attributes by name, FLOAT ones as the struct holds them; an optional tensor that is absent is None."""
    return {name: _float32(value) for name, value in desc.fields.items() if not isinstance(value, TensorDesc)}


def _float32(value: Any) -> Any:
    return float(np.float32(value)) if isinstance(value, float) else value


def _handed(array: Array, bits: str) -> Array:
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
        raise Unsupported(f"{library} answers in {array.dtype}, and {tensor.data_type} is asked for")
    if array.shape != tensor.sizes:
        raise BackendFault(f"{library} answers in sizes {list(array.shape)}, and {list(tensor.sizes)} are asked for")
    return array


def _trapping_divisors(inputs: Mapping[str, Array]) -> str:
    """Integers whose quotient does not exist or overflows: the processor traps, which ends the process."""
    a, b = inputs["ATensor"], inputs["BTensor"]
    if a.dtype.kind == "f":
        return ""
    overflows = a.dtype.kind == "i" and ((a == np.iinfo(a.dtype).min) & (b == -1)).any()
    return "dividing an integer by zero, or the least by -1, is an error or a trap there" if overflows or (b == 0).any() else ""


def _wide_shifts(inputs: Mapping[str, Array]) -> str:
    b = inputs["BTensor"]
    return "a shift by the type's width or more is undefined there" if (b >= 8 * b.dtype.itemsize).any() else ""


REFUSALS: dict[str, Callable[[Mapping[str, Array]], str]] = {
    "trapping divisors": _trapping_divisors,
    "wide shifts": _wide_shifts,
}
"""What ``refuses`` in a table may say: inputs -> why the library must not be given them, empty if it may."""


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
