"""Faults of validation: rules that are not enforced, and wrong ways to refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from dmlcts.conformance.backend import BackendFault, Dispatch, Rejected, Unsupported
from dmlcts.conformance.mutants.old.mutant import Mutant, Rules
from dmlcts.generator.types import tied_tensors, type_choices
from dmlcts.spec.abi import abi
from dmlcts.spec.desc import UNKNOWN, TensorDesc
from dmlcts.spec.loader import load
from dmlcts.spec.model import DOCUMENTED, MEASURED, Constraint, Operator
from dmlcts.spec.rules import Violation

Test = Callable[[Dispatch], bool]


def validation_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every rule not enforced, for the operators that have it, and every wrong way to refuse."""
    everyone = tuple(operator.name for operator in operators)
    yield from _rules_of_tensors(operators)
    for label in sorted({constraint.label for operator in operators for constraint in operator.constraints}):
        # What a newer feature level lifted, the mutants, which have the newest, do not demand anyway.
        demanding = [(o, c) for o in operators for c in o.constraints if c.label == label and c.before is None]
        implied = tuple(o.name for o, constraint in demanding if _implied(o, constraint))
        waived = tuple(o.name for o, _ in demanding if o.name not in implied and f"constraint/{label}" in not_enforced(o))
        concerned = tuple(o.name for o, _ in demanding if o.name not in (*implied, *waived))
        bases = {constraint.basis for _, constraint in demanding}
        basis = MEASURED if bases == {MEASURED} else DOCUMENTED
        rules = accepting(f"constraint/{label}", "shape/*")
        does = f"does not demand {label}"
        if implied:
            yield Mutant(f"accepts/{label}", implied, does, equivalent=_IMPLIED, rejections=True, rules=rules)
        if waived:
            alone = accepting(f"constraint/{label}")  # shapes are demanded all the same
            yield Mutant(f"accepts/{label}/waived", waived, does, equivalent=ACCEPTED, rejections=True, rules=alone)
        if concerned:
            name = f"accepts/{label}/alone" if implied else f"accepts/{label}"
            yield Mutant(name, concerned, does, basis, rejections=True, rules=rules)
    for name, (patterns, does, basis) in _GENERAL.items():
        yield Mutant(f"accepts/{name}", everyone, does, basis, rejections=True, rules=accepting(*patterns))
    for name, (does, test, pattern) in _PARTS.items():
        yield Mutant(f"accepts/{name}", everyone, does, rejections=True, rules=accepting_where(test, pattern))
    enumerations = tuple(o.name for o in operators if any(field.enum for field in o.attributes()))
    for name, (does, test) in _CONSTANTS.items():
        rules = _accepting_about(test, _about_constants, "enum/*")
        yield Mutant(f"accepts/enum-{name}", enumerations, does, rejections=True, rules=rules)
    for data_type in (*abi().data_types, UNKNOWN):
        yield from _unlisted_types(operators, data_type)
    for name, (does, reason, rules) in _WAYS.items():
        yield Mutant(f"refuses/{name}", everyone, does, equivalent=reason, rejections=True, rules=rules)


def accepting(*patterns: str) -> Rules:
    """Takes no notice of rules whose labels are like one of the patterns."""
    return lambda dispatch, broken: [v for v in broken if not any(fnmatchcase(v.label, pattern) for pattern in patterns)]


def accepting_where(test: Test, *patterns: str) -> Rules:
    """The same, for some dispatches alone."""
    some = accepting(*patterns)
    return lambda dispatch, broken: some(dispatch, broken) if test(dispatch) else broken


def any_tensor(test: Callable[[TensorDesc], bool]) -> Test:
    """Whether a tensor of the dispatch passes the test."""
    return lambda dispatch: any(test(tensor) for _, tensor in dispatch.desc.tensors())


def of_dimensions(count: int) -> Test:
    """Whether a tensor has so many dimensions."""
    return any_tensor(lambda tensor: tensor.DimensionCount == count)


# Rules of each tensor alone

_TENSOR_RULES: dict[str, tuple[str, str]] = {
    "missing": ("field/{}", "accepts a desc without {}"),
    "total-size": ("tensor/{}/total-size", "accepts any TotalTensorSizeInBytes of {}"),
    "flags": ("tensor/{}/flags", "accepts any flags of {}"),
    "alignment": ("tensor/{}/alignment", "accepts any GuaranteedBaseOffsetAlignment of {}"),
    "unbound": ("binding/{}", "accepts a dispatch without {}"),
    "binding-size": ("binding/{}/size", "accepts too few bytes bound to {}"),
    "binding-offset": ("binding/{}/offset", "accepts an unaligned offset of {}"),
}
"""Label and what the mutant does."""


def _rules_of_tensors(operators: Sequence[Operator]) -> Iterator[Mutant]:
    places: dict[str, dict[str, str]] = {}
    for operator in operators:
        for role, fields in (("input", operator.inputs()), ("output", operator.outputs())):
            for index, field in enumerate(fields):
                places.setdefault(f"{role}-{index}", {})[operator.name] = field.name
    optional = {(operator.name, field.name) for operator in operators for field in operator.fields if field.optional}
    for place, everyone in places.items():
        for name, (label, does) in _TENSOR_RULES.items():
            names = {o: field for o, field in everyone.items() if name not in ("missing", "unbound") or (o, field) not in optional}
            if not names:
                continue
            rules = _accepting_in(label, names)
            yield Mutant(f"accepts/{name}/{place}", tuple(names), does.format(place), rejections=True, rules=rules)


def _accepting_in(label: str, names: Mapping[str, str]) -> Rules:
    """Takes no notice of a rule about one tensor, whose name depends on the operator."""
    return lambda dispatch, broken: accepting(label.format(names[dispatch.desc.type]))(dispatch, broken)


# Rules of the whole desc or binding

ACCEPTED = "DirectML.dll accepts it: a refusal is demanded of nobody"


def not_enforced(operator: Operator) -> set[str]:
    """The rules that DirectML.dll was measured not to enforce, whatever the data types."""
    return {entry.rule for entry in operator.accepts if not entry.data_types}


_IMPLIED = "sizes of different number are different sizes"


def _implied(operator: Operator, constraint: Constraint) -> bool:
    """Whether tensors that must have the same number of dimensions must have the same sizes anyway."""
    tied = (set(other.tensors) for other in operator.constraints if other.same == "Sizes")
    return constraint.same == "DimensionCount" and any(set(constraint.tensors) <= tensors for tensors in tied)


_GENERAL: dict[str, tuple[tuple[str, ...], str, str]] = {
    "everything": (("*",), "accepts everything", DOCUMENTED),
    "any-desc": (("field/*", "enum/*", "support/*", "tensor/*", "constraint/*", "shape/*"), "checks bindings alone", DOCUMENTED),
    "any-binding": (("binding/*",), "checks descs alone", DOCUMENTED),
    "any-data-type": (("support/*/data-type",), "accepts any data type", DOCUMENTED),
    "any-dimension-count": (("support/*/dimension-count",), "accepts any number of dimensions", DOCUMENTED),
    "size-0": (("tensor/*/sizes",), "accepts sizes of 0", DOCUMENTED),
    "overlap": (("tensor/*/overlap",), "accepts outputs whose elements lie on one another", MEASURED),
}

_OWNED = abi().tensor_flags["OWNED_BY_DML"]

_PARTS: dict[str, tuple[str, Test, str]] = {
    "owned-by-dml": ("accepts OWNED_BY_DML", any_tensor(lambda tensor: bool(tensor.flags & _OWNED)), "tensor/*/flags"),
    "unknown-flags": ("accepts unknown flags", any_tensor(lambda tensor: bool(tensor.flags & ~_OWNED)), "tensor/*/flags"),
    "no-dimensions": ("accepts no dimensions", of_dimensions(0), "support/*/dimension-count"),
    "too-many-dimensions": (
        "accepts one dimension too many",
        of_dimensions(abi().limits["dimension_count"] + 1),
        "support/*/dimension-count",
    ),
}
"""Rules that are not enforced for some descs: what the mutant does, which descs, which rule."""

_CONSTANTS: dict[str, tuple[str, Test]] = {
    "any": ("accepts any number for a constant", lambda dispatch: True),
    "next": ("accepts the number after the last constant", lambda dispatch: 0xFFFFFFFF not in dispatch.desc.fields.values()),
    "largest": ("accepts the largest number for a constant", lambda dispatch: 0xFFFFFFFF in dispatch.desc.fields.values()),
}


def _unlisted_types(operators: Sequence[Operator], data_type: str) -> Iterator[Mutant]:
    """A data type accepted that no table lists: for each group of tensors that must be of one type."""
    concerned: dict[int, dict[str, tuple[str, ...]]] = {}
    for operator in operators:
        for index, group in enumerate(tied_tensors(operator, "DataType")):
            if all(dict(choice.types)[group[0]] != data_type for choice in type_choices(operator)):
                concerned.setdefault(index, {})[operator.name] = group
    for index, groups in concerned.items():
        rules = _accepting_about(_of_type(groups, data_type), _about_types, "support/*/data-type", "enum/*")
        does = f"accepts {data_type} where no table lists it"
        yield Mutant(f"accepts/{data_type}/group-{index}", tuple(groups), does, rejections=True, rules=rules)


def _accepting_about(test: Test, about: Callable[[Operator, Constraint], bool], *patterns: str) -> Rules:
    """No notice of rules, nor of the constraints about the same thing, which would refuse what breaks it."""

    def rules(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        operator = load(dispatch.desc.type)
        labels = [f"constraint/{constraint.label}" for constraint in operator.constraints if about(operator, constraint)]
        return accepting_where(test, *patterns, *labels)(dispatch, broken)

    return rules


def _about_types(operator: Operator, constraint: Constraint) -> bool:
    return constraint.same == "DataType" or (constraint.that is not None and "DataType" in constraint.that.text)


def _about_constants(operator: Operator, constraint: Constraint) -> bool:
    constants = {field.name for field in operator.attributes() if field.enum}
    return constraint.that is not None and not constants.isdisjoint(constraint.that.names)


def _of_type(groups: Mapping[str, tuple[str, ...]], data_type: str) -> Test:
    """Whether the operator's group of tensors is of the type."""

    def test(dispatch: Dispatch) -> bool:
        tensors = dict(dispatch.desc.tensors())
        return all(tensors[name].data_type == data_type for name in groups[dispatch.desc.type] if name in tensors)

    return test


# Ways to refuse


def _raising(error: Callable[[], Exception]) -> Rules:
    def rules(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        if broken:
            raise error()
        return broken

    return rules


_WAYS: dict[str, tuple[str, str, Rules]] = {
    "by-crashing": ("raises an exception of its own where it must refuse", "", _raising(lambda: ZeroDivisionError("planted"))),
    "by-fault": ("ends its process where it must refuse", "", _raising(lambda: BackendFault("planted"))),
    "as-unsupported": (
        "says that it does not support what it must refuse",
        "nothing false is claimed: such cases count as unsupported, never as passed, and the report shows them",
        _raising(lambda: Unsupported("planted")),
    ),
    "at-another-stage": (
        "refuses everything at dispatch",
        "no document says at which stage an implementation refuses",
        _raising(lambda: Rejected("planted", "dispatch")),
    ),
}
