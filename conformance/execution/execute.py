"""One case on one backend: lay out, dispatch, check every byte, judge, and report.

The backend is not trusted. Outputs are filled with the complement of the right answer before the run, so that an unwritten element is
always wrong. Guard bytes surround every binding. Inputs must be unchanged, and if a case asks for it, so must be the bytes between the
elements of a strided output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import (
    Backend,
    BackendFault,
    BackendInfo,
    BufferBinding,
    Bytes,
    Dispatch,
    Rejected,
    Unsupported,
)
from dmlcts.conformance.backends.buffers import element_bytes, read_tensor, write_tensor
from dmlcts.conformance.execution.judge import Verdict, judge
from dmlcts.generator.case import REJECTION, VALUES, Case
from dmlcts.generator.data import inputs as case_inputs
from dmlcts.generator.recipes import RECIPES
from dmlcts.reference.answer import Answer, host
from dmlcts.reference.registry import compute, reference_of
from dmlcts.reports.record import ERROR, FAIL, PASS, UNSUPPORTED, Result
from dmlcts.spec.desc import OperatorDesc, TensorDesc, field_of
from dmlcts.spec.desc_json import write_desc
from dmlcts.spec.dtypes import bits_dtype, literal_array, literal_defined, numpy_dtype
from dmlcts.spec.loader import load
from dmlcts.spec.model import DOCUMENTED, MEASURED, Literal, Operator, Tolerance

Array = NDArray[Any]

GUARD = 64
"""Guard bytes before and after each binding: more than a vector store reaches, and a multiple of the alignment of a binding."""

_GUARD_BYTE, _GAP_BYTE, _INPUT_BYTE = 0xA5, 0xC3, 0x3C
"""Fill bytes before and after an output, between its elements, and around and between those of an input. They differ, so that an operator
that writes past the end (OR, AND, MIN and copies among them) does not write a guard's own value over it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A dispatch ready to run; ``snapshot`` holds a copy of every resource before it.

    ``resources`` are the dispatch's, in a list that no backend can change.
    """

    dispatch: Dispatch
    resources: tuple[Bytes, ...]
    snapshot: tuple[Bytes, ...]


@dataclass(slots=True)
class Outcome:
    """The outcome of a case: the fields of a Result that execution sets. ``matched_answer`` is the basis of the matched answer."""

    status: str
    message: str = ""
    verdicts: list[Verdict] = field(default_factory=list)
    matched_answer: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    undeclared: str = ""


def execute(case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None) -> Result:
    """Runs and judges one case other than a property case (see conformance/properties/relations).

    ``timeout`` limits the dispatch, in seconds. Never raises for what the backend does; an error of the suite's own is raised.
    """
    started = perf_counter()
    outcome = outcome_of(case, backend, info, timeout)
    return result_of(case, outcome, perf_counter() - started)


def outcome_of(case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None) -> Outcome:
    """The outcome of a case other than a property case."""
    operator = case.operator
    excluded = undeclared(case, info)
    if excluded is not None:
        return excluded
    inputs = case_inputs(case)
    if case.expect == REJECTION:
        return rejection_outcome(case, backend, inputs, timeout)
    if case.expect == VALUES:
        bounds = next(iter(answers_of(case, inputs).values())) if reference_of(operator.name) else {}
        answers = {
            basis: {
                name: _as_answer(literal, bounds.get(name), tolerance_of(operator, name, case.desc, basis=case.basis).judge)
                for name, literal in outputs.items()
            }
            for basis, outputs in case.answers.items()
        }
    else:
        answers = answers_of(case, inputs)
    first = next(iter(answers.values()))
    layout = lay_out(case, inputs, first, timeout)
    failure = attempt(backend, layout.dispatch)
    if failure is not None:
        return failure
    trespass = trespasses(case, layout)
    if trespass:
        return Outcome(FAIL, trespass, evidence={"memory": trespass})
    outcome = _judged(case, operator, layout, answers, info)
    if outcome.status == FAIL and case.expect != VALUES and info.denormals != "preserve" and operator.tolerance.compare != "bits":
        # An implementation may flush denormal inputs to zero: then the result for flushed inputs is right.
        flushed = {name: array if holds_bits(operator, name) else flush_denormals(array) for name, array in inputs.items()}
        if any(flushed[name] is not array for name, array in inputs.items()):
            retried = _judged(case, operator, layout, answers_of(case, flushed), info)
            return retried if retried.status == PASS else outcome
    return outcome


def answers_of(case: Case, inputs: Mapping[str, Array]) -> dict[str, dict[str, Answer]]:
    """The operator's answers by basis: one, except where the reference gives contested answers."""
    computed = compute(case.desc, inputs)
    others = list(dict.fromkeys(basis for answer in computed.values() for basis in answer.contested))
    own = case.basis if not others else DOCUMENTED if MEASURED in others else MEASURED
    sets = {own: computed, **{basis: {name: a.contested.get(basis, a) for name, a in computed.items()} for basis in others}}
    if case.basis != MEASURED:
        return sets
    return {basis: {name: _as_measured(answer) for name, answer in outputs.items()} for basis, outputs in sets.items()}


def _as_measured(answer: Answer) -> Answer:
    """The answer with the bound for cases of basis measured."""
    return answer if answer.measured_slack is None else replace(answer, slack=answer.measured_slack)


def _as_answer(literal: Literal, computed: Answer | None, judge: str) -> Answer:
    """A literal output as an answer. Its error bounds come from the reference; the reference's value is not used.

    The slack of class discrete belongs to a value before rounding; a literal is rounded.
    """
    array, defined = literal_array(literal), literal_defined(literal)
    if computed is None:
        return Answer(array, defined=defined)
    slack = None if judge == "discrete" else computed.slack
    return Answer(
        array, defined=defined, magnitude=computed.magnitude, terms=computed.terms, argument=computed.argument, slack=slack
    )


def flush_denormals(array: Array) -> Array:
    """The array with denormals flushed to zeros of their sign; the same object if it has none."""
    if array.dtype.kind != "f":
        return array
    tiny = (np.abs(array) < np.finfo(array.dtype).smallest_normal) & (array != 0)
    return np.where(tiny, np.copysign(array.dtype.type(0), array), array) if tiny.any() else array


def holds_bits(operator: Operator, name: str) -> bool:
    """Whether the operator treats an input's values as bit patterns for any type (``Recipe.bits``): then there are no denormals."""
    values = operator.values.get(field_of(name))
    return values is None or RECIPES[values.recipe].bits


def undeclared(case: Case, info: BackendInfo) -> Outcome | None:
    """The outcome of a case that the backend's description excludes, None if it must be run. Invalid data types are part of negative cases."""
    negative = case.expect == REJECTION
    types = {tensor.data_type for _, tensor in case.desc.tensors()} if info.data_types and not negative else set()
    excluded = {
        "operator": {case.operator.name} - set(info.operators or [case.operator.name]),
        "data type": types - set(info.data_types),
        "validation": {"the validation of descs and bindings"} if negative and not info.validates else set(),
    }
    for what, names in excluded.items():
        if names:
            return Outcome(UNSUPPORTED, f"{info.name} does not claim {', '.join(sorted(names))}", undeclared=what)
    return None


def attempt(backend: Backend, dispatch: Dispatch) -> Outcome | None:
    """Runs a dispatch. Returns the outcome if it did not complete, None if it did."""
    try:
        backend.run(dispatch)
    except Rejected as error:
        evidence = {"stage": error.stage, "code": error.code}
        return Outcome(FAIL, f"refused at {error.stage}{f' with {error.code}' if error.code else ''}: {error}", evidence=evidence)
    except Unsupported as error:
        return Outcome(UNSUPPORTED, str(error))
    except BackendFault as error:
        return Outcome(ERROR, str(error), evidence={"fault": error.evidence} if error.evidence else {})
    except (Exception, SystemExit) as error:  # a Python backend may raise anything; only this case fails
        return Outcome(ERROR, f"{type(error).__name__}: {error}", evidence={"traceback": _traceback(error)})
    return None


def rejection_outcome(case: Case, backend: Backend, inputs: Mapping[str, Array], timeout: float | None) -> Outcome:
    """Runs a negative case: only a rejection passes."""
    layout = lay_out(case, inputs, {}, timeout)
    try:
        backend.run(layout.dispatch)
    except Rejected as error:
        return Outcome(PASS, evidence={"stage": error.stage, "code": error.code})
    except Unsupported as error:
        return Outcome(UNSUPPORTED, str(error))
    except BackendFault as error:
        return Outcome(
            ERROR, f"must be rejected ({case.rule}), but: {error}", evidence={"fault": error.evidence} if error.evidence else {}
        )
    except (Exception, SystemExit) as error:
        message = f"must be rejected ({case.rule}) with Rejected, but raised {type(error).__name__}: {error}"
        return Outcome(ERROR, message, evidence={"traceback": _traceback(error)})
    return Outcome(FAIL, f"accepted, but must be rejected: it breaks {case.rule}")


def lay_out(case: Case, inputs: Mapping[str, Array], answers: Mapping[str, Answer], timeout: float | None = None) -> Layout:
    """Resources and bindings for a case: one guarded resource for each tensor, shared if the case is in place."""
    resources: list[Bytes] = []
    bindings: dict[str, BufferBinding] = {}
    outputs = output_names(case.operator, case.desc)
    for name, tensor in case.desc.tensors():
        special = case.bindings.get(name)
        if special is not None and special.absent:
            continue
        if name in case.in_place:
            bindings[name] = bindings[case.in_place[name]]
            continue
        size = _bound_bytes(tensor)
        # A different offset for each, so that swapped offsets show; a multiple of the required alignment.
        offset = GUARD + 16 * len(resources) + (special.offset if special else 0)
        written = name in outputs or name in case.in_place.values()
        resource = np.full(offset + size + GUARD + (16 if special else 0), _GUARD_BYTE if written else _INPUT_BYTE, np.uint8)
        resource[offset : offset + size] = _GAP_BYTE if written else _INPUT_BYTE
        content = inputs[name] if name in inputs else poison(answers.get(name), tensor) if name in outputs else None
        if content is not None:
            write_tensor(resource, tensor, content, offset)
        bindings[name] = BufferBinding(len(resources), offset, size - (special.short if special else 0))
        resources.append(resource)
    dispatch = Dispatch(case.desc, resources, MappingProxyType(bindings), tuple(n for n in outputs if n in bindings), timeout)
    return Layout(dispatch, tuple(resources), tuple(resource.copy() for resource in resources))


def _bound_bytes(tensor: TensorDesc) -> int:
    """Bytes to bind; enough for any plausible reading of an invalid desc."""
    valid = tensor.data_type != "UNKNOWN" and (tensor.strides is None or len(tensor.strides) == len(tensor.sizes))
    if not valid or 0 in tensor.sizes:
        return 8 * max(64, 4 * tensor.count)
    return max(tensor.bytes, tensor.least_bytes)


def output_names(operator: Operator, desc: OperatorDesc) -> tuple[str, ...]:
    """The names of a desc's output tensors."""
    names = {output.name for output in operator.outputs()}
    return tuple(name for field, name, _ in desc.by_field() if field in names)


def poison(answer: Answer | None, tensor: TensorDesc) -> Array | None:
    """The content of an output before the run: floats with all bits inverted, integers half of their range away from the right ones.

    So no unwritten element is right, or nearly right.
    """
    if answer is None:
        return None
    with np.errstate(all="ignore"):
        right: Array = host(answer.stored).astype(numpy_dtype(tensor.data_type), copy=False)
    if tensor.type.bits < 8:
        return (right.astype(np.uint8) ^ np.uint8(15)).astype(right.dtype)
    bits = np.ascontiguousarray(right).view(bits_dtype(tensor.data_type))
    wrong: Array = ~bits if tensor.type.is_float else bits ^ bits.dtype.type(1 << (tensor.type.bits - 1))
    return wrong.view(right.dtype).reshape(tensor.sizes)


def trespasses(case: Case, layout: Layout) -> str:
    """Describes forbidden writes: to guard bytes, inputs, and gaps if the case checks them. Empty if there were none."""
    dispatch = layout.dispatch
    written = {dispatch.bindings[name].resource for name in dispatch.outputs}
    for name, binding in dispatch.bindings.items():
        now, before = layout.resources[binding.resource], layout.snapshot[binding.resource]
        end = (
            binding.offset + dispatch.desc.tensor(name).bytes
        )  # an operator may overwrite the total size, but not further bytes of the binding
        if binding.resource not in written:
            if now.tobytes() != before.tobytes():
                return f"the input {name} was changed, first at byte {_first(now, before) - binding.offset}"
            continue
        past = now[end:] != before[end:]  # an aliased input that is wider than the output has its own bytes there
        if past.any():
            return f"{past.sum()} bytes past the end of {name} were overwritten, first {int(past.argmax())} bytes after it"
        if (now[: binding.offset] != _GUARD_BYTE).any():
            return f"bytes before the beginning of {name} were overwritten"
    if "gaps" in case.checks:
        return _overwritten_gaps(case, layout)
    return ""


def _overwritten_gaps(case: Case, layout: Layout) -> str:
    dispatch = layout.dispatch
    for name in dispatch.outputs:
        tensor, binding = case.desc.tensor(name), dispatch.bindings[name]
        now = layout.resources[binding.resource][binding.offset : binding.offset + tensor.bytes]
        before = layout.snapshot[binding.resource][binding.offset : binding.offset + tensor.bytes]
        changed = (now != before) & ~element_bytes(tensor)
        if changed.any():
            return f"{changed.sum()} bytes between elements of {name} were overwritten, first at byte {int(changed.argmax())}"
    return ""


def _first(now: Bytes, before: Bytes) -> int:
    return int((now != before).argmax())


def _judged(
    case: Case, operator: Operator, layout: Layout, answers: Mapping[str, Mapping[str, Answer]], info: BackendInfo
) -> Outcome:
    """The outcome for the first answer that matches, or for the first one if none does."""
    outcomes = []
    for basis, outputs in answers.items():
        verdicts = [_judge(case, operator, layout, name, answer, info) for name, answer in outputs.items()]
        ok = all(verdict.ok for verdict in verdicts)
        message = next((verdict.message for verdict in verdicts if not verdict.ok), "")
        outcome = Outcome(PASS if ok else FAIL, message, verdicts, basis if len(answers) > 1 else "")
        if ok:
            return outcome
        outcomes.append(outcome)
    return replace(outcomes[0], matched_answer="")


def _judge(case: Case, operator: Operator, layout: Layout, name: str, answer: Answer, info: BackendInfo) -> Verdict:
    tensor, binding = case.desc.tensor(name), layout.dispatch.bindings[name]
    actual = read_tensor(layout.resources[binding.resource], tensor, binding.offset)
    return judge(
        actual, answer, tolerance_of(operator, name, case.desc, basis=case.basis), tensor.data_type, info, name, case.checks
    )


def tolerance_of(
    operator: Operator, output: str, desc: OperatorDesc, find: Callable[[str], Operator] = load, basis: str = DOCUMENTED
) -> Tolerance:
    """An output's tolerance in cases of that basis: that of the fused activation, if there is one, as it computes the result.

    The operator's own error before it is in the answer's slack. If the activation itself is exact, it only selects values, which are rounded
    like the operator's own result; then the operator's tolerance applies. ``find`` gives the activation by name.
    """
    data_type = desc.tensor(output).data_type
    inner = next((value for value in desc.fields.values() if isinstance(value, OperatorDesc)), None)
    if inner is None:
        return operator.tolerance.of(output, data_type, desc.fields, basis)
    activation = find(inner.type)
    found = activation.tolerance.of(activation.outputs()[0].name, data_type, inner.fields, basis)
    return operator.tolerance.of(output, data_type, desc.fields, basis) if found.judge == "exact" else found


def result_of(case: Case, outcome: Outcome, seconds: float) -> Result:
    """The result record of a case."""
    verdicts = outcome.verdicts
    ulps = [verdict.worst_ulp for verdict in verdicts if verdict.worst_ulp is not None]
    shares = [verdict.worst_share for verdict in verdicts if verdict.worst_share is not None]
    failed = outcome.status != PASS
    warnings = [warning for verdict in verdicts for warning in verdict.warnings]
    return Result(
        case=case.id,
        operator=case.operator.name,
        data_type=case.data_type,
        kind=case.kind,
        basis=case.basis,
        feature_level=case.feature_level,
        status=outcome.status,
        message=outcome.message,
        seconds=seconds,
        desc=write_desc(case.desc) if failed else None,
        mismatches=tuple(m for verdict in verdicts for m in verdict.mismatches) if failed else (),
        wrong=sum(verdict.wrong for verdict in verdicts),
        elements=sum(verdict.elements for verdict in verdicts),
        worst_ulp=max(ulps, default=None),
        worst_share=max(shares, default=None),
        vacuous=sum(verdict.vacuous for verdict in verdicts),
        grade=next((verdict.grade for verdict in verdicts if verdict.grade), ""),
        matched_answer=outcome.matched_answer,
        evidence=outcome.evidence | ({"warnings": warnings} if warnings else {}),
        undeclared=outcome.undeclared,
    )


def _traceback(error: BaseException) -> str:
    """The last frames of an exception's traceback."""
    from traceback import format_exception

    return "".join(format_exception(error)[-6:])
