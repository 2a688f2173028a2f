"""Random valid dispatches of an operator, wider than its cases: sizes up to 5,000, any strides, offsets of any multiple of 16.

A case is decoded from ``Genes``, random numbers by name, so that a search may change a few of them and keep the others. What is drawn at
random here judges planted faults (conformance/faults/interactions) and is searched for failures (generator/random/fuzz_cases).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import isqrt, log, sqrt
from random import Random
from typing import Any, TypeVar

from dmlcts.generator.case.build import build, random_data
from dmlcts.generator.case.case import OFFSETS, Binding, Case
from dmlcts.generator.covering.bindings import data_of
from dmlcts.generator.facts.factors import USUAL, Model
from dmlcts.generator.plan.attributes import Combination, NotGenerable, values_within
from dmlcts.generator.plan.desc_plan import MOST_BYTES
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import ABSENT, DOCUMENTED, PRESENT
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES

KIND = "drawn"
"""The kind of the cases."""

LARGEST = 5000
"""The largest size of a dimension."""

_GAPS = (0, 0, 0, 0, 1, 3, 16, 61)
"""Elements between the rows, planes... of a tensor."""

_WANTED = 0.25
"""How many sizes are wanted ones, where there are such."""

_FULL = 0.5
"""How often a size that others bound is as large as they allow, as the output of a slice."""

_ONE = 0.5
"""How often a size that must be 1 or the input's is 1. Where all sizes of a mean are the input's, each mean is over a single element."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SizeRule:
    """How sizes are drawn.

    A quarter of them are among ``wanted``, if there are such; of the others a share ``evenly`` is drawn uniformly from 1 to ``LARGEST``, and half of
    the rest are at most 8. A share ``alike`` is as large as another size. The product of the free sizes keeps to one of ``work``, if there are
    such: then more dimensions are likelier, but for ``even_ranks``.
    """

    wanted: Sequence[int] = ()
    work: Sequence[int] = ()
    evenly: float = 0.0
    alike: float = 0.0
    even_ranks: bool = False


class Genes:
    """Random numbers from 0 to 1 by name, drawn when first asked for."""

    def __init__(self, random: Random, known: dict[str, float] | None = None) -> None:
        self.random, self.known = random, known or {}

    def number(self, name: str) -> float:
        """The number of that name."""
        if name not in self.known:
            self.known[name] = self.new(name)
        return self.known[name]

    def new(self, name: str) -> float:
        """A number that is asked for the first time."""
        return self.random.random()

    def pick(self, name: str, options: Sequence[T]) -> T:
        """One of the options, by the number of that name."""
        return options[int(self.number(name) * len(options))]

    def mutate(self, most: int) -> Genes:
        """The same, but for one to ``most`` numbers, which are drawn anew or, as often, become 0: a size of 1, the first option."""
        names = sorted(self.known)
        changed = set(self.random.sample(names, min(len(names), self.random.randint(1, most))))
        zeros = {name: 0.0 for name in sorted(changed) if self.random.random() < 0.5}
        return Genes(self.random, {name: number for name, number in self.known.items() if name not in changed} | zeros)


def dispatch_from(model: Model, genes: Genes, rule: SizeRule = SizeRule(), label: str = "", is_known: bool = False) -> Case | None:
    """The case of these genes, its sizes drawn by a rule; None where the operator's rules allow none, and beyond 64 MB.

    ``label`` is part of its id; by default, a number that seeds its data. Of genes that are known to give a case, the operator's rules are not
    asked again.
    """
    try:
        return _decode(model, genes, rule, label, is_known)
    except (NotGenerable, *FAILURES):
        return None


def _decode(model: Model, genes: Genes, rule: SizeRule, label: str, is_known: bool) -> Case | None:
    plan, operator = model.plan, model.plan.operator
    choice, attributes = genes.pick("types", plan.choices), _attributes(model, genes)
    if not is_known and not plan.keeps(choice.types, attributes):
        return None
    desc = _desc(model, genes, choice, attributes, rule)
    if not is_known and plan.level_of(desc) is None:
        return None
    alias = genes.pick("in place", ({}, {}, *model.aliases.values()))
    read = random_data(operator, desc)
    strided = {
        name: _with_strides(name, tensor, name in read, genes)
        for field, name, tensor in desc.by_field()
        if not operator.field(field).packed
    }
    desc = desc.with_tensors(strided)
    if any((fields := desc.fields)[name] is None or _shape(fields[name]) != _shape(fields[on]) for name, on in alias.items()):
        alias = {}
    desc = desc.with_fields(**{name: desc.fields[on] for name, on in alias.items()})
    if not is_known and (violations(operator, desc) or any(tensor.bytes > MOST_BYTES for _, tensor in desc.tensors())):
        return None
    data, basis = data_of(operator, desc, genes.pick("data", (USUAL, *model.data_names)))
    permitted = next((entry.basis for entry in operator.in_place if entry.output in alias), DOCUMENTED)
    leading = desc.tensor(plan.leading_tensor)
    return build(
        KIND,
        (f"{leading.DimensionCount}d", "x".join(map(str, leading.sizes)), label or f"{int(genes.number('seed') * 2**32):08x}"),
        desc,
        choice,
        level="full",
        data=data,
        basis=permitted if basis == DOCUMENTED else basis,
        in_place=alias,
        bindings={
            name: Binding(offset=offset_at(genes.number(f"moved by {name}")))
            for name, _ in desc.tensors()
            if genes.number(f"moved {name}") < 0.4
        },
        offset=genes.pick("offset", OFFSETS),
    )


def _shape(tensor: Any) -> object:
    return (tensor.data_type, tensor.sizes) if isinstance(tensor, TensorDesc) else None


def _attributes(model: Model, genes: Genes) -> Combination:
    """A value of each attribute, and the presence of each optional tensor, in one of the spec's configurations."""
    operator = model.plan.operator
    label, limits = genes.pick("configuration", list((operator.configurations or {"": {}}).items()))
    values: dict[str, object] = {}
    for field in operator.fields:
        if field in model.plan.chosen:
            values[field.name] = genes.pick(field.name, values_within(field, model.plan.values(field), limits))
        elif field.type == "TENSOR_DESC" and field.optional:
            values[field.name] = genes.pick(field.name, values_within(field, (PRESENT, ABSENT), limits))
    return Combination(values, label)


def _desc(model: Model, genes: Genes, choice: TypeChoice, attributes: Combination, rule: SizeRule) -> OperatorDesc:
    # A case of more dimensions has more that a kernel may turn on, and costs no more.
    ranks = [count for count in choice.dimension_counts for _ in range(count if rule.work and not rule.even_ranks else 1)]
    rank = genes.pick("rank", ranks)
    of_others = model.plan.ranks(choice.types)
    counts = {
        name: genes.pick(factor, sorted(of_others[group[0]]))
        for factor, group in model.rank_factors()
        if model.plan.leading_tensor not in group
        for name in group
    }
    names = [
        f"size {symbol} {at}" if star else f"size {symbol}"
        for symbol, star in model.symbols.items()
        for at in range(rank if star else 1)
    ]
    found = {name: min(model.largest(name.split()[1]), _size(name, genes, rule)) for name in names}
    if rule.alike:
        found |= {name: found[genes.pick(f"like {name}", names)] for name in names if genes.number(f"alike {name}") < rule.alike}
    if rule.work:
        used = model.free & model.used_names(attributes)
        free = {name: size for name, size in found.items() if name.split()[1] in used}
        growing = {name for name in free if name.split()[1] in model.window_symbols}
        found |= _fit_sizes(free, growing, genes, min(genes.pick("work", rule.work), model.most_elements))
    full = {symbol for symbol in model.symbols if symbol not in model.free and genes.number(f"full {symbol}") < _FULL}
    found |= {name: LARGEST for name in found if name.split()[1] in full}
    found |= {name: 1 if genes.number(f"one {name}") < _ONE else LARGEST for name in found if name.split()[1] in model.broadcast}
    sizes = {
        symbol: tuple(found[f"size {symbol} {at}"] for at in range(rank)) if star else found[f"size {symbol}"]
        for symbol, star in model.symbols.items()
    }
    return model.plan.desc(choice.types, (2,) * rank, attributes, sizes, counts=counts)


def _fit_sizes(sizes: dict[str, int], growing: Set[str], genes: Genes, room: int) -> dict[str, int]:
    """The sizes, in a drawn order each at most what those before it leave of ``room``. Those of ``growing``, with which others grow, count twice:
    from a filter of 300 x 300 and an image of one element, a transposed convolution makes an image of 300 x 300.
    """
    found = {}
    for name in sorted(sizes, key=lambda name: genes.number(f"turn {name}")):
        power = 2 if name in growing else 1
        found[name] = min(sizes[name], max(1, isqrt(room) if power > 1 else room))
        room //= found[name] ** power
    return found


def _size(name: str, genes: Genes, rule: SizeRule) -> int:
    """A wanted size; or one drawn uniformly; or one of which half are at most 8, one in ten beyond 1,000: several dimensions must fit into 64 MB."""
    if rule.wanted and genes.number(f"wanted {name}") > 1 - _WANTED:
        return genes.pick(name, rule.wanted)
    if rule.evenly and genes.number(f"evenly {name}") < rule.evenly:
        return 1 + int(genes.number(name) * LARGEST)
    return size_of(genes.number(name))


def size_of(number: float) -> int:
    """The size that a number is, where it is not a wanted one."""
    return max(1, int(LARGEST ** (number**2) + 0.5))


def number_of(size: int) -> float:
    """The number of a size up to ``LARGEST``."""
    return sqrt(log(size) / log(LARGEST))


def _with_strides(name: str, tensor: TensorDesc, is_input: bool, genes: Genes) -> TensorDesc:
    """The tensor with strides: packed ones, or dimensions in any order, with gaps between them and, of an input, strides of 0."""
    style = genes.number(f"layout {name}")
    if style < 0.35:
        return tensor
    count = len(tensor.sizes)
    order = list(range(count))
    if style > 0.7:
        order.sort(key=lambda at: genes.number(f"order {name} {at}"))
    strides, step = [0] * count, 1 + (genes.number(f"spread {name}") > 0.85)
    for at in reversed(order):
        if is_input and genes.number(f"broadcast {name} {at}") > (0.7 if style > 0.5 else 0.95):
            continue
        strides[at] = step
        step = step * tensor.sizes[at] + genes.pick(f"gap {name} {at}", _GAPS)
    return TensorDesc(tensor.data_type, tensor.sizes, tuple(strides))


def offset_at(number: float) -> int:
    """A multiple of 16 bytes below 64 KiB."""
    return 16 * int(4096**number)
