"""The right answers of a case: from the reference, or from its literals with the reference's error bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.execution.judgement import tolerance_of
from dmlcts.generator.case.case import VALUES, Case
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.reference.answer import Answer
from dmlcts.reference.answer_cache import recent
from dmlcts.reference.registry import reference_of
from dmlcts.spec.model.dtypes import literal_array, literal_defined
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED, Literal, Operator

Array = NDArray[Any]


def answers_of(case: Case, inputs: Mapping[str, Array]) -> dict[str, dict[str, Answer]]:
    """The case's answers by basis: one, except where they are contested."""
    if case.expect != VALUES:
        return computed_answers(case, inputs)
    operator = case.operator
    bounds = next(iter(computed_answers(case, inputs).values())) if reference_of(operator.name) else {}
    return {
        basis: {
            name: _as_answer(literal, bounds.get(name), tolerance_of(operator, name, case.desc, basis=case.basis).judge)
            for name, literal in outputs.items()
        }
        for basis, outputs in case.answers.items()
    }


def computed_answers(case: Case, inputs: Mapping[str, Array]) -> dict[str, dict[str, Answer]]:
    """The reference's answers by basis: one, except where it gives contested answers."""
    computed = recent(case.desc, inputs)
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
    values = operator.values_of(name)
    return values is None or RECIPES[values.recipe].bits
