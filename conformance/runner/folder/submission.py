"""Making a submission of a run, and checking one: what the suite knows of its cases is held against what the record says.

A check never runs the implementation. It makes the cases anew, so that it knows which there must be, and judges the outputs that are included, which the
submitter's backend gave when it was asked again for a sample that the record's own hash chose.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.execution.answers import answers_of
from dmlcts.conformance.execution.execute import DATA_TYPE, compare_outputs, dispatch_case, undeclared_outcome
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.runner.planning.beyond import Beyond, select_beyond
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.selection import operators_named, selected_cases
from dmlcts.generator.case.case import AGREEMENT, HUGE, REJECTION, RELATION, SEQUENCE, Case
from dmlcts.generator.case.inputs import inputs as case_inputs
from dmlcts.reports.claim.claim_json import claim_json
from dmlcts.reports.claim.submission import CLAIM, INDEX, LARGEST_OUTPUTS, RESULTS, Submission, index_of, sample_of
from dmlcts.reports.gate.waivers import Waiver, WaiverError, apply_waivers, read_waivers
from dmlcts.reports.record.labels import checked_record
from dmlcts.reports.record.record import (
    BEYOND_OPERATORS,
    MEMORY,
    NOT_RUN,
    PASS,
    SEQUENCES,
    WAIVED,
    Record,
    Result,
    read_record,
)
from dmlcts.reports.record.verdict import count_of, lacks_operators
from dmlcts.reports.record.versions import unlike, what_ran
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.promises import spec_version
from dmlcts.spec.untrusted.files import InputError, parse_json

_NO_OUTPUTS = frozenset({REJECTION, RELATION, AGREEMENT, SEQUENCE})
"""What a case may expect that one dispatch does not show."""

_SHOWN = 3

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, in words, and what is wrong with it: nothing if it holds."""

    name: str
    problems: tuple[str, ...]


def why_not_whole(record: Record) -> str:
    """Why a record cannot be submitted; empty if it can."""
    manifest = record.manifest
    if manifest.interrupted or not manifest.finished or lacks_operators(manifest) or record.counts()[NOT_RUN]:
        return "the run did not finish"
    if manifest.shard not in ("", "1/1"):
        return f"it is shard {manifest.shard} alone: merge all shards first"
    if manifest.left_out:
        return f"cases were left out: {manifest.left_out}"
    if manifest.level not in ("core", "full", "huge"):
        return f"level {manifest.level} claims nothing"
    try:
        _selected_operators(record)
    except UsageError:
        return f"only some cases of its operators were selected ({manifest.selection})"
    return ""


def _selected_operators(record: Record) -> tuple[str, ...]:
    """The patterns that selected operators, none for all. Raises UsageError if more than operators was selected."""
    patterns = tuple(filter(None, record.manifest.selection.split(", ")))
    operators_named(patterns)
    return patterns


def cases_of(record: Record) -> list[Case]:
    """The cases that this version of the suite has for the run's level, basis, feature level and operators. Raises UsageError."""
    manifest = record.manifest
    return selected_cases(
        RunOptions(
            level=manifest.level, basis=manifest.basis, feature_level=manifest.feature_level, operators=_selected_operators(record)
        )
    )


def beyond_of(record: Record) -> list[Beyond]:
    """The promises of the API and the graphs that such a run has: all of its level and feature level if it has any. A record without them claims nothing of them."""
    manifest, has = record.manifest, {result.operator for result in record.results}
    options = RunOptions(level=manifest.level, basis=manifest.basis, feature_level=manifest.feature_level)
    return [case for name in BEYOND_OPERATORS if name in has for case in select_beyond(name, options)]


def sampled_cases(record: Record, cases: Sequence[Case], results_sha256: str) -> list[Case]:
    """The cases of the sample: of those that passed by computing something of a size to send."""
    passed = {result.case for result in record.results if result.status == PASS}
    able = {
        case.id: case
        for case in cases
        if case.id in passed and case.expect not in _NO_OUTPUTS and _output_bytes(case) <= LARGEST_OUTPUTS
    }
    return [able[case] for case in sample_of(able, results_sha256)]


def _output_bytes(case: Case) -> int:
    names = {field.name for field in case.operator.outputs()}
    return sum(
        int(np.prod(tensor.sizes, dtype=np.int64)) * numpy_dtype(tensor.data_type).itemsize
        for name, tensor in case.desc.tensors()
        if name.partition("[")[0] in names
    )


# Outputs


def ask_again(cases: Sequence[Case], backend: Backend, info: BackendInfo, timeout: float) -> Iterator[tuple[str, bytes]]:
    """The outputs of each case as a file for the submission. Raises UsageError if one does not pass now."""
    for case in cases:
        outcome, outputs = dispatch_case(case, case_inputs(case), backend, info, timeout)
        if outcome.status != PASS:
            raise UsageError(f"{case.id} passed in the run, and now it does not: {outcome.message or outcome.status}")
        yield case.id, pack_outputs(outputs)


def pack_outputs(outputs: Mapping[str, Array]) -> bytes:
    """The bytes of outputs, packed, one after the other by name."""
    return b"".join(np.ascontiguousarray(outputs[name]).tobytes() for name in sorted(outputs))


def unpack_outputs(data: bytes, like: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs in such bytes, of the types and sizes of ``like``. Raises ValueError if these take another number of bytes."""
    if len(data) != (size := sum(array.nbytes for array in like.values())):
        raise ValueError(f"it has {len(data):,} bytes, and the outputs take {size:,}")
    found, at = {}, 0
    for name in sorted(like):
        array = like[name]
        found[name] = np.frombuffer(data, np.uint8, array.nbytes, at).copy().view(array.dtype).reshape(array.shape)
        at += array.nbytes
    return found


# Checks


def verify(submission: Submission, note: Callable[[str], None] = lambda text: None) -> Iterator[Check]:
    """Every check of a submission, one after the other; ``note`` is told what takes long. The first that nothing can follow from ends them.

    Its form and hashes were checked when it was read.
    """
    yield Check(f"{len(submission.files)} files have the hashes that {INDEX} lists", ())
    record, problem = _record(submission.files[RESULTS])
    if record is None:
        yield Check("the record can be read", (problem,))
        return
    versions = tuple(_wrong_versions(record))
    yield Check("it was made by this version of the suite, with these promises", versions)
    whole = why_not_whole(record)
    yield Check("the run is whole", (whole,) if whole else ())
    digest = submission.index["files"][RESULTS]
    yield Check("index and record agree", tuple(_wrong_index(submission, record)))
    yield Check("the claim follows from the record", tuple(_wrong_claim(submission.files[CLAIM], record, digest)))
    waivers, problems = _waivers(submission, record)
    yield Check(
        f"{count_of(len(waivers), 'waiver')} explain all that is waived, and no pass", (*problems, *_wrong_waived(record, waivers))
    )
    if versions or whole:
        return
    note("making the cases that there must be")
    cases, beyond = cases_of(record), beyond_of(record)
    yield Check(f"each of {count_of(len(cases) + len(beyond), 'case')} has one result", tuple(_wrong_cases(record, cases, beyond)))
    sample = sampled_cases(record, cases, digest)
    if submission.index["sample"]:
        note("judging the outputs of the sample")
        yield Check(
            f"the outputs of {count_of(len(sample), 'case')} that the record's hash chose are right",
            tuple(_wrong_outputs(submission, record, sample)),
        )


def _record(data: bytes) -> tuple[Record | None, str]:
    """The record, or why it is none."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / RESULTS
        file.write_bytes(data)
        try:
            return checked_record(read_record(file), RESULTS), ""
        except ValueError as error:
            return None, str(error).replace(str(file), RESULTS)


def _wrong_versions(record: Record) -> Iterator[str]:
    manifest, suite = record.manifest, metadata.version("directml-conformance")
    if manifest.suite_version != suite:
        yield f"the suite was {manifest.suite_version}, and this is {suite}: check it with that version"
    try:
        own = spec_version(operators_named(_selected_operators(record)))
    except UsageError:
        return  # it is not whole
    if manifest.spec_version != own:
        yield f"the spec's promises were {manifest.spec_version}, and these are {own}: a changed spec, or another commit of the suite"


def _wrong_index(submission: Submission, record: Record) -> Iterator[str]:
    expected = index_of(record, submission.index["files"], submission.index["sample"])
    return (f"{INDEX}: {name} is not the record's" for name, value in expected.items() if submission.index[name] != value)


def _wrong_claim(data: bytes, record: Record, digest: str) -> Iterator[str]:
    try:
        found = parse_json(data.decode("utf-8"))
    except (InputError, UnicodeDecodeError) as error:
        yield f"{CLAIM}: {error}"
        return
    expected = claim_json(record, digest)
    found = found if isinstance(found, dict) else {}
    for name in sorted({*expected, *found}):
        if found.get(name) != _plain(expected.get(name)):
            yield f"{CLAIM}: {name} is not what the record shows"


def _plain(value: Any) -> Any:
    """A value as a JSON file gives it back."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _waivers(submission: Submission, record: Record) -> tuple[list[Waiver], list[str]]:
    """The waivers of the files, and what is wrong with these."""
    problems: list[str] = []
    found: list[Waiver] = []
    files = [submission.index["files"][f"waivers/{number}.yaml"] for number in range(1, len(submission.waivers()) + 1)]
    named = [entry["sha256"] for entry in record.manifest.waivers]
    if files != named:
        problems.append(f"the run had {count_of(len(named), 'waiver file')}, and these {len(files)} are not the same")
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(submission.waivers(), start=1):
            file = Path(folder) / f"{number}.yaml"
            file.write_bytes(data)
            try:
                found += read_waivers(file)
            except WaiverError as error:
                problems.append(str(error).replace(str(file), f"waivers/{file.name}"))
    return found, problems


def _wrong_waived(record: Record, waivers: Sequence[Waiver]) -> Iterator[str]:
    """Results that the waivers cannot have given."""
    ran, today = what_ran(record.manifest.backend), datetime.fromisoformat(record.manifest.started).date()
    valid = [
        waiver for waiver in waivers if not unlike(waiver.versions, ran) and (waiver.expires is None or waiver.expires >= today)
    ]
    reasons: dict[str, list[Waiver]] = {}
    for waiver in valid:
        reasons.setdefault(f"{waiver.reason} ({waiver.issue})", []).append(waiver)
    for result in record.results:
        if result.status == WAIVED and not any(
            each.matches(result.case) and each.excuses(result) for each in reasons.get(result.waiver, ())
        ):
            yield f"{result.case} is waived, and no waiver that is valid explains it"
        elif result.status == PASS and valid and apply_waivers(result, valid, today, ran).status != PASS:
            yield f"{result.case} passed, and a waiver says that it fails: it must be an unexpected pass"


def _wrong_cases(record: Record, cases: Sequence[Case], beyond: Sequence[Beyond]) -> Iterator[str]:
    """Cases, promises and graphs without a result, results without either, and results that say of their case what it is not."""
    results = {result.case: result for result in record.results}
    info = _info_of(record)
    known = {case.id: case for case in cases}
    others = {each.id: each for each in beyond}
    yield from _list_cases("without a result", [case for case in (*known, *others) if case not in results])
    yield from _list_cases("no case of such a run", [case for case in results if case not in known and case not in others])
    yield from _list_cases(
        "of another kind or feature level than the promise or graph",
        [case for case, each in others.items() if case in results and not _is_of_beyond(each, results[case])],
    )
    both = [(known[case], result) for case, result in results.items() if case in known]
    yield from _list_cases(
        "another operator, data type, kind, basis or feature level than the case has",
        [case.id for case, result in both if not _is_of(case, result)],
    )
    excluded = [(case, result, undeclared_outcome(case, info)) for case, result in both]
    yield from _list_cases(
        "supported, although the description excludes it",
        [case.id for case, result, outcome in excluded if outcome and result.status == PASS],
    )
    yield from _list_cases(
        "recorded as excluded by the description, which does not exclude it",
        [case.id for case, result, outcome in excluded if result.undeclared and not _is_excluded(case, result.undeclared, outcome)],
    )


def _is_excluded(case: Case, why: str, outcome: Outcome | None) -> bool:
    """Whether a case may be unsupported for that reason. ``outcome`` is what the description makes of it.

    What the change of a negative case brings in may be a data type that is not declared, which shows when it runs.
    """
    if why in (MEMORY, SEQUENCES):
        return case.level == HUGE if why == MEMORY else case.expect == SEQUENCE
    return (outcome is not None and outcome.undeclared == why) or (why == DATA_TYPE and case.expect == REJECTION)


def _info_of(record: Record) -> BackendInfo:
    """The description of the backend in a record, without what no version of the suite has in it."""
    known = {field.name for field in fields(BackendInfo)}
    return BackendInfo.from_json({"name": "", **{name: value for name, value in record.manifest.backend.items() if name in known}})


def _is_of(case: Case, result: Result) -> bool:
    stated = (result.operator, result.data_type, result.kind, result.basis, result.feature_level)
    return stated == (case.operator.name, case.data_type, case.kind, case.basis, case.feature_level)


def _is_of_beyond(case: Beyond, result: Result) -> bool:
    operator = case.id.partition("/")[0]
    return (result.operator, result.kind, result.feature_level) == (operator, BEYOND_OPERATORS[operator], case.feature_level)


def _list_cases(what: str, cases: Sequence[str]) -> Iterator[str]:
    if cases:
        more = f" and {len(cases) - _SHOWN:,} more" if len(cases) > _SHOWN else ""
        yield f"{what}: {count_of(len(cases), 'case')}, {', '.join(cases[:_SHOWN])}{more}"


def _wrong_outputs(submission: Submission, record: Record, sample: Sequence[Case]) -> Iterator[str]:
    if submission.index["sample"] != [case.id for case in sample]:
        yield "the outputs are of other cases than those that the record's hash chooses"
        return
    info = _info_of(record)
    for number, case in enumerate(sample, start=1):
        inputs = case_inputs(case)
        answers = answers_of(case, inputs)
        try:
            outputs = unpack_outputs(submission.files[f"outputs/{number}.bin"], _shapes(case, next(iter(answers.values()))))
        except (KeyError, ValueError) as error:
            yield f"{case.id}: outputs/{number}.bin: {error}"
            continue
        outcome = compare_outputs(case, inputs, outputs, answers, info)
        if outcome.status != PASS:
            yield f"{case.id}: {outcome.message}"


def _shapes(case: Case, names: Mapping[str, object]) -> dict[str, Array]:
    """For each output an array of its type and sizes."""
    return {name: np.empty(tuple(case.desc.tensor(name).sizes), numpy_dtype(case.desc.tensor(name).data_type)) for name in names}
