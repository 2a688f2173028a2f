"""The bytes of a capture, out of the file beside it: read piece by piece, and compared with their digests."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from dmlcts.conformance.client.capture.reading import CaptureError
from dmlcts.conformance.client.capture.records import Capture, Piece
from dmlcts.spec.untrusted.files import MIB, InputError, open_file

LARGEST = 1 << 40
"""The most bytes of a data file: it is never read as a whole."""

LARGEST_PIECE = 4096 * MIB
"""The most bytes of a piece: what one buffer of a GPU has."""


class CapturedData:
    """The data file of a capture, open until ``close``. A capture without one has no bytes."""

    def __init__(self, capture: Capture) -> None:
        self._file: Path = capture.data_file
        self._stream: BinaryIO | None = None
        self._size = 0
        if self._file.exists():
            try:
                self._stream = open_file(self._file, LARGEST)
            except InputError as error:
                raise CaptureError(f"{self._file}: {error}") from None
            self._size = self._stream.seek(0, 2)

    def __enter__(self) -> CapturedData:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        if self._stream is not None:
            self._stream.close()

    def has(self, piece: Piece | None) -> bool:
        """Whether the bytes of a piece were kept."""
        return piece is not None and piece.offset is not None

    def read(self, piece: Piece) -> bytes:
        """The bytes of a piece. Raises CaptureError where they are not there, or are others than were written."""
        if piece.offset is None:
            raise CaptureError(f"{self._file}: {piece.size:,} bytes were seen, but not kept")
        if self._stream is None:
            raise CaptureError(f"{self._file}: there is no such file; it lies beside the capture and goes with it")
        if piece.size > LARGEST_PIECE or piece.offset + piece.size > self._size:
            raise CaptureError(
                f"{self._file}: {piece.size:,} bytes at {piece.offset:,} were written, but it has only {self._size:,}; was it cut, or is it another capture's?"
            )
        self._stream.seek(piece.offset)
        data = self._stream.read(piece.size)
        if sha256(data).hexdigest() != piece.sha256:
            raise CaptureError(f"{self._file}: the {piece.size:,} bytes at {piece.offset:,} have changed since they were captured")
        return data
