"""Makes a drawn case simpler, as long as something holds of it, such as that it fails: usual values of factors, then smaller sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random

from dmlcts.generator.case import Case
from dmlcts.generator.drawn import Genes, number_of, size_of
from dmlcts.generator.factors import Model, symbols_of
from dmlcts.generator.numbered import case_of

_SMALL = (2, 3, 4, 5, 7, 8, 9, 16, 17)
"""Sizes that are tried first where 1 will not do."""

_RANKS = 8
"""The most dimension counts that a tensor may have."""

_LAST = 0.999


class _Given(Genes):
    """Given numbers, and the simplest of each other name."""

    def __init__(self, given: Mapping[str, float]) -> None:
        super().__init__(Random(0))  # noqa: S311 (not drawn from)
        self.given = given

    def new(self, name: str) -> float:
        """The given number, if there is one."""
        return self.given.get(name, _simplest(name))


def _simplest(name: str) -> float:
    """That of a size of 1, of the first option, of a tensor that is packed and not moved. The work is the largest, so that it limits nothing."""
    return _LAST if name == "work" or (name.startswith("moved ") and not name.startswith("moved by ")) else 0.0


class Simplifier:
    """The simplest case so far, ``case``, and the numbers that it was made from.

    ``holds`` is asked of each case that is tried; it may raise StopIteration, which ends the search.
    """

    def __init__(self, model: Model, genes: Genes, case: Case, label: str, holds: Callable[[Case], bool]) -> None:
        self.model, self.label, self.holds = model, label, holds
        self.case = case
        self.known = dict(genes.known) | dict(_sizes(case)) | {"work": _LAST}

    def run(self) -> Case:
        """The simplest case that was found."""
        try:
            before: dict[str, float] = {}
            while before != self.known:
                before = dict(self.known)
                self._fewer()
                self._smaller()
        except StopIteration:
            pass
        return self.case

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
        names = [name for name, number in self.known.items() if number != _simplest(name)]
        step = len(names)
        while step:
            for start in range(0, len(names), step):
                self._try({name: _simplest(name) for name in names[start : start + step] if name in self.known})
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


def _sizes(case: Case) -> Iterator[tuple[str, float]]:
    """The numbers of the sizes that a case has, none of them among the wanted ones."""
    for symbol, value in symbols_of(case.operator, case.desc).items():
        named = (
            {f"size {symbol} {at}": size for at, size in enumerate(value)}
            if isinstance(value, tuple)
            else {f"size {symbol}": value}
        )
        for name, size in named.items():
            yield name, number_of(size)
            yield f"wanted {name}", 0.0
