"""The factors of an operator: everything that its cases vary, and the value of each that a case has.

| factor | values |
|---|---|
| ``type``, ``type TENSOR`` | the data types of the tensors that must have the same one |
| ``rank``, ``rank TENSOR`` | the dimension counts of the tensors that must have the same one |
| ``size SYMBOL`` | the size class of a named dimension of the shapes; of ``*S``, of its ``first``, ``middle`` and ``last`` dimension |
| ``long`` | which dimension, if any, has more than 4,096 elements: a named one, or one of ``*S``, counted from the end; ``none``, but ``many`` \
in all dimensions together |
| ``layout TENSOR`` | the layouts (generator/values/layouts), of a tensor that is present |
| ``configuration`` | the configurations that decide which tensors are present |
| an attribute's name | its values in cases |
| an optional tensor's name | ``present``, ``absent`` |
| ``data`` | the spec's random data, and each of its further data by name |
| ``in place`` | ``no``, and each alias that is permitted |
| ``owned`` | ``none``, each input that may be OWNED_BY_DML, and ``all`` |
| ``offset`` | where in its resource the first tensor begins, in bytes; ``any`` other multiple of 16 |
| ``resource`` | which tensors share one: ``apart``, the ``inputs``, or ``all`` |
| ``slack`` | ``none``, or what of every tensor is larger than it need be |

A value counts only where it makes a difference: a permuted tensor of one dimension is packed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod

from dmlcts.generator.case.case import ALL, APART, INPUTS, OFFSETS
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.plan.attributes import value_text
from dmlcts.generator.plan.desc_plan import Attributes, nearest
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.sizes import is_broadcast
from dmlcts.generator.values.layouts import layouts_of
from dmlcts.spec.model.desc import field_of
from dmlcts.spec.model.expression import Expression, compile_expression
from dmlcts.spec.model.operator import ABSENT, PRESENT, Shape
from dmlcts.spec.rules.shape import each_symbol, number, size_symbol

CLASSES = ("2-16", "1", "17+")
"""Size classes: less than a vector or a wave of threads, nothing to walk along, and more. The first is the usual one."""

RESOURCES = {"apart": APART, "inputs": INPUTS, "all": ALL}
SLACK = ("none", "total-size", "binding", "alignment")
USUAL = "usual"
ANY = "any"
NO_LONG, MANY = "none", "many"
LONG = range(4097, 4161)
"""The sizes of a long dimension: beyond the sizes at which kernels turn, with any remainder by 64 and less."""

MANY_LEAST = 65_537
"""The least product of sizes that are many: one more than the range of a 16-bit index."""

STRUCTURAL = ("type", "rank", "size", "long", "configuration", "attribute", "presence")
"""The kinds of factors on which the desc depends; they come first. Where its tensors lie, and what they hold, is another matter."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor: its name, and its values as they are shown. ``of`` is the field, group or symbol that it is about."""

    name: str
    values: tuple[str, ...]
    kind: str
    of: str = ""
    usual: int = 0


def _symbols(size: str) -> list[str]:
    """The names in a size of a shape."""
    symbol = size_symbol(size)
    return [symbol] if symbol else [] if size == "*1" else sorted(compile_expression(size).names)


def size_class(size: int) -> str:
    """The class of a size."""
    return "1" if size == 1 else "2-16" if size <= 16 else "17+"


@cache
def model_of(plan: Plan) -> Model:
    """The operator's model, made once."""
    return Model(plan)


class Model:
    """The factors of an operator, from its plan, and the values that a case has."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.factors: tuple[Factor, ...] = tuple(self._factors())
        self.structural = sum(factor.kind in STRUCTURAL for factor in self.factors)
        self.place = {factor.name: at for at, factor in enumerate(self.factors)}

    # What varies

    def _factors(self) -> Iterable[Factor]:
        """Those with more than one value."""
        every = (
            *self._types(),
            *self._ranks(),
            *self._sizes(),
            Factor("long", (NO_LONG, *((MANY,) if self.most_elements >= MANY_LEAST else ()), *self.long), "long"),
            Factor("configuration", tuple(self.configurations), "configuration"),
            *self._attributes(),
            *self._presence(),
            Factor("data", (USUAL, *self.data_names), "data"),
            Factor("in place", ("no", *self.aliases), "in place"),
            *self._layouts(),
            Factor("owned", ("none", *self.owned_sets), "owned"),
            Factor("offset", (*map(str, OFFSETS), ANY), "offset"),
            Factor("resource", tuple(RESOURCES), "resource"),
            Factor("slack", SLACK, "slack"),
        )
        return (factor for factor in every if len(factor.values) > 1)

    def _types(self) -> Iterable[Factor]:
        for name, group in self.type_factors():
            values = dict.fromkeys(dict(choice.types)[group[0]] for choice in self.plan.choices)
            yield Factor(name, tuple(values), "type", group[0])

    def type_factors(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The tensors that have the same data type, with the name of their factor."""
        for at, group in enumerate(self.type_groups):
            yield f"type {group[0]}" if at else "type", group

    def rank_factors(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The tensors that have the same dimension count, with the name of their factor."""
        for group in self.rank_groups:
            yield "rank" if self.plan.leading_tensor in group else f"rank {group[0]}", group

    @cached_property
    def size_names(self) -> tuple[tuple[str, str, str], ...]:
        """The factors of sizes, each with its symbol and, of one that stands for several sizes, the end."""
        return tuple(
            (f"size {symbol} {end}".rstrip(), symbol, end)
            for symbol, star in self.symbols.items()
            for end in (("first", "middle", "last") if star else ("",))
        )

    @cached_property
    def free_sizes(self) -> tuple[str, ...]:
        """The factors of the sizes that decide how much there is to compute."""
        return tuple(name for name, symbol, _ in self.size_names if symbol in self.free)

    @cached_property
    def type_groups(self) -> list[tuple[str, ...]]:
        """The tensors that have the same data type."""
        return self.plan.tied_groups("DataType")

    def _ranks(self) -> Iterable[Factor]:
        for name, group in self.rank_factors():
            found = sorted({count for choice in self.plan.choices for count in self.plan.ranks(choice.types)[group[0]]})
            yield Factor(name, tuple(map(str, found)), "rank", group[0], found.index(nearest(found, 4)))

    @cached_property
    def rank_groups(self) -> list[tuple[str, ...]]:
        """The tensors that have the same dimension count."""
        return self.plan.tied_groups("DimensionCount")

    def _sizes(self) -> Iterable[Factor]:
        for name, symbol, _ in self.size_names:
            yield Factor(name, CLASSES, "size", symbol)

    @cached_property
    def symbols(self) -> dict[str, bool]:
        """The free symbols of the shapes, and whether they stand for several sizes."""
        found: dict[str, bool] = {}
        fields = {field.name for field in self.plan.operator.fields}
        for shape in self.plan.operator.shapes:
            for row in shape.sizes.values():
                for size in row:
                    for symbol in _symbols(size):
                        if symbol not in fields and symbol not in shape.where:
                            found[symbol] = found.get(symbol, False) or size == f"*{symbol}" or each_symbol(size) == symbol
        return found

    def used_names(self, choice: Attributes) -> frozenset[str]:
        """The names in the shapes that a choice of attributes has: without a past, none of its length."""
        given = {name: None if value == ABSENT else value for name, value in choice.items()}
        own = (symbols for when, symbols in self._by_shape if when is None or number(when, given) is not False)
        return frozenset().union(*own)

    @cached_property
    def _by_shape(self) -> list[tuple[Expression | None, frozenset[str]]]:
        """The condition of each shape, and its symbols."""
        return [
            (shape.when, frozenset(symbol for row in shape.sizes.values() for size in row for symbol in _symbols(size)))
            for shape in self.plan.operator.shapes
        ]

    @cached_property
    def summed_symbols(self) -> frozenset[str]:
        """The symbols whose sizes are those of the tensors of an array: they add up."""
        rows = (row for shape in self.plan.operator.shapes for row in shape.sizes.values())
        return frozenset(symbol for row in rows for size in row if (symbol := each_symbol(size)))

    def work(self, sizes: Mapping[str, int | tuple[int, ...]]) -> int:
        """How much there is to compute where the symbols stand for these sizes."""
        free = ((symbol, sizes[symbol]) for symbol in self.free if symbol in sizes)
        return prod(
            (sum if symbol in self.summed_symbols else prod)(size) if isinstance(size, tuple) else size for symbol, size in free
        )

    @cached_property
    def free(self) -> frozenset[str]:
        """The symbols that decide how much there is to compute: not those that can nowhere be larger than others."""
        shapes = self.plan.operator.shapes
        bounded = {
            symbol
            for symbol in self.symbols
            if all(
                symbol in shape.domains and self._is_bounded(shape, symbol)
                for shape in shapes
                if any(symbol in _symbols(size) for row in shape.sizes.values() for size in row)
            )
        }
        return frozenset(self.symbols.keys() - bounded)

    @cached_property
    def broadcast(self) -> frozenset[str]:
        """The symbols whose sizes are 1 or those of others."""
        shapes = self.plan.operator.shapes
        return frozenset(symbol for shape in shapes for symbol in shape.domains if is_broadcast(shape, symbol))

    def _is_bounded(self, shape: Shape, symbol: str) -> bool:
        most = shape.domains[symbol].most
        return bool(most and (most.names - {symbol}) & (self.symbols.keys() | shape.where.keys() | self._of_sizes))

    @cached_property
    def _of_sizes(self) -> frozenset[str]:
        """The attributes with a number for each dimension that follow from sizes, such as those of a window."""
        fields = (field for field in self.plan.chosen if field.count)
        return frozenset(field.name for field in fields if any(isinstance(value, Expression) for value in self.plan.values(field)))

    @cached_property
    def window_symbols(self) -> frozenset[str]:
        """The symbols with which others grow, such as those of a window: no dimension is smaller than what it reaches."""
        domains = [(symbol, domain) for shape in self.plan.operator.shapes for symbol, domain in shape.domains.items()]
        read = {
            name for symbol, domain in domains if symbol in self.free and domain.least for name in domain.least.names - {symbol}
        }
        return frozenset(read & self.symbols.keys())

    @cached_property
    def dimensions(self) -> dict[str, tuple[str, int]]:
        """The dimensions of free symbols by name: the symbol and, of one that stands for several sizes, the place from the end, else 0."""
        found: dict[str, tuple[str, int]] = {}
        for symbol, star in self.symbols.items():
            if symbol in self.free:
                places = range(-1, -self._largest_count(symbol) - 1, -1) if star else (0,)
                found |= {f"{symbol}[{at}]" if star else symbol: (symbol, at) for at in places}
        return found

    @cached_property
    def long(self) -> dict[str, tuple[str, int]]:
        """The dimensions that may be long: not those with which others grow, and not those that the spec limits."""
        return {
            name: (symbol, at)
            for name, (symbol, at) in self.dimensions.items()
            if symbol not in self.window_symbols and min(self.largest(symbol), self.most_elements) >= LONG[0]
        }

    def largest(self, symbol: str) -> int:
        """The largest size that a symbol may stand for in combinations."""
        return self.plan.operator.largest.get(symbol, 1 << 32)

    @property
    def usual_elements(self) -> int:
        """A soft limit on the product of free sizes in a combination."""
        return self.plan.operator.usual_elements

    @property
    def most_elements(self) -> int:
        """The largest product of the free sizes in combinations and random dispatches."""
        return self.plan.operator.most_elements

    def _largest_count(self, symbol: str) -> int:
        """How many sizes a symbol stands for at most."""
        ranks = [self.plan.ranks(choice.types) for choice in self.plan.choices]
        of_each = (
            max((count for each in ranks for count in each[self.plan.name_of(tensor)]), default=0) - beside
            for tensor, beside in self.rows_with(symbol)
        )
        return min(of_each, default=1)  # of the tensors of an array, the last

    def rows_with(self, symbol: str) -> list[tuple[str, int]]:
        """The tensors in whose shapes a symbol stands for several sizes, and how many other sizes they have at least."""
        rows = [(tensor, row) for shape in self.plan.operator.shapes for tensor, row in shape.sizes.items() if f"*{symbol}" in row]
        return [(tensor, sum(not size.startswith("*") for size in row)) for tensor, row in rows]

    def _layouts(self) -> Iterable[Factor]:
        for name in self.plan.tensors:
            field = self.plan.operator.field(field_of(name))
            yield Factor(f"layout {name}", layouts_of(self.plan.operator, field), "layout", name)

    @cached_property
    def configurations(self) -> Mapping[str, Mapping[str, tuple[object, ...]]]:
        """The configurations that decide which tensors are present; others only limit what cases of other kinds combine."""
        found = self.plan.operator.configurations
        return found if any(limits.keys() & set(self.plan.tensors) for limits in found.values()) else {}

    def _presence(self) -> Iterable[Factor]:
        for field in self.plan.operator.fields:
            if field.type == "TENSOR_DESC" and field.optional:
                yield Factor(field.name, (PRESENT, ABSENT), "presence", field.name)

    def _attributes(self) -> Iterable[Factor]:
        for field in self.plan.chosen:
            values = tuple(map(value_text, self.plan.values(field)))
            yield Factor(field.name, values, "attribute", field.name)

    @cached_property
    def data_names(self) -> tuple[str, ...]:
        """The further random data of any tensor that are combined, by name."""
        of_each = (values.data.items() for values in self.plan.operator.values.values())
        return tuple(dict.fromkeys(name for data in of_each for name, other in data if other.combined))

    @cached_property
    def aliases(self) -> dict[str, Mapping[str, str]]:
        """The permitted aliases by name, each as ``Case.in_place`` has it."""
        found: dict[str, Mapping[str, str]] = {}
        for entry in self.plan.operator.in_place:
            together = [entry.inputs] if entry.together and len(entry.inputs) > 1 else []
            for inputs in (*((name,) for name in entry.inputs), *together):
                found[f"{short(entry.output)}-on-{'+'.join(map(short, inputs))}"] = dict.fromkeys(
                    (entry.output, *inputs[1:]), inputs[0]
                )
        names = [field.name for field in self.plan.operator.inputs() if field.type == "TENSOR_DESC"]
        if len(names) > 1 and self._recipe(names[0]) == self._recipe(names[1]):  # a shift amount cannot be any number
            found[f"{short(names[1])}-is-{short(names[0])}"] = {names[1]: names[0]}
        return found

    def _recipe(self, tensor: str) -> tuple[str, Mapping[str, object]]:
        """How the usual data of a tensor are made."""
        values = self.plan.operator.values_of(tensor)
        return (values.recipe, dict(values.parameters)) if values else ("any-bits", {})

    @cached_property
    def alias_labels(self) -> dict[str, tuple[str, ...]]:
        """The coverage label of each permitted alias."""
        found: dict[str, tuple[str, ...]] = {}
        for entry in self.plan.operator.in_place:
            for inputs in (*((name,) for name in entry.inputs), entry.inputs):
                found[f"{short(entry.output)}-on-{'+'.join(map(short, inputs))}"] = (f"in-place/{entry.output}/{'+'.join(inputs)}",)
        return found

    @cached_property
    def owned_sets(self) -> dict[str, tuple[str, ...]]:
        """The sets of inputs that may be OWNED_BY_DML, by name."""
        may = {field.name for field in self.plan.operator.inputs() if field.owned_by_dml}
        names = tuple(name for name in self.plan.tensors if field_of(name) in may)
        found: dict[str, tuple[str, ...]] = {short(name): (name,) for name in names}
        return found | ({"all": names} if len(names) > 1 else {})

    def values_of(self, row: Sequence[int]) -> dict[str, str]:
        """A row's values by factor, or those of its first factors."""
        return {factor.name: factor.values[at] for factor, at in zip(self.factors, row, strict=False) if at != NONE}

    @cached_property
    def growing_sizes(self) -> frozenset[str]:
        """The factors of the sizes with which others grow."""
        return frozenset(name for name, symbol, _ in self.size_names if symbol in self.window_symbols)

    def values_text(self, values: Iterable[tuple[int, int]]) -> str:
        """Some values, as (factor, index) pairs, in words: ``rank 5, layout ATensor permuted``."""
        return ", ".join(f"{self.factors[f].name} {self.factors[f].values[value]}" for f, value in values)


def short(name: str) -> str:
    """A tensor's name in an id: ``A`` for ATensor, ``Output`` for OutputTensor."""
    return name.removesuffix("Tensor") or name
