"""Levels smoke, core and full hold what they should, in the order in which a person understands them, and each feature level its tables."""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.generator.case.case import LEVELS, Case, is_beyond
from dmlcts.generator.case.emit import TITLES
from dmlcts.generator.checks.given import Check, OperatorCases
from dmlcts.generator.checks.promises import at_its_level, of_fields
from dmlcts.spec.model.abi import abi


def smoke_is_small_and_has_every_type(given: OperatorCases) -> Iterator[str]:
    """Smoke takes a moment, and tries each data type."""
    name = given.operator.name
    smoke = [case for case in given.cases if case.level == "smoke"]
    listed = {name for table in given.operator.support for name in next(iter(table.tensors.values())).data_types}
    tried = {case.data_type for case in smoke}
    for data_type in sorted(listed - tried):
        yield f"{name}: level smoke has no case of {data_type}, which the tables have"
    for data_type in sorted(tried - listed):
        yield f"{name}: level smoke has a case of {data_type}, which no table gives the first tensor"
    most = 70 + len({case.id.split("/")[1] for case in smoke})
    if len(smoke) >= most:
        yield f"{name}: level smoke has {len(smoke)} cases, fewer than {most} are wanted; see generator/sweeps/usual.py"
    for level in LEVELS[: LEVELS.index("full") + 1]:
        if not any(case.level == level for case in given.cases):
            yield f"{name}: no case has level {level}"


def every_width_and_a_large_tensor_are_tried(given: OperatorCases) -> Iterator[str]:
    """Core finds what depends on the width of elements, and full what depends on sizes above what one thread group or 16 bits hold.

    Laws and gaps, of which core has each once, have all widths in full.
    """
    core = [case for case in given.cases if not is_beyond(case.level, "core")]
    widths = {_width(case) for case in given.cases}
    with_data = ("combination", "values") if given.operator.inputs() else ("combination",)
    for level, cases, kinds in (("core", core, with_data), ("full", given.cases, ("property", "gaps"))):
        for kind in kinds:
            for width in sorted(widths - {_width(case) for case in cases if case.kind == kind}):
                yield f"{given.operator.name}: level {level} has no {kind} case of {width}-bit elements"
    named = given.operator.sizes  # then the large sizes are the operator's own
    if named and not any("65537" in case.id or _largest(case) > 500 for case in given.cases):
        yield f"{given.operator.name}: no case has a tensor of more than 500 elements; add a large size to cases.sizes"
    if not named and not any("65537" in case.id for case in given.cases):
        yield f"{given.operator.name}: no case has a size of 65537"


def _width(case: Case) -> int:
    return abi().data_types[case.data_type].bits


def _largest(case: Case) -> int:
    return max(tensor.count for _, tensor in case.desc.tensors())


def core_has_each_rule_law_and_gap(given: OperatorCases) -> Iterator[str]:
    """Of what full tries with other types and places too, core has each once."""
    for kind, about in (("negative", "rejects/"), ("property", "relation/"), ("gaps", "gaps/")):
        cases = [case for case in given.cases if case.kind == kind]
        tried = {label for case in cases if not is_beyond(case.level, "core") for label in case.covers}
        for label in dict.fromkeys(label for case in cases for label in case.covers if label.startswith(about)):
            if label not in tried:
                yield f"{given.operator.name}: level core has no {kind} case of {label}"


def simplest_first(given: OperatorCases) -> Iterator[str]:
    """What a person understands first runs first."""
    order = list(TITLES)
    for before, case in zip(given.cases, given.cases[1:], strict=False):
        if order.index(case.kind) < order.index(before.kind):
            yield f"{case.id}: a {case.kind} case comes after one of {before.kind}"


def each_feature_level_tests_its_tables(given: OperatorCases) -> Iterator[str]:
    """A run at a feature level leaves out the cases of newer ones: what its table lists must have a case without these."""
    there = {of_fields(label) for case in given.positive for label in at_its_level(case)}
    covered = dict.fromkeys(of_fields(label) for case in given.positive for label in case.covers)
    for label in (label for label in covered if label not in there):
        yield f"{given.operator.name}: no case of {label} runs at that feature level: all have something newer"


CHECKS: tuple[Check, ...] = (
    each_feature_level_tests_its_tables,
    smoke_is_small_and_has_every_type,
    every_width_and_a_large_tensor_are_tried,
    core_has_each_rule_law_and_gap,
    simplest_first,
)
