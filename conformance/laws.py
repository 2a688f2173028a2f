"""Laws: the relations of a spec, evaluated on a backend. Nothing here knows what an operator computes.

A law is an expression over variables, which take the values of tensors, and functions. All work element by element, on rows of elements
or on one row alike:

| in a law | is |
|---|---|
| ``f(a, b)`` | the operator: one dispatch. Arguments go to the inputs in order, a number fills a tensor; optional inputs without one are absent |
| ``log(x)`` with ``uses: {log: ELEMENT_WISE_LOG}`` | that operator, with its usual attributes, on the same data types |
| ``near(a, b)``, ``near(a, b, 2)`` | ``abs(a - b)`` is within the operator's tolerance for a and for b together, twice that |
| ``round_to(x)`` | ``x`` rounded to the output's data type; an integer wraps |
| ``total(x)`` | the sum of each row, in float64 |
| ``where``, ``minimum``, ``maximum``, ``floor``, ``isnan``, ``sign``, ``sqrt`` | NumPy's |
| ``implies(p, q)`` | ``q`` holds wherever ``p`` does |
| ``width`` | the bits of an element of the first variable |

Real numbers are float64 throughout, which holds what any tensor holds: so ``f(-x) == -f(x)`` compares the outputs' own values,
and ``2 * f(x)`` does not overflow in FLOAT16. An argument is rounded to its tensor's type. A variable of an integer type wraps as that
type does; integer outputs are int64 (UINT64's uint64), so that ``f(a) + f(b)`` does not. Where the operator works on bit patterns, a
variable is an unsigned integer of the pattern, and so is an output under ``compare: bits``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backend import Backend, BackendInfo
from dmlcts.conformance.buffers import read_tensor
from dmlcts.conformance.execute import Outcome, attempt, holds_bits, lay_out, tolerance_of, trespasses, unclaimed
from dmlcts.conformance.judge.bounds import CLASSES, Bound, Given
from dmlcts.conformance.judge.compare import within
from dmlcts.generator.attributes import ABSENT
from dmlcts.generator.case import REFERENCE, Case
from dmlcts.generator.properties import choice_of, used_types
from dmlcts.generator.shapes import Types, choices_for, make_desc, padded_run, usual_dimension_count
from dmlcts.reference.answer import Answer
from dmlcts.reports.record import FAIL, PASS, UNSUPPORTED
from dmlcts.spec.abi import data_type
from dmlcts.spec.desc import TensorDesc
from dmlcts.spec.dtypes import bits_dtype, numpy_dtype
from dmlcts.spec.loader import load
from dmlcts.spec.model import Operator, Relation

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a property case is tried on."""

    case: Case
    operator: Operator
    backend: Backend
    info: BackendInfo
    timeout: float | None


def relation_of(operator: Operator, label: str) -> Relation:
    """The operator's relation of that label. Raises KeyError."""
    for relation in operator.relations:
        if relation.label == label:
            return relation
    raise KeyError(f"{operator.name} has no relation {label!r}")


def law_outcome(trial: Trial, arrays: Mapping[str, Array]) -> Outcome:
    """Evaluates the case's law once, whatever the sizes of the variables are; all have the same, and a row is the last dimension.

    ``arrays`` maps each variable to values of its tensor's type. The outcome fails at the first element for which the law does not hold
    although the relation's ``where`` does; it is what a dispatch gave where one did not complete.

    Raises:
        ValueError: the law calls an operator with the wrong number of arguments, or one that takes none of the data types.
    """
    case, operator = trial.case, trial.operator
    relation = relation_of(operator, case.relation)
    types = {variable: case.desc.tensor(name).data_type for variable, name in relation.given.items()}
    variables = {
        variable: _variable(operator, name, arrays[variable], types[variable]) for variable, name in relation.given.items()
    }
    sizes = next(iter(variables.values())).shape
    scope: dict[str, object] = {**variables, "width": data_type(next(iter(types.values()))).bits, **_functions(trial)}
    with np.errstate(all="ignore"):
        mask = np.ones(sizes, np.bool_) if relation.where is None else np.asarray(relation.where.evaluate(scope), np.bool_)
        try:
            holds = relation.law.evaluate({**scope, **_dispatching(trial, relation, sizes)})
        except _Incomplete as error:
            return error.outcome
    broken = np.argwhere(~np.broadcast_to(np.asarray(holds, np.bool_), sizes) & mask)
    if not len(broken):
        return Outcome(PASS)
    at = tuple(int(i) for i in broken[0])
    said = ", ".join(f"{name} = {_shown(values[at])}" for name, values in variables.items())
    law = {"text": relation.law.text, "index": list(at), "values": said}
    return Outcome(FAIL, f"{relation.law.text} does not hold for {said}", evidence={"law": law})


def _variable(operator: Operator, name: str, array: Array, type_name: str) -> Array:
    """A tensor's values as a law computes with them."""
    is_float = data_type(type_name).is_float
    if holds_bits(operator, name) and (is_float or operator.tolerance.compare == "bits"):
        return array.view(bits_dtype(type_name))
    if data_type(type_name).bits < 8:  # NumPy's own arithmetic knows no 4-bit types
        return array.astype(np.int8 if data_type(type_name).kind == "int" else np.uint8)
    return array.astype(np.float64) if is_float else array


def _shown(value: Any) -> str:
    return f"{value} ({value:#x})" if isinstance(value, np.unsignedinteger) else repr(value.item())


# Functions that dispatch


class _Incomplete(Exception):
    """A dispatch inside a law did not complete."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class _Called:
    """An operator that a law calls: data types and choice of attributes, and the sizes and dimension count of its tensors."""

    operator: Operator
    types: Types
    choice: Mapping[str, object]
    sizes: tuple[int, ...]
    count: int


def _dispatching(trial: Trial, relation: Relation, sizes: tuple[int, ...]) -> dict[str, Callable[..., Array]]:
    """``f``, and the other operators that the relation uses."""
    desc = trial.case.desc
    types = tuple((name, tensor.data_type) for name, tensor in desc.tensors())
    count = next(desc.tensors())[1].DimensionCount
    called = {"f": _Called(trial.operator, types, choice_of(trial.operator, desc), sizes, count)}
    for name, other in relation.uses.items():
        operator = load(other)
        chosen = used_types(operator, desc)
        called[name] = _Called(
            operator, chosen.types, choices_for(operator, chosen)[0], sizes, usual_dimension_count(operator, chosen)
        )
    return {name: partial(_call, trial, entry) for name, entry in called.items()}


def _call(trial: Trial, called: _Called, *arguments: Any) -> Array:
    """One dispatch."""
    operator, sizes = called.operator, called.sizes
    inputs = operator.inputs()
    absent = inputs[len(arguments) :]
    if len(arguments) > len(inputs) or not all(field.optional for field in absent):
        raise ValueError(f"{trial.case.id}: {operator.name} has {len(inputs)} inputs, and its law gives it {len(arguments)}")
    run = padded_run(sizes, called.count)
    desc = make_desc(operator, called.types, run, {**called.choice, **{field.name: ABSENT for field in absent}})
    given = {}
    for field, argument in zip(inputs, arguments, strict=False):
        if desc.fields[field.name] is None:  # the choice leaves an optional tensor out
            continue
        tensor = desc.tensor(field.name)
        content = _content(operator, field.name, argument, tensor.data_type, _sizes_in_law(tensor, sizes))
        given[field.name] = content.reshape(tensor.sizes)
    case = replace(trial.case, desc=desc, expect=REFERENCE, data={})
    whose = "" if operator is trial.operator else f"{operator.name}, which the law uses: "
    missing = unclaimed(case, trial.info)
    if missing:
        raise _Incomplete(Outcome(UNSUPPORTED, f"{whose}{missing}"))
    layout = lay_out(case, given, {}, trial.timeout)
    said = attempt(trial.backend, layout.dispatch)
    if said is not None:
        raise _Incomplete(replace(said, message=f"{whose}{said.message}"))
    trespass = trespasses(case, layout)
    if trespass:
        raise _Incomplete(Outcome(FAIL, f"{whose}{trespass}"))
    name = operator.outputs()[0].name
    tensor, binding = desc.tensor(name), layout.dispatch.bindings[name]
    output = read_tensor(layout.resources[binding.resource], tensor, binding.offset).reshape(_sizes_in_law(tensor, sizes))
    if tolerance_of(operator, name, desc).compare == "bits":
        return output.view(bits_dtype(tensor.data_type))
    if tensor.type.is_float:
        return output.astype(np.float64)
    return output.astype(np.int64) if output.dtype.itemsize < 8 else output


def _sizes_in_law(tensor: TensorDesc, sizes: tuple[int, ...]) -> tuple[int, ...]:
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


# Functions that compute


def _functions(trial: Trial) -> dict[str, Callable[..., Any]]:
    """What a law may call besides the operators: the ``RELATION_FUNCTIONS`` of spec/law."""
    output = trial.operator.outputs()[0].name
    type_name = trial.case.desc.tensor(output).data_type
    return {
        "floor": np.floor,
        "implies": lambda p, q: np.logical_or(np.logical_not(p), q),
        "isnan": np.isnan,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "near": partial(_near, trial, output, type_name),
        "round_to": partial(_rounded, type_name),
        "sign": np.sign,
        "sqrt": np.sqrt,
        "total": lambda x: np.sum(np.asarray(x), axis=-1, keepdims=True, dtype=np.float64),
        "where": np.where,
    }


def _rounded(type_name: str, value: Any) -> Array:
    rounded = np.asarray(value).astype(numpy_dtype(type_name))
    return rounded.astype(np.float64) if data_type(type_name).is_float else rounded.astype(np.int64)


def _near(trial: Trial, output: str, type_name: str, a: Any, b: Any, factor: float = 1.0) -> Array:
    """Whether ``a`` and ``b`` may both stand for one number in an output of the operator: NaN for NaN, an infinity for its like.

    Each may be off by the tolerance class's bound for it. Classes ``ulp`` and ``mixed`` have such a bound; the others' results are
    equal (bounds on sums need to know what was summed, so that a spec cannot use this with them). The argument that a bound of class
    ``mixed`` grows with is ``log|r|``: what it was for exp and pow, whose bounds these are. Error that comes with the arguments (a scale
    and bias, an ``f(f(x))``) is not in the bound: a law about them gives a factor, or ``when`` leaves them out.
    """
    tolerance = tolerance_of(trial.operator, output, trial.case.desc)
    if not data_type(type_name).is_float or tolerance.compare == "bits":
        return np.asarray(np.equal(a, b))
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))

    def given(actual: Array, expected: Array) -> Given:
        answer = Answer(expected, argument=np.log(np.abs(expected)))
        return Given(actual, expected, answer, tolerance, data_type(type_name), trial.info)

    bounded = tolerance.judge in ("ulp", "mixed")
    allowed = factor * sum(CLASSES[tolerance.judge](given(x, x)).allowed for x in (a, b)) if bounded else 0.0
    # Neither is the reference: what a policy excuses in one (a denormal that became 0) it excuses in either.
    found: Array = within(given(a, b), Bound(allowed), ()).right | within(given(b, a), Bound(allowed), ()).right
    return found
