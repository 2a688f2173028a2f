"""Layouts: strides worked out by hand, their names found again, no two elements of an output in one place, and pairwise combinations that miss no pair."""

from itertools import combinations, product
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

from dmlcts.generator.plan.pairs import pairwise
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.values.layouts import (
    FURTHER,
    GAPPED,
    INPUT_LAYOUTS,
    LAYOUTS,
    LETTERS,
    OUTPUT_LAYOUTS,
    channels_last,
    laid_out,
    layout_of,
)
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.reading.loader import load

SHAPES = [
    (1,), (7,), (1, 1), (4, 1), (1, 5), (3, 4), (2, 3, 4), (1, 3, 1), (2, 3, 4, 5), (1, 2, 3, 4), (5, 4, 3, 2), (2, 1, 1, 3),
    (2, 2, 2, 2, 2), (2, 3, 1, 5, 1, 2, 3, 1), (1, 1, 1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2, 2, 2), (1, 1, 1, 257),
]  # fmt: skip


def strides(layout: str, *sizes: int) -> tuple[int, ...] | None:
    return laid_out(TensorDesc("UINT8", sizes), layout).strides


def places(layout: str, sizes: tuple[int, ...]) -> list[int]:
    """Where each element lies, in elements from the first, in row-major order."""
    steps = laid_out(TensorDesc("UINT8", sizes), layout).effective_strides
    return [sum(i * step for i, step in zip(index, steps, strict=True)) for index in np.ndindex(sizes)]


@pytest.mark.parametrize(
    ("layout", "sizes", "expected"),
    [
        ("packed", (2, 3, 4, 5), None),
        ("padded-rows", (2, 3, 4, 5), (96, 32, 8, 1)),  # rows 5 + 3 apart
        ("padded-planes", (2, 3, 4, 5), (69, 23, 5, 1)),  # planes 4 * 5 + 3 apart
        ("permuted", (2, 3, 4, 5), (1, 2, 6, 24)),
        ("transposed", (2, 3, 4, 5), (60, 20, 1, 4)),
        ("spread", (2, 3, 4, 5), (180, 60, 15, 3)),
        ("channels-last", (2, 3, 4, 5), (60, 1, 15, 3)),
        ("broadcast-last", (2, 3, 4, 5), (12, 4, 1, 0)),
        ("broadcast-middle", (2, 3, 4, 5), (15, 5, 0, 1)),
        ("broadcast-first", (2, 3, 4, 5), (0, 20, 5, 1)),
        ("broadcast-first", (1, 3, 1, 5), (5, 0, 5, 1)),
        ("per-channel", (2, 3, 4, 5), (0, 1, 0, 0)),
        ("broadcast-all", (2, 3, 4, 5), (0, 0, 0, 0)),
        # sizes of 1
        ("padded-rows", (2, 1, 3, 1), (12, 12, 4, 1)),  # 1 + 3
        ("padded-planes", (2, 1, 3, 1), (6, 6, 1, 1)),  # 3 + 3
        ("permuted", (2, 1, 3, 1), (1, 2, 2, 6)),
        ("spread", (2, 1, 3, 1), (9, 9, 3, 3)),
        ("broadcast-last", (2, 1, 3, 1), (1, 1, 0, 1)),  # along the last dimension of more than one element
        ("broadcast-last", (1, 1), (1, 0)),
        # one dimension
        ("padded-rows", (7,), (1,)),
        ("permuted", (7,), (1,)),
        ("transposed", (7,), (1,)),
        ("spread", (7,), (3,)),
        ("per-channel", (7,), (0,)),
        ("broadcast-last", (7,), (0,)),
        ("broadcast-all", (7,), (0,)),
        # eight
        ("padded-rows", (2, 1, 2, 1, 2, 1, 2, 3), (48, 48, 24, 24, 12, 12, 6, 1)),
        ("padded-planes", (2, 1, 2, 1, 2, 1, 2, 3), (36, 36, 18, 18, 9, 9, 3, 1)),
        ("permuted", (2, 1, 2, 1, 2, 1, 2, 3), (1, 2, 2, 4, 4, 8, 8, 16)),
        ("broadcast-last", (2, 1, 2, 1, 2, 1, 2, 3), (8, 8, 4, 4, 2, 2, 1, 0)),
    ],
)
def test_strides(layout: str, sizes: tuple[int, ...], expected: tuple[int, ...] | None) -> None:
    assert strides(layout, *sizes) == expected


@pytest.mark.parametrize(
    ("layout", "sizes", "expected"),
    [
        ("last-alone", (2, 3, 4, 5), (0, 0, 0, 1)),
        ("last-alone", (7,), (1,)),
        ("sliding", (2, 3, 4, 5), (8, 8, 1, 1)),  # 4 rows of 5, each one element after the other, lie in 8
        ("sliding", (4, 5), (1, 1)),
        ("sliding", (7,), (1,)),
        ("channels-first", (2, 3, 4, 5), (60, 4, 1, 12)),
        ("channels-first", (7,), (1,)),
        ("middle-exchanged", (2, 3, 4, 5), (60, 5, 15, 1)),
        ("middle-exchanged", (3, 4), (4, 1)),
        ("channels-slice", (2, 3, 4, 5), (120, 1, 30, 6)),
        ("channels-slice", (3, 4), (4, 1)),
        ("channels-part", (2, 3, 4, 5), (120, 20, 5, 1)),
        ("channels-part", (3, 4), (4, 1)),
    ],
)
def test_strides_in_plain_dispatches(layout: str, sizes: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert strides(layout, *sizes) == expected
    assert set(FURTHER).isdisjoint(LAYOUTS)


def test_channels_last_is_for_tensors_that_have_channels_and_need_not_be_packed() -> None:
    operator = load("CONVOLUTION_INTEGER")
    desc = plan_of(operator).choices[0].desc((2, 3, 4, 5), plan_of(operator).choices[0].attributes[0])
    found = dict(channels_last(operator, desc).tensors())
    assert layout_of(found["InputTensor"]) == "channels-last"
    assert all(tensor.strides is None for tensor in found.values() if tensor.DimensionCount < 3)


def test_only_the_strides_change() -> None:
    before = TensorDesc("FLOAT16", (2, 3), flags=1, alignment=32)
    after = laid_out(before, "spread")
    assert (after.data_type, after.sizes, after.flags, after.alignment, after.total_size) == ("FLOAT16", (2, 3), 1, 32, None)
    assert after.bytes == 2 * 16  # to past the last element, 15 in, up to a multiple of 4
    with pytest.raises(KeyError):
        laid_out(before, "diagonal")


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("layout", OUTPUT_LAYOUTS)
def test_no_two_elements_of_an_output_share_a_place(layout: str, sizes: tuple[int, ...]) -> None:
    found = places(layout, sizes)
    assert len(set(found)) == prod(sizes)
    assert min(found) == 0


@pytest.mark.parametrize("sizes", SHAPES)
def test_layouts_without_gaps_fill_their_extent(sizes: tuple[int, ...]) -> None:
    for layout in ("packed", "permuted", "transposed"):
        assert sorted(places(layout, sizes)) == list(range(prod(sizes)))


@pytest.mark.parametrize("sizes", [sizes for sizes in SHAPES if sum(size > 1 for size in sizes[:-2]) and prod(sizes[-2:]) > 1])
def test_layouts_with_gaps_have_some_and_a_permuted_one_is_not_packed(sizes: tuple[int, ...]) -> None:
    for layout in GAPPED:
        found = places(layout, sizes)
        assert max(found) >= prod(sizes), layout
    assert places("permuted", sizes) != places("packed", sizes)


@pytest.mark.parametrize("sizes", [sizes for sizes in SHAPES if prod(sizes) > 1])
def test_broadcasts_repeat_elements(sizes: tuple[int, ...]) -> None:
    assert len(set(places("broadcast-all", sizes))) == 1
    long = [size for size in sizes if size > 1]
    for layout, size in (("broadcast-last", long[-1]), ("broadcast-first", long[0])):
        found = places(layout, sizes)
        assert len(set(found)) == prod(sizes) // size
        assert max(found) == prod(sizes) // size - 1  # no gaps in what is left


def random_sizes(count: int) -> list[tuple[int, ...]]:
    random = Random("layouts")
    return [tuple(random.choice((1, 1, 2, 3, 5, 17)) for _ in range(random.randint(1, 6))) for _ in range(count)]


SIMPLER = {
    "broadcast-last": {"packed", "broadcast-all", "per-channel"},
    "broadcast-first": {"packed", "broadcast-all", "broadcast-last", "per-channel"},
    "broadcast-middle": {"packed", "broadcast-all", "broadcast-first", "broadcast-last", "per-channel"},
    "per-channel": {"broadcast-all", "broadcast-first", "broadcast-last", "packed"},
    "broadcast-all": {"packed"},
    "padded-planes": {"packed", "padded-rows", "spread", "transposed", "permuted"},
    "padded-rows": {"packed", "spread"},
    "spread": {"packed", "padded-rows", "padded-planes"},
    "permuted": {"packed", "transposed"},
    "transposed": {"packed"},
    "channels-last": {"packed", "transposed", "permuted"},
}
"""What else a layout may be where sizes of 1, or few dimensions, leave no difference."""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_a_tensor_is_the_one_that_it_was_given_or_a_simpler_one(layout: str) -> None:
    seen = set()
    for sizes in random_sizes(400):
        for gap in (1, 3, 61):
            tensor = laid_out(TensorDesc("UINT8", sizes), layout, gap)
            found = layout_of(tensor)
            seen.add(found)
            if found != layout:
                assert found in SIMPLER[layout], (sizes, tensor.strides)
                again = laid_out(tensor, found, gap)
                assert layout_of(again) == found
    assert layout in seen


@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_enough_tensors_keep_each_layout(layout: str) -> None:
    assert layout_of(laid_out(TensorDesc("UINT8", (2, 3, 4, 5)), layout)) == layout
    assert layout_of(laid_out(TensorDesc("UINT8", (2, 3, 4, 5, 6)), layout, 8)) == layout


def test_strides_of_no_layout_have_no_name() -> None:
    assert layout_of(TensorDesc("UINT8", (2, 3, 4), (40, 4, 10))) == ""
    assert layout_of(TensorDesc("UINT8", (2, 3, 4), (12, 4, 1))) == "packed"
    assert layout_of(TensorDesc("UINT8", (1, 3, 1), (0, 1, 99))) == "packed"  # strides along one element have no effect


def test_outputs_have_the_layouts_without_zero_strides() -> None:
    assert {*INPUT_LAYOUTS, "channels-last"} == set(LAYOUTS) == set(LETTERS)
    for layout in INPUT_LAYOUTS:
        assert (layout in OUTPUT_LAYOUTS) == (0 not in (strides(layout, 2, 3, 4) or ())), layout


# Pairwise


def pairs(rows: list[dict[str, Any]], a: str, b: str) -> set[tuple[Any, Any]]:
    return {(row[a], row[b]) for row in rows}


@pytest.mark.parametrize(
    "parameters",
    [
        {"A": INPUT_LAYOUTS, "Output": OUTPUT_LAYOUTS},
        {"A": INPUT_LAYOUTS, "B": INPUT_LAYOUTS, "Output": OUTPUT_LAYOUTS},
        {"A": INPUT_LAYOUTS, "B": INPUT_LAYOUTS, "C": INPUT_LAYOUTS, "D": ("x", "y"), "Output": OUTPUT_LAYOUTS},
        {"A": (1, 2), "B": (1, 2, 3), "C": (1,), "D": tuple(range(9))},
    ],
)
def test_every_pair_stands_in_a_row(parameters: dict[str, tuple[Any, ...]]) -> None:
    rows = pairwise(parameters)
    assert all(list(row) == list(parameters) for row in rows)
    for a, b in combinations(parameters, 2):
        assert pairs(rows, a, b) == set(product(parameters[a], parameters[b])), (a, b)
    assert len({tuple(row.values()) for row in rows}) == len(rows)


def test_far_fewer_rows_than_the_product() -> None:
    three = pairwise({"A": INPUT_LAYOUTS, "B": INPUT_LAYOUTS, "Output": OUTPUT_LAYOUTS})
    assert 121 <= len(three) <= 135  # at least the pairs of A and B; the product has 726
    ten = pairwise({f"T{i}": INPUT_LAYOUTS for i in range(10)})
    assert len(ten) <= 3 * 121  # the product has 11^10


def test_rows_are_always_the_same() -> None:
    parameters = {"A": INPUT_LAYOUTS, "B": INPUT_LAYOUTS, "Output": OUTPUT_LAYOUTS}
    rows = pairwise(parameters)
    assert rows == pairwise(parameters)
    assert rows[0] == {"A": "packed", "B": "packed", "Output": "packed"}


def test_one_parameter_or_none() -> None:
    assert pairwise({"A": (1, 2, 3)}) == [{"A": 1}, {"A": 2}, {"A": 3}]
    assert pairwise({}) == []
