"""The reference of the five operators against Python's own integers and fractions, and that it needs no NumPy in particular."""

import math
import struct
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.execute import execute
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.usual import example_cases
from dmlcts.generator.values.special_sets import special_values
from dmlcts.reference import registry
from dmlcts.reference.answer import Answer, host
from dmlcts.reference.registry import compute, references
from dmlcts.reports.record.record import PASS
from dmlcts.spec.model.abi import abi, data_type
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype
from dmlcts.spec.model.operator import CONTESTED
from dmlcts.spec.reading.loader import load, operator_names

ANY = ("FLOAT64", "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")
UNSIGNED = ("UINT64", "UINT32", "UINT16", "UINT8")
MODES = ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")


def random_bits(name: str, count: int, seed: int) -> np.ndarray:
    raw = np.random.default_rng(seed).bytes(count * data_type(name).bits // 8)
    return np.frombuffer(raw, numpy_dtype(name)).copy()


def as_bits(array: np.ndarray, name: str) -> list[int]:
    return [int(x) for x in array.ravel().view(bits_dtype(name))]


def binary(operator: str, name: str, a: np.ndarray, b: np.ndarray) -> Answer:
    tensor = TensorDesc(name, a.shape)
    desc = OperatorDesc(operator, {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor})
    return compute(desc, {"ATensor": a, "BTensor": b})["OutputTensor"]


def unary(operator: str, name: str, x: np.ndarray, output: str = "", **attributes: object) -> Answer:
    desc = OperatorDesc(
        operator, {"InputTensor": TensorDesc(name, x.shape), "OutputTensor": TensorDesc(output or name, x.shape), **attributes}
    )
    return compute(desc, {"InputTensor": x})["OutputTensor"]


def every_pair(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Special patterns with one another, and random ones."""
    special = np.concatenate([special_values("bit-patterns", name), special_values("single-bits", name)])
    a, b = np.repeat(special, special.size), np.tile(special, special.size)
    return np.concatenate([a, random_bits(name, 300, 1)]), np.concatenate([b, random_bits(name, 300, 2)])


# Bits


@pytest.mark.parametrize("name", ANY)
def test_or_and_xor(name: str) -> None:
    a, b = every_pair(name)
    pairs = list(zip(as_bits(a, name), as_bits(b, name), strict=True))
    for operator, right in (("ELEMENT_WISE_BIT_OR", int.__or__), ("ELEMENT_WISE_BIT_XOR", int.__xor__)):
        found = binary(operator, name, a, b).value
        assert found.dtype == numpy_dtype(name)
        assert as_bits(found, name) == [right(x, y) for x, y in pairs]


@pytest.mark.parametrize("name", UNSIGNED)
def test_shift_below_the_width(name: str) -> None:
    width = data_type(name).bits
    a = np.repeat(np.concatenate([special_values("bit-patterns", name), random_bits(name, 20, 3)]), width)
    b = np.tile(np.arange(width, dtype=numpy_dtype(name)), a.size // width)
    found = binary("ELEMENT_WISE_BIT_SHIFT_RIGHT", name, a, b).value
    assert found.dtype == numpy_dtype(name)
    assert found.tolist() == [x >> y for x, y in zip(a.tolist(), b.tolist(), strict=True)]


@pytest.mark.parametrize("name", UNSIGNED[1:])
def test_shift_from_the_width_on_is_what_was_measured(name: str) -> None:
    width = data_type(name).bits
    amounts = [amount for amount in range(256) if amount >= width]
    a = np.full(len(amounts), (1 << width) - 2, numpy_dtype(name))
    found = binary("ELEMENT_WISE_BIT_SHIFT_RIGHT", name, a, np.array(amounts, numpy_dtype(name))).value
    assert found.tolist() == [((1 << width) - 2) >> (amount & 31) for amount in amounts]


@pytest.mark.parametrize("name", ANY)
def test_count(name: str) -> None:
    x = np.concatenate([every_pair(name)[0], random_bits(name, 1000, 4)])
    found = unary("ELEMENT_WISE_BIT_COUNT", name, x, "UINT8").value
    assert found.tolist() == [pattern.bit_count() for pattern in as_bits(x, name)]


def test_count_of_the_page() -> None:
    x = np.array([[0, 123], [456, 789]], np.uint32)
    assert unary("ELEMENT_WISE_BIT_COUNT", "UINT32", x).value.tolist() == [[0, 6], [4, 5]]


def test_inputs_are_left_alone_and_results_are_not_views_of_them() -> None:
    a, b = np.array([1, 2], np.uint8), np.array([4, 2], np.uint8)
    found = binary("ELEMENT_WISE_BIT_OR", "UINT8", a, b).value
    found[...] = 0
    assert (a.tolist(), b.tolist()) == ([1, 2], [4, 2])


# Rounding


def exactly(mode: str, value: float) -> float:
    """What a mode makes of a finite number, by the words of its page, in fractions."""
    exact = Fraction(value)
    whole = exact.numerator // exact.denominator
    rest = exact - whole
    if mode == "TOWARD_ZERO":
        rounded = whole if exact >= 0 or rest == 0 else whole + 1
    elif mode == "HALVES_TO_NEAREST_EVEN":
        rounded = whole + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1))
    else:  # halves away from zero
        rounded = whole + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and exact > 0))
    return math.copysign(float(rounded), value)


ROUND_SETS = ("halves", "beside-halves", "large-integers", "denormals", "zeros", "every-finite")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["FLOAT16", "FLOAT32"])
def test_round_of_finite_numbers(name: str, mode: str) -> None:
    random = random_bits(name, 3000, 5)
    x = np.concatenate([*(special_values(set_name, name)[:4000] for set_name in ROUND_SETS), random[np.isfinite(random)]])
    found = unary("ELEMENT_WISE_ROUND", name, x, RoundingMode=mode).value
    assert found.dtype == np.float64  # not rounded to the output's type
    right = [exactly(mode, float(value)) for value in x]
    assert found.tolist() == right
    assert np.signbit(found).tolist() == [math.copysign(1, value) < 0 for value in right]  # -0 where the page's table has it


@pytest.mark.parametrize("mode", MODES)
def test_round_keeps_nan_and_infinities(mode: str) -> None:
    with np.errstate(invalid="ignore"):
        found = unary("ELEMENT_WISE_ROUND", "FLOAT32", np.array([np.nan, np.inf, -np.inf], np.float32), RoundingMode=mode).value
    assert np.isnan(found[0])
    assert found[1:].tolist() == [math.inf, -math.inf]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("HALVES_TO_NEAREST_EVEN", [-2, -2, -2, -1, 0, 1, 2, 2, 2]),
        ("TOWARD_ZERO", [-2, -1, -1, -1, 0, 1, 1, 1, 2]),
        ("TOWARD_INFINITY", [-3, -2, -2, -1, 0, 1, 2, 2, 3]),
    ],
)
def test_round_of_the_page(mode: str, expected: list[float]) -> None:
    x = np.array([-2.5, -1.75, -1.5, -1.25, 0, 1.25, 1.5, 1.75, 2.5], np.float32)
    assert unary("ELEMENT_WISE_ROUND", "FLOAT32", x, RoundingMode=mode).value.tolist() == expected


def test_halves_away_from_zero_do_not_round_on_the_way() -> None:
    """The largest number below a half, and odd numbers that x + 0.5 cannot hold, in both types."""
    x = np.array([0x3EFFFFFF, 0xBEFFFFFF, *struct.unpack("<2I", struct.pack("<2f", 2.0**23 + 1, 2.0**24 - 1))], np.uint32)
    found = unary("ELEMENT_WISE_ROUND", "FLOAT32", x.view(np.float32), RoundingMode="TOWARD_INFINITY").value
    assert found.tolist() == [0, 0, 2.0**23 + 1, 2.0**24 - 1]


def test_halves_away_from_zero_of_numbers_without_a_fraction_in_float64() -> None:
    from dmlcts.reference.operators.element_wise.rounding import halves_away_from_zero

    x = np.array([2.0**52 + 1, 2.0**53 - 1, -(2.0**52) - 1, 2.0**51 + 0.5, 1e300])
    assert halves_away_from_zero(np, x).tolist() == [2.0**52 + 1, 2.0**53 - 1, -(2.0**52) - 1, 2.0**51 + 1, 1e300]


# Examples and the registry


AS_MEASURED = {
    *("negative-p-1", "negative-p-3"),  # LP_POOLING: odd powers of negative numbers, where the page's formula has no magnitude
    *("negative-infinity", "negative-infinity-float32", "negative-infinity-float16"),  # pooling begins with the lowest number
    "channels-alone",  # LOCAL_RESPONSE_NORMALIZATION
    *("filter-in-place-of-bias", "length-of-zero", "end-before-start"),  # masks of attention
}
"""The contested examples of which the reference gives what DirectML.dll does. Cases of other kinds demand neither answer where they differ."""


@pytest.mark.parametrize("name", operator_names())
def test_the_reference_gives_what_examples_say(name: str) -> None:
    """Of a contested one, what the documentation says, but for those of which it gives what was measured."""
    backend = ReferenceBackend()
    for case in example_cases(plan_of(load(name))):
        result = execute(case, backend, backend.info)
        assert result.status == PASS, (case.id, result.message)
        matched_answer = (
            "" if case.basis != CONTESTED else "measured" if case.id.rpartition("/")[2] in AS_MEASURED else "documented"
        )
        assert result.matched_answer == matched_answer, case.id


def test_an_example_that_says_something_else_is_seen() -> None:
    operator = load("ELEMENT_WISE_ROUND")
    (example,) = (example for example in operator.examples if example.id == "toward-zero")
    ((name, literal),) = example.answers["documented"].items()
    other = replace(literal, data=(float(literal.data[0]) + 1, *literal.data[1:]))
    wrong = replace(operator, examples=(replace(example, answers={"documented": {name: other}}),))
    backend = ReferenceBackend()
    (case,) = example_cases(plan_of(wrong))
    assert execute(case, backend, backend.info).wrong == 1


def test_every_operator_with_a_spec_has_a_reference_and_no_other() -> None:
    assert set(references()) == set(operator_names())
    assert set(references()) <= set(abi().operator_types)


def test_an_operator_without_a_reference_is_said_to_have_none() -> None:
    with pytest.raises(KeyError, match="NEW_OPERATOR has no reference function"):
        compute(OperatorDesc("NEW_OPERATOR", {}), {})


class Recording:
    """An array namespace that is not NumPy, and notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.asked.add(name)
        return getattr(np, name)


CUPY_HAS = {"abs", "copysign", "where", "floor", "round", "trunc", "uint64", "uint32", "float64"}


def test_references_take_everything_from_the_namespace_of_the_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code runs on CuPy: what is asked of the namespace is in CuPy's, and compute takes the inputs' own."""
    recording = Recording()
    monkeypatch.setattr(registry, "_namespace", lambda arrays: recording)
    for mode in MODES:
        unary("ELEMENT_WISE_ROUND", "FLOAT32", np.array([1.5], np.float32), RoundingMode=mode)
    unary("ELEMENT_WISE_BIT_COUNT", "UINT8", np.array([3], np.uint8))
    assert {"round", "trunc", "floor", "uint64"} <= recording.asked <= CUPY_HAS


def test_host_returns_numpy_arrays_as_they_are_and_fetches_others() -> None:
    class OnDevice:
        def get(self) -> str:
            return "fetched"

    x = np.zeros(1)
    assert host(x) is x
    assert host(OnDevice()) == "fetched"
