"""Puts the capture DLL beside a program for as long as it runs, in place of a DirectML.dll that may lie there.

Windows looks for a DLL beside the program first, and in System32 long before the PATH: so the DLL has to lie there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dmlcts.spec.untrusted.files import InputError, read_bytes

NAME, KEPT, OURS = "DirectML.dll", "DirectML.dmlcts-real.dll", "DirectML.dmlcts-capture"
"""What a program loads; the program's own one meanwhile; an empty file that says that DirectML.dll is ours."""

_LARGEST = 1 << 30


class BesideError(Exception):
    """The DLL cannot be put there; the message says why, and what to do."""


@contextmanager
def lend_dll(folder: Path, capture_dll: Path) -> Iterator[Path | None]:
    """Gives the program's own DirectML.dll, under the name that it has meanwhile; None if it has none and takes the system's.

    What a former call left that was killed is put right first.

    Raises:
        BesideError: the folder is none, cannot be written, or its DirectML.dll is in use.
    """
    if not folder.is_dir():
        raise BesideError(f"{folder} is no folder; name the folder of the program with --beside")
    try:
        restore(folder)
        if (folder / NAME).exists() and _same(folder / NAME, capture_dll):
            raise BesideError(
                f"{folder / NAME} is the capture DLL itself; put the program's own one, if it has any, back in its place"
            )
        if (folder / NAME).exists():
            (folder / NAME).rename(folder / KEPT)
        (folder / OURS).touch()  # from here on, DirectML.dll is not the program's: if all ends here, it can be removed
        shutil.copyfile(capture_dll, folder / NAME)
    except OSError as error:
        raise BesideError(
            f"{error.filename or folder}: {error.strerror}; end what uses the folder, or run this as its owner"
        ) from None
    try:
        yield folder / KEPT if (folder / KEPT).exists() else None
    finally:
        try:
            restore(folder)
        except OSError as error:
            raise BesideError(
                f"{folder / NAME} is still the capture DLL ({error.strerror}): remove it and {OURS}, and rename {KEPT}, if it is there, to {NAME}"
            ) from None


def restore(folder: Path) -> None:
    """Puts the program's own DirectML.dll back, if the capture DLL is in its place. Raises OSError."""
    if (folder / KEPT).exists():
        (folder / KEPT).replace(folder / NAME)
    elif (folder / OURS).exists():
        (folder / NAME).unlink(missing_ok=True)
    (folder / OURS).unlink(missing_ok=True)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.stat().st_size == other.stat().st_size and read_bytes(one, _LARGEST) == read_bytes(other, _LARGEST)
    except InputError:
        return False
