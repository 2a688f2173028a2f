"""Microsoft's releases of DirectML.dll out of the public wheels of onnxruntime-directml, by the user's own pip."""

from __future__ import annotations

from collections.abc import Callable

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml.dll import Dll, read_dll
from dmlcts.conformance.backends.directml.setup import from_wheel, make_folder
from dmlcts.conformance.backends.directml.stack import home

WHEELS = {
    "1.8.0": ("1.11.1", "3.7"),
    "1.9.0": ("1.12.0", "3.10"),
    "1.9.1": ("1.13.1", "3.10"),
    "1.10.1": ("1.14.1", "3.10"),
    "1.12.0": ("1.15.1", "3.10"),
    "1.12.1": ("1.16.3", "3.10"),
    "1.13.1": ("1.17.3", "3.12"),
    "1.14.1": ("1.18.1", "3.12"),
    "1.15.1": ("1.19.2", "3.12"),
    "1.15.2": ("1.20.1", "3.12"),
    "1.15.4": ("1.24.4", "3.12"),
}
"""Release -> the wheel of onnxruntime-directml that has it, and a Python for which there is one. Those that releases.py knows."""

NOT_HERE = {"1.5.1": "it is compressed with a method that Wine has not, so that it makes no device"}
"""Releases in public wheels that cannot be tested, with the reason."""


def fetch_release(release: str, say: Callable[[str], None]) -> Dll:
    """A release's DLL in the cache, downloaded if it is not there, or has changed there.

    Raises:
        BackendUnavailable: it cannot be downloaded, or what came is not this release.
    """
    wheel, python = WHEELS[release]
    there = home() / f"DirectML-{release}" / "DirectML.dll"
    if there.exists() and read_dll(there).release == release:
        return read_dll(there)
    say(f"Downloading DirectML.dll {release} (from the wheel onnxruntime-directml=={wheel})")
    with make_folder(there.parent) as folder:
        from_wheel("DirectML.dll", folder, f"onnxruntime-directml=={wheel}", python)
        dll = read_dll(folder / "DirectML.dll")
        if dll.release != release:
            raise BackendUnavailable(
                f"the DirectML.dll of onnxruntime-directml=={wheel} is not {release}, which is expected there: version {dll.version or 'unknown'}, SHA-256 {dll.sha256}"
            )
    return read_dll(there)
