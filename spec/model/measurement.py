"""What a probe of one implementation found about an operator, and which rules need not be enforced for that reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dmlcts.spec.model.abi import FeatureLevel

ALL = ("all",)
"""The data types of an acceptance that was seen with every combination that was tried."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A documented rule that DirectML.dll does not enforce: a rejection is not required. ``rule`` is the rule's label.

    It covers only what was measured. ``ways`` are changes of a valid desc or binding, each with the new value
    (``data-type/InputTensor+OutputTensor=FLOAT64``); ``types`` are whole combinations of the tensors' data types before the change
    (``FLOAT32-UINT64``), or ALL. ``until`` is the highest feature level that was measured, None if a person states the acceptance.
    """

    rule: str
    evidence: str
    ways: tuple[str, ...]
    types: tuple[str, ...]
    until: FeatureLevel | None = None

    def holds(self, way: str, types: str, level: FeatureLevel) -> bool:
        """Whether it was seen with this change of a desc of these data types, which is valid from ``level`` on."""
        return way in self.ways and (self.types == ALL or types in self.types) and (self.until is None or level <= self.until)


def types_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The ``types`` of an entry in YAML, which says ``all`` or lists them; empty where it does not say."""
    types = entry.get("types", ())
    return ALL if types == "all" else tuple(types)


ORACLE = "DirectML"
"""The implementation whose leniency counts: what it was measured to accept need not be rejected (``Measurement.accepts``)."""


@dataclass(frozen=True, slots=True)
class MeasuredDifference:
    """Where an implementation and the documentation differ. ``what`` is the rule that it does not enforce, or what it refuses.

    ``ways`` are the tested ways to break the rule or to use the feature, empty for all; ``types`` the combinations of data types, empty
    for all. ``message`` is the stage and code of a rejection, or the evidence. ``waived`` says that the ways and types are those of negative
    cases, which are not required for that reason: then both are always given, and ``types`` may be ALL.
    """

    what: str
    ways: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    message: str = ""
    waived: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """What ``dmlcts probe`` found about one implementation: ``by`` is its name and version, ``date`` a UTC one.

    ``cells`` are those of the tables up to ``level``, of which ``confirmed`` were accepted. ``rejections`` counts refusals by stage.
    ``accepts`` lists what it accepts beyond the documentation, ``refuses`` what it rejects although documented, ``unknown`` what got no
    answer.
    """

    by: str
    date: str
    level: str
    probes: int
    cells: int
    confirmed: int
    device: str = ""
    suite: str = ""
    command: str = ""
    rejections: Mapping[str, int] = field(default_factory=dict)
    accepts: tuple[MeasuredDifference, ...] = ()
    refuses: tuple[MeasuredDifference, ...] = ()
    unknown: tuple[MeasuredDifference, ...] = ()
