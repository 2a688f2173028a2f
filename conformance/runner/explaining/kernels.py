"""Code paths as facts of the cases that ran them, and what reaches a code path, in the spec's terms.

Why a kernel runs is the same question as why a case fails: what separates the cases that run it from those that do not?
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from dmlcts.conformance.runner.explaining.reasons import Reason, reasons
from dmlcts.generator.facts.explanations import Facts, Flags, Key, is_kernel, kernel_fact, kernel_in, kernel_text
from dmlcts.reports.record.paths import is_created, labels_of
from dmlcts.reports.record.record import Result

_MOST_REASONS = 3
"""How many reasons why a code path runs are named."""


def labels(result: Result | None) -> frozenset[str]:
    """The labels of the code paths that a case ran."""
    return frozenset(labels_of(result.paths)) if result is not None else frozenset()


LACKING: Key = ("a kernel was not created", "every kernel was created")
"""The fact that says of several kernels at once that a compiler or a device refused them: each failure may have its own."""


def with_kernels(facts: Facts | None, ran: Collection[str]) -> Facts | None:
    """The facts of a case, and the code paths that it ran."""
    found = {kernel_fact(label): True for label in ran}
    if found:
        found[LACKING] = not all(map(is_created, ran))
    return facts | found if facts is not None and found else facts


def named_in(conditions: Iterable[str]) -> tuple[str, ...]:
    """The labels of the code paths that some conditions are about."""
    return tuple(kernel_in(condition) for condition in conditions if is_kernel(condition))


def told_by_descs(reason: Reason) -> Reason:
    """The reason with the rivals that are about descs alone: which code path a case will take that has not run, nobody knows."""
    kept = (
        ()
        if any(map(is_kernel, reason.conditions))
        else (each for each in reason.rivals if not any(map(is_kernel, each.conditions)))
    )
    return replace(reason, rivals=tuple(kept))


def what_reaches(label: str, facts: Sequence[Facts], ran: Sequence[frozenset[str]]) -> str:
    """When a code path runs, in a sentence: ``kernel "gemm" runs whenever the type is FLOAT16 and size N is 64 or more (12 of 12)``.

    ``facts`` are those of the cases, ``ran`` the labels of what each ran: none where a case has not run, or named none.
    """
    runs = np.array([label in each for each in ran], np.bool_)
    others = np.array([bool(each) for each in ran], np.bool_) & ~runs
    name = kernel_text(label)
    if not others.any():
        return f"{name} in all {int(runs.sum()):,} cases of which the code paths are known"
    found = reasons([without_kernels(each) for each in facts], runs, others, _MOST_REASONS)
    if not found:
        return f"{name} in {int(runs.sum()):,} of {int((runs | others).sum()):,} cases, and no conditions say better than chance in which"
    return f"{name} {', and '.join(_reason_text(reason, runs, others) for reason in found)}"


def without_kernels(facts: Facts) -> Facts:
    """The facts that are not about code paths."""
    return {
        name: value for name, value in facts.items() if name != LACKING and not (isinstance(name, tuple) and is_kernel(name[0]))
    }


def _reason_text(reason: Reason, runs: Flags, others: Flags) -> str:
    inside, hit = int((reason.meets & (runs | others)).sum()), int((reason.meets & runs).sum())
    conditions = " and ".join(reason.conditions)
    if reason.needed:
        return f"only where {conditions} ({hit:,} of {inside:,} such cases)"
    return (
        f"whenever {conditions} ({hit:,} of {inside:,})"
        if hit == inside
        else f"in {hit:,} of {inside:,} cases in which {conditions}"
    )
