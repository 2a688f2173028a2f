"""A backend whose constants are ignored in graphs."""

from dmlcts.conformance.faults.beyond.graphs import FAULTS
from dmlcts.conformance.faults.beyond.planted_graphs import ChangedBackend


class Wrong(ChangedBackend):
    """The reference with that fault."""

    def __init__(self) -> None:
        super().__init__(FAULTS["constant-ignored"])
