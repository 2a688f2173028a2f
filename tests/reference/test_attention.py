"""Attention against loops over Python's own numbers, and its tolerance against honest and faulty implementations."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import Verdict, judge
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Tolerance

Array = np.ndarray
Added = Callable[[int, int, int, int], float]
"""What is added to the score of (batch, head, query, key)."""

BATCH, QUERIES, KEYS, HEADS, SIZE, VALUES, PAST = 2, 3, 4, 2, 3, 5, 2
FILL = -2.5


def numbers(*sizes: int, seed: int = 1) -> Array:
    return np.random.default_rng([seed, *sizes]).uniform(-2, 2, sizes).astype(np.float32)


QUERY, KEY, VALUE = (numbers(BATCH, n, HEADS * size, seed=n) for n, size in ((QUERIES, SIZE), (KEYS, SIZE), (KEYS, VALUES)))
PAST_KEY, PAST_VALUE = numbers(BATCH, HEADS, PAST, SIZE), numbers(BATCH, HEADS, PAST, VALUES)


def answers(outputs: dict[str, tuple[int, ...]], groups: int = 0, **given: object) -> dict[str, Answer]:
    """What the reference says. Arrays among ``given`` are inputs; ``groups`` heads of keys make it MULTIHEAD_ATTENTION1."""
    inputs = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    types = {name: array.dtype.name.upper() for name, array in inputs.items()}
    common = next(name for name in types.values() if name.startswith("FLOAT"))
    fields: dict[str, object] = {"Scale": 0.5, "MaskFilterValue": FILL, "MaskType": "NONE"}
    heads = given.get("heads", HEADS)
    fields |= {"QueryHeadCount": heads, "KeyValueHeadCount": groups} if groups else {"HeadCount": heads}
    fields |= {name: TensorDesc(types[name], array.shape) for name, array in inputs.items()}
    fields |= {name: TensorDesc(common, sizes) for name, sizes in outputs.items()}
    fields |= {name: value for name, value in given.items() if name in ("Scale", "MaskFilterValue", "MaskType")}
    operator = f"MULTIHEAD_ATTENTION{'1' if groups else ''}"
    # What a buffer held before stands among the inputs, by the output's name.
    return compute(OperatorDesc(operator, fields), inputs)


def output(sizes: tuple[int, ...] = (BATCH, QUERIES, HEADS * VALUES), **given: object) -> Array:
    return answers({"OutputTensor": sizes}, **given)["OutputTensor"].value


def apart(x: Array, heads: int = HEADS) -> Array:
    """(batch, positions, heads * elements) as (batch, heads, positions, elements)."""
    batch, positions, width = x.shape
    return np.array(
        [
            [[x[b, p, h * (width // heads) :][: width // heads] for p in range(positions)] for h in range(heads)]
            for b in range(batch)
        ]
    )


def naive(query: Array, key: Array, value: Array, added: Added = lambda b, h, i, j: 0.0, scale: float = 0.5) -> Array:
    """Loops over (batch, heads, positions, elements); of keys there may be fewer heads, each for as many neighbours."""
    batch, heads, queries, _ = query.shape
    found = np.zeros((batch, queries, heads * value.shape[3]))
    for b, h, i in product(range(batch), range(heads), range(queries)):
        g = h // (heads // key.shape[1])
        scores = [scale * math.fsum(map(math.prod, zip(query[b, h, i], row, strict=True))) for row in key[b, g].tolist()]
        powers = [math.exp(score + added(b, h, i, j)) for j, score in enumerate(scores)]
        for d, column in enumerate(value[b, g].T.tolist()):
            mean = math.fsum(p * v for p, v in zip(powers, column, strict=True)) / math.fsum(powers)
            found[b, i, h * value.shape[3] + d] = mean
    return found


def wide(*arrays: Array) -> tuple[Array, ...]:
    return tuple(array.astype(np.float64) for array in arrays)


SEPARATE = {"QueryTensor": QUERY, "KeyTensor": KEY, "ValueTensor": VALUE}
APART = wide(apart(QUERY), apart(KEY), apart(VALUE))


def same(found: Array, expected: Array) -> None:
    assert found.shape == expected.shape
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_separate_tensors_with_ones_in_front() -> None:
    expected = naive(*APART)
    same(output(**SEPARATE), expected)
    same(output((1, 1, *expected.shape), **{n: x[None, None] for n, x in SEPARATE.items()}), expected[None, None])


@pytest.mark.parametrize("name", ["StackedQueryKeyTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor"])
def test_stacked_tensors_hold_what_they_are_called_for_in_that_order(name: str) -> None:
    parts = [part for part in ("Query", "Key", "Value") if part in name]
    stack = numbers(BATCH, KEYS, HEADS, len(parts), SIZE)
    by_name = {part: wide(stack[:, :, :, index].transpose(0, 2, 1, 3))[0] for index, part in enumerate(parts)}
    alone = {f"{part}Tensor": SEPARATE[f"{part}Tensor"] for part in ("Query", "Key", "Value") if part not in name}
    by_name |= {part: wide(apart(SEPARATE[f"{part}Tensor"]))[0] for part in ("Query", "Key", "Value") if part not in name}
    expected = naive(by_name["Query"], by_name["Key"], by_name["Value"])
    same(output(expected.shape, **{name: stack}, **alone), expected)


def test_bias_of_queries_then_keys_then_values_is_in_the_present() -> None:
    bias = numbers(HEADS * (2 * SIZE + VALUES))
    parts = np.split(bias, [HEADS * SIZE, 2 * HEADS * SIZE])
    biased = [apart(x.astype(float) + part) for x, part in zip((QUERY, KEY, VALUE), parts, strict=True)]
    sizes = {"OutputPresentKeyTensor": (BATCH, HEADS, KEYS, SIZE), "OutputPresentValueTensor": (1, BATCH, HEADS, KEYS, VALUES)}
    found = answers({"OutputTensor": (BATCH, QUERIES, HEADS * VALUES), **sizes}, **SEPARATE, BiasTensor=bias[None])
    same(found["OutputTensor"].value, naive(*biased))
    same(found["OutputPresentKeyTensor"].value, biased[1])
    same(found["OutputPresentValueTensor"].value[0], biased[2])


def with_past() -> tuple[Array, Array, Array]:
    """Queries, and keys and values with those of the past in front."""
    key, value = (np.concatenate([past, new], axis=2) for past, new in zip(wide(PAST_KEY, PAST_VALUE), APART[1:], strict=True))
    return APART[0], key, value


def test_past_stands_before_the_new_keys_and_has_no_bias() -> None:
    query, key, value = with_past()
    sizes = {"OutputPresentKeyTensor": key.shape, "OutputPresentValueTensor": value.shape}
    past = {"PastKeyTensor": PAST_KEY[None], "PastValueTensor": PAST_VALUE}
    found = answers({"OutputTensor": (BATCH, QUERIES, HEADS * VALUES), **sizes}, **SEPARATE, **past)
    same(found["OutputTensor"].value, naive(query, key, value))
    same(found["OutputPresentKeyTensor"].value, key)
    same(found["OutputPresentValueTensor"].value, value)
    bias = np.ones(HEADS * (2 * SIZE + VALUES), np.float32)
    biased = answers({"OutputTensor": (BATCH, QUERIES, HEADS * VALUES), **sizes}, **SEPARATE, **past, BiasTensor=bias)
    same(biased["OutputPresentKeyTensor"].value - key, np.broadcast_to((np.arange(PAST + KEYS) >= PAST)[:, None] * 1.0, key.shape))


def masked(kind: str, mask: Array, **more: object) -> Array:
    return output(MaskType=kind, MaskTensor=mask.astype(np.int32), **SEPARATE, **more)


def test_boolean_mask_counts() -> None:
    mask = np.random.default_rng(2).integers(-1, 3, (BATCH, HEADS, QUERIES, KEYS))
    same(masked("BOOLEAN", mask), naive(*APART, lambda b, h, i, j: (1 - mask[b, h, i, j]) * FILL))


def test_position_bias_is_added_unscaled_beside_a_boolean_mask() -> None:
    bias = numbers(1, BATCH, HEADS, QUERIES, KEYS)
    same(output(RelativePositionBiasTensor=bias, **SEPARATE), naive(*APART, lambda *at: float(bias[0][at])))
    mask = np.random.default_rng(2).integers(0, 2, (BATCH, HEADS, QUERIES, KEYS))
    expected = naive(*APART, lambda *at: float(bias[0][at]) + (1 - mask[at]) * FILL)
    same(masked("BOOLEAN", mask, RelativePositionBiasTensor=bias), expected)


RANGES = [((1, 4), (0, 0)), ((3, 9), (1, 2)), ((4, 2), (-1, -3)), ((4, 9), (3, 5)), ((2, 3), (2, 5)), ((0, -1), (0, 0))]
"""Ends and starts of the two batches; in the last two there is nothing between them."""


@pytest.mark.parametrize(("ends", "starts"), RANGES)
def test_ranges_of_keys_are_filled_in_place_of_the_position_bias(ends: tuple[int, int], starts: tuple[int, int]) -> None:
    bias = numbers(BATCH, HEADS, QUERIES, KEYS)

    def added(b: int, h: int, i: int, j: int) -> float:
        inside = starts[b] <= j < ends[b] or starts[b] >= ends[b]
        return float(bias[b, h, i, j]) if inside else FILL

    found = masked("KEY_SEQUENCE_END_START", np.array([ends, starts]), RelativePositionBiasTensor=bias)
    same(found, naive(*APART, added))
    if starts == (0, 0):
        same(masked("KEY_SEQUENCE_LENGTH", np.array([[ends]]), RelativePositionBiasTensor=bias), found)


def test_ranges_count_from_the_first_key_of_the_past() -> None:
    past = {"PastKeyTensor": PAST_KEY, "PastValueTensor": PAST_VALUE}
    expected = naive(*with_past(), lambda b, h, i, j: 0.0 if j < (3, 5)[b] else FILL)
    same(masked("KEY_SEQUENCE_LENGTH", np.array([[3, 5]]), **past), expected)


def test_segments_count_through_the_batches() -> None:
    lengths, queries, keys = (2, 9), (1, 4, 6), (1, 5, 0)
    bias = numbers(BATCH, HEADS, QUERIES, KEYS)

    def added(b: int, h: int, i: int, j: int) -> float:
        inside = queries[b] <= b * QUERIES + i < queries[b + 1] and keys[b] <= b * KEYS + j < keys[b] + lengths[b]
        return float(bias[b, h, i, j]) + (0.0 if inside else FILL)

    mask = np.array([*lengths, *queries, *keys])
    found = masked("KEY_QUERY_SEQUENCE_LENGTH_START_END", mask, RelativePositionBiasTensor=bias)
    same(found, naive(*APART, added))
    mask[-1] = 7  # the end of the keys
    same(masked("KEY_QUERY_SEQUENCE_LENGTH_START_END", mask, RelativePositionBiasTensor=bias), found)


def test_neighbouring_heads_of_queries_share_one_of_keys() -> None:
    query = numbers(BATCH, QUERIES, 2 * HEADS * SIZE)
    expected = naive(*wide(apart(query, 2 * HEADS)), *APART[1:])
    same(output(expected.shape, **{**SEPARATE, "QueryTensor": query}, heads=2 * HEADS, groups=HEADS), expected)
    alike = naive(*wide(apart(query, 2 * HEADS)), *(np.repeat(x, 2, axis=1) for x in APART[1:]))
    same(expected, alike)


ROOM, LENGTHS = 7, (3, 0)
KEPT = {"PastSequenceLengthsTensor": np.array([LENGTHS], np.int32), "groups": HEADS}
BUFFERS = {"OutputPresentKeyTensor": (BATCH, HEADS, ROOM, SIZE), "OutputPresentValueTensor": (BATCH, HEADS, ROOM, VALUES)}


def test_kept_keys_are_written_behind_the_past_and_attention_is_causal() -> None:
    before = {name: numbers(*sizes, seed=9) for name, sizes in BUFFERS.items()}
    key, value = wide(*before.values())
    for b, length in enumerate(LENGTHS):
        key[b, :, length : length + KEYS], value[b, :, length : length + KEYS] = APART[1][b], APART[2][b]
    found = answers({"OutputTensor": (BATCH, QUERIES, HEADS * VALUES), **BUFFERS}, **SEPARATE, **KEPT, **before)
    same(found["OutputPresentKeyTensor"].value, key)
    same(found["OutputPresentValueTensor"].value, value)
    same(found["OutputTensor"].value, naive(APART[0], key, value, lambda b, h, i, j: 0.0 if j <= LENGTHS[b] + i else FILL))
    assert all(answer.defined is None for answer in found.values())


def test_without_what_the_buffers_held_only_what_is_written_is_known() -> None:
    found = answers({"OutputTensor": (BATCH, QUERIES, HEADS * VALUES), **BUFFERS}, **SEPARATE, **KEPT)
    assert found["OutputTensor"].defined is not None
    assert not found["OutputTensor"].defined.any()
    for b, length in enumerate(LENGTHS):
        known = found["OutputPresentKeyTensor"].defined[b, 0, :, 0]
        assert np.flatnonzero(known).tolist() == list(range(length, length + KEYS))


def test_infinite_scores() -> None:
    def one(key: list[float], value: list[float]) -> float:
        inputs = {"QueryTensor": [1], "KeyTensor": key, "ValueTensor": value}
        arrays = {name: np.array(values, np.float32).reshape(1, -1, 1) for name, values in inputs.items()}
        return output((1, 1, 1), **arrays, heads=1).item()

    assert one([0, -math.inf], [1, 2]) == 1
    assert math.isnan(one([0, math.inf], [1, 2]))
    assert math.isnan(one([-math.inf, -math.inf], [1, 2]))
    assert one([0, 0], [math.inf, 1]) == math.inf
    assert math.isnan(one([0, -math.inf], [1, math.inf]))


# The tolerance


def rounded(x: Array, bits: int) -> Array:
    """Truncated to this many bits after the leading one."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.trunc(np.ldexp(fraction, bits + 1)), exponent - bits - 1)


def staged(query: Array, key: Array, value: Array, added: Array, scale: float, bits: int) -> Array:
    """An implementation in FLOAT32 that truncates after every operation, and keeps ``bits`` of the shares."""

    def total(terms: Array) -> Array:
        sums = terms[..., 0]
        for index in range(1, terms.shape[-1]):
            sums = rounded(sums + terms[..., index], 23)
        return sums

    scores = rounded(rounded(total(rounded(query[:, :, :, None] * key[:, :, None], 23)) * scale, 23) + added, 23)
    powers = rounded(np.exp(rounded(scores - scores.max(-1, keepdims=True), 23)), 23)
    shares = rounded(powers / total(powers)[..., None], bits)
    found = rounded(total(rounded(shares[:, :, :, None] * np.swapaxes(value, 2, 3)[:, :, None], 23)), bits)
    return found.transpose(0, 2, 1, 3).reshape(query.shape[0], query.shape[2], -1)


@pytest.mark.parametrize(("dtype", "bits", "limit"), [(np.float32, 23, 2e-5), (np.float16, 10, 0.02)])
def test_the_bound_has_room_for_the_stages_and_for_no_fault(dtype: type, bits: int, limit: float) -> None:
    inputs = {name: array.astype(dtype) for name, array in SEPARATE.items()}
    bias = numbers(BATCH, HEADS, QUERIES, KEYS).astype(dtype)
    answer = answers({"OutputTensor": (BATCH, QUERIES, HEADS * VALUES)}, **inputs, RelativePositionBiasTensor=bias)["OutputTensor"]
    name = np.dtype(dtype).name.upper()

    def passes(actual: Array) -> bool:
        return judge(actual.astype(dtype), answer, Tolerance("accumulate"), name, BackendInfo("any")).ok

    query, key, value, added = wide(*(apart(x) for x in inputs.values()), bias)
    assert np.max(answer.slack) < limit
    assert passes(staged(query, key, value, added, 0.5, bits))
    assert not passes(staged(query, key, value, 0.5 * added, 0.5, bits))
    assert not passes(staged(query, key, value, added, 0.25, bits))
    assert not passes(staged(query, key[:, ::-1], value, added, 0.5, bits))
    assert not passes(staged(query, key, value, added[:, :, ::-1], 0.5, bits))
    assert not passes(staged(query, key[:, :, :-1], value[:, :, :-1], added[..., :-1], 0.5, bits))


@pytest.mark.parametrize(("dtype", "fill"), [(np.float16, -10000), (np.float16, -2.5), (np.float32, -10000)])
def test_a_row_that_is_masked_whole_is_judged(dtype: type, fill: float) -> None:
    """The type holds the mask's value, which is the same for each key and changes no weight."""
    inputs = {name: array.astype(dtype) for name, array in SEPARATE.items()}
    mask = np.ones((BATCH, HEADS, QUERIES, KEYS), np.int32)
    mask[:, 0] = 0
    sizes = {"OutputTensor": (BATCH, QUERIES, HEADS * VALUES)}
    answer = answers(sizes, **inputs, MaskType="BOOLEAN", MaskTensor=mask, MaskFilterValue=float(fill))["OutputTensor"]

    def verdict(actual: Array) -> Verdict:
        return judge(actual.astype(dtype), answer, Tolerance("accumulate"), np.dtype(dtype).name.upper(), BackendInfo("any"))

    query, key, value = wide(*(apart(x) for x in inputs.values()))
    assert verdict(naive(query, key, value)).ok
    assert verdict(naive(query, key, value)).vacuous == 0
    assert not verdict(naive(query, key, value, lambda b, h, i, j: -0.1 * j if h == 0 else 0.0)).ok
    assert not verdict(naive(query, key, np.where(np.arange(HEADS)[:, None, None] == 0, 0.9 * value, value))).ok
    assert not verdict(np.zeros(sizes["OutputTensor"])).ok


def test_a_mask_that_is_added_to_a_bias_may_lose_it_and_says_so() -> None:
    inputs = {name: array.astype(np.float16) for name, array in SEPARATE.items()}
    bias, mask = numbers(BATCH, HEADS, QUERIES, KEYS).astype(np.float16), np.zeros((BATCH, HEADS, QUERIES, KEYS), np.int32)
    given = {"RelativePositionBiasTensor": bias, "MaskType": "BOOLEAN", "MaskTensor": mask, "MaskFilterValue": -10000.0}
    answer = answers({"OutputTensor": (BATCH, QUERIES, HEADS * VALUES)}, **inputs, **given)["OutputTensor"]
    found = naive(*wide(*(apart(x) for x in inputs.values())))  # without the bias
    verdict = judge(found.astype(np.float16), answer, Tolerance("accumulate"), "FLOAT16", BackendInfo("any"))
    assert verdict.ok
    assert verdict.vacuous > found.size / 2


def test_where_nothing_is_sure_the_bound_is_finite() -> None:
    """A filter value beside which every score is lost."""
    mask = np.zeros((BATCH, HEADS, QUERIES, KEYS), np.int32)
    sizes = {"OutputTensor": (BATCH, QUERIES, HEADS * VALUES)}
    answer = answers(sizes, **SEPARATE, MaskType="BOOLEAN", MaskTensor=mask, MaskFilterValue=-3e38)["OutputTensor"]
    assert answer.slack is not None
    assert np.all(answer.slack <= 4)
    assert np.all(answer.slack >= 0.01)


@pytest.mark.parametrize(("kind", "mask"), [("KEY_SEQUENCE_LENGTH", [0, 4]), ("KEY_SEQUENCE_END_START", [2, 4, 2, 0])])
def test_an_empty_range_of_keys_is_contested(kind: str, mask: list[int]) -> None:
    """DirectML.dll masks none of the first batch's keys; the page masks all, whose weights may then be any."""
    given = {"QueryTensor": QUERY, "KeyTensor": KEY, "ValueTensor": VALUE}
    found = answers(
        {"OutputTensor": (BATCH, QUERIES, HEADS * VALUES)},
        **given,
        MaskTensor=np.array([mask], np.int32),
        MaskType=kind,
        MaskFilterValue=-1e4,
    )["OutputTensor"]
    assert np.allclose(found.value, output(**given))
    by_page = found.contested["documented"]
    alike = VALUE[0].astype(np.float64).mean(axis=0)
    info = BackendInfo("any")
    for first, right in ((alike, True), (VALUE[0, 1], True), (3 * np.abs(VALUE[0]).max(axis=0) + 1, False)):
        actual = np.concatenate((np.broadcast_to(first, found.value[:1].shape), found.value[1:])).astype(np.float32)
        assert judge(actual, by_page, Tolerance("accumulate"), "FLOAT32", info).ok is right
    wrong = (found.value + np.array([0, 0.1])[:, None, None]).astype(np.float32)  # the second batch's range is not empty
    assert not judge(wrong, by_page, Tolerance("accumulate"), "FLOAT32", info).ok
