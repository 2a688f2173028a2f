"""Cases about the bytes between the elements of strided outputs."""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.generator.case.build import build, levelled
from dmlcts.generator.case.case import Case
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.values.layouts import GAPPED, laid_out
from dmlcts.spec.model.operator import ABSENT, MEASURED

_SIZES = (2, 3, 4, 5)


def gap_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Strided outputs whose gaps must not change: measured, as the documentation lets an operator overwrite an output's total size."""
    for choice, level in levelled(plan, plan.representatives[:1], most):
        for field in plan.operator.outputs():
            turns = [attributes for attributes in choice.whole if attributes.get(field.name) != ABSENT] or choice.whole
            base = choice.usual_desc(_SIZES, turns[0])
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
