"""Files that look like a DirectML.dll, and what needs Linux."""

from __future__ import annotations

import struct
import sys

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="a stack is Linux'")


def pe_file(machine: int = 0x8664, flags: int = 0x2022, version: tuple[int, int, int, int] | None = (1, 15, 4, 0)) -> bytes:
    """The headers of a PE file, and a version resource's fixed part somewhere after them."""
    header = b"MZ" + bytes(58) + struct.pack("<I", 128)
    data = header.ljust(128, b"\0") + b"PE\0\0" + struct.pack("<HHIIIHH", machine, 1, 0, 0, 0, 240, flags) + bytes(64)
    if version is None:
        return data
    a, b, c, d = version
    return data + struct.pack("<IIII", 0xFEEF04BD, 0x10000, a << 16 | b, c << 16 | d)
