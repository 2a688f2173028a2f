"""The child process in which a Python backend runs, so that a crash or a hang ends at most this process and costs one case.

Started by ``open_hosted`` as ``python -m dmlcts.conformance.backends.python.python_host SPEC``, where SPEC is a backend for ``open_in_process``. It
uses the frames of docs/process-protocol.md. A run request has its own form: its payload begins with the pickled dispatch, as the suite, which
sends it, is trusted. Answers are plain JSON and bytes, as the backend is not trusted.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import sys
from collections.abc import Sequence
from dataclasses import replace
from io import FileIO
from pathlib import Path
from threading import Thread
from time import sleep
from traceback import format_exception
from typing import Any

import numpy as np

from dmlcts.conformance.backends.backend import (
    Backend,
    BackendFault,
    BackendInfo,
    BackendUnavailable,
    Dispatch,
    GraphDispatch,
    Rejected,
    Unsupported,
    run_graph,
)
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.process.protocol import Header, ProtocolError, RawStream, frame, read_header
from dmlcts.conformance.backends.python.in_process import Watched
from dmlcts.spec.untrusted import sanitize

CLOSED = 93
"""The exit code of a child whose backend has closed: one that ends the process in its ``close``, even with success, has not."""


class HostedBackend(ProcessBackend):
    """A Python class in a child process, which lasts from one dispatch to the next as it would in this process."""

    def run_graph(self, dispatch: GraphDispatch) -> None:
        """Executes a graph as a whole. Raises as ``run``, and Unsupported where the class does not take it."""
        self.send_dispatch(dispatch, lambda number: run_request(dispatch, number))


def open_hosted(spec: str, shown: str) -> HostedBackend:
    """A backend of ``open_in_process`` in a child process. ``shown`` is what the user called it.

    Raises:
        BackendUnavailable: the child cannot be started, or the backend cannot be made or does not describe itself.
    """
    argv = [sys.executable, "-P", "-m", __name__, spec]  # -P: a file in the current folder replaces no module of Python
    return HostedBackend(argv, environment=child_environment(), request=run_request, shown=shown, closed=CLOSED)


def child_environment() -> dict[str, str]:
    """The environment for another process of the suite: it finds the modules that this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(entry or str(Path.cwd()) for entry in sys.path))}


def run_request(dispatch: Dispatch | GraphDispatch, number: int) -> Sequence[bytes | memoryview]:
    """The run request: a frame with the pickled dispatch and the resources as payload, without a copy."""
    plain = replace(dispatch, resources=[], paths=None if dispatch.paths is None else [])
    sent = pickle.dumps(replace(plain, bindings=dict(plain.bindings)) if isinstance(plain, Dispatch) else plain)
    views = [resource.data for resource in dispatch.resources]
    header = {"request": "run", "id": number, "dispatch": len(sent), "resources": [view.nbytes for view in views]}
    return [frame(header, len(sent) + sum(view.nbytes for view in views)), sent, *views]


# In the child


def main(spec: str) -> None:
    """Answers requests on standard input until it ends, then closes the backend. The backend's prints go to standard error."""
    _end_with_the_suite()
    answers = _answers_alone()
    source = RawStream(FileIO(0, closefd=False))
    backend: Backend | None = None
    process = os.getpid()
    while (request := _next(source)) is not None and request[0]["request"] != "close":
        header, payload = request
        if header["request"] == "describe":
            backend, answer = _describe(spec)
            answers.write(frame(answer))
        elif backend is not None:
            pieces = _run_request(backend, header, payload)
            if os.getpid() != process:
                os._exit(0)  # the backend called fork, and this is the child: the parent answers
            for piece in pieces:
                _write(answers, piece)
    if backend is not None:
        backend.close()
        sys.exit(CLOSED)


def _end_with_the_suite() -> None:
    """Ends this process when its parent is gone, even while the backend hangs, so that nothing outlives a run."""
    parent = os.getppid()

    def watch() -> None:
        if sys.platform == "win32":
            synchronize, forever = 0x00100000, 0xFFFFFFFF
            ctypes.windll.kernel32.WaitForSingleObject(ctypes.windll.kernel32.OpenProcess(synchronize, False, parent), forever)
        else:
            while os.getppid() == parent:
                sleep(0.5)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _answers_alone() -> FileIO:
    """Standard output for frames only: a stray print would break the protocol."""
    own = os.dup(1)
    os.dup2(2, 1)
    if os.name == "nt":
        import msvcrt

        for descriptor in (0, own):
            msvcrt.setmode(descriptor, os.O_BINARY)  # type: ignore[attr-defined,unused-ignore]
    return FileIO(own, "wb")


def _next(source: RawStream) -> tuple[Header, bytearray] | None:
    try:
        header, length = read_header(source)
        payload = bytearray(length)
        source.fill(memoryview(payload))
        return header, payload
    except ProtocolError as error:
        if error.ended:
            return None  # the suite is gone, in the middle of a request if it was stopped there
        raise


def _describe(spec: str) -> tuple[Backend | None, Header]:
    from dmlcts.conformance.backends.python.load import open_in_process

    try:
        backend = Watched(open_in_process(spec))
        info: BackendInfo = backend.describe()
        return backend, {"status": "ok", **json.loads(json.dumps(info.to_json()))}
    except BackendUnavailable as error:
        return None, {"status": "error", "message": str(error)}
    except BaseException as error:
        return None, _failure(error)


def _run_request(backend: Backend, header: Header, payload: bytearray) -> list[bytes | memoryview]:
    """The pieces of the answer to a run request: it returns the resources that are bound to outputs or were changed."""
    view = memoryview(payload)
    sent: Dispatch | GraphDispatch = pickle.loads(view[: header["dispatch"]])  # noqa: S301 (the suite sent it)
    before, start = [], header["dispatch"]
    for size in header["resources"]:
        before.append(np.frombuffer(view[start : start + size], np.uint8))
        start += size
    resources = [resource.copy() for resource in before]
    dispatch = replace(sent, resources=list(resources))
    bound = set(sent.bound_outputs())

    def returned_resources() -> list[int]:
        """The resources that outputs are bound to, and those that were changed."""
        pairs = enumerate(zip(resources, before, strict=True))
        return [index for index, (now, was) in pairs if index in bound or not np.array_equal(now, was)]

    def common_members() -> Header:
        """What every answer says: which request it is to, and the code paths that ran."""
        paths = (
            {"paths": [{"label": label, "numbers": list(numbers)} for label, numbers in dispatch.paths]} if dispatch.paths else {}
        )
        return {"id": header["id"], **paths}

    try:
        if isinstance(dispatch, GraphDispatch):
            run_graph(backend, dispatch)
        else:
            backend.run(dispatch)
    except Rejected as error:
        if set(returned_resources()) - bound:
            return [frame({**common_members(), "status": "error", "message": f"rejected ({error}), but it wrote to an input"})]
        return [
            frame({**common_members(), "status": "rejected", "message": str(error), "stage": error.stage, "code": str(error.code)})
        ]
    except Unsupported as error:
        return [frame({"id": header["id"], "status": "unsupported", "message": str(error)})]
    except BackendFault as error:
        return [frame({**common_members(), "status": "error", "message": str(error), "evidence": str(error.evidence)})]
    except BaseException as error:
        return [frame({**common_members(), **_failure(error)})]
    indices = returned_resources()
    views = [resources[index].data for index in indices]
    return [frame({**common_members(), "status": "ok", "resources": indices}, sum(view.nbytes for view in views)), *views]


def _failure(error: BaseException) -> Header:
    """An answer that says what was raised."""
    return {
        "status": "error",
        "message": sanitize.error_line(error),
        "evidence": sanitize.block("".join(format_exception(error)[-6:])),
    }


def _write(stream: FileIO, piece: Any) -> None:
    view = memoryview(piece)
    while len(view):
        view = view[stream.write(view) :]


if __name__ == "__main__":
    main(sys.argv[1])
