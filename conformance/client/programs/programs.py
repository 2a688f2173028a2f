"""The client program and the capture DLL of this version of the suite: where they lie, and what they are called inside a stack.

    directml/onnxruntime-1.24.4/onnxruntime.dll        out of the wheel that DirectML.dll is from
    directml/chroot-SYSTEM/root/dmlcts/client-ID/      the programs and a copy of that DLL, in the Debian system
    directml/windows/client-ID/                        the same, built on Windows

ID stands for their sources, and for the host that they share some with.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml.setup import WHEEL
from dmlcts.conformance.backends.directml.stack import CHROOT, Stack, home, host_id, need_prepared

NATIVE = Path(__file__).resolve().parents[1] / "native"
"""The sources, in a checkout and in an installed package alike."""

CAPTURE_DLL, CLIENT_EXE, ONNXRUNTIME_DLL = "DirectML.dll", "dmlcts-onnxruntime.exe", "onnxruntime.dll"
SETUP = "dmlcts setup --client"


def client_id() -> str:
    """What the programs are named by: their sources, the host's, and the ABI that the tables are about."""
    from dmlcts.spec.model import abi

    files = [
        NATIVE / "CMakeLists.txt",
        NATIVE / "make.sh",
        *sorted((NATIVE / "src").iterdir()),
        Path(abi.__file__).with_suffix(".yaml"),
    ]
    found = sha256(host_id().encode())
    for file in files:
        data = file.read_bytes().replace(b"\r\n", b"\n")
        found.update(file.name.encode() + len(data).to_bytes(8, "little") + data)
    return found.hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs, which may still be missing. ``stack`` is the one in which they run, None on Windows; ``folder`` is theirs."""

    stack: Stack | None
    folder: Path

    @property
    def client(self) -> Path:
        """The client program."""
        return self.folder / CLIENT_EXE

    @property
    def capture(self) -> Path:
        """The capture DLL."""
        return self.folder / CAPTURE_DLL

    @property
    def onnxruntime(self) -> Path:
        """ONNX Runtime, in a folder of its own: beside the capture DLL, it would take that for its DirectML.dll."""
        return self.folder / "onnxruntime" / ONNXRUNTIME_DLL

    @property
    def missing_file(self) -> Path | None:
        """The first file that is not there."""
        return next((file for file in (self.client, self.capture, self.onnxruntime) if not file.is_file()), None)

    def path_in_stack(self, file: Path) -> str:
        """What a program that runs in the stack calls a file of this machine, which must lie in the stack."""
        if self.stack is None:
            return str(file)
        return "Z:\\" + str(file.relative_to(self.stack.root)).replace("/", "\\")


def programs_of(stack: Stack | None) -> Programs:
    """The programs of this version, there or not."""
    return Programs(stack, (home() / "windows" if stack is None else stack.root / "dmlcts") / f"client-{client_id()}")


def downloaded_onnxruntime() -> Path:
    """Where the wheel's onnxruntime.dll lies, or is to lie."""
    return home() / f"onnxruntime-{WHEEL.rpartition('=')[2]}" / ONNXRUNTIME_DLL


def need_stack() -> Stack | None:
    """The stack for the programs; None on Windows, which needs none. Raises BackendUnavailable."""
    if os.name == "nt":
        return None
    stack, _ = need_prepared()
    if stack.kind != CHROOT:
        raise BackendUnavailable(
            f"a client runs in a chroot or on Windows, not in {stack.kind}; run `{SETUP} --engine chroot` as root"
        )
    return stack


def need_programs() -> Programs:
    """The programs. Raises BackendUnavailable where they are not ready; the message says how to get them."""
    programs = programs_of(need_stack())
    if missing := programs.missing_file:
        raise BackendUnavailable(f"{missing.name} is not there (in {missing.parent}); run `{SETUP}`")
    return programs
