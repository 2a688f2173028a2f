"""The sizes of plain dispatches: one or two that are unusual, or all large, beside even ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, permutations
from math import prod

from dmlcts.generator.facts.factors import Model
from dmlcts.generator.sweeps.critical_sizes import Dimension

UNEVEN = (13, 31, 33, 47, 65)
"""Sizes that no kernel takes whole; beside them, others are one of ``UNITS``, and those of a window ``WINDOW``."""

EIGHTS = (24, 40)
"""Sizes that a kernel takes whole by 8, and not by 16."""

TILES = (80, 96)
"""Sizes of two dimensions at once, beyond a tile of 64 and whole by 16."""

MANY, SOLID, MOST_OF_MANY = ((80, 96, 72), (40, 48, 56), (64, 64, 128)), (36, 40, 34), 1 << 18
"""Sizes of all dimensions at once but batches and windows, in turn from the last one on, any of these: such as leave a rest, and whole tiles; such as the
dimension before the last two has too; and the elements that all tensors have then at the most."""

REST = 40
"""The size of a dimension beside one of a single element, in several batches: a product by a vector is a kernel of its own."""

UNITS, WINDOW = (32, 16, 8, 4), 3

FAR, FARTHER = 65_537, (1 << 20) + 7
"""More than a dimension of a dispatch has groups of threads, or 16 bits count; and more than 1,024 groups of as many threads."""

PLANE = (257, 256)
"""A plane of more elements than 16 bits count, by neither of its sizes."""

_MOST_WORK = 1 << 17
"""The product of all sizes: the even ones have the largest unit with which they keep to it."""

_MOST_ELEMENTS = 1 << 22
"""The most elements of all tensors together."""

_BESIDE_CONTRACTED = (1, 16)
"""What is beside a long dimension along which the operator sums: a single sum, and a tile of them."""

_WAYS, _WAYS_OF_TWO = 10, 4
"""With how many choices of data types, enumerations and presence each dimension is uneven, and two are large."""

Sizes = Mapping[Dimension, int]


@dataclass(frozen=True, slots=True)
class Form:
    """Sizes of a dispatch: what is unusual about them in words, those that it must have, those of others, and how many ways it is tried."""

    label: str
    turned: Sizes
    others: Sizes
    ways: int
    most: int = _MOST_ELEMENTS
    """How many elements all tensors have at the most."""
    is_contracted: bool = False
    """Whether no output has so many elements as the long dimension: it is one along which the operator sums."""


def forms(model: Model) -> Iterator[Form]:
    """Every form of sizes that an operator's dispatches may have."""
    return chain(_forms_of_one(model), _forms_of_two(model), _forms_of_many(model))


def _forms_of_one(model: Model) -> Iterator[Form]:
    few = {at: 1 if _is_leading(model, at) else 2 for at in model.dimensions.values()}
    for name, at in model.dimensions.items():
        if at[0] in model.growing:
            continue
        largest = model.largest(at[0])
        for size in (size for size in (*UNEVEN, *EIGHTS) if size <= largest):
            others = even_sizes(model, {at: size})
            yield _form(f"{name}={size}", {at: size}, others, 1 if size in EIGHTS else _WAYS // len(UNEVEN))
            windows = [other for other in others if other[0] in model.growing and model.symbols[other[0]]]
            if windows:  # one of a single element is a product of matrices
                points = others | dict.fromkeys(windows, 1)
                yield _form(f"{name}={size}.window-1", {at: size}, points, 1)
        if largest >= FAR:
            yield _form(f"{name}={FAR}", {at: FAR}, few, 2)
            for unit in _BESIDE_CONTRACTED:
                beside = {other: min(unit, model.largest(other[0])) if few[other] > 1 else 1 for other in few}
                yield replace(_form(f"{name}={FAR}", {at: FAR}, beside, 2), is_contracted=True)
        if largest >= FARTHER and (at[1] == -1 or at == (list(model.symbols)[-1], 0)):
            yield _form(f"{name}={FARTHER}", {at: FARTHER}, dict.fromkeys(few, 1), 1)
        if largest >= FAR and at[1] == -2:
            yield _form(*plane_of(at[0]), few, 2)


def plane_of(symbol: str) -> tuple[str, Sizes]:
    """A label, and the last two sizes of a symbol that stands for several."""
    return f"{symbol}={'x'.join(map(str, PLANE))}", {(symbol, -2): PLANE[0], (symbol, -1): PLANE[1]}


def _forms_of_two(model: Model) -> Iterator[Form]:
    """Any two dimensions large; and of any two one with a single element and one with a rest, in several batches. Batches are never large."""
    batches = {at: 3 for at in model.dimensions.values() if _is_leading(model, at)}
    free = [(name, at) for name, at in model.dimensions.items() if at[0] not in model.growing and at not in batches]
    for (name, at), (other, there) in permutations(free, 2):
        if name < other and model.largest(at[0]) >= TILES[0] and model.largest(there[0]) >= TILES[1]:
            turned = {at: TILES[0], there: TILES[1]}
            yield _form(f"{name}={TILES[0]}.{other}={TILES[1]}", turned, even_sizes(model, turned), _WAYS_OF_TWO)
        if model.largest(there[0]) >= REST:
            turned = {at: 1, there: REST}
            yield _form(f"{name}=1.{other}={REST}", turned, even_sizes(model, turned) | batches, _WAYS_OF_TWO)


def _forms_of_many(model: Model) -> Iterator[Form]:
    """All dimensions large at once."""
    solid = (_together(model, SOLID, lambda at: at[1] == -3 or not _is_leading(model, at)),)
    for label, sizes in (*many(model), *solid):
        if len(sizes) > 1:
            yield replace(_form(label, sizes, even_sizes(model, sizes), _WAYS // len(UNEVEN)), most=MOST_OF_MANY)


def many(model: Model) -> Iterator[tuple[str, Sizes]]:
    """A label, and the sizes of all dimensions but batches that are large at once, where there are several."""
    for sizes in MANY:
        label, turned = _together(model, sizes, lambda at: not _is_leading(model, at))
        if len(turned) > 1:
            yield label, turned


def _together(model: Model, sizes: Sequence[int], belongs: Callable[[Dimension], bool]) -> tuple[str, Sizes]:
    """A label, and these sizes in turn for the dimensions that belong to them, may be as large, and are those of no window."""
    free = [at for at in model.dimensions.values() if at[0] not in model.growing and belongs(at)]
    turned = {at: size for at, size in zip(free, cycle(sizes), strict=False) if model.largest(at[0]) >= size}
    return f"every={'x'.join(map(str, sizes))}", turned


def _form(label: str, turned: Sizes, others: Sizes, ways: int) -> Form:
    return Form(f"{label}.beside-{max(others.values(), default=1)}", turned, others, ways)


def _is_leading(model: Model, at: Dimension) -> bool:
    """Whether a dimension is a batch or the like: the first symbol, if it is one size, or what lies before the last two of several."""
    return at == (next(iter(model.symbols)), 0) or at[1] < -2


def even_sizes(model: Model, turned: Sizes) -> dict[Dimension, int]:
    """The sizes of the other dimensions: 1 of a batch, 3 of a window, else the largest unit with which the product keeps to the most work."""
    others = [at for at in model.dimensions.values() if at not in turned]
    windows = {at: WINDOW for at in others if at[0] in model.growing}
    for unit in UNITS:
        sizes = {at: 1 if _is_leading(model, at) else min(unit, model.largest(at[0])) for at in others if at not in windows}
        if prod(sizes.values()) * prod(turned.values()) <= _MOST_WORK:
            break
    return sizes | windows
