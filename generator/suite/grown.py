"""Cases that stay while a spec grows: those of earlier editions, and of the spec as it is those that bring something new.

Every maker of cases runs once an edition (generator/plan/editions). What an earlier one made keeps its id and its content, as long as the rules
allow it. What only takes another turn because the lists are longer is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from dmlcts.generator.case.case import REJECTION, Case
from dmlcts.generator.covering.cases import arrays_of, combination_cases, editions, empty_array, unfused_cases
from dmlcts.generator.covering.grow import compute_rows
from dmlcts.generator.covering.stored import CoveringArray
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.facts.tuples import Row
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.random.cases import random_cases
from dmlcts.generator.random.choose import with_random
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.rules.rules import violations

Maker = Callable[[Plan, str], Iterator[Case]]

_MOST = "full"
"""The highest level that has rows."""

_STORED: tuple[Maker, ...] = (combination_cases, unfused_cases, random_cases)
"""The makers whose cases of the newest edition were chosen beside those of earlier ones: each of them is new."""


def earlier_cases(operator: Operator, makers: Iterable[Maker], most: str) -> Iterator[Case]:
    """The cases of all earlier editions that are still valid, as cases of the operator."""
    makers = tuple(makers)
    for edition in editions(operator):
        plan = plan_of(edition)
        for case in chain.from_iterable(maker(plan, most) for maker in makers):
            if found := _as_of_today(operator, case):
                yield found


def new_cases(operator: Operator, makers: Iterable[Maker], most: str, earlier: Sequence[Case]) -> Iterator[Case]:
    """The cases of the spec as it is that none of the earlier ones stands for: they cover a promise, or have a value, that is new."""
    plan = plan_of(operator)
    if not earlier:
        yield from chain.from_iterable(maker(plan, most) for maker in makers)
        return
    ids = {case.id for case in earlier}
    labels = {label for case in earlier for label in case.covers}
    values = _Values(model_of(plan), earlier)
    for maker in makers:
        for case in maker(plan, most):
            if case.id not in ids and (maker in _STORED or not labels.issuperset(case.covers) or values.has_new(case)):
                yield case


class _Values:
    """The values of factors that some cases have."""

    def __init__(self, model: Model, cases: Iterable[Case]) -> None:
        self.model = model
        self.known = [set(column) for column in zip(*(self._row(case) for case in cases if case.expect != REJECTION), strict=True)]

    def has_new(self, case: Case) -> bool:
        """Whether a case has a value that none of them has."""
        return case.expect != REJECTION and any(at not in known for at, known in zip(self._row(case), self.known, strict=True))

    def _row(self, case: Case) -> Row:
        return row_of(self.model, case)


def _as_of_today(operator: Operator, case: Case) -> Case | None:
    """A case of an earlier edition as one of the operator; None where its rules judge the desc otherwise now."""
    fields = {field.name: case.desc.fields.get(field.name) for field in operator.fields}
    desc = OperatorDesc(operator.name, fields)
    wrong = {violation.label for violation in violations(operator, desc)}
    is_rejected = case.expect == REJECTION
    if bool(wrong) != is_rejected and not (is_rejected and case.bindings):
        return None
    if is_rejected and wrong and case.rule not in wrong:
        return None
    return replace(case, operator=operator, desc=desc)


def grow(operator: Operator) -> CoveringArray:
    """Rows and random dispatches for the spec as it is, beside those that are stored; an array without any where only lists changed that
    no row depends on.
    """
    plan, every = plan_of(operator), arrays_of(operator)
    empty = empty_array(plan)
    if every and every[-1].digest == empty.digest:
        return replace(empty, ends=dict.fromkeys(every[-1].ends, 0), feasible=every[-1].feasible)
    older = [*earlier_cases(operator, _STORED, _MOST)]
    if every:  # rows of the same values, of other rules
        older += [case for maker in _STORED for case in maker(plan, _MOST)]
    by_level: dict[str, list[Row]] = {}
    for case in older:
        if case.kind == "combination":
            by_level.setdefault(case.level, []).append(row_of(model_of(plan), case))
    return with_random(plan, compute_rows(plan, _MOST, empty, by_level), older=older)
