"""Stages: named steps of the references, one of which can be replaced."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest

from dmlcts.generator.case.case import REFERENCE
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reference import stage as module
from dmlcts.reference.registry import compute, references
from dmlcts.reference.stage import replace_stages, stage, stages

references()  # imports every reference, and with it every stage


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A stage that doubles, apart from those of the references."""
    monkeypatch.setattr(module, "_STAGES", {})

    @stage("test.double")
    def doubled(x: int, more: int = 0) -> int:
        """Twice x, and more."""
        return 2 * x + more

    return doubled


def test_a_stage_is_its_function(double: Any) -> None:
    assert double(3, more=1) == 7
    assert double.__name__ == "doubled"
    assert stages() == {"test.double": double}


def test_what_replaces_a_stage_gets_the_right_function_and_the_arguments(double: Any) -> None:
    with replace_stages({"test.double": lambda right, x, more=0: (right(x, more=more), x, more)}):
        assert double(3, more=1) == (7, 3, 1)
    assert double(3) == 6


def test_inner_replacements_take_the_place_of_outer_ones(double: Any) -> None:
    with replace_stages({"test.double": lambda right, x: 0}):
        with replace_stages({"test.double": lambda right, x: 1}):
            assert double(3) == 1
        assert double(3) == 0


def test_a_replacement_ends_where_its_block_raises(double: Any) -> None:
    with pytest.raises(ZeroDivisionError), replace_stages({"test.double": lambda right, x: 0}):
        raise ZeroDivisionError
    assert double(3) == 6


def test_other_threads_compute_what_is_right(double: Any) -> None:
    with replace_stages({"test.double": lambda right, x: 0}), ThreadPoolExecutor(1) as pool:
        assert pool.submit(double, 3).result() == 6


def test_an_unknown_stage_is_an_error(double: Any) -> None:
    with (
        pytest.raises(KeyError, match=r"no stage is called test\.none; there are test\.double"),
        replace_stages({"test.none": print}),
    ):
        pass


def test_two_stages_of_one_name_are_an_error(double: Any) -> None:
    with pytest.raises(ValueError, match=r"test\.double"):
        stage("test.double")(print)


@pytest.mark.parametrize("name", sorted(stages()))
def test_a_stage_says_what_it_is(name: str) -> None:
    function = stages()[name]
    assert function.__doc__
    folder = function.__module__.split(".")[3]
    assert name.startswith(f"{folder}."), f"{name} stands in reference/{folder}"


def _reached(folder: str) -> Iterator[set[str]]:
    """The stages of a folder that each case of its operators reaches; of any operator, for a module that folders share."""
    own = {name for name in stages() if name.startswith(f"{folder}.")}
    operators = [operator for operator, function in references().items() if f".{folder}." in function.__module__]
    # The few cases of level smoke reach most stages; those of core are made where they do not.
    for level, operator in (*product(("smoke",), operators or references()), *product(("core",), operators)):
        for case in operator_cases(operator, level):
            if case.expect == REFERENCE:
                seen: set[str] = set()

                def noted(name: str, seen: set[str] = seen) -> Any:
                    def instead(right: Any, *args: Any, **kwargs: Any) -> Any:
                        seen.add(name)
                        return right(*args, **kwargs)

                    return instead

                with replace_stages({name: noted(name) for name in own}):
                    compute(case.desc, inputs(case))
                yield seen


@pytest.mark.parametrize("folder", sorted({name.partition(".")[0] for name in stages()}))
def test_every_stage_is_reached(folder: str) -> None:
    missing = {name for name in stages() if name.startswith(f"{folder}.")}
    for seen in _reached(folder):
        missing -= seen
        if not missing:
            return
    assert not missing
