"""Backends in the host that misbehaves (tests/hosts/misbehaving.py), and a dispatch whose answer tells which process gave it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dmlcts.conformance.backends.backend import BufferBinding, Dispatch
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

HOST = Path(__file__).parents[1] / "hosts" / "misbehaving.py"
LONG = 20.0
"""Seconds: a fault that takes a fourth of it was not found at once, but by its limit."""


def host(*arguments: str) -> list[str]:
    return [sys.executable, "-S", "-E", str(HOST), *arguments]


def dispatch(size: int = 12, timeout: float | None = None) -> Dispatch:
    tensor = TensorDesc("UINT8", (1, 1, 1, size))
    desc = OperatorDesc("ELEMENT_WISE_BIT_OR", dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), tensor))
    resources = [np.full(size, fill, np.uint8) for fill in (1, 2, 0xCD)]
    bindings = {name: BufferBinding(index, 0, size) for index, name in enumerate(desc.fields)}
    return Dispatch(desc, resources, bindings, ("OutputTensor",), timeout)


def pid(backend: ProcessBackend) -> int:
    """The host's process id: what it writes into the output."""
    good = dispatch()
    backend.run(good)
    return int(good.resources[2][:4].view("<u4")[0])
