"""Cases that reach bytes beyond 2^32, for level huge: a kernel that computes byte offsets in 32 bits wraps there.

They have few elements, but resources of 4 GiB, of which the suite needs two copies (conformance/execution/memory): not every machine has that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dmlcts.generator.case.build import build
from dmlcts.generator.case.case import ALL, HUGE, Binding, Case, beyond
from dmlcts.generator.facts.factors import short
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.values.layouts import layouts_of
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.rules.rules import violations

WORD = 1 << 32
"""How many bytes an offset of 32 bits reaches."""

_BEHIND = 4_112
"""How far behind a multiple of 2^32 tensors and elements lie: a wrapped offset is none of another tensor's."""

_SIZES = (3, 2, 4, 5)
"""The first is 3 or more: the strides of 8-bit elements must fit 32 bits."""


def huge_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """All tensors in one resource beyond 2^32 bytes; an input, and an output, whose later elements lie beyond 2^32 bytes."""
    if beyond(HUGE, most):
        return
    choice = next(choice for choice in plan.choices if min(bits for bits, _ in choice.formats) >= 8)
    desc = choice.usual_desc(_SIZES, choice.whole[0])
    first = next(name for name, _ in desc.tensors())
    beyond_word = {first: Binding(offset=WORD + _BEHIND)}
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
    strides[at] = 8 * (WORD + _BEHIND) // tensor.type.bits // (tensor.sizes[at] - 1) + 1
    found = desc.with_tensors({own: replace(tensor, strides=tuple(strides))})
    return None if strides[at] >= WORD or violations(plan.operator, found) else (found, own)
