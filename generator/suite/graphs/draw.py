"""Random graphs, made from the specs of all operators.

A graph grows a node at a time: an operator, a choice of data types, attributes and sizes, as any spec has them, so that one of its inputs can be an output
that is there; its other inputs are outputs of the same type and size, constants, or new inputs of the graph. Sizes may change along an edge, as bytes
alone must be equal, and so may layouts. What is read by nobody in the end is an output of the graph, but for some optional outputs beside others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from random import Random

from dmlcts.generator.case.build import build
from dmlcts.generator.plan.attributes import Combination
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.suite.graphs.graph import CONSTANTS_SINCE, Constant, Feed, Given, Graph, Made, Node
from dmlcts.generator.sweeps.engine import allowed_desc, element_count, valid_desc
from dmlcts.generator.values.layouts import has_layout, laid_out
from dmlcts.spec.model.abi import abi, feature_level
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, field_of
from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import violations

LABEL = "graph"
"""The kind of the cases of nodes, and the part of their ids."""

MOST_ELEMENTS = 4096
"""The elements of all tensors of a node, at most."""

MOST_CONSTANT_BYTES = 8
"""A constant node has at most so many bytes: no page says how many it may have, and DirectML.dll 1.14.1 and 1.15.4 crash at 9 (docs/graphs.md)."""

_OPEN = ("uniform", "any-bits", "numbers", "small-integers", "quarters")
"""The recipes of inputs that may have any value."""

_LAYOUTS = ("permuted", "transposed", "padded-rows")
"""The layouts that edges have besides the packed one."""

_SIZES = (1, 2, 3, 4, 5, 7, 8)
_TRIES = 12


@dataclass(slots=True)
class Rates:
    """How often, from 0 to 1, each of these is true of a node."""

    fresh: float = 0.1
    """It reads no output of another, though there are some."""
    joined: float = 0.6
    """An input beside the first one is an output that fits, if there is one."""
    shared: float = 0.3
    """It is an input of the graph that another node reads already, if one fits."""
    constant: float = 0.3
    """It is a constant, if it is small."""
    owned: float = 0.15
    """It is an input of the graph that DirectML owns, if it may be."""
    layout: float = 0.25
    """An output is not packed."""
    newest: float = 0.6
    """The output that is read is one that nobody reads yet."""
    also_output: float = 0.1
    """An output that is read is the graph's as well."""
    unused: float = 0.4
    """An optional output that nobody reads is not the graph's either, if another output of the node is used."""
    equal: float = 0.06
    """It is the operator of another node, with the same desc, and reads something else."""


@dataclass(frozen=True, slots=True)
class _Input:
    """An input of the graph, and whether its data suit any reader."""

    tensor: TensorDesc
    is_open: bool


@dataclass(eq=False, slots=True)
class _Growing:
    """A graph while it grows."""

    random: Random
    rates: Rates
    nodes: list[Node] = field(default_factory=list)
    choices: list[TypeChoice] = field(default_factory=list)
    inputs: list[_Input] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    """Every output of a node."""
    unread: dict[Made, None] = field(default_factory=dict)

    def tensor(self, made: Made) -> TensorDesc:
        """The tensor desc of an output of a node."""
        return self.nodes[made.node].desc.tensor(made.tensor)


def draw_graph(
    random: Random,
    count: int,
    wanted: str = "",
    rates: Rates | None = None,
    level: str = "6_4",
    among: Sequence[str] = (),
    turn: tuple[int, Random] | None = None,
) -> Graph:
    """A random valid graph of so many nodes, of the operators ``among`` those given, or of any. ``level`` is the feature level that it keeps to.

    An operator that is ``wanted`` occurs once at least, at any place, if a node of it can be made there. At a ``turn``, after so many nodes, the
    graph goes on by other random numbers: it begins as the one without a turn, and ends otherwise.
    """
    growing = _Growing(random, rates or Rates())
    every = [name for name in usable_operators() if not among or name in among]
    place = random.randrange(count) if wanted else count
    for _ in range(_TRIES * count):
        if len(growing.nodes) >= count:
            break
        if turn and len(growing.nodes) >= turn[0]:
            growing.random = random = turn[1]
        is_place = len(growing.nodes) >= place
        repeats = bool(growing.nodes) and random.random() < growing.rates.equal
        name = wanted if is_place else random.choice(growing.nodes).desc.type if repeats else random.choice(every)
        if _grow(growing, plan_of(load(name)), level) and is_place:
            place = count
    return _finish(growing)


def _finish(growing: _Growing) -> Graph:
    """The graph, its nodes and outputs in random order."""
    random = growing.random
    also = [made for made in growing.made if made not in growing.unread and random.random() < growing.rates.also_output]
    for made in _unused_outputs(growing):
        growing.unread.pop(made)
    order = random.sample(range(len(growing.nodes)), len(growing.nodes))
    place = {old: new for new, old in enumerate(order)}
    outputs = [Made(place[made.node], made.tensor) for made in (*growing.unread, *also)]
    random.shuffle(outputs)
    nodes = tuple(
        replace(growing.nodes[old], feeds={name: _renumber(feed, place) for name, feed in growing.nodes[old].feeds.items()})
        for old in order
    )
    return Graph(nodes, tuple(outputs))


def _unused_outputs(growing: _Growing) -> list[Made]:
    """Optional outputs that stay unused: each of a node whose first output is used, as it is read or the graph's."""
    return [
        made
        for made in growing.unread
        if made.tensor != growing.nodes[made.node].outputs()[0]
        and growing.nodes[made.node].operator.field(field_of(made.tensor)).optional
        and growing.random.random() < growing.rates.unused
    ]


def _renumber(feed: Feed, place: Mapping[int, int]) -> Feed:
    return Made(place[feed.node], feed.tensor) if isinstance(feed, Made) else feed


@cache
def usable_operators() -> tuple[str, ...]:
    """The operators that a graph may have: those with outputs."""
    return tuple(name for name in operator_names() if load(name).outputs())


def is_open(plan: Plan, name: str) -> bool:
    """Whether an input may have any value of its type: the spec sets no condition, and it is no index."""
    values = plan.operator.values_of(name)
    if values is None:
        return False
    return values.recipe in _OPEN and values.where is None


# A node


def _grow(growing: _Growing, plan: Plan, level: str) -> bool:
    """Adds a node of an operator; False where none of a few tries is valid."""
    random = growing.random
    equal = [at for at, node in enumerate(growing.nodes) if node.operator is plan.operator]
    if equal and random.random() < 0.5:
        at = random.choice(equal)
        return _add(growing, plan, growing.nodes[at].desc, growing.choices[at], {}, level)
    sources: list[Made | None] = [None]
    if growing.nodes and random.random() >= growing.rates.fresh:
        pool = list(growing.unread) if random.random() < growing.rates.newest else growing.made
        sources = list(random.sample(pool, min(len(pool), 4))) or [None]
    return any(
        _add(growing, plan, *found, level) for source in sources for found in islice(_descs(growing, plan, source, level), 2)
    )


def _descs(
    growing: _Growing, plan: Plan, source: Made | None, level: str
) -> Iterator[tuple[OperatorDesc, TypeChoice, dict[str, Feed]]]:
    """Valid descs of an operator with an input that can be a given output, and what feeds that input."""
    random = growing.random
    tensor = growing.tensor(source) if source else None
    limit = abi().feature_levels[level].value
    for _ in range(_TRIES):
        choice = random.choice(_choices(plan, tensor.data_type if tensor else "") or (None,))
        if choice is None:
            return
        attributes = random.choice(choice.attributes)
        desc = _desc(random, plan, choice, attributes, tensor)
        if desc is None or element_count(desc) > MOST_ELEMENTS:
            continue
        feeds: dict[str, Feed] = {}
        if source is not None and tensor is not None:
            fitting = [name for name in _inputs_of(plan, desc) if _fits(plan, desc, name, tensor)]
            if not fitting:
                continue
            name = random.choice(fitting)
            feeds[name] = source
            desc = _fed_with(desc, name, tensor)
        laid = _with_layouts(growing, plan, desc)
        own = plan.level_of(laid)
        if own is not None and own.value <= limit and not violations(plan.operator, laid):
            yield laid, choice, feeds


@cache
def _choices(plan: Plan, data_type: str) -> tuple[TypeChoice, ...]:
    """The choices of data types in which some open input has a type; all of them for none."""
    if not data_type:
        return plan.choices
    names = [each.name for each in plan.operator.inputs() if is_open(plan, each.name)]
    return tuple(choice for choice in plan.choices if data_type in {dict(choice.types).get(name) for name in names})


def _desc(
    random: Random, plan: Plan, choice: TypeChoice, attributes: Combination, tensor: TensorDesc | None
) -> OperatorDesc | None:
    """A valid desc: its leading tensor has the sizes of a tensor, in another number of dimensions if need be, or random ones."""
    counts = tuple(choice.dimension_counts)
    if tensor is None:
        run = tuple(random.choice(_SIZES) for _ in range(random.choice(counts)))
    else:
        run = _with_count(random, tensor.sizes, counts)
    return valid_desc(plan, (choice, attributes), run) if run else None


def _with_count(random: Random, sizes: tuple[int, ...], counts: Sequence[int]) -> tuple[int, ...]:
    """Sizes of as many elements in one of these numbers of dimensions: as they are where that is possible, else with ones, or dimensions merged."""
    if len(sizes) in counts and random.random() < 0.8:
        return sizes
    count = random.choice(counts)
    while len(sizes) > count:
        at = random.randrange(len(sizes) - 1)
        sizes = (*sizes[:at], sizes[at] * sizes[at + 1], *sizes[at + 2 :])
    return (1,) * (count - len(sizes)) + sizes


def _inputs_of(plan: Plan, desc: OperatorDesc) -> list[str]:
    """The tensors of a desc that may be fed with any values."""
    fields = {each.name for each in plan.operator.inputs() if is_open(plan, each.name)}
    return [name for of, name, _ in desc.by_field() if of in fields]


def _fits(plan: Plan, desc: OperatorDesc, name: str, tensor: TensorDesc) -> bool:
    """Whether an input can be another tensor: of its type and bytes, in a layout that the input may have."""
    own = desc.tensor(name)
    same = own.data_type == tensor.data_type and own.count == tensor.count
    if tensor.strides is None:
        return same and own.strides is None
    return same and own.sizes == tensor.sizes and not plan.operator.field(field_of(name)).packed


def _fed_with(desc: OperatorDesc, name: str, tensor: TensorDesc) -> OperatorDesc:
    """The desc whose input lies as the tensor does that feeds it."""
    own = desc.tensor(name)
    return desc.with_tensors({name: replace(own, strides=tensor.strides)})


def _with_layouts(growing: _Growing, plan: Plan, desc: OperatorDesc) -> OperatorDesc:
    """The desc with some outputs in another layout, as far as the operator's rules allow that."""
    changed = {}
    outputs = {each.name for each in plan.operator.outputs()}
    for of, name, tensor in desc.by_field():
        if of in outputs and not plan.operator.field(of).packed and growing.random.random() < growing.rates.layout:
            layout = growing.random.choice(_LAYOUTS)
            if has_layout(tensor.sizes, layout):
                changed[name] = laid_out(tensor, layout, 3)
    return allowed_desc(plan, desc.with_tensors(changed)) or desc if changed else desc


def _add(growing: _Growing, plan: Plan, desc: OperatorDesc, choice: TypeChoice, feeds: dict[str, Feed], level: str) -> bool:
    """Adds a node, and feeds what of it is not fed yet; False where its result is not documented, or it must not be fed so."""
    random, rates = growing.random, growing.rates
    has_constants = feature_level(level) >= feature_level(CONSTANTS_SINCE)
    desc = desc.with_tensors({name: replace(tensor, flags=0) for name, tensor in desc.tensors() if tensor.flags})
    label = f"{len(growing.nodes)}-{random.randrange(1 << 32):08x}"
    case = build(LABEL, (LABEL, label), desc, choice, level="full")
    if case.basis != DOCUMENTED:
        return False
    new: list[_Input] = []
    for name in case.data:
        if name in feeds:
            continue
        may = is_open(plan, field_of(name))
        fitting = [made for made in growing.made if may and _fits(plan, desc, name, growing.tensor(made))]
        known = [at for at, each in enumerate(growing.inputs) if may and each.is_open and each.tensor == desc.tensor(name)]
        if fitting and random.random() < rates.joined:
            feeds[name] = made = random.choice(fitting)
            desc = _fed_with(desc, name, growing.tensor(made))
        elif known and random.random() < rates.shared:
            feeds[name] = Given(random.choice(known))
        elif has_constants and desc.tensor(name).bytes <= MOST_CONSTANT_BYTES and random.random() < rates.constant:
            feeds[name] = Constant()
        else:
            feeds[name] = Given(len(growing.inputs) + len(new))
            if plan.operator.field(field_of(name)).owned_by_dml and random.random() < rates.owned:
                desc = desc.with_tensors({name: replace(desc.tensor(name), flags=abi().tensor_flags["OWNED_BY_DML"])})
            new.append(_Input(desc.tensor(name), may))
    if violations(plan.operator, desc):
        return False
    growing.inputs += new
    for feed in feeds.values():
        if isinstance(feed, Made):
            growing.unread.pop(feed, None)
    node = Node(replace(case, desc=desc), feeds)
    growing.nodes.append(node)
    growing.choices.append(choice)
    outputs = [Made(len(growing.nodes) - 1, name) for name in node.outputs()]
    growing.made += outputs
    growing.unread |= dict.fromkeys(outputs)
    return True
