"""The forms of repetition: what a sequence does with an operator besides dispatching it once. The table is forms.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.reading.document import parse, read

FILE = Path(__file__).with_name("forms.yaml")


@dataclass(frozen=True, slots=True)
class Form:
    """A form of repetition: what it repeats, and what is found by it.

    ``owned``: DirectML owns some inputs, if it may own any. ``copies``: another operator copies the output, and must be there at the case's feature
    level too. ``basis``: what its cases rest on, besides what is known of their operator. ``pin``: which line of the pin its cases are in, after
    their level; forms that came later have lines of their own, so that those of older forms stay as they are.
    """

    label: str
    repeats: str
    reason: str
    owned: bool = False
    copies: bool = False
    basis: str = DOCUMENTED
    pin: str = "sequences"


@cache
def forms() -> Mapping[str, Form]:
    """The forms by label, the plainest first."""
    return {label: Form(label, **row) for label, row in _table()["forms"].items()}


def copying_operator() -> str:
    """The name of the operator that takes another's output and gives it unchanged."""
    return str(_table()["copy"])


@cache
def _table() -> Mapping[str, Any]:
    found: Mapping[str, Any] = parse(read(FILE), FILE).data
    return found
