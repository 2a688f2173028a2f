"""Outputs of other sizes than the input's: each choice of dimensions in which they differ, for outputs that different groups of threads take whole.

An implementation that interpolates reads two elements along each dimension that is scaled, and one along all others: it has a kernel for each choice of
them. What decides further is the output alone: along which dimension a group of threads meets no end.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.plan.attributes import Combination, NotGenerable
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import Way, size_case
from dmlcts.generator.sweeps.usual import usual_run
from dmlcts.spec.model.case_sizes import Resize
from dmlcts.spec.rules.rules import violations


def resize_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """For each data type that ``cases.resize`` names: each output of ``table.RESULT_SIZES``, from inputs that are larger in each choice of dimensions.

    Raises:
        NotGenerable: no table gives the first tensor a type that is named, or a desc breaks a rule.
    """
    resize = plan.operator.resize
    if resize is None or is_beyond(resize.level, most):
        return
    for way, sizes in product(_ways(plan, resize), table.RESULT_SIZES):
        for count in range(1, len(sizes) + 1):
            for places in combinations(range(len(sizes)), count):
                yield _case(plan, way, resize, sizes, places)


def _ways(plan: Plan, resize: Resize) -> Iterator[Way]:
    """The first choice of data types with each main type, with the usual attributes but for those that are named."""
    for name in resize.types:
        choice = next((choice for choice in plan.choices if choice.main == name), None)
        if choice is None:
            raise NotGenerable(f"{plan.operator.name}: no table gives the first tensor the type of cases.resize, {name}")
        usual = choice.attributes[0]
        yield choice, Combination({**usual, **resize.attributes}, usual.configuration)


def _case(plan: Plan, way: Way, resize: Resize, sizes: tuple[int, ...], places: tuple[int, ...]) -> Case:
    """The case in which the input has one element more in these places."""
    origin = tuple(size + (at in places) for at, size in enumerate(sizes))
    desc = way[0].desc(usual_run(len(sizes)), way[1], {resize.origin: origin, resize.result: sizes})
    if broken := violations(plan.operator, desc):
        raise NotGenerable(f"{plan.operator.name}: cases.resize breaks {broken[0].label}: {broken[0].message}")
    name = ",".join(str(at - len(sizes)) for at in places)
    return size_case(way, desc, f"{resize.origin}[{name}].resized-to-{'x'.join(map(str, sizes))}", level=resize.level)
