"""What an implementation declares about itself and what results are judged by: each such property is a policy of the claim and the gate."""

from __future__ import annotations

import ast
from dataclasses import fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.answer import Answer
from dmlcts.reports.record.policies import POLICIES, loose_policies, looser
from dmlcts.spec.model.operator import Tolerance

ROOT = Path(__file__).parents[4] / "conformance"
NARROWS = {"operators", "data_types", "validates", "feature_level"}
"""What decides which cases run, and with that the scope of a claim; a case that no longer runs is a regression of its own."""
WORDS = {"name", "version", "device", "details"}

DECLARED: dict[str, tuple[Any, ...]] = {
    "denormals": ("preserve", "flush", "any"),
    "half_store": ("nearest", "truncate"),
    "accumulator": (0, 10, 11, 16, 22, 23, 24, 37, 52),
    "nearest": (True, False),
}
"""Values of each policy."""


def fields_read(source: str) -> set[str]:
    """The fields of descriptions that a module reads: of what is called ``info``, or is an attribute of that name."""

    def is_info(node: ast.AST) -> bool:
        return (isinstance(node, ast.Name) and node.id == "info") or (isinstance(node, ast.Attribute) and node.attr == "info")

    nodes = list(ast.walk(ast.parse(source)))
    found = {node.attr for node in nodes if isinstance(node, ast.Attribute) and is_info(node.value)}
    aliases = {ast.unparse(node) for node in nodes if isinstance(node, ast.Assign) and is_info(node.value)} - {"self.info = info"}
    by_name = {
        ast.unparse(n)
        for n in nodes
        if isinstance(n, ast.Call) and ast.unparse(n.func) in ("getattr", "asdict", "vars") and any(map(is_info, n.args))
    }
    return found | aliases | by_name


def test_the_search_for_fields_finds_what_it_must() -> None:
    source = "def f(given, info):\n    known = given.info\n    getattr(info, 'x')\n    return info.nearest + given.info.accumulator"
    assert fields_read(source) == {"nearest", "accumulator", "known = given.info", "getattr(info, 'x')"}


def test_all_that_the_judge_reads_of_a_description_is_a_policy() -> None:
    judging = [file for room in ("execution", "properties") for file in (ROOT / room).rglob("*.py")]
    read = set().union(*(fields_read(file.read_text(encoding="utf-8")) for file in judging))
    assert read & {field.name for field in fields(BackendInfo)} - NARROWS - WORDS == POLICIES.keys()


def test_every_field_of_a_description_is_a_policy_narrows_the_scope_or_is_words() -> None:
    assert {field.name for field in fields(BackendInfo)} == POLICIES.keys() | NARROWS | WORDS
    assert DECLARED.keys() == POLICIES.keys()
    assert {name: policy.default for name, policy in POLICIES.items()} == {
        name: getattr(BackendInfo("x"), name) for name in POLICIES
    }


def allowed(info: BackendInfo, data_type: str, value: float, tolerance: Tolerance, **answer: Any) -> float:
    """How far a result may be from a value, by the share of one ULP in it."""
    kind = np.dtype(data_type.lower())
    answers = {name: np.array([float(number)]) for name, number in answer.items()}
    off = np.nextafter(kind.type(value), kind.type(np.inf))
    verdict = judge(np.array([off]), Answer(np.array([value]), **answers), tolerance, data_type, info)
    return float(off - value) / verdict.worst_share if verdict.worst_share else np.inf


def is_right(info: BackendInfo, data_type: str, actual: float, value: float, tolerance: Tolerance, **answer: Any) -> float:
    answers = {name: np.array([float(number)]) for name, number in answer.items()}
    return float(judge(np.array([actual], data_type.lower()), Answer(np.array([value]), **answers), tolerance, data_type, info).ok)


ULP, SUM, PRODUCT = (Tolerance(name, "value", {}) for name in ("ulp", "accumulate", "product"))
HALF = Tolerance("ulp", "value", {"ulps": 0.5})


def widths(info: BackendInfo) -> list[float]:
    """The bounds of results of many kinds under a description."""
    return _widths(*(getattr(info, name) for name in POLICIES))


@cache
def _widths(denormals: str, half_store: str, accumulator: int, nearest: bool) -> list[float]:
    return measured(BackendInfo("x", denormals=denormals, half_store=half_store, accumulator=accumulator, nearest=nearest))


def measured(info: BackendInfo) -> list[float]:
    types, values, lengths = ("FLOAT16", "FLOAT32"), (1.0, 1.5, 1.9), (1, 2, 3, 5, 40, 500)
    sums = [allowed(info, t, v, SUM, magnitude=v * m, terms=n) for t, v, n, m in product(types, values, lengths, (1, 3))]
    products = [allowed(info, t, v, PRODUCT, terms=n) for t, v, n in product(types, values, lengths)]
    plain = [allowed(info, t, v, tolerance) for t, v, tolerance in product(types, values, (ULP, HALF))]
    flushed = [is_right(info, t, 0.0, 2.0**e, ULP) for t, e in (("FLOAT16", -15), ("FLOAT32", -130))]
    infinite = [is_right(info, "FLOAT16", np.inf, 60_000.0, SUM, magnitude=1e5, terms=4)]
    return [*sums, *products, *plain, *flushed, *infinite]


def widened(before: BackendInfo, after: BackendInfo) -> bool:
    return any(now > then * (1 + 1e-9) for then, now in zip(widths(before), widths(after), strict=True))


PAIRS = [(name, *pair) for name, values in DECLARED.items() for pair in product(values, repeat=2) if pair[0] != pair[1]]


@pytest.mark.parametrize(("name", "before", "after"), PAIRS)
def test_a_value_under_which_a_bound_is_wider_is_looser(name: str, before: object, after: object) -> None:
    """For the accumulator, whichever way sums are rounded. What is looser without a wider bound here would be a false alarm."""
    is_looser = bool(list(looser({name: after}, {name: before})))
    others = [BackendInfo("x"), BackendInfo("x", nearest=True)] if name == "accumulator" else [BackendInfo("x")]
    assert is_looser is any(widened(replace(info, **{name: before}), replace(info, **{name: after})) for info in others)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in DECLARED.items() for value in values])
def test_a_claim_names_what_widens_a_bound_beyond_what_everyone_may_do(name: str, value: object) -> None:
    others = [BackendInfo("x"), BackendInfo("x", nearest=True)]
    wider = any(widened(info, replace(info, **{name: value})) for info in others if name != "nearest")  # type: ignore[arg-type]
    assert bool(loose_policies({name: value})) is wider


def test_words_and_scope_widen_no_bound() -> None:
    plain = BackendInfo("x")
    other = BackendInfo("y", "2", "GPU", "1_0", ("FLOAT16",), details={"nearest": True}, operators=("GEMM",), validates=False)
    assert measured(plain) == measured(other)
