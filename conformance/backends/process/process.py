"""``process:COMMAND``: an implementation in any language, as a program that speaks the protocol on its standard streams.

A host that crashes, hangs or sends malformed answers costs only the current case, which gets the evidence; the next case starts a new host.
Waiting happens on threads that can be abandoned, since no platform allows to abandon a blocked pipe otherwise, and a child process of the
host may hold the pipe open after the host itself has ended.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import FileIO
from queue import Empty
from time import monotonic
from typing import TypeVar, cast

from dmlcts.conformance.backends.backend import (
    CRASHED,
    GARBLED,
    HUNG,
    NOT_STARTED,
    SLOW,
    BackendFault,
    BackendInfo,
    BackendUnavailable,
    Dispatch,
    GraphDispatch,
    Rejected,
    Unsupported,
)
from dmlcts.conformance.backends.process.patience import Patience, processor_time
from dmlcts.conformance.backends.process.protocol import (
    CALLING,
    CLOSE,
    DESCRIBE,
    WORKING,
    Header,
    ProtocolError,
    RawStream,
    answer_views,
    frame,
    no_views,
    parts,
    raise_status,
    read_calling,
    read_header,
    read_info,
    read_paths,
    read_progress,
    run_request,
)
from dmlcts.conformance.backends.process.standard_error import KEPT, StandardError, text_of
from dmlcts.conformance.backends.process.streams import Pieces, StreamThread, widen, write_pieces
from dmlcts.spec.reading.loader import load

T = TypeVar("T")
Place = Callable[[Header, int], list[memoryview]]

KILLED = "was killed"
GRACE_AT_CLOSE, GRACE_AT_END, GRACE_OF_GARBLED = 8.0, 1.0, 0.05
"""Seconds that a host has to exit before it is killed: after close; after its output ended; after malformed output."""
LEAST_START, SLOWER_START = 5.0, 5.0
"""The least seconds that a host may take to start again, and how much longer than its first start."""


def open_process(command: str, timeout: float = 30.0) -> ProcessBackend:
    """Starts the host and requests its description. ``timeout`` is the limit in seconds of a request without one of its own.

    Raises:
        BackendUnavailable: it cannot be started, or does not describe itself.
    """
    return ProcessBackend(split_command(command), timeout)


def split_command(command: str, windows: bool = os.name == "nt") -> list[str]:
    """A command's words. On Windows a backslash is part of a path, and quotes around a word are removed.

    Raises:
        BackendUnavailable: it is empty, or a quote is not closed.
    """
    try:
        words = shlex.split(command, posix=not windows)
    except ValueError as error:
        raise BackendUnavailable(f"process:{command}: {error}") from None
    if windows:
        words = [word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word for word in words]
    if not words:
        raise BackendUnavailable("process: needs a command, such as process:/path/to/host --option")
    return words


def _in_numbers(dispatch: Dispatch, number: int) -> Pieces:
    """The documented form of a request, for a host in any language."""
    return run_request(dispatch, number, load)


class ProcessBackend:
    """A backend in a separate program. Used by one thread at a time.

    ``argv`` is the program and its arguments; ``environment`` is the program's, this process's own if None. ``request`` makes the
    request for a dispatch and a number; ``shown`` is what the user called the backend; ``closed`` is the exit code after ``close``.
    """

    _protocol = 1

    def __init__(
        self,
        argv: Sequence[str],
        timeout: float = 30.0,
        environment: Mapping[str, str] | None = None,
        request: Callable[[Dispatch, int], Pieces] = _in_numbers,
        shown: str = "",
        closed: int = 0,
    ) -> None:
        self._argv, self._timeout, self._environment, self._request = list(argv), timeout, environment, request
        self._closed, self._start_limit = closed, timeout
        self._host: _Host | None = None
        self._number = 0
        began = monotonic()
        try:
            self._info = self._start()
        except BackendFault as fault:
            text = f"{shown or f'process:{shlex.join(self._argv)}'}: {fault}"
            raise BackendUnavailable(f"{text}\n{fault.evidence}" if fault.evidence else text) from None
        self._usual_start = max(LEAST_START, SLOWER_START * (monotonic() - began))

    def describe(self) -> BackendInfo:
        """The host's description from its first start."""
        return self._info

    @property
    def protocol(self) -> int:
        """The version of the protocol that the host speaks."""
        return self._protocol

    def run(self, dispatch: Dispatch) -> None:
        """Executes a dispatch. Raises as ``ask``, and WireError and KeyError where the desc cannot be sent."""
        self.send_dispatch(dispatch, lambda number: self._request(dispatch, number))

    def send_dispatch(self, dispatch: Dispatch | GraphDispatch, make: Callable[[int], Pieces]) -> None:
        """Has the host execute what ``make`` makes a request of. Raises as ``ask``, and what ``make`` raises."""

        def read(header: Header) -> None:
            found = read_paths(header)
            if dispatch.paths is not None:
                dispatch.paths.extend(found)
            raise_status(header)

        self.ask(
            make,
            lambda header, length, number: answer_views(header, length, number, dispatch),
            read,
            dispatch.timeout,
        )

    def ask(
        self,
        make: Callable[[int], Pieces],
        place: Callable[[Header, int, int], list[memoryview]],
        read: Callable[[Header], T],
        timeout: float | None = None,
    ) -> T:
        """Sends the request that ``make`` makes of its number, and first starts the host again if the last case ended it.

        ``place`` gives the places for the payload of an answer, from its header, the payload's length and the request's number; ``read`` reads
        the answer when all of it is there. ``timeout``: in seconds, the backend's own if None.

        Raises:
            Rejected, Unsupported: the host answered so. BackendFault: it crashed, hung, sent a malformed answer or reported a fault.
        """
        self._number += 1
        number = self._number
        request = make(number)
        limit = self._timeout if timeout is None else timeout
        if self._host is None:
            self._start_limit = min(self._timeout, max(limit, self._usual_start))
            try:
                self._start_again()
            except BackendFault as fault:
                raise BackendFault(f"the host could not be started again: {fault}", fault.evidence, NOT_STARTED) from None
        return self._ask(request, lambda header, length: place(header, length, number), limit, read, number)

    def close(self) -> None:
        """Asks the host to exit, and kills it after some seconds. Raises BackendFault if it had to, or for an exit code of anything but success."""
        host, self._host = self._host, None
        if host is None:
            return
        end = host.end(GRACE_AT_CLOSE, [frame(CLOSE)])
        if end == KILLED:
            end = f"did not exit within {GRACE_AT_CLOSE:g} s"
        elif host.popen.returncode == self._closed:
            return
        last = host.stderr.text().strip().rpartition("\n")[2]
        raise BackendFault(f"the host {end} when it was asked to close{f': {last}' if last else ''}")

    def _start_again(self) -> None:
        protocol = self._protocol
        change = self._info.change(self._start())
        if protocol != self._protocol:
            change = f"protocol was {protocol} and is {self._protocol}"
        if change:
            self._drop()
            raise BackendFault(f"it does not describe itself as before: {change}")

    def _start(self) -> BackendInfo:
        try:
            self._host = _Host(self._argv, self._environment)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise BackendFault(
                f"cannot start {self._argv[0]!r}: {reason}; name a program by its full path, or one on the PATH"
            ) from None
        try:
            info = self._ask([frame(DESCRIBE)], no_views, self._start_limit, self._host.read_description)
            self._protocol = self._host.protocol
            return info
        except (Rejected, Unsupported, BackendFault) as failure:
            self._drop()
            raise BackendFault(f"describe: {failure}", getattr(failure, "evidence", "")) from None

    def _ask(self, request: Pieces, place: Place, limit: float, read: Callable[[Header], T], number: int = 0) -> T:
        """Sends a request and reads its answer. Raises BackendFault, after which there is no host, and what ``read`` raises."""
        host = self._host
        assert host is not None
        mark = host.stderr.mark()
        try:
            return read(host.exchange(request, place, limit, number))
        except Empty:
            patience = host.patience
            raise self._fault(patience.silence(), host.source.unread, 0.0, SLOW if patience.is_slow else HUNG) from None
        except ProtocolError as error:
            grace, lost = (GRACE_AT_END, CRASHED) if error.ended else (GRACE_OF_GARBLED, GARBLED)
            raise self._fault(str(error), error.seen, grace, lost) from None
        except OSError as error:
            raise self._fault(f"its streams failed ({error})", b"", GRACE_AT_END, CRASHED) from None
        except (Rejected, BackendFault) as answer:
            answer.stderr = host.stderr.lines_since(mark)
            raise
        except Unsupported:
            raise
        except BaseException:
            self._drop()  # such as Ctrl-C: the answer is still to come, and must not be read as the next one
            raise

    def _fault(self, problem: str, seen: bytes, grace: float, lost: str) -> BackendFault:
        host, self._host = self._host, None
        assert host is not None
        end = host.end(grace)
        evidence = [f"exit: {end}", f"requests answered since it was started: {host.answered}"]
        if seen:
            evidence += [
                f"bytes received: {seen[:64].hex(' ')}{' ...' if len(seen) > 64 else ''}",
                f"as text: {text_of(seen[:1024])}",
            ]
        if last := host.stderr.text():
            evidence += [f"standard error, its last {KEPT} bytes at most:", last]
        fault = BackendFault(f"{problem}; the host {end}", "\n".join(evidence), lost)
        fault.call = host.call
        return fault

    def _drop(self) -> None:
        host, self._host = self._host, None
        if host is not None:
            host.end(0.0)


class _Host:
    """One run of the program: its streams, and the only threads that use them."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str] | None) -> None:
        # Its own session or process group: Ctrl-C reaches only the suite, which closes its hosts.
        self.popen = subprocess.Popen(
            argv,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=os.name == "posix",
            preexec_fn=_ending_with_the_suite(),
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        stdin, stdout, stderr = (cast(FileIO, s) for s in (self.popen.stdin, self.popen.stdout, self.popen.stderr))
        widen(stdin)
        widen(stdout)
        self.source = RawStream(stdout)
        self.stderr = StandardError(stderr)
        self.answered = 0
        self.reports_progress = False
        self.protocol = 1
        self.call: int | None = None
        self.patience = Patience(0.0)
        self.writer, self.reader = StreamThread(stdin), StreamThread(stdout)
        self.listener = StreamThread(stderr)
        self.listener.submit(self.stderr.follow)

    def read_description(self, header: Header) -> BackendInfo:
        """The description in the answer to describe, which also says what the host itself can do. Raises as ``read_info``."""
        info = read_info(header)
        self.reports_progress = header.get("progress") is True
        self.protocol = header.get("protocol", 1)
        return info

    def exchange(self, request: Pieces, place: Place, limit: float, number: int) -> Header:
        """Sends a request and waits for its answer at the same time. Raises Empty after the limit, and ProtocolError.

        Of request ``number``, not of one that has none, a host that works has ``PATIENCE`` times the limit.
        """
        pieces = parts(request)
        watched = number and not self.reports_progress
        self.patience = patience = Patience(limit, partial(processor_time, self.popen.pid) if watched else None)
        self.call = None
        self.writer.submit(lambda: write_pieces(cast(FileIO, self.popen.stdin), pieces))
        self.reader.submit(lambda: _read(self.source, place, lambda header, length: self._is_progress(header, length, number)))
        header = self._answer(patience)
        try:
            self.writer.result(max(patience.begun + limit, monotonic() + GRACE_AT_END))
        except (OSError, Empty):
            raise ProtocolError("it answered before it had read the whole request") from None
        self.answered += 1
        return header

    def _is_progress(self, header: Header, length: int, number: int) -> bool:
        """Whether a frame is no answer yet, but says how far the host is."""
        if number and self.protocol > 1 and header.get("status") == CALLING:
            self.call = read_calling(header, length, number)
            return True
        if not (self.reports_progress and number and header.get("status") == WORKING):
            return False
        self.patience.on_progress(read_progress(header, length, number))
        return True

    def _answer(self, patience: Patience) -> Header:
        for deadline in patience.deadlines():
            with suppress(Empty):
                header: Header = self.reader.result(deadline)
                return header
        raise Empty

    def end(self, grace: float, farewell: Pieces = ()) -> str:
        """Ends it, by force after ``grace`` seconds; returns how it ended."""
        if farewell:
            self.writer.submit(lambda: write_pieces(cast(FileIO, self.popen.stdin), farewell))
            self.writer.stop()
        try:
            ended = _exit_text(self.popen.wait(grace))
        except subprocess.TimeoutExpired:
            self._kill()
            ended = KILLED
            with suppress(subprocess.TimeoutExpired):
                self.popen.wait(5.0)
        finally:
            self._kill()  # what it started, and itself if a signal ended the wait
        workers = (self.writer, self.reader, self.listener)
        for worker in workers:
            worker.stop()
        deadline = monotonic() + 1.0  # a child process of the host may hold the pipes longer: its output is not awaited
        for worker in workers:
            worker.thread.join(max(0.0, deadline - monotonic()))
        return ended

    def _kill(self) -> None:
        """Kills what there is of it: on POSIX, also the processes that it started and that are still in its session."""
        if sys.platform != "win32":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.popen.pid, signal.SIGKILL)
        else:
            self.popen.kill()


def _ending_with_the_suite() -> Callable[[], object] | None:
    """For the child between fork and exec: the kernel kills it when the thread that started it ends, even if the suite is killed. Linux only."""
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
    return prctl and (lambda: prctl(1, signal.SIGKILL))  # type: ignore[attr-defined,unused-ignore]  # PR_SET_PDEATHSIG


def _read(source: RawStream, place: Place, is_progress: Callable[[Header, int], bool]) -> Header:
    header, length = read_header(source)
    while is_progress(header, length):
        header, length = read_header(source)
    for view in place(header, length):
        source.fill(view)
    return header


def _exit_text(code: int) -> str:
    """How a program ended: with an exit code, by a POSIX signal (negative), or with a Windows status such as 0xC0000005."""
    if code < 0:
        known = {number.value: number.name for number in signal.Signals}
        return f"was ended by {known.get(-code, 'a signal')} ({-code})"
    return f"ended with exit code {code}" + (f" (0x{code:08X})" if code > 0xFFFF else "")
