"""What every call is made of: codes, sizes, ranges, and the reply that it gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OK = "S_OK"
"""The code of a call that succeeded."""

_CODES = {
    OK: 0,
    "E_FAIL": 0x80004005,
    "E_INVALIDARG": 0x80070057,
    "E_NOINTERFACE": 0x80004002,
    "E_NOTIMPL": 0x80004001,
    "E_OUTOFMEMORY": 0x8007000E,
    "DXGI_ERROR_INVALID_CALL": 0x887A0001,
    "DXGI_ERROR_DEVICE_REMOVED": 0x887A0005,
    "DXGI_ERROR_MORE_DATA": 0x887A0003,
    "DXGI_ERROR_NOT_FOUND": 0x887A0002,
    "DXGI_ERROR_SDK_COMPONENT_MISSING": 0x887A002D,
    "DXGI_ERROR_UNSUPPORTED": 0x887A0004,
}
"""HRESULTs by name."""


_NAMES: dict[int | str, str] = {number: name for name, number in _CODES.items()}


def code_number(code: str) -> int | str:
    """The number of an HRESULT, by its name or as ``0x80070057``; the text itself if it is neither."""
    try:
        return _CODES[code] if code in _CODES else int(code, 16)
    except ValueError:
        return code


def code_name(code: str) -> str:
    """An HRESULT by its name, if it has one here, whichever way it is given."""
    return _NAMES.get(code_number(code), code)


DEVICE = 0
"""The number of the device that is there from the beginning."""

DIRECT, COMPUTE = "DIRECT", "COMPUTE"
"""The types of command lists, and of the queues that they are submitted to."""

VOLATILE = "DESCRIPTORS_VOLATILE"
"""The execution flag with which bindings may change between recording and submission, as spelled in DML_EXECUTION_FLAGS."""

TEMPORARY, PERSISTENT = "temporary", "persistent"
"""The sizes in DML_BINDING_PROPERTIES, in bytes."""


@dataclass(frozen=True, slots=True)
class SizeOf:
    """Bytes that only the implementation knows: a size (TEMPORARY or PERSISTENT) in the binding properties of an object, as they are now.

    ``around`` is added where that size is not 0.
    """

    of: int
    size: str
    around: int = 0


Size = int | SizeOf


@dataclass(frozen=True, slots=True)
class Range:
    """DML_BUFFER_BINDING: ``size`` bytes of a resource from ``offset`` on; None for all of them."""

    resource: int
    offset: int = 0
    size: Size | None = None


Slot = Range | tuple[Range | None, ...] | None
"""What a tensor is bound to: a range (BUFFER), ranges (BUFFER_ARRAY, for an initializer's inputs), or None (NONE)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What all calls have: ``thread`` names the thread that makes the call; without a name it is the one that made the device."""

    thread: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call is answered with: an HRESULT, by name or as ``0x80070057``, and a value where the call has one.

    ``removed``: the device was removed by it, which void calls have no other way to tell. ``unsupported`` says why whoever performs
    the sequence does not perform this call, and that is not the implementation's fault; such a call has no code.
    """

    code: str = OK
    value: Any = None
    removed: bool = False
    message: str = ""
    unsupported: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether the call was performed, and succeeded."""
        return code_number(self.code) == 0 and not self.removed and not self.unsupported


Perform = Callable[[list[Call]], list[Reply]]
"""What performs a sequence: a reply for each call, in order."""
