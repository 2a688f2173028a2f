"""A result in plain text, for all formats without layout."""

from __future__ import annotations

import json

from dmlcts.reports.record import Mismatch, Result


def result_lines(result: Result) -> list[str]:
    """Message, first wrong elements, evidence, waiver and the command that runs the case again, one line each."""
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
