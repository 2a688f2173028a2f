"""Convolutions of real numbers against loops over every product, in both directions, and the bounds of their errors."""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.operators.convolution import windows
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

Array = np.ndarray
INF, NAN = math.inf, math.nan
TYPES = {np.dtype(np.float16): "FLOAT16", np.dtype(np.float32): "FLOAT32"}


def answer(x: Array, w: Array, sizes: tuple[int, ...], bias: Array | None = None, **attributes: object) -> Answer:
    """What the reference says; strides and dilations are 1 where not given, paddings 0, and one group is all."""
    name, count = TYPES[x.dtype], x.ndim - 2
    usual = {"Mode": "CROSS_CORRELATION", "Direction": "FORWARD", "DimensionCount": count}
    usual |= {"Strides": (1,) * count, "Dilations": (1,) * count}
    usual |= {f"{which}Padding": (0,) * count for which in ("Start", "End", "Output")}
    tensors = {
        "InputTensor": TensorDesc(name, x.shape),
        "FilterTensor": TensorDesc(name, w.shape),
        "BiasTensor": None if bias is None else TensorDesc(name, bias.shape),
        "OutputTensor": TensorDesc(name, sizes),
    }
    desc = OperatorDesc("CONVOLUTION", {**tensors, **usual, "GroupCount": 1, "FusedActivation": None, **attributes})
    inputs = {"InputTensor": x, "FilterTensor": w} | ({} if bias is None else {"BiasTensor": bias})
    return compute(desc, inputs)["OutputTensor"]


def products(
    x: Array, w: Array, groups: int, strides: tuple[int, ...], dilations: tuple[int, ...], start: tuple[int, ...], back: bool
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Each product of an element of the input and one of the filter, with the place of the output to which it is added.

    A place may lie outside the output.
    """
    count, channels = x.shape[:2]
    inputs = channels // groups
    outputs = w.shape[1] if back else w.shape[0] // groups
    for n, g, m, c in product(range(count), range(groups), range(outputs), range(inputs)):
        row = w[g * inputs + c, m] if back else w[g * outputs + m, c]
        for at, k in product(np.ndindex(*x.shape[2:]), np.ndindex(*w.shape[2:])):
            if back:
                place = [i * s + e * d - p for i, e, s, d, p in zip(at, k, strides, dilations, start, strict=True)]
            else:
                there = [divmod(i - e * d + p, s) for i, e, s, d, p in zip(at, k, strides, dilations, start, strict=True)]
                if any(rest for _, rest in there):
                    continue
                place = [t for t, _ in there]
            yield (n, g * outputs + m, *place), float(x[(n, g * inputs + c, *at)]) * float(row[k])


def added(terms: Iterator[tuple[tuple[int, ...], float]], sizes: tuple[int, ...]) -> tuple[Array, Array]:
    """The sums, and those of the absolute values."""
    value, size = np.zeros(sizes), np.zeros(sizes)
    for place, term in terms:
        if all(0 <= i < n for i, n in zip(place, sizes, strict=True)):
            value[place] += term
            size[place] += abs(term)
    return value, size


def integers(sizes: tuple[int, ...], seed: int, dtype: type = np.float32) -> Array:
    return np.random.default_rng(seed).integers(-9, 10, sizes).astype(dtype)


# groups, channels of a group in and out, spatial sizes, window, strides, dilations, start; the last number is what stands behind
LAYERS = [
    (1, 3, 2, (7,), (3,), (1,), (1,), (0,), (0,)),
    (1, 1, 1, (1,), (1,), (1,), (1,), (0,), (0,)),
    (2, 2, 3, (8,), (2,), (2,), (3,), (1,), (2,)),
    (3, 1, 2, (5,), (3,), (3,), (2,), (4,), (5,)),
    (1, 2, 1, (5,), (4,), (5,), (1,), (3,), (1,)),
    (1, 2, 3, (5, 6), (3, 2), (1, 1), (1, 1), (1, 0), (0, 1)),
    (2, 3, 1, (6, 5), (2, 3), (2, 3), (2, 1), (2, 1), (1, 3)),
    (4, 1, 1, (5, 5), (3, 3), (1, 2), (1, 2), (1, 2), (1, 2)),
    (1, 2, 2, (4, 3), (5, 7), (2, 1), (1, 1), (3, 3), (2, 4)),
    (2, 3, 2, (2,), (11,), (3,), (2,), (12,), (8,)),
    (2, 2, 3, (2, 1), (5, 4), (2, 1), (1, 3), (2, 6), (1, 3)),
    (2, 1, 2, (3, 4, 5), (2, 1, 3), (1, 2, 2), (2, 1, 1), (1, 0, 2), (1, 1, 0)),
]


@pytest.fixture(params=["together", "one by one"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Images and taps summed all at once, and each alone."""
    if request.param == "one by one":
        monkeypatch.setattr(windows, "_BLOCK", 1)
        monkeypatch.setattr(windows, "_ROWS", 1)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("layer", LAYERS)
def test_every_product_is_added_once_and_in_its_place(layer: tuple, back: bool) -> None:
    groups, inputs, outputs, spatial, window, strides, dilations, start, behind = layer
    x = integers((2, groups * inputs, *spatial), 1)
    filters = (groups * inputs, outputs) if back else (groups * outputs, inputs)
    w = integers((*filters, *window), 2)
    reach = [(k - 1) * d for k, d in zip(window, dilations, strict=True)]
    if back:
        sizes = [(s - 1) * t + r + 1 - a + b for s, t, r, a, b in zip(spatial, strides, reach, start, behind, strict=True)]
    else:
        sizes = [(s + a + b - r - 1) // t + 1 for s, t, r, a, b in zip(spatial, strides, reach, start, behind, strict=True)]
    sizes = (2, groups * outputs, *(max(size, 1) for size in sizes))
    attributes = {"Strides": strides, "Dilations": dilations, "StartPadding": start, "GroupCount": groups}
    attributes["Direction"] = "BACKWARD" if back else "FORWARD"
    value, size = added(products(x, w, groups, strides, dilations, start, back), sizes)
    assert size.any()
    found = answer(x, w, sizes, **attributes)
    assert np.array_equal(found.value, value)
    assert np.array_equal(found.magnitude, size)
    # CONVOLUTION reverses the filter, along every dimension of the window and no other one.
    reverse = w[(..., *(slice(None, None, -1) for _ in window))]
    assert np.array_equal(answer(x, reverse, sizes, **attributes, Mode="CONVOLUTION").value, value)


def test_the_number_of_terms() -> None:
    x, w = integers((1, 6, 9, 9), 1), integers((4, 3, 3, 2), 2)
    assert answer(x, w, (1, 4, 7, 8), GroupCount=2).terms == 18
    assert answer(x, w, (1, 4, 7, 8), integers((1, 4, 1, 1), 3), GroupCount=2).terms == 19
    back = integers((6, 2, 3, 2), 4)
    for strides, dilations, most in (
        ((1, 1), (1, 1), 6),
        ((2, 2), (1, 1), 2),
        ((2, 3), (2, 1), 3),
        ((4, 2), (2, 4), 4),
        ((7, 7), (3, 7), 2),
    ):
        found = answer(x, back, (1, 4, 60, 60), Direction="BACKWARD", Strides=strides, Dilations=dilations, GroupCount=2)
        assert found.terms == 3 * most
        met = answer(
            np.ones_like(x),
            np.ones_like(back),
            (1, 4, 60, 60),
            Direction="BACKWARD",
            Strides=strides,
            Dilations=dilations,
            GroupCount=2,
        )
        assert met.value.max() == 3 * most


def test_a_bias_for_each_output_channel() -> None:
    x, w = integers((2, 2, 4), 1), integers((3, 2, 2), 2)
    bias = np.array([100, -200, 300], np.float32).reshape(1, 3, 1)
    plain, found = answer(x, w, (2, 3, 3)), answer(x, w, (2, 3, 3), bias)
    assert np.array_equal(found.value, plain.value + bias)
    assert np.array_equal(found.magnitude, plain.magnitude + np.abs(bias))


@pytest.mark.parametrize("back", [False, True])
def test_output_padding_is_zero_behind_without_bias(back: bool) -> None:
    x, w, bias = integers((1, 2, 4, 5), 1), integers((2, 2, 2, 3), 2), np.full((1, 2, 1, 1), 7, np.float32)
    attributes = {"Direction": "BACKWARD" if back else "FORWARD", "Strides": (2, 2)}
    sizes = (1, 2, 8, 11) if back else (1, 2, 2, 2)
    padded = (*sizes[:2], sizes[2] + 2, sizes[3] + 1)
    inner = answer(x, w, sizes, bias, **attributes)
    found = answer(x, w, padded, bias, OutputPadding=(2, 1), **attributes)
    expected = np.zeros(padded)
    expected[:, :, : sizes[2], : sizes[3]] = inner.value
    assert np.array_equal(found.value, expected)
    assert np.array_equal(found.magnitude == 0, expected == 0) or not inner.magnitude.all()
    linear = OperatorDesc("ACTIVATION_LINEAR", {"InputTensor": None, "OutputTensor": None, "Alpha": 2.0, "Beta": 5.0})
    activated = answer(x, w, padded, bias, OutputPadding=(2, 1), FusedActivation=linear, **attributes)
    assert np.array_equal(activated.value, 2 * expected + 5)


def row(*values: float) -> Array:
    return np.array(values, np.float32).reshape(1, 1, -1)


@pytest.mark.parametrize(
    ("x", "w", "size", "attributes", "expected"),
    [
        (row(1, INF, 3), row(0, 1), 2, {}, [INF, NAN]),
        (row(1, 2, 3), row(INF, 1), 4, {"StartPadding": (1,)}, [NAN, INF, INF, INF]),
        (row(1, 2, 3), row(NAN, 1), 4, {"StartPadding": (2,)}, [NAN, NAN, NAN, NAN]),
        (row(INF, -INF, 3), row(1, 1), 2, {}, [NAN, -INF]),
        (row(1, 2, 3), row(INF, 1), 4, {"Direction": "BACKWARD"}, [INF, INF, INF, NAN]),
        (row(1, 2, 3), row(INF, 1), 6, {"Direction": "BACKWARD", "Strides": (2,)}, [INF, NAN, INF, NAN, INF, NAN]),
        (row(1, 2), row(NAN, 1), 5, {"Direction": "BACKWARD", "Strides": (3,)}, [NAN] * 5),
        (row(-0.0), row(1), 1, {}, [0.0]),
    ],
)
def test_what_is_no_number_meets_padding_and_gaps_too(x: Array, w: Array, size: int, attributes: dict, expected: list) -> None:
    found = answer(x, w, (1, 1, size), **attributes)
    np.testing.assert_array_equal(found.value[0, 0], expected)
    assert not np.signbit(found.value[found.value == 0]).any()
    assert np.isfinite(found.magnitude).all()  # a bound that is none would take anything for right


def test_sums_that_overflow_on_their_way_are_exact_all_the_same() -> None:
    found = answer(row(3e38, 3e38, -3e38), row(1, 1, 1), (1, 1, 1))
    assert found.value == pytest.approx(3e38)
    assert found.magnitude == pytest.approx(9e38)


def test_long_magnitudes_are_a_little_more_and_never_less(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(1).normal(size=(2, 40, 9, 9)).astype(np.float32)
    w = np.random.default_rng(2).normal(size=(3, 40, 3, 3)).astype(np.float32)
    exact = answer(x, w, (2, 3, 9, 9), StartPadding=(1, 1)).magnitude
    monkeypatch.setattr(windows, "_LONG", 0)
    found = answer(x, w, (2, 3, 9, 9), StartPadding=(1, 1)).magnitude
    assert found.dtype == np.float32
    assert (found >= exact).all()
    assert (found <= exact * (1 + 2 * 362 * 2.0**-23)).all()


@pytest.mark.parametrize(
    ("x", "w", "expected"),
    [
        (row(1e-25, 1, 1), row(1e-25), [1e-50, 1e-25, 1e-25]),  # a product that FLOAT32 does not hold
        (row(0, 1, 1), row(1), [0, 1, 1]),
        (row(3e38, 1, 1), row(3e38), [9e76, 3e38, 3e38]),
        (row(1, INF, NAN), row(1), [1, 0, 0]),
    ],
)
def test_long_magnitudes_lose_no_term_and_do_not_overflow(
    x: Array, w: Array, expected: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "_LONG", 0)
    found = answer(x, w, (1, 1, 3)).magnitude[0, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert np.array_equal(found == 0, np.array(expected) == 0)


def test_a_fused_activation_sees_a_sum_that_may_be_rounded() -> None:
    linear = OperatorDesc("ACTIVATION_LINEAR", {"InputTensor": None, "OutputTensor": None, "Alpha": 1.0, "Beta": -2048.0})
    single = answer(row(2048, 1), row(1, 1), (1, 1, 1), FusedActivation=linear)
    half = answer(row(2048, 1).astype(np.float16), row(1, 1).astype(np.float16), (1, 1, 1), FusedActivation=linear)
    assert single.value == half.value == 1
    assert 0 < single.slack < 0.01
    assert 1 <= half.slack < 3  # 2049 is none of FLOAT16's numbers
    assert not answer(row(60000, 60000).astype(np.float16), row(1, 1).astype(np.float16), (1, 1, 1), FusedActivation=linear).defined


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("mode", ["CROSS_CORRELATION", "CONVOLUTION"])
def test_long_sums_of_float16_may_be_stored_in_parts(back: bool, mode: str) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, (40, 26, 5)).astype(np.float16)
    w = np.random.default_rng(2).uniform(-1, 1, (3, 26, 5)).astype(np.float16)
    # One window alone; its elements meet the filter's in the order of the filter, or against it.
    met = x[..., ::-1] if back != (mode == "CONVOLUTION") else x
    terms = (met[:, None].astype(np.float64) * w).reshape(40, 3, 130)
    attributes = {"Mode": mode, "Direction": "BACKWARD" if back else "FORWARD", "StartPadding": (4 if back else 0,)}
    found = answer(x, w.transpose(1, 0, 2) if back else w, (40, 3, 1), **attributes)
    np.testing.assert_allclose(found.value[..., 0], terms.sum(-1), atol=1e-12)
    for length in (16, 32, 64, 96):
        parts = np.array(
            [terms[..., first : first + length].sum(-1).astype(np.float16) for first in range(0, 130, length)], np.float64
        )
        off = np.abs(parts.sum(0) - found.value[..., 0])
        assert off.max() > 0
        assert (off <= found.slack[..., 0]).all()
    sixteens = sum(np.abs(terms[..., first : first + 16].sum(-1)) for first in range(0, 130, 16))
    np.testing.assert_allclose(found.slack[..., 0], 2.0**-10 * sixteens + 9 * 2.0**-24, rtol=1e-5)


def test_short_sums_and_those_of_float32_are_in_one_part() -> None:
    for dtype, count, split in ((np.float16, 64, False), (np.float16, 65, True), (np.float32, 200, False)):
        found = answer(np.ones((1, count, 2), dtype), np.ones((3, count, 1), dtype), (1, 3, 2))
        assert (found.slack is not None) == split


@pytest.mark.parametrize("number", range(24))
def test_windows_that_hardly_overlap_are_multiplied_at_once_and_give_the_same(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(number)
    rank = 1 + number % 3
    window, strides, dilations, start = (
        tuple(map(int, rng.integers(least, most, rank))) for least, most in ((2, 6), (1, 7), (1, 3), (0, 3))
    )
    lengths = [(k - 1) * d + 1 + int(rng.integers(0, 12)) for k, d in zip(window, dilations, strict=True)]
    sizes = tuple(
        (length + begin - ((k - 1) * d + 1)) // stride + 1
        for length, begin, k, d, stride in zip(lengths, start, window, dilations, strides, strict=True)
    )
    x, w = rng.integers(-9, 9, (2, 2, 3, *lengths)).astype(float), rng.integers(-9, 9, (2, 4, 3, *window)).astype(float)
    x[0, 0, 0].flat[0] = np.inf
    geometry = windows.Geometry(strides, dilations, start, sizes)
    monkeypatch.setattr(windows, "_MANY_PHASES", 10**9)
    with np.errstate(invalid="ignore"):
        apart = windows.forward(np, geometry, x, w, lambda part: part)
        np.testing.assert_array_equal(windows._gather_windows(np, geometry, x, w, lambda part: part), apart)
