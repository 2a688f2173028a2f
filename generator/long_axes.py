"""More elements along the operator's axes than 16 bits count: in one dimension and over several, for all that is computed, with each kind of data.

An implementation counts, sums and finds the largest of so many in several passes, whose parts have a rest that must change nothing. A rest of
zeros shows where all elements are positive or all negative; a count shows in an average of FLOAT16. So types, functions and data meet here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from dmlcts.generator.build import build, random_data
from dmlcts.generator.case import Case, beyond
from dmlcts.generator.factors import model_of
from dmlcts.generator.plain import FAR, Sizes, plain_desc, plain_ways
from dmlcts.generator.plain_data import further_data
from dmlcts.generator.plan import Plan
from dmlcts.generator.turning import Way, works_along
from dmlcts.spec.model import DOCUMENTED

_SEVERAL = (31, 65, 33)
"""The last dimensions, which together have more than 16 bits count: none by itself, and none even."""


def long_axes_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """For each choice of types, each combination of what ``turning.each`` lists and each kind of data: a long axis, or several, in turn."""
    turning = plan.operator.turning
    if turning is None or beyond("full", most):
        return
    alike: dict[object, list[Way]] = {}
    for way in chain.from_iterable(plain_ways(plan).values()):
        alike.setdefault((way[0].label, *(way[1].get(name) for name in turning.each)), []).append(way)
    for number, ways in enumerate(alike.values()):
        for index, label in enumerate(["random", *_kinds(plan, ways[0])]):
            is_several = (number + index) % 2 == 1
            case = _made(plan, ways, label, is_several=is_several) or _made(plan, ways, label, is_several=not is_several)
            if case is not None:
                yield case


def _kinds(plan: Plan, way: Way) -> list[str]:
    desc = plain_desc(plan, way, {})
    return [label for label, _, _ in further_data(plan, desc)] if desc else []


def _made(plan: Plan, ways: list[Way], label: str, *, is_several: bool) -> Case | None:
    """The case of the first way whose axes have all the long dimensions."""
    model = model_of(plan)
    name, at = next(iter(model.dimensions.items()))
    if at[0] in model.growing or model.largest(at[0]) < FAR:
        return None
    lengths = {(at[0], index - len(_SEVERAL)): size for index, size in enumerate(_SEVERAL)} if is_several else {at: FAR}
    sizes: Sizes = dict.fromkeys(model.dimensions.values(), 2) | lengths
    for choice, attributes in ways:
        desc = plain_desc(plan, (choice, attributes), sizes)
        if desc is not None and all(works_along(plan, desc, each) for each in lengths):
            kinds = {own: (basis, data) for own, basis, data in further_data(plan, desc)}
            basis, data = kinds.get(label, (DOCUMENTED, {}))
            data = random_data(plan.operator, desc) | data
            words = f"{name}={FAR}" if not is_several else f"{at[0]}={'x'.join(map(str, _SEVERAL))}"
            return build("values", ("values", f"{words}.of-{label}"), desc, choice, level="full", data=data, basis=basis)
    return None
