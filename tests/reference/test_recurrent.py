"""Recurrent networks: the arithmetic of numbers with errors, and bounds that grow with the steps only as far as the recurrence carries them on."""

import numpy as np
import pytest

from dmlcts.reference.operators.recurrent.computed import Arithmetic, Weights, WithError
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

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
    found = ARITHMETIC.weighted(left, Weights.of(np.array([[2.0], [-4.0]])))
    assert (found.value, found.magnitude, found.error) == ([[-6]], [[10]], [[2]])


def test_an_activation_carries_an_error_on_by_its_slope():
    steep, flat = (ARITHMETIC.activated(activation("TANH"), computed(at, 0.001)).error[0] for at in (0, 4))
    assert steep == pytest.approx(0.001, rel=0.01)
    assert flat < steep / 100


def test_an_activation_that_is_exact_at_0_is_not_so_beside_it():
    """DirectML.dll gives -2^-24 where a mean is off by half a unit, as it computes exp(x) - 1."""
    exact, close = (ARITHMETIC.activated(activation("ELU", Alpha=1.0), computed(0, error)).error[0] for error in (0.0, 1e-9))
    assert exact == 0
    assert close > 2.0**-24


@pytest.mark.parametrize(("terms", "least"), [(64, 0), (65, 30), (1024, 500)])
def test_a_long_sum_of_float16_may_be_computed_in_parts_that_are_stored(terms: int, least: int):
    """Whose roundings do not shrink where the parts cancel out: of 80 terms and more, DirectML.dll was measured to do so."""
    left = np.ones((1, terms))
    left[:, terms // 2 :] = -1
    weights = Weights.of(np.ones((terms, 1)))
    halves, floats = (Arithmetic(np, half).weighted(Arithmetic(np, half).exact(left), weights) for half in (True, False))
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
    assert error(100, -99, -1) == pytest.approx(200 * 2.0**-10, rel=0.01)
    assert error(100, -99, -1, 1) == pytest.approx(2 * 201 * 2.0**-10, rel=0.01)


def test_clipping_ends_an_error_beyond_the_threshold():
    assert ARITHMETIC.clipped(computed(5, 1), 3).error == [0]
    assert ARITHMETIC.clipped(computed(2.5, 1), 3).error == [1]


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
