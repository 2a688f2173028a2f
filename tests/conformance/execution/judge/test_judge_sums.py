"""Class accumulate on synthetic 32 x 32 matrix products: every honest way to sum is accepted, every planted fault refused.

``RUNS`` products of each size are computed at once, one rank-1 update per step, in the arithmetic under test.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import CORRECTLY_ROUNDED, Verdict, judge
from dmlcts.reference.answer import Answer
from dmlcts.spec.model.operator import Tolerance

RUNS, SIZE = 100, 32
NATIVE = {"FLOAT16": np.float16, "FLOAT32": np.float32}
ANY, NEAREST = BackendInfo("any"), BackendInfo("nearest", nearest=True)
FLUSH = BackendInfo("flushing", nearest=True, denormals="flush")

Array = np.ndarray
Sum = Callable[[Iterable[Array]], Array]


class Products(NamedTuple):
    """Factors [RUNS, SIZE, K] and [RUNS, K, SIZE], their products in float64, and those of their absolute values."""

    left: Array
    right: Array
    value: Array
    magnitude: Array


@cache
def products(data_type: str, k: int, scale: float = 1.0) -> Products:
    rng = np.random.default_rng(k)
    left = (rng.standard_normal((RUNS, SIZE, k)) * scale).astype(NATIVE[data_type])
    right = (rng.standard_normal((RUNS, k, SIZE)) * scale).astype(NATIVE[data_type])
    wide = left.astype(np.float64), right.astype(np.float64)
    return Products(left, right, wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1]))


def terms(given: Products, order: Iterable[int] | None = None, dtype: Any = np.float32) -> Iterable[Array]:
    """The terms of every output, one array [RUNS, SIZE, SIZE] for each k, multiplied in ``dtype``."""
    left, right = given.left.astype(dtype), given.right.astype(dtype)
    for k in range(left.shape[2]) if order is None else order:
        yield left[:, :, k, None] * right[:, k, None, :]


def one_by_one(parts: Iterable[Array]) -> Array:
    parts = iter(parts)
    total = next(parts).copy()
    for part in parts:
        total += part
    return total


def pairwise(parts: Iterable[Array]) -> Array:
    waiting: list[tuple[int, Array]] = []
    for part in parts:
        rank = 0
        while waiting and waiting[-1][0] == rank:
            part, rank = waiting.pop()[1] + part, rank + 1
        waiting.append((rank, part))
    return one_by_one(part for _, part in reversed(waiting))


def split(parts: Iterable[Array]) -> Array:
    """Four partial sums, as a split along K makes them."""
    lanes: list[Array] = []
    for i, part in enumerate(parts):
        if i < 4:
            lanes.append(part.copy())
        else:
            lanes[i % 4] += part
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


def chopped(exact: Array) -> Array:
    """Rounds float64 toward zero to FLOAT32's 24 bits, in place."""
    bits = exact.view(np.uint64)
    bits &= np.uint64(2**64 - 2**29)
    return exact


def truncating(parts: Iterable[Array]) -> Array:
    """Every product and every sum truncated; ``parts`` are exact, in float64."""
    total = np.float64(0)
    for part in parts:
        total = chopped(total + chopped(part))
    return total.astype(np.float32)


def fused(parts: Iterable[Array]) -> Array:
    """Multiply and add with one rounding; ``parts`` are exact, in float64."""
    total = np.float32(0)
    for part in parts:
        total = (total + part).astype(np.float32)
    return total


def store(total: Array, data_type: str, truncate: bool = False) -> Array:
    found = total.astype(NATIVE[data_type])
    if truncate:
        found = np.where(np.abs(found) > np.abs(total), np.nextafter(found, NATIVE[data_type](0)), found)
    return found


def shuffled(k: int) -> Array:
    return np.random.default_rng(3).permutation(k)


HONEST: dict[str, Callable[[Products], Array]] = {
    "first to last": lambda p: one_by_one(terms(p)),
    "last to first": lambda p: one_by_one(terms(p, range(p.left.shape[2])[::-1])),
    "shuffled": lambda p: one_by_one(terms(p, shuffled(p.left.shape[2]))),
    "pairwise": lambda p: pairwise(terms(p)),
    "split": lambda p: split(terms(p)),
    "BLAS": lambda p: p.left.astype(np.float32) @ p.right.astype(np.float32),
    "fused": lambda p: fused(terms(p, dtype=np.float64)),
    "truncated": lambda p: truncating(terms(p, dtype=np.float64)),
}

FAULTS: dict[str, Callable[[Products], Array]] = {
    "half-precision accumulation": lambda p: one_by_one(terms(p, dtype=np.float16)).astype(np.float32),
    "one dropped term": lambda p: one_by_one(terms(p, range(1, p.left.shape[2]))),
    "a term counted twice": lambda p: one_by_one(terms(p, [0, *range(p.left.shape[2])])),
    "a wrong row": lambda p: p.value[:, [*range(SIZE - 1), 0]],
    "a factor of 1 + 2^-9": lambda p: p.value * (1 + 2.0**-9),
    "one element next to its place": lambda p: np.concatenate([p.value[:, :, 1:2], p.value[:, :, 1:]], axis=2),
    "unsigned": lambda p: np.abs(p.value),
}


def judged(output: Array, given: Products, data_type: str, info: BackendInfo = ANY) -> list[Verdict]:
    """One verdict a run."""
    k, tolerance = given.left.shape[2], Tolerance("accumulate")
    answers = (Answer(value, magnitude=magnitude, terms=k) for value, magnitude in zip(given.value, given.magnitude, strict=True))
    return [judge(found, answer, tolerance, data_type, info) for found, answer in zip(output, answers, strict=True)]


@pytest.mark.parametrize("k", [16, 64, 512])
@pytest.mark.parametrize("data_type", NATIVE)
@pytest.mark.parametrize("way", HONEST)
def test_every_honest_sum_is_accepted(way: str, data_type: str, k: int) -> None:
    given = products(data_type, k)
    total = HONEST[way](given)
    for truncate in (False, True) if data_type == "FLOAT16" else (False,):
        output = store(total, data_type, truncate)
        assert [v.message for v in judged(output, given, data_type) if not v.ok] == []
        if way != "truncated":
            assert [v.message for v in judged(output, given, data_type, NEAREST) if not v.ok] == []


@pytest.mark.parametrize("k", [16, 64, 512])
@pytest.mark.parametrize("data_type", NATIVE)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_refused(fault: str, data_type: str, k: int) -> None:
    given = products(data_type, k)
    accepted = sum(v.ok for v in judged(store(FAULTS[fault](given), data_type), given, data_type))
    assert accepted <= RUNS // 100


@pytest.mark.parametrize("fault", ["one dropped term", "a term counted twice", "a wrong row", "a factor of 1 + 2^-9"])
def test_faults_in_small_half_numbers_are_refused(fault: str) -> None:
    """L times FLOAT16's smallest normal number would be 0.03 here, more than every result: the accumulator's counts."""
    given = products("FLOAT16", 512, 2.0**-6)
    assert np.abs(given.value).max() < 512 * 2.0**-14
    assert sum(v.ok for v in judged(store(FAULTS[fault](given), "FLOAT16"), given, "FLOAT16")) <= RUNS // 100
    for way in ("first to last", "truncated"):
        assert all(v.ok for v in judged(store(HONEST[way](given), "FLOAT16", truncate=True), given, "FLOAT16"))


@pytest.mark.parametrize("data_type", NATIVE)
def test_a_rounded_reference_is_graded(data_type: str) -> None:
    given = products(data_type, 16)
    assert {v.grade for v in judged(store(given.value, data_type), given, data_type)} == {CORRECTLY_ROUNDED}
    assert {v.grade for v in judged(store(HONEST["truncated"](given), data_type, True), given, data_type)} == {""}


def test_half_precision_accumulation_is_right_where_it_is_allowed() -> None:
    given = products("FLOAT16", 16)
    output = store(FAULTS["half-precision accumulation"](given), "FLOAT16")
    assert not any(v.ok for v in judged(output, given, "FLOAT16"))
    assert all(v.ok for v in judged(output, given, "FLOAT16", BackendInfo("half", accumulator=10)))
    dropped = store(FAULTS["one dropped term"](given), "FLOAT16")
    assert not any(v.ok for v in judged(dropped, given, "FLOAT16", BackendInfo("half", accumulator=10)))


# long sums, judged together


@cache
def long_products(positive: bool, data_type: str = "FLOAT32", k: int = 1024) -> Products:
    rng = np.random.default_rng(7)
    left, right = (rng.uniform(0 if positive else -1, 1, size).astype(NATIVE[data_type]) for size in ((1, 32, k), (1, k, 32)))
    wide = left.astype(np.float64), right.astype(np.float64)
    return Products(left, right, wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1]))


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("data_type", NATIVE)
@pytest.mark.parametrize("way", ["first to last", "pairwise", "split", "BLAS", "fused"])
def test_long_honest_sums_pass_together(way: str, data_type: str, positive: bool) -> None:
    given = long_products(positive, data_type)
    (verdict,) = judged(store(HONEST[way](given), data_type), given, data_type, NEAREST)
    assert (verdict.ok, verdict.warnings, verdict.message) == (True, (), "")


def test_long_sums_that_truncate_fail_only_who_promises_to_round() -> None:
    given = long_products(positive=True)
    total = HONEST["truncated"](given)
    (verdict,) = judged(total, given, "FLOAT32", NEAREST)
    assert (verdict.ok, verdict.wrong) == (False, 0)
    assert verdict.message.startswith("OutputTensor: the errors of 1024 long sums are too large together: sum of squares")
    (verdict,) = judged(total, given, "FLOAT32", ANY)
    assert (verdict.ok, verdict.message) == (True, "")
    assert "too large together" in verdict.warnings[0]


def test_long_sums_of_equal_terms_err_the_same_way_each_time() -> None:
    """So says only the caller, who knows the terms: sums of 1,024 different numbers, each taken 2,000 times."""
    term = np.random.default_rng(3).uniform(1, 2, 1024).astype(np.float32)
    value = term.astype(np.float64) * 2000
    answer = Answer(value, magnitude=value, terms=2000)
    total = one_by_one(np.broadcast_to(term, (2000, 1024)))
    verdicts = [judge(total, answer, Tolerance("accumulate"), "FLOAT32", NEAREST, terms_vary=vary) for vary in (True, False)]
    assert [(verdict.ok, verdict.wrong) for verdict in verdicts] == [(False, 0), (True, 0)]


def test_sums_of_terms_that_are_off_themselves_are_not_judged_together() -> None:
    """As those of weights that a softmax gives: all of them may be too large."""
    term = np.random.default_rng(3).uniform(1, 2, (2000, 1024)).astype(np.float32)
    value = term.astype(np.float64).sum(axis=0)
    larger = (value * (1 + 2.0**-18)).astype(np.float32)
    answers = (Answer(value, magnitude=value, terms=2000, slack=slack) for slack in (None, value * 2.0**-17))
    verdicts = [judge(larger, answer, Tolerance("accumulate"), "FLOAT32", NEAREST) for answer in answers]
    assert [(verdict.ok, verdict.wrong) for verdict in verdicts] == [(False, 0), (True, 0)]


def test_running_sums_are_not_judged_together() -> None:
    """The error of one is part of the next one's: two rows of them are two observations."""
    terms_of = np.random.default_rng(3).uniform(1, 2, (2, 2000)).astype(np.float32)
    value = np.cumsum(terms_of.astype(np.float64), axis=-1)
    count = np.broadcast_to(np.arange(1, 2001), value.shape)
    answer = Answer(value, magnitude=value, terms=count)
    biased = np.where(count > 512, value * (1 + 2.0**-18), value).astype(np.float32)
    verdicts = [judge(biased, answer, Tolerance("accumulate", parameters=how), "FLOAT32", NEAREST) for how in ({}, {"together": 0})]
    assert [verdict.ok for verdict in verdicts] == [False, True]


def test_long_sums_that_lean_one_way() -> None:
    """An offset of six units, far inside the bound of each sum; and the same offset with alternating sign, which is no bias."""
    given = long_products(positive=False)
    unit = given.magnitude * 2.0**-24
    alternating = np.where(np.arange(1024).reshape(1, 32, 32) % 2, 6, -6)
    (verdict,) = judged((given.value + 6 * unit).astype(np.float32), given, "FLOAT32", NEAREST)
    assert (verdict.ok, verdict.wrong) == (False, 0)
    assert "are biased" in verdict.message
    (verdict,) = judged((given.value + alternating * unit).astype(np.float32), given, "FLOAT32", NEAREST)
    assert verdict.ok


def test_long_sums_of_equal_data_say_nothing() -> None:
    """Every output is the same sum, so its error is one observation however often it is repeated."""
    total = one_by_one([np.full((32, 32), 0.1, np.float32)] * 1024)
    value = np.full((32, 32), 1024 * np.float64(np.float32(0.1)))
    answer = Answer(value, magnitude=value, terms=1024)
    verdict = judge(total, answer, Tolerance("accumulate"), "FLOAT32", NEAREST)
    assert (verdict.ok, verdict.warnings) == (True, ())
    assert np.abs(total[0, 0] - value[0, 0]) > (1.6 * 1024) ** 0.5 * value[0, 0] * 2**-24, "statistics would have failed it"


@pytest.mark.parametrize(("factor", "ok"), [(0.97, True), (1.03, False)])
def test_mean_square_error_allowed(factor: float, ok: bool) -> None:
    """1.6 units squared for each of the 1024 terms, a unit being half an ULP of B."""
    given = long_products(positive=False)
    alternating = np.where(np.arange(1024).reshape(1, 32, 32) % 2, 1, -1)
    error = factor * (1.6 * 1024) ** 0.5 * given.magnitude * 2.0**-24
    (verdict,) = judged((given.value + alternating * error).astype(np.float32), given, "FLOAT32", NEAREST)
    assert verdict.ok is ok


def test_only_sums_that_count_are_judged_together() -> None:
    """Garbage where nothing is defined, and flushed denormals, are no rounding errors."""
    given = long_products(positive=False, data_type="FLOAT16")
    value, magnitude = np.concatenate([given.value[0]] * 2), np.concatenate([given.magnitude[0]] * 2)
    output = value.astype(np.float16)
    value[0], magnitude[0], output[0] = 2.0**-15 * (1 + np.arange(32) / 64), 2.0**-10, 0
    assert judge(output, Answer(value, magnitude, 1024), Tolerance("accumulate"), "FLOAT16", FLUSH).ok
    output[40:] += 1
    assert not judge(output, Answer(value, magnitude, 1024), Tolerance("accumulate"), "FLOAT16", FLUSH).ok
    defined = np.repeat([True, False], [40, 24])[:, None] & np.ones((1, 32), bool)
    assert judge(output, Answer(value, magnitude, 1024, defined=defined), Tolerance("accumulate"), "FLOAT16", FLUSH).ok


def test_short_sums_beside_long_ones_are_judged_alone() -> None:
    given = long_products(positive=False)
    value, magnitude = np.concatenate([given.value[0]] * 2), np.concatenate([given.magnitude[0]] * 2)
    lengths = np.repeat([1024, 400], 32)[:, None] * np.ones((1, 32), int)
    off = np.where(lengths == 400, 300 * magnitude * 2.0**-24, 0)
    output = (value + off).astype(np.float32)
    assert judge(output, Answer(value, magnitude, lengths), Tolerance("accumulate"), "FLOAT32", NEAREST).ok
    assert not judge(output, Answer(value, magnitude, 1024), Tolerance("accumulate"), "FLOAT32", NEAREST).ok


def test_vacuous_bound_is_reported() -> None:
    half = BackendInfo("half", accumulator=10)
    value = np.array([1.0, 2.0])
    for terms_, vacuous in ((1023, 0), (np.array([1023, 1024]), 1), (1024, 2)):
        verdict = judge(value.astype(np.float16), Answer(value, value, terms_), Tolerance("accumulate"), "FLOAT16", half)
        assert verdict.ok
        assert len(verdict.warnings) == (vacuous > 0)
        assert not vacuous or f"(L = 1024, p_acc = 10): {vacuous} of 2 elements" in verdict.warnings[0]
        nan = np.array([np.nan, np.nan], np.float16)
        assert judge(nan, Answer(value, value, terms_), Tolerance("accumulate"), "FLOAT16", half).wrong == 2, "not even NaN"


# the bound itself


def accumulated(actual: float, value: float, magnitude: float, terms_: int = 4, data_type: str = "FLOAT32", **how: Any) -> Verdict:
    output, info = np.array([actual], data_type.lower()), how.pop("info", ANY)
    answer = Answer(np.array([value], np.longdouble), np.array([magnitude]), terms_)
    return judge(output, answer, Tolerance("accumulate", "value", how), data_type, info)


def test_no_terms_demand_an_exact_zero() -> None:
    assert accumulated(0.0, 0.0, 0.0).ok
    assert accumulated(-0.0, 0.0, 0.0).ok
    assert not accumulated(2.0**-149, 0.0, 0.0).ok
    assert not accumulated(2.0**-1074, 0.0, 0.0, data_type="FLOAT64").ok


@pytest.mark.parametrize(
    ("data_type", "how", "bound"),
    [
        pytest.param("FLOAT32", {}, 4 * 2**-23 / (1 - 4 * 2**-23), id="any rounding, stored as accumulated"),
        pytest.param("FLOAT32", {"info": NEAREST}, 4 * 2**-24 / (1 - 4 * 2**-24), id="to nearest"),
        pytest.param(
            "FLOAT32",
            {"info": BackendInfo("tf32", accumulator=10)},
            4 * (2**-10 / (1 - 4 * 2**-10) + 2**-14) + 2**-23,
            id="narrow, with its range",
        ),
        pytest.param("FLOAT32", {"accumulator": 52}, 4 * 2**-52 + 2**-23, id="wide"),
        pytest.param("FLOAT32", {"terms": 4.0}, 8 * 2**-23 / (1 - 8 * 2**-23), id="more terms"),
        pytest.param("FLOAT32", {"ulps": 3.0}, 4 * 2**-23 / (1 - 4 * 2**-23) + 3 * 2**-23, id="ULPs of what follows"),
        pytest.param("FLOAT32", {"absolute": 0.25}, 4 * 2**-23 / (1 - 4 * 2**-23) + 0.25, id="absolute, of what follows"),
        pytest.param("FLOAT64", {}, 4 * 2**-52, id="FLOAT64"),
        pytest.param(
            "FLOAT64", {"info": BackendInfo("half", accumulator=10)}, 4 * 2**-52, id="a backend speaks of FLOAT32 and FLOAT16"
        ),
    ],
)
def test_bound(data_type: str, how: dict[str, Any], bound: float) -> None:
    """Around r = B = 1: the last representable error inside the bound, and the first outside it."""
    spacing = 2.0**-23 if data_type == "FLOAT32" else 2.0**-52
    inside = 1 + np.floor(bound / spacing) * spacing
    assert accumulated(inside, 1.0, 1.0, data_type=data_type, **how).ok
    assert not accumulated(inside + spacing, 1.0, 1.0, data_type=data_type, **how).ok


def test_allowed_is_explained() -> None:
    (mismatch,) = accumulated(1.5, 1.0, 1.0).mismatches
    assert mismatch.allowed == "4 ULP (L = 4, p_acc = 23, any rounding)"


@pytest.mark.parametrize(
    ("value", "magnitude", "accepted", "refused"),
    [
        pytest.param(3e38, 9e38, [3e38, np.inf], [1e38, np.nan, -np.inf], id="3e38 + 3e38 - 3e38 is infinite in one order"),
        pytest.param(-3e38, 9e38, [-3e38, -np.inf], [3e38, np.nan, np.inf], id="its negative"),
        pytest.param(1e38, 9e38, [1e38, np.inf, np.nan, -np.inf], [1.1e38, 0.0], id="both signs overflow: inf - inf"),
        pytest.param(9e38, 9e38, [np.inf], [np.nan, -np.inf, 1e38], id="one sign overflows in every order"),
        pytest.param(1e38, 1.5e38, [1e38], [np.inf, -np.inf, np.nan], id="no partial sum overflows"),
    ],
)
def test_overflow_on_the_way(value: float, magnitude: float, accepted: list[float], refused: list[float]) -> None:
    for actual in accepted:
        assert accumulated(actual, value, magnitude).ok, actual
    for actual in refused:
        assert not accumulated(actual, value, magnitude).ok, actual
