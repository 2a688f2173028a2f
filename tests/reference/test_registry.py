"""Reference functions are found by what lies in reference/operators/: all of them, and one operator's without the other families."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dmlcts.reference.registry import references
from dmlcts.spec.reading.loader import family_of, operator_names

PROGRAM = """
import sys
from dmlcts.reference.registry import reference_of
found = reference_of(sys.argv[1])
families = {name.split(".")[3] for name in sys.modules if name.startswith("dmlcts.reference.operators.")}
print(found is not None, *sorted(families))
"""


def imported_for(name: str) -> list[str]:
    command = (sys.executable, "-c", PROGRAM, name)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_every_spec_has_a_function_and_every_function_a_spec() -> None:
    assert references().keys() == set(operator_names())


FAMILIES = sorted({str(family_of(name)) for name in operator_names()})


@pytest.mark.parametrize("family", FAMILIES)
def test_functions_lie_in_the_family_of_their_specs(family: str) -> None:
    """Otherwise every family is imported before they are found."""
    program = "import sys; from dmlcts.reference import registry; registry._import(sys.argv[1]); print(*registry._FUNCTIONS)"
    command = (sys.executable, "-c", program, family)
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in operator_names() if family_of(name) == family} <= set(found)


@pytest.mark.parametrize("name", ["ELEMENT_WISE_ROUND", "REDUCE", "MAX_POOLING"])
def test_one_operator_needs_its_family_alone(name: str) -> None:
    """The element-wise families are light, and others use them."""
    found, *families = imported_for(name)
    assert found == "True"
    assert {str(family_of(name))} <= set(families) <= {str(family_of(name)), "element_wise"}


def test_what_no_family_has_is_looked_for_in_all() -> None:
    found, *families = imported_for("NO_SUCH_OPERATOR")
    assert found == "False"
    assert set(families) >= {"activation", "attention", "element_wise", "reduction"}
