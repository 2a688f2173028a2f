"""A DirectML.dll as a file: whether it is one for x86-64 Windows, its version, and what it is called."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml.releases import release_of
from dmlcts.spec.untrusted.files import MIB, InputError, read_bytes

_AMD64, _IS_DLL = 0x8664, 0x2000
_FIXED_FILE_INFO = struct.pack("<II", 0xFEEF04BD, 0x00010000)
"""How VS_FIXEDFILEINFO begins, the version in a file's resources: its signature and the version of the struct itself."""


@dataclass(frozen=True, slots=True)
class Dll:
    """A file that Windows on x86-64 could load.

    ``version`` is its file version, such as ``1.15.4.0``, empty if it has none: anybody may write it. ``release`` is Microsoft's release that has
    its contents, empty if none that is known has.
    """

    path: Path
    sha256: str
    version: str
    release: str = ""

    @property
    def name(self) -> str:
        """Its release, or its hash if it is none that is known."""
        return self.release or self.hash_name

    @property
    def hash_name(self) -> str:
        """Its file version, and the first digits of its SHA-256: ``1.15.4.0+sha256.0123456789abcdef``."""
        return f"{self.version or 'unknown'}+sha256.{self.sha256[:16]}"


LARGEST = 1024 * MIB
"""The most bytes of a DLL."""


def read_dll(path: Path) -> Dll:
    """Looks at a DLL. The headers are those of Microsoft's PE format.

    Raises:
        BackendUnavailable: there is no such file, it cannot be read, or it is no DLL for x86-64 Windows.
    """
    try:
        data = read_bytes(path, LARGEST)
    except InputError as error:
        raise BackendUnavailable(f"{path}: {error}; give the path of a DirectML.dll") from None
    if problem := _problem(data):
        raise BackendUnavailable(f"{path} {problem}; give the path of a DirectML.dll for x86-64 Windows")
    return Dll(path, hashlib.sha256(data).hexdigest(), _version(data), release_of(data))


def _problem(data: bytes) -> str:
    if len(data) < 64 or data[:2] != b"MZ":
        return "is not a DLL: it does not begin like a PE file"
    (start,) = struct.unpack_from("<I", data, 60)
    header = data[start : start + 24]
    if len(header) < 24 or header[:4] != b"PE\0\0":
        return "is not a DLL: it has no PE header"
    machine, flags = struct.unpack_from("<H", header, 4)[0], struct.unpack_from("<H", header, 22)[0]
    if machine != _AMD64:
        return f"is for another processor (machine 0x{machine:04x}; x86-64 is 0x{_AMD64:04x})"
    return "" if flags & _IS_DLL else "is a program, not a DLL"


def _version(data: bytes) -> str:
    found = data.find(_FIXED_FILE_INFO)
    if found < 0 or found + 16 > len(data):
        return ""
    high, low = struct.unpack_from("<II", data, found + 8)
    return f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}"
