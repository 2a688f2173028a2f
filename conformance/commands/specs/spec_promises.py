"""Promises of the API in ``dmlcts spec``: list, show, coverage, and what is wrong with their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from dmlcts.conformance.runner.planning.promises import promises_named
from dmlcts.conformance.sequences.call_json import BY_NAME, call_name, write_call
from dmlcts.conformance.sequences.promises.profile import profiles_folder, read_profile
from dmlcts.conformance.sequences.promises.promise import (
    AS_DOCUMENTED,
    MISUSE,
    MUST,
    NOT_MEASURED,
    UNDEFINED,
    Expected,
    Promise,
    promises,
    promises_folder,
    read_promises,
    shared_data,
    shared_file,
)
from dmlcts.reports.formats.markdown import plain
from dmlcts.reports.site.content import FurtherPage


def promise_files() -> list[Path]:
    """The files about promises: those of the areas and of the profiles, and what they share."""
    return [shared_file(), *sorted(promises_folder().glob("*.yaml")), *sorted(profiles_folder().glob("*.yaml"))]


def is_about_promises(file: Path) -> bool:
    """Whether a file has promises, or is about some: by its folder's name, or its own."""
    return file.parent.name in (promises_folder().name, profiles_folder().name) or file.name == shared_file().name


def check_file(file: Path) -> None:
    """Reads such a file. Raises SpecError."""
    if file.name == shared_file().name:
        shared_data()
    elif file.parent.name == profiles_folder().name:
        read_profile(file)
    else:
        read_promises(file)


def promises_called(text: str) -> list[Promise]:
    """The promises that a word names: ``api``, an area, a promise, or a pattern; none if it names none."""
    names = set(promises_named(text))
    return [promise for promise in promises() if promise.name in names] if names else []


def print_list(out: Console, found: Iterable[Promise]) -> None:
    """Prints promises, a line each."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("promise", "area", "severity", "since", "of", "says"):
        table.add_column(column, overflow="fold")
    for promise in found:
        table.add_row(promise.name, promise.area, promise.severity, promise.feature_level, promise.api, promise.says)
    out.print(table)


def print_promise(out: Console, promise: Promise) -> None:
    """Prints all about a promise: what it says and where, the calls with what each must give, and what was measured."""
    out.print(f"[bold]{promise.name}[/]  {promise.api}, since feature level {promise.feature_level}, {promise.severity}")
    out.print(promise.says, markup=False)
    out.print(promise.url, style="dim", soft_wrap=True)
    if promise.isolated:
        out.print("in a process of its own", style="dim")
    out.print()
    for line in call_lines(promise):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    for version, what in promise.measured.items():
        out.print(f"\nDirectML {version}: {what}", markup=False)
    out.print(f"\ndmlcts run {promise.name} --backend directml", style="dim")


def call_lines(promise: Promise) -> list[str]:
    """Its calls as text, a line each: the number, the call, its members, and what it must give."""
    lines = []
    for index, (call, expected) in enumerate(zip(promise.calls, promise.expected, strict=True)):
        members = {name: value for name, value in write_call(call).items() if name != "call"}
        lines.append(f"{index:3} {call_name(type(call))} {members or ''}{_expectation_text(expected)}")
    return lines


def site_page() -> FurtherPage:
    """The page of all promises for the specification site, by area."""
    areas = {area: [each for each in promises() if each.area == area] for area in dict.fromkeys(each.area for each in promises())}
    values = {"areas": areas, "call_lines": call_lines, "not_kept": {(each.name, version) for each, version, _ in _broken()}}
    return FurtherPage("Promises of the API", "promises.html", "promises.html.j2", values)


def _expectation_text(expected: Expected) -> str:
    """What a call must give, where that is not S_OK alone."""
    value = "" if expected.value is None else expected.value.hex() if isinstance(expected.value, bytes) else str(expected.value)
    codes = "" if expected.codes == Expected().codes else " or ".join(expected.codes)
    relations = (
        "" if expected.same_as is None else f"the same as call {expected.same_as}",
        "" if expected.refused_unless is None else f"refused, unless call {expected.refused_unless} answered true",
    )
    parts = [part for part in (codes, value, *relations, "removes the device" if expected.removes else "") if part]
    return f"  -> {', '.join(parts)}" if parts else ""


def promise_json(promise: Promise) -> dict[str, Any]:
    """A promise as JSON."""
    calls = [
        write_call(call) | ({"expected": text.removeprefix("  -> ")} if (text := _expectation_text(expected)) else {})
        for call, expected in zip(promise.calls, promise.expected, strict=True)
    ]
    return {
        "promise": promise.name,
        "case": promise.id,
        "area": promise.area,
        "api": promise.api,
        "page": promise.url,
        "severity": promise.severity,
        "says": promise.says,
        "feature_level": promise.feature_level,
        "isolated": promise.isolated,
        "calls": calls,
        "measured": dict(promise.measured),
    }


def unused_calls(found: Sequence[Promise]) -> list[str]:
    """The calls of the vocabulary that no promise makes."""
    used = {call_name(type(call)) for promise in found for call in promise.calls}
    return [name for name in BY_NAME if name not in used]


def coverage_json(found: Sequence[Promise]) -> dict[str, Any]:
    """How many promises there are, by area and severity, which nobody measured, and which calls none of them makes."""
    counts = Counter((promise.area, promise.severity) for promise in found)
    return {
        "areas": {area: {s: counts[area, s] for s in (MUST, MISUSE, UNDEFINED)} for area in dict.fromkeys(p.area for p in found)},
        "not_measured": [
            promise.name for promise in found if all(what.startswith(NOT_MEASURED) for what in promise.measured.values())
        ],
        "unused_calls": unused_calls(found),
    }


def print_coverage(out: Console) -> bool:
    """Prints how many promises there are by area, and what is missing. Returns whether nothing is: a call that no promise makes is not tested."""
    found = coverage_json(promises())
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("area")
    for severity in (MUST, MISUSE, UNDEFINED):
        table.add_column(severity, justify="right")
    for area, counts in found["areas"].items():
        table.add_row(area, *(str(number or "") for number in counts.values()))
    out.print(table)
    for name in found["unused_calls"]:
        out.print(f"[red]in no promise:[/] the call {name}")
    if found["not_measured"]:
        out.print(f"not measured yet: {', '.join(found['not_measured'])}", markup=False)
    return not found["unused_calls"]


def broken_promises() -> list[str]:
    """What DirectML.dll does otherwise than its pages say of the API, as rows in Markdown: where, what, and the promise."""
    return [
        f"| {plain(promise.api)} | {plain(f'{promise.says} {version}: {what}')} | [{promise.name}]({promise.url}) |"
        for promise, version, what in _broken()
    ]


def _broken() -> Iterator[tuple[Promise, str, str]]:
    """The promises that DirectML.dll does not keep, with the version and what it does."""
    for promise in promises():
        for version, what in promise.measured.items():
            if promise.severity == MUST and not what.startswith((AS_DOCUMENTED, NOT_MEASURED)):
                yield promise, version, what
