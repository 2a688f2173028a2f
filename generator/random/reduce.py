"""Makes a drawn case simpler, as long as something holds of it, such as that it fails: usual values of factors, then smaller sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from dmlcts.generator.case.case import Case
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import Model
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.random.changed import LAST, sizes_as_numbers
from dmlcts.generator.random.fuzz_cases import case_of
from dmlcts.generator.random.random_dispatch import Genes, number_of, size_of
from dmlcts.spec.rules.symbols import symbols_of

_SMALL = (2, 3, 4, 5, 7, 8, 9, 16, 17)
"""Sizes that are tried first where 1 will not do."""

_RANKS = 8
"""The most dimension counts that a tensor may have."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a case must have for something to hold of it: values of factors, by name, and the least that the largest size of a symbol is.

    ``genes`` are the numbers of which it comes; those of a symbol's sizes are not among them.
    """

    genes: tuple[str, ...]
    values: tuple[tuple[str, str], ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Traits:
    """What needs are compared with: a case's value of each factor, and the largest size of each symbol."""

    values: Mapping[str, str]
    sizes: Mapping[str, int]

    def meet(self, need: Need) -> bool:
        """Whether the case has what is needed. What needs some dimensions has them among more, too."""
        return all(self._has(*each) for each in need.values) and all(self.sizes.get(name, 0) >= least for name, least in need.sizes)

    def _has(self, factor: str, value: str) -> bool:
        own = self.values.get(factor, "")
        return int(own or 0) >= int(value) if factor.split()[0] == "rank" else own == value


def traits_of(model: Model, case: Case) -> Traits:
    """The traits of a drawn case."""
    symbols = symbols_of(case.operator, case.desc)
    row = zip(model.factors, row_of(model, case, symbols), strict=True)
    values = {factor.name: factor.values[at] for factor, at in row if at != NONE and factor.kind not in ("size", "long")}
    values |= {f"strides {name}": "given" for name, tensor in case.desc.tensors() if tensor.strides is not None}
    values |= {f"moved {name}": "by bytes" for name, binding in case.bindings.items() if binding.offset}
    return Traits(values, {name: max(size, default=0) if isinstance(size, tuple) else int(size) for name, size in symbols.items()})


class _Given(Genes):
    """Given numbers, and the simplest of each other name."""

    def __init__(self, given: Mapping[str, float]) -> None:
        super().__init__(Random(0))  # noqa: S311 (not drawn from)
        self.given = given

    def new(self, name: str) -> float:
        """The given number, if there is one."""
        return self.given.get(name, simplest_number(name))


def simplest_number(name: str) -> float:
    """That of a size of 1, of the first option, of a tensor that is packed and not moved. The work is the largest, so that it limits nothing."""
    return LAST if name == "work" or (name.startswith("moved ") and not name.startswith("moved by ")) else 0.0


class SearchEnds(Exception):
    """Ends a search for a simpler case: there is no more time. StopIteration would be an error inside of a generator."""


class Reducer:
    """The simplest case so far, ``case``, and the numbers that it was made from.

    ``holds`` is asked of each case that is tried; it may raise SearchEnds.
    """

    def __init__(self, model: Model, genes: Genes, case: Case, label: str, holds: Callable[[Case], bool]) -> None:
        self.model, self.label, self.holds = model, label, holds
        self.case = case
        self.known = dict(genes.known) | dict(sizes_as_numbers(case)) | {"work": LAST}

    def run(self) -> Case:
        """The simplest case that was found."""
        try:
            before: dict[str, float] = {}
            while before != self.known:
                before = dict(self.known)
                self._fewer()
                self._smaller()
        except SearchEnds:
            pass
        return self.case

    def holds_without(self, need: Need) -> bool:
        """Whether it holds of the case without what a need names, which is kept then."""
        gone = {name: simplest_number(name) for name in need.genes if name in self.known}
        for symbol, least in need.sizes:
            for name in [name for name in self.known if name.split()[:2] == ["size", symbol]]:
                gone[name] = min(self.known[name], number_of(max(1, least - 1)))
        return self._try(gone)

    def needs(self) -> tuple[Need, ...]:
        """What the case needs for it to hold, if it is the simplest: each number that is not its simplest one, by what it changes of the case."""
        own = traits_of(self.model, self.case)
        found: dict[tuple[tuple[tuple[str, str], ...], tuple[tuple[str, int], ...]], list[str]] = {}
        for name in [name for name, number in self.known.items() if number != simplest_number(name)]:
            other = case_of(self.model, _Given({**self.known, name: simplest_number(name)}), self.label)
            if other is None or other == self.case:
                continue
            if name.startswith("size "):
                symbol = name.split()[1]
                found.setdefault(((), ((symbol, own.sizes.get(symbol, 1)),)), [])
            else:
                found.setdefault((_changed_values(name, own, traits_of(self.model, other)), ()), []).append(name)
        return tuple(Need(tuple(genes), *what) for what, genes in found.items())

    def _try(self, changes: Mapping[str, float]) -> bool:
        """Whether it holds of the case with these changes, which is kept then."""
        genes = _Given({**self.known, **changes})
        case = case_of(self.model, genes, self.label)
        if case is None or case == self.case or not self.holds(case):
            return False
        self.case, self.known = case, dict(genes.known)
        return True

    def _fewer(self) -> None:
        """Gives as many names as possible their simplest numbers: first all at once, then halves, quarters ... (delta debugging)."""
        names = [name for name, number in self.known.items() if number != simplest_number(name)]
        step = len(names)
        while step:
            for start in range(0, len(names), step):
                self._try({name: simplest_number(name) for name in names[start : start + step] if name in self.known})
            step //= 2

    def _smaller(self) -> None:
        """Makes each rank and each size as small as possible."""
        for name in [name for name in self.known if name.split()[0] == "rank"]:
            any(self._try({name: at / _RANKS}) for at in range(1, int(_RANKS * self.known[name]) + 1))
        for name in [name for name in self.known if name.startswith("size ")]:
            most = size_of(self.known.get(name, 0.0))
            if any(self._try({name: number_of(size)}) for size in _SMALL if size < most):
                continue
            least = 1  # below a size of which it does not hold there may be others of which it does, but seldom are
            while most - least > 1:
                middle = (least + most) // 2
                least, most = (least, middle) if self._try({name: number_of(middle)}) else (middle, most)


def _changed_values(gene: str, own: Traits, other: Traits) -> tuple[tuple[str, str], ...]:
    """The values of factors that a number decides: of those that change without it, the ones that it is about."""
    changed = {factor: value for factor, value in own.values.items() if other.values.get(factor) != value}
    about = {factor: value for factor, value in changed.items() if factor == gene or factor.split()[-1] in gene.split()}
    return tuple((about or changed).items())
