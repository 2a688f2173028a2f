"""What must hold after a command: each function returns what is broken in words, and an empty text where it holds."""

from __future__ import annotations

import re

from attack import Must, Outcome

WRONG = "ELEMENT_WISE_BIT_OR/UINT8/4d"
"""The case that the wrong backends of ``suspects.py`` get wrong."""

GREEN_WORDS = re.compile(r"(?<!NOT )\bconforms to|^PASS\b", re.MULTILINE)


def exits(*codes: int) -> Must:
    """One of these exit codes."""
    return lambda outcome: "" if outcome.code in codes else f"exit {outcome.code} instead of {' or '.join(map(str, codes))}"


def prints(text: str) -> Must:
    """A text that it must print."""
    return lambda outcome: "" if text in outcome.printed else f"does not print {text!r}: {outcome.errors.strip()[-300:]!r}"


def prints_no(text: str) -> Must:
    """A text that it must not print."""
    return lambda outcome: f"prints {text!r}" if text in outcome.printed else ""


def never_green(outcome: Outcome) -> str:
    """No exit 0, no claim, no such words, and the wrong case did not pass."""
    if outcome.code == 0:
        return "a wrong backend is green"
    if outcome.claims():
        return "a wrong backend has a claim"
    if found := GREEN_WORDS.search(outcome.output):
        return f"a wrong backend is called {found[0]!r}"
    return "a wrong case passes" if outcome.results().get(WRONG, {}).get("status") == "pass" else ""


def no_claim(outcome: Outcome) -> str:
    """Neither exit 0 nor a claim."""
    if outcome.code == 0:
        return "exit 0"
    return "it claims something" if outcome.claims() or GREEN_WORDS.search(outcome.output) else ""


def green(outcome: Outcome) -> str:
    """Exit 0, and every result of the folder ``out`` is a pass."""
    bad = {result["status"]: result.get("message", "") for result in outcome.results().values() if result["status"] != "pass"}
    return f"exit {outcome.code}, {bad}: what is right is not green" if outcome.code or bad else ""


def refuses(*words: str) -> Must:
    """Exit 2 or 3, one line of standard error, with these words in it."""

    def must(outcome: Outcome) -> str:
        lines = [line for line in outcome.errors.strip().splitlines() if line.strip()]
        if outcome.code not in (2, 3):
            return f"exit {outcome.code} instead of 2 or 3"
        missing = [word for word in words if word not in outcome.errors]
        if missing:
            return f"the error does not name {missing[0]!r}: {outcome.errors.strip()[-300:]!r}"
        usage = bool(lines) and lines[0].startswith("Usage: ")
        return f"{len(lines)} lines of errors" if len(lines) > (3 if usage else 2) else "" if lines else "no word of what is wrong"

    return must


def status(case: str, *wanted: str, out: str = "out") -> Must:
    """The status of a case."""

    def must(outcome: Outcome) -> str:
        found = outcome.results(out).get(case, {}).get("status", "missing")
        return "" if found in wanted else f"{case} is {found} instead of {' or '.join(wanted)}"

    return must


def costs_only(case: str) -> Must:
    """This case fails, and nothing else but what its id begins."""

    def must(outcome: Outcome) -> str:
        bad = {name for name, result in outcome.results().items() if result["status"] not in ("pass", "unsupported")}
        others = sorted(name for name in bad if not name.startswith(case))
        return f"{case} does not fail" if case not in bad else f"{len(others)} others fail, such as {others[0]}" if others else ""

    return must


def within(seconds: float) -> Must:
    """An end in time."""
    return lambda outcome: "" if outcome.seconds <= seconds else f"took {outcome.seconds:.0f} s instead of {seconds:g}"


def file_text(name: str, text: str) -> Must:
    """A file that must still have this text."""

    def must(outcome: Outcome) -> str:
        file = outcome.folder / name
        return "" if file.is_file() and file.read_text(encoding="utf-8") == text else f"{name} is not as it was"

    return must


def no_file(name: str) -> Must:
    """A file that must not be there."""
    return lambda outcome: f"{name} is there" if (outcome.folder / name).exists() else ""


def any_of(*musts: Must) -> Must:
    """One of several outcomes is enough."""

    def must(outcome: Outcome) -> str:
        found = [each(outcome) for each in musts]
        return "" if not all(found) else "; nor: ".join(found)

    return must
