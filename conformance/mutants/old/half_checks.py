"""Faults of validation: rules that are enforced by half, as something about a dispatch is not looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod

from dmlcts.conformance.array_backend import binding_violations
from dmlcts.conformance.backend import BufferBinding, Dispatch
from dmlcts.conformance.mutants.old.mutant import Mutant, Rules
from dmlcts.generator.types import tied_tensors, type_choices
from dmlcts.spec.abi import abi
from dmlcts.spec.desc import TensorDesc
from dmlcts.spec.loader import load
from dmlcts.spec.model import Operator
from dmlcts.spec.rules import Violation, violations

Sizes = tuple[int, ...]

Repair = Callable[[Dispatch], Dispatch]
"""A dispatch as the mutant sees it: what it does not look at is as it should be."""


def half_check_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every check done by half, for the operators that it can show in."""
    everyone = tuple(operator.name for operator in operators)
    same_sizes = tuple(o.name for o in operators if any(constraint.same == "Sizes" for constraint in o.constraints))
    for names, checks in ((same_sizes, _SIZES), (everyone, _CHECKS)):
        for name, (does, repair) in checks.items():
            yield Mutant(f"accepts/{name}", names, does, rejections=True, rules=_seeing(repair))
    for name, (does, alike) in _TYPES.items():
        concerned = tuple(operator.name for operator in operators if _has_types_alike(operator, alike))
        yield Mutant(f"accepts/{name}", concerned, does, rejections=True, rules=_types_alike(alike))


def _has_types_alike(operator: Operator, alike: Callable[[TensorDesc, TensorDesc], bool]) -> bool:
    """Whether tensors that must be of one type could be of two that are alike."""
    for group in tied_tensors(operator, "DataType"):
        types = {dict(choice.types)[group[0]] for choice in type_choices(operator)}
        if len(group) > 1 and any(a != b and alike(TensorDesc(a, (1,)), TensorDesc(b, (1,))) for a in types for b in types):
            return True
    return False


def _seeing(repair: Repair) -> Rules:
    """Checks what ``repair`` makes of a dispatch: what the mutant does not look at is then as it should be."""

    def rules(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        seen = repair(dispatch)
        # What is bound must still hold the tensors that are there, and not those that are seen.
        return broken and (violations(load(seen.desc.type), seen.desc) or binding_violations(replace(seen, desc=dispatch.desc)))

    return rules


def _with_tensors(dispatch: Dispatch, change: Callable[[str, TensorDesc], TensorDesc]) -> Dispatch:
    desc = dispatch.desc
    return replace(dispatch, desc=desc.with_fields(**{name: change(name, tensor) for name, tensor in desc.tensors()}))


def _sizes_alike(alike: Callable[[Sizes, Sizes], bool]) -> Repair:
    """Of tensors that must have one size, those whose sizes are like the first one's, by this test, seen with its sizes."""

    def repair(dispatch: Dispatch) -> Dispatch:
        seen: dict[str, Sizes] = {}
        tensors = dict(dispatch.desc.tensors())
        for group in tied_tensors(load(dispatch.desc.type), "Sizes"):
            first, *others = [name for name in group if name in tensors] or [""]
            seen |= {name: tensors[first].sizes for name in others if alike(tensors[first].sizes, tensors[name].sizes)}
        return _with_tensors(dispatch, lambda name, t: replace(t, sizes=seen.get(name, t.sizes)))

    return repair


def _sizes_but(ignored: slice) -> Repair:
    """Tensors of as many dimensions as the first, whose sizes are its sizes but for those ``ignored``."""

    def alike(first: Sizes, other: Sizes) -> bool:
        axes = set(range(len(first))) - set(range(len(first))[ignored])
        return len(first) == len(other) and all(first[axis] == other[axis] for axis in axes)

    return _sizes_alike(alike)


def _types_alike(alike: Callable[[TensorDesc, TensorDesc], bool]) -> Rules:
    """Takes no notice of tensors that must be of one type and are of two that are alike, by this test."""

    def rules(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        fine = {
            f"constraint/{constraint.label}"
            for constraint in load(dispatch.desc.type).constraints
            if constraint.same == "DataType" and _all_alike(alike, dispatch, constraint.tensors)
        }
        return [violation for violation in broken if violation.label not in fine]

    return rules


def _all_alike(alike: Callable[[TensorDesc, TensorDesc], bool], dispatch: Dispatch, names: tuple[str, ...]) -> bool:
    tensors = [tensor for name, tensor in dispatch.desc.tensors() if name.partition("[")[0] in names]
    return all(alike(tensors[0], tensor) for tensor in tensors[1:])


def _known(*tensors: TensorDesc) -> bool:
    return all(tensor.data_type in abi().data_types for tensor in tensors)


def _broadcastable(first: Sizes, other: Sizes) -> bool:
    pairs = zip(reversed(first), reversed(other), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def _bindings(change: Callable[[TensorDesc, BufferBinding], BufferBinding]) -> Repair:
    def repair(dispatch: Dispatch) -> Dispatch:
        tensors = {name: dispatch.desc.tensor(name) for name in dispatch.bindings}
        changed = {name: change(tensors[name], binding) for name, binding in dispatch.bindings.items() if _known(tensors[name])}
        return replace(dispatch, bindings={**dispatch.bindings, **changed})

    return repair


def _aligned_to(bytes_: int) -> Repair:
    return _bindings(lambda tensor, binding: replace(binding, offset=0) if binding.offset % bytes_ == 0 else binding)


def _bound_almost(missing: int) -> Repair:
    """Bindings that are short by so many bytes at most seen as whole."""
    return _bindings(lambda t, b: replace(b, size=t.bytes) if b.size >= t.bytes - missing else b)


def _total_size(fine: Callable[[TensorDesc, int], bool]) -> Repair:
    """Total sizes that the test finds fine are not looked at further."""
    return lambda dispatch: _with_tensors(
        dispatch,
        lambda name, t: replace(t, total_size=None) if t.total_size is not None and _known(t) and fine(t, t.total_size) else t,
    )


def _alignment(fine: Callable[[TensorDesc, int], bool]) -> Repair:
    """Alignments that the test finds fine are not looked at further."""
    return lambda dispatch: _with_tensors(
        dispatch, lambda name, t: replace(t, alignment=0) if _known(t) and fine(t, t.alignment) else t
    )


def _packed_bytes(tensor: TensorDesc) -> int:
    return tensor.count * tensor.type.bits // 8


_SIZES: dict[str, tuple[str, Repair]] = {
    "sizes-by-count": ("compares the numbers of elements alone", _sizes_alike(lambda a, b: prod(a) == prod(b))),
    "sizes-by-counts": (
        "compares the numbers of dimensions and of elements alone",
        _sizes_alike(lambda a, b: len(a) == len(b) and prod(a) == prod(b)),
    ),
    "sizes-by-first": ("compares the first sizes alone", _sizes_but(slice(1, None))),
    "sizes-by-last": ("compares the last sizes alone", _sizes_but(slice(None, -1))),
    "sizes-but-first": ("compares all sizes but the first", _sizes_but(slice(None, 1))),
    "sizes-but-second": ("compares all sizes but the second", _sizes_but(slice(1, 2))),
    "sizes-but-last": ("compares all sizes but the last", _sizes_but(slice(-1, None))),
    "sizes-broadcast": ("accepts sizes of 1 beside others", _sizes_alike(_broadcastable)),
    "sizes-without-ones": (
        "takes no notice of sizes of 1",
        _sizes_alike(lambda a, b: [n for n in a if n > 1] == [n for n in b if n > 1]),
    ),
    "larger-tensors": (
        "accepts tensors that are larger than the first",
        _sizes_alike(lambda a, b: len(a) == len(b) and all(n <= m for n, m in zip(a, b, strict=True))),
    ),
    "smaller-tensors": (
        "accepts tensors that are smaller than the first",
        _sizes_alike(lambda a, b: len(a) == len(b) and all(n >= m for n, m in zip(a, b, strict=True))),
    ),
}
"""Sizes that must be the same, and are compared by half."""

_TYPES: dict[str, tuple[str, Callable[[TensorDesc, TensorDesc], bool]]] = {
    "types-by-width": ("compares the widths of data types alone", lambda a, b: _known(a, b) and a.type.bits == b.type.bits),
    "types-by-kind": ("compares the kinds of data types alone", lambda a, b: _known(a, b) and a.type.kind == b.type.kind),
}
"""Data types that must be the same, and are compared by half."""

_CHECKS: dict[str, tuple[str, Repair]] = {
    "offset-of-4": ("demands offsets that are multiples of 4 alone", _aligned_to(4)),
    "offset-of-8": ("demands offsets that are multiples of 8 alone", _aligned_to(8)),
    "binding-short-by-4": ("accepts bindings that are 4 bytes short", _bound_almost(4)),
    "total-size-odd": ("accepts total sizes that are no multiples of 4", _total_size(lambda t, n: n >= t.least_bytes)),
    "total-size-packed": ("compares total sizes with packed tensors alone", _total_size(lambda t, n: n >= _packed_bytes(t))),
    "alignment-no-power-of-2": ("accepts alignments that are no powers of 2", _alignment(lambda t, n: n >= t.type.size)),
    "alignment-below-size": ("accepts alignments below an element's size", _alignment(lambda t, n: n & (n - 1) == 0)),
}
"""Other checks done by half."""
