"""The reference of GEMM, against exact fractions, and what its bounds let pass."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.answer import Answer
from dmlcts.reference.operators.matrix.products import integer_product, magnitude, parts_error
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.loader import load

Array = np.ndarray
TRANSFORMS = ("NONE", "TRANSPOSE")
RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order() -> None:
    """Each test begins with the same numbers, whichever ran before it."""
    RNG.bit_generator.state = np.random.default_rng(1).bit_generator.state


def gemm(a: Any, b: Any, c: Any = None, *, kind: str = "FLOAT32", **attributes: Any) -> Answer:
    """The answer for matrices as they lie in memory."""
    dtype = numpy_dtype(kind)
    found = {name: np.asarray(x, dtype) for name, x in (("ATensor", a), ("BTensor", b), ("CTensor", c)) if x is not None}
    fields = {"TransA": "NONE", "TransB": "NONE", "Alpha": 1.0, "Beta": 1.0, "FusedActivation": None} | attributes
    m = found["ATensor"].shape[-1 if fields["TransA"] == "TRANSPOSE" else -2]
    n = found["BTensor"].shape[-2 if fields["TransB"] == "TRANSPOSE" else -1]
    tensors: dict[str, Any] = {name: TensorDesc(kind, x.shape) for name, x in found.items()}
    tensors["OutputTensor"] = TensorDesc(kind, (*found["ATensor"].shape[:-2], m, n))
    return compute(OperatorDesc("GEMM", {"CTensor": None, **tensors, **fields}), found)["OutputTensor"]


def passes(actual: Array, answer: Answer, kind: str) -> bool:
    return judge(actual.astype(numpy_dtype(kind)), answer, load("GEMM").tolerance, kind, BackendInfo("any")).ok


def numbers(*sizes: int) -> Array:
    return RNG.uniform(-1, 1, sizes).astype(np.float32)


@pytest.mark.parametrize(("trans_a", "trans_b"), list(product(TRANSFORMS, TRANSFORMS)))
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_against_fractions(batch: tuple[int, ...], trans_a: str, trans_b: str) -> None:
    m, k, n = 2, 3, 4
    a = numbers(*batch, *((k, m) if trans_a == "TRANSPOSE" else (m, k)))
    b = numbers(*batch, *((n, k) if trans_b == "TRANSPOSE" else (k, n)))
    c = numbers(*batch, m, n)
    found = gemm(a, b, c, TransA=trans_a, TransB=trans_b, Alpha=0.1, Beta=-1.5)
    alpha, beta = Fraction(float(np.float32(0.1))), Fraction(-3, 2)
    assert found.terms == k + 3
    for at in np.ndindex(*batch):
        for i, j in product(range(m), range(n)):
            left = [Fraction(float(a[at][x, i] if trans_a == "TRANSPOSE" else a[at][i, x])) for x in range(k)]
            right = [Fraction(float(b[at][j, x] if trans_b == "TRANSPOSE" else b[at][x, j])) for x in range(k)]
            added = beta * Fraction(float(c[at][i, j]))
            exact = alpha * sum(x * y for x, y in zip(left, right, strict=True)) + added
            size = alpha * sum(abs(x * y) for x, y in zip(left, right, strict=True)) + abs(added)
            assert found.value[(*at, i, j)] == pytest.approx(float(exact), rel=1e-14, abs=1e-16)
            assert found.magnitude[(*at, i, j)] == pytest.approx(float(size), rel=1e-14)


def test_without_c_beta_means_nothing() -> None:
    a, b = numbers(2, 3), numbers(3, 2)
    expected = gemm(a, b, Beta=0.0).value.tolist()
    for beta in (1.0, -7.0, np.nan, np.inf):
        assert gemm(a, b, Beta=beta).value.tolist() == expected


def test_a_factor_of_zero_does_not_hide_what_is_no_number() -> None:
    found = gemm([[1.0]], [[1.0, 1.0, 1.0]], [[np.nan, np.inf, 5.0]], Beta=0.0)
    assert np.isnan(found.value).tolist() == [[True, True, False]]
    assert np.isnan(gemm([[np.inf]], [[1.0]], Alpha=0.0).value).all()


def test_what_infinities_and_nan_give() -> None:
    found = gemm([[np.inf, 1], [np.inf, -np.inf], [np.nan, 0]], [[0, 1], [1, 1]])
    assert np.isnan(found.value).tolist() == [[True, False], [True, True], [True, True]]
    assert found.value[0, 1] == np.inf


def test_a_product_beyond_float32_leaves_open_what_alpha_makes_of_it() -> None:
    a, b = [[3e38, 3e38], [3e38, -3e38], [1e38, 1e38]], [[1], [1]]
    for alpha in (-0.5, 0.0, 0.1):
        assert gemm(a, b, Alpha=alpha).defined.tolist() == [[False], [False], [True]]
        assert gemm(a, b, [[1], [2], [3]], Alpha=alpha).defined.tolist() == [[False], [False], [True]]
    assert gemm(a, b).defined is None  # the judge knows that a sum may overflow on its way
    assert gemm([[np.inf]], [[1]], Alpha=0.5).defined is None


# Magnitudes


def test_a_large_magnitude_is_no_less_than_the_exact_one() -> None:
    a, b = numbers(170, 160), numbers(160, 170)
    found, exact = magnitude(np, a, b), np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    assert found.dtype == np.float32
    assert (found >= exact).all()
    assert (found <= exact * (1 + 1e-4)).all()


@pytest.mark.parametrize("factor", [1e-30, 1e16, np.nan])
def test_a_magnitude_that_float32_does_not_hold_is_computed_in_float64(factor: float) -> None:
    a, b = np.full((170, 160), factor, np.float32), np.full((160, 170), factor, np.float32)
    found = magnitude(np, a, b)
    assert found.dtype == np.float64
    assert found[0, 0] == pytest.approx(160 * float(np.float32(factor)) ** 2, nan_ok=True)


def test_a_magnitude_of_zero_says_that_every_term_is_zero() -> None:
    a, b = numbers(170, 160), numbers(160, 170)
    a[3] = 0
    found = magnitude(np, a, b)
    assert (found[3] == 0).all()
    assert (np.delete(found, 3, 0) > 0).all()


@pytest.mark.parametrize("terms", [1, 258, 259, 3000])
def test_products_of_integers_are_exact(terms: int) -> None:
    a, b = RNG.integers(-255, 256, (3, terms)), RNG.integers(-255, 256, (terms, 3))
    a[0], b[:, 0] = 255, 255
    found = integer_product(np, a, b, 255)
    assert found.astype(np.int64).tolist() == (a @ b).tolist()
    assert found.dtype == (np.float32 if terms <= 258 else np.float64)


# What bounds let pass, and what they do not


def half(x: Array) -> Array:
    return x.astype(np.float16).astype(np.float64)


@pytest.mark.parametrize("terms", [3, 16, 17, 64])
def test_a_short_sum_of_float16_is_one_of_float32(terms: int) -> None:
    a, b = numbers(8, terms).astype(np.float16), numbers(terms, 8).astype(np.float16)
    found = gemm(a, b, kind="FLOAT16")
    assert found.slack is None
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert passes(exact, found, "FLOAT16")
    assert passes(a.astype(np.float32) @ b.astype(np.float32), found, "FLOAT16")
    if terms >= 16:
        running = np.zeros((8, 8), np.float16)
        for k in range(terms):
            running = running + a[:, k : k + 1] * b[k : k + 1]
        assert not passes(running, found, "FLOAT16")


def truncated(x: Array) -> Array:
    """What a FLOAT16 store that truncates leaves."""
    near = x.astype(np.float16)
    return np.where(np.abs(near) > np.abs(x), np.nextafter(near, np.float16(0)), near).astype(np.float64)


@pytest.mark.parametrize(("terms", "part"), [(128, 32), (129, 48), (256, 64), (257, 80), (512, 64), (4096, 256)])
def test_parts_of_a_long_sum_may_be_stored_as_float16(terms: int, part: int) -> None:
    """As DirectML.dll does with these."""
    a, b = (half(numbers(*sizes)) for sizes in ((16, terms), (terms, 16)))
    found = gemm(a, b, kind="FLOAT16")
    parts = [a[:, at : at + part] @ b[at : at + part] for at in range(0, terms, part)]
    for rounded in (half, truncated):
        assert passes(sum(map(rounded, parts)), found, "FLOAT16")
    assert not passes(sum(parts[:-1]), found, "FLOAT16")
    if terms <= 512:
        assert not passes(a[:, :-1] @ b[:-1], found, "FLOAT16")
    if terms <= 257:  # from some length on, the bound of FLOAT32 has room for it
        short = Answer(found.value, magnitude=found.magnitude, terms=found.terms)
        assert not passes(sum(map(truncated, parts)), short, "FLOAT16")
    assert parts_error(np, a[:, :64], b[:64]) is None


def test_the_product_of_float16_may_be_stored_before_c_is_added() -> None:
    kind = "FLOAT16"
    found = gemm([[2048, 1]], [[1], [1]], [[-2048]], kind=kind)
    assert found.value.tolist() == [[1]]
    assert passes(np.array([[1.0]]), found, kind)
    assert passes(np.array([[0.0]]), found, kind)
    assert not passes(np.array([[4.0]]), found, kind)
    assert not passes(np.array([[0.0]]), gemm([[2048, 1]], [[1], [1]], [[-2048]]), "FLOAT32")
    assert gemm([[2048, 1]], [[1], [1]], kind=kind).slack is None
    overflowing = gemm([[60000, 60000]], [[1], [1]], [[-60000]], kind=kind)
    assert overflowing.defined.tolist() == [[False]]
    assert gemm([[60000, 60000]], [[1], [1]], kind=kind).defined is None


@pytest.mark.parametrize("terms", [16, 17, 512, 4096])
def test_faults_in_float32_are_refused(terms: int) -> None:
    a, b = numbers(4, terms), numbers(terms, 4)
    found = gemm(a, b, Alpha=0.5)
    exact = 0.5 * (a.astype(np.float64) @ b.astype(np.float64))
    assert passes(exact, found, "FLOAT32")
    running = np.zeros((4, 4), np.float16)
    for k in range(terms):
        running = running + np.float16(0.5) * a[:, k : k + 1].astype(np.float16) * b[k : k + 1].astype(np.float16)
    wrong = {
        "a dropped term": 0.5 * (a[:, :-1].astype(np.float64) @ b[:-1].astype(np.float64)),
        "in half precision": running.astype(np.float64),
        "the next row": np.roll(exact, 1, 0),
        "a factor": exact * (1 + 2.0**-9 * (1 if terms <= 512 else 16)),
    }
    for name, values in wrong.items():
        assert not passes(values, found, "FLOAT32"), name
