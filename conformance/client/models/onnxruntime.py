"""Runs an ONNX model with ONNX Runtime's DirectML provider on a DirectML.dll, captured or not."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.directml.dll import Dll, read_dll
from dmlcts.conformance.backends.directml.stack import default_dll, enter, environment, need_prepared, place
from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
from dmlcts.conformance.client.models.writing import Node, onnx_model
from dmlcts.conformance.client.programs.programs import Programs, need_programs
from dmlcts.spec.untrusted import sanitize
from dmlcts.spec.untrusted.files import MIB, InputError, parse_json, read_text

VARIABLES = ("DMLCTS_CAPTURE", "DMLCTS_CAPTURE_DATA", "DMLCTS_CAPTURE_LIMIT", "DMLCTS_CAPTURE_EVERY", "DMLCTS_REAL_DIRECTML")
"""What the capture DLL is told by (docs/capture.md)."""


class ClientError(Exception):
    """The model was not run: the client's own words. Exit code 1."""


@dataclass(frozen=True, slots=True)
class CaptureWish:
    """What to capture: ``file`` is where, ``data`` is none, inputs or all, ``limit`` the most bytes of data, ``every`` that each n-th has data."""

    file: Path
    data: str = "none"
    limit: int = 1 << 30
    every: int = 1

    def environment(self, file: str, real: str) -> dict[str, str]:
        """The variables for the capture DLL; ``file`` and ``real`` are the capture and the real DLL as the client calls them."""
        return dict(zip(VARIABLES, (file, self.data, str(self.limit), str(self.every), real), strict=True))


@dataclass(frozen=True, slots=True)
class ModelRun:
    """What the client reported. ``outputs`` are those of the last run: name, type, sizes, and its bytes, None for what is no tensor of numbers."""

    onnxruntime: str
    device: str
    seconds: tuple[float, ...]
    references: int
    outputs: tuple[tuple[Mapping[str, Any], bytes | None], ...] = field(repr=False)


def arrays_of(run: ModelRun) -> dict[str, NDArray[Any]]:
    """The outputs of a run that are tensors of numbers, by name."""
    return {
        output["name"]: np.frombuffer(data, output["type"].lower()).reshape(output["sizes"])
        for output, data in run.outputs
        if data is not None
    }


def run_model(
    model: Path,
    options: Sequence[str],
    dll: Path | None = None,
    capture: CaptureWish | None = None,
    limit: float = 600.0,
    inputs: Sequence[NDArray[Any]] = (),
) -> ModelRun:
    """Runs a model. ``options`` are the client program's; ``dll`` is the DirectML.dll, None for that of the backend ``directml``.

    The first inputs are ``inputs``; others are random.

    Raises:
        BackendUnavailable: something is missing. ClientError: the model was not run, or not within ``limit`` seconds.
    """
    programs = need_programs()
    if not model.is_file():
        raise ClientError(f"{model}: there is no such file")
    with run_folder(programs) as folder:
        for file in _files_of(model):
            shutil.copyfile(file, folder / file.name)
        give(folder, inputs)
        real = real_dll(programs, dll)
        used = programs.path_in_stack(programs.capture) if capture else real
        words = [
            "--onnxruntime",
            programs.path_in_stack(programs.onnxruntime),
            "--model",
            programs.path_in_stack(folder / model.name),
        ]
        words += [
            "--out",
            programs.path_in_stack(folder),
            "--min-feature-level",
            "5_0",
            *(["--dll", used] if used else []),
            *options,
        ]
        variables = capture.environment(programs.path_in_stack(folder / "capture"), real) if capture else {}
        code, errors = _start_client(programs, words, variables, limit)
        if capture:
            _keep(folder / "capture", capture.file)
        return result_in(folder, code, errors)


def give(folder: Path, inputs: Sequence[NDArray[Any]]) -> None:
    """Puts inputs where the client looks for them: the bytes and the sizes of each, by its place."""
    for number, array in enumerate(inputs):
        (folder / f"input_{number}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
        (folder / f"input_{number}.sizes").write_text(" ".join(map(str, array.shape)), encoding="ascii")


@contextmanager
def run_folder(programs: Programs) -> Iterator[Path]:
    """A folder that the client sees, for one run."""
    root = Path(tempfile.gettempdir()) if programs.stack is None else programs.stack.root / "dmlcts" / "runs"
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="client-", dir=root))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _files_of(model: Path) -> list[Path]:
    """A model, and the weights that lie beside it in files that begin with its name."""
    stem = model.name.removesuffix(".onnx")
    return [
        model,
        *(file for file in model.parent.iterdir() if file != model and file.name.startswith(f"{stem}.onnx") and file.is_file()),
    ]


def real_dll(programs: Programs, dll: Path | None) -> str:
    """The DirectML.dll as the client calls it; empty for the system's own."""
    if programs.stack is None:
        return "" if dll is None else str(read_dll(dll).path.absolute())
    found: Dll = read_dll(default_dll(need_prepared()[1]) if dll is None else dll)
    return programs.path_in_stack(programs.stack.dlls / place(found, programs.stack.dlls) / "DirectML.dll")


def command_of(programs: Programs, words: Sequence[str], variables: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The command that starts the client, and its environment."""
    if programs.stack is None:
        return [str(programs.client), *words], {**os.environ, **variables}
    command = enter(programs.stack.root, ["/bin/sh", f"{programs.stack.path_inside}/run.sh", *words])
    program = "/" + programs.client.relative_to(programs.stack.root).as_posix()
    return command, {**environment(), **variables, "DMLCTS_PROGRAM": program}


def _start_client(programs: Programs, words: Sequence[str], variables: Mapping[str, str], limit: float) -> tuple[int, str]:
    """Exit code and standard error of the client. Raises ClientError."""
    command, surroundings = command_of(programs, words, variables)
    try:
        done = subprocess.run(command, env=surroundings, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise ClientError(f"the model did not end within {limit:g} s") from None
    return done.returncode, done.stderr[-20_000:].decode("utf-8", "replace")


def _keep(made: Path, wanted: Path) -> None:
    """Moves a capture, and its data, to where it is wanted."""
    for suffix in ("", ".data"):
        source, target = made.with_name(made.name + suffix), wanted.with_name(wanted.name + suffix)
        if source.exists():
            shutil.move(source, target)
        elif suffix:
            target.unlink(missing_ok=True)  # of an older capture


def result_in(folder: Path, code: int, errors: str) -> ModelRun:
    """What the client wrote to a folder. Raises ClientError, with its exit ``code`` and its ``errors`` where it wrote nothing."""
    try:
        found = parse_json(read_text(folder / "result.json", 16 * MIB))
    except InputError:
        last = sanitize.block("\n".join(errors.strip().splitlines()[-10:]))
        raise ClientError(f"the client ended with exit code {code} and without a result:\n{last}") from None
    if found["status"] != "ok":
        raise ClientError(sanitize.block(found["message"]))
    outputs = tuple((output, (folder / output["file"]).read_bytes() if "file" in output else None) for output in found["outputs"])
    return ModelRun(
        found["onnxruntime"], sanitize.line(found["device"]), tuple(found["seconds"]), found.get("references", 0), outputs
    )


def try_one_model() -> str:
    """Runs a model of one node, captured, and says so. Raises BackendUnavailable, and ClientError where it gives something else than it should."""
    shape = {"x": ("float32", (4,))}
    data = onnx_model([Node("Relu", ["x"], ["y"])], shape, {"y": shape["x"]})
    with tempfile.TemporaryDirectory() as name:
        model, wish = Path(name) / "relu.onnx", CaptureWish(Path(name) / "relu.capture", "all")
        model.write_bytes(data)
        run = run_model(model, (), capture=wish)
        try:
            capture = read_capture(wish.file)
        except CaptureError as error:
            raise ClientError(str(error)) from None
    if len(run.outputs) != 1 or not [1 for execution, _ in capture.dispatched_operators() if execution.outputs]:
        raise ClientError("a model of one node ran, but what it dispatched was not captured")
    return f"ONNX Runtime {run.onnxruntime} on {run.device}: one model ran, and was captured"
