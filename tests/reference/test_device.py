"""The reference on arrays of a device: the same code as on NumPy, with arrays that refuse what CuPy refuses (tests/support/device_arrays)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_arrays import NAMESPACE, DeviceArray, NotOnDevice

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.execute import execute
from dmlcts.generator.case.case import REFERENCE, VALUES, Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reference.answer import held_type, host, on_device
from dmlcts.reference.registry import compute
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.loader import operator_names

MOST = 48
"""So many cases of level core an operator, spread evenly over all of them."""


def computed_cases(name: str) -> list[Case]:
    found = [case for case in operator_cases(name, "core") if case.expect in (REFERENCE, VALUES)]
    return found[:: max(1, -(-len(found) // MOST))]


def same(one: Any, other: Any) -> bool:
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


@pytest.mark.parametrize("name", operator_names())
def test_an_operator_gives_on_a_device_what_it_gives_on_the_host(name: str) -> None:
    for case in computed_cases(name):
        arrays = inputs(case)
        expected = compute(case.desc, arrays)
        found = compute(case.desc, {tensor: on_device(NAMESPACE, array) for tensor, array in arrays.items()})
        assert found.keys() == expected.keys()
        for output, answer in found.items():
            dtype = numpy_dtype(case.desc.tensor(output).data_type)
            with np.errstate(all="ignore"):
                one, other = (np.asarray(host(each.stored_value)).astype(dtype) for each in (expected[output], answer))
            assert same(
                one.astype(np.float64) if one.dtype.kind == "V" else one,
                other.astype(np.float64) if other.dtype.kind == "V" else other,
            ), case.id


@pytest.mark.parametrize("name", ["GEMM", "ELEMENT_WISE_BIT_COUNT", "QUANTIZE"])
def test_the_reference_backend_runs_on_a_device(name: str) -> None:
    backend = ReferenceBackend(NAMESPACE, "a stand-in")
    results = [execute(case, backend, backend.info) for case in computed_cases(name)[:8]]
    assert {result.status for result in results} == {"pass"}
    assert backend.info.device == "a stand-in 14.2"


def test_integers_of_four_bits_are_held_in_eight() -> None:
    for name, held in (("INT4", np.int8), ("UINT4", np.uint8)):
        values = np.array([0, 3, 7], np.int8).astype(numpy_dtype(name))
        array = on_device(NAMESPACE, values)
        assert array.dtype == held
        assert array.get().tolist() == [0, 3, 7]
        assert held_type(np, values.dtype) == values.dtype


X = DeviceArray(np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    "refused",
    [
        lambda: np.asarray(X),
        lambda: np.add(X, X),
        lambda: np.sum(X),
        lambda: X + np.ones(2),
        lambda: np.ones(2) * X,
        lambda: NAMESPACE.add(X, np.ones(2)),
        lambda: NAMESPACE.concat([X, np.ones(2)]),
        lambda: NAMESPACE.sqrt(2.0),
        lambda: NAMESPACE.asarray(np.zeros(2, np.longdouble)),
        lambda: X[np.array([0])],
        lambda: X.resize(3),
        lambda: NAMESPACE.spacing(X),
    ],
)  # fmt: skip
def test_the_stand_in_refuses_what_a_device_refuses(refused: Any) -> None:
    with pytest.raises((NotOnDevice, TypeError, AttributeError)):
        refused()


def test_the_stand_in_gives_arrays_where_numpy_gives_scalars() -> None:
    assert isinstance(X.sum(), DeviceArray)
    assert isinstance(X[0], DeviceArray)
    assert isinstance(NAMESPACE.max(X), DeviceArray)
    assert float(NAMESPACE.sum(X * 2)) == 6
