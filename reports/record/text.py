"""A result in plain text, for all formats without layout."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from dmlcts.reports.record.paths import paths_text
from dmlcts.reports.record.record import FAILURES, PASS, Mismatch, Result

DETAILED = 100
"""How many cases of an operator that did not pass have details in JUnit and CTRF: a run in which all fails must not give files that no CI system
takes. The record and the page have all."""

ELSEWHERE = "details: index.html, results.jsonl"
"""What the other cases have instead."""


def details(results: Iterable[Result]) -> Iterator[tuple[Result, bool]]:
    """Results of an operator, each with whether it has details in JUnit and CTRF: the first that did not pass, failures before others."""
    results = list(results)
    not_passed = sorted((result.status not in FAILURES, number) for number, result in enumerate(results) if result.status != PASS)
    chosen = {number for _, number in not_passed[:DETAILED]}
    return ((result, number in chosen) for number, result in enumerate(results))


def result_lines(result: Result) -> list[str]:
    """Message, first wrong elements, kernels, evidence, waiver and the command that runs the case again, one line each."""
    found = [result.message] if result.message else []
    if result.wrong or result.mismatches:
        found.append(wrong_text(result))
        found += [f"  {mismatch_text(mismatch)}" for mismatch in result.mismatches]
    if result.vacuous:
        found.append(
            f"vacuous bounds: {result.vacuous:,} of {result.elements:,} elements have a bound of more than half the largest magnitude"
        )
    if result.matched_answer:
        found.append(f"matched answer: {result.matched_answer}")
    if result.paths:
        found.append(f"kernels: {paths_text(result.paths)}")
    if result.waiver:
        found.append(f"waiver: {result.waiver}")
    found += [f"{name}: {value if isinstance(value, str) else json.dumps(value)}" for name, value in result.evidence.items()]
    if result.repro:
        found.append(f"run again: {result.repro}")
    return found


def wrong_text(result: Result) -> str:
    """``wrong elements: 12 of 120; the first 3:``."""
    shown = len(result.mismatches)
    number = f"wrong elements: {result.wrong:,}" + (f" of {result.elements:,}" if result.elements else "")
    return f"{number}; the first {shown}:" if 0 < shown < result.wrong else f"{number}:" if shown else number


def mismatch_text(mismatch: Mismatch) -> str:
    """``OutputTensor[0, 1]: expected 2, actual 3, off by 1 ULP, allowed 0``."""
    index = ", ".join(map(str, mismatch.index))
    off = f", off by {ulp_text(mismatch.ulp)} ULP" if mismatch.ulp is not None else ""
    allowed = f", allowed {mismatch.allowed}" if mismatch.allowed else ""
    return f"{mismatch.tensor}[{index}]: expected {mismatch.expected}, actual {mismatch.actual}{off}{allowed}"


def ulp_text(ulp: float | None) -> str:
    """An error in ULP with four significant digits; empty if it was not measured."""
    return "" if ulp is None else f"{ulp:.4g}"
