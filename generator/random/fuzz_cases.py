"""Drawn cases by number: ``dmlcts fuzz`` searches among them for cases that fail.

Operator, seed and number decide a case completely, so any of them can be made again from its id (``.../fuzz-SEED-NUMBER/...``). So do the numbers of
changes that were made to it, one after another (``fuzz-SEED-NUMBER.CHANGE.CHANGE``). Many numbers
give no case: no desc is valid, or it is too large to be run often. Of some that do, the search runs the one in which the most values of
factors (generator/facts/factors) occur together for the first time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from dmlcts.generator.case.case import Binding, Case, Data
from dmlcts.generator.covering.bindings import with_slack
from dmlcts.generator.covering.space import space_of
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import LONG, RESOURCES, SLACK, Model, model_of
from dmlcts.generator.facts.tuples import Tuples
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.changed import change_genes
from dmlcts.generator.random.random_dispatch import Genes, SizeRule, dispatch_from, offset_at
from dmlcts.generator.random.typical_genes import typical_genes
from dmlcts.generator.values.critical_sizes import beside_powers
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.spec.model.desc import field_of
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.symbols import symbols_of
from dmlcts.spec.writing.files import writing_to

_DIVISIBLE = (12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520)
"""Sizes with more divisors than any smaller one: multiples of much at once."""

EDGES = (
    *beside_powers(4, 4096),
    *_DIVISIBLE,
    *LONG[3::12],
)
"""Sizes on which kernels turn, and long ones; a quarter of all sizes are among them."""

_MOST_WORK, _MOST_BYTES = 1 << 21, 1 << 22
"""The largest product of the sizes of a case, about its multiplications, and the most bytes of all its tensors."""

RULE = SizeRule(EDGES, work=(1 << 13, 1 << 10, 1 << 13, 1 << 16, 1 << 19))
"""How sizes are drawn: the product of most cases' free sizes is small, so that there can be many."""

_USUAL_OFFSETS = 0.8
"""How many cases begin at one of the usual offsets."""

_DIFFERENT = 0.88
"""How many tensors have different elements: weights, masks and scales are often a constant."""

_CHOICE = 3
"""Of so many cases, the search runs one."""

_TRIES = 4000
"""After so many numbers in a row without a case, there is none to be expected."""

_LABEL = re.compile(r"/fuzz-(\d{1,10})-(\d{1,10})((?:\.\d{1,10}){0,8})(?=/|$)")

MOST_CHANGES = 8
"""How many changes, one after another, a case may have."""


class Place(NamedTuple):
    """What decides a drawn case: operator, seed and number, and the numbers of the changes that were made to it."""

    operator: str
    seed: int
    number: int
    changes: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """Its part of the case's id."""
        return ".".join([f"fuzz-{self.seed}-{self.number}", *map(str, self.changes)])

    def with_change(self, change: int) -> Place:
        """The place of the same case with one more change; where it has as many as may be, another one in place of the last."""
        return self._replace(changes=(*self.changes[: MOST_CHANGES - 1], change))


def fuzz_case(operator: str, seed: int, number: int, changes: tuple[int, ...] = ()) -> Case | None:
    """The case of an operator with that number, after some changes; None where there is none. Raises KeyError for an unknown operator."""
    place = Place(operator, seed, number, changes)
    if changes and _grow_case(place._replace(changes=changes[:-1])) is None:
        return None
    return case_of(_model(operator), fuzz_genes(*place), place.label)


@lru_cache(maxsize=2_000)
def _grow_case(place: Place) -> tuple[Mapping[str, float], Case] | None:
    """All numbers of a case that is changed, and the case; None where there is none."""
    if place.changes and _grow_case(place._replace(changes=place.changes[:-1])) is None:
        return None
    genes = fuzz_genes(*place)
    case = case_of(_model(place.operator), genes, place.label)
    return (genes.known, case) if case is not None else None


def number_in(case_id: str) -> Place | None:
    """The place of a drawn case, by its id; None for the id of another."""
    found = _LABEL.search(case_id)
    if not found:
        return None
    return Place(case_id.partition("/")[0], int(found[1]), int(found[2]), tuple(map(int, found[3].split(".")[1:])))


def find_numbered(case_id: str) -> Case | None:
    """The drawn case with this id; None where the number gives no case, or another one, as with another version of the spec."""
    place = number_in(case_id)
    case = fuzz_case(*place) if place and place[0] in operator_names() else None
    return case if case is not None and case.id == case_id else None


def fuzz_genes(operator: str, seed: int, number: int, changes: tuple[int, ...] = ()) -> Genes:
    """The random numbers of a drawn case: every second one is a typical dispatch with a few things unusual. Raises KeyError if what is changed is no case."""
    if changes:
        before = _grow_case(Place(operator, seed, number, changes[:-1]))
        if before is None:
            raise KeyError(
                f"there is no case {Place(operator, seed, number, changes[:-1]).label} of {operator} that could be changed"
            )
        random = Random(f"{operator}/{Place(operator, seed, number, changes).label}")  # noqa: S311 (reproducible, no secret)
        return change_genes(Genes(random, dict(before[0])), before[1], random)
    genes = genes_of(operator, seed, number)
    return typical_genes(_model(operator), genes.random) if number % 2 else genes


def genes_of(operator: str, seed: int | str, number: int) -> Genes:
    """The random numbers from which a case is made."""
    return Genes(Random(f"{operator}/{seed}/{number}"))  # noqa: S311 (reproducible, no secret)


@cache
def _model(operator: str) -> Model:
    return model_of(plan_of(load(operator)))


def case_of(model: Model, genes: Genes, label: str, rule: SizeRule = RULE, is_known: bool = False) -> Case | None:
    """The case of these genes, with a label for its id and sizes by a rule; None where there is none.

    Of genes that are known to give a case, the rules are not asked again, which takes a third of the time.
    """
    case = dispatch_from(model, genes, rule, label, is_known)
    if case is None or (not is_known and _too_large(model, case)):
        return None
    case = _bind(model, case, genes)
    return case if is_known or not violations(case.operator, case.desc) else None


def _too_large(model: Model, case: Case) -> bool:
    work = model.work(symbols_of(case.operator, case.desc))
    work = max(work, *(tensor.count for _, tensor in case.desc.tensors()))  # computed sizes, of few bytes where strides are 0
    return work > _MOST_WORK or sum(tensor.bytes for _, tensor in case.desc.tensors()) > _MOST_BYTES


def _bind(model: Model, case: Case, genes: Genes) -> Case:
    """The case with what it may have besides: shared resources, inputs that DirectML owns, more bytes than needed, and equal elements alone."""
    owned = genes.pick("owned", ((), (), *model.owned_sets.values()))
    aliased = {*case.in_place, *case.in_place.values()}
    slack = genes.pick("slack", SLACK)
    changed, bindings = {}, dict(case.bindings)
    for name, tensor in case.desc.tensors():
        if slack == "binding":
            bindings[name] = replace(bindings.get(name, Binding()), short=-16)
        changed[name] = with_slack(tensor, slack, model.plan.name_of(name) in owned and name not in aliased)
    offset = offset_at(genes.number("offset at")) if genes.number("offset anywhere") > _USUAL_OFFSETS else case.offset
    resource = RESOURCES[genes.pick("resource", tuple(RESOURCES))]
    alike = [
        name for name in case.data if genes.number(f"alike {name}") > _DIFFERENT and _may_be_alike(model, name, case.data[name])
    ]
    data = {**case.data, **{name: replace(case.data[name], alike=True) for name in alike}}
    return replace(case, desc=case.desc.with_tensors(changed), bindings=bindings, offset=offset, resource=resource, data=data)


def _may_be_alike(model: Model, name: str, data: Data) -> bool:
    """Whether all elements of a tensor may be equal, as they are where it is broadcast from one."""
    return model.plan.operator.field(field_of(name)).may_overlap and not RECIPES[data.recipe].differ


class SeenTriples:
    """Which triples of values of an operator's factors occurred together so far, and the next number to draw."""

    def __init__(self, operator: str) -> None:
        self.operator, self.next = operator, 0
        self.model = _model(operator)
        space = space_of(self.model.plan)
        self.tuples = Tuples.from_space(space, 3)

    def draw(self, seed: int, count: int, wanted: Callable[[Case], bool]) -> Iterator[Case]:
        """The next cases of a seed that are wanted: of some, always the one with the most triples that were not seen before.

        There may be fewer than ``count`` where hardly any number gives such a case.
        """
        for _ in range(count):
            found = list(self._some_cases(seed, wanted))
            if not found:
                return
            places = [self.tuples.places_of(np.array(row_of(self.model, case))) for case in found]
            best = max(range(len(found)), key=lambda at: int(self.tuples.open[places[at]].sum()))
            self.tuples.open[places[best]] = False
            yield found[best]

    def _some_cases(self, seed: int, wanted: Callable[[Case], bool]) -> Iterator[Case]:
        left = _CHOICE
        for _ in range(_TRIES):
            case = fuzz_case(self.operator, seed, self.next)
            self.next += 1
            if case is not None and wanted(case):
                yield case
                left -= 1
                if not left:
                    return

    def reset(self) -> None:
        """Forgets everything."""
        self.next = 0
        self.tuples.open[:] = True

    def save(self, file: Path) -> None:
        """Writes the state, atomically."""
        partial = file.with_name(f"{file.name}.partial")
        with writing_to(file):
            with partial.open("wb") as stream:
                np.savez(stream, next=self.next, open=np.packbits(self.tuples.open))
            partial.replace(file)

    def restore(self, file: Path) -> None:
        """Reads a state that ``save`` wrote."""
        with np.load(file) as state:
            self.next = int(state["next"])
            self.tuples.open = np.unpackbits(state["open"], count=len(self.tuples.open)).astype(np.bool_)
