"""Random valid dispatches of an operator, wider than its cases."""

from itertools import islice
from random import Random

from dmlcts.generator.case.case import Case
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.random_dispatch import Genes, dispatch_from
from dmlcts.spec.reading.loader import load


def some_cases(operator: str, count: int = 60, seed: int = 1) -> list[Case]:
    """So many of them, the same for a seed."""
    model, random = model_of(plan_of(load(operator))), Random(seed)
    cases = (dispatch_from(model, Genes(random)) for _ in range(10 * count))
    return list(islice((case for case in cases if case is not None), count))
