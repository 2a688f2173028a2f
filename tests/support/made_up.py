"""The cases of operators that a test makes up, in a fraction of the time: their arrays are not stored."""

from unittest.mock import patch

from dmlcts.generator import arrays, random_cases
from dmlcts.generator.case import Case
from dmlcts.generator.suite import make_cases
from dmlcts.spec.model import Operator


def cases_of(operator: Operator) -> tuple[Case, ...]:
    """Every case up to level full, where rows have each two values together but not each three, with few random dispatches."""
    with patch.dict(arrays.STRENGTHS, full=2), patch.object(random_cases, "COUNT", 50):
        return make_cases(operator)
