"""Facts of cases, and the conditions on them in words."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.generator.case.case import REJECTION, Case
from dmlcts.generator.facts.conditions import Columns, conditions
from dmlcts.generator.facts.explanations import Facts, facts_of, shared_facts
from dmlcts.generator.suite.suite import operator_cases

ADD = "ELEMENT_WISE_ADD"


def case(**wanted: object) -> Case:
    return next(each for each in operator_cases(ADD, "core") if all(getattr(each, name) == value for name, value in wanted.items()))


def texts(facts: list[Facts], failing: str) -> dict[str, str]:
    """The conditions that hold for some failing case and not for all passing ones, each with the cases for which it holds: ``xx..``."""
    marks = np.array([mark == "x" for mark in failing])
    made = conditions(Columns(facts), marks, ~marks)
    assert len(made.texts) == len(made.weights) == len(made.holds)
    return {text: "".join(".x"[int(flag)] for flag in row) for text, row in zip(made.texts, made.holds, strict=True)}


def numbers(name: str, *values: float) -> list[Facts]:
    return [{name: value} for value in values]


def test_words_are_or_are_not() -> None:
    facts: list[Facts] = [{"ATensor": "per-channel"}, {"ATensor": "packed"}, {"ATensor": "spread"}, {}]
    assert texts(facts, "x...") == {
        "ATensor is per channel": "x...",
        "ATensor is not packed": "x.x.",  # where it does not apply, neither holds
        "ATensor is not spread": "xx..",
    }
    assert texts(facts[:2], "x.") == {"ATensor is per channel": "x."}  # of two values, one is enough


def test_thresholds_lie_where_a_failing_value_follows_a_passing_one() -> None:
    found = texts(numbers("the rank", 2, 3, 4, 5, 6, 7), ".xx.xx")
    assert {text: row for text, row in found.items() if "or more" in text or "or less" in text} == {
        "the rank is 3 or more": ".xxxxx",
        "the rank is 6 or more": "....xx",
        "the rank is 4 or less": "xxx...",
    }
    assert found["the rank is 3"] == ".x...."


def test_sizes_have_multiples_and_remainders_and_are_compared() -> None:
    facts: list[Facts] = [{"size N": n, "size M": m} for n, m in ((16, 8), (17, 9), (15, 40))]
    found = texts(facts, "x..")
    assert found["size N is a multiple of 16"] == "x.."
    assert found["size N is larger than size M"] == "xx."
    assert texts(facts, ".x.")["size N modulo 8 is 1"] == ".x."
    assert texts(facts, "..x")["size N is smaller than size M"] == "..x"
    assert "size N is 16 or more" in texts(facts, "xx.")
    assert not any("multiple" in text for text in texts(numbers("Axis", 1, 2, 4), ".xx"))


def test_flags_hold_or_do_not() -> None:
    key = ("CTensor is present", "CTensor is absent")
    assert texts([{key: True}, {key: False}, {}], "x..") == {"CTensor is present": "x.."}
    assert texts([{key: True}, {key: False}, {}], ".x.") == {"CTensor is absent": ".xx"}


def test_a_condition_says_something_about_failing_cases() -> None:
    assert texts(numbers("the rank", 4, 4, 4), "x..") == {}
    made = conditions(Columns(numbers("the rank", 1, 4)), np.array([True, False]), np.array([False, True]))
    assert made.holds[:, 0].all()


def test_facts_of_a_dispatch() -> None:
    found = facts_of(case(resource="inputs", kind="combination"))
    assert found["what shares a resource"] == "the inputs"
    assert {"the type", "the rank", "the offset", "the slack", "ATensor", "size S last", "the element count of S"} <= found.keys()
    assert "the largest rank" not in found
    shared = next(each for each in operator_cases(ADD, "core") if each.in_place.get("OutputTensor") == "ATensor")
    assert facts_of(shared)["OutputTensor is in place on ATensor", "OutputTensor is not in place on ATensor"] is True
    broadcast = next(each for each in operator_cases(ADD, "core") if facts_of(each).get("BTensor") == "broadcast-middle")
    assert facts_of(broadcast)["BTensor is broadcast", "BTensor is not broadcast"] is True
    assert shared_facts(broadcast)["a tensor is broadcast", "no tensor is broadcast"] is True


@pytest.mark.parametrize("operator", ["ELEMENT_WISE_QUANTIZE_LINEAR", "ACTIVATION_SOFTMAX1", "VALUE_SCALE_2D"])
def test_every_case_has_facts(operator: str) -> None:
    """Also rejections, whose descs are invalid, and laws."""
    for each in operator_cases(operator, "smoke"):
        facts = facts_of(each)
        assert shared_facts(each).keys() - {"the largest rank"} <= facts.keys()
        assert ("the broken rule" in facts) == (each.expect == REJECTION)
