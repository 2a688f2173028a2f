"""Elements of inputs for which the documentation defines no result: a number outside what it requires, an index beyond the end.

No case has such elements, but a model may. What is computed from them proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.generator.values.indices import cycle_values
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.expression import compile_expression
from dmlcts.spec.model.operator import Operator, Values
from dmlcts.spec.rules.shape import FAILURES

Array = NDArray[Any]

_UNDEFINED = "out-of-range"
"""The label of the errata that say what an index beyond the end gives: where a spec has one, the page does not define it."""


def undefined_inputs(operator: Operator, desc: OperatorDesc, inputs: Mapping[str, Array]) -> Iterator[str]:
    """A sentence for each input with such elements: how many, the first, what they must be, and which source says so."""
    erratum = next((f"erratum {one.id}: {one.text}" for one in operator.errata if one.id == _UNDEFINED), "")
    for name, array in inputs.items():
        values = operator.values_of(name)
        if values is None:
            continue
        if values.where is not None:
            wrong = ~np.asarray(values.where.evaluate({"x": array}), np.bool_)
            yield from _sentence(operator, name, array, wrong, f"of each element x, {values.where.text} must be true", "")
        if erratum and isinstance(values.parameters.get("below"), str):
            yield from _indices(operator, desc, name, array, values, erratum)


def _indices(operator: Operator, desc: OperatorDesc, name: str, array: Array, values: Values, erratum: str) -> Iterator[str]:
    text = str(values.parameters["below"])
    try:
        below = np.asarray(compile_expression(text).evaluate(desc.fields), np.int64)
    except FAILURES:
        return
    each = cycle_values(below, array.size).reshape(array.shape)
    if data_type(desc.tensor(name).data_type).kind == "uint":
        wrong, least = array >= each.astype(np.uint64), "0"
    else:
        wrong, least = (array >= each) | (array < -each), "-n"
    yield from _sentence(
        operator, name, array, wrong, f"an index must be from {least} to n - 1, where n is {text}, here {below.tolist()}", erratum
    )


def _sentence(operator: Operator, name: str, array: Array, wrong: Array, must: str, source: str) -> Iterator[str]:
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        more = f" (and {int(wrong.sum()) - 1:,} more)" if wrong.sum() > 1 else ""
        page = operator.sources[0].title if operator.sources else operator.name
        yield (
            f"{operator.name}: {name}{list(at)} is {array[at]}{more}: {must}. What follows from it is not defined "
            f"({page}{f'; {source}' if source else ''})"
        )
