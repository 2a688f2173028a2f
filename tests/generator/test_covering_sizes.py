"""Sizes drawn for a row: each of the class that the row wants, long or many where it wants that, and refused where the case would be too large."""

from __future__ import annotations

from math import prod
from random import Random

import pytest

from dmlcts.generator.covering.sizes import drawn_sizes, is_small
from dmlcts.generator.facts.factors import CLASSES, LONG, MANY_LEAST, Model, model_of, size_class
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.sizes import Ends
from dmlcts.spec.reading.loader import load

ROUND, GEMM, CONVOLUTION = "ELEMENT_WISE_ROUND", "GEMM", "CONVOLUTION"
DRAWS = 40


def model(name: str) -> Model:
    return model_of(plan_of(load(name)))


def flat(sizes: dict[str, object]) -> dict[str, int]:
    """The drawn sizes by the name of their factor."""
    found = {}
    for symbol, size in sizes.items():
        if isinstance(size, Ends):
            found |= {f"size {symbol} {end}": getattr(size, end) for end in ("first", "middle", "last")}
        elif isinstance(size, int):
            found[f"size {symbol}"] = size
    return found


def draws(name: str, **values: str) -> list[dict[str, int | tuple[int, ...] | Ends]]:
    """Many draws of sizes for values of factors, whose names have _ for a space."""
    wanted = {factor.replace("_", " "): value for factor, value in values.items()}
    return [drawn_sizes(model(name), wanted, Random(seed)) for seed in range(DRAWS)]


@pytest.mark.parametrize("name", [ROUND, GEMM, CONVOLUTION])
def test_each_size_is_of_the_class_that_is_wanted(name: str) -> None:
    own = model(name)
    names = [factor.name for factor in own.factors if factor.kind == "size"]
    random, tried = Random(name), 0
    for _ in range(200):
        wanted = {factor: random.choice(CLASSES) for factor in names}
        if not is_small(own, wanted):
            continue
        tried += 1
        found = flat(drawn_sizes(own, wanted, random))  # type: ignore[arg-type]
        assert {factor: size_class(found[factor]) for factor in names} == wanted
        assert max(found.values()) < LONG[0]
    assert tried > 30


def test_without_a_wish_sizes_are_of_the_usual_class() -> None:
    for sizes in draws(GEMM):
        assert {size_class(size) for size in flat(sizes).values()} == {CLASSES[0]}  # type: ignore[arg-type]


def test_a_draw_depends_on_the_random_numbers_alone() -> None:
    assert draws(CONVOLUTION) == draws(CONVOLUTION)
    assert len({str(sizes) for sizes in draws(CONVOLUTION)}) > DRAWS // 2


def test_large_sizes_are_beside_powers_of_two_and_elsewhere_and_most_cases_small() -> None:
    found = [flat(sizes)["size S last"] for sizes in draws(ROUND, **{"size S last": "17+"})]  # type: ignore[arg-type]
    edges = {(1 << power) + step for power in range(5, 13) for step in (-1, 0, 1)}
    assert 0.15 < sum(size in edges for size in found) / DRAWS < 0.6
    assert len(set(found)) > DRAWS // 2
    for sizes in draws(GEMM, size_A_first="17+", size_A_last="17+", size_N="17+"):
        assert prod(flat(sizes).values()) <= 1 << 15  # type: ignore[arg-type]


# A long dimension


@pytest.mark.parametrize("symbol", ["N", "C", "M"])
def test_a_long_dimension_has_a_name(symbol: str) -> None:
    small = dict.fromkeys(model(CONVOLUTION).free_sizes, "1")
    for sizes in draws(CONVOLUTION, long=symbol, **{**small, f"size {symbol}": "17+"}):
        found = flat(sizes)  # type: ignore[arg-type]
        assert found.pop(f"size {symbol}") in LONG
        assert max(found.values()) < LONG[0]


@pytest.mark.parametrize("place", [-1, -2, -3, -8])
def test_or_a_place_from_the_end(place: int) -> None:
    for sizes in draws(ROUND, long=f"S[{place}]", **({"size S last": "17+"} if place == -1 else {})):
        ends = sizes["S"]
        assert isinstance(ends, Ends)
        row = ends.to_length(8)
        assert row[place] in LONG
        assert [size for size in row if size >= LONG[0]] == [row[place]]
    assert model(ROUND).long[f"S[{place}]"] == ("S", place)


# Many elements


def test_many_elements_have_no_long_dimension() -> None:
    for sizes in draws(GEMM, long="many", size_A_last="17+", size_N="17+"):
        found = flat(sizes)  # type: ignore[arg-type]
        assert max(found.values()) < LONG[0]
        assert prod(found[factor] for factor in model(GEMM).free_sizes) >= MANY_LEAST
        assert prod(found[factor] for factor in model(GEMM).free_sizes) < 2 * MANY_LEAST


# What would be too large


def test_a_row_whose_case_would_be_too_large_is_refused() -> None:
    large = dict.fromkeys(model(CONVOLUTION).free_sizes, "17+")
    assert not is_small(model(CONVOLUTION), large)
    with pytest.raises(NotGenerable, match="too large for a case"):
        drawn_sizes(model(CONVOLUTION), large, Random(1))
    ends = {"size S first": "17+", "size S last": "17+"}
    assert is_small(model(ROUND), {**ends, "long": "none"})
    assert is_small(model(ROUND), {**ends, "long": "many"})
    assert is_small(model(ROUND), {**ends, "long": "S[-1]"})  # the last one is the long one
    assert not is_small(model(ROUND), {**ends, "long": "S[-2]"})  # one between them comes on top
    with pytest.raises(NotGenerable, match="too large for a case"):
        drawn_sizes(model(ROUND), {**ends, "long": "S[-2]"}, Random(1))
