"""Debian without a container engine: the commands that make a system in a folder, and what they take over from this machine's apt."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml.stack import SUITE

QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
ADVICE = "check that this machine reaches its Debian mirror, or name another one with --mirror"
LIST_COMMAND = ("/usr/bin/dpkg-query", "--show", "--showformat", "${Package}\\t${Version}\\n")

_TOOLS = {"unshare": "util-linux", "mount": "mount", "chroot": "coreutils"}
"""Programs that enter a chroot, and the packages that have them."""


def problem() -> str:
    """Why no chroot can be made here, and what to do; empty if one can."""
    return problem_of_entering() or ("" if shutil.which("debootstrap") else "install debootstrap (or podman)")


def problem_of_entering() -> str:
    """Why no chroot can be used here, and what to do; empty if one can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "that needs root: run this as root, or install podman"
    if missing := [package for program, package in _TOOLS.items() if shutil.which(program) is None]:
        return f"install {', '.join(missing)} (or podman)"
    command = [shutil.which("unshare") or "unshare", "--mount", "true"]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"mounting is not allowed here ({tried.stderr.strip()})" if tried.returncode else ""


def mirror(apt: Path = Path("/etc/apt"), release: Path = Path("/etc/os-release")) -> str:
    """The mirror that this Debian machine uses itself, in either of apt's two forms.

    Raises:
        BackendUnavailable: it is no Debian, or names no mirror.
    """
    text = release.read_text(encoding="utf-8") if release.exists() else ""
    words = dict(re.findall(r"^(\w+)=\"?([^\"\n]*)", text, re.MULTILINE))
    suites = {words.get("VERSION_CODENAME"), "stable", "testing", "unstable", "sid"}
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))] if words.get("ID") == "debian" else []
    found = [
        address
        for file in files
        if file.suffix in (".list", ".sources") and file.is_file()
        for address, suite, components in _sources(file.read_text(encoding="utf-8", errors="replace"))
        if suite in suites and "main" in components and re.match(r"(https?|file):", address)
    ]
    if not found:
        raise BackendUnavailable(
            "this machine names no Debian mirror of its own; name one with --mirror, or install podman or docker"
        )
    # Others have packages for Debian too, and call their suites the same: Debian's mirrors are known by the last word.
    return next((address for address in found if address.rstrip("/").endswith("/debian")), found[0])


def _sources(text: str) -> list[tuple[str, str, list[str]]]:
    """Address, first suite and components of every entry of a sources file, in either of apt's two forms."""
    text = re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)
    lines = re.findall(r"^deb\s+(?:\[[^]]*\]\s*)?(\S+)\s+(\S+)\s+(.*)$", text, re.MULTILINE)
    found = [(address, suite, components.split()) for address, suite, components in lines]
    for stanza in re.split(r"\n\s*\n", text):
        fields = {key.lower(): value.split() for key, value in re.findall(r"^(\w[\w-]*):[ \t]*(.*)$", stanza, re.MULTILINE)}
        if (
            fields.get("enabled", ["yes"]) == ["yes"]
            and "deb" in fields.get("types", [])
            and fields.get("uris")
            and fields.get("suites")
        ):
            found.append((fields["uris"][0], fields["suites"][0], fields.get("components", [])))
    return found


def bootstrap_command(root: Path, address: str) -> list[str]:
    """Makes a minimal system, in a mount namespace of its own: what debootstrap mounts ends with it."""
    quiet = ["unshare", "--mount", "--propagation", "private"]
    return [*quiet, "debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, str(root), address]


def install_commands(packages: Sequence[str]) -> list[list[str]]:
    """What is run in the system to install packages, and nothing that they merely recommend."""
    return [
        ["apt-get", "update"],
        ["apt-get", "install", "--yes", "--no-install-recommends", *packages],
        ["apt-get", "clean"],
    ]


def copy_apt_settings(root: Path) -> None:
    """How this machine's apt reaches its mirrors (proxies, retries, certificates), and what makes an installation small and quick.

    Hooks of this machine's apt are left behind: what they call is not there.
    """
    folder = root / "etc" / "apt" / "apt.conf.d"
    settings = ""
    if program := shutil.which("apt-config"):
        settings = subprocess.run([program, "dump", "Acquire"], capture_output=True, text=True, check=False).stdout
    (folder / "90dmlcts").write_text(f'{settings}\nAcquire::Languages "none";\n', encoding="utf-8")
    (folder / "90dmlcts").chmod(0o600)  # a proxy may have a password
    # No pages to read; no waiting for the disk, since a system that was interrupted is thrown away.
    lines = ["force-unsafe-io\n", *(f"path-exclude=/usr/share/{name}/*\n" for name in ("doc", "info", "man"))]
    (root / "etc" / "dpkg" / "dpkg.cfg.d" / "90dmlcts").write_text("".join(lines), encoding="utf-8")


def mounts(table: Path = Path("/proc/self/mountinfo")) -> list[Path]:
    """Where something is mounted on this machine."""
    if not table.exists():
        return []
    lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    return [Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split()[4])) for line in lines]
