"""The cases of operators that a test makes up, in a fraction of the time: their arrays are not stored."""

from unittest.mock import patch

from dmlcts.generator.case.case import Case
from dmlcts.generator.covering import stored
from dmlcts.generator.random import cases as random_cases
from dmlcts.generator.suite.suite import make_cases
from dmlcts.spec.model.operator import Operator


def cases_of(operator: Operator) -> tuple[Case, ...]:
    """Every case up to level full, where rows have each two values together but not each three, with few random dispatches."""
    with patch.dict(stored.STRENGTHS, full=2), patch.object(random_cases, "COUNT", 50):
        return make_cases(operator)
