"""The facts of a case, in words: what conditions that explain a failure may be about (generator/facts/conditions).

They are words (a layout, a data type), numbers (a size, the rank) and flags (a tensor is present).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.generator.case.case import ALL, APART, INPUTS, REJECTION, Case
from dmlcts.generator.facts.comparisons import compare_sizes
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.plan.attributes import value_text
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.values.layouts import GAPPED, layout_of
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.rules.symbols import symbols_of

Flags = NDArray[np.bool_]

Key = str | tuple[str, str]
"""A fact's name; of a flag, its wording where it holds and where it does not. A flag that is absent does not hold."""

Facts = dict[Key, str | float | bool]

SIZE = "size "
"""The beginning of the names of sizes, which are compared with each other."""

_KERNEL, _RUNS = 'kernel "', '" runs'
"""Around the label of a code path, in the condition that a case runs it."""

_PLACES = {"first": 0, "second": 1, "third": 2, "third last": -3, "second last": -2, "last": -1}

_SHARED = {APART: "nothing", INPUTS: "the inputs", ALL: "all tensors"}


def kernel_text(label: str) -> str:
    """The condition that a case runs a code path: ``kernel "gemm, tile of 64" runs``."""
    return f"{_KERNEL}{label}{_RUNS}"


def kernel_fact(label: str) -> Key:
    """The name of the fact that a case runs a code path."""
    return kernel_text(label), f'{_KERNEL}{label}" does not run'


def is_kernel(condition: str) -> bool:
    """Whether a condition is that a case runs a code path."""
    return condition.startswith(_KERNEL) and condition.endswith(_RUNS)


def kernel_in(condition: str) -> str:
    """The label of the code path that a condition is about."""
    return condition.removeprefix(_KERNEL).removesuffix(_RUNS)


def facts_of(case: Case) -> Facts:
    """Everything about a case that may explain a failure. Of a rejection, whose desc is invalid, less is known."""
    found = shared_facts(case)
    found.pop("the largest rank", None)
    for field in case.operator.attributes():
        found.update(_attribute(field.name, case.desc.fields.get(field.name)))
    for field in case.operator.fields:
        if field.is_tensor and field.optional:
            present = case.desc.fields.get(field.name) is not None
            found[f"{field.name} is present", f"{field.name} is absent"] = present
    for name, data in case.data.items():
        found[f"the data of {name}"] = data.special or data.recipe or "given"
    if case.expect == REJECTION:
        return found
    symbols = symbols_of(case.operator, case.desc)
    found.update(_factors(case, symbols))
    for symbol, size in symbols.items():
        found.update(_sizes(symbol, size))
    found.update(compare_sizes(case, symbols))
    for name, tensor in case.desc.tensors():
        found[f"the element count of {name}"] = tensor.count
        found.update(_layout(name, tensor))
    for name, on in case.in_place.items():
        found[f"{name} is in place on {on}", f"{name} is not in place on {on}"] = True
    return found


def shared_facts(case: Case) -> Facts:
    """The facts that cases of all operators have."""
    tensors = [tensor for _, tensor in case.desc.tensors()]
    found: Facts = {
        "the kind": case.kind,
        "the basis": case.basis,
        "the feature level": float(case.feature_level.replace("_", ".")),
        "the type": case.data_type,
        "the offset": case.offset,
        "what shares a resource": _SHARED[case.resource],
        ("a tensor is in place", "no tensor is in place"): bool(case.in_place),
        "the largest rank": max((tensor.DimensionCount for tensor in tensors), default=0),
    }
    if case.data_type in abi().data_types:
        found["the bit width of the type"] = abi().data_types[case.data_type].bits
        found["the kind of the type"] = abi().data_types[case.data_type].kind
    if case.rule:
        found["the broken rule"] = case.rule
    if case.relation:
        found["the law"] = case.relation
    if case.sequence:
        found["the form of the sequence"] = case.sequence
    if any(tensor.flags for tensor in tensors):
        found["a tensor is OWNED_BY_DML", "no tensor is OWNED_BY_DML"] = True
    if case.expect == REJECTION:
        return found
    found["the element count of the largest tensor"] = max((tensor.count for tensor in tensors), default=0)
    if any(tensor.strides is not None for tensor in tensors):
        found["a tensor has strides", "no tensor has strides"] = True
    for layout in {group for tensor in tensors for group in _groups(layout_of(tensor))}:
        found[f"a tensor {layout}", f"no tensor {layout}"] = True
    return found


def _factors(case: Case, symbols: Mapping[str, Any]) -> Iterator[tuple[Key, str | float | bool]]:
    """Those of the operator's model (generator/facts/factors) that the desc does not show."""
    model = model_of(plan_of(case.operator))
    names = {"data": "the data", "slack": "the slack", "owned": "what is OWNED_BY_DML"}
    for factor, index in zip(model.factors, row_of(model, case, symbols), strict=True):
        if index == NONE:
            continue
        value = factor.values[index]
        if factor.kind == "rank":
            yield (f"the {factor.name}" if factor.name == "rank" else f"the rank of {factor.of}"), int(value)
        elif factor.kind == "type" and factor.name != "type":
            yield f"the type of {factor.of}", value
        elif factor.kind == "attribute" and value.startswith("["):  # computed from other fields, such as padding from the window
            yield f"the formula of {factor.of}", value
        elif factor.kind in names:
            yield names[factor.kind], value


def _attribute(name: str, value: object) -> Iterator[tuple[Key, str | float | bool]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)
    elif isinstance(value, OperatorDesc):
        yield name, value.type
    else:
        yield name, "absent" if value is None else value_text(value)
    if isinstance(value, tuple) and value and all(isinstance(each, int | float) for each in value):
        yield from ((f"{name} {place}", float(number)) for place, number in _values_at_ends(value))
        yield f"the largest of {name}", float(max(value))
        yield f"the smallest of {name}", float(min(value))


def _values_at_ends(values: Sequence[int]) -> Iterator[tuple[str, int]]:
    """The values at both ends, with the names of their places."""
    return ((place, values[at]) for place, at in _PLACES.items() if -len(values) <= at < len(values))


def _sizes(symbol: str, size: object) -> Iterator[tuple[Key, str | float | bool]]:
    """A symbol's size; of one that stands for several, those at both ends, the largest between, and how many elements they are together."""
    if not isinstance(size, tuple):
        if isinstance(size, int):
            yield f"{SIZE}{symbol}", size
        return
    yield from ((f"{SIZE}{symbol} {place}", number) for place, number in _values_at_ends(size))
    if len(size) > 2:
        yield f"{SIZE}{symbol} middle", max(size[1:-1])
    if size:
        yield f"the largest of {symbol}", max(size)
        yield f"the element count of {symbol}", prod(size)


def _layout(name: str, tensor: TensorDesc) -> Iterator[tuple[Key, str | float | bool]]:
    layout = layout_of(tensor)
    if layout:
        yield name, layout
    if tensor.strides is not None:
        yield (f"{name} has strides", f"{name} has no strides"), True
    if tensor.sizes[-1] > 1:
        yield f"the last stride of {name}", tensor.effective_strides[-1]
    for group in _groups(layout):
        if group != f"is {layout}":
            yield (f"{name} {group}", f"{name} {group.replace('is ', 'is not ').replace('has ', 'has no ')}"), True


def _groups(layout: str) -> tuple[str, ...]:
    """The words for a layout: its name, and what it has in common with others."""
    if layout.startswith("broadcast") or layout == "per-channel":
        return f"is {layout}", "is broadcast"
    if layout in GAPPED:
        return f"is {layout}", "has gaps"
    if layout == "packed":
        return ()
    return (f"is {layout}", "is reordered") if layout else ("is of no named layout",)
