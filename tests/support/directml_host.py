"""The command that runs the host for Microsoft's DirectML.dll in a test, where this machine is prepared for it, and one run of it on frames."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import cast

import pytest

from dmlcts.conformance.backends.backend import BackendUnavailable, Dispatch
from dmlcts.conformance.backends.directml import stack, windows
from dmlcts.conformance.backends.directml.dll import read_dll
from dmlcts.conformance.backends.process.process import split_command
from dmlcts.conformance.backends.process.protocol import CLOSE, PREFIX, Header, RawStream, frame, read_header, run_request
from dmlcts.spec.reading.loader import load
from dmlcts.spec.untrusted.files import parse_json


def host_command(dll: Path | None, options: Sequence[str] = ()) -> list[str]:
    """The command that starts the host on a DLL, or on its own. Skips the test where nothing is prepared to run one."""
    if given := os.environ.get("DMLCTS_DIRECTML_COMMAND"):
        return [*split_command(given), *(() if dll is None else ("--dll", str(dll))), *options]
    try:
        if os.name == "nt":
            return windows.host_command(None if dll is None else read_dll(dll), options)
        prepared, marker = stack.need_prepared()
    except BackendUnavailable as error:
        pytest.skip(f"no DirectML.dll can run here: {error}")
    return prepared.command(read_dll(dll or stack.default_dll(marker)), options)


def host_environment() -> dict[str, str] | None:
    """The environment of such a host, None for that of the tests."""
    return None if own_host() else stack.environment()


def own_host() -> bool:
    """Whether the host runs in this machine's own folders, and not in a stack."""
    return os.name == "nt" or "DMLCTS_DIRECTML_COMMAND" in os.environ


@contextmanager
def on_fake_d3d12(dll: Path, options: Sequence[str] = ()) -> Iterator[list[str]]:
    """The command that starts the host on a DLL that is a fake D3D12 as well. What the host writes is where the options say at the end."""
    exchange = None if own_host() else stack.Exchange(stack.need_prepared()[0], options)
    command = host_command(dll, options if exchange is None else exchange.options)
    yield [*command, "--d3d12", command[command.index("--dll") + 1]]
    if exchange is not None:
        exchange.fetch()
        exchange.close()


def run_frame(dispatch: Dispatch, number: int, **members: bool) -> bytes:
    """A request to run with these further members: ``paths`` to ask for code paths, ``execute`` for whether to execute."""
    head, *payload = (bytes(piece) for piece in run_request(dispatch, number, load))
    size = PREFIX.unpack(head[: PREFIX.size])[2]
    header = parse_json(head[PREFIX.size :].decode())
    assert isinstance(header, dict)
    return b"".join([frame({**header, **members}, size), *payload])


def answers(command: Sequence[str], requests: Sequence[bytes]) -> tuple[list[Header], str]:
    """What a host answers to these requests and then a close, and what it wrote to standard error."""
    asked = b"".join([*requests, frame(CLOSE)])
    # Files, and no pipes: Wine's server, which the host may have started, has them open too, and ends when it likes.
    with TemporaryFile() as output, TemporaryFile() as errors:
        code = subprocess.run(
            command, input=asked, stdout=output, stderr=errors, env=host_environment(), timeout=120, check=False
        ).returncode
        size = output.tell()
        output.seek(0)
        errors.seek(0)
        written = errors.read().decode("utf-8", "replace")
        assert code == 0, written
        source, found = RawStream(cast(FileIO, output)), []
        while source.unread or output.tell() < size:
            header, length = read_header(source)
            source.take(length, "payload")
            if header["status"] != "working":
                found.append(header)
    return found, written
