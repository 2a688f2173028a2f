"""The structural conditions of a case: what a kernel has to handle besides its numbers, each as a name and a value, in words.

| name | values |
|---|---|
| ``the type``, ``the type of TENSOR`` | a data type |
| ``the batch`` | ``1``, ``2 or more``: the first dimension of the first tensor, which has another one |
| ``size SYMBOL`` | whether a tile or a vector leaves a rest of it: one of RESTS; of ``*S``, of its ``last`` and ``second last`` dimension |
| a tensor's name | what its strides are (``strides_of``); ``absent`` if it is optional |
| ``the offset`` | ``0``, ``64`` (the usual one), ``another``: where in its resource the first tensor begins, in bytes |
"""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.generator.case.case import OFFSETS, Case
from dmlcts.generator.facts.factor_values import values_of
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.values.layouts import GAPPED, layout_of
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.operator import ABSENT
from dmlcts.spec.rules.symbols import symbols_of

Condition = tuple[str, str]
"""What it is about, and its value."""

RESTS = ("1", "a multiple of 16", "no multiple of 16")
"""Groups of threads and the sides of tiles are multiples of 16 as a rule, so that others leave a rest. With a size of 1 there is nothing to walk along."""


def structural_conditions(case: Case) -> frozenset[Condition]:
    """The structural conditions of a case with a valid desc. Raises as ``symbols_of`` for what is none."""
    return frozenset(_conditions(case))


def _conditions(case: Case) -> Iterator[Condition]:
    plan = plan_of(case.operator)
    model, tensors = model_of(plan), list(case.desc.tensors())
    symbols = symbols_of(case.operator, case.desc)
    for factor, value in values_of(model, case, ("type",), symbols):
        yield ("the type" if factor.name == "type" else f"the type of {factor.of}"), value
    leading = tensors[0][1].sizes if tensors else ()
    if len(leading) > 1:
        yield "the batch", "1" if leading[0] == 1 else "2 or more"
    for symbol, size in symbols.items():
        if isinstance(size, tuple):
            yield from (
                (f"size {symbol} {place}", rest_of(each)) for place, each in zip(("last", "second last"), size[::-1], strict=False)
            )
        elif isinstance(size, int):
            yield f"size {symbol}", rest_of(size)
    yield from {plan.name_of(name): strides_of(tensor) for name, tensor in reversed(tensors)}.items()
    yield from (
        (f.name, ABSENT) for f in case.operator.fields if f.is_tensor and f.optional and case.desc.fields.get(f.name) is None
    )
    yield "the offset", str(case.offset) if case.offset in (0, OFFSETS[0]) else "another"


def rest_of(size: int) -> str:
    """Which of RESTS a size is."""
    return RESTS[0] if size == 1 else RESTS[1] if size % 16 == 0 else RESTS[2]


def strides_of(tensor: TensorDesc) -> str:
    """What a tensor's strides ask of a kernel, which reads the strides and not the layout's name: ``packed``, ``broadcast``, ``with gaps``, ``reordered``, or ``other``."""
    layout = layout_of(tensor)
    if layout.startswith("broadcast") or layout == "per-channel":
        return "broadcast"
    return {"packed": "packed", "": "other"}.get(layout) or ("with gaps" if layout in GAPPED else "reordered")
