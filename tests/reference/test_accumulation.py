"""Sums are judged as sums: every right order of additions passes, and every way of getting one wrong that is known is found.

The implementations here are written without the reference: products of all terms in FLOAT32, and then a way to add them up.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.array_backend import ArrayBackend
from dmlcts.conformance.backends.backend import BackendInfo, Unsupported
from dmlcts.conformance.execution.execute import execute
from dmlcts.generator.case.case import Case
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.record.record import FAIL, PASS, UNSUPPORTED
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype

Array = Any
AddUp = Callable[[Array], Array]
"""(terms, along the first axis, in FLOAT32) -> their sum."""


def one_by_one(terms: Array, dtype: str = "f4") -> Array:
    return np.cumsum(terms.astype(dtype), axis=0, dtype=dtype)[-1].astype("f4")


def truncated(values: Array) -> Array:
    """FLOAT64 values cut to FLOAT32, toward zero."""
    rounded = values.astype("f4")
    return np.where(np.abs(rounded.astype("f8")) > np.abs(values), np.nextafter(rounded, np.float32(0)), rounded)


def by_truncation(terms: Array) -> Array:
    """What overflows becomes infinite, as in any order of rounded additions: cut off to the largest number, it would be subtracted from later."""
    total = np.zeros(terms.shape[1:], "f4")
    for term in terms:
        exact = total.astype("f8") + term
        total = np.where(np.abs(exact) > np.finfo("f4").max, np.copysign(np.inf, exact), truncated(exact)).astype("f4")
    return total


def pairwise(terms: Array) -> Array:
    while len(terms) > 1:
        half = len(terms) // 2
        terms = np.concatenate([terms[:half] + terms[half : 2 * half], terms[2 * half :]])
    return terms[0]


RIGHT: Mapping[str, AddUp] = {
    "one by one": one_by_one,
    "from the last on": lambda terms: one_by_one(terms[::-1]),
    "in pairs": pairwise,
    "in four parts": lambda terms: one_by_one(
        np.stack([one_by_one(part) for part in (terms[i::4] for i in range(4)) if len(part)])
    ),
    "largest first": lambda terms: one_by_one(np.take_along_axis(terms, np.argsort(-np.abs(terms), axis=0), 0)),
    "cut off after each addition": by_truncation,
    "in FLOAT64": lambda terms: np.sum(terms.astype("f8"), axis=0).astype("f4"),
}

WRONG: Mapping[str, AddUp] = {
    "in FLOAT16": lambda terms: one_by_one(terms, "f2"),
    "without the last term": lambda terms: one_by_one(terms[:-1]) if len(terms) > 1 else terms[0] * 0,
    "without the first term": lambda terms: one_by_one(terms[1:]) if len(terms) > 1 else terms[0] * 0,
    "with the last term twice": lambda terms: one_by_one(np.concatenate([terms, terms[-1:]])),
    "a little too large": lambda terms: one_by_one(terms) * np.float32(1 + 2**-9),
    "terms rounded to FLOAT16": lambda terms: one_by_one(terms.astype("f2").astype("f4")),
}


class Sums(ArrayBackend):
    """Products of matrices and convolutions, added up in a given way; other activations and directions are not supported."""

    info = BackendInfo("sums", "1", data_types=("FLOAT32", "FLOAT16"), denormals="any")

    def __init__(self, add_up: AddUp, shift: int = 0) -> None:
        self.add_up, self.shift = add_up, shift

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Array]:
        fields: Any = desc.fields
        if fields["FusedActivation"] is not None or fields.get("Direction") == "BACKWARD" or any(fields.get("OutputPadding", ())):
            raise Unsupported("not here")
        single = {name: array.astype("f4") for name, array in inputs.items()}
        with np.errstate(all="ignore"):
            value = (self.matrix if desc.type == "GEMM" else self.convolution)(fields, single, fields["OutputTensor"].sizes)
            return {"OutputTensor": value.astype(numpy_dtype(fields["OutputTensor"].data_type))}

    def matrix(self, fields: Any, inputs: Mapping[str, Array], sizes: tuple[int, ...]) -> Array:
        a, b = inputs["ATensor"], inputs["BTensor"]
        a = a if fields["TransA"] == "NONE" else np.swapaxes(a, -1, -2)
        b = b if fields["TransB"] == "NONE" else np.swapaxes(b, -1, -2)
        terms = np.stack([a[..., :, k : k + 1] * b[..., k : k + 1, :] for k in range(a.shape[-1])])
        value = np.float32(fields["Alpha"]) * self.add_up(terms)
        return value + np.float32(fields["Beta"]) * inputs["CTensor"] if "CTensor" in inputs else value

    def convolution(self, fields: Any, inputs: Mapping[str, Array], sizes: tuple[int, ...]) -> Array:
        x, w, groups = inputs["InputTensor"], inputs["FilterTensor"], fields["GroupCount"]
        if fields["Mode"] == "CONVOLUTION":
            w = np.flip(w, tuple(range(2, w.ndim)))
        x = np.pad(x, ((0, 0), (0, 0), *zip(fields["StartPadding"], fields["EndPadding"], strict=True)))
        per, out = w.shape[1], w.shape[0] // groups
        found = []
        for group in range(groups):
            own = w[((group + self.shift) % groups) * out :][:out]
            terms = []
            for tap in product(*map(range, w.shape[2:])):
                places = zip(tap, fields["Dilations"], fields["Strides"], sizes[2:], strict=True)
                cut = (slice(None), slice(None), *(slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, s, n in places))
                seen = x[cut][:, group * per : (group + 1) * per]
                factors = own[(slice(None), slice(None), *tap)]
                terms += [seen[:, c, None] * factors[:, c].reshape(1, -1, *(1,) * (x.ndim - 2)) for c in range(per)]
            found.append(self.add_up(np.stack(terms)))
        value = np.concatenate(found, axis=1)
        return value + inputs["BiasTensor"] if "BiasTensor" in inputs else value


def cases(operator: str) -> list[Case]:
    """Table, size and data cases, as far as they are small enough to hold all terms at once."""
    found = (
        case
        for case in operator_cases(operator, "full")
        if case.kind in ("table", "sizes", "values") and case.expect == "reference"
    )
    return [case for case in found if small(case)]


def small(case: Case) -> bool:
    """Whether all terms can be held at once; nothing comes after the sums."""
    return max(tensor.count for _, tensor in case.desc.tensors()) <= 6000 and case.desc.fields["FusedActivation"] is None


CASES = {operator: cases(operator) for operator in ("GEMM", "CONVOLUTION")}


def statuses(operator: str, backend: Sums, more: Sequence[Case] = ()) -> dict[str, str]:
    return {case.id: execute(case, backend, backend.info).status for case in (*CASES[operator], *more)}


@pytest.mark.parametrize("operator", CASES)
@pytest.mark.parametrize("way", RIGHT)
def test_every_order_of_additions_passes(operator: str, way: str) -> None:
    found = statuses(operator, Sums(RIGHT[way]))
    assert [name for name, status in found.items() if status not in (PASS, UNSUPPORTED)] == []
    assert sum(status == PASS for status in found.values()) > 20


@pytest.mark.parametrize("operator", CASES)
@pytest.mark.parametrize("way", WRONG)
def test_every_wrong_sum_is_found(operator: str, way: str) -> None:
    assert FAIL in statuses(operator, Sums(WRONG[way])).values()


def test_the_filter_of_another_group_is_found() -> None:
    more = [case for case in operator_cases("CONVOLUTION", "full") if case.kind == "combination" and small(case)][::40]
    found = statuses("CONVOLUTION", Sums(one_by_one, shift=1), more)
    grouped = {case.id for case in (*CASES["CONVOLUTION"], *more) if case.desc.fields["GroupCount"] > 1}
    assert {name for name, status in found.items() if status == FAIL} <= grouped
    assert sum(status == FAIL for status in found.values()) > 10
