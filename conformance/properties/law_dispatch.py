"""The functions of a law that dispatch: ``f``, and the other operators that the law uses.

There are two ways to call an operator. If every tensor has the sizes of the first one (or a single element), all variables have the same
shape, the operator treats all rows alike, and a whole batch of examples is one dispatch. Otherwise an argument has its tensor's sizes, and
the output's sizes follow from them by the spec's shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.backends.buffers import read_tensor
from dmlcts.conformance.execution.answers import holds_bits
from dmlcts.conformance.execution.execute import undeclared_outcome
from dmlcts.conformance.execution.judgement import tolerance_of
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.execution.memory import stray_writes
from dmlcts.conformance.execution.outcome import Outcome, attempt
from dmlcts.conformance.properties.computed import Computed, computed_output
from dmlcts.generator.case.case import REFERENCE, Case
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.desc_plan import DescPlan, Types
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.plan.type_choices import padded_run
from dmlcts.generator.sweeps.properties import choice_of, used_types
from dmlcts.reports.record.record import FAIL
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype
from dmlcts.spec.model.operator import ABSENT, PRESENT, Field, Operator, Relation, Tolerance
from dmlcts.spec.reading.loader import load

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class LawTrial:
    """What a property case runs on."""

    case: Case
    backend: Backend
    info: BackendInfo
    timeout: float | None

    @property
    def operator(self) -> Operator:
        """The case's operator."""
        return self.case.operator

    @property
    def plan(self) -> Plan:
        """The plan of the case's operator."""
        return plan_of(self.case.operator)


class Incomplete(Exception):
    """A dispatch inside a law did not complete; ``outcome`` says why."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class _Called:
    """An operator that a law calls: data types, attributes, dimension count, and the variables' sizes if they have the same shape."""

    plan: DescPlan
    types: Types
    choice: Mapping[str, object]
    count: int
    sizes: tuple[int, ...] | None


def dispatch_functions(trial: LawTrial, relation: Relation, sizes: tuple[int, ...] | None) -> dict[str, Callable[..., Computed]]:
    """``f``, and the other operators that the relation uses. ``sizes`` are those of all variables, None if they differ."""
    desc = trial.case.desc
    count = next(desc.tensors())[1].DimensionCount
    called = {"f": _Called(trial.plan, all_types(trial.plan, desc), choice_of(trial.plan, desc), count, sizes)}
    for name, other in relation.uses.items():
        chosen = used_types(plan_of(load(other)), desc)
        called[name] = _Called(chosen.plan, chosen.types, chosen.attributes[0], chosen.usual_count, sizes)
    return {name: partial(_on_tensors if sizes is None else _on_rows, trial, entry) for name, entry in called.items()}


def all_types(plan: Plan, desc: OperatorDesc) -> Types:
    """The data types of a desc's tensors, and valid ones for its absent tensors."""
    present = {plan.name_of(name): tensor.data_type for name, tensor in desc.tensors()}
    fitting = (choice for choice in plan.choices if present.items() <= dict(choice.types).items())
    return next((choice.types for choice in fitting), tuple(present.items()))


def in_rows(operator: Operator) -> bool:
    """Whether a law about the operator has variables of the same shape; without an input it has none."""
    return plan_of(operator).uniform and bool(operator.inputs())


def _on_rows(trial: LawTrial, called: _Called, *arguments: Any) -> Computed:
    """One dispatch of tensors that have the variables' sizes."""
    operator, sizes = called.plan.operator, called.sizes
    assert sizes is not None
    inputs = operator.inputs()
    absent = inputs[len(arguments) :]
    if len(arguments) > len(inputs) or not all(field.optional for field in absent):
        raise ValueError(f"{operator.name} has {len(inputs)} inputs, and the law gives it {len(arguments)}")
    run = padded_run(sizes, called.count)
    desc = called.plan.desc(called.types, run, {**called.choice, **{field.name: ABSENT for field in absent}})
    given = {}
    for field, argument in zip(inputs, arguments, strict=False):
        if desc.fields[field.name] is None:  # an optional tensor that is absent
            continue
        tensor = desc.tensor(field.name)
        content = _content(operator, field.name, argument, tensor.data_type, sizes_in_law(tensor, sizes))
        given[field.name] = content.reshape(tensor.sizes)
    output = operator.outputs()[0].name
    own = sizes_in_law(desc.tensor(output), sizes)
    return _dispatch(trial, operator, desc, given, output).move_elements(lambda array: array.reshape(own))


def _on_tensors(trial: LawTrial, called: _Called, *arguments: Any, output: str = "", **named: Any) -> Computed:
    """One dispatch of tensors with different sizes.

    ``named`` are further inputs, attributes in place of the case's, and the sizes of outputs that do not follow from the inputs'.
    """
    operator = called.plan.operator
    inputs = operator.inputs()
    outputs = [field for field in operator.outputs() if field.name in named]
    wanted = {
        name: tuple(int(size) for size in sizes)
        for field in outputs
        for name, sizes in _by_tensor(field, named[field.name]).items()
    }
    counts = {field.count: len(named[field.name]) for field in outputs if field.is_tensor_array and field.count}
    named = {name: value for name, value in named.items() if name not in {field.name for field in outputs}}
    if len(arguments) > len(inputs):
        raise ValueError(f"{operator.name} has {len(inputs)} inputs, and the law gives it {len(arguments)}")
    by_field = {field.name: argument for field, argument in zip(inputs, arguments, strict=False)}
    by_field |= {field.name: named.pop(field.name) for field in inputs if field.name in named}
    counts |= {field.count: len(by_field[field.name]) for field in inputs if field.is_tensor_array and field.count}
    given = {
        name: np.asarray(value)
        for field in inputs
        if field.name in by_field
        for name, value in _by_tensor(field, by_field[field.name]).items()
    }
    attributes = {name: tuple(value) if isinstance(value, list | range) else value for name, value in named.items()} | counts
    unknown = attributes.keys() - {field.name for field in operator.attributes()}
    missing = [field.name for field in inputs if field.name not in by_field and not field.optional]
    if unknown or missing:
        problem = f"no {', '.join(missing)}" if missing else f"{', '.join(sorted(unknown))}, which it does not have"
        raise ValueError(f"a law gives {operator.name} {problem}")
    presence = {field.name: PRESENT if field.name in by_field else ABSENT for field in inputs if field.optional}
    known = {name: array.shape for name, array in given.items() if array.ndim} | wanted
    try:
        desc = called.plan.desc(called.types, (1,) * called.count, {**called.choice, **attributes, **presence}, known=known)
    except NotGenerable as error:
        raise ValueError(f"a law calls {operator.name} with tensors that do not fit: {error}") from None
    content = {
        name: _content(operator, name, array, desc.tensor(name).data_type, desc.tensor(name).sizes) for name, array in given.items()
    }
    return _dispatch(trial, operator, desc, content, output or operator.outputs()[0].name)


def _by_tensor(field: Field, argument: Any) -> dict[str, Any]:
    """What a law gives a field, by tensor: for an array a list."""
    return (
        {f"{field.name}[{index}]": each for index, each in enumerate(argument)} if field.is_tensor_array else {field.name: argument}
    )


def _dispatch(trial: LawTrial, operator: Operator, desc: OperatorDesc, given: Mapping[str, Array], name: str) -> Computed:
    """What one dispatch writes to the output ``name``, as values for a law. Raises Incomplete."""
    case: Case = replace(trial.case, desc=desc, operator=operator, expect=REFERENCE, data={})
    prefix = "" if operator is trial.operator else f"{operator.name}, which the law uses: "
    excluded = undeclared_outcome(case, trial.info)
    if excluded is not None:
        raise Incomplete(replace(excluded, message=f"{prefix}{excluded.message}"))
    layout = lay_out(case, given, {}, trial.timeout)
    failure = attempt(trial.backend, layout.dispatch)
    if failure is not None:
        raise Incomplete(replace(failure, message=f"{prefix}{failure.message}"))
    stray = stray_writes(case, layout)
    if stray:
        raise Incomplete(Outcome(FAIL, f"{prefix}{stray}"))
    name, tensor = desc.called(name)[0]
    binding = layout.dispatch.bindings[name]
    output = read_tensor(layout.resources[binding.resource], tensor, binding.offset)
    return computed_output(
        case, name, given, output, _in_law(output, tensor, _works_on_bits(operator, tolerance_of(operator, name, desc))), trial.info
    )


def _works_on_bits(operator: Operator, tolerance: Tolerance) -> bool:
    """Whether an output is bit patterns to laws: where the inputs are. What is ordered and then copied bit by bit is numbers."""
    return tolerance.compare == "bits" and any(holds_bits(operator, field.name) for field in operator.inputs())


def _in_law(output: Array, tensor: TensorDesc, patterns: bool) -> Array:
    """An output's elements as a law has them."""
    if patterns:
        return output.view(bits_dtype(tensor.data_type))
    if tensor.type.is_float:
        return output.astype(np.float64)
    return output.astype(np.int64) if output.dtype.itemsize < 8 else output


def sizes_in_law(tensor: TensorDesc, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of a tensor's values in a law: those of the variables, or one value for each row, or for all."""
    if tensor.count == prod(sizes):
        return sizes
    return (1,) * len(sizes) if tensor.count == 1 else (*sizes[:-1], 1)


def _content(operator: Operator, name: str, argument: Any, type_name: str, sizes: tuple[int, ...]) -> Array:
    """An argument as the elements of an input tensor."""
    filled = np.ascontiguousarray(np.broadcast_to(np.asarray(argument), sizes))
    dtype = numpy_dtype(type_name)
    if filled.dtype == bits_dtype(type_name) and dtype.kind == "f" and holds_bits(operator, name):
        return filled.view(dtype)
    return filled.astype(dtype)
