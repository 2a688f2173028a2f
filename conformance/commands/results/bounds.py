"""``dmlcts bounds``: the specs' tolerances beside measured errors, so that a person can tighten them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import floor, log10
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from dmlcts.conformance.execution.judge import FORMATS
from dmlcts.conformance.execution.judge.unchecked import vacuous_reasons
from dmlcts.conformance.runner.folder.journal import read_run
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.screen.terminal import console, count_of
from dmlcts.reports.formats.markdown import plain
from dmlcts.reports.record.files import write_text
from dmlcts.reports.record.record import FAIL, PASS, Record, Result
from dmlcts.reports.record.verdict import backend_name
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import MEASURED, Operator, Tolerance
from dmlcts.spec.reading.loader import load

LOOSE = 8
"""A bound of more than this many times the worst measured error is called loose: it could hide a bug."""

_STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)
"""A suggested share is rounded up to one of these numbers times a power of ten."""

_PREFACE = (
    "The specs' tolerances, and the largest errors measured on implementations. Written by `dmlcts bounds RESULTS.jsonl... --table FILE`,",
    "not by hand. An error is given in ULP of the output's data type, and in percent of the error allowed for that element. Both are the",
    "largest of all cases that passed, and may come from different elements: after cancellation, an error of many ULP may be a small",
    "share. The column `would do` is twice the largest share, rounded up. A bound is loose if it is more than",
    f"{LOOSE} times the worst measured error, failures included. Few cases prove little. A bound is vacuous if it is more than half the",
    "largest magnitude of its output: 0 could pass, or twice the value. Vacuous bounds are listed below, with the reasons.",
)


@dataclass(frozen=True, slots=True)
class RunErrors:
    """The errors of one run for an operator and output data type.

    ``worst`` is the largest error of the ``passed`` cases in ULP, ``share`` the largest relative to the allowed error, None if
    unknown; ``case`` is the case of ``worst``. ``failed`` cases have errors of up to ``failed_by`` ULP. ``used`` is the largest share
    of all cases, failures included, None if it is unknown for one of them.
    """

    passed: int
    worst: float
    share: float | None
    case: str
    failed: int
    failed_by: float
    used: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """An operator with an output data type, its bound in words, and what each run measured; None for a run without such a case."""

    operator: str
    data_type: str
    bound: str
    runs: tuple[RunErrors | None, ...]

    @property
    def would_do(self) -> str:
        """The share of the bound that would accept twice the worst error of the cases that passed."""
        shares = [run.share for run in self.runs if run is not None and run.passed]
        known = [share for share in shares if share is not None]
        if not known or len(known) < len(shares):
            return "-"
        percent = 200 * max(known)
        return "exact" if not percent else "as it is" if percent > 80 else f"{simple(percent):g} % of it"

    @property
    def remark(self) -> str:
        """Whether the spec's bound is loose, and how much."""
        used = [run.used for run in self.runs if run is not None]
        known = [share for share in used if share is not None]
        if len(known) < len(used) or LOOSE * max(known) >= 1:
            return ""
        return f"loose: {_number(floor(1 / max(known)))} times the worst" if max(known) else "loose: no error at all"


@dataclass(frozen=True, slots=True)
class Unchecked:
    """The elements with vacuous bounds of an operator and output data type, in one run and for the same reasons.

    ``elements`` of the ``judged`` ones, in ``cases`` cases, most of them in the case ``worst``; ``why`` are the reasons that the spec gives
    for these cases, or ``not explained``.
    """

    operator: str
    data_type: str
    run: int
    elements: int
    judged: int
    cases: int
    worst: str
    why: str


@click.command("bounds")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--table", "table_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.md", help="write the table in Markdown"
)
@click.option("--verbose", "-v", is_flag=True, help="also name the case of each worst error")
def command(results: tuple[Path, ...], table_file: Path | None, verbose: bool) -> None:
    """Compares the specs' tolerances with the errors of runs.

    RESULTS are results files, or the output folders of runs, of one implementation or several. Only cases that passed or failed with a
    measured error count.

    \b
    Exit codes: 0 the table is printed; 2 usage or input error.
    """
    records = [read_run(path) for path in dict.fromkeys(results)]
    names = list(_run_names(records))
    found = rows(records)
    if table_file:
        write_text(table_file, markdown(records, names, found, unchecked_bounds(records), verbose))
    out = console()
    for title, head, lines in _tables(names, found, unchecked_bounds(records), verbose):
        printed = Table(box=None, pad_edge=False, header_style="dim", title=title or None, title_justify="left")
        for name in head:
            printed.add_column(escape(name), overflow="fold")
        for line in lines:
            printed.add_row(*map(escape, line))
        out.print(printed)
    for note in _notes(records, names, found):
        out.print(escape(note))


def rows(records: Sequence[Record]) -> list[Row]:
    """A row for each operator and output data type that any of the runs measured, where the spec's tolerance is not exact.

    Raises:
        UsageError: a result is of an operator that has no spec.
    """
    measured: defaultdict[tuple[str, str], list[list[Result]]] = defaultdict(lambda: [[] for _ in records])
    for number, record in enumerate(records):
        for result in record.results:
            if result.status in (PASS, FAIL) and result.worst_ulp is not None:
                measured[result.operator, output_type(operator_of(result), result.data_type)][number].append(result)
    types = list(abi().data_types)
    places = sorted(measured, key=lambda place: (place[0], types.index(place[1].split()[0])))
    with_bounds = ((place, bound_text(load(place[0]), place[1])) for place in places)
    return [Row(*place, bound, tuple(map(run_errors, measured[place]))) for place, bound in with_bounds if bound != "exact"]


def unchecked_bounds(records: Sequence[Record]) -> list[Unchecked]:
    """Vacuous bounds, by operator, output data type, run and reason: what no entry explains stands alone.

    Raises:
        UsageError: a result is of an operator that has no spec.
    """
    judged: defaultdict[tuple[str, str, int], list[Result]] = defaultdict(list)
    for number, record in enumerate(records):
        for result in record.results:
            if result.status in (PASS, FAIL) and result.elements:
                judged[result.operator, output_type(operator_of(result), result.data_type), number].append(result)
    found = []
    for (operator, data_type, number), results in sorted(judged.items()):
        by_reason: defaultdict[str, list[Result]] = defaultdict(list)
        for result in results:
            if result.vacuous:
                by_reason["; ".join(vacuous_reasons(result.case)) or "not explained"].append(result)
        for why, hit in by_reason.items():
            worst = max(hit, key=lambda result: (result.vacuous, result.vacuous / result.elements))
            counts = sum(result.vacuous for result in hit), sum(result.elements for result in results), len(hit)
            found.append(Unchecked(operator, data_type, number, *counts, worst.case, why))
    return found


def operator_of(result: Result) -> Operator:
    """The operator of a result. Raises UsageError if it has no spec here."""
    try:
        return load(result.operator)
    except KeyError:
        problem = f"{result.case} is a case of the operator {result.operator!r}, which has no spec here"
        raise UsageError(f"{problem}; use the version of the suite that ran it") from None


def run_errors(results: Sequence[Result]) -> RunErrors | None:
    """The summary of one run's measured results; None if there are none."""
    if not results:
        return None
    passed, failed = ([result for result in results if result.status == status] for status in (PASS, FAIL))
    worst = max(passed, key=_error, default=None)
    return RunErrors(
        passed=len(passed),
        worst=_error(worst) if worst else 0.0,
        share=_share(passed),
        case=worst.case if worst else "",
        failed=len(failed),
        failed_by=max(map(_error, failed), default=0.0),
        used=_share(results),
    )


def _error(result: Result) -> float:
    return result.worst_ulp or 0.0


def _share(results: Iterable[Result]) -> float | None:
    shares = [result.worst_share for result in results]
    known = [share for share in shares if share is not None]
    return max(known) if known and len(known) == len(shares) else None


def simple(number: float) -> float:
    """The smallest number with one or two digits that is at least ``number``, which is positive."""
    power = 10.0 ** floor(log10(number))
    return next(step * power for step in _STEPS if step * power >= number * (1 - 1e-12))


# Bounds in words


@cache
def output_types(operator: Operator) -> Mapping[str, frozenset[str]]:
    """The data types that each output may have, by the spec's tables."""
    rows = [(name, row) for table in operator.tables() for name, row in table.tensors.items()]
    return {
        output.name: frozenset(t for name, row in rows if name == output.name for t in row.data_types)
        for output in operator.outputs()
    }


def output_type(operator: Operator, data_type: str) -> str:
    """The output's data type in a case whose first tensor has ``data_type``; if outputs have other types, all of them, separated by spaces."""
    listed = frozenset[str]().union(*output_types(operator).values())
    if data_type in listed or not listed:
        return data_type
    # An error in ULP belongs to a floating-point output.
    floats = {name for name in listed if abi().data_types[name].is_float}
    return " ".join(name for name in abi().data_types if name in (floats or listed))


def bound_text(operator: Operator, data_types: str) -> str:
    """The tolerances that the spec has for outputs of these types, in words; ``exact`` if there is no other."""
    outputs = [(name, t) for t in data_types.split() for name, listed in output_types(operator).items() if t in listed]
    return "; ".join(dict.fromkeys(text for name, t in outputs for text in _tolerances(operator, name, t))) or "exact"


def _tolerances(operator: Operator, output: str, data_type: str) -> Iterator[str]:
    """The tolerance of an output in words, preceded by those with a condition."""
    for exception in operator.tolerance.exceptions:
        named = not exception.outputs or output in exception.outputs
        if named and (not exception.data_types or data_type in exception.data_types):
            words = tolerance_text(exception.tolerance, data_type)
            if exception.basis == MEASURED:
                words = f"{words}, in measured cases"
            elif exception.when is None:
                yield words
                return
            yield f"{words}, when {exception.when.text}" if exception.when else words
    yield tolerance_text(operator.tolerance, data_type)


def tolerance_text(tolerance: Tolerance, data_type: str) -> str:
    """The class and its bound: ``ulp: 3 ULP``. Integers are exact in most classes, whatever the spec says about real numbers."""
    if data_type not in FORMATS and tolerance.judge not in ("discrete", "check"):
        return "exact"

    def value(name: str, default: float = 0.0) -> float:
        return tolerance.parameter(name, data_type, default)

    def parts(*found: tuple[float, str]) -> list[str]:
        return [f"{number:.4g}{unit}" for number, unit in found if number]

    match tolerance.judge:
        case "ulp":
            return f"ulp: {value('ulps', 1.0):g} ULP"
        case "mixed":
            bounds = parts((value("ulps", 1.0), " ULP"), (value("absolute"), ""))
            if "argument" in tolerance.parameters:
                bounds.append(f"abs(r) 2^-{FORMATS[data_type].p} ({value('argument') + 1:g} + abs(x))")
            return f"mixed: {' or '.join(bounds)}"
        case "accumulate" | "product":
            bounds = parts(
                (value("accumulator"), " bits"),
                (value("terms"), " more terms"),
                (value("ulps"), " more ULP"),
                (value("absolute"), " more"),
            )
            what = "rounding of L terms" if tolerance.judge == "accumulate" else "rounding of L factors"
            return ", ".join((f"{tolerance.judge}: {what}", *bounds))
        case "discrete":
            return "discrete: the integers that rounding may give"
        case "check":
            return "check: a property"
    return tolerance.judge


# Tables


def markdown(
    records: Sequence[Record], names: Sequence[str], found: Sequence[Row], hardly: Sequence[Unchecked], verbose: bool
) -> str:
    """Bounds and errors in Markdown, without anything that identifies the machine."""
    page = ["# Bounds and errors", "", *_PREFACE, ""]
    for title, head, lines in _tables(names, found, hardly, verbose):
        page += [f"## {title}", ""] if title else []
        page += [f"| {' | '.join(map(plain, line))} |" for line in (head, *lines)]
        page.insert(len(page) - len(lines), f"|{' --- |' * len(head)}")
        page.append("")
    return "\n".join([*page, *(f"- {plain(note)}" for note in _notes(records, names, found))]) + "\n"


def _tables(
    names: Sequence[str], found: Sequence[Row], hardly: Sequence[Unchecked], verbose: bool
) -> Iterator[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Title, head and lines of each table."""
    if found:
        lines = [(row.operator, row.data_type, row.bound, *map(seen_text, row.runs), row.would_do, row.remark) for row in found]
        yield "", ("operator", "data type", "bound", *names, "would do", "remark"), lines
    if hardly:
        head = ("operator", "data type", "run", "elements", "most of them in case", "why")
        explained: list[tuple[str, ...]] = [
            (one.operator, one.data_type, names[one.run], unchecked_text(one), one.worst, one.why) for one in hardly
        ]
        yield "Vacuous bounds", head, explained
    if found and verbose:
        worst = [
            (row, name, run) for row in found for name, run in zip(names, row.runs, strict=True) if run is not None and run.passed
        ]
        cases: list[tuple[str, ...]] = [(row.operator, row.data_type, name, run.case) for row, name, run in worst]
        yield "Cases of the worst errors", ("operator", "data type", "run", "case"), cases


def unchecked_text(one: Unchecked) -> str:
    """``12 of 4,860 elements, 2 cases``."""
    return f"{one.elements:,} of {one.judged:,} elements, {count_of(one.cases, 'case')}"


def seen_text(run: RunErrors | None) -> str:
    """``3.2 ULP (20 %), 41 cases``; failures are listed separately."""
    if run is None:
        return "-"
    share = "" if run.share is None else f" ({100 * run.share:.3g} %)"
    texts = [f"{_number(run.worst)} ULP{share}, {count_of(run.passed, 'case')}"] if run.passed else []
    if run.failed:
        texts.append(f"{run.failed:,} failed, by up to {_number(run.failed_by)} ULP")
    return "; ".join(texts)


def _notes(records: Sequence[Record], names: Sequence[str], found: Sequence[Row]) -> Iterator[str]:
    """A description of each run, and notes on the figures' limits."""
    for number, (record, name) in enumerate(zip(records, names, strict=True)):
        failed = sum(run.failed for row in found if (run := row.runs[number]) is not None)
        judged = sum(run.passed for row in found if (run := row.runs[number]) is not None) + failed
        manifest = record.manifest
        which = f"level {manifest.level}, {manifest.started[:10]}, spec {manifest.spec_version}"
        yield f"{name}: {which}; {count_of(judged, 'case')} with a measured error, {failed:,} of them failed"
    if len({record.manifest.spec_version for record in records}) > 1:
        yield "The runs used different specs or operators: a percentage refers to the bound at that time."
    if not found:
        yield "No errors to show: no case of an operator with a tolerance was measured."


def _run_names(records: Iterable[Record]) -> Iterator[str]:
    """Name and version of each run's backend; the second run of the same one is ``NAME (2)``."""
    taken: defaultdict[str, int] = defaultdict(int)
    for record in records:
        name = backend_name(record.manifest)
        taken[name] += 1
        yield name if taken[name] == 1 else f"{name} ({taken[name]})"


def _number(value: float) -> str:
    """A number with three significant digits, or more if it is large: ``0.25``, ``3.2``, ``8,192``, ``1.2e+09``."""
    return f"{value:,.0f}" if 1000 <= value < 1e6 else f"{value:.3g}"
