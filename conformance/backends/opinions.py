"""Second opinions: other people's implementations, where an operator of DirectML's maps onto one of theirs.

A table beside this module (``onnxruntime.yaml``, ``torch.yaml``) says for each operator which call of the library it is:
``ACTIVATION_ELU: Elu(InputTensor, alpha=Alpha)``. The names are the desc's fields. What stands in a call's place is a tensor or a number, what
is given by keyword is the library's own attribute. Calls nest, but one function of the library does the work: around it stand only the
additions and multiplications that DirectML's formula has, and what changes no value (a shape, an order, a type), so that the opinion is the
library's and not ours.

In a call's place there may be:

- another call; ``f(...)[1]`` is the second of several results
- a tensor. One that is absent is left out, and so is what would be made of it: ``Reshape(BiasTensor, [-1])``
- ``ScaleTensor or 1``: the tensor, or the number where it is absent
- any other expression of the spec files' language: a number, or a list of them. Data types are called by their names

Several outputs have a call each, ``(f(...), f(...)[1])``, in the struct's order.

An operator may have several ways, each with a ``when`` in the expression language of the spec files; the first that holds is taken. ``bits``
hands the tensors over as integers of their width, ``refuses`` names values that the library must not be given (``REFUSALS``). What is in
``not_mapped``, and what no ``when`` holds for, is Unsupported for the reason that stands there. ``names`` gives names to expressions; one is
known in the operators that have all the fields which it reads.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
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

KINDS: dict[str, frozenset[str] | None] = {
    "FLOATS": frozenset(name for name in DATA_TYPES if abi().data_types[name].is_float),
    "INTEGERS": frozenset(name for name in DATA_TYPES if not abi().data_types[name].is_float),
    "NOTHING": None,
}
"""What an expression may name besides the desc's fields. NOTHING is what an absent tensor is."""


class Library(Protocol):
    """What a library does for ``evaluate``. A value is whatever stands for a tensor or a number in its calls."""

    def tensor(self, name: str, array: Array) -> Any:
        """The value of an input."""
        ...

    def constant(self, number: float) -> Any:
        """The value of a number in a call's place. Raises Unsupported if it is none of the tensors' type."""
        ...

    def numbers(self, numbers: Sequence[float]) -> Any:
        """The value of a list in a call's place: sizes or axes where all are integers, else of the tensors' type, as ``constant``."""
        ...

    def call(self, function: str, arguments: list[Any], keywords: dict[str, Any], result: int | None) -> Any:
        """The value of a call, or of one of its results. An argument is None where an optional tensor is absent."""
        ...

    def array(self, value: Any) -> Array:
        """The array of a value. Raises Unsupported if the library has no such function for the tensors' types."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the library's functions. ``result`` says which of several results is meant."""

    function: str
    arguments: tuple[Call | Either | Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]
    result: int | None = None


@dataclass(frozen=True, slots=True)
class Either:
    """The first of two that is not absent."""

    first: Call | Either | Expression
    second: Call | Either | Expression


Node = Call | Either | Expression


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which an operator maps: a node for each output."""

    nodes: tuple[Node, ...]
    when: Expression | None = None
    bits: str = ""
    refuses: str = ""

    def calls(self) -> Iterator[Call]:
        """The calls of the library in it."""
        for node in self.parts():
            if isinstance(node, Call):
                yield node

    def expressions(self) -> Iterator[Expression]:
        """The expressions in it, ``when`` included."""
        yield from () if self.when is None else (self.when,)
        for node in self.parts():
            if isinstance(node, Call):
                yield from (expression for _, expression in node.keywords)
            elif isinstance(node, Expression):
                yield node

    def parts(self) -> Iterator[Node]:
        """Every node, those that stand in a call's place too."""
        waiting = list(self.nodes)
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.arguments if isinstance(node, Call) else (node.first, node.second) if isinstance(node, Either) else ()


@dataclass(frozen=True, slots=True)
class Table:
    """A library's table. ``scale_bias`` is what DML_SCALE_BIAS does to ``InputTensor`` before the operator."""

    operators: Mapping[str, tuple[Way, ...]]
    not_mapped: Mapping[str, str]
    scale_bias: Way
    names: Mapping[str, Expression]

    def scope(self, desc: OperatorDesc) -> dict[str, Any]:
        """What expressions about ``desc`` may name: its fields, FLOAT attributes as the struct holds them, ``KINDS`` and ``names``."""
        scope: dict[str, Any] = {**KINDS, **{name: _float32(value) for name, value in desc.fields.items()}}
        for name, expression in self.names.items():
            if all(scope.get(read) is not None for read in expression.names):
                scope[name] = expression.evaluate(scope)
        return scope


@cache
def read_table(name: str) -> Table:
    """The table ``name``.yaml beside this module."""
    text = resources.files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    raw: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (a safe loader)
    operators = {
        operator: tuple(_way(way) for way in (ways if isinstance(ways, list) else [ways]))
        for operator, ways in raw["operators"].items()
    }
    names = {name: compile_expression(text) for name, text in raw.get("names", {}).items()}
    return Table(operators, raw["not_mapped"], _way(raw["scale_bias"]), names)


def _way(way: str | Mapping[str, str]) -> Way:
    if isinstance(way, str):
        return Way(_outputs(way))
    when = compile_expression(way["when"]) if "when" in way else None
    return Way(_outputs(way["call"]), when, way.get("bits", ""), way.get("refuses", ""))


def _outputs(text: str) -> tuple[Node, ...]:
    tree = ast.parse(text.strip(), mode="eval").body
    return tuple(_node(output) for output in (tree.elts if isinstance(tree, ast.Tuple) else [tree]))


def _node(tree: ast.expr, result: int | None = None) -> Node:
    if isinstance(tree, ast.Call):
        keywords = tuple((str(keyword.arg), compile_expression(ast.unparse(keyword.value))) for keyword in tree.keywords)
        return Call(ast.unparse(tree.func), tuple(_node(argument) for argument in tree.args), keywords, result)
    if isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Call):
        return _node(tree.value, ast.literal_eval(tree.slice))
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or):
        first, second = tree.values
        return Either(_node(first), _node(second))
    return compile_expression(ast.unparse(tree))


def chosen(table: Table, desc: OperatorDesc, library: str) -> Way:
    """The way in which ``desc`` maps. Raises Unsupported where there is none, and says why."""
    ways = table.operators.get(desc.type, ())
    scope = table.scope(desc) if any(way.when for way in ways) else {}
    for way in ways:
        if way.when is None or way.when.evaluate(scope):
            return way
    raise Unsupported(f"{desc.type} does not map: {table.not_mapped.get(desc.type, f'no call of {library} is known for it')}")


def evaluate(node: Node, scope: Mapping[str, Any], tensors: Mapping[str, Any], library: Library) -> Any:
    """The library's value of a node: ``scope`` has what expressions name, ``tensors`` the library's value of each tensor that is there."""
    if isinstance(node, Either):
        value = evaluate(node.first, scope, tensors, library)
        return evaluate(node.second, scope, tensors, library) if value is None else value
    if isinstance(node, Call):
        arguments = [evaluate(argument, scope, tensors, library) for argument in node.arguments]
        if arguments[0] is None:
            return None
        keywords = {name: expression.evaluate(scope) for name, expression in node.keywords}
        return library.call(node.function, arguments, keywords, node.result)
    if node.text in tensors:
        return tensors[node.text]
    value = node.evaluate(scope)
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
        """The library's answer. Raises Unsupported for what does not map."""
        name, table = self.info.name, self.table
        way = chosen(table, desc, name)
        why_not = REFUSALS[way.refuses](desc, inputs) if way.refuses else ""
        if why_not:
            raise Unsupported(f"{desc.type} does not map: {why_not}")
        library = self.library(next(iter(inputs.values())).dtype)
        scope = table.scope(desc)
        tensors = {tensor: library.tensor(tensor, _handed(array, way.bits)) for tensor, array in inputs.items()}
        before = desc.fields.get("ScaleBias")
        if isinstance(before, ScaleBias):
            scaled = {**scope, "Scale": _float32(before.scale), "Bias": _float32(before.bias)}
            tensors["InputTensor"] = evaluate(table.scale_bias.nodes[0], scaled, tensors, library)
        outputs = [(tensor, given) for tensor, given in desc.tensors() if tensor not in inputs]
        # An optional output that is absent is the last.
        values = [evaluate(node, scope, tensors, library) for node, _ in zip(way.nodes, outputs, strict=False)]
        after = desc.fields.get("FusedActivation")
        if isinstance(after, OperatorDesc):
            tensor = outputs[0][1]
            after = after.with_fields(InputTensor=tensor, OutputTensor=tensor)  # a fused activation has no tensors of its own
            activated = chosen(table, after, name)
            values = [evaluate(activated.nodes[0], table.scope(after), {"InputTensor": value}, library) for value in values]
        return {
            tensor: _given_back(library.array(value), given, way.bits, name)
            for (tensor, given), value in zip(outputs, values, strict=True)
        }


def _float32(value: Any) -> Any:
    if isinstance(value, tuple) and not isinstance(value, ScaleBias):
        return tuple(_float32(element) for element in value)
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


def _trapping_divisors(_: OperatorDesc, inputs: Mapping[str, Array]) -> str:
    """Integers whose quotient does not exist or overflows: the processor traps, which ends the process."""
    a, b = inputs["ATensor"], inputs["BTensor"]
    if a.dtype.kind == "f":
        return ""
    overflows = a.dtype.kind == "i" and ((a == np.iinfo(a.dtype).min) & (b == -1)).any()
    return "dividing an integer by zero, or the least by -1, is an error or a trap there" if overflows or (b == 0).any() else ""


def _wide_shifts(_: OperatorDesc, inputs: Mapping[str, Array]) -> str:
    b = inputs["BTensor"]
    return "a shift by the type's width or more is undefined there" if (b >= 8 * b.dtype.itemsize).any() else ""


def _indices_beyond(desc: OperatorDesc, inputs: Mapping[str, Array]) -> str:
    beyond = (inputs["IndicesTensor"] >= desc.tensor("OutputTensor").count).any()
    return "an index beyond the output is an error there" if beyond else ""


REFUSALS: dict[str, Callable[[OperatorDesc, Mapping[str, Array]], str]] = {
    "indices beyond": _indices_beyond,
    "trapping divisors": _trapping_divisors,
    "wide shifts": _wide_shifts,
}
"""What ``refuses`` in a table may say: desc and inputs -> why the library must not be given them, empty if it may."""


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
