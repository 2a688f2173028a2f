"""What was measured about an operator: what a probe of one implementation found, and which rules are not required for that reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Something a documented rule forbids and DirectML.dll accepts: its rejection is not required. ``rule`` is the rule's label."""

    rule: str
    evidence: str
    data_types: tuple[str, ...] = ()


ORACLE = "DirectML"
"""The implementation whose leniency counts: what it was measured to accept need not be rejected (``Measurement.accepts``)."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where an implementation and the documentation differ. ``what`` is the rule that it does not enforce, or what it refuses.

    ``ways`` are those of breaking the rule or of asking for the thing, all that were tried where empty; ``types`` the data types with
    which, all where empty. ``said`` is the stage and code of a refusal, or the evidence. ``waived`` says that one of the negative cases
    about the rule was accepted, so that none is demanded.
    """

    what: str
    ways: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    said: str = ""
    waived: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """What ``dmlcts probe`` found out about one implementation: ``by`` is its name and version, ``date`` a UTC one.

    ``cells`` are those of the tables up to ``level``, of which ``confirmed`` were accepted. ``rejections`` counts refusals by stage.
    ``accepts`` is what the documentation does not list and it accepts, ``refuses`` what is listed and refused, ``unknown`` what it gave
    no answer about.
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
    accepts: tuple[Difference, ...] = ()
    refuses: tuple[Difference, ...] = ()
    unknown: tuple[Difference, ...] = ()
