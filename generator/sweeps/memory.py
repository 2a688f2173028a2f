"""What lies between and beyond elements: bytes in the gaps of strided outputs, and, at level huge, resources of 4 GiB.

A kernel that computes byte offsets in 32 bits wraps beyond 2^32. Such cases have few elements, but the suite needs two copies of their resources
(conformance/execution/memory): not every machine has that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dmlcts.generator.case.build import build, types_by_level
from dmlcts.generator.case.case import ALL, HUGE, Binding, Case, is_beyond
from dmlcts.generator.facts.factors import short
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps.engine import allowed_desc
from dmlcts.generator.sweeps.table import BEHIND_32_BITS, BEYOND_32_BITS, GAP_SIZES, HUGE_SIZES
from dmlcts.generator.values.layouts import GAPPED, laid_out, layouts_of
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import ABSENT, MEASURED


def gap_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Strided outputs whose gaps must not change: measured, as the documentation lets an operator overwrite an output's total size."""
    for choice, level in types_by_level(plan, plan.representatives[:1], most):
        for field in plan.operator.outputs():
            turns = [attributes for attributes in choice.whole if attributes.get(field.name) != ABSENT] or choice.whole
            base = choice.usual_desc(GAP_SIZES, turns[0])
            name = field.name.removesuffix("Tensor")
            tensors = base.called(field.name)
            for layout in GAPPED if tensors else ():
                yield build(
                    "gaps",
                    ("gaps", f"{name}-{layout}"),
                    base.with_tensors({own: laid_out(tensor, layout) for own, tensor in tensors}),
                    choice,
                    level=level,
                    basis=MEASURED,
                    checks=("gaps",),
                    covers=(f"gaps/{field.name}/{layout}",),
                )


def huge_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """All tensors in one resource beyond 2^32 bytes; an input, and an output, whose later elements lie beyond 2^32 bytes."""
    if is_beyond(HUGE, most):
        return
    choice = next(choice for choice in plan.choices if min(bits for bits, _ in choice.formats) >= 8)
    desc = choice.usual_desc(HUGE_SIZES, choice.whole[0])
    first = next(name for name, _ in desc.tensors())
    beyond_word = {first: Binding(offset=BEYOND_32_BITS + BEHIND_32_BITS)}
    yield replace(_case(choice, desc, "offset"), bindings=beyond_word, resource=ALL)
    for kind in ("input", "output"):
        found = next(filter(None, (_far(plan, desc, field.name) for field in plan.operator.fields if field.kind == kind)), None)
        if found:
            yield _case(choice, found[0], f"{short(found[1])}-stride")


def _case(choice: TypeChoice, desc: OperatorDesc, label: str) -> Case:
    return build("huge", ("huge", label), desc, choice, level=HUGE, covers=(f"huge/{label}",))


def _far(plan: Plan, desc: OperatorDesc, name: str) -> tuple[OperatorDesc, str] | None:
    """The desc with the last elements of a tensor beyond 2^32 bytes, and the tensor's name; None where no stride may be so large."""
    own, tensor = next(iter(desc.called(name)), ("", None))  # of an array the first
    if tensor is None or "padded-planes" not in layouts_of(plan.operator, plan.operator.field(name)) or max(tensor.sizes) < 2:
        return None
    at = max(range(len(tensor.sizes)), key=lambda index: tensor.sizes[index])
    strides = list(tensor.effective_strides)
    strides[at] = 8 * (BEYOND_32_BITS + BEHIND_32_BITS) // tensor.type.bits // (tensor.sizes[at] - 1) + 1
    found = desc.with_tensors({own: replace(tensor, strides=tuple(strides))})
    return None if strides[at] >= BEYOND_32_BITS or allowed_desc(plan, found) is None else (found, own)
