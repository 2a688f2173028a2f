"""Faults in the values of any operator: right everywhere, but for tensors of a certain kind; and results put in the wrong order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

import numpy as np

from dmlcts.conformance.mutants.old.activations import line_mutants
from dmlcts.conformance.mutants.old.arithmetic import arithmetic_mutants
from dmlcts.conformance.mutants.old.bitwise import bitwise_mutants
from dmlcts.conformance.mutants.old.comparison import comparison_mutants
from dmlcts.conformance.mutants.old.count import count_mutants
from dmlcts.conformance.mutants.old.curves import curve_mutants
from dmlcts.conformance.mutants.old.dense import dense_mutants
from dmlcts.conformance.mutants.old.functions import function_mutants
from dmlcts.conformance.mutants.old.limits import limit_mutants
from dmlcts.conformance.mutants.old.logic import logic_mutants
from dmlcts.conformance.mutants.old.mutant import Array, Mutant, Value, Where
from dmlcts.conformance.mutants.old.powers import power_mutants
from dmlcts.conformance.mutants.old.quantization import quantization_mutants
from dmlcts.conformance.mutants.old.quotients import quotient_mutants
from dmlcts.conformance.mutants.old.rounding import rounding_mutants
from dmlcts.conformance.mutants.old.shift import shift_mutants
from dmlcts.conformance.mutants.old.softmax import softmax_mutants
from dmlcts.generator.attributes import constant_values, has_value, value_text
from dmlcts.generator.layouts import INPUT_LAYOUTS, OUTPUT_LAYOUTS, laid_out
from dmlcts.generator.shapes import dimension_counts
from dmlcts.generator.types import type_choices
from dmlcts.spec.abi import abi, data_type
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.loader import load
from dmlcts.spec.model import Operator

_OWN: tuple[Callable[[], Iterator[Mutant]], ...] = (
    count_mutants,
    logic_mutants,
    shift_mutants,
    bitwise_mutants,
    rounding_mutants,
    arithmetic_mutants,
    quotient_mutants,
    function_mutants,
    power_mutants,
    comparison_mutants,
    limit_mutants,
    quantization_mutants,
    line_mutants,
    curve_mutants,
    softmax_mutants,
    dense_mutants,
)
"""What makes the faults of operators' own, by family."""


def value_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every value fault: those of each operator's own, and those of any."""
    known = {operator.name for operator in operators}
    for own in _OWN:
        yield from (mutant for mutant in own() if known.issuperset(mutant.operators))
    for name, (does, where, concerned) in _kinds(operators).items():
        yield Mutant(
            f"wrong-for/{name}", concerned, f"goes wrong in the last element {does}", value=_last_wrong(where), where=where
        )
    for name, (does, reorder) in _ORDERS.items():
        concerned = tuple(o.name for o in operators if name != "big-endian" or _has_wide_output(o))
        yield Mutant(f"order/{name}", concerned, does, value=_reordered(reorder))


def _last_wrong(where: Where) -> Value:
    """The last element wrong: its lowest bit turned over, or more than any bound allows where results are judged by one."""

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        if not where(desc):
            return right
        wrong = right.copy()
        tolerance = load(desc.type).tolerance
        if right.dtype.kind == "f" and (tolerance.judge != "exact" or tolerance.exceptions or has_fused(desc)):
            last = float(wrong.reshape(-1)[-1])
            wrong.reshape(-1)[-1] = last * 3 + math.copysign(1, last) if math.isfinite(last) else 0
        else:
            wrong.reshape(-1).view(np.uint8)[-wrong.dtype.itemsize] ^= 1  # little-endian, as buffers are
        return wrong

    return value


def has_fused(desc: OperatorDesc) -> bool:
    """Whether an operator is fused into the desc, whose tolerance then counts."""
    return any(isinstance(field, OperatorDesc) for field in desc.fields.values())


# Kinds of tensors


def _tensor(desc: OperatorDesc, position: int = -1) -> TensorDesc:
    """The tensor at a position in the struct; the last is the output."""
    return [tensor for _, tensor in desc.tensors()][position]


def _kinds(operators: Sequence[Operator]) -> dict[str, tuple[str, Where, tuple[str, ...]]]:
    """By name: when it goes wrong, as words and as a test, and for which operators."""
    everyone = tuple(operator.name for operator in operators)
    found: dict[str, tuple[str, Where, tuple[str, ...]]] = {}
    for name in abi().data_types:
        concerned = tuple(o.name for o in operators if any(choice.main == name for choice in type_choices(o)))
        if concerned:
            found[f"type/{name}"] = (f"of {name}", _of_type(name), concerned)
    for count in range(1, abi().limits["dimension_count"] + 1):
        concerned = tuple(o.name for o in operators if any(count in dimension_counts(o, c) for c in type_choices(o)))
        found[f"dimensions/{count}d"] = (f"of {count} dimensions", _of_dimensions(count), concerned)
    for operator in operators:
        for field, chosen in constant_values(operator):
            what = f"{field.name}={value_text(chosen)}"
            found[f"attribute/{operator.name}/{what}"] = (f"where {what}", _of_attribute(field.name, chosen), (operator.name,))
    for name, (does, where) in _SIZES.items():
        found[f"sizes/{name}"] = (does, where, everyone)
    for position, layouts in ((0, INPUT_LAYOUTS), (-1, OUTPUT_LAYOUTS)):
        label = "output" if position else "input-0"
        for layout in layouts:
            found[f"layout/{label}-{layout}"] = (f"where {label} is {layout}", _of_layouts({position: layout}), everyone)
    for pair in _PAIRS:
        label = "-".join(f"{'output' if position else 'input-0'}-{layout}" for position, layout in pair.items())
        found[f"layout/{label}"] = (f"where {' and '.join(pair.values())} meet", _of_layouts(pair), everyone)
    return found


def _of_type(name: str) -> Where:
    return lambda desc: _tensor(desc, 0).data_type == name


def _of_dimensions(count: int) -> Where:
    return lambda desc: _tensor(desc).DimensionCount == count


def _of_attribute(name: str, value: object) -> Where:
    return lambda desc: has_value(desc, name, value)


def _of_layouts(layouts: Mapping[int, str]) -> Where:
    def where(desc: OperatorDesc) -> bool:
        tensors = {position: _tensor(desc, position) for position in layouts}
        return all(tensors[position].strides == laid_out(tensors[position], layout).strides for position, layout in layouts.items())

    return where


_PAIRS: tuple[Mapping[int, str], ...] = (
    {0: "broadcast", -1: "permuted"},
    {0: "broadcast-all", -1: "padded"},
    {0: "permuted", -1: "spread"},
    {0: "spread", -1: "permuted"},
    {0: "padded", -1: "padded"},
    {0: "packed", -1: "spread"},
)

_SIZES: dict[str, tuple[str, Where]] = {
    "single-element": ("of a single element", lambda desc: _tensor(desc).count == 1),
    "first-is-1": ("where the first size is 1", lambda desc: _tensor(desc).sizes[0] == 1),
    "first-is-not-1": ("where the first size is not 1", lambda desc: _tensor(desc).sizes[0] > 1),
    "middle-is-1": ("where a size between others is 1", lambda desc: 1 in _tensor(desc).sizes[1:-1]),
    "last-is-1": ("where the last size is 1", lambda desc: _tensor(desc).sizes[-1] == 1),
    "none-is-1": ("where no size is 1", lambda desc: 1 not in _tensor(desc).sizes),
    "odd-rows": ("where the last size is odd", lambda desc: _tensor(desc).sizes[-1] % 2 == 1),
    "odd-count": ("of an odd number of elements", lambda desc: _tensor(desc).count % 2 == 1),
    "count-of-4n": ("of a multiple of 4 elements", lambda desc: _tensor(desc).count % 4 == 0),
    "count-of-64n": ("of a multiple of 64 elements", lambda desc: _tensor(desc).count % 64 == 0),
    "count-of-64n+1": ("of one element more than a multiple of 64", lambda desc: _tensor(desc).count % 64 == 1),
    "count-of-64n-1": ("of one element less than a multiple of 64", lambda desc: _tensor(desc).count % 64 == 63),
    "count-of-256n": ("of a multiple of 256 elements", lambda desc: _tensor(desc).count % 256 == 0),
    "long-rows": ("where the last size is beyond 128", lambda desc: _tensor(desc).sizes[-1] > 128),
    "many-rows": ("of more than 16 rows", lambda desc: prod(_tensor(desc).sizes[:-1]) > 16),
    "rows-beyond-65535": ("of more than 65,535 rows", lambda desc: prod(_tensor(desc).sizes[:-1]) > 65535),
    "count-beyond-1024": ("of more than 1,024 elements", lambda desc: _tensor(desc).count > 1024),
    "count-beyond-65536": ("of more than 65,536 elements", lambda desc: _tensor(desc).count > 65536),
}


# Orders


def _has_wide_output(operator: Operator) -> bool:
    return any(data_type(choice.types[-1][1]).bits > 8 for choice in type_choices(operator))


def _reordered(reorder: Callable[[Array], Array]) -> Value:
    return lambda desc, inputs, right: np.ascontiguousarray(reorder(right)).reshape(right.shape)


def _ends_exchanged(array: Array) -> Array:
    flat = array.reshape(-1).copy()
    flat[[0, -1]] = flat[[-1, 0]]
    return flat


def _pairs_exchanged(array: Array) -> Array:
    flat = array.reshape(-1).copy()
    even = flat.size // 2 * 2
    flat[:even] = flat[:even].reshape(-1, 2)[:, ::-1].reshape(-1)
    return flat


_ORDERS: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "ends-exchanged": ("exchanges the first element and the last", _ends_exchanged),
    "pairs-exchanged": ("exchanges every two neighbours", _pairs_exchanged),
    "reversed": ("gives the elements in reverse", lambda array: array.reshape(-1)[::-1]),
    "rows-reversed": ("gives each row in reverse", lambda array: array[..., ::-1]),
    "rotated": ("gives the elements one place further", lambda array: np.roll(array, 1)),
    "column-major": ("gives the elements column by column", lambda array: array.T),
    "last-two-exchanged": (
        "exchanges the last two dimensions",
        lambda array: array.swapaxes(-1, -2) if array.ndim > 1 else array,
    ),
    "first-two-exchanged": ("exchanges the first two dimensions", lambda array: array.swapaxes(0, 1) if array.ndim > 1 else array),
    "first-slice-repeated": ("gives the first slice everywhere", lambda array: np.broadcast_to(array[:1], array.shape)),
    "first-element-repeated": ("gives the first element everywhere", lambda array: np.full_like(array, array.flat[0])),
    "big-endian": ("gives big-endian elements", lambda array: array.byteswap()),
}
