"""Any operator that is right everywhere but under one condition: there its last element is wrong (``wrong-for/``), or it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod

import numpy as np

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.faults.model.fault import Array, Fault, Inputs, Where, has
from dmlcts.conformance.faults.transforms.tensors import types_of
from dmlcts.generator.covering.cases import row_values
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.attributes import has_value, value_text
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.tensor_names import tensors_of
from dmlcts.generator.values.layouts import layout_of, layouts_of
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load


def faults(operator: Operator) -> Iterator[tuple[str, Fault]]:
    """A wrong element for each condition on a desc (whoever finds it finds a refusal too), and a refusal for each on a dispatch."""
    for label, words, where in _conditions(operator):
        yield f"wrong-for/{label}", Fault(f"goes wrong in the last element {words}", _last_wrong, when=where)
    for label, (words, test) in _DISPATCHES.items():
        if not label.startswith("in-place") or _permits(operator, together=label.endswith("together")):
            yield f"refuses/{label}", Fault(f"refuses {words}", refuses=test, kinds=("combination",))


def _last_wrong(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    """The last element wrong: its lowest bit turned over, or more than any bound allows where results are judged by one."""
    wrong = right.copy()
    tolerance = load(desc.type).tolerance
    fused = any(isinstance(field, OperatorDesc) for field in desc.fields.values())  # its tolerance counts then
    if right.dtype.kind == "f" and (tolerance.judge != "exact" or tolerance.exceptions or fused):
        last = float(wrong.reshape(-1)[-1])
        wrong.reshape(-1)[-1] = last * 3 + math.copysign(1, last) if math.isfinite(last) else 0
    else:
        wrong.reshape(-1).view(np.uint8)[-wrong.dtype.itemsize] ^= 1  # little-endian, as buffers are
    return wrong


# Conditions on a desc


def _conditions(operator: Operator) -> Iterator[tuple[str, str, Where]]:
    """Label, words that follow "wrong", and the condition."""
    tensors = tensors_of(operator)
    for group in plan_of(operator).tied_groups("DataType"):
        field = next(field for field in tensors if plan_of(operator).name_of(field.name) == group[0])
        for data_type in sorted(types_of(operator, field)):
            yield f"{field.name}/{data_type}", f"where {field.name} is {data_type}", _of_type(field.name, data_type)
    counts = {count for choice in plan_of(operator).choices for count in choice.dimension_counts}
    for count in sorted(counts):
        yield f"{count}d", f"where a tensor has {count} dimensions", _of_rank(count)
    for field in tensors:
        for layout in layouts_of(operator, field):
            if _can_be(operator, {field.name: layout}):
                yield f"{field.name}/{layout}", f"where {field.name} is {layout}", _of_layout({field.name: layout})
    first = [field for field in tensors if field.kind == "input"][:1]
    last = next(field.name for field in tensors if field.kind == "output")
    for one, other in _PAIRS if first else ():
        meet = {first[0].name: one, last: other}
        if _can_be(operator, meet):
            yield f"layout/{one}-{other}", f"where {one} input and {other} output meet", _of_layout(meet)
    for label, (words, test) in _SIZES.items():
        yield f"sizes/{label}", f"where {words}", _of_last(test)
    for attribute, value in plan_of(operator).constant_values():
        what = f"{attribute.name}={value_text(value)}"
        yield what, f"where {what}", partial(has_value, name=attribute.name, value=value)
    for field in tensors:
        if field.optional:
            yield f"{field.name}/present", f"where there is {field.name}", has(field.name)
            yield f"{field.name}/absent", f"where there is no {field.name}", _is_absent(field.name)
    if max(counts) > 4:
        yield "strides-beyond-4d", "where more than 4 dimensions have strides", _any_tensor(lambda t: len(t.strides or ()) > 4)
    if len(operator.inputs()) > 1:
        yield "different-strides", "where strides of inputs differ", _different_strides
    yield "odd-bytes", "where a tensor has no multiple of 4 bytes", _any_tensor(lambda t: t.count * t.type.bits % 32 != 0)
    yield "total-size", "where a total size is more than the least", _any_tensor(lambda t: (t.total_size or 0) > t.least_bytes)
    yield "alignment", "where an alignment is guaranteed", _any_tensor(lambda tensor: tensor.alignment > 0)


def _can_be(operator: Operator, layouts: Mapping[str, str]) -> bool:
    """Whether some desc has these layouts: not of a tensor of one element, or of two dimensions for planes. An array has every pair that can be."""
    plan = plan_of(operator)
    named = {f"layout {plan.name_of(name)}": layout for name, layout in layouts.items()}
    wanted = {name: layout for name, layout in named.items() if name in model_of(plan).place}
    return any(all(row.get(name) == layout for name, layout in wanted.items()) for row in row_values(operator))


def _of_tensor(name: str, test: Callable[[TensorDesc], bool]) -> Where:
    return lambda desc: (tensor := desc.find(name)) is not None and test(tensor)


def _of_last(test: Callable[[TensorDesc], bool]) -> Where:
    return lambda desc: test([tensor for _, tensor in desc.tensors()][-1])


def _of_rank(count: int) -> Where:
    return _any_tensor(lambda tensor: tensor.DimensionCount == count)


def _is_absent(name: str) -> Where:
    return lambda desc: desc.find(name) is None


def _any_tensor(test: Callable[[TensorDesc], bool]) -> Where:
    return lambda desc: any(test(tensor) for _, tensor in desc.tensors())


def _of_type(name: str, data_type: str) -> Where:
    return _of_tensor(name, lambda tensor: tensor.data_type == data_type)


def _of_layout(layouts: Mapping[str, str]) -> Where:
    def is_so(layout: str, tensor: TensorDesc) -> bool:
        return layout_of(tensor) == layout

    return lambda desc: all(_of_tensor(name, partial(is_so, layout))(desc) for name, layout in layouts.items())


def _different_strides(desc: OperatorDesc) -> bool:
    names = [field.name for field in load(desc.type).inputs()]
    return len({tensor.effective_strides for name, tensor in desc.tensors() if name.partition("[")[0] in names}) > 1


_PAIRS = (
    ("broadcast-last", "permuted"),
    ("broadcast-all", "padded-rows"),
    ("permuted", "spread"),
    ("spread", "permuted"),
    ("padded-rows", "padded-rows"),
    ("packed", "spread"),
)
"""Layouts of an input and of an output that meet."""

_SIZES: Mapping[str, tuple[str, Callable[[TensorDesc], bool]]] = {
    "single-element": ("the last tensor is a single element", lambda t: t.count == 1),
    "first-is-1": ("its first size is 1", lambda t: t.sizes[0] == 1),
    "middle-is-1": ("a size between others is 1", lambda t: 1 in t.sizes[1:-1]),
    "none-is-1": ("no size is 1", lambda t: 1 not in t.sizes),
    "odd-count": ("the last tensor has an odd number of elements", lambda t: t.count % 2 == 1),
    "count-of-64n+1": ("the last tensor has one element more than a multiple of 64", lambda t: t.count % 64 == 1),
    "count-of-64n-1": ("the last tensor has one element less than a multiple of 64", lambda t: t.count % 64 == 63),
    "count-of-256n": ("the last tensor has a multiple of 256 elements", lambda t: t.count % 256 == 0),
    "long-rows": ("its last size is beyond 128", lambda t: t.sizes[-1] > 128),
    "rows-beyond-65535": ("the last tensor has more than 65,535 rows", lambda t: prod(t.sizes[:-1]) > 65535),
    "count-beyond-65536": ("the last tensor has more than 65,536 elements", lambda t: t.count > 65536),
}


# Conditions on a dispatch


def _permits(operator: Operator, together: bool) -> bool:
    return any(not together or (permission.together and len(permission.inputs) > 1) for permission in operator.in_place)


def _below_output(dispatch: Dispatch) -> int:
    """How many tensors lie where an output does."""
    bound = dispatch.bindings
    return max((sum(bound[name] == bound[output] for name in bound if name != output) for output in dispatch.outputs), default=0)


_DISPATCHES: Mapping[str, tuple[str, Callable[[Dispatch], bool]]] = {
    "in-place": ("in-place execution", lambda d: _below_output(d) > 0),
    "in-place-together": ("in-place execution on several inputs", lambda d: _below_output(d) > 1),
    "offsets": ("bindings that do not begin the resource", lambda d: any(b.offset for b in d.bindings.values())),
    "larger-binding": (
        "bindings larger than the tensor",
        lambda d: any(b.size > d.desc.tensor(n).bytes for n, b in d.bindings.items()),
    ),
}
