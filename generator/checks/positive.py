"""What an implementation must compute is valid, at its feature level and not below it, with data of its tensors' sizes and types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.checks.given import Check, OperatorCases, small
from dmlcts.generator.plan.forms import forms
from dmlcts.spec.model.abi import abi, feature_level
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.rules.rules import allowed_at, violations

MOST_ELEMENTS = 17 << 20
"""Of one tensor: what a backend, the reference and the judge can hold several times over."""


def valid_at_its_level_and_not_below(given: OperatorCases) -> Iterator[str]:
    """A case runs from its level on: a higher one would leave it out where it is promised."""
    levels = sorted(abi().feature_levels.values())
    below = {newer: older for older, newer in pairwise(levels)}
    with_others = {relation.label for relation in given.operator.relations if relation.uses}
    for case in given.positive:
        level = feature_level(case.feature_level)
        broken, where = violations(given.operator, case.desc), "at the newest feature level"
        if not broken and not allowed_at(given.operator, case.desc, level):
            broken, where = violations(given.operator, case.desc, level), f"at feature level {level}"
        if broken:
            labels = ", ".join(found.label for found in broken)
            yield f"{case.id}: breaks {labels} {where}; mend shapes, domains and values, so that valid descs follow from them"
            continue
        # The other operators of a law, and the copy of a sequence, may need a newer level.
        alone = case.relation not in with_others and not (case.sequence and forms()[case.sequence].copies)
        if level in below and alone and allowed_at(given.operator, case.desc, below[level]):
            yield f"{case.id}: is promised before {level}; see the levels of the tables and of `optional`"


def not_too_large(given: OperatorCases) -> Iterator[str]:
    """Tensors can be had several times over."""
    for case in given.positive:
        largest = max(tensor.count for _, tensor in case.desc.tensors())
        if largest > MOST_ELEMENTS:
            yield f"{case.id}: a tensor has {largest:,} elements, at most {MOST_ELEMENTS:,} are wanted; see cases.sizes and domains"


def data_fit(given: OperatorCases) -> Iterator[str]:
    """Each input has data, of its tensor's sizes and type."""
    always = {field.name for field in given.operator.inputs()}
    for case in given.positive:
        present = always | given.operator.read_outputs(case.desc.fields)
        needed = {name for name, _ in case.desc.tensors() if name.partition("[")[0] in present}
        if set(case.data) != needed:
            yield f"{case.id}: has data of {_names(case.data)}, and its inputs are {_names(needed)}"
    for case in small(given.positive):
        for name, values in inputs(case).items():
            tensor = case.desc.tensor(name)
            if values.shape != tensor.sizes:
                yield f"{case.id}: the data of {name} have sizes {list(values.shape)}, the tensor has {list(tensor.sizes)}"
            if values.dtype != numpy_dtype(tensor.data_type):
                yield f"{case.id}: the data of {name} are {values.dtype}, the tensor is {tensor.data_type}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


CHECKS: tuple[Check, ...] = (valid_at_its_level_and_not_below, not_too_large, data_fit)
