"""The last answers are kept: reference/answer_cache."""

from collections.abc import Mapping

import numpy as np
import pytest

from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reference import answer_cache as module
from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.answer_cache import recent
from dmlcts.reference.registry import compute
from dmlcts.reference.stage import replace_stages, stages
from dmlcts.spec.model.desc import OperatorDesc

ADD = next(case.desc for case in operator_cases("ELEMENT_WISE_ADD") if case.data_type == "FLOAT32")
SIZES = ADD.tensor("OutputTensor").sizes


def inputs(value: float = 1.5) -> dict[str, Array]:
    return {"ATensor": np.full(SIZES, value, np.float32), "BTensor": np.full(SIZES, 0.25, np.float32)}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators that are computed, one entry a time."""
    found: list[str] = []

    def counted(desc: OperatorDesc, given: Mapping[str, Array]) -> dict[str, Answer]:
        found.append(desc.type)
        return compute(desc, given)

    monkeypatch.setattr(module, "_last", None)
    monkeypatch.setattr(module, "compute", counted)
    return found


def test_the_same_is_computed_once(calls: list[str]) -> None:
    first, second = recent(ADD, inputs()), recent(ADD, inputs())
    assert len(calls) == 1
    assert second["OutputTensor"].value is first["OutputTensor"].value
    assert (first["OutputTensor"].value == 1.75).all()


def test_what_differs_in_one_bit_is_computed(calls: list[str]) -> None:
    recent(ADD, inputs(0.0))
    other = recent(ADD, inputs(-0.0))
    assert len(calls) == 2
    changed = inputs(-0.0)
    changed["ATensor"][(0,) * len(SIZES)] = 7
    assert recent(ADD, changed)["OutputTensor"].value.max() == 7.25
    assert other["OutputTensor"].value.max() == 0.25
    assert len(calls) == 3


def test_another_desc_is_computed(calls: list[str]) -> None:
    recent(ADD, inputs())
    subtract = OperatorDesc("ELEMENT_WISE_SUBTRACT", ADD.fields)
    assert (recent(subtract, inputs())["OutputTensor"].value == 1.25).all()
    assert len(calls) == 2


def test_inputs_that_are_changed_afterwards_are_others(calls: list[str]) -> None:
    given = inputs()
    recent(ADD, given)
    given["BTensor"][...] = 3
    assert (recent(ADD, given)["OutputTensor"].value == 4.5).all()
    assert len(calls) == 2


def test_nothing_is_kept_while_a_stage_is_replaced(calls: list[str]) -> None:
    recent(ADD, inputs())
    with replace_stages({next(iter(stages())): lambda right, *arguments: right(*arguments)}):
        recent(ADD, inputs())
        recent(ADD, inputs())
    assert len(calls) == 3


def test_large_inputs_are_not_kept(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 8)
    recent(ADD, inputs())
    recent(ADD, inputs())
    assert len(calls) == 2
