"""What a stack consisted of when it was set up and tried, so that a later change is seen.

The host, vkd3d, the Vulkan loader and the adapter's driver are compared by their contents: 23 MB. Wine's files and its Windows folder are too
many: they are compared by name, size and time of change. All else is not compared: LLVM and the C library, Wine's registry, compiled shaders.
Of an engine's image, its id is compared.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from hashlib import sha256
from os import DirEntry, scandir
from pathlib import Path
from typing import Any

from dmlcts.conformance.backends.directml.dll import Dll
from dmlcts.conformance.backends.directml.stack import CHROOT, Stack, read_marker, sha256_of

_LIBRARIES = "usr/lib/x86_64-linux-gnu"

WHOLE = (
    f"{_LIBRARIES}/libvkd3d*.so.*",
    f"{_LIBRARIES}/libvulkan.so.*",
    f"{_LIBRARIES}/libvulkan_lvp.so",
    "usr/share/vulkan/icd.d/lvp_icd*.json",
    "usr/bin/wine-stable",
)
"""Files in the Debian system that are compared by their contents, besides the host's."""

FOLDERS = (f"{_LIBRARIES}/wine/x86_64-unix", f"{_LIBRARIES}/wine/x86_64-windows", "dmlcts/prefix/drive_c/windows/system32")
"""Folders in it that are compared by names, sizes and times."""

Seal = Mapping[str, str]
"""A file, a folder or an image -> its digest."""


def seal_of(stack: Stack) -> Seal:
    """What a stack consists of now. A container engine that does not answer gives an image without an id."""
    if stack.kind != CHROOT:
        return {stack.image: _image_id(stack)}
    files = {file.relative_to(stack.root).as_posix(): sha256_of(file) for file in _whole(stack)}
    return files | {folder: _listing_digest(stack.root / folder) for folder in FOLDERS}


def changes(stack: Stack, before: Seal) -> list[str]:
    """What has another digest than before, is gone or is new, by name."""
    now = seal_of(stack)
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def not_the_default(dll: Dll, marker: Mapping[str, Any]) -> str:
    """That a DLL is not the one that was the default when the stack was tried, in words; empty if it is."""
    came = "given" if str(marker["dll"]).startswith("given/") else "fetched"
    return "" if dll.sha256 == marker["sha256"] else f"not the DLL that was {came}"


def vkd3d_version(stack: Stack) -> str:
    """The version of vkd3d that was installed, without Debian's part: ``2.1``; empty if it is not known."""
    found = re.match(r"[0-9]+(\.[0-9]+)*", str(read_marker(stack.folder / "packages.json").get("libvkd3d1")))
    return found[0] if found else ""


def _whole(stack: Stack) -> Iterator[Path]:
    patterns = (f"{stack.path_inside[1:]}/**/*", *WHOLE)
    return (file for pattern in patterns for file in stack.root.glob(pattern) if file.is_file())


def _listing_digest(folder: Path) -> str:
    """A digest of the names, sizes and times of change of a folder's files."""
    if not folder.is_dir():
        return ""
    with scandir(folder) as entries:
        lines = sorted(map(_line, entries))
    return sha256("\n".join(lines).encode()).hexdigest()


def _line(entry: DirEntry[str]) -> str:
    found = entry.stat(follow_symlinks=False)
    return entry.name if entry.is_dir(follow_symlinks=False) else f"{entry.name} {found.st_size} {found.st_mtime_ns}"


def _image_id(stack: Stack) -> str:
    command = [stack.kind, "image", "inspect", "--format", "{{.Id}}", stack.image]
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, text=True, check=False).stdout.strip()
