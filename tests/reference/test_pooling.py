"""Average, Lp and maximum pooling against loops over windows, element by element, and their tolerances against faulty implementations."""

import math
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import Verdict, judge
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load

Array = np.ndarray
Row = tuple[int, ...]
INF, NAN = math.inf, math.nan
TYPES = {np.dtype(name.lower()): name for name in ("FLOAT32", "FLOAT16", "INT64", "INT32", "INT8", "UINT64", "UINT8")}


def pool_desc(name: str, x: Array, window: Row, out: Row | None = None, **attributes: object) -> OperatorDesc:
    """A desc of packed tensors: stride and dilation 1 and no padding where they are not given."""
    count = len(window)
    fields: dict[str, object] = {"Strides": (1,) * count, "StartPadding": (0,) * count, "EndPadding": (0,) * count}
    if (name.endswith(("1", "2")) and name != "MAX_POOLING1") or name.startswith("QUANTIZED"):
        fields["Dilations"] = (1,) * count
    if "AVERAGE" in name:
        fields["IncludePadding"] = False
    fields |= {"DimensionCount": count, "WindowSize": window, **attributes}
    sizes = (*x.shape[:2], *(out or output_sizes(x, fields)))
    tensors: dict[str, object] = {
        "InputTensor": TensorDesc(TYPES[x.dtype], x.shape),
        "OutputTensor": TensorDesc(TYPES[x.dtype], sizes),
    }
    if fields.pop("indices", False):
        tensors["OutputIndicesTensor"] = TensorDesc("UINT32", sizes)
    return OperatorDesc(name, tensors | fields)


def output_sizes(x: Array, fields: dict[str, object]) -> Row:
    rows = [fields[key] for key in ("StartPadding", "EndPadding", "WindowSize", "Strides")]
    rows.append(fields.get("Dilations", (1,) * len(x.shape[2:])))
    return tuple((s + a + b - (w - 1) * d - 1) // t + 1 for s, a, b, w, t, d in zip(x.shape[2:], *rows, strict=True))  # type: ignore[call-overload]


def windows(desc: OperatorDesc) -> Iterator[tuple[Row, list[Row]]]:
    """Each output element with the input elements of its window, in row-major order."""
    size, fields = desc.tensor("InputTensor").sizes, desc.fields
    rows = [fields[key] for key in ("Strides", "StartPadding")] + [fields.get("Dilations", (1, 1, 1))]
    for index in product(*map(range, desc.tensor("OutputTensor").sizes)):
        found = []
        for taps in product(*map(range, fields["WindowSize"])):  # type: ignore[call-overload]
            place = tuple(o * t - a + k * d for o, k, t, a, d in zip(index[2:], taps, *rows, strict=False))  # type: ignore[call-overload]
            if all(0 <= p < s for p, s in zip(place, size[2:], strict=True)):
                found.append((*index[:2], *place))
        yield index, found


def answers(desc: OperatorDesc, x: Array) -> dict[str, Answer]:
    return compute(desc, {"InputTensor": x})


def numbers(sizes: Row, dtype: type = np.float32) -> Array:
    return np.random.default_rng(7).uniform(-4, 4, sizes).astype(dtype)


FORMS = {
    "plain": ("", (2, 3, 5, 6), {"window": (2, 3)}),
    "strides": ("", (1, 2, 7, 8), {"window": (3, 2), "Strides": (2, 3)}),
    "padded": ("", (2, 1, 3, 4), {"window": (2, 4), "StartPadding": (1, 3), "EndPadding": (0, 2), "Strides": (1, 2)}),
    "dilated": ("*", (1, 2, 6, 9), {"window": (2, 3), "Dilations": (3, 2), "StartPadding": (1, 2), "EndPadding": (2, 1)}),
    "5d": ("*", (1, 2, 3, 4, 5), {"window": (2, 1, 3), "Dilations": (1, 2, 2), "Strides": (1, 2, 1), "StartPadding": (1, 0, 2)}),
    "one": ("", (2, 2, 3, 3), {"window": (1, 1)}),
    "whole": ("", (2, 2, 3, 4), {"window": (3, 4)}),
    "rounded-up": ("", (1, 1, 1, 7), {"window": (1, 3), "Strides": (1, 2), "out": (1, 5)}),
}
"""Dilations are for the later versions of an operator; ``out`` is larger than the pages' formula makes it."""

forms = pytest.mark.parametrize("form", FORMS)


def desc_of(form: str, plain: str, dilated: str, x: Array | None = None, **more: object) -> tuple[OperatorDesc, Array]:
    mark, sizes, attributes = FORMS[form]
    x = numbers(sizes) if x is None else x
    return pool_desc(dilated if mark else plain, x, **attributes, **more), x  # type: ignore[arg-type]


@forms
@pytest.mark.parametrize("counted", [False, True])
def test_average(form: str, counted: bool) -> None:
    desc, x = desc_of(form, "AVERAGE_POOLING", "AVERAGE_POOLING1", IncludePadding=counted)
    answer = answers(desc, x)["OutputTensor"]
    for index, window in windows(desc):
        count = math.prod(desc.fields["WindowSize"]) if counted else len(window)  # type: ignore[arg-type]
        assert answer.defined[index] == (count > 0)
        if count:
            assert answer.value[index] == pytest.approx(math.fsum(float(x[i]) for i in window) / count, abs=1e-14)
            assert answer.magnitude[index] == pytest.approx(math.fsum(abs(float(x[i])) for i in window) / count, rel=1e-14)
            assert answer.terms[index] == max(len(window), 1)


@forms
@pytest.mark.parametrize("p", [1, 2, 3, 6])
def test_lp(form: str, p: int) -> None:
    desc, x = desc_of(form, "LP_POOLING", "LP_POOLING1", P=p)
    answer = answers(desc, x)["OutputTensor"]
    for index, window in windows(desc):
        total = math.fsum(abs(float(x[i])) ** p for i in window)
        assert answer.value[index] == pytest.approx(total ** (1 / p), rel=1e-13)
        assert answer.defined[index]
    assert bool(answer.contested) == (p % 2 == 1), "all the inputs have negative elements"


@forms
@pytest.mark.parametrize("p", [1, 3, 5])
def test_lp_by_the_formula_of_the_page(form: str, p: int) -> None:
    """An odd power keeps its sign, and a negative sum has no root."""
    desc, x = desc_of(form, "LP_POOLING", "LP_POOLING1", P=p)
    answer = answers(desc, x)["OutputTensor"].contested["documented"]
    for index, window in windows(desc):
        total = math.fsum(float(x[i]) ** p for i in window)
        expected = total if p == 1 else math.nan if total < 0 else total ** (1 / p)
        assert answer.defined[index]
        assert answer.value[index] == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_lp_is_contested_only_where_the_signs_count() -> None:
    x = numbers((1, 1, 3, 4))
    assert answers(pool_desc("LP_POOLING", x, (2, 2), P=3), x)["OutputTensor"].contested
    assert not answers(pool_desc("LP_POOLING", x, (2, 2), P=2), x)["OutputTensor"].contested
    assert not answers(pool_desc("LP_POOLING", np.abs(x), (2, 2), P=3), np.abs(x))["OutputTensor"].contested


def test_a_root_of_powers_that_cancel_is_open() -> None:
    """1 and -1 leave what their powers' errors are, of either sign."""
    x = np.array([1, -1, 2, -2, -2], np.float32).reshape(1, 1, 1, 5)
    found = answers(pool_desc("LP_POOLING", x, (1, 2), P=3), x)["OutputTensor"].contested["documented"]
    assert found.defined.ravel().tolist() == [False, True, False, True]
    assert found.value.ravel()[1] == pytest.approx(7 ** (1 / 3))
    assert math.isnan(found.value.ravel()[3])


@forms
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64])
def test_maximum_and_its_index(form: str, dtype: type) -> None:
    sizes = FORMS[form][1]
    x = np.random.default_rng(3).integers(0, 4, sizes).astype(dtype)  # many equal
    desc, _ = desc_of(form, "MAX_POOLING1", "MAX_POOLING2", x, indices=True)
    both = answers(desc, x)
    alone = answers(desc.with_fields(OutputIndicesTensor=None), x)["OutputTensor"]
    largest, place = both["OutputTensor"], both["OutputIndicesTensor"]
    assert np.array_equal(alone.value, largest.value)
    assert alone.value.dtype == x.dtype
    for index, window in windows(desc):
        assert largest.defined[index] == place.defined[index] == (len(window) > 0)
        if window:
            best = max(window, key=lambda i: x[i])  # the first of equals
            assert largest.value[index] == x[best]
            assert place.value[index] == np.ravel_multi_index(best, sizes)


@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -3.4028235e38), (np.float16, -65504), (np.int8, -128), (np.uint8, 0)])
def test_nothing_but_padding_is_the_lowest_number(dtype: type, lowest: float) -> None:
    x = np.array([5, 6], dtype).reshape(1, 2, 1, 1)
    desc = pool_desc("MAX_POOLING1", x, (1, 1), StartPadding=(0, 1), EndPadding=(0, 1), indices=True)
    found = answers(desc, x)
    assert found["OutputTensor"].value.ravel().tolist() == pytest.approx([lowest, 5, lowest, lowest, 6, lowest])
    assert found["OutputIndicesTensor"].value.ravel().tolist() == [0, 0, 0, 0, 1, 0]
    for answer in found.values():
        assert answer.defined.ravel().tolist() == [False, True, False] * 2


def test_maximum_passes_over_nan_and_is_not_defined_of_negative_infinity_alone() -> None:
    x = np.array([NAN, 2, NAN, NAN, -INF, -INF, -7, INF], np.float32).reshape(1, 1, 1, 8)
    found = answers(pool_desc("MAX_POOLING1", x, (1, 2), indices=True), x)
    value, place = found["OutputTensor"], found["OutputIndicesTensor"]
    assert value.defined.ravel().tolist() == [True, True, False, False, False, True, True]
    assert value.value.ravel()[[0, 1, 5, 6]].tolist() == [2, 2, -7, INF]
    assert place.value.ravel().tolist() == [1, 1, 2, 3, 4, 6, 7]


def test_index_is_not_defined_of_the_lowest_number() -> None:
    lowest = np.finfo(np.float32).min
    x = np.array([-INF, lowest, 1], np.float32).reshape(1, 1, 1, 3)
    found = answers(pool_desc("MAX_POOLING1", x, (1, 2), indices=True), x)
    assert found["OutputTensor"].defined.all()
    assert found["OutputIndicesTensor"].defined.ravel().tolist() == [False, True]


def test_sums_that_float32_does_not_hold_are_not_defined() -> None:
    x = np.array([3e38, 3e38, 1, INF, -INF], np.float32).reshape(1, 1, 1, 5)
    average = answers(pool_desc("AVERAGE_POOLING", x, (1, 2)), x)["OutputTensor"]
    assert average.defined.ravel().tolist() == [False, False, True, True]
    assert average.value.ravel()[2] == INF
    assert np.isnan(average.value.ravel()[3])
    root = answers(pool_desc("LP_POOLING", x, (1, 1), P=2), x)["OutputTensor"]
    assert root.defined.ravel().tolist() == [False, False, True, True, True]


def verdict(desc: OperatorDesc, x: Array, result: Array) -> Verdict:
    operator = load(desc.type)
    return judge(result.astype(x.dtype), answers(desc, x)["OutputTensor"], operator.tolerance, TYPES[x.dtype], BackendInfo("test"))


def slid(x: Array, window: Row, made: Callable[[Array], Array]) -> Array:
    """``made`` of each window along the last two axes, stride 1."""
    return made(
        np.lib.stride_tricks.sliding_window_view(x, window, axis=(2, 3)).reshape(*x.shape[:2], -1, math.prod(window))
    ).reshape(*x.shape[:2], x.shape[2] - window[0] + 1, x.shape[3] - window[1] + 1)


def lp(p: int, dtype: type) -> Callable[[Array], Array]:
    return lambda w: np.power(np.sum(np.power(np.abs(w), dtype(p)), axis=-1, dtype=dtype), dtype(1) / dtype(p))


@pytest.mark.parametrize(("p", "most"), [(1, 14), (2, 9.5), (3, 13), (5, 10)])
def test_units_of_roots(p: int, most: float) -> None:
    """A sum of 12 powers: what it is off by is divided by P, and powers and roots bring their own."""
    x = np.full((1, 1, 3, 4), 3, np.float32)
    terms = answers(pool_desc("LP_POOLING", x, (3, 4), P=p), x)["OutputTensor"].terms
    assert most - 1.5 < terms.item() <= most


HONEST = {
    "AVERAGE_POOLING": ({}, lambda w: np.sum(w, axis=-1) / np.float32(w.shape[-1])),
    "average-by-reciprocal": ({}, lambda w: np.sum(w, axis=-1) * (np.float32(1) / np.float32(w.shape[-1]))),
    "average-backwards": ({}, lambda w: np.add.reduce(w[..., ::-1], axis=-1) / np.float32(w.shape[-1])),
    "LP_POOLING-1-by-mean": ({"P": 1}, lambda w: np.mean(np.abs(w), axis=-1, dtype=np.float32) * np.float32(w.shape[-1])),
    "LP_POOLING-2": ({"P": 2}, lambda w: np.sqrt(np.sum(w * w, axis=-1))),
    "LP_POOLING-3": ({"P": 3}, lp(3, np.float32)),
    "LP_POOLING-5": ({"P": 5}, lp(5, np.float32)),
}
FAULTY = {
    "AVERAGE_POOLING": ({}, lambda w: np.sum(w[..., 1:], axis=-1) / np.float32(w.shape[-1])),
    "average-by-one-less": ({}, lambda w: np.sum(w, axis=-1) / np.float32(w.shape[-1] - 1)),
    "average-in-half": ({}, lambda w: np.mean(w.astype(np.float16), axis=-1, dtype=np.float16)),
    "LP_POOLING-2": ({"P": 2}, lp(3, np.float32)),
    "LP_POOLING-3": ({"P": 3}, lambda w: np.sum(np.abs(w) ** 3, axis=-1)),
    "LP_POOLING-5": ({"P": 5}, lp(5, np.float16)),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_implementations_are_within_the_bound(name: str) -> None:
    attributes, made = HONEST[name]
    x = np.abs(numbers((2, 3, 8, 9)))
    desc = pool_desc(operator_of(name), x, (3, 4), **attributes)
    result = verdict(desc, x, slid(x, (3, 4), made))
    assert result.ok, result.message


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_implementations_are_not(name: str) -> None:
    attributes, made = FAULTY[name]
    x = np.abs(numbers((2, 3, 8, 9)))
    assert not verdict(pool_desc(operator_of(name), x, (3, 4), **attributes), x, slid(x, (3, 4), made)).ok


def operator_of(name: str) -> str:
    return "LP_POOLING" if name.startswith("LP") else "AVERAGE_POOLING"
