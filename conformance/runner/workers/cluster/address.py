"""Which cluster, and which of its workers: what a user types. Imports nothing of dask."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from dmlcts.conformance.backends.opening import is_in_process
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.spec.untrusted.files import shorten_text

RESOURCE = "adapter"
"""What a worker must offer, unless another resource is named: so many cases at once run on it."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The scheduler's address, and the resource that the workers to use offer (``dask worker --resources "adapter=1"``).

    Whoever reaches a scheduler runs code on all its machines (SECURITY.md). So it is reached by TLS, or stands on this machine.

    Raises:
        UsageError: the address is none of a scheduler, or is another machine's without TLS.
    """

    address: str
    resource: str = RESOURCE

    def __post_init__(self) -> None:
        """Refuses what is unsafe before anything is connected."""
        protocol, mark, rest = self.address.partition("://")
        host = rest.rpartition(":")[0].strip("[]")
        if not mark or protocol not in ("tcp", "tls") or not host:
            raise UsageError(
                f"--cluster {shorten_text(self.address)}: give a scheduler's address, such as tcp://127.0.0.1:8786 or tls://lab:8786"
            )
        if protocol == "tcp" and not _is_here(host):
            raise UsageError(
                f"--cluster {shorten_text(self.address)}: whoever reaches a scheduler without TLS runs code on all its machines; "
                "give it certificates and use tls:// (docs/cluster.md), or a tunnel to this machine"
            )


def check_backend(backend: str) -> None:
    """Raises UsageError for a backend that would run in the process of a worker."""
    if is_in_process(backend):
        raise UsageError(
            f"{backend} would run in the worker's own process, whose death costs its other cases too: use python: with --cluster"
        )


def _is_here(host: str) -> bool:
    """Whether a host is the loopback address of this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
