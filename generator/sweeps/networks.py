"""What real networks dispatch: each kind of the census (spec/measured/census), cut to small sizes at core, and at its own sizes at full.

A kind is a structure: data types, dimensions of size 1, which tensors there are and how they lie, attributes, fused operators. Cutting keeps all of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dmlcts.generator.case.build import build, distinct
from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.plan.attributes import Combination, NotGenerable
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import Sizes, allowed_desc, element_count, is_batch
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import ABSENT, PRESENT
from dmlcts.spec.reading.loader import load, measured_folder
from dmlcts.spec.reading.measured import DispatchedKind, kinds_of
from dmlcts.spec.rules.shape import FAILURES
from dmlcts.spec.rules.symbols import symbols_of
from dmlcts.spec.untrusted.desc_json import read_desc

LABEL = "network"
"""What the labels of networks that a case stands for begin with, and the part of its id."""

_Size = int | tuple[int, ...]


def label_of(network: str) -> str:
    """The label of the cases that stand for what a network dispatches."""
    return f"{LABEL}/{network}"


def network_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each kind of dispatch that a network has, cut; and as it is, if it is not too large. What no rule allows is left out: some clients go beyond the page."""
    if is_beyond("core", most):
        return
    yield from distinct(case for kind in _kinds(plan) for case in _cases(plan, kind, most))


def uncovered_kinds(plan: Plan) -> list[str]:
    """The kinds that have no case at level core."""
    return [kind.kind for kind in _kinds(plan) if not any(case.level == "core" for case in _cases(plan, kind, "core"))]


def _kinds(plan: Plan) -> tuple[DispatchedKind, ...]:
    """None of an operator that was read from a text, whatever its name."""
    return kinds_of(measured_folder(), plan.operator.name) if plan.operator.file is not None else ()


def allowed_kinds(plan: Plan) -> Iterator[tuple[OperatorDesc, TypeChoice]]:
    """The desc and the choice of data types of each kind that the operator's rules allow."""
    return filter(None, (_allowed_desc(plan, kind) for kind in _kinds(plan)))


def promised_networks(plan: Plan) -> tuple[str, ...]:
    """The networks that have a kind of dispatch that the operator's rules allow, by name."""
    kinds = (kind for kind in _kinds(plan) if _allowed_desc(plan, kind) is not None)
    return tuple(sorted({name for kind in kinds for name in kind.networks}))


def _allowed_desc(plan: Plan, kind: DispatchedKind) -> tuple[OperatorDesc, TypeChoice] | None:
    """A kind's desc and its choice of data types; None where no rule allows it."""
    desc = read_desc(kind.desc, load)
    choice = _choice(plan, desc)
    return (desc, choice) if choice is not None and allowed_desc(plan, desc) is not None else None


def _cases(plan: Plan, kind: DispatchedKind, most: str) -> Iterator[Case]:
    found = _allowed_desc(plan, kind)
    if found is None:
        return
    desc, choice = found
    if cut := cut_desc(plan, choice, desc):
        yield _case(plan, choice, cut, kind, "core")
    is_small = element_count(desc) <= table.NETWORK_CAP and _work(plan, desc) <= table.NETWORK_WORK
    if is_small and not is_beyond("full", most):
        yield _case(plan, choice, desc, kind, "full")


def _work(plan: Plan, desc: OperatorDesc) -> int:
    return model_of(plan).work(symbols_of(plan.operator, desc))


def _choice(plan: Plan, desc: OperatorDesc) -> TypeChoice | None:
    """The choice of data types that a desc has; of a tensor that is absent any."""
    types = {plan.name_of(name): tensor.data_type for name, tensor in desc.tensors()}
    return next((choice for choice in plan.choices if types.items() <= dict(choice.types).items()), None)


def _case(plan: Plan, choice: TypeChoice, desc: OperatorDesc, kind: DispatchedKind, level: str) -> Case:
    """The case; its id has the sizes of all inputs, or of the output where there are none, and its labels the networks."""
    named = kind.networks[0] + (f" and {len(kind.networks) - 1} more" if len(kind.networks) > 1 else "")
    return build(
        LABEL,
        (LABEL, sizes_text(plan, desc)),
        desc,
        choice,
        level=level,
        covers=map(label_of, kind.networks),
        note=f"what networks dispatch: {named}",
    )


def sizes_text(plan: Plan, desc: OperatorDesc) -> str:
    """The sizes of all inputs, or of the output where there are none, as ids have them."""
    fields = {field.name for field in plan.operator.inputs() or plan.operator.outputs()}
    return "-".join(_tensor_text(tensor) for each, _, tensor in desc.by_field() if each in fields)


def _tensor_text(tensor: TensorDesc) -> str:
    """Sizes, and strides where they are not packed, by letters that keep an id short."""
    strides = "" if tensor.strides is None else "s" + "x".join(map(str, tensor.strides))
    return "x".join(map(str, tensor.sizes)) + strides


# Cutting


def cut_desc(plan: Plan, choice: TypeChoice, desc: OperatorDesc, wanted: Sizes | None = None) -> OperatorDesc | None:
    """The desc with small sizes, or those that are wanted, and the same structure; None if no way to cut it is valid."""
    model = model_of(plan)
    try:
        symbols: Mapping[str, _Size] = symbols_of(plan.operator, desc)
    except FAILURES:
        return None
    cuts = _cuts(model, symbols)
    cut = {name: size if name in model.window_symbols else _cut_size(size, cuts) for name, size in symbols.items()}
    cut = {name: _with_sizes(name, size, wanted or {}) for name, size in cut.items()}
    counts = {plan.name_of(name): tensor.DimensionCount for name, tensor in desc.tensors()}
    for own in (cut, {name: size for name, size in cut.items() if name in model.free}):
        for attributes in _attributes(plan, desc, cuts):
            try:
                found = choice.desc((2,) * counts[plan.leading_tensor], attributes, own, counts)
            except (NotGenerable, KeyError, *FAILURES):  # a symbol that nothing determines is a KeyError
                continue
            if (laid := _laid_out_alike(found, desc)) and allowed_desc(plan, laid):
                return laid
    return None


def _cuts(model: Model, symbols: Mapping[str, _Size]) -> dict[int, int]:
    """What each size becomes, equal ones the same; sizes of windows stay, also where another is as large."""
    found, windows = dict[int, int](), set[int]()
    for symbol, size in symbols.items():
        each = size if isinstance(size, tuple) else (size,)
        if symbol in model.window_symbols:
            windows.update(each)
            continue
        for at, own in enumerate(each):
            most = _largest_size(model, symbol, at - len(each) if isinstance(size, tuple) else 0)
            found[own] = min(own, most, found.get(own, most))
    return found | {size: size for size in windows if size <= table.LARGEST_WINDOW}


def _largest_size(model: Model, symbol: str, at: int) -> int:
    """The largest size of a dimension that is cut."""
    if is_batch(model, (symbol, at)):
        return table.NETWORK_OUTER_SIDE if at else table.NETWORK_BATCH
    return table.NETWORK_SIDE


def _cut_size(size: _Size, cuts: Mapping[int, int]) -> _Size:
    return tuple(cuts[each] for each in size) if isinstance(size, tuple) else cuts[size]


def _with_sizes(symbol: str, size: _Size, wanted: Sizes) -> _Size:
    """The size or sizes of a symbol, with those that are wanted in their places."""
    if isinstance(size, tuple):
        return tuple(wanted.get((symbol, at - len(size)), own) for at, own in enumerate(size))
    return wanted.get((symbol, 0), size)


def _attributes(plan: Plan, desc: OperatorDesc, cuts: Mapping[int, int]) -> Iterator[Combination]:
    """The attributes with numbers that are sizes cut like these; as they are; and with arrays in proportion to the leading tensor's sizes."""
    configuration, leading = plan.operator.configuration(desc.fields), desc.tensor(plan.leading_tensor).sizes
    own, cut, scaled = dict[str, object](), dict[str, object](), dict[str, object]()
    for field in plan.operator.fields:
        value = desc.fields.get(field.name)
        if field.is_tensor:
            if field.type == "TENSOR_DESC" and field.optional:
                own[field.name] = PRESENT if value is not None else ABSENT
            continue
        own[field.name] = value
        if type(value) is tuple and all(
            isinstance(entry, int) for entry in value
        ):  # no Size2D, whose numbers belong to the structure
            cut[field.name] = tuple(_cut_number(entry, cuts) for entry in value)
            if len(value) == len(leading):
                scaled[field.name] = tuple(_in_proportion(entry, size, cuts) for entry, size in zip(value, leading, strict=True))
        elif isinstance(value, int) and not isinstance(value, bool) and not field.enum:
            cut[field.name] = _cut_number(value, cuts)
    for more in (cut, {}, cut | scaled):
        yield Combination({**own, **more}, configuration)


def _cut_number(value: int, cuts: Mapping[int, int]) -> int:
    return value if value <= table.STRUCTURAL_NUMBER else cuts.get(value, min(value, table.NETWORK_SIDE))


def _in_proportion(value: int, size: int, cuts: Mapping[int, int]) -> int:
    return value if value <= 1 or size not in cuts else max(1, value * cuts[size] // size)


def _laid_out_alike(found: OperatorDesc, desc: OperatorDesc) -> OperatorDesc | None:
    """A packed desc with its tensors' dimensions in the order in memory that another's have, and broadcast alike; None where ranks differ."""
    laid = {}
    for name, tensor in found.tensors():
        own = desc.tensor(name)
        if own.DimensionCount != tensor.DimensionCount:
            return None
        if own.strides is not None:
            laid[name] = replace(tensor, strides=_strides_alike(own.strides, own.sizes, tensor.sizes))
    return found.with_tensors(laid)


def _strides_alike(strides: tuple[int, ...], own: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Strides without gaps for other sizes, the dimensions in the same order in memory; 0 where they are 0."""
    found, step = [0] * len(sizes), 1
    for at in sorted(range(len(sizes)), key=lambda at: (strides[at], own[at] > 1, -at)):
        if strides[at]:
            found[at] = step
            step *= sizes[at]
    return tuple(found)
