"""What a host would read on its standard input: a session's requests as bytes, for a host that is started in a debugger."""

from __future__ import annotations

from typing import BinaryIO

from dmlcts.conformance.backends.backend import BackendInfo, Dispatch
from dmlcts.conformance.backends.process.protocol import CLOSE, DESCRIBE, frame, run_request
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.spec.reading.loader import load


class Recording(ReferenceBackend):
    """The reference, which writes each request as a host would get it to ``stream``; ``count`` are those for dispatches.

    The laws of a property case send later requests that depend on earlier answers: these are a right implementation's.
    """

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self.stream, self.count = stream, 0

    def describe(self) -> BackendInfo:
        """The reference's description."""
        self.stream.write(frame(DESCRIBE))
        return super().describe()

    def run(self, dispatch: Dispatch) -> None:
        """Executes as the reference does. Raises Rejected, Unsupported, and OSError if the request cannot be written."""
        self.count += 1
        for piece in run_request(dispatch, self.count, load):
            self.stream.write(piece)
        super().run(dispatch)

    def close(self) -> None:
        """Ends the session."""
        self.stream.write(frame(CLOSE))
        super().close()
