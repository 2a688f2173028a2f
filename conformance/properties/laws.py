"""Laws: the relations of a spec, evaluated on a backend. This module knows no operator.

A law is an expression over variables, which take the values of tensors, and functions. Where all tensors have the same sizes
(conformance/properties/law_dispatch), all work element by element, on rows of elements or on one row alike; elsewhere each variable has its tensor's sizes:

| in a law | meaning |
|---|---|
| ``f(a, b)`` | the operator: one dispatch. Arguments go to the inputs in order, a number fills a tensor; optional inputs without one are absent |
| ``f(a, Mode="CONVOLUTION", BiasTensor=c, output="Y")`` | the same with another attribute, a further input, another output (where tensors have sizes of their own) |
| ``f(a, b, OutputTensor=sizes(a))`` | with these sizes of an output, where they do not follow from the inputs' |
| ``f([a, b])``, ``f(a, OutputTensors=[sizes(b), sizes(c)], output="OutputTensors[1]")`` | of an array of tensors, all in a list |
| ``log(x)`` with ``uses: {log: ELEMENT_WISE_LOG}`` | that operator, with its usual attributes, on the same data types |
| ``near(a, b)``, ``near(a, b, 2)`` | ``abs(a - b)`` is within the operator's tolerance for both a and b; within twice that |
| ``round_to(x)`` | ``x`` rounded to the output's data type; an integer wraps |
| ``total(x)`` | the sum of each row, in float64 |
| ``sums(x, axes)``, ``largest(x, axes)`` | the sum in float64, and the maximum, along axes that become size 1 |
| ``concat(a, b, axis)``, ``swapped(x, axis, axis)``, ``reshaped(x, sizes)`` | NumPy's concatenate of two, swapaxes and reshape |
| ``sorted(x, axis)`` | the elements along an axis in ascending order |
| ``sizes(x)`` | its sizes; an attribute's name is its value in the case's desc |
| ``padded(x, before, after)`` | ``x`` padded with so many zeros along each axis |
| ``like(x, value)`` | an array of ``x``'s sizes, filled with a number |
| ``where``, ``minimum``, ``maximum``, ``floor``, ``isnan``, ``sign``, ``sqrt`` | NumPy's |
| ``implies(p, q)`` | ``q`` holds wherever ``p`` does |
| ``==`` | equal; between what two dispatches gave, within both tolerances (conformance/properties/computed) |
| ``width`` | the bits of an element of the first variable, without one of the output |

Subscripts and slices are NumPy's. Real numbers are float64 throughout, which holds what any tensor
holds: so ``f(-x) == -f(x)`` compares the outputs' own values, and ``2 * f(x)`` does not overflow in FLOAT16. An argument is rounded to its
tensor's type. A variable of an integer type wraps as that type does; integer outputs are int64 (UINT64's uint64), so that ``f(a) + f(b)``
does not. Where the operator works on bit patterns, a variable is an unsigned integer of the pattern, and so is an output under
``compare: bits``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.execution.answers import holds_bits
from dmlcts.conformance.execution.judge.bounds import CLASSES, Bound, BoundInputs
from dmlcts.conformance.execution.judge.compare import compare_within
from dmlcts.conformance.execution.judgement import tolerance_of
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.properties.computed import move_arguments
from dmlcts.conformance.properties.law_dispatch import Incomplete, LawTrial, dispatch_functions, in_rows
from dmlcts.reference.answer import Answer
from dmlcts.reports.record.record import FAIL, PASS
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype
from dmlcts.spec.model.operator import Operator, Relation
from dmlcts.spec.reading.loader import error_in
from dmlcts.spec.rules.shape import FAILURES

Array = NDArray[Any]


def relation_of(operator: Operator, label: str) -> Relation:
    """The operator's relation of that label. Raises KeyError."""
    for relation in operator.relations:
        if relation.label == label:
            return relation
    raise KeyError(f"{operator.name} has no relation {label!r}")


def law_outcome(trial: LawTrial, arrays: Mapping[str, Array]) -> Outcome:
    """Evaluates the case's law once, on variables of any valid sizes; a row is the last dimension.

    ``arrays`` maps each variable to values of its tensor's type. The outcome fails at the first element for which the law does not hold
    although the relation's ``where`` does; if a dispatch did not complete, it is the outcome of that.

    Raises:
        SpecError: the law cannot be evaluated: it calls an operator with wrong arguments or data types, or computes what does not fit. It
            names file and line, for the spec is wrong, not the backend.
    """
    case, operator = trial.case, trial.operator
    relation = relation_of(operator, case.relation)
    types = {variable: case.desc.tensor(name).data_type for variable, name in relation.given.items()}
    variables = {
        variable: _variable(operator, name, arrays[variable], types[variable]) for variable, name in relation.given.items()
    }
    rows = in_rows(operator)
    sizes = next(iter(variables.values())).shape if rows else None
    scope: dict[str, object] = {
        **{field.name: case.desc.fields[field.name] for field in operator.attributes()},
        **variables,
        "width": data_type(next(iter(types.values()), case.desc.tensor(operator.outputs()[0].name).data_type)).bits,
        **_functions(trial),
    }
    try:
        broken = _broken_elements(trial, relation, scope, sizes)
    except Incomplete as error:
        return error.outcome
    except IndexError as error:  # an output is an invalid index into its tensor
        return Outcome(FAIL, f"{relation.law.text} cannot hold: {error}")
    if not len(broken):
        return Outcome(PASS)
    at = tuple(int(i) for i in broken[0])
    if rows:
        values_text = ", ".join(f"{name} = {_value_text(values[at])}" for name, values in variables.items())
    else:
        values_text = (
            ", ".join(f"{name} of {'x'.join(map(str, values.shape))}" for name, values in variables.items()) + f" at {list(at)}"
        )
    values_text = values_text if variables else f"this desc at {list(at)}"
    law = {"text": relation.law.text, "index": list(at), "values": values_text}
    return Outcome(FAIL, f"{relation.law.text} does not hold for {values_text}", evidence={"law": law})


def _broken_elements(trial: LawTrial, relation: Relation, scope: Mapping[str, object], sizes: tuple[int, ...] | None) -> Array:
    """Where the law does not hold although its ``where`` does. Raises Incomplete, IndexError, and SpecError as ``law_outcome``."""
    part = "where"
    try:
        with np.errstate(all="ignore"):
            mask = np.asarray(True) if relation.where is None else np.asarray(relation.where.evaluate(scope), np.bool_)
            part = "law"
            holds = np.asarray(relation.law.evaluate({**scope, **dispatch_functions(trial, relation, sizes)}), np.bool_)
            return np.argwhere(~np.broadcast_to(holds, sizes or holds.shape) & mask)
    except FAILURES as error:
        if isinstance(error, IndexError) and not isinstance(error, np.exceptions.AxisError):
            raise
        problem = f"cannot be evaluated in {trial.case.id}: {error}"
        raise error_in(trial.operator, ("cases", "relations", relation.label, part), problem) from error


def _variable(operator: Operator, name: str, array: Array, type_name: str) -> Array:
    """A tensor's values for computations in a law."""
    is_float = data_type(type_name).is_float
    if holds_bits(operator, name) and (is_float or operator.tolerance.compare == "bits"):
        return array.view(bits_dtype(type_name))
    if data_type(type_name).bits < 8:  # NumPy's arithmetic does not support 4-bit types
        return array.astype(np.int8 if data_type(type_name).kind == "int" else np.uint8)
    return array.astype(np.float64) if is_float else array


def _value_text(value: Any) -> str:
    return f"{value} ({value:#x})" if isinstance(value, np.unsignedinteger) else repr(value.item())


def _functions(trial: LawTrial) -> dict[str, Callable[..., Any]]:
    """What a law may call besides the operators: the ``RELATION_FUNCTIONS`` of spec/reading/building/law."""
    output = trial.operator.outputs()[0].name
    type_name = trial.case.desc.tensor(output).data_type
    return {
        "floor": np.floor,
        "implies": lambda p, q: np.logical_or(np.logical_not(p), q),
        "isnan": np.isnan,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "near": partial(_is_near, trial, output, type_name),
        "round_to": partial(_round_to_type, type_name),
        "sign": np.sign,
        "sqrt": np.sqrt,
        "sums": lambda x, axes: np.sum(np.asarray(x), axis=_axes(axes), keepdims=True, dtype=np.float64),
        "largest": lambda x, axes: np.max(np.asarray(x), axis=_axes(axes), keepdims=True),
        "concat": move_arguments(lambda a, b, axis: np.concatenate((a, b), axis=axis)),
        "sizes": np.shape,
        "sorted": lambda x, axis: np.sort(np.asarray(x), axis=axis),
        "swapped": move_arguments(np.swapaxes),
        "reshaped": move_arguments(lambda x, sizes: np.reshape(x, tuple(sizes))),
        "padded": move_arguments(lambda x, before, after: np.pad(x, list(zip(before, after, strict=True)))),
        "like": np.full_like,
        "total": lambda x: np.sum(np.asarray(x), axis=-1, keepdims=True, dtype=np.float64),
        "where": np.where,
    }


def _axes(axes: int | Sequence[int]) -> int | tuple[int, ...]:
    return axes if isinstance(axes, int) else tuple(axes)


def _round_to_type(type_name: str, value: Any) -> Array:
    rounded = np.asarray(value).astype(numpy_dtype(type_name))
    return rounded.astype(np.float64) if data_type(type_name).is_float else rounded.astype(np.int64)


def _is_near(trial: LawTrial, output: str, type_name: str, a: Any, b: Any, factor: float = 1.0) -> Array:
    """Whether ``a`` and ``b`` may both represent the same number in an output: NaN matches NaN, and an infinity one of its sign.

    Each may be off by the tolerance class's bound for it. Classes ``ulp`` and ``mixed`` have such a bound; the others' results are
    equal (bounds on sums need to know what was summed, so that a spec cannot use this with them). The argument that a bound of class
    ``mixed`` grows with is ``log|r|``: what it was for exp and pow, whose bounds these are. Error that comes with the arguments (a scale
    and bias, an ``f(f(x))``) is not in the bound: a law about them gives a factor, or ``when`` leaves them out.
    """
    tolerance = tolerance_of(trial.operator, output, trial.case.desc)
    if not data_type(type_name).is_float or tolerance.compare == "bits":
        return np.asarray(np.equal(a, b))
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))

    def bound_inputs(actual: Array, expected: Array) -> BoundInputs:
        answer = Answer(expected, argument=np.log(np.abs(expected)))
        return BoundInputs(actual, expected, answer, tolerance, data_type(type_name), trial.info)

    bounded = tolerance.judge in ("ulp", "mixed")
    allowed = factor * sum(CLASSES[tolerance.judge](bound_inputs(x, x)).allowed for x in (a, b)) if bounded else 0.0
    # Neither is the reference: what a policy excuses in one (a denormal that became 0) it excuses in either.
    found: Array = (
        compare_within(bound_inputs(a, b), Bound(allowed), ()).right | compare_within(bound_inputs(b, a), Bound(allowed), ()).right
    )
    return found
