"""What a fused activation may give for an argument that may be off: whatever it gives for some argument within reach."""

from itertools import product

import numpy as np
import pytest

from dmlcts.generator.plan.attributes import Combination
from dmlcts.generator.plan.plan import plan_of
from dmlcts.reference.registry import compute
from dmlcts.reference.shared.fused import activate_fused
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.reading.loader import load, operator_names

UNARY = [
    name
    for name in operator_names()
    if name.startswith("ACTIVATION_")
    and [field.name for field in load(name).fields if field.type == "TENSOR_DESC"] == ["InputTensor", "OutputTensor"]
    and "MAX" not in name  # of rows
]


def activations(name: str) -> list[OperatorDesc]:
    """The activation with every combination of the attributes that its spec lists."""
    plan = plan_of(load(name))
    fields = [field for field in plan.chosen if field.name != "Axes"]
    every = product(*(plan.values(field) for field in fields))
    return [
        OperatorDesc(name, dict(Combination(dict(zip([field.name for field in fields], values, strict=True)))))
        for values in every
        if all(isinstance(value, int | float) for value in values)
    ]


@pytest.mark.parametrize("name", UNARY)
def test_the_slack_holds_all_that_lies_within_reach(name: str) -> None:
    """Also where the function turns between the ends, as GELU does at -0.75: DirectML.dll was wronged there once."""
    random = np.random.default_rng(1)
    value = random.uniform(-6, 6, 200)
    error = 10 ** random.uniform(-3, 1, 200)
    steps = np.linspace(-1, 1, 4001)[:, None]
    for activation in activations(name) or [OperatorDesc(name, {})]:
        found = activate_fused(np, {"FusedActivation": activation}, value, error)
        may = compute(activation, {"InputTensor": value + steps * error})["OutputTensor"].value
        assert found.slack is not None
        reach = np.max(np.abs(may - found.value), axis=0)
        assert np.all(reach <= found.slack + 1e-12), activation
        assert np.mean(found.slack <= 1.01 * reach + 1e-3) > 0.9, activation  # and hardly more


@pytest.mark.parametrize(
    ("name", "required"),
    [("SOFTSIGN", [True, False, True, False]), ("SIGMOID", [True, False, True, True]), ("TANH", [True, True, True, True])],
)
def test_of_an_argument_that_overflows_float32_only_what_infinity_gives_too_is_required(name: str, required: list[bool]) -> None:
    """DirectML.dll computes it in FLOAT32: SOFTSIGN makes NaN of the infinity."""
    value = np.array([3.0, -1e39, 3.4e38, 1e39])
    found = activate_fused(np, {"FusedActivation": OperatorDesc(f"ACTIVATION_{name}", {})}, value, np.zeros(4))
    assert found.defined is not None
    assert found.defined.tolist() == required
