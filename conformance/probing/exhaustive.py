"""Every value of a data type as the input of an operator: what no list of cases proves.

All 2^32 values of FLOAT32, or of a pair of 16-bit inputs, in chunks that are dispatched and judged as any case. It is for operators that compute each
element from those in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.execution.answers import computed_answers
from dmlcts.conformance.execution.execute import dispatch_case
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.generator.case.case import Case, Data
from dmlcts.generator.case.inputs import array, data_values
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps.special_values import special_set
from dmlcts.reference.answer import Answer, host, on_device
from dmlcts.reference.registry import compute
from dmlcts.reports.record.record import FAIL, PASS, Mismatch
from dmlcts.spec.model.abi import data_type, newest_level
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED

Array = NDArray[Any]

KIND = "exhaustive"

MOST_BITS = 32
"""Of all inputs together: 2^32 elements take minutes, 2^64 centuries."""

_SAMPLE = 4096
"""So many random elements show the range of a recipe."""

MOST_MISMATCHES = 5
"""So many wrong elements are named."""


class NotExhaustible(ValueError):
    """The operator has too many inputs, or computes an element from others than those in its place; the message says which."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """All inputs of an operator, by number: the bits of one value, or of the first tensor's value and then the second's."""

    plan: Plan
    choice: TypeChoice
    tensors: tuple[str, ...]
    bits: int

    @property
    def count(self) -> int:
        """How many there are."""
        return 1 << self.bits * len(self.tensors)

    def arrays(self, start: int, count: int) -> dict[str, Array]:
        """So many inputs from one on, by tensor name, as arrays of one dimension."""
        numbers = np.arange(start, start + count, dtype=np.uint64)
        found, dtype = {}, numpy_dtype(self.choice.main)
        for place, name in enumerate(self.tensors):
            shift = np.uint64(self.bits * (len(self.tensors) - 1 - place))
            values = (numbers >> shift) & np.uint64((1 << self.bits) - 1)
            found[name] = values.astype(bits_dtype(self.choice.main)).view(dtype)
        return found

    def text(self, number: int) -> str:
        """An input in words: ``0x3F800000 (1.0)``."""
        arrays = self.arrays(number, 1)
        shown = {
            name: f"0x{int(a.view(bits_dtype(self.choice.main))[0]):0{self.bits // 4}X} ({a[0]})" for name, a in arrays.items()
        }
        return next(iter(shown.values())) if len(shown) == 1 else ", ".join(f"{name} {text}" for name, text in shown.items())


@dataclass(slots=True)
class Found:
    """What came of some inputs. ``left_out`` were not judged: they lie outside what cases have. ``failures`` are dispatches without a result."""

    inputs: int = 0
    left_out: int = 0
    wrong: int = 0
    worst_ulp: float = 0.0
    worst_share: float = 0.0
    mismatches: list[tuple[str, Mismatch]] = field(default_factory=list)
    failures: list[Outcome] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        """Whether some inputs were judged, and none is wrong: where all were left out, or none was reached, nothing is known."""
        return self.inputs > self.left_out and not self.wrong and not self.failures


def all_inputs(plan: Plan, data_type_name: str) -> Inputs:
    """Every input of an operator with its usual attributes, and all required inputs of this data type. Raises NotExhaustible."""
    operator, bits = plan.operator, data_type(data_type_name).bits
    tensors = tuple(f.name for f in operator.fields if f.is_tensor and f.kind == "input" and not f.optional)
    if not plan.uniform or not tensors:
        raise NotExhaustible(f"{operator.name} does not compute each element from those in its place alone")
    if bits < 8 or bits * len(tensors) > MOST_BITS:
        count = f"{len(tensors)} inputs of {bits} bits" if len(tensors) > 1 else f"an input of {bits} bits"
        raise NotExhaustible(f"{operator.name} has {count} with {data_type_name}: all of 8 to {MOST_BITS} bits can be tried")
    for choice in plan.choices:
        desc = choice.usual_desc((2,), choice.attributes[0])
        if all(desc.find(name) is not None and desc.tensor(name).data_type == data_type_name for name in tensors):
            found = Inputs(plan, choice, tensors, bits)
            if _has_rows(found):
                raise NotExhaustible(f"{operator.name} does not compute each element from those in its place alone")
            return found
    raise NotExhaustible(f"no table gives all inputs of {operator.name} the type {data_type_name}")


def _has_rows(inputs: Inputs) -> bool:
    """Whether the reference gives another first element where only the second one differs."""
    desc = inputs.choice.usual_desc((2,), inputs.choice.attributes[0])
    sizes, dtype = next(desc.tensors())[1].sizes, numpy_dtype(inputs.choice.main)
    found = []
    for second in (1, 2, 3):
        answers = compute(desc, {name: np.array([1, second], dtype).reshape(sizes) for name in inputs.tensors})
        found.append([np.ravel(host(answer.stored_value))[0] for answer in answers.values()])
    return any(other != found[0] for other in found)


def try_chunk(
    inputs: Inputs, start: int, count: int, backend: Backend, info: BackendInfo, basis: str, timeout: float, xp: Any, found: Found
) -> None:
    """Dispatches so many inputs and judges them; ``xp`` is where the right answers are computed. Raises nothing for what the backend does."""
    arrays = inputs.arrays(start, count)
    left_out = _left_out(inputs, arrays, basis)
    found.inputs += count
    found.left_out += int(left_out.sum())
    if left_out.all():
        return
    usual = int(np.argmin(left_out))  # an input that is judged stands in for those that are not
    case = _case(inputs, count, basis)
    sizes = next(case.desc.tensors())[1].sizes
    filled = {name: np.where(left_out, own[usual], own).reshape(sizes) for name, own in arrays.items()}
    outcome, _ = dispatch_case(case, filled, backend, info, timeout, _answers(case, filled, xp))
    _add(found, inputs, start, outcome)


def _left_out(inputs: Inputs, arrays: Mapping[str, Array], basis: str) -> NDArray[np.bool_]:
    """Which inputs lie outside what the cases of a basis have: nothing is promised of them, or another basis says it."""
    found = np.zeros(len(next(iter(arrays.values()))), np.bool_)
    for name, own in arrays.items():
        found |= ~_is_known(_known_values(inputs.plan, name, inputs.choice.main, basis), own)
        values = inputs.plan.operator.values_of(name)
        if values is not None and values.where is not None:
            found |= ~np.asarray(values.where.evaluate({"x": own}), np.bool_)
    return found


def _is_known(known: Array, values: Array) -> NDArray[np.bool_]:
    """Which values lie between the least and the largest of these, or are NaN or infinite as one of these is."""
    if values.dtype.kind in "iu":
        return np.asarray((known.min() <= values) & (values <= known.max()))
    finite = known[np.isfinite(known)]
    between = (finite.min() <= values) & (values <= finite.max())
    return np.asarray(between | np.isin(values, known[np.isinf(known)]) | (np.isnan(values) & np.isnan(known).any()))


@cache
def _known_values(plan: Plan, name: str, data_type_name: str, basis: str) -> Array:
    """Values of a tensor in the cases of a basis: its special sets, and some of its random data."""
    values = plan.operator.values_of(name)
    tensor = TensorDesc(data_type_name, (_SAMPLE,))
    if values is None:
        return array(Data("any-bits"), tensor, KIND)
    allowed = (DOCUMENTED,) if basis == DOCUMENTED else (DOCUMENTED, MEASURED)
    random = [Data(values.recipe, values.parameters)]
    random += [Data(each.recipe, each.parameters) for each in values.data.values() if each.basis in allowed]
    sets = [*values.special, *(values.measured if MEASURED in allowed else ())]
    found = [array(data, tensor, KIND) for data in random]
    found += [data_values(special_set(plan.operator, name, each), data_type_name) for each in sets]
    return np.concatenate([each.ravel() for each in found])


def _case(inputs: Inputs, count: int, basis: str) -> Case:
    choice = inputs.choice
    desc = choice.usual_desc((count,), choice.attributes[0])
    name = inputs.plan.operator.name
    return Case(f"{name}/{choice.label}/{KIND}", KIND, KIND, desc, inputs.plan.operator, str(newest_level()), choice.main, basis)


def _answers(case: Case, arrays: Mapping[str, Array], xp: Any) -> dict[str, dict[str, Answer]]:
    """The right answers, computed where ``xp`` has its arrays."""
    if xp is np:
        return computed_answers(case, arrays)
    computed = computed_answers(case, {name: on_device(xp, own) for name, own in arrays.items()})
    return {basis: {name: _on_host(answer) for name, answer in of.items()} for basis, of in computed.items()}


def _on_host(answer: Answer) -> Answer:
    """The answer with NumPy's arrays."""
    own = {each.name: host(getattr(answer, each.name)) for each in fields(answer) if each.name != "contested"}
    return replace(answer, **own, contested={basis: _on_host(other) for basis, other in answer.contested.items()})


def _add(found: Found, inputs: Inputs, start: int, outcome: Outcome) -> None:
    """Adds what came of a chunk. A failure without a wrong element, such as a write beside the output, is one of the dispatch."""
    wrong = sum(verdict.wrong for verdict in outcome.verdicts)
    if outcome.status not in (PASS, FAIL) or (outcome.status == FAIL and not wrong):
        found.failures.append(outcome)
        return
    for verdict in outcome.verdicts:
        found.worst_ulp = max(found.worst_ulp, verdict.worst_ulp or 0.0)
        found.worst_share = max(found.worst_share, verdict.worst_share or 0.0)
        found.wrong += verdict.wrong
        room = MOST_MISMATCHES - len(found.mismatches)
        found.mismatches += [(inputs.text(start + each.index[-1]), each) for each in verdict.mismatches[:room]]


def chunks(count: int, size: int, shard: tuple[int, int] = (1, 1)) -> Iterator[tuple[int, int]]:
    """Where each chunk of a shard begins, and how many inputs it has."""
    part, parts = shard
    for number, start in enumerate(range(0, count, size)):
        if number % parts == part - 1:
            yield start, min(size, count - start)
