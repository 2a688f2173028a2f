"""The outputs of a run, judged against the right answers within the operator's tolerance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import Verdict, judge
from dmlcts.conformance.execution.judge.bounds import CLASSES, BoundInputs, local
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.generator.case.case import Case
from dmlcts.reference.answer import Answer
from dmlcts.reports.record.record import FAIL, PASS
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED, Operator, Tolerance
from dmlcts.spec.reading.loader import load

Array = NDArray[Any]


def judge_case(case: Case, outputs: Mapping[str, Array], answers: Mapping[str, Mapping[str, Answer]], info: BackendInfo) -> Outcome:
    """The outcome for the first answer that matches, or for the first one if none does. ``outputs`` are packed arrays by tensor name.

    It has a verdict for each output of that answer, in the answer's order.
    """
    outcomes = []
    for basis, right in answers.items():
        verdicts = [_judge(case, outputs[name], name, answer, info) for name, answer in right.items()]
        ok = all(verdict.ok for verdict in verdicts)
        message = next((verdict.message for verdict in verdicts if not verdict.ok), "")
        outcome = Outcome(PASS if ok else FAIL, message, verdicts, basis if len(answers) > 1 else "")
        if ok:
            return outcome
        outcomes.append(outcome)
    return replace(outcomes[0], matched_answer="")


def _judge(case: Case, actual: Array, name: str, answer: Answer, info: BackendInfo) -> Verdict:
    tensor = case.desc.tensor(name)
    tolerance = tolerance_of(case.operator, name, case.desc, basis=case.basis)
    return judge(actual, answer, tolerance, tensor.data_type, info, name, case.checks, terms_vary=terms_vary(case))


def allowed_error(case: Case, name: str, answer: Answer, info: BackendInfo) -> Array | None:
    """The absolute error that each element of an output may have; None where the answer is a property, or a rounding may go either way.

    Of integers it is 0. Shape: the output's sizes.
    """
    tensor, tolerance = case.desc.tensor(name), tolerance_of(case.operator, name, case.desc, basis=case.basis)
    if callable(answer.value) or tolerance.judge in ("check", "discrete"):
        return None
    expected = local(answer.value)
    if not tensor.type.is_float:
        return np.zeros(expected.shape)
    with np.errstate(all="ignore"):
        given = BoundInputs(expected, expected, answer, tolerance, tensor.type, info)
        return np.broadcast_to(np.asarray(CLASSES[tolerance.judge](given).allowed, np.float64), expected.shape)


def terms_vary(case: Case) -> bool:
    """Whether inputs are random and no element of them stands for several: adding the same numbers again errs the same way again."""
    return all(data.recipe and not data.alike for data in case.data.values()) and not any(
        stride == 0 and size > 1
        for name in case.data
        for stride, size in zip(case.desc.tensor(name).strides or (), case.desc.tensor(name).sizes, strict=False)
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
        return operator.tolerance.for_output(output, data_type, desc.fields, basis)
    activation = find(inner.type)
    found = activation.tolerance.for_output(activation.outputs()[0].name, data_type, inner.fields, basis)
    return operator.tolerance.for_output(output, data_type, desc.fields, basis) if found.judge == "exact" else found
