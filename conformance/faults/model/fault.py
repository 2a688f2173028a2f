"""A fault: what an implementation does wrong, as one row of a table. ``mutant`` plants it in the reference.

What a family's own table replaces is a stage of its reference, the desc, the inputs or an output; the other hooks are for the transforms
that go over any operator (``transforms``).

| hook | what it is | called with |
|---|---|---|
| ``value`` | what is computed in an output's place | desc, inputs by name, the right output |
| ``stages`` | what is computed in the place of stages of the reference (reference/stage) | the right function, its arguments |
| ``desc`` | the desc that is misread for the right one: other attributes, another operator of the same fields | desc |
| ``inputs`` | the inputs that are computed with: changed, of other sizes or types, or left out where they are optional | desc, inputs |
| ``read`` | how an input is read | its name, buffer, tensor desc, offset in bytes |
| ``write`` | how an output is written | buffer, tensor desc, array, offset in bytes |
| ``around`` | what happens before or after the dispatch | dispatch, what runs one |
| ``accepts`` | the rules that are found broken, where some are | dispatch, those that are |
| ``refuses`` | whether a valid dispatch is refused | dispatch |
| ``where`` | whether the other hooks are used: where a condition is about bindings or data | dispatch |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Bytes, Dispatch
from dmlcts.generator.case.case import AGREEMENT, REJECTION, RELATION, SEQUENCE, Case
from dmlcts.reference.stage import Instead
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.rules.rules import Violation

Array = NDArray[Any]
Inputs = Mapping[str, Array]
Where = Callable[[OperatorDesc], bool]
Value = Callable[[OperatorDesc, Inputs, Array], Any]
Desc = Callable[[OperatorDesc], OperatorDesc]
Read = Callable[[str, Bytes, TensorDesc, int], Array]
Write = Callable[[Bytes, TensorDesc, Array, int], None]
Around = Callable[[Dispatch, Callable[[Dispatch], None]], None]
Accepts = Callable[[Dispatch, list[Violation]], list[Violation]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault. ``does`` is a sentence about the implementation, without its subject: ``adds the bias twice``.

    ``value`` may give any numeric type and whatever broadcasts to the output (``mutant.store_like``). It and ``write`` are for the output
    called ``output``, for each where it is empty. The fault is for data types of the first tensor that has a choice of them (``types``, all
    where empty) and for descs of which ``when`` is true; elsewhere the mutant does what is right. ``kinds`` are the kinds of cases that
    are most likely to find it: they are tried first.
    """

    does: str
    value: Value | None = None
    types: tuple[str, ...] = ()
    when: Where | None = None
    output: str = ""
    stages: Mapping[str, Instead] = field(default_factory=dict)
    desc: Desc | None = None
    inputs: Callable[[OperatorDesc, Inputs], Inputs] | None = None
    read: Read | None = None
    write: Write | None = None
    around: Around | None = None
    accepts: Accepts | None = None
    refuses: Callable[[Dispatch], bool] | None = None
    where: Callable[[Dispatch], bool] | None = None
    kinds: tuple[str, ...] = ()

    def applies(self, desc: OperatorDesc) -> bool:
        """Whether it may go wrong for a desc."""
        return (not self.types or main_type(desc) in self.types) and (self.when is None or self.when(desc))

    def concerns(self, output: str) -> bool:
        """Whether it may go wrong in an output."""
        return self.output in ("", output, output.partition("[")[0])

    def may_show(self, case: Case) -> bool:
        """Whether a case can tell it from a right implementation: what cannot is not worth running."""
        if case.expect == REJECTION:
            return self.accepts is not None
        if case.expect == SEQUENCE:  # each of its dispatches is right alone, or other cases show that it is not
            return False
        # What property cases dispatch is not known before they run.
        return self.accepts is None and (case.expect in (RELATION, AGREEMENT) or self.applies(case.desc))


Faults = Mapping[str, Fault]
"""By name: lower-case words with hyphens, such as ``bias-twice``. What is about one tensor or attribute begins with it: ``Axes/first-alone``."""

Table = Mapping[str, Faults]
"""A family's faults by the operators that they are planted in: names or globs, with spaces between them: ``GEMM CONVOLUTION*``."""


def main_type(desc: OperatorDesc) -> str:
    """The data type of the first tensor; of the second where the first is a condition, which has one type alone."""
    tensors = [tensor for name, tensor in desc.tensors() if name != "ConditionTensor"]
    return tensors[0].data_type if tensors else ""


FLOATS, SINGLE, HALF = ("FLOAT64", "FLOAT32", "FLOAT16"), ("FLOAT32",), ("FLOAT16",)
SIGNED, UNSIGNED = ("INT8", "INT16", "INT32", "INT64"), ("UINT8", "UINT16", "UINT32", "UINT64")
INTEGERS = SIGNED + UNSIGNED
WIDE, LONG = ("INT32", "UINT32", "INT64", "UINT64"), ("INT64", "UINT64")


# What rows are made of


def change_result(stage: str, change: Callable[[Any], Any]) -> Mapping[str, Instead]:
    """``stages`` of a fault that changes what a stage gives. Of an answer or an estimate, the value alone is changed."""
    return {stage: lambda right, *args, **kwargs: change_values(right(*args, **kwargs), change)}


Steps = Mapping[str, Mapping[str, tuple[Any, ...]]]
"""By stage and label: what an implementation does, a function, and the data types for which it is wrong, where not for all."""


def compute_instead(steps: Steps, when: Where | None = None) -> Faults:
    """Faults that compute another thing in stages' places: functions of their arguments, without the array namespace that some begin with."""

    def instead(change: Callable[..., Any]) -> Instead:
        return lambda right, *args: change(*args[isinstance(args[0], ModuleType) :])

    return {
        label: Fault(does, types=types[0] if types else (), when=when, stages={stage: instead(change)})
        for stage, rows in steps.items()
        for label, (does, change, *types) in rows.items()
    }


def adjust_results(steps: Steps, when: Where | None = None) -> Faults:
    """Faults that change what stages give, as ``change_result``."""
    return {
        label: Fault(does, types=types[0] if types else (), when=when, stages=change_result(stage, change))
        for stage, rows in steps.items()
        for label, (does, change, *types) in rows.items()
    }


def skip_stage(stage: str, argument: int) -> Mapping[str, Instead]:
    """``stages`` of a fault that leaves a stage out: one of its arguments (by its place) is passed on."""
    return {stage: lambda right, *args, **kwargs: args[argument]}


def change_values(result: Any, change: Callable[[Any], Any]) -> Any:
    """What a stage gave, with other values: an array, a number, or something with a field ``value``."""
    if is_dataclass(result) and not isinstance(result, type) and hasattr(result, "value"):
        return replace(result, value=change(result.value))
    return change(result)


def with_attributes(change: Callable[[Mapping[str, Any]], Mapping[str, object]]) -> Desc:
    """``desc`` of a fault that misreads attributes: gets the fields, gives those that differ."""
    return lambda desc: desc.with_fields(**change(desc.fields))


def with_input(name: str, change: Callable[[Array], Array]) -> Callable[[OperatorDesc, Inputs], Inputs]:
    """``inputs`` of a fault that changes one input, where it is present."""
    return lambda desc, inputs: {**inputs, name: change(inputs[name])} if name in inputs else inputs


def without_input(name: str) -> Callable[[OperatorDesc, Inputs], Inputs]:
    """``inputs`` of a fault that ignores an optional input."""
    return lambda desc, inputs: {other: x for other, x in inputs.items() if other != name}


def has(*names: str) -> Where:
    """Whether the desc has these tensors, or this fused activation."""
    return lambda desc: all(desc.fields.get(name) is not None or desc.find(name) is not None for name in names)


# Precision


def as_float16(x: Array) -> Array:
    """Rounded to FLOAT16; what it does not hold becomes infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(np.asarray(x).dtype)


def mantissa_bits(count: int) -> Callable[[Array], Array]:
    """Rounds to nearest even of so many stored mantissa bits, through FLOAT32."""

    def round_bits(x: Array) -> Array:
        x = np.asarray(x)
        single = np.ascontiguousarray(x, np.float32)
        bits = single.view(np.uint32)
        drop = np.uint32(23 - count)
        even = (bits >> drop) & np.uint32(1)
        kept = (bits + np.uint32((1 << int(drop)) // 2 - 1) + even) >> drop << drop
        return np.where(np.isfinite(single), kept.view(np.float32), single).astype(x.dtype)

    return round_bits


as_bfloat16, as_tf32 = mantissa_bits(7), mantissa_bits(10)
"""With the 8 significant bits of bfloat16, or the 11 of TF32, and FLOAT32's range."""

PRECISIONS: Mapping[str, tuple[str, tuple[str, ...], Callable[[Array], Array]]] = {
    "in-float16": ("FLOAT16", ("FLOAT64", "FLOAT32"), as_float16),
    "in-bfloat16": ("bfloat16", FLOATS, as_bfloat16),
    "in-tf32": ("TF32", ("FLOAT64", "FLOAT32"), as_tf32),
}
"""By name: the type, the data types of which less is an error, and what rounds."""


def roundings(what: str, stage: str) -> Faults:
    """Faults that round what a stage gives to each type of less precision. ``what`` names it in words: ``scores``."""
    return {
        f"{what}-{name}": Fault(f"computes {what.replace('-', ' ')} in {type_}", types=types, stages=change_result(stage, rounding))
        for name, (type_, types, rounding) in PRECISIONS.items()
    }
