"""What networks compute: the spec's workloads, and what lies around each of them: other sizes, layouts, data and fused activations.

A kernel that is made for windows of 2 x 2 by steps of 2, or for heads of 64, has partial tiles, strides and activations of its own. Cases about critical
sizes, layouts and activations have the usual attributes, and never come there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product

from dmlcts.generator.case.build import build, distinct, random_data
from dmlcts.generator.case.case import Case, Data, is_beyond
from dmlcts.generator.facts.factors import model_of, short
from dmlcts.generator.plan.attributes import Combination, NotGenerable
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import Way, allowed_desc, element_count, size_case, valid_desc
from dmlcts.generator.sweeps.one_factor.data import DataKind, data_case, further_data, sample, special_data
from dmlcts.generator.sweeps.one_factor.layouts import layouts_alone
from dmlcts.generator.sweeps.usual import usual_run
from dmlcts.generator.values.layouts import ALIGNED_ROWS, CHANNELS_LAST, aligned_rows, channels_last, laid_out, laid_out_twice
from dmlcts.spec.model.case_sizes import SingleDispatch, Workload
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED, Operator
from dmlcts.spec.rules.rules import violations

_Size = int | tuple[int, ...]
_Sizes = Mapping[str, _Size]


def workload_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The spec's workloads, which have sizes and attributes of their own, also in other layouts; and at level full what else lies around them.

    Raises:
        NotGenerable: a workload has a data type that no table gives the first tensor, or breaks a rule.
    """
    usual = _usual(plan)
    for label, workload in plan.operator.workloads.items():
        if not is_beyond(workload.level, most):
            yield from _as_given(plan, label, workload)
            yield from _laid_out(plan, label, workload) if label in usual else ()
    if is_beyond("full", most):
        return
    turns = count()
    for label, workload in usual.items():
        if model_of(plan).work(_cut_sizes(plan, workload)) <= table.CUT_WORK:
            yield from distinct((*_resized_cases(plan, label, workload, turns), *_fused_cases(plan, label, workload)))


def workload_data_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The spec's workloads with each kind of data, at level full."""
    for label, workload in () if is_beyond("full", most) else _usual(plan).items():
        yield from distinct(_of_other_data(plan, label, workload))


def dispatch_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The spec's single dispatches, around which nothing else lies: first those with data of their own, whose kind comes before sizes.

    Raises:
        NotGenerable: one has a data type that no table gives the first tensor, or breaks a rule, with no type or with the only one it names.
    """
    for label, single in sorted(plan.operator.dispatches.items(), key=lambda each: not each[1].data):
        if not is_beyond(single.workload.level, most):
            yield from _single(plan, label, single)


def _single(plan: Plan, label: str, single: SingleDispatch) -> Iterator[Case]:
    """One case of each format, all of which must be valid; with a type or ``of_each`` those that are, of each type or choice once."""
    operator, workload, names, wrong = plan.operator, single.workload, set[str](), ""
    is_typed = bool(single.of_each or workload.data_type)
    for choice in plan.choices if is_typed else plan.representatives:
        name = choice.label if single.of_each == "choice" else choice.main
        if is_typed and (name in names or workload.data_type not in (None, choice.main)):
            continue
        desc = _desc(choice, workload)
        wrong = _wrong(operator, single, desc)
        if not wrong:
            names.add(name)
            yield _single_case(operator, label, single, choice, desc)
        elif not is_typed:
            break
    if not names or (wrong and not is_typed):
        raise NotGenerable(
            f"{operator.name}: the dispatch {label} {wrong or 'has a data type that no table gives the first tensor'}"
        )


def _wrong(operator: Operator, single: SingleDispatch, desc: OperatorDesc) -> str:
    """Why a dispatch is not valid; empty if it is."""
    for each in violations(operator, desc):
        return f"breaks {each.label}: {each.message}"
    for name in single.data:
        if not desc.called(name):
            return f"has data of {name}, which is absent"
    alike = all(desc.tensor(name) == desc.tensor(other) for name, other in single.shared.items())
    return "" if alike else "binds tensors at one place that differ in type or sizes"


def _single_case(operator: Operator, label: str, single: SingleDispatch, choice: TypeChoice, desc: OperatorDesc) -> Case:
    data = {own: Data(each.recipe, each.parameters) for of, each in single.data.items() for own, _ in desc.called(of)}
    kind = "values" if data else "sizes"
    measured = any(each.basis == MEASURED for each in single.data.values())
    return build(
        kind,
        (kind, label),
        desc,
        choice,
        level=single.workload.level,
        data=random_data(operator, desc) | data,
        basis=MEASURED if measured else DOCUMENTED,
        in_place=single.shared,
        covers=(f"dispatches/{label}",),
    )


def _usual(plan: Plan) -> dict[str, Workload]:
    """The workloads around which others lie."""
    return {label: workload for label, workload in plan.operator.workloads.items() if not _takes_long(plan, workload)}


def _takes_long(plan: Plan, workload: Workload) -> bool:
    """Whether one of its sizes is beyond what the spec says is the largest otherwise: nothing lies around it then."""
    model = model_of(plan)
    each = ((symbol, size if isinstance(size, tuple) else (size,)) for symbol, size in workload.sizes.items())
    return any(max(sizes) > model.largest(symbol) for symbol, sizes in each)


def _choices(plan: Plan, label: str, workload: Workload, others: Sequence[TypeChoice] = ()) -> tuple[TypeChoice, ...]:
    """Those with the workload's type; where it has none ``others``, or one of each format."""
    found = (
        tuple(choice for choice in plan.choices if choice.main == workload.data_type)[:1]
        if workload.data_type
        else tuple(others) or plan.representatives
    )
    if not found:
        raise NotGenerable(
            f"{plan.operator.name}: no table gives the first tensor the type of the workload {label}, {workload.data_type}"
        )
    return found


def _way(choice: TypeChoice, workload: Workload, more: Mapping[str, object] | None = None) -> Way:
    """The usual attributes but for those of the workload, and for more."""
    usual = choice.attributes[0]
    return choice, Combination({**usual, **workload.attributes, **(more or {})}, usual.configuration)


def _desc(choice: TypeChoice, workload: Workload) -> OperatorDesc:
    """The workload itself. Raises NotGenerable."""
    return choice.desc(usual_run(workload.dimensions or choice.usual_count), _way(choice, workload)[1], workload.sizes)


def _as_given(plan: Plan, label: str, workload: Workload) -> Iterator[Case]:
    for choice in _choices(plan, label, workload):
        desc = _desc(choice, workload)
        if wrong := violations(plan.operator, desc):
            raise NotGenerable(f"{plan.operator.name}: the workload {label} breaks {wrong[0].label}: {wrong[0].message}")
        is_large = element_count(desc) > table.ONE_TYPE_BEYOND
        for layout, laid in laid_out_twice(plan.operator, desc)[: 1 if is_large else None]:
            yield size_case(_way(choice, workload), laid, label, layout, level=workload.level, basis=workload.basis)


# Around them


def _resized_cases(plan: Plan, label: str, workload: Workload, turns: Iterator[int]) -> Iterator[Case]:
    """The workload with its sizes cut, each dimension but those of a window in turn one of ``table.WORKLOAD_SIZES``, for the first choice of types and another."""
    choices, cut, growing = (
        _choices(plan, label, workload, plan.covering_choices),
        _cut_sizes(plan, workload),
        model_of(plan).window_symbols,
    )
    for (symbol, size), length in product(cut.items(), table.WORKLOAD_SIZES):
        for name, turned in () if symbol in growing else _turn_sizes(symbol, size, length):
            for choice in dict.fromkeys((choices[0], choices[next(turns) % len(choices)])):
                yield from _case(plan, choice, workload, f"{label}.{name}={length}", {**cut, symbol: turned})


def _turn_sizes(symbol: str, size: _Size, length: int) -> Iterator[tuple[str, _Size]]:
    """A symbol's sizes with one of them that long, each in turn, with the name of its dimension."""
    if not isinstance(size, tuple):
        yield symbol, length
        return
    for at in range(len(size)):
        yield f"{symbol}[{at - len(size)}]", tuple(length if other == at else each for other, each in enumerate(size))


def _cut_sizes(plan: Plan, workload: Workload) -> dict[str, _Size]:
    """The workload's sizes, at most ``table.WORKLOAD_SIDE``; those of a window as they are."""

    def cut_size(size: _Size) -> _Size:
        return tuple(min(each, table.WORKLOAD_SIDE) for each in size) if isinstance(size, tuple) else min(size, table.WORKLOAD_SIDE)

    growing = model_of(plan).window_symbols
    return {symbol: size if symbol in growing else cut_size(size) for symbol, size in workload.sizes.items()}


def _fused_cases(plan: Plan, label: str, workload: Workload) -> Iterator[Case]:
    """The workload with each fused operator: with its sizes cut, for each choice of types, and as it is, for one."""
    cut, turns = _cut_sizes(plan, workload), count()
    is_small = model_of(plan).work(workload.sizes) <= table.FUSED_WORK
    for field in plan.chosen:
        for value in plan.values(field) if field.type == "OPERATOR_DESC" else ():
            if value is not None:
                choices = _choices(plan, label, workload)
                for choice in choices:
                    yield from _case(plan, choice, workload, f"{label}.at-most-{table.WORKLOAD_SIDE}", cut, {field.name: value})
                if is_small:
                    choice = choices[next(turns) % len(choices)]
                    yield from _case(plan, choice, workload, label, workload.sizes, {field.name: value})


def _of_other_data(plan: Plan, label: str, workload: Workload) -> Iterator[Case]:
    """The workload as it is with each kind of further random data, and for one choice of types each with special values, unless it is large."""
    choices, turns = _choices(plan, label, workload), count()
    descs = {choice: _desc(choice, workload) for choice in choices}
    if any(map(_is_large, descs.values())) or model_of(plan).work(workload.sizes) > table.WORKLOAD_WORK:
        return
    for choice, desc in descs.items():
        for kind in further_data(plan, desc):
            yield data_case(plan, desc, choice, f"{label}.", kind, workload.basis)
    special: dict[str, list[tuple[TypeChoice, DataKind]]] = {}
    for choice, desc in descs.items():
        for kind in special_data(plan, _way(choice, workload)[1], desc):
            special.setdefault(kind.label, []).append((choice, kind))
    for found in sample(plan, list(special.values())):
        choice, kind = found[next(turns) % len(found)]
        yield data_case(plan, descs[choice], choice, f"{label}.", kind, workload.basis)


def _case(
    plan: Plan, choice: TypeChoice, workload: Workload, label: str, sizes: _Sizes, more: Mapping[str, object] | None = None
) -> Iterator[Case]:
    """The case, if it is valid, and no larger than it should be."""
    way = _way(choice, workload, more)
    desc = valid_desc(plan, way, usual_run(workload.dimensions or choice.usual_count), sizes)
    if desc is not None and not _is_large(desc):
        yield size_case(way, desc, label, basis=workload.basis)


def _laid_out(plan: Plan, label: str, workload: Workload) -> Iterator[Case]:
    """The workload itself, each tensor by itself in each layout that it may have, all with channels last, and all with aligned rows; for one
    choice of types, and unless it is large.
    """
    choice = _choices(plan, label, workload)[0]
    way, desc = _way(choice, workload), _desc(choice, workload)
    if _is_large(desc) or model_of(plan).work(workload.sizes) > table.WORKLOAD_WORK:
        return
    for layout, lay_out, level in ((CHANNELS_LAST, channels_last, workload.level), (ALIGNED_ROWS, aligned_rows, "full")):
        everywhere = lay_out(plan.operator, desc)
        if everywhere != desc and allowed_desc(plan, everywhere):
            yield size_case(way, everywhere, f"{label}.every-{layout}", level=level, basis=workload.basis)
    for field in plan.operator.fields:
        own = {name: tensor for each, name, tensor in desc.by_field() if each == field.name}
        for layout in layouts_alone(plan.operator, field) if own else ():
            laid = desc.with_tensors({name: laid_out(tensor, layout) for name, tensor in own.items()})
            if layout in table.WORKLOAD_LAYOUTS and laid != desc and allowed_desc(plan, laid):
                yield size_case(way, laid, f"{label}.{short(field.name)}-{layout}", level=workload.level, basis=workload.basis)


def _is_large(desc: OperatorDesc) -> bool:
    return element_count(desc) > table.WORKLOAD_CAP
