"""Recurrent networks: the arithmetic of numbers with errors, and bounds that grow with the steps only as far as the recurrence carries them on."""

from itertools import permutations, product

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.operators.recurrent.computed import Arithmetic, Weights, WithError
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Tolerance

ARITHMETIC = Arithmetic(np, half=False)


def computed(value: float, error: float) -> WithError:
    return WithError(np.array([value]), np.array([error]))


def activation(name: str, **fields: float) -> OperatorDesc:
    return OperatorDesc(f"ACTIVATION_{name}", {"InputTensor": None, "OutputTensor": None, **fields})


def rnn(recurrence: float, steps: int, name: str = "IDENTITY", dtype: type = np.float32):
    """The sequence of a network of one node, which begins with 1 and has no input."""
    data_type = {np.float32: "FLOAT32", np.float16: "FLOAT16"}[dtype]
    arrays = {
        "InputTensor": np.zeros((1, steps, 1, 1), dtype),
        "WeightTensor": np.ones((1, 1, 1, 1), dtype),
        "RecurrenceTensor": np.full((1, 1, 1, 1), recurrence, dtype),
        "HiddenInitTensor": np.ones((1, 1, 1, 1), dtype),
    }
    fields = {field: TensorDesc(data_type, array.shape) for field, array in arrays.items()}
    fields |= {"OutputSequenceTensor": TensorDesc(data_type, (steps, 1, 1, 1)), "Direction": "FORWARD"}
    desc = OperatorDesc("RNN", {**fields, "ActivationDescs": (activation(name),)})
    answer = compute(desc, arrays)["OutputSequenceTensor"]
    return answer.value.ravel(), answer.slack.ravel(), answer.defined.ravel()


def test_the_error_of_a_product_has_both_errors():
    found = ARITHMETIC.product(computed(2, 0.25), computed(-3, 0.5))
    assert found.value == [-6]
    assert found.error[0] == pytest.approx(2 * 0.5 + 3 * 0.25 + 0.25 * 0.5)


def test_weights_carry_an_error_on_by_their_absolute_values():
    left = WithError(np.array([[1.0, 2.0]]), np.array([[0.5, 0.25]]))
    found = ARITHMETIC.weighted_sum(left, Weights.from_value(np.array([[2.0], [-4.0]])))
    assert (found.value, found.magnitude, found.error) == ([[-6]], [[10]], [[2]])


def test_an_activation_carries_an_error_on_by_its_slope():
    steep, flat = (ARITHMETIC.activate(activation("TANH"), computed(at, 0.001)).error[0] for at in (0, 4))
    assert steep == pytest.approx(0.001, rel=0.01)
    assert flat < steep / 100


def test_an_activation_that_is_exact_at_0_is_not_so_beside_it():
    """DirectML.dll gives -2^-24 where a mean is off by half a unit, as it computes exp(x) - 1."""
    exact, close = (ARITHMETIC.activate(activation("ELU", Alpha=1.0), computed(0, error)).error[0] for error in (0.0, 1e-9))
    assert exact == 0
    assert close > 2.0**-24


@pytest.mark.parametrize(("terms", "least"), [(64, 0), (65, 30), (1024, 500)])
def test_a_long_sum_of_float16_may_be_computed_in_parts_that_are_stored(terms: int, least: int):
    """Whose roundings do not shrink where the parts cancel out: of 80 terms and more, DirectML.dll was measured to do so."""
    left = np.ones((1, terms))
    left[:, terms // 2 :] = -1
    weights = Weights.from_value(np.ones((terms, 1)))
    halves, floats = (Arithmetic(np, half).weighted_sum(Arithmetic(np, half).exact(left), weights) for half in (True, False))
    assert halves.value == floats.value
    assert floats.error == 0
    assert halves.error[0, 0] * 2**10 >= least


def test_sums_of_float16_may_be_stored_before_they_are_complete():
    """DirectML.dll adds both biases, stores their sum, and may lose it to the other terms."""
    half = Arithmetic(np, half=True)

    def error(*terms: float) -> float:
        first, *others = (half.term(np.array([term])) for term in terms)
        return half.total(sum(others, first)).error[0]

    assert error(100, -100) < 0.0001
    assert error(100, -100, 0) < 0.0001
    assert error(100, -99, -1) == pytest.approx(100 * 2.0**-10, rel=0.01)
    assert error(100, -99, -1, 1) == pytest.approx(2 * 101 * 2.0**-10, rel=0.01)
    assert error(100, 99, 1, 1) == pytest.approx(3 * 201 * 2.0**-10, rel=0.01)


def halved(x: np.ndarray) -> np.ndarray:
    """Stored as FLOAT16, toward zero."""
    near = x.astype(np.float16)
    return np.where(abs(near.astype(float)) > abs(x), np.nextafter(near, np.float16(0)), near).astype(float)


def test_no_order_in_which_float16_sums_are_stored_is_off_by_more():
    half, random = Arithmetic(np, half=True), np.random.default_rng(7)
    for _ in range(300):
        terms = random.uniform(-3, 3, 4).astype(np.float16).astype(float)
        bound = half.total(sum((half.term(term[None]) for term in terms[1:]), half.term(terms[:1]))).error[0]
        for order in permutations(terms):
            one_by_one = halved(halved(halved(order[0] + order[1]) + order[2]) + order[3])
            in_pairs = halved(halved(order[0] + order[1]) + halved(order[2] + order[3]))
            assert max(abs(one_by_one - sum(terms)), abs(in_pairs - sum(terms))) <= bound


def test_an_error_of_a_share_counts_for_the_difference_of_what_is_mixed():
    found = ARITHMETIC.mix(computed(0.5, 0.1), computed(1, 0), computed(0.9, 0))
    assert found.value == pytest.approx(0.95)
    assert found.error[0] == pytest.approx(0.1 * 0.1, rel=1e-4)  # and not 0.1 * (1 + 0.9)
    same = ARITHMETIC.mix(computed(0.5, 0.1), computed(1, 0), computed(1, 0))
    assert same.error[0] < 1e-6
    kept = ARITHMETIC.mix(computed(0.25, 0), computed(1, 0.5), computed(1, 0.25))
    assert kept.error[0] == pytest.approx(0.25 * 0.5 + 0.75 * 0.25, rel=1e-5)


def test_mixed_in_either_form_is_within_the_bound_and_a_wrong_share_is_not():
    half, random = Arithmetic(np, half=True), np.random.default_rng(9)
    share, one, other = (random.uniform(low, 1, 2000).astype(np.float16).astype(float) for low in (0, -1, -1))
    off = np.array([0.01, 0.002, 0.003])[:, None]
    numbers = np.array([share, one, other])
    bound = half.mix(*(WithError(value, error + 0 * value) for value, error in zip(numbers, off, strict=True)))
    for signs in product((-1, 1), repeat=3):
        z, a, b = numbers + off * np.array(signs)[:, None]
        for found in (halved(halved(z * a) + halved(halved(1 - z) * b)), halved(b + halved(z * halved(a - b)))):
            assert np.all(abs(found - bound.value) <= bound.error)
    near = abs(one - other) < 0.2
    assert np.all((abs((share + 0.06) * one + (1 - share) * other - bound.value) > bound.error)[near & (abs(one) > 0.5)])


def network(name: str, steps: int, seed: int, **fields: object) -> tuple[OperatorDesc, dict[str, np.ndarray]]:
    """Of FLOAT16, with the activations that are usual."""
    gates, random, nodes = {"GRU": 3, "LSTM": 4}[name], np.random.default_rng(seed), 8
    sizes = {
        "InputTensor": (2.0, (1, steps, 3, 5)),
        "WeightTensor": (0.5, (1, 1, gates * nodes, 5)),
        "RecurrenceTensor": (1.5 / nodes, (1, 1, gates * nodes, nodes)),
        "BiasTensor": (1.0, (1, 1, 1, 2 * gates * nodes)),
        "HiddenInitTensor": (1.0, (1, 1, 3, nodes)),
        **({"CellMemInitTensor": (1.0, (1, 1, 3, nodes))} if name == "LSTM" else {}),
    }
    arrays = {field: random.uniform(-limit, limit, size).astype(np.float16) for field, (limit, size) in sizes.items()}
    tensors: dict[str, object] = {field: TensorDesc("FLOAT16", array.shape) for field, array in arrays.items()}
    tensors["OutputSequenceTensor"] = TensorDesc("FLOAT16", (steps, 1, 3, nodes))
    squashed = [activation("SIGMOID"), activation("TANH"), activation("TANH")][: 3 if name == "LSTM" else 2]
    return OperatorDesc(name, {**tensors, "Direction": "FORWARD", "ActivationDescs": tuple(squashed), **fields}), arrays


def in_float16(desc: OperatorDesc, arrays: dict[str, np.ndarray], keeps: float = 1.0) -> np.ndarray:
    """A GRU, or an LSTM whose gates are coupled, with each step stored as FLOAT16; the state is multiplied by ``keeps`` before each."""
    x, w, r, b, h = (arrays[f"{n}Tensor"].astype(float)[0] for n in ("Input", "Weight", "Recurrence", "Bias", "HiddenInit"))
    w, r, b, h, nodes = w[0].T, r[0].T, b[0, 0], h[0], h.shape[-1]
    own, recurrent = b[: len(b) // 2], b[len(b) // 2 :]
    c = arrays["CellMemInitTensor"].astype(float)[0, 0] if desc.type == "LSTM" else None
    found = []

    def sigmoid(a: np.ndarray) -> np.ndarray:
        return halved(1 / (1 + np.exp(-a)))

    def mix(z: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return halved(halved(z * a) + halved(halved(1 - z) * b))

    for step in x:
        h = h * keeps
        sums = halved(halved(step @ w) + halved(own + recurrent))
        if c is not None:
            i, o, _, g = np.split(halved(sums + halved(h @ r)), 4, -1)
            c = mix(sigmoid(i), halved(np.tanh(g)), c)
            h = halved(sigmoid(o) * halved(np.tanh(c)))
        else:
            z, reset = np.split(sigmoid(halved(sums + halved(h @ r))[:, : 2 * nodes]), 2, -1)
            n = halved(np.tanh(halved(sums[:, 2 * nodes :] + halved(halved(reset * h) @ r[:, 2 * nodes :]))))
            h = mix(z, h, n)
        found.append(h)
    return np.stack(found)[:, None].astype(np.float16)


@pytest.mark.parametrize("name", ["GRU", "LSTM"])
def test_a_network_in_float16_passes_and_one_that_forgets_a_little_does_not(name: str):
    fields: dict[str, object] = {
        "LinearBeforeReset": False,
        "CoupleInputForget": True,
        "UseClipThreshold": False,
        "ClipThreshold": 0.0,
    }
    for seed in range(5):
        desc, arrays = network(name, 12, seed, **fields)
        answer = compute(desc, arrays)["OutputSequenceTensor"]
        right, wrong = (
            judge(in_float16(desc, arrays, keeps), answer, Tolerance("accumulate"), "FLOAT16", BackendInfo("any"))
            for keeps in (1.0, 0.9)
        )
        assert right.ok
        assert not wrong.ok


def test_clipping_ends_an_error_beyond_the_threshold():
    assert ARITHMETIC.clip(computed(5, 1), 3).error == [0]
    assert ARITHMETIC.clip(computed(2.5, 1), 3).error == [1]


def test_the_bound_of_a_network_that_forgets_does_not_grow():
    value, error, _ = rnn(0.5, 60)
    assert value.tolist() == [0.5**step for step in range(1, 61)]
    assert error[0] < 1e-6
    assert np.all(np.diff(error) <= 0)


def test_the_bound_of_one_that_forgets_nothing_grows_by_as_much_in_each_step():
    _, error, _ = rnn(1.0, 60)
    assert error[59] == pytest.approx(60 * error[0], rel=0.01)


def test_float16_may_be_stored_in_between():
    assert rnn(0.5, 3, dtype=np.float16)[1][2] > 100 * rnn(0.5, 3)[1][2]


def test_a_state_that_overflows_is_not_judged():
    assert rnn(2.0, 140)[2].tolist() == [step < 127 for step in range(140)]
