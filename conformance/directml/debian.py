"""Debian without a container engine: the commands that make a system in a folder, and what they take over from this machine's apt."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dmlcts.conformance.backend import BackendUnavailable
from dmlcts.conformance.directml.stack import SUITE

QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
ADVICE = "check that this machine reaches its Debian mirror, or name another one with --mirror"
LIST_COMMAND = ("/usr/bin/dpkg-query", "--show", "--showformat", "${Package}\\t${Version}\\n")

_TOOLS = {"debootstrap": "debootstrap", "unshare": "util-linux", "mount": "mount", "chroot": "coreutils"}
"""Programs, and the packages that have them."""


def problem() -> str:
    """Why no chroot can be made here, and what to do; empty if one can."""
    if os.geteuid() != 0:
        return "that needs root (run `dmlcts setup` as root, or install podman)"
    missing = [package for program, package in _TOOLS.items() if shutil.which(program) is None]
    if missing:
        return f"install {', '.join(missing)} (or podman)"
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    return f"mounting is not allowed here ({tried.stderr.strip()})" if tried.returncode else ""


def mirror(apt: Path = Path("/etc/apt"), release: Path = Path("/etc/os-release")) -> str:
    """The mirror that this Debian machine uses itself, in either of apt's two forms.

    Raises:
        BackendUnavailable: it is no Debian, or names no mirror.
    """
    text = release.read_text(encoding="utf-8") if release.exists() else ""
    if re.search(r"^ID=\"?debian\"?$", text, re.MULTILINE):
        for file in (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))):
            if file.suffix in (".list", ".sources") and file.is_file():
                for address, suites in _sources(file.read_text(encoding="utf-8", errors="replace")):
                    if "main" in suites and re.match(r"(https?|file):", address):
                        return address
    raise BackendUnavailable("this machine names no Debian mirror of its own; name one with --mirror, or install podman or docker")


def _sources(text: str) -> list[tuple[str, str]]:
    """Address and components of every entry of a sources file, in the order of the file; entries for security updates are left out."""
    text = re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)
    found = [
        (address, components)
        for address, suite, components in re.findall(r"^deb\s+(?:\[[^]]*\]\s*)?(\S+)\s+(\S+)\s+(.*)$", text, re.MULTILINE)
        if "security" not in suite
    ]
    for stanza in re.split(r"\n\s*\n", text):
        fields = {key.lower(): value.strip() for key, value in re.findall(r"^(\w[\w-]*):[ \t]*(.*)$", stanza, re.MULTILINE)}
        enabled = fields.get("enabled", "yes") == "yes" and "deb" in fields.get("types", "").split()
        if enabled and fields.get("uris") and "security" not in fields.get("suites", ""):
            found.append((fields["uris"].split()[0], fields.get("components", "")))
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
    """How this machine's apt reaches its mirrors (proxies, retries, certificates), and smaller installations: no pages to read.

    Hooks of this machine's apt are left behind: what they call is not there.
    """
    folder = root / "etc" / "apt" / "apt.conf.d"
    if shutil.which("apt-config"):
        said = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=False).stdout
        (folder / "90dmlcts").write_text(said, encoding="utf-8")
        (folder / "90dmlcts").chmod(0o600)  # a proxy may have a password
    left_out = ("doc", "info", "man")
    lines = [f"path-exclude=/usr/share/{name}/*\n" for name in left_out]
    (root / "etc" / "dpkg" / "dpkg.cfg.d" / "90dmlcts").write_text("".join(lines), encoding="utf-8")


def mounts(table: Path = Path("/proc/self/mountinfo")) -> list[Path]:
    """Where something is mounted on this machine."""
    if not table.exists():
        return []
    lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    return [Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split()[4])) for line in lines]
