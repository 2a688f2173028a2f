"""Any operator that does not enforce a rule, enforces it by half, or refuses in a wrong way.

Only where a rule is broken its mutant lets pass what goes along with it (``_COMPANIONS``): cases about something else do not find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from math import prod
from typing import Any

from dmlcts.conformance.backends.array_backend import binding_violations
from dmlcts.conformance.backends.backend import BackendFault, BufferBinding, Dispatch, Rejected, Unsupported
from dmlcts.conformance.faults.model.fault import Accepts, Fault
from dmlcts.generator.checks.promises import COLUMNS, of_fields
from dmlcts.generator.plan.plan import plan_of
from dmlcts.spec.model.abi import DataType, abi
from dmlcts.spec.model.desc import UNKNOWN, TensorDesc, field_of
from dmlcts.spec.model.operator import Constraint, Operator
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import Violation, violations

Test = Callable[[Dispatch], bool]


def faults(operator: Operator) -> Iterator[tuple[str, Fault]]:
    """Every rule whose breach must be refused, not enforced; checks done by half; wrong ways to refuse."""
    implied = {f"constraint/{constraint.label}" for constraint in operator.constraints if _is_implied(operator, constraint)}
    rules = [rule for label in COLUMNS["rejections"](operator) if (rule := label.removeprefix("rejects/")) not in implied]
    for rule in rules:
        yield (
            f"accepts/{rule.removeprefix('constraint/')}",
            Fault(f"does not enforce {rule}", accepts=_accept_broken(operator, rule)),
        )
    plan = plan_of(operator)
    groups = {group[0]: {dict(choice.types)[group[0]] for choice in plan.choices} for group in plan.tied_groups("DataType")}
    for name, listed in groups.items():
        rule = f"support/{field_of(name)}/data-type"
        of_array = {data_type for table in operator.support for data_type in table.row(name).data_types}
        for data_type in (*abi().data_types, UNKNOWN) if rule in rules else ():
            if data_type not in (of_array if name != field_of(name) else listed):  # the table is about all tensors of an array
                accepts = _accept_broken(operator, rule, _of_type(data_type))
                yield f"accepts/{name}/{data_type}", Fault(f"accepts {data_type} as {name}", accepts=accepts)
    for name in plan.tensors:
        for label, (does, rule) in _OF_ONE.items():
            if (of_one := rule.format(field_of(name))) in rules:
                yield f"accepts/{name}/{label}", Fault(does.format(name), accepts=_ignore_rule(of_one))
    for label, (does, rule, test) in _PARTS.items():
        if any(fnmatchcase(known, rule) for known in rules):
            yield f"accepts/{label}", Fault(does, accepts=_accept_broken(operator, rule, test))
    if any(constraint.same == "Sizes" for constraint in operator.constraints):
        for label, (does, alike) in _SIZES.items():
            yield f"accepts/sizes-{label}", Fault(does, accepts=_see_repaired(_repair_tied("Sizes", alike)))
    tied = [[abi().data_types[of] for of in groups[group[0]]] for group in plan.tied_groups("DataType") if len(group) > 1]
    for label, (what, are_alike) in _ALIKE.items():
        if any(a != b and are_alike(a, b) for types in tied for a in types for b in types):
            accepts = _see_repaired(_repair_tied("DataType", are_alike))
            yield f"accepts/types-by-{label}", Fault(f"compares the {what} of data types alone", accepts=accepts)
    for label, (does, rule, repair) in _HALVES.items():
        if any(fnmatchcase(known, rule) for known in rules):
            yield f"accepts/{label}", Fault(does, accepts=_see_repaired(repair))
    for label, (does, error) in _WAYS.items():
        yield f"refuses/{label}", Fault(does, accepts=_raise(error))


# Rules that are not enforced


def _is_implied(operator: Operator, constraint: Constraint) -> bool:
    """Whether tensors that must have the same number of dimensions must have the same sizes anyway."""
    tied = (set(other.tensors) for other in operator.constraints if other.same == "Sizes")
    return constraint.same == "DimensionCount" and any(set(constraint.tensors) <= tensors for tensors in tied)


_COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "support/*/data-type": ("support/*/data-type", "enum/*", "types"),
    "support/*/dimension-count": ("support/*/dimension-count", "sizes", "shape/*"),
    "tensor/*/sizes": ("tensor/*/sizes", "sizes", "shape/*"),
    "enum/*": ("constants",),
    "constraint/*": ("shape/*",),
}
"""What cannot but be broken too: rules by their labels, and the constraints about types, sizes and constants."""


def _accept_broken(operator: Operator, rule: str, test: Test = lambda dispatch: True) -> Accepts:
    """Does not enforce a rule (a glob), for the dispatches alone that pass the test."""
    globs = {rule, *(glob for kind, globs in _COMPANIONS.items() if fnmatchcase(rule, kind) for glob in globs)}
    constants = {field.name for field in operator.attributes() if field.enum}
    for constraint in operator.constraints:
        text, names = constraint.same or constraint.text, set(constraint.that.names if constraint.that else ())
        about = {
            "types": "DataType" in text,
            "sizes": "Sizes" in text or "DimensionCount" in text,
            "constants": bool(names & constants),
        }
        if any(about[kind] for kind in globs & about.keys()):
            globs = globs | {f"constraint/{constraint.label}"}

    def accepts(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        labels = {violation.label: of_fields(violation.label) for violation in broken}
        if not test(dispatch) or not any(fnmatchcase(label, rule) for label in labels.values()):
            return broken
        return [found for found in broken if not any(fnmatchcase(labels[found.label], glob) for glob in globs)]

    return accepts


def _ignore_rule(rule: str) -> Accepts:
    """Where one tensor breaks its rule, sees only what is wrong with each other tensor."""

    def accepts(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        if rule not in {of_fields(found.label) for found in broken}:
            return broken
        of_tensors = (found for found in broken if found.label.startswith(("support/", "tensor/", "binding/")))
        return [found for found in of_tensors if of_fields(found.label) != rule]

    return accepts


def _has_tensor(test: Callable[[TensorDesc], bool]) -> Test:
    return lambda dispatch: any(test(tensor) for _, tensor in dispatch.desc.tensors())


def _of_type(data_type: str) -> Test:
    return _has_tensor(lambda tensor: tensor.data_type == data_type)


_OWNED = abi().tensor_flags["OWNED_BY_DML"]
_MOST = abi().limits["dimension_count"]
_LARGEST = 0xFFFFFFFF

_PARTS: Mapping[str, tuple[str, str, Test]] = {
    "owned-by-dml": ("accepts OWNED_BY_DML", "tensor/*/flags", _has_tensor(lambda tensor: bool(tensor.flags & _OWNED))),
    "unknown-flags": ("accepts unknown flags", "tensor/*/flags", _has_tensor(lambda tensor: bool(tensor.flags & ~_OWNED))),
    "no-dimensions": ("accepts no dimensions", "support/*/dimension-count", _has_tensor(lambda t: t.DimensionCount == 0)),
    "too-many-dimensions": (
        "accepts a dimension too many",
        "support/*/dimension-count",
        _has_tensor(lambda t: t.DimensionCount > _MOST),
    ),
    "next-constant": ("accepts the number after the last constant", "enum/*", lambda d: _LARGEST not in d.desc.fields.values()),
    "largest-constant": ("accepts the largest number for a constant", "enum/*", lambda d: _LARGEST in d.desc.fields.values()),
}
"""Rules that are not enforced for some dispatches: what it does, which rule, which dispatches."""


_OF_ONE: Mapping[str, tuple[str, str]] = {
    "any-data-type": (
        "accepts data types of {} that no table lists, if the other tensors have listed ones",
        "support/{}/data-type",
    ),
    "any-dimension-count": (
        "accepts dimension counts of {} that no table lists, if the others have listed ones",
        "support/{}/dimension-count",
    ),
    "size-of-0": ("accepts a size of 0 in {} alone", "tensor/{}/sizes"),
}
"""Rules about single tensors that are enforced for all but one: what it does, and the rule, of the tensor."""


# Checks done by half


Repair = Callable[[Dispatch], Dispatch]
"""A dispatch as the mutant sees it: what it does not look at is as it should be."""


def _see_repaired(repair: Repair) -> Accepts:
    def accepts(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        seen = repair(dispatch)
        # What is bound must still hold the tensors that are there, and not those that are seen.
        return violations(load(seen.desc.type), seen.desc) or binding_violations(replace(seen, desc=dispatch.desc))

    return accepts


def _with_tensors(dispatch: Dispatch, change: Callable[[str, TensorDesc], TensorDesc]) -> Dispatch:
    desc = dispatch.desc
    return replace(dispatch, desc=desc.with_tensors({name: change(name, tensor) for name, tensor in desc.tensors()}))


def _is_known(tensor: TensorDesc) -> bool:
    return tensor.data_type in abi().data_types


def _repair_tied(what: str, alike: Callable[[Any, Any], bool]) -> Repair:
    """Tensors that must have the same ``what`` (Sizes, DataType) as the first: those whose own is like it, by this test, seen with its own."""

    def repair(dispatch: Dispatch) -> Dispatch:
        firsts: dict[str, TensorDesc] = {}
        tensors = dict(dispatch.desc.tensors())
        for group in plan_of(load(dispatch.desc.type)).tied_groups(what):
            first, *others = [name for of in group for name, _ in dispatch.desc.called(of)] or [""]
            firsts |= dict.fromkeys(others, tensors[first])

        def see_tensor(name: str, tensor: TensorDesc) -> TensorDesc:
            first = firsts.get(name, tensor)
            if what == "Sizes":
                return replace(tensor, sizes=first.sizes) if alike(first.sizes, tensor.sizes) else tensor
            return replace(tensor, data_type=first.data_type) if _is_known(tensor) and alike(first.type, tensor.type) else tensor

        return _with_tensors(dispatch, see_tensor)

    return repair


Sizes = tuple[int, ...]


def _alike_but(ignored: slice) -> Callable[[Sizes, Sizes], bool]:
    """As many sizes, and the same but for those ``ignored``."""
    return lambda a, b: len(a) == len(b) and all(a[at] == b[at] for at in set(range(len(a))) - set(range(len(a))[ignored]))


def _alike_each(test: Callable[[int, int], bool]) -> Callable[[Sizes, Sizes], bool]:
    return lambda first, other: len(first) == len(other) and all(map(test, first, other))


def _bindings(change: Callable[[TensorDesc, BufferBinding], BufferBinding]) -> Repair:
    def repair(dispatch: Dispatch) -> Dispatch:
        tensors = {name: dispatch.desc.tensor(name) for name in dispatch.bindings}
        changed = {name: change(tensors[name], binding) for name, binding in dispatch.bindings.items() if _is_known(tensors[name])}
        return replace(dispatch, bindings={**dispatch.bindings, **changed})

    return repair


def _tensors(fine: Callable[[TensorDesc], bool], **right: Any) -> Repair:
    """Tensor descs that the test finds fine are seen with fields that are right."""
    return lambda dispatch: _with_tensors(dispatch, lambda name, t: replace(t, **right) if _is_known(t) and fine(t) else t)


_ALIKE: Mapping[str, tuple[str, Callable[[DataType, DataType], bool]]] = {
    "width": ("widths", lambda a, b: a.bits == b.bits),
    "kind": ("kinds", lambda a, b: a.kind == b.kind),
}
"""Data types that must be the same, and are compared by half."""

_SIZES: Mapping[str, tuple[str, Callable[[Sizes, Sizes], bool]]] = {
    "by-counts": ("compares the numbers of dimensions and elements alone", lambda a, b: len(a) == len(b) and prod(a) == prod(b)),
    "but-first": ("compares all sizes but the first", _alike_but(slice(None, 1))),
    "but-second": ("compares all sizes but the second", _alike_but(slice(1, 2))),
    "but-last": ("compares all sizes but the last", _alike_but(slice(-1, None))),
    "broadcast": ("accepts sizes of 1 beside others", _alike_each(lambda n, m: n == m or 1 in (n, m))),
    "without-ones": ("ignores sizes of 1", lambda a, b: [n for n in a if n > 1] == [n for n in b if n > 1]),
    "larger": ("accepts tensors larger than the first", _alike_each(lambda n, m: n <= m)),
    "smaller": ("accepts tensors smaller than the first", _alike_each(lambda n, m: n >= m)),
}
"""Sizes that must be the same, and are compared by half."""

_OFFSETS = _bindings(lambda tensor, binding: replace(binding, offset=0) if binding.offset % 8 == 0 else binding)
_SHORT = _bindings(lambda tensor, binding: replace(binding, size=tensor.bytes) if binding.size >= tensor.bytes - 4 else binding)
_TOTALS = _tensors(lambda t: t.total_size is not None and t.total_size >= t.count * t.type.bits // 8, total_size=None)
_POWERS = _tensors(lambda tensor: tensor.alignment & (tensor.alignment - 1) == 0, alignment=0)
_LARGE = _tensors(lambda tensor: tensor.alignment >= tensor.type.size, alignment=0)

_HALVES: Mapping[str, tuple[str, str, Repair]] = {
    "offset-of-8": ("requires offsets to be multiples of 8 alone", "binding/*/offset", _OFFSETS),
    "binding-short-by-4": ("accepts bindings that are 4 bytes short", "binding/*/size", _SHORT),
    "total-size-packed": ("compares total sizes with packed tensors alone", "tensor/*/total-size", _TOTALS),
    "alignment-no-power-of-2": ("accepts alignments that are no powers of 2", "tensor/*/alignment", _LARGE),
    "alignment-below-size": ("accepts alignments below an element's size", "tensor/*/alignment", _POWERS),
}
"""What it does, the rule that is checked by half, and what it sees."""


# Ways to refuse


def _raise(error: Callable[[], Exception]) -> Accepts:
    def accepts(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        raise error()

    return accepts


_WAYS: Mapping[str, tuple[str, Callable[[], Exception]]] = {
    "by-crashing": ("raises an exception of its own where it must refuse", lambda: ZeroDivisionError("planted")),
    "by-fault": ("ends its process where it must refuse", lambda: BackendFault("planted")),
    "as-unsupported": ("reports what it must refuse as unsupported", lambda: Unsupported("planted")),
    "at-another-stage": ("refuses everything at dispatch", lambda: Rejected("planted", "dispatch")),
}
