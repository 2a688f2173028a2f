"""ONNX's own node tests, run by a client on a DirectML.dll: all in one process, judged by ONNX's expected values within ONNX's own tolerances.

They come with the package ``onnx``: each is a model of a node, or of what a function of ONNX is made of, with inputs and outputs. A model of which the
DirectML provider leaves a node to the CPU says nothing of DirectML and is not judged.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.client.models.onnxruntime import ClientError, arrays_of, command_of, give, real_dll, result_in, run_folder
from dmlcts.conformance.client.models.writing import ELEMENT_TYPES, IR_VERSION
from dmlcts.conformance.client.programs.programs import need_programs
from dmlcts.spec.untrusted import sanitize

RIGHT, WRONG, NOT_RUN, BROKEN = "right", "wrong", "not run", "broken"
"""What may come of a test: ``not run`` is one that ONNX Runtime, or its DirectML provider, does not take; ``broken`` one that was taken and did not end well."""

INSTALL = "pip install 'directml-conformance[onnxruntime]'"

_ON_CPU = "fallback to CPU EP has been explicitly disabled"

_POLL, _ENDING, _MOST_BROKEN = 0.02, 5.0, 10

Array = NDArray[Any]


class NoNodeTests(Exception):
    """The package ``onnx`` is not there; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class NodeTestResult:
    """What came of a test. ``operators`` are those of its model; ``kind`` is a reason in few words, by which results are counted, ``reason`` the whole of it.

    ``whose`` says whose a wrong result is, and ``why`` how that is known (conformance/client/models/whose.py).
    """

    test: str
    operators: tuple[str, ...]
    status: str
    kind: str = ""
    reason: str = ""
    seconds: float = 0.0
    whose: str = ""
    why: str = ""


def node_tests(wanted: Callable[[str], bool], limit: int | None) -> list[Any]:
    """ONNX's tests of those names, in order; so many at most, chosen by a hash of their names. Raises NoNodeTests."""
    try:
        from onnx.backend.test.loader import load_model_tests
    except ImportError:
        raise NoNodeTests(f"the node tests come with the package onnx: {INSTALL}") from None
    with np.errstate(all="ignore"):
        found = [test for test in load_model_tests(kind="node") if wanted(test.name)]
    if limit is not None:
        found = sorted(found, key=lambda test: sha256(test.name.encode()).digest())[:limit]
    return [_whole(test) for test in sorted(found, key=lambda test: test.name)]


def _whole(test: Any) -> Any:
    """A test with its model and data, which older versions of the package keep in a folder."""
    from onnx import TensorProto, load

    if test.model is not None or not test.model_dir:
        return test
    folder = Path(test.model_dir)
    model = load(folder / "model.onnx")

    def values(kind: str, described: Sequence[Any]) -> list[Any]:
        files = [folder / "test_data_set_0" / f"{kind}_{place}.pb" for place in range(len(described))]
        known = zip(files, described, strict=True)
        return [
            TensorProto.FromString(file.read_bytes()) if one.type.HasField("tensor_type") else None
            for file, one in known
            if file.exists()
        ]

    return replace(test, model=model, data_sets=[(values("input", model.graph.input), values("output", model.graph.output))])


@dataclass(frozen=True, slots=True)
class _Job:
    """A test, and the folder in which the client finds it and writes what came of it."""

    test: Any
    folder: Path

    def result(self, status: str, kind: str, reason: str = "", seconds: float = 0.0) -> NodeTestResult:
        return NodeTestResult(self.test.name, operators_of(self.test), status, kind, reason or kind, seconds)


Report = Callable[[NodeTestResult], None]


def run_node_tests(tests: Sequence[Any], dll: Path | None, options: Sequence[str], limit: float, report: Report) -> None:
    """Runs tests, each within ``limit`` seconds; ``report`` gets each result.

    One process runs them all; after a test that breaks it, or its device, a new one goes on.

    Raises:
        BackendUnavailable: something is missing. ClientError: the client does not start, or breaks again and again.
    """
    programs = need_programs()
    with run_folder(programs) as folder:
        waiting: list[_Job] = []
        for number, test in enumerate(tests):
            job = _Job(test, folder / f"{number:05}")
            job.folder.mkdir()
            if problem := _prepare(test, job.folder):
                report(job.result(NOT_RUN, problem))
            else:
                waiting.append(job)
        words = [
            "--onnxruntime",
            programs.path_in_stack(programs.onnxruntime),
            "--only-provider",
            "--min-feature-level",
            "5_0",
            *options,
        ]
        if used := real_dll(programs, dll):
            words += ["--dll", used]
        broken = 0
        while waiting:
            (folder / "list").write_text("".join(f"{programs.path_in_stack(job.folder)}\n" for job in waiting), encoding="utf-8")
            command, surroundings = command_of(programs, [*words, "--each", programs.path_in_stack(folder / "list")], {})
            done, last = _process(command, surroundings, waiting, folder / "errors", limit, report)
            broken = broken + 1 if done == 1 and last.status == BROKEN else 0
            if broken == _MOST_BROKEN:
                raise ClientError(f"the client broke {broken} times in a row, the last time with {last.test}: {last.reason}")
            waiting = waiting[done:]


def _process(
    command: Sequence[str], surroundings: dict[str, str], jobs: Sequence[_Job], errors: Path, limit: float, report: Report
) -> tuple[int, NodeTestResult]:
    """Runs jobs in a process until it ends. Returns how many have a result, which is one at least, and the last result."""
    with errors.open("wb") as stream:
        process = subprocess.Popen(command, env=surroundings, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stream)
        try:
            done = 0
            for job in jobs:
                result = _await_result(process, job, errors, limit)
                done += 1
                report(result)
                if result.status == BROKEN:
                    break
            process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            pass
        finally:
            process.kill()
            process.wait()
    return done, result


def _await_result(process: subprocess.Popen[bytes], job: _Job, errors: Path, limit: float) -> NodeTestResult:
    """The result of the job that the process runs now."""
    file, started = job.folder / "result.json", monotonic()
    while True:
        has_ended = process.poll() is not None
        if file.exists() and file.read_bytes().endswith(b"\n"):
            return _judge_job(job, monotonic() - started)
        if has_ended:
            words = sanitize.line(errors.read_bytes()[-2000:].decode("utf-8", "replace").strip().rpartition("\n")[2])
            return job.result(BROKEN, "the client ended", f"the client ended with exit code {process.returncode}: {words}")
        if monotonic() - started > limit:
            process.kill()
            return job.result(BROKEN, "no end", f"it did not end within {limit:g} s")
        sleep(_POLL)


def _judge_job(job: _Job, seconds: float) -> NodeTestResult:
    """What the client's result says of a test."""
    try:
        run = result_in(job.folder, 0, "")
    except ClientError as error:
        text = str(error)
        if _ON_CPU in text:
            return job.result(NOT_RUN, "the provider leaves a node to the CPU", text, seconds)
        is_run = text.startswith("Run: ")
        return job.result(BROKEN if is_run else NOT_RUN, "Run failed" if is_run else _in_few_words(text), text, seconds)
    _, expected = data_of(job.test)
    found = list(arrays_of(run).values())
    if len(found) != len(expected):
        return job.result(WRONG, "outputs", f"{len(found)} outputs, {len(expected)} expected", seconds)
    for place, (actual, right) in enumerate(zip(found, expected, strict=True)):
        if problem := difference(actual, right, job.test.rtol, job.test.atol):
            return job.result(WRONG, problem[0], f"output {place}: {problem[1]}", seconds)
    return job.result(RIGHT, "", "", seconds)


def difference(actual: Array, right: Array, rtol: float, atol: float) -> tuple[str, str] | None:
    """How an output differs from what ONNX expects, in few words and in more; None if it does not.

    As ONNX's own runner judges it: same type, same sizes, and each element within ``atol + rtol * |expected|``; NaN equals NaN.
    """
    if actual.dtype != right.dtype:
        return "type", f"type {actual.dtype}, expected {right.dtype}"
    if actual.shape != right.shape:
        return "sizes", f"sizes {list(actual.shape)}, expected {list(right.shape)}"
    with np.errstate(all="ignore"):
        good = np.isclose(actual, right, rtol=rtol, atol=atol, equal_nan=True)
    if good.all():
        return None
    at = tuple(int(index) for index in np.argwhere(~good)[0])
    return "values", f"{int((~good).sum()):,} of {good.size:,} elements, first at {list(at)}: {actual[at]}, expected {right[at]}"


_KINDS = (
    (("Unsupported model IR", "is under development", "Opset", "opset"), "newer than ONNX Runtime"),
    (
        ("Unrecognized attribute", "is not a registered", "No Op registered", "ShapeInferenceError"),
        "ONNX Runtime knows no such operator or attribute",
    ),
    (("Provider type for", "NOT_IMPLEMENTED", "Could not find an implementation"), "ONNX Runtime has no kernel for its types"),
    (("DmlExecutionProvider",), "the DirectML provider fails while it prepares the model"),
)
"""What ONNX Runtime says where it does not take a model, and what that is in few words."""


def _in_few_words(text: str) -> str:
    return next((kind for words, kind in _KINDS if any(word in text for word in words)), "ONNX Runtime does not take the model")


def data_of(test: Any) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """The inputs and the outputs of a test. Raises TypeError where one is no tensor of NumPy's numbers."""

    def array(value: Any) -> Array:
        if type(value).__name__ == "TensorProto":
            from onnx.numpy_helper import to_array

            value = to_array(value)
        if not isinstance(value, np.ndarray | np.generic) or value.dtype.name not in ELEMENT_TYPES:
            raise TypeError("it has a value that is no tensor of NumPy's numbers")
        return np.asarray(value)

    inputs, outputs = test.data_sets[0]
    return tuple(map(array, inputs)), tuple(map(array, outputs))


def model_of(test: Any) -> bytes:
    """A test's model. Its version of the format is lowered where a newer package stamps more than its nodes need."""
    model = type(test.model)()
    model.CopyFrom(test.model)
    model.ir_version = min(model.ir_version, IR_VERSION)
    data: bytes = model.SerializeToString()
    return data


def _prepare(test: Any, folder: Path) -> str:
    """Writes a test's model and inputs. Returns why it cannot be run, empty if it can."""
    try:
        inputs, _ = data_of(test)
    except TypeError as error:
        return str(error)
    (folder / "model.onnx").write_bytes(model_of(test))
    give(folder, inputs)
    return ""


def operators_of(test: Any) -> tuple[str, ...]:
    """The operators of a test's model."""
    return tuple(sorted({node.op_type for node in test.model.graph.node}))


def summary(results: Sequence[NodeTestResult]) -> Iterator[str]:
    """Results in some lines: counts, reasons, and what is wrong."""
    counts = Counter(result.status for result in results)
    judged = counts[RIGHT] + counts[WRONG] + counts[BROKEN]
    yield f"{len(results):,} node tests: {judged:,} run: {counts[RIGHT]:,} right, {counts[WRONG]:,} wrong, {counts[BROKEN]:,} broken; {counts[NOT_RUN]:,} not run"
    for status in (NOT_RUN, BROKEN, WRONG):
        for kind, count in Counter(result.kind for result in results if result.status == status).most_common():
            yield f"  {count:5,} {status}: {kind}"
    for owner, count in Counter(result.whose for result in results if result.whose).most_common():
        yield f"  {count:5,} wrong or broken: {owner}"
    for result in results:
        if result.status in (WRONG, BROKEN):
            yield f"{result.test} ({', '.join(result.operators)}): {result.status}: {result.reason[:200]}"
            if result.whose:
                yield f"  {result.whose}: {result.why[:300]}"
