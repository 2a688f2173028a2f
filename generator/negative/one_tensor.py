"""Rules about single tensors, broken by one tensor where others follow them: data types, dimension counts and sizes.

Tensors that must be alike in something are changed together elsewhere (generator/negative/cases), so that a rule about one of them is broken and
no other. Such a change is refused by an implementation that checks any of them. Here one tensor alone is changed to what no table lists: its
rule and the rule that ties it to the others are broken at once, and only an implementation that checks neither of this tensor accepts it.
So are a scale and its zero point, which must be of one size: an implementation may compare them with each other, and not with the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dmlcts.generator.negative.descs import groups_in, with_changed
from dmlcts.generator.plan.attributes import Combination
from dmlcts.generator.plan.desc_plan import DescPlan, first_with_each
from dmlcts.generator.plan.type_choices import TypeChoice, padded_run
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import UNKNOWN, OperatorDesc, TensorDesc

ALONE = "-alone"
"""What follows a tensor's name in the id of such a case."""


def mixes(choice: TypeChoice) -> tuple[Combination, ...]:
    """As few combinations as have each tensor, with and without each other one that must have the same sizes; the default first."""

    def present_groups(attributes: Combination) -> Iterator[tuple[str, ...]]:
        present = set(choice.plan.present(attributes).values())
        yield from (tuple(name for name in group if name in present) for group in choice.plan.tied_groups("Sizes"))

    return first_with_each((*choice.presences, *choice.attributes), present_groups)


def one_tensor_descs(plan: DescPlan, base: OperatorDesc, usual: Mapping[str, object]) -> Iterator[tuple[str, OperatorDesc]]:
    """Label and desc of each change of one tensor or few of ``base`` to try; ``usual`` are the attributes to recompute for it."""
    typed, ranked = (_companions(plan, base, what) for what in ("DataType", "DimensionCount"))
    for name, tensor in base.tensors():
        changes: dict[str, Mapping[str, object]] = {}
        if name in typed:
            changes |= {f"data-type/{name}{ALONE}={of}": {"data_type": of} for of in _unlisted_types(plan, name, tensor)}
        changes |= _sizes(plan, base, name, tensor)
        for label, changed in changes.items():
            yield label, plan.recompute(with_changed(base, (name,), **changed), usual)
    for label, part in _parts(plan, base).items():
        tensor = base.tensor(part[0])
        for count in _counts(plan, part[0], tensor) if ranked.issuperset(part) else ():
            sizes = padded_run(tensor.sizes, count) if count else ()
            yield f"dimension-count/{label}={count}", plan.recompute(with_changed(base, part, sizes=sizes), usual)


def _parts(plan: DescPlan, base: OperatorDesc) -> dict[str, tuple[str, ...]]:
    """By label: each tensor, and those that must have the same sizes where others must have as many dimensions.

    Of those with the same sizes, one that is there without the others is another part: there is nothing to compare it with but the rest.
    """
    parts: dict[str, tuple[str, ...]] = {f"{name}{ALONE}": (name,) for name, _ in base.tensors()}
    ranked = [set(group) for group in groups_in(base, plan.tied_groups("DimensionCount"))]
    for tied in plan.tied_groups("Sizes"):
        group = next(groups_in(base, [tied]), ())
        if group and len(tied) > 1 and any(set(group) < others for others in ranked):
            absent = "".join(f"-without-{name}" for name in tied if not any(base.called(name)))
            parts[f"{'+'.join(group)}{ALONE}{absent}"] = group
    return parts


def _companions(plan: DescPlan, base: OperatorDesc, what: str) -> set[str]:
    """The tensors of a desc that must have the same ``what`` as another one that it has."""
    return {name for group in groups_in(base, plan.tied_groups(what)) if len(group) > 1 for name in group}


def _unlisted_types(plan: DescPlan, name: str, tensor: TensorDesc) -> Iterator[str]:
    """UNKNOWN, which breaks the tensor's own rule alone; then a data type that no table lists of the same width, and one of another."""
    yield UNKNOWN
    listed = {of for table in plan.operator.support for of in table.row(plan.name_of(name)).data_types}
    for same_width in (True, False):
        others = (of for of, its in abi().data_types.items() if (its.bits == tensor.type.bits) == same_width)
        yield from [of for of in others if of not in listed][:1]


def _counts(plan: DescPlan, name: str, tensor: TensorDesc) -> list[int]:
    """Dimension counts for one tensor, the most telling first: one and the nearest that no table lists, one fewer than it has, none."""
    rows = [table.row(plan.name_of(name)).dimensions for table in plan.operator.support]
    least, most = min(low for low, _ in rows), max(high for _, high in rows)
    wanted = (1 if least > 1 else 0, most + 1, least - 1, tensor.DimensionCount - 1, 0)
    return sorted(set(wanted), key=lambda count: (count == 0, wanted.index(count)))


def _sizes(plan: DescPlan, base: OperatorDesc, name: str, tensor: TensorDesc) -> dict[str, Mapping[str, object]]:
    """A size of 0, and a smaller one, in one of several tensors of the same sizes."""
    *front, last = tensor.sizes
    alike = sum(other.sizes == tensor.sizes for _, other in base.tensors())
    found: dict[str, Mapping[str, object]] = {}
    if alike > 1:
        found[f"sizes/zero/{name}{ALONE}"] = {"sizes": (*front, 0)}
    if alike > 2 and plan.uniform and last > 1:  # of two, the other one would be larger
        found[f"sizes/{name}{ALONE}={last - 1}"] = {"sizes": (*front, last - 1)}
    return found
