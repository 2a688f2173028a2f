"""What is said to be no fault is none: proved over every input where there are few, and over the ones that matter where there are many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.mutants.catalogue import find_mutant, mutants
from dmlcts.conformance.mutants.rounding import AWAY, EVEN, ROUND, ZERO
from dmlcts.spec.desc import OperatorDesc, TensorDesc

Array = NDArray[Any]

OR, XOR, SHIFT, COUNT = (f"ELEMENT_WISE_BIT_{name}" for name in ("OR", "XOR", "SHIFT_RIGHT", "COUNT"))
HALVES = np.arange(1 << 16, dtype=np.uint16)
"""Every 16-bit pattern."""

MODES = (EVEN, ZERO, AWAY)


def both(name: str, operator: str, inputs: Mapping[str, Array], output: str = "", **attributes: object) -> tuple[Array, Array]:
    """What the mutant and what the reference give, as bit patterns."""
    first = next(iter(inputs.values()))
    tensors = {key: TensorDesc(array.dtype.name.upper(), array.shape) for key, array in inputs.items()}
    out = TensorDesc(output or first.dtype.name.upper(), first.shape)
    desc = OperatorDesc(operator, {**tensors, "OutputTensor": out, **attributes})
    right = ReferenceBackend().compute(desc, inputs)["OutputTensor"]
    with np.errstate(all="ignore"):
        found = find_mutant(name).value(desc, inputs, right)
    assert found.dtype == right.dtype
    assert found.shape == right.shape
    pattern = f"u{right.dtype.itemsize}"
    return found.view(pattern), right.view(pattern)


def every_pair() -> dict[str, Array]:
    a, b = np.divmod(HALVES, 256)
    return {"ATensor": a.astype(np.uint8), "BTensor": b.astype(np.uint8)}


@pytest.mark.parametrize(
    ("name", "operator"),
    [(f"{OR}/operands-exchanged", OR), (f"{OR}/by-adding", OR), (f"{XOR}/by-subtracting", XOR)],
)
def test_the_same_in_another_way_for_every_pair_of_bytes(name: str, operator: str) -> None:
    found, right = both(name, operator, every_pair())
    assert (found == right).all()


def test_or_and_round_are_idempotent() -> None:
    """``in-place/twice`` and ``in-place/copy/together`` change nothing in them."""
    pairs = every_pair()
    once = pairs["ATensor"] | pairs["BTensor"]
    assert (once | pairs["BTensor"] == once).all()
    x = HALVES.view(np.float16)
    for mode in MODES:
        desc = OperatorDesc(ROUND, {"InputTensor": TensorDesc("FLOAT16", x.shape), "OutputTensor": TensorDesc("FLOAT16", x.shape)})
        desc = desc.with_fields(RoundingMode=mode)
        first = ReferenceBackend().compute(desc, {"InputTensor": x})["OutputTensor"]
        second = ReferenceBackend().compute(desc, {"InputTensor": first})["OutputTensor"]
        assert np.array_equal(first, second, equal_nan=True)


def test_shift_of_uint8_for_every_pair() -> None:
    found, right = both(f"{SHIFT}/uint8-amount-masked-31", SHIFT, every_pair())
    assert (found == right).all()


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_shift_of_wider_types_for_every_amount_of_a_byte(dtype: type[np.unsignedinteger[Any]]) -> None:
    values = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, 400, dtype, endpoint=True)
    inputs = {"ATensor": np.repeat(values, 256), "BTensor": np.tile(np.arange(256, dtype=dtype), values.size)}
    name = np.dtype(dtype).name
    found, right = both(f"{SHIFT}/{name}-amount-masked-31", SHIFT, inputs)
    assert (found == right).all()


@pytest.mark.parametrize("name", ["uint64-amount-masked-63", "uint64-amount-of-one-byte"])
def test_shift_of_uint64_for_every_amount_below_the_width(name: str) -> None:
    values = np.random.default_rng(1).integers(0, 2**64, 400, np.uint64)
    inputs = {"ATensor": np.repeat(values, 64), "BTensor": np.tile(np.arange(64, dtype=np.uint64), values.size)}
    found, right = both(f"{SHIFT}/{name}", SHIFT, inputs)
    assert (found == right).all()


def test_a_mask_of_31_is_a_fault_in_uint64() -> None:
    inputs = {"ATensor": np.full(64, 2**63, np.uint64), "BTensor": np.arange(64, dtype=np.uint64)}
    found, right = both(f"{SHIFT}/uint64-amount-masked-31", SHIFT, inputs)
    assert (np.flatnonzero(found != right) == np.arange(32, 64)).all()


@pytest.mark.parametrize("name", ["zeros-of-complement", "7-bit-count"])
@pytest.mark.parametrize("dtype", [np.uint16, np.int16, np.float16])
def test_counts_of_every_16_bits(name: str, dtype: type[np.generic]) -> None:
    found, right = both(f"{COUNT}/{name}", COUNT, {"InputTensor": HALVES.view(dtype)}, "UINT8")
    assert (found == right).all()


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
def test_the_order_of_bytes_does_not_change_a_count(dtype: type[np.unsignedinteger[Any]]) -> None:
    x = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, 10_000, dtype, endpoint=True)
    assert (np.bitwise_count(x) == np.bitwise_count(x.byteswap())).all()


@pytest.mark.parametrize("mode", MODES)
def test_every_float16_rounded_in_float32(mode: str) -> None:
    """The double rounding (FLOAT16 + 0.5 in FLOAT32, the result in FLOAT16) never shows."""
    x = HALVES.view(np.float16)
    found, right = both(f"{ROUND}/float16-in-float32", ROUND, {"InputTensor": x}, RoundingMode=mode)
    numbers = ~np.isnan(x)
    assert (found[numbers] == right[numbers]).all()
    assert np.isnan(found[~numbers].view(np.float16)).all()


def test_a_half_added_in_float16_is_a_fault() -> None:
    found, right = both(f"{ROUND}/half-added-float16", ROUND, {"InputTensor": HALVES.view(np.float16)}, RoundingMode=AWAY)
    x = HALVES.view(np.float16)
    wrong = np.sort(np.abs(x[(found != right) & ~np.isnan(x)]).astype(np.float64))
    assert wrong[0] == np.nextafter(np.float16(0.5), np.float16(0))
    assert set(wrong[2:]) <= set(range(1025, 2048, 2)) | {v + 0.5 for v in range(512, 1024)} | set(wrong[:2])


def test_a_half_added_in_float32_differs_where_the_example_is_contested() -> None:
    """From the documentation, and there alone: the number below a half, and odd integers from 2^23 to 2^24."""
    near = np.arange(-2000, 2000) + int(np.float32(0.5).view(np.uint32))
    dense = np.concatenate([near.astype(np.uint32).view(np.float32), np.arange(2**23 - 4000, 2**23 + 4000).astype(np.float32)])
    dense = np.concatenate(
        [dense, np.arange(2**24 - 4000, 2**24 + 4000).astype(np.float32), np.arange(-2000, 2000, 0.25, np.float32)]
    )
    x = np.concatenate([dense, -dense, np.random.default_rng(1).integers(0, 2**32, 1 << 20, np.uint32).view(np.float32)])
    x = x[np.isfinite(x)]
    found, right = both(f"{ROUND}/half-added", ROUND, {"InputTensor": x}, RoundingMode=AWAY)
    magnitude = np.abs(x.astype(np.float64))
    odd = (magnitude >= 2**23) & (magnitude < 2**24) & (magnitude % 2 == 1)
    below = magnitude == float(np.nextafter(np.float32(0.5), np.float32(0)))
    assert ((found != right) == (odd | below)).all()
    assert odd.any()
    assert below.any()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["nan-payload-lost", "denormals-flushed"])
def test_numbers_of_every_float16_stay(name: str, mode: str) -> None:
    x = HALVES.view(np.float16)
    found, right = both(f"{ROUND}/{name}", ROUND, {"InputTensor": x}, RoundingMode=mode)
    numbers = ~np.isnan(x)
    assert (found[numbers] == right[numbers]).all()
    assert np.isnan(found[~numbers].view(np.float16)).all()


def test_minus_zero_is_all_that_one_mutant_changes() -> None:
    x = HALVES.view(np.float16)
    found, right = both(f"{ROUND}/minus-zero-lost-away", ROUND, {"InputTensor": x}, RoundingMode=AWAY)
    assert HALVES[found != right].tolist() == [0x8000]


def test_every_equivalent_value_has_a_proof_here() -> None:
    proved = {
        f"{OR}/operands-exchanged",
        f"{OR}/by-adding",
        f"{XOR}/by-subtracting",
        f"{SHIFT}/uint8-amount-masked-31",
        f"{SHIFT}/uint16-amount-masked-31",
        f"{SHIFT}/uint32-amount-masked-31",
        f"{SHIFT}/uint64-amount-masked-63",
        f"{SHIFT}/uint64-amount-of-one-byte",
        f"{COUNT}/zeros-of-complement",
        f"{COUNT}/7-bit-count",
        f"{ROUND}/half-added",
        f"{ROUND}/float16-in-float32",
        f"{ROUND}/minus-zero-lost-away",
        f"{ROUND}/nan-payload-lost",
        f"{ROUND}/denormals-flushed",
        f"bytes/big-endian/input-0/{COUNT}",
        f"in-place/copy/together/{OR}",
        f"in-place/twice/{OR}",
        f"in-place/twice/{ROUND}",
    }
    # What the specs' own laws say, which are tried with the operators, or what counting elements does: their reasons are arguments.
    argued = {
        f"operands/exchanged/input-1/{OR}",
        f"operands/exchanged/input-1/{XOR}",
        f"numbers/output/integers-at-most-100/{COUNT}",
    }
    here = {OR, XOR, SHIFT, COUNT, ROUND}
    assert {mutant.name for mutant in mutants() if mutant.equivalent and here.issuperset(mutant.operators)} == proved | argued
