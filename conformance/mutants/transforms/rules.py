"""Any operator that does not enforce a rule, enforces it by half, or refuses in a wrong way.

Only where a rule is broken its mutant lets pass what goes along with it (``_COMPANIONS``): cases about something else do not find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from math import prod

from dmlcts.conformance.backends.array_backend import binding_violations
from dmlcts.conformance.backends.backend import BackendFault, BufferBinding, Dispatch, Rejected, Unsupported
from dmlcts.conformance.mutants.fault import Accepts, Fault
from dmlcts.conformance.mutants.transforms.tensors import types_of
from dmlcts.generator.coverage import COLUMNS
from dmlcts.generator.types import tied_tensors
from dmlcts.spec.abi import abi
from dmlcts.spec.desc import UNKNOWN, TensorDesc
from dmlcts.spec.loader import load
from dmlcts.spec.model import Constraint, Operator
from dmlcts.spec.rules import Violation, violations

Test = Callable[[Dispatch], bool]
Sizes = tuple[int, ...]


def faults(operator: Operator) -> Iterator[tuple[str, Fault]]:
    """Every rule whose breach must be refused, not enforced; checks done by half; wrong ways to refuse."""
    implied = {f"constraint/{constraint.label}" for constraint in operator.constraints if _implied(operator, constraint)}
    rules = [rule for label in COLUMNS["rejections"](operator) if (rule := label.removeprefix("rejects/")) not in implied]
    for rule in rules:
        yield f"accepts/{rule.removeprefix('constraint/')}", Fault(f"does not enforce {rule}", accepts=_accepting(operator, rule))
    for group in tied_tensors(operator, "DataType"):
        listed = types_of(operator, operator.field(group[0]))
        for data_type in (*abi().data_types, UNKNOWN):
            if data_type not in listed and f"support/{group[0]}/data-type" in rules:
                test = _all(group, lambda tensor, of=data_type: tensor.data_type == of)
                accepts = _accepting(operator, f"support/{group[0]}/data-type", test)
                yield f"accepts/{group[0]}/{data_type}", Fault(f"accepts {data_type} as {group[0]}", accepts=accepts)
    for label, (does, rule, test) in _PARTS.items():
        if any(fnmatchcase(known, rule) for known in rules):
            yield f"accepts/{label}", Fault(does, accepts=_accepting(operator, rule, test))
    for label, (does, repair) in _HALVES.items():
        if fnmatchcase(label, "sizes-*") and not any(constraint.same == "Sizes" for constraint in operator.constraints):
            continue
        if label != "binding-short-by-4" or any(fnmatchcase(rule, "binding/*/size") for rule in rules):
            yield f"accepts/{label}", Fault(does, accepts=_seeing(repair))
    for label, (does, alike) in _TYPES.items():
        if _has_types_alike(operator, alike):
            yield f"accepts/{label}", Fault(does, accepts=_types_alike(alike))
    for label, (does, error) in _WAYS.items():
        yield f"refuses/{label}", Fault(does, accepts=_raising(error))


# Rules that are not enforced


def _implied(operator: Operator, constraint: Constraint) -> bool:
    """Whether tensors that must have the same number of dimensions must have the same sizes anyway."""
    tied = (set(other.tensors) for other in operator.constraints if other.same == "Sizes")
    return constraint.same == "DimensionCount" and any(set(constraint.tensors) <= tensors for tensors in tied)


_COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "support/*/data-type": ("support/*/data-type", "enum/*", "types"),
    "support/*/dimension-count": ("support/*/dimension-count", "sizes", "shape/*"),
    "tensor/*/sizes": ("tensor/*/sizes",),
    "enum/*": ("constants",),
    "constraint/*": ("shape/*",),
}
"""What cannot but be broken too: rules by their labels, and the constraints about types, sizes and constants."""


def _accepting(operator: Operator, rule: str, test: Test = lambda dispatch: True) -> Accepts:
    """Does not enforce a rule (a glob), for the dispatches alone that pass the test."""
    globs = {rule, *(glob for kind, globs in _COMPANIONS.items() if fnmatchcase(rule, kind) for glob in globs)}
    constants = {field.name for field in operator.attributes() if field.enum}
    about: dict[str, Callable[[str, set[str]], bool]] = {
        "types": lambda text, names: "DataType" in text,
        "sizes": lambda text, names: "Sizes" in text or "DimensionCount" in text,
        "constants": lambda text, names: not constants.isdisjoint(names),
    }
    for kind in globs & about.keys():
        for constraint in operator.constraints:
            if about[kind](constraint.same or constraint.text, set(constraint.that.names if constraint.that else ())):
                globs = globs | {f"constraint/{constraint.label}"}

    def accepts(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        if not test(dispatch) or not any(fnmatchcase(violation.label, rule) for violation in broken):
            return broken
        return [violation for violation in broken if not any(fnmatchcase(violation.label, glob) for glob in globs)]

    return accepts


def _all(names: tuple[str, ...], test: Callable[[TensorDesc], bool]) -> Test:
    return lambda dispatch: all(test(tensor) for name, tensor in dispatch.desc.tensors() if name.partition("[")[0] in names)


def _any(test: Callable[[TensorDesc], bool]) -> Test:
    return lambda dispatch: any(test(tensor) for _, tensor in dispatch.desc.tensors())


_OWNED = abi().tensor_flags["OWNED_BY_DML"]
_MOST = abi().limits["dimension_count"]
_LARGEST = 0xFFFFFFFF

_PARTS: Mapping[str, tuple[str, str, Test]] = {
    "owned-by-dml": ("accepts OWNED_BY_DML", "tensor/*/flags", _any(lambda tensor: bool(tensor.flags & _OWNED))),
    "unknown-flags": ("accepts unknown flags", "tensor/*/flags", _any(lambda tensor: bool(tensor.flags & ~_OWNED))),
    "no-dimensions": ("accepts no dimensions", "support/*/dimension-count", _any(lambda t: t.DimensionCount == 0)),
    "too-many-dimensions": ("accepts a dimension too many", "support/*/dimension-count", _any(lambda t: t.DimensionCount > _MOST)),
    "next-constant": ("accepts the number after the last constant", "enum/*", lambda d: _LARGEST not in d.desc.fields.values()),
    "largest-constant": ("accepts the largest number for a constant", "enum/*", lambda d: _LARGEST in d.desc.fields.values()),
}
"""Rules that are not enforced for some dispatches: what it does, which rule, which dispatches."""


# Checks done by half


Repair = Callable[[Dispatch], Dispatch]
"""A dispatch as the mutant sees it: what it does not look at is as it should be."""


def _seeing(repair: Repair) -> Accepts:
    def accepts(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        seen = repair(dispatch)
        # What is bound must still hold the tensors that are there, and not those that are seen.
        return violations(load(seen.desc.type), seen.desc) or binding_violations(replace(seen, desc=dispatch.desc))

    return accepts


def _with_tensors(dispatch: Dispatch, change: Callable[[str, TensorDesc], TensorDesc]) -> Dispatch:
    desc = dispatch.desc
    return replace(dispatch, desc=desc.with_fields(**{name: change(name, tensor) for name, tensor in desc.tensors()}))


def _sizes(alike: Callable[[Sizes, Sizes], bool]) -> Repair:
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

    return _sizes(alike)


def _broadcastable(first: Sizes, other: Sizes) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(first), reversed(other), strict=False))


def _each(test: Callable[[int, int], bool]) -> Callable[[Sizes, Sizes], bool]:
    return lambda first, other: len(first) == len(other) and all(map(test, first, other))


def _known(tensor: TensorDesc) -> bool:
    return tensor.data_type in abi().data_types


def _bindings(change: Callable[[TensorDesc, BufferBinding], BufferBinding]) -> Repair:
    def repair(dispatch: Dispatch) -> Dispatch:
        tensors = {name: dispatch.desc.tensor(name) for name in dispatch.bindings}
        changed = {name: change(tensors[name], binding) for name, binding in dispatch.bindings.items() if _known(tensors[name])}
        return replace(dispatch, bindings={**dispatch.bindings, **changed})

    return repair


def _tensors(fine: Callable[[TensorDesc], bool], **right: object) -> Repair:
    """Tensor descs that the test finds fine are seen with fields that are right."""
    return lambda dispatch: _with_tensors(dispatch, lambda name, t: replace(t, **right) if _known(t) and fine(t) else t)  # type: ignore[arg-type]


_HALVES: Mapping[str, tuple[str, Repair]] = {
    "sizes-by-count": ("compares the numbers of elements alone", _sizes(lambda a, b: prod(a) == prod(b))),
    "sizes-by-counts": (
        "compares the numbers of dimensions and of elements alone",
        _sizes(lambda a, b: len(a) == len(b) and prod(a) == prod(b)),
    ),
    "sizes-by-first": ("compares the first sizes alone", _sizes_but(slice(1, None))),
    "sizes-by-last": ("compares the last sizes alone", _sizes_but(slice(None, -1))),
    "sizes-but-first": ("compares all sizes but the first", _sizes_but(slice(None, 1))),
    "sizes-but-second": ("compares all sizes but the second", _sizes_but(slice(1, 2))),
    "sizes-but-last": ("compares all sizes but the last", _sizes_but(slice(-1, None))),
    "sizes-broadcast": ("accepts sizes of 1 beside others", _sizes(_broadcastable)),
    "sizes-without-ones": ("ignores sizes of 1", _sizes(lambda a, b: [n for n in a if n > 1] == [n for n in b if n > 1])),
    "sizes-larger": ("accepts tensors that are larger than the first", _sizes(_each(lambda n, m: n <= m))),
    "sizes-smaller": ("accepts tensors that are smaller than the first", _sizes(_each(lambda n, m: n >= m))),
    "offset-of-4": (
        "requires offsets to be multiples of 4 alone",
        _bindings(lambda t, b: replace(b, offset=0) if b.offset % 4 == 0 else b),
    ),
    "offset-of-8": (
        "requires offsets to be multiples of 8 alone",
        _bindings(lambda t, b: replace(b, offset=0) if b.offset % 8 == 0 else b),
    ),
    "binding-short-by-4": (
        "accepts bindings that are 4 bytes short",
        _bindings(lambda t, b: replace(b, size=t.bytes) if b.size >= t.bytes - 4 else b),
    ),
    "total-size-packed": (
        "compares total sizes with packed tensors alone",
        _tensors(lambda t: t.total_size is not None and t.total_size >= t.count * t.type.bits // 8, total_size=None),
    ),
    "alignment-no-power-of-2": (
        "accepts alignments that are no powers of 2",
        _tensors(lambda t: t.alignment >= t.type.size, alignment=0),
    ),
    "alignment-below-size": (
        "accepts alignments below an element's size",
        _tensors(lambda t: t.alignment & (t.alignment - 1) == 0, alignment=0),
    ),
}

Alike = Callable[[TensorDesc, TensorDesc], bool]

_TYPES: Mapping[str, tuple[str, Alike]] = {
    "types-by-width": (
        "compares the widths of data types alone",
        lambda a, b: _known(a) and _known(b) and a.type.bits == b.type.bits,
    ),
    "types-by-kind": (
        "compares the kinds of data types alone",
        lambda a, b: _known(a) and _known(b) and a.type.kind == b.type.kind,
    ),
}


def _has_types_alike(operator: Operator, alike: Alike) -> bool:
    """Whether tensors that must be of one type could be of two that are alike."""
    for group in tied_tensors(operator, "DataType"):
        types = [TensorDesc(name, (1,)) for name in types_of(operator, operator.field(group[0]))]
        if len(group) > 1 and any(a != b and alike(a, b) for a in types for b in types):
            return True
    return False


def _types_alike(alike: Alike) -> Accepts:
    """Accepts tensors that must be of one type and are of two that are alike."""

    def all_alike(dispatch: Dispatch, names: tuple[str, ...]) -> bool:
        tensors = [tensor for name, tensor in dispatch.desc.tensors() if name.partition("[")[0] in names]
        return all(alike(tensors[0], tensor) for tensor in tensors[1:])

    def accepts(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        tied = [constraint for constraint in load(dispatch.desc.type).constraints if constraint.same == "DataType"]
        fine = {f"constraint/{constraint.label}" for constraint in tied if all_alike(dispatch, constraint.tensors)}
        return [violation for violation in broken if violation.label not in fine]

    return accepts


# Ways to refuse


def _raising(error: Callable[[], Exception]) -> Accepts:
    def accepts(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        raise error()

    return accepts


_WAYS: Mapping[str, tuple[str, Callable[[], Exception]]] = {
    "by-crashing": ("raises an exception of its own where it must refuse", lambda: ZeroDivisionError("planted")),
    "by-fault": ("ends its process where it must refuse", lambda: BackendFault("planted")),
    "as-unsupported": ("reports what it must refuse as unsupported", lambda: Unsupported("planted")),
    "at-another-stage": ("refuses everything at dispatch", lambda: Rejected("planted", "dispatch")),
}
