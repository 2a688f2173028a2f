"""One or two unusual sizes, or all large, beside typical ones: the rows of the table as cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, cycle, islice, permutations
from math import prod

from dmlcts.generator.case.build import distinct
from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import (
    Dimension,
    Sizes,
    Way,
    beside_all,
    dimensions_of,
    element_count,
    even_desc,
    has_sizes,
    in_turn,
    is_batch,
    may_be,
    size_case,
    sizes_of,
    works_along,
)
from dmlcts.generator.sweeps.one_factor.ways import typical_ways
from dmlcts.generator.sweeps.table import EVEN, FEW, ONES, AllSizes, OneSize, TwoSizes
from dmlcts.generator.values.layouts import laid_out_twice
from dmlcts.spec.model.desc import OperatorDesc

_TRIES_OF_SUMS = 8
"""Of how many ways one is looked for that sums along a dimension."""


@dataclass(frozen=True, slots=True)
class SizeForm:
    """Sizes of a dispatch: what is unusual about them in words, the sizes that it must have, and those that others have if possible."""

    label: str
    wanted: Sizes
    others: Sizes
    ways: int
    cap: int = table.TYPICAL_CAP
    is_summed: bool = False


def one_factor_size_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each form of sizes, in each configuration."""
    if is_beyond("full", most):
        return
    groups = enumerate(typical_ways(plan).values())
    yield from distinct(case for index, ways in groups for case in _of_configuration(plan, ways, is_first=index == 0))


def _of_configuration(plan: Plan, ways: Sequence[Way], *, is_first: bool) -> Iterator[Case]:
    """Each form with as many ways as it says; of further configurations one, and none that is far larger than others."""
    turns = count()
    for form in forms(model_of(plan)):
        if is_first or max(form.wanted.values()) <= table.FURTHER_CONFIGURATIONS_LARGEST:
            tries = _TRIES_OF_SUMS if form.is_summed else len(ways)
            made = (_case(plan, way, form, turn % 2 == 0) for way, turn in in_turn(ways, turns, tries))
            yield from islice(filter(None, made), form.ways if is_first else 1)


def _case(plan: Plan, way: Way, form: SizeForm, has_layout: bool) -> Case | None:
    """The case with these sizes, if it is valid; with channels last if the operator has such a layout and ``has_layout``."""
    if not form.wanted.keys() <= dimensions_of(plan, way):
        return None
    desc = even_desc(plan, way, {**form.others, **form.wanted})
    if desc is None or not _is_asked_for(plan, desc, form):
        return None
    layout, desc = laid_out_twice(plan.operator, desc)[-1] if has_layout else ("", desc)
    return size_case(way, desc, form.label, layout)


def _is_asked_for(plan: Plan, desc: OperatorDesc, form: SizeForm) -> bool:
    """Whether a desc is what a form asks for, and no larger."""
    found, outputs = sizes_of(plan, desc), {field.name for field in plan.operator.outputs()}
    if not has_sizes(plan, desc, form.wanted) or element_count(desc) > form.cap:
        return False
    if any(size >= table.BEYOND_16_BITS for at, size in found.items() if at not in form.wanted):
        return False  # the keys, and the queries stacked with them, would be long: a product of both is not what is asked
    long = table.BEYOND_1024_GROUPS in form.wanted.values()
    if long and plan.operator.turning and not any(works_along(plan, desc, at) for at in form.wanted):
        return False  # so many rows: an implementation may sort each by itself
    results = sum(tensor.count for field, _, tensor in desc.by_field() if field in outputs)
    return not form.is_summed or results < table.BEYOND_16_BITS


# The rows of the table as forms of an operator's sizes


def forms(model: Model) -> Iterator[SizeForm]:
    """Every form of sizes that an operator's dispatches may have."""
    for name, at in model.dimensions.items():
        yield from chain.from_iterable(_forms_of_one(model, name, at, row) for row in table.ONE_SIZE)
    free = {at: name for name, at in model.dimensions.items() if at[0] not in model.window_symbols and not is_batch(model, at)}
    for one, other in permutations(free, 2):
        yield from chain.from_iterable(_forms_of_two(model, free, one, other, row) for row in table.TWO_SIZES)
    for row in table.ALL_SIZES:
        wanted = all_large(model, row)
        if len(wanted) > 1:
            yield _form(label_of_all(row.sizes), wanted, even_sizes(model, wanted), row.ways, row.cap)


def _forms_of_one(model: Model, name: str, at: Dimension, row: OneSize) -> Iterator[SizeForm]:
    label, wanted = f"{name}={row.size}", dict[Dimension, int]()
    if isinstance(row.size, tuple):
        label, wanted = label_of_ends(at[0], row.size), ends(at[0], row.size)
    else:
        wanted = {at: row.size}
    if not _is_there(model, at, row):
        return
    others = _other_sizes(model, wanted, row.beside)
    yield _form(label, wanted, others, row.ways, is_summed=row.is_summed)
    windows = [other for other in others if other[0] in model.window_symbols and model.symbols[other[0]]]
    if row.with_point and windows:
        yield _form(f"{label}.window-1", wanted, others | dict.fromkeys(windows, 1), 1)


def _is_there(model: Model, at: Dimension, row: OneSize) -> bool:
    """Whether a dimension is one that a row is about."""
    least = min(row.size) + 1 if isinstance(row.size, tuple) else row.size
    is_last = at[1] == -1 or at == (list(model.symbols)[-1], 0)
    of_rows = at[1] == -2 and model.largest(at[0]) >= table.BEYOND_16_BITS
    is_meant = {"": True, "last": is_last, "rows": of_rows}[row.where]
    return is_meant and may_be(model, at, least)


def _other_sizes(model: Model, wanted: Sizes, beside: str | int) -> dict[Dimension, int]:
    """The sizes of the other dimensions; of ``few`` and of a number also those that are wanted, where they are not even."""
    if beside == EVEN:
        return even_sizes(model, wanted)
    if beside == ONES:
        return beside_all(model, 1)
    few = {at: 1 if is_batch(model, at) else 2 for at in model.dimensions.values()}
    if beside == FEW:
        return few
    return {at: min(int(beside), model.largest(at[0])) if size > 1 else 1 for at, size in few.items()}


def _forms_of_two(
    model: Model, names: Mapping[Dimension, str], one: Dimension, other: Dimension, row: TwoSizes
) -> Iterator[SizeForm]:
    first, second = row.sizes
    if not row.in_batches and names[one] > names[other]:
        return
    if (first > 1 and model.largest(one[0]) < first) or model.largest(other[0]) < second:
        return
    wanted = {one: first, other: second}
    batches = {at: table.BATCHES_OF_VECTORS for at in model.dimensions.values() if is_batch(model, at)} if row.in_batches else {}
    yield _form(f"{names[one]}={first}.{names[other]}={second}", wanted, even_sizes(model, wanted) | batches, row.ways)


def all_large(model: Model, row: AllSizes) -> dict[Dimension, int]:
    """The sizes of a row in turn, for the dimensions that it is about and that may be as large."""
    at_all = [at for at in model.dimensions.values() if at[0] not in model.window_symbols]
    free = [at for at in at_all if not is_batch(model, at) or (row.with_third and at[1] == -3)]
    return {at: size for at, size in zip(free, cycle(row.sizes), strict=False) if model.largest(at[0]) >= size}


def label_of_all(sizes: Sequence[int]) -> str:
    """How ids call all sizes at once."""
    return f"every={'x'.join(map(str, sizes))}"


def ends(symbol: str, sizes: Sequence[int]) -> dict[Dimension, int]:
    """The last sizes of a symbol that stands for several."""
    return {(symbol, index - len(sizes)): size for index, size in enumerate(sizes)}


def label_of_ends(symbol: str, sizes: Sequence[int]) -> str:
    """How ids call the last sizes of a symbol."""
    return f"{symbol}={'x'.join(map(str, sizes))}"


def _form(
    label: str, wanted: Sizes, others: Sizes, ways: int, cap: int = table.TYPICAL_CAP, *, is_summed: bool = False
) -> SizeForm:
    return SizeForm(f"{label}.beside-{max(others.values(), default=1)}", wanted, others, ways, cap, is_summed)


def even_sizes(model: Model, wanted: Sizes) -> dict[Dimension, int]:
    """The sizes of the other dimensions: 1 of a batch, 3 of a window, else the largest unit with which the product keeps to the most work."""
    others = [at for at in model.dimensions.values() if at not in wanted]
    windows = {at: table.WINDOW for at in others if at[0] in model.window_symbols}
    for unit in table.EVEN_UNITS:
        sizes = {at: 1 if is_batch(model, at) else min(unit, model.largest(at[0])) for at in others if at not in windows}
        if prod(sizes.values()) * prod(wanted.values()) <= table.EVEN_WORK:
            break
    return sizes | windows
