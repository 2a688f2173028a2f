"""Faults of one operator's own values, as tables: ``{operator: {name: Fault}}``, and what their functions are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.mutant import Array, Mutant, Value, Where
from dmlcts.spec.desc import OperatorDesc, ScaleBias
from dmlcts.spec.model import DOCUMENTED, MEASURED

FLOATS, SINGLE, HALF = ("FLOAT64", "FLOAT32", "FLOAT16"), ("FLOAT32",), ("FLOAT16",)
SIGNED, UNSIGNED = ("INT8", "INT16", "INT32", "INT64"), ("UINT8", "UINT16", "UINT32", "UINT64")
INTEGERS = SIGNED + UNSIGNED
WIDE, LONG = ("INT32", "UINT32", "INT64", "UINT64"), ("INT64", "UINT64")

Computed = Callable[[OperatorDesc, Mapping[str, Array], Array], Any]
"""(operator desc, packed inputs by name, the right output) -> what is computed instead, of any numeric type."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What an implementation does (a sentence), and what it computes then.

    It is for data types of the first tensor that has a ``type_of`` (all where empty), and for descs of which ``when`` is true. ``basis``
    and ``equivalent`` are the mutant's.
    """

    does: str
    computed: Computed
    types: tuple[str, ...] = ()
    basis: str = DOCUMENTED
    when: Where | None = None
    equivalent: str = ""


Faults = Mapping[str, Mapping[str, Fault]]
"""By operator and name."""


def planted(faults: Faults) -> Iterator[Mutant]:
    """A mutant for each fault."""
    for operator, named in faults.items():
        for name, fault in named.items():
            where = _where(fault)
            yield Mutant(
                f"{operator}/{name}",
                (operator,),
                fault.does,
                basis=fault.basis,
                equivalent=fault.equivalent,
                value=_value(fault.computed, where),
                where=where,
            )


def for_each(operators: tuple[str, ...], named: Mapping[str, Fault]) -> dict[str, dict[str, Fault]]:
    """The same faults for each of these operators."""
    return {operator: dict(named) for operator in operators}


def marked(faults: Faults, measured: Collection[str] = (), equivalent: Mapping[str, str] | None = None) -> Faults:
    """The same faults; those called OPERATOR/NAME in ``measured`` on that basis, those in ``equivalent`` none, with the reason."""
    reasons = equivalent or {}
    for name in (*measured, *reasons):
        operator, _, fault = name.partition("/")
        if fault not in faults.get(operator, {}):
            raise KeyError(f"no fault {name}")

    def mark(name: str, fault: Fault) -> Fault:
        basis = MEASURED if name in measured else fault.basis
        return replace(fault, basis=basis, equivalent=reasons.get(name, fault.equivalent))

    return {
        operator: {name: mark(f"{operator}/{name}", fault) for name, fault in named.items()} for operator, named in faults.items()
    }


def merged(*tables: Faults) -> Faults:
    """The faults of every table; a later one's come after an earlier one's."""
    found: dict[str, dict[str, Fault]] = {}
    for table in tables:
        for operator, named in table.items():
            found.setdefault(operator, {}).update(named)
    return found


def _where(fault: Fault) -> Where | None:
    types, when = fault.types, fault.when
    if not types:
        return when
    return lambda desc: main_type(desc) in types and (when is None or when(desc))


def main_type(desc: OperatorDesc) -> str:
    """The data type of the first tensor; of the second where the first is IF's condition, which has one type alone."""
    tensors = [tensor for name, tensor in desc.tensors() if name != "ConditionTensor"]
    return tensors[0].data_type


def _value(computed: Computed, where: Where | None) -> Value:
    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        return right if where is not None and not where(desc) else stored(computed(desc, inputs, right), right)

    return value


def stored(values: Any, right: Array) -> Array:
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


# What functions are made of


def scale_bias(desc: OperatorDesc) -> tuple[float, float]:
    """Scale and bias as the desc holds them; those that change nothing where there are none."""
    pair = desc.fields.get("ScaleBias")
    return (float(np.float32(pair[0])), float(np.float32(pair[1]))) if isinstance(pair, ScaleBias) else (1.0, 0.0)


def is_scaled(desc: OperatorDesc) -> bool:
    """Whether there is a ScaleBias."""
    return desc.fields.get("ScaleBias") is not None


def attributes(desc: OperatorDesc) -> tuple[float, ...]:
    """The numbers among the attributes, in the struct's order, as FLOAT32 holds them."""
    return tuple(float(np.float32(value)) for value in desc.fields.values() if isinstance(value, int | float))


def of_argument(function: Callable[[Array], Any]) -> Computed:
    """Of ``InputTensor * Scale + Bias`` in FLOAT64."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        scale, bias = scale_bias(desc)
        return function(inputs["InputTensor"].astype(np.float64) * scale + bias)

    return computed


def of_single(function: Callable[[Array], Any]) -> Computed:
    """Of ``InputTensor * Scale + Bias`` in FLOAT32, where steps round and overflow."""
    return of_argument(lambda x: function(x.astype(np.float32)))


def of_inputs(function: Callable[..., Any]) -> Computed:
    """Of the inputs in the struct's order, in their own types."""
    return lambda desc, inputs, right: function(*inputs.values())


def of_reals(function: Callable[..., Any]) -> Computed:
    """Of the inputs in FLOAT64."""
    return lambda desc, inputs, right: function(*(array.astype(np.float64) for array in inputs.values()))


def of_attributes(function: Callable[..., Any]) -> Computed:
    """Of the first input in FLOAT64, and of the numbers among the attributes."""
    return lambda desc, inputs, right: function(next(iter(inputs.values())).astype(np.float64), *attributes(desc))


def of_result(function: Callable[[Array], Any]) -> Computed:
    """Of the right output."""
    return lambda desc, inputs, right: function(right)


def beside(function: Callable[[Array, Array], Any]) -> Computed:
    """Of the first input in its own type, and the right output."""
    return lambda desc, inputs, right: function(next(iter(inputs.values())), right)


def detour(change: Callable[[Array], Array]) -> Computed:
    """The input's bit patterns, changed on the way."""
    return lambda desc, inputs, right: change(as_unsigned(inputs["InputTensor"])).view(right.dtype)


def as_unsigned(x: Array) -> Array:
    """An element's bits as an unsigned integer."""
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def as_signed(x: Array) -> Array:
    """An element's bits as a signed integer."""
    return np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")


def saturated(function: Callable[[Any, Any], Any]) -> Callable[[Array, Array], Array]:
    """A function of two integers without wrapping around: what the type does not hold becomes its least or largest number."""

    def limited(a: Array, b: Array) -> Array:
        info = np.iinfo(a.dtype)
        exact = function(a.astype(object), b.astype(object))
        return np.asarray(np.clip(exact, int(info.min), int(info.max)), a.dtype)

    return limited
