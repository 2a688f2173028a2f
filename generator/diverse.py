"""Of many random dispatches, those that differ most: each has as many threes of raw properties that no other has as it can for its cost.

Raw properties are what code asks of a dispatch: in which range each size lies, what remains of it by 8, whether a tensor is packed, at which
offset it begins, its types, attributes and data. Faults that need three of them at once are met by more of the dispatches chosen so than of as
many drawn by chance.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import numpy as np

from dmlcts.generator.case import Binding, Case
from dmlcts.generator.cheapest import add
from dmlcts.generator.combinations import CASE
from dmlcts.generator.covering import NONE, Tuples
from dmlcts.generator.factors import Model
from dmlcts.generator.measures import row_of
from dmlcts.spec.desc import TensorDesc, packed_strides

_RANKS = 8

_SIZES = (1, 4, 16, 64, 256, 1024)
_COUNTS = (1, 16, 256, 4096)
_OFFSETS = (0, 240, 4096, 32768)
"""Ends of ranges of sizes, of numbers of elements, and of offsets in bytes."""

_FEW = 4
"""Of more tensors, the sizes of the leading one count alone, of the others the number of elements."""

_MEASURED = ("size", "long", "layout", "offset")
"""The kinds of factors in whose place raw properties stand."""


def most_different(model: Model, cases: Sequence[Case], chosen: list[int], most: int) -> None:
    """Adds to those chosen until there are ``most``; fewer where the others bring nothing. All are indices of ``cases``."""
    found = np.array([_raw(model, case) for case in cases], np.int64)
    found = np.unique(found, axis=1)  # a property that says the same of each case as another tells nothing more
    found = found[:, (found != found[0]).any(axis=0)]
    tuples = Tuples(list(found.max(axis=0) + 1), min(3, found.shape[1]))
    costs = [CASE + sum(tensor.count for _, tensor in case.desc.tensors()) for case in cases]
    add(chosen, lambda at: tuples.of(found[at]), costs, tuples.open, len(tuples.open), most)


def _raw(model: Model, case: Case) -> tuple[int, ...]:
    """The raw properties of a case as small numbers, NONE where it has none; as many for each case of an operator."""
    values = zip(model.factors, row_of(model, case), strict=True)
    return (*(value for factor, value in values if factor.kind not in _MEASURED), *_of_tensors(model, case))


def _of_tensors(model: Model, case: Case) -> Iterator[int]:
    """Of an array of tensors, its first counts."""
    names, leading = model.plan.tensors, model.plan.name_of(model.plan.leading)
    for name in names:
        bound, tensor = next(iter(case.desc.called(name)), (name, None))
        sizes = tensor.sizes[::-1] if tensor else ()
        absent = [NONE] * (_RANKS - len(sizes))
        if name == leading or len(names) <= _FEW:
            yield from (*(bisect_left(_SIZES, size) for size in sizes), *absent)
        else:
            yield bisect_left(_COUNTS, tensor.count) if tensor else NONE
        if name == leading:
            yield from (*(size % 8 for size in sizes), *absent)
        yield _layout(tensor) if tensor else NONE
        yield bisect_left(_OFFSETS, case.bindings.get(bound, Binding()).offset or case.offset) if tensor else NONE


def _layout(tensor: TensorDesc) -> int:
    """Packed, broadcast along some dimension, or with other strides."""
    long = [(stride, packed) for size, stride, packed in _strides(tensor) if size > 1]
    return 0 if all(stride == packed for stride, packed in long) else 1 if any(not stride for stride, _ in long) else 2


def _strides(tensor: TensorDesc) -> Iterator[tuple[int, int, int]]:
    return zip(tensor.sizes, tensor.effective_strides, packed_strides(tensor.sizes), strict=True)
