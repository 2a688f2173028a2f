"""Five dimensions of which no two can be joined: all inputs packed, and the outputs in another order of dimensions.

An implementation joins dimensions that follow each other in memory in all tensors, and mostly has four or fewer left. Where five are left, it runs another kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import Way, allowed_desc, size_case, valid_desc
from dmlcts.generator.values.layouts import laid_out
from dmlcts.spec.model.desc import OperatorDesc


def unjoined_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """At core: a case for each choice of data types, of operators that take tensors with five dimensions: kernels for these are made type by type."""
    if is_beyond("core", most):
        return
    for choice in plan.choices:
        way = choice, choice.attributes[0]
        desc = _permuted_desc(plan, way)
        if desc is not None:
            yield size_case(way, desc, "five-dimensions.output-permuted", level="core")


def _permuted_desc(plan: Plan, way: Way) -> OperatorDesc | None:
    """The usual desc with five dimensions, none of them 1, and its outputs permuted; None if there is no valid one."""
    desc = valid_desc(plan, way, table.FIVE_DIMENSIONS)
    if desc is None:
        return None
    outputs = {field.name for field in plan.operator.outputs()}
    own = {name: tensor for field, name, tensor in desc.by_field() if field in outputs}
    if not any(tensor.DimensionCount == len(table.FIVE_DIMENSIONS) and min(tensor.sizes) > 1 for tensor in own.values()):
        return None
    laid = desc.with_tensors({name: laid_out(tensor, "permuted") for name, tensor in own.items()})
    return laid if laid != desc and allowed_desc(plan, laid) else None
