"""What computing a normalization may be off by: every legal way of FLOAT32 is inside, and not much more."""

from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.operators.normalization.error import TINY, UNIT, sum_error_along
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Tolerance

Array = np.ndarray
Round = Callable[[Array], Array]
SINGLE = np.float32


def nearest(x: Array) -> Array:
    return np.asarray(x, np.float64).astype(SINGLE).astype(np.float64)


def truncating(x: Array) -> Array:
    near = np.asarray(x, np.float64).astype(SINGLE)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(x), np.nextafter(near, SINGLE(0)), near).astype(np.float64)


def away(x: Array) -> Array:
    """No format rounds so, but a bound for truncation has no sign."""
    near = np.asarray(x, np.float64).astype(SINGLE)
    return np.where(
        np.abs(near.astype(np.float64)) < np.abs(x), np.nextafter(near, np.copysign(SINGLE(np.inf), near)), near
    ).astype(np.float64)


ROUNDS = {"nearest": nearest, "truncating": truncating, "away": away}


def one_by_one(x: Array, store: Round) -> Array:
    total = x[..., 0]
    for index in range(1, x.shape[-1]):
        total = store(total + x[..., index])
    return total


def in_pairs(x: Array, store: Round) -> Array:
    while x.shape[-1] > 1:
        odd = x[..., -1:] if x.shape[-1] % 2 else x[..., :0]
        x = np.concatenate([store(x[..., 0 : x.shape[-1] - 1 : 2] + x[..., 1::2]), odd], axis=-1)
    return x[..., 0]


def in_four_parts(x: Array, store: Round) -> Array:
    parts = [one_by_one(x[..., start::4], store) for start in range(min(4, x.shape[-1]))]
    return one_by_one(np.stack(parts, axis=-1), store)


SUMS: dict[str, Callable[[Array, Round], Array]] = {
    "one by one": one_by_one,
    "last first": lambda x, store: one_by_one(x[..., ::-1], store),
    "largest first": lambda x, store: one_by_one(-np.sort(-x, axis=-1), store),
    "smallest first": lambda x, store: one_by_one(np.sort(x, axis=-1), store),
    "in pairs": in_pairs,
    "in four parts": in_four_parts,
}


def rows() -> Iterator[Array]:
    """Rows of several lengths and kinds, as FLOAT32 numbers."""
    random = np.random.default_rng(4)
    for count in (1, 2, 3, 7, 33, 250):
        yield random.uniform(-1, 3, (6, count)).astype(SINGLE)
        yield random.uniform(-0.25, 0.25, (6, count)).astype(SINGLE)
        yield random.uniform(0.9, 1.0, (6, count)).astype(SINGLE)
        yield (random.choice([-1, 1], (6, count)) * np.exp2(random.uniform(-12, 12, (6, count)))).astype(SINGLE)
        yield np.full((2, count), 0.1, SINGLE)


# Sums


def trees(terms: list[float], store: Round) -> Iterator[float]:
    """The sum of these terms by every binary tree that keeps their order."""
    if len(terms) == 1:
        yield terms[0]
    for cut in range(1, len(terms)):
        for left in trees(terms[:cut], store):
            for right in trees(terms[cut:], store):
                yield float(store(np.float64(left + right)))


@pytest.mark.parametrize("store", ROUNDS)
def test_no_order_and_no_split_is_off_by_more(store: str) -> None:
    random = np.random.default_rng(9)
    for _ in range(6):
        row = (random.choice([-1, 1, 1], 5) * random.uniform(0, 4, 5)).astype(SINGLE).astype(np.float64)
        bound = float(sum_error_along(np, row[None], (1,))[0, 0])
        for order in permutations(row.tolist()):
            assert all(abs(found - sum(map(float, row))) <= bound * (1 + 1e-9) for found in trees(list(order), ROUNDS[store]))


def test_the_bound_of_a_sum_is_reached_and_is_below_highams() -> None:
    reached, shares = 0.0, []
    for row in rows():
        x = row.astype(np.float64)
        bound, count = sum_error_along(np, x, (1,))[:, 0], x.shape[1]
        highams = (count - 1) * UNIT * np.sum(np.abs(x), axis=1) * (1 + 4 * count * UNIT) + count * TINY
        assert np.all(bound <= highams)
        for store in ROUNDS.values():
            for add in SUMS.values():
                error = np.abs(add(x, store) - np.sum(x, axis=1))
                assert np.all(error <= bound * (1 + 1e-9))
                reached = max(reached, float(np.max(error / bound)))
        if count > 30:
            shares.append(float(np.mean(bound / highams)))
    assert reached > 0.8
    assert np.median(shares) < 0.6
    assert min(shares) < 0.4


def test_without_axes_and_of_zeros_nothing_is_rounded() -> None:
    x = np.array([[3.0, 0.1]])
    assert np.all(sum_error_along(np, x, ()) <= TINY)
    assert np.all(sum_error_along(np, np.zeros((2, 8)), (1,)) <= 8 * TINY)
    assert sum_error_along(np, np.ones((2, 3, 4)), (2, 0)).shape == (1, 3, 1)


# Operators


def verdict(name: str, inputs: dict[str, Array], found: Array, **attributes: object) -> bool:
    tensors: dict[str, object] = {key: TensorDesc("FLOAT32", array.shape) for key, array in inputs.items()}
    sizes = inputs["InputTensor"].shape
    desc = OperatorDesc(name, {**tensors, "OutputTensor": TensorDesc("FLOAT32", sizes), **attributes, "FusedActivation": None})
    answer = compute(desc, inputs)["OutputTensor"]
    return judge(found.astype(SINGLE), answer, Tolerance("ulp"), "FLOAT32", BackendInfo("any")).ok


INVERSES: dict[str, Callable[[Array, Round], Array]] = {
    "reciprocal square root": lambda x, store: store(1 / np.sqrt(x) * (1 + 2.0**-21)),
    "the same, too small": lambda x, store: store(1 / np.sqrt(x) * (1 - 2.0**-21)),
    "division by a root": lambda x, store: store(1 / store(np.sqrt(x))),
}
EPSILON = float(SINGLE(1e-5))


def two_passes(x: Array, add: Callable[[Array, Round], Array], store: Round) -> tuple[Array, Array]:
    count = x.shape[1]
    mean = store(add(x, store) * store(np.float64(1 / count)))[:, None]
    apart = store(x - mean)
    return apart, store(add(store(apart * apart), store) * store(np.float64(1 / count)))[:, None]


def fused(x: Array, add: Callable[[Array, Round], Array], store: Round) -> tuple[Array, Array]:
    """The same with products that are not rounded before they are added."""
    apart, _ = two_passes(x, add, store)
    total = np.zeros(len(x))
    for index in range(x.shape[1]):
        total = store(total + apart[:, index] * apart[:, index])
    return apart, store(total / x.shape[1])[:, None]


def welford(x: Array, add: Callable[[Array, Round], Array], store: Round) -> tuple[Array, Array]:
    mean, squares = np.zeros(len(x)), np.zeros(len(x))
    for index in range(x.shape[1]):
        step = store(x[:, index] - mean)
        mean = store(mean + store(step / (index + 1)))
        squares = store(squares + store(step * store(x[:, index] - mean)))
    return store(x - mean[:, None]), store(squares / x.shape[1])[:, None]


@pytest.mark.parametrize("inverse", INVERSES)
@pytest.mark.parametrize("store", ROUNDS)
@pytest.mark.parametrize("moments", [two_passes, fused])
@pytest.mark.parametrize("add", SUMS)
def test_every_legal_way_to_normalize_passes(
    add: str, moments: Callable[..., tuple[Array, Array]], store: str, inverse: str
) -> None:
    turn = ROUNDS[store]
    for x in rows():
        apart, variance = moments(x.astype(np.float64), SUMS[add], turn)
        found = turn(apart * INVERSES[inverse](turn(variance + EPSILON), turn))
        if x.shape[1] == 1:
            found, x = found[x[:, 0] >= 0], x[x[:, 0] >= 0]
        assert verdict(
            "MEAN_VARIANCE_NORMALIZATION1", {"InputTensor": x}, found, Axes=(1,), NormalizeVariance=True, Epsilon=EPSILON
        )


def test_welfords_way_passes_with_rounding_to_nearest() -> None:
    for x in rows():
        apart, variance = welford(x.astype(np.float64), one_by_one, nearest)
        found = nearest(apart * INVERSES["division by a root"](nearest(variance + EPSILON), nearest))
        assert verdict(
            "MEAN_VARIANCE_NORMALIZATION1", {"InputTensor": x}, found, Axes=(1,), NormalizeVariance=True, Epsilon=EPSILON
        )


@pytest.mark.parametrize("inverse", INVERSES)
@pytest.mark.parametrize("store", ROUNDS)
@pytest.mark.parametrize("add", SUMS)
@pytest.mark.parametrize("order", [1, 2])
def test_every_legal_way_to_divide_by_a_norm_passes(order: int, add: str, store: str, inverse: str) -> None:
    turn = ROUNDS[store]
    for x in rows():
        wide = x.astype(np.float64)
        total = SUMS[add](np.abs(wide) if order == 1 else turn(wide * wide), turn)
        square = turn(total * total) if order == 1 else total
        found = turn(wide * INVERSES[inverse](turn(square + EPSILON), turn)[:, None])
        assert verdict("LP_NORMALIZATION", {"InputTensor": x}, found, Axis=1, Epsilon=EPSILON, P=order)


def batch_inputs() -> dict[str, Array]:
    random = np.random.default_rng(3)
    low_high = {"Input": (-4, 4), "Mean": (-2, 2), "Variance": (0.25, 4), "Scale": (-3, 3), "Bias": (-3, 3)}
    return {f"{name}Tensor": random.uniform(*ends, (400, 8)).astype(SINGLE) for name, ends in low_high.items()}


BATCHES: dict[str, Callable[..., Array]] = {
    "as the page has it": lambda x, m, s, b, f, t: t(t(s * t(t(x - m) * f)) + b),
    "scale and root first": lambda x, m, s, b, f, t: t(t(t(x - m) * t(s * f)) + b),
    "as a product and a sum": lambda x, m, s, b, f, t: t(t(x * t(s * f)) + t(b - t(m * t(s * f)))),
    "fused": lambda x, m, s, b, f, t: t(x * t(s * f) + t(b - m * t(s * f))),
}


@pytest.mark.parametrize("inverse", INVERSES)
@pytest.mark.parametrize("store", ROUNDS)
@pytest.mark.parametrize("order", BATCHES)
def test_every_legal_order_of_a_batch_passes(order: str, store: str, inverse: str) -> None:
    inputs, turn = batch_inputs(), ROUNDS[store]
    x, mean, variance, scale, bias = (
        inputs[f"{n}Tensor"].astype(np.float64) for n in ("Input", "Mean", "Variance", "Scale", "Bias")
    )
    factor = INVERSES[inverse](turn(variance + EPSILON), turn)
    found = BATCHES[order](x, mean, scale, bias, factor, turn)
    assert verdict("BATCH_NORMALIZATION", inputs, found, Spatial=True, Epsilon=EPSILON)


FAULTS = {
    "a factor off in its 19th bit": lambda found: found * (1 + 2.0**-18),
    "an element of a hundred off by 64 units": lambda found: found * np.where(np.arange(found.size).reshape(found.shape) % 100, 1, 1 + 2.0**-17),
    "16 mantissa bits": lambda found: found.astype(SINGLE).view(np.int32).__and__(-128).view(SINGLE),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_no_legal_way_is_off_by_is_found(fault: str) -> None:
    inputs = batch_inputs()
    x, mean, variance, scale, bias = (
        inputs[f"{n}Tensor"].astype(np.float64) for n in ("Input", "Mean", "Variance", "Scale", "Bias")
    )
    found = FAULTS[fault]((x - mean) * scale / np.sqrt(variance + EPSILON) + bias)
    assert not verdict("BATCH_NORMALIZATION", inputs, found, Spatial=True, Epsilon=EPSILON)
    row = np.random.default_rng(8).uniform(-1, 3, (50, 12)).astype(SINGLE)
    wide = row.astype(np.float64)
    apart = wide - wide.mean(axis=1, keepdims=True)
    found = FAULTS[fault](apart / np.sqrt(np.mean(apart**2, axis=1, keepdims=True) + EPSILON))
    name = "MEAN_VARIANCE_NORMALIZATION1"
    assert not verdict(name, {"InputTensor": row}, found, Axes=(1,), NormalizeVariance=True, Epsilon=EPSILON)
    found = FAULTS[fault](wide / np.sqrt(np.sum(wide**2, axis=1, keepdims=True) + EPSILON))
    assert not verdict("LP_NORMALIZATION", {"InputTensor": row}, found, Axis=1, Epsilon=EPSILON, P=2)
