"""The results record: one JSON object on each line, first the manifest, then a result for every selected case.

A file that ends in the middle (Ctrl-C, a lost machine) is still readable: it has the cases that ran; the others are ``not_run``.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TextIO

from dmlcts.reports.record.atomic import replace_file
from dmlcts.reports.record.paths import Paths, Reading, Writing
from dmlcts.spec.untrusted import sanitize
from dmlcts.spec.untrusted.files import MIB, InputError, check, parse_json_line, path_text, read_lines, validator

PASS, FAIL, WAIVED, UNEXPECTED_PASS, UNSUPPORTED, ERROR, NOT_RUN = (
    "pass", "fail", "waived", "unexpected_pass", "unsupported", "error", "not_run",
)  # fmt: skip

SEARCH = "fuzz"
"""The level of a random search (`dmlcts fuzz`) in its manifest."""

REPLAY = "replay"
"""The level of a manifest, and the kind of its cases, where the dispatches of a client were run again (`dmlcts replay`)."""

NEGATIVE = "negative"
"""The kind of a case whose desc or bindings are invalid: only a rejection passes."""

MEMORY = "memory"
"""Why a case is unsupported that the backend does not exclude: the machine lacks memory for it."""

SEQUENCE = "sequence"
"""The kind of a case that initializes, binds or dispatches an operator again."""

PROMISE, API = "promise", "api"
"""The kind of a case about the API beyond single operators, and what stands for the operator in its id and result."""

GRAPH, GRAPHS = "graph", "graphs"
"""The kind of a case that compiles and runs a graph of operators, and what stands for the operator in its id and result."""

BEYOND_OPERATORS = {API: PROMISE, GRAPHS: GRAPH}
"""What stands for the operator in results beyond single operators, each with the kind of its cases. None of them is counted as an operator."""

SEQUENCES = "sequences"
"""Why a case is unsupported that consists of calls beyond one dispatch: the backend does not perform them, which is no fault of what it computes."""

STDERR = "stderr"
"""The evidence of what a backend's program wrote to standard error before it rejected a case or reported a fault."""

ALLOWED_BY_PAGE = "allowed by the page"
"""The evidence, true, of a case of basis ``measured`` whose answers are not those that were measured, although the page's tolerance accepts them."""

STATUSES = (PASS, FAIL, ERROR, UNEXPECTED_PASS, WAIVED, UNSUPPORTED, NOT_RUN)
"""Every status. None of them is ever counted as another."""

FAILURES = frozenset({FAIL, ERROR, UNEXPECTED_PASS})
"""The statuses that make a run exit with 1."""


class RecordError(ValueError):
    """A file is not a valid results file; the message names file and line."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One wrong element: its ``index`` in the output, the values as text, the error in ULP of the output's type, and the allowed error."""

    tensor: str
    index: tuple[int, ...]
    expected: str
    actual: str
    ulp: float | None = None
    allowed: str = ""


MOST_MAPS = 4
"""The most error maps of a result."""

MOST_CELLS = 32
"""The most rows, and the most columns, of an error map."""

ULP_BINS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1024.0, 2.0**13, 2.0**16, 2.0**20, 2.0**24)
"""The upper ends of an error map's bins, included. One bin for larger errors follows, and one for those without a distance, as of a NaN."""


@dataclass(frozen=True, slots=True)
class ErrorMap:
    """Where the wrong elements of an output lie and how large its errors are, in bounded space however large the output is.

    The elements form a matrix: the axes of ``sizes`` before ``split`` are its rows, the others its columns. ``cells`` shows it with at most
    ``MOST_CELLS`` rows and columns, each row as digits: the share of wrong elements in ninths, rounded up, so that 0 means none. Cell i of n has
    the elements from ``i * size // n`` up to ``(i + 1) * size // n``. ``right_ulps`` and ``wrong_ulps`` count right and wrong elements by
    their error in ULP, in ``ULP_BINS`` and the two bins after them; both are empty if no error is measured.
    """

    tensor: str
    sizes: tuple[int, ...]
    split: int
    cells: tuple[str, ...]
    right_ulps: tuple[int, ...] = ()
    wrong_ulps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What happened to one case.

    ``message`` is one line. ``mismatches`` are the first wrong elements of ``wrong`` of ``elements``. ``desc`` is the operator desc in
    DxDispatch's form. ``error_maps`` show the first ``MOST_MAPS`` outputs with wrong elements. ``worst_ulp`` is the largest error, passes included, and ``worst_share`` the largest relative to the allowed error:
    above 1 it is a failure. ``vacuous`` is how many of the ``elements`` have a bound of more than half the largest magnitude in their
    output, so that they are hardly judged. ``grade`` is a remark such as ``correctly rounded``. ``matched_answer`` is the basis of the
    answer that a contested case matched. ``evidence`` holds the rest: a rejection's stage and code, a crash's last output, a shrunken example as a case. ``repro`` is the
    command that runs this case again. ``waiver`` is the reason of the waiver that applied. ``seconds`` is the time it took. ``undeclared`` is
    the part of an unsupported case that the backend's description excludes: ``operator``, ``data type`` or ``validation``; or ``memory``,
    of which the machine has too little for a case of level huge. ``paths`` are the code paths that ran, in order, as far as the backend names any.
    """

    case: str
    operator: str
    data_type: str
    kind: str
    basis: str
    feature_level: str
    status: str
    message: str = ""
    seconds: float = 0.0
    desc: dict[str, Any] | None = None
    mismatches: tuple[Mismatch, ...] = ()
    wrong: int = 0
    elements: int = 0
    worst_ulp: float | None = None
    worst_share: float | None = None
    vacuous: int = 0
    grade: str = ""
    matched_answer: str = ""
    repro: str = ""
    waiver: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    undeclared: str = ""
    error_maps: tuple[ErrorMap, ...] = ()
    paths: Paths = ()

    @property
    def is_beyond(self) -> bool:
        """Whether the case is about more than a single operator: a promise of the API, or a graph."""
        return self.operator in BEYOND_OPERATORS


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was run, on what and how: everything needed to run it again. Times are UTC in ISO 8601; ``selected`` counts the cases.

    ``selection`` is what selected the cases besides the level: operators, an expression (-k), ids; empty if nothing did. ``finished`` is empty
    until the run ends. ``unlisted`` are the selected operators whose cases were not made before the run ended, so that they are not in the
    record either; of a random search, those of which no case ran. ``spec_files`` is a hash of the spec's files until ``spec_version``, which takes a second, is known. ``inputs`` is a hash of the options and files that decide the results: `dmlcts run --resume` compares it.
    ``resumed`` are the times at which that went on with the run.
    ``required`` is what `--require` named, as OPERATOR/TYPE with ``*`` for all, or ``validation``. ``waivers`` are the waiver files, each with
    ``file`` and ``sha256``. ``unused_waivers`` are the patterns that match none of the selected cases. ``further`` counts, by status, results of
    a random search that are not kept. ``stopped`` is why the run stopped by itself, empty if it did not, and ``stopped_operators`` why it left
    the rest of an operator: too many cases in a row that lost the host. ``left_out`` says which cases were not run for a reason that forbids a claim: they run the
    kernels that they ran in an older run. ``profile`` is the one of the API that selected the promises, with its ``client`` and what that is ``able`` to do where all are kept.
    """

    suite_version: str
    spec_version: str
    backend: dict[str, Any]
    backend_spec: str
    command: str
    level: str
    basis: str
    feature_level: str
    seed: str
    platform: dict[str, str]
    started: str
    finished: str = ""
    seconds: float = 0.0
    selected: int = 0
    shard: str = ""
    interrupted: bool = False
    selection: str = ""
    required: list[str] = field(default_factory=list)
    waivers: list[dict[str, str]] = field(default_factory=list)
    unused_waivers: tuple[str, ...] = ()
    unlisted: list[str] = field(default_factory=list)
    inputs: str = ""
    spec_files: str = ""
    stopped: str = ""
    stopped_operators: dict[str, str] = field(default_factory=dict)
    further: dict[str, int] = field(default_factory=dict)
    left_out: str = ""
    profile: dict[str, str] = field(default_factory=dict)
    resumed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Record:
    """A whole run."""

    manifest: Manifest
    results: tuple[Result, ...]

    def counts(self) -> dict[str, int]:
        """How many results have each status; every status has an entry."""
        found = dict.fromkeys(STATUSES, 0)
        for result in self.results:
            found[result.status] += 1
        return found


_MAP_LISTS = ("sizes", "cells", "right_ulps", "wrong_ulps")

_DEFAULTS = {f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(Result)}


def result_json(result: Result) -> dict[str, Any]:
    """A result as JSON without default values, and without its code paths, which a ``Lines`` adds. Nothing is copied (``asdict`` would copy, and
    takes 13 times as long)."""
    found = {name: value for name, default in _DEFAULTS.items() if (value := getattr(result, name)) != default}
    found.pop("paths", None)
    if result.mismatches:
        found["mismatches"] = [asdict(mismatch) for mismatch in result.mismatches]
    if result.error_maps:
        found["error_maps"] = [asdict(error_map) for error_map in result.error_maps]
    return found


def read_result(data: dict[str, Any]) -> Result:
    """A result from its JSON. Raises TypeError if it is not one, KeyError for a mismatch without an index."""
    mismatches = tuple(Mismatch(**{**m, "index": tuple(m["index"])}) for m in data.get("mismatches", ()))
    maps = tuple(
        ErrorMap(**{**m, **{name: tuple(m[name]) for name in _MAP_LISTS if name in m}}) for m in data.get("error_maps", ())
    )
    result = Result(**{**data, "mismatches": mismatches, "error_maps": maps})
    if result.status not in STATUSES:
        raise TypeError(f"{result.status!r} is not a status; known: {', '.join(STATUSES)}")
    return result


def write_line(stream: TextIO, kind: str, data: Any) -> None:
    """Writes one line of a record: ``{"result": {...}}``, in ASCII: the output of a crashed program may be invalid Unicode."""
    stream.write(json.dumps({kind: data}, separators=(",", ":")) + "\n")


class Lines:
    """Results as lines of one file, which is written from its beginning: code paths are numbered in it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._paths = stream, Writing()

    def result(self, result: Result) -> None:
        """Writes a result, and before it what no line has of its code paths."""
        data = result_json(result)
        if result.paths:
            for kind, entry in self._paths.lines(result.paths):
                write_line(self._stream, kind, entry)
            data["paths"] = self._paths.number(result.paths)
        write_line(self._stream, "result", data)


def write_record(record: Record, file: Path) -> None:
    """Writes a whole record, atomically: a reader sees the old file or the new one."""
    with replace_file(file) as stream:
        write_line(stream, "manifest", asdict(record.manifest))
        lines = Lines(stream)
        for result in record.results:
            lines.result(result)


def read_manifest(data: dict[str, Any]) -> Manifest:
    """A manifest from its JSON. Raises TypeError if it is not one."""
    return Manifest(**{**data, "unused_waivers": tuple(data.get("unused_waivers", ()))})


def read_record(file: Path) -> Record:
    """Reads a record.

    Raises:
        RecordError: the file cannot be read or is too large, a line is not JSON or not in the form of schema/record.schema.json, the
            manifest is missing or is there twice, a case has several results, or there are more results than cases that a finished run
            selected. A truncated last line is ignored.
    """
    manifest: Manifest | None = None
    results: dict[str, Result] = {}
    for line, kind, data in read_entries(file):
        try:
            if kind == "result":
                if (result := read_result(data)).case in results:
                    raise RecordError(f"{file}:{line}: another result of the case {result.case}; each case has one")
                results[result.case] = result
                continue
            if manifest is not None:
                raise RecordError(f"{file}:{line}: a second manifest; a results file has one, at its start")
            manifest = read_manifest(data)
        except (TypeError, KeyError) as error:
            raise RecordError(f"{file}:{line}: not a {kind}: {error}") from None
    if manifest is None:
        raise RecordError(f"{file}: has no manifest; a results file starts with one")
    if manifest.finished and len(results) > manifest.selected:
        raise RecordError(
            f"{file}: has results of {len(results):,} cases, but its manifest says that {manifest.selected:,} were selected"
        )
    return Record(manifest, tuple(results.values()))


LARGEST, LONGEST = 1024 * MIB, 4 * MIB
"""The most bytes of a results file, and of a line in it."""


def read_entries(file: Path, known: Container[str] = ()) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Line number, kind and data of every line: checked against the schema, every text in it sanitize. Raises RecordError.

    Lines of code paths are none of these: a result has ``paths`` itself in place of their number.
    Of results of ``known`` cases nothing but the case counts: they are not checked, which takes most of the time.
    """
    checked = validator("dmlcts.reports", "record")
    number, paths = 0, Reading()

    def wrong(path: Sequence[str | int], problem: str) -> RecordError:
        return RecordError(f"{file}:{number}: {path_text(path) or 'a line of a results file'}: {problem}")

    try:
        for number, text in enumerate(read_lines(file, LARGEST, LONGEST), start=1):
            try:
                entry = parse_json_line(text)
            except InputError as error:
                if not text.endswith("\n"):
                    return  # the run was cut off while this line was written
                raise RecordError(f"{file}:{number}: not a line of a results file: {error}") from None
            if known and isinstance(case := _case_of(entry), str) and case in known:
                yield number, "result", {"case": case}
                continue
            check(checked, entry, wrong)
            ((kind, data),) = entry.items()
            try:
                if kind in ("path", "sequence"):
                    paths.add(kind, data)
                    continue
                ran = {"paths": paths.paths(data["paths"])} if "paths" in data else {}
            except IndexError as error:
                raise RecordError(f"{file}:{number}: {error}") from None
            yield number, kind, {**(data if _is_clean(text) else _clean_data(data)), **ran}
    except InputError as error:
        raise RecordError(f"{file}{f':{error.line}' if error.line else ''}: {error}") from None


def _case_of(entry: Any) -> object:
    """What an unchecked line calls its case; None where it is no result."""
    result = entry.get("result") if isinstance(entry, dict) else None
    return result.get("case") if isinstance(result, dict) else None


def _is_clean(text: str) -> bool:
    """Whether all strings in a line are clean, which is quickly seen for almost every line: there is no escape in it but quotes."""
    text = text.removesuffix("\n")
    return (
        len(text) < sanitize.LONGEST_LINE
        and text.isascii()
        and text.isprintable()
        and "::" not in text
        and "##" not in text
        and ("\\" not in text or "\\" not in text.replace('\\"', ""))
    )


def _clean_data(data: dict[str, Any]) -> dict[str, Any]:
    """The data of a line with clean text: lines, but in the evidence blocks."""
    return {key: sanitize.data(value, sanitize.block if key == "evidence" else sanitize.line) for key, value in data.items()}


def unfinished_results(selected: Iterable[Result], done: Iterable[Result]) -> list[Result]:
    """The results of ``done``, and those of ``selected`` (all ``not_run``) for the cases that have none."""
    finished = {result.case: result for result in done}
    return [finished.pop(result.case, result) for result in selected] + list(finished.values())
