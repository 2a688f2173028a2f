"""Makes a failing case of the suite simpler, as a search does with drawn ones (drawn), and says in words what is left of it."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.execution.execute import outcome_of
from dmlcts.conformance.properties.drawn import MOST_TRIES, check_of
from dmlcts.generator.case.case import Case
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import Model, model_of, short
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.plan.attributes import value_text
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.fuzz_cases import case_of
from dmlcts.generator.random.like import GenesLike
from dmlcts.generator.random.reduce import Reducer, SearchEnds
from dmlcts.reports.record.record import FAIL

_LABEL = "simpler"

_SHOWN = ("attribute", "configuration", "data", "in place", "owned", "offset", "resource", "slack")
"""The kinds of factors that are told where a case does not have the usual value; sizes and data types always are."""


@dataclass(frozen=True, slots=True)
class Simplified:
    """The simplest case that fails in the same way, and what it is, in words."""

    case: Case
    text: str


def simplify(case: Case, backend: Backend, info: BackendInfo, timeout: float, until: float) -> Simplified | None:
    """The simplest case that fails as a given one does, found before a point of the monotonic clock.

    None if the case does not fail any more, or if it fails for where its tensors lie: the search begins with packed ones.
    Raises as the backend.
    """
    first = outcome_of(case, backend, info, timeout)
    if first.status != FAIL:
        return None
    check, tries = check_of(first), 0

    def fails_alike(other: Case) -> bool:
        nonlocal tries
        tries += 1
        if tries > MOST_TRIES or monotonic() > until:
            raise SearchEnds
        return check_of(outcome_of(other, backend, info, timeout)) == check

    model = model_of(plan_of(case.operator))
    genes = GenesLike(model, case)
    start = case_of(model, genes, _LABEL)
    try:
        if start is None or not fails_alike(start):
            return None
    except SearchEnds:
        return None
    found = Reducer(model, genes, start, _LABEL, lambda other: other.basis == start.basis and fails_alike(other)).run()
    return Simplified(found, in_words(model, found))


def in_words(model: Model, case: Case) -> str:
    """A case in words: its data type, the sizes of its tensors, and what is unusual about it."""
    sizes = (f"{short(name)} {'x'.join(map(str, tensor.sizes))}" for name, tensor in case.desc.tensors())
    row = zip(model.factors, row_of(model, case), strict=True)
    unusual = (
        f"{factor.name} {value_text(case.desc.fields[factor.of]) if factor.kind == 'attribute' else factor.values[at]}"
        for factor, at in row
        if at not in (NONE, factor.usual) and factor.kind in _SHOWN
    )
    strided = (f"{short(name)} with strides" for name, tensor in case.desc.tensors() if tensor.strides is not None)
    return ", ".join((case.data_type, *sizes, *unusual, *strided))
