"""What the site shows of each operator, as the pages take it: gathered elsewhere, since this room makes no cases and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dmlcts.reports.site.faults import Example, Fault
from dmlcts.spec.model.operator import Operator


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A case as the site lists it."""

    id: str
    kind: str
    basis: str
    level: str
    feature_level: str


@dataclass(frozen=True, slots=True)
class KernelLine:
    """A kernel that an operator's cases ran: its label, how many cases ran it, how many of these failed, and one of them."""

    label: str
    cases: int
    failing: int
    example: str


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels of an operator in a run, the most frequent first. ``total`` says how many there are, in words."""

    run: str
    total: str
    lines: Sequence[KernelLine]


@dataclass(frozen=True, slots=True)
class OperatorPage:
    """An operator, how its reference computes it, its cases, and for the label of a promise the case that tests it.

    ``contested`` are the data types of cases in which DirectML.dll does otherwise than its documentation says. ``examples`` has for patterns of ids the
    smallest case that they match, ``kernels`` what its cases ran, where a run names that.
    """

    operator: Operator
    formula: str
    cases: Sequence[CaseLine]
    tested_by: Mapping[str, str]
    contested: frozenset[str] = frozenset()
    faults: Sequence[Fault] = ()
    examples: Mapping[tuple[str, ...], Example] = field(default_factory=dict)
    kernels: Kernels | None = None


@dataclass(frozen=True, slots=True)
class GraphLine:
    """A graph of several operators that is known to be computed wrongly: what it is called, its operators, and its file beside the pages."""

    name: str
    operators: tuple[str, ...]
    file: str


@dataclass(frozen=True, slots=True)
class FurtherPage:
    """A page besides those of operators, with its place in the navigation: a template of this package and its values."""

    title: str
    file: str
    template: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Content:
    """All that a site shows. ``runs`` is what ``runs_json`` gives, or None; ``runs_page`` its page beside the others. ``texts`` are the files to
    download, by their paths. ``faults`` are known faults of no operator alone.
    """

    pages: Sequence[OperatorPage]
    faults: Sequence[Fault] = ()
    runs: Mapping[str, Any] | None = None
    runs_page: str = ""
    graphs: Sequence[GraphLine] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    further: Sequence[FurtherPage] = ()
