"""Faults of validation: rules that are not enforced, or not wholly, refusals of what is valid, and wrong ways to refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import prod

from dmlcts.conformance.backend import BackendFault, BufferBinding, Dispatch, Rejected, Unsupported
from dmlcts.conformance.mutants.mutant import Mutant, Rules, broken_rules
from dmlcts.generator.layouts import INPUT_LAYOUTS, OUTPUT_LAYOUTS, laid_out
from dmlcts.generator.shapes import attribute_values, dimension_counts, tied_tensors, type_choices
from dmlcts.spec.abi import abi
from dmlcts.spec.desc import UNKNOWN, TensorDesc
from dmlcts.spec.model import DOCUMENTED, MEASURED, Operator
from dmlcts.spec.rules import Violation

Test = Callable[[Dispatch], bool]

Sizes = tuple[int, ...]

_FIRST = ("negative",)


def validation_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every fault of validation, for the operators that it can show in."""
    yield from _unenforced(operators)
    yield from _half_enforced(operators)
    yield from _refusals(operators)
    everyone = tuple(operator.name for operator in operators)
    for name, (does, reason, rules) in _WAYS.items():
        yield Mutant(f"refuses/{name}", everyone, does, equivalent=reason, first=_FIRST, rules=rules)


def _names(operators: Sequence[Operator], test: Callable[[Operator], bool] = lambda operator: True) -> tuple[str, ...]:
    return tuple(operator.name for operator in operators if test(operator))


# Rules that are not enforced


def _accepting(*patterns: str) -> Rules:
    """Takes no notice of rules whose labels are like one of the patterns."""
    return lambda dispatch, broken: [v for v in broken if not any(fnmatchcase(v.label, pattern) for pattern in patterns)]


def _accepting_where(test: Test, *patterns: str) -> Rules:
    """The same, for some dispatches alone."""
    accepting = _accepting(*patterns)
    return lambda dispatch, broken: accepting(dispatch, broken) if test(dispatch) else broken


_TENSOR_RULES: dict[str, tuple[str, str, str]] = {
    "tensor-missing": ("field/{}", "accepts a desc without the {}", DOCUMENTED),
    "total-size": ("tensor/{}/total-size", "accepts any TotalTensorSizeInBytes of the {}", DOCUMENTED),
    "flags": ("tensor/{}/flags", "accepts any flags of the {}", DOCUMENTED),
    "alignment": ("tensor/{}/alignment", "accepts any GuaranteedBaseOffsetAlignment of the {}", DOCUMENTED),
    "unbound": ("binding/{}", "accepts a dispatch without the {}", DOCUMENTED),
    "binding-size": ("binding/{}/size", "accepts too few bytes bound to the {}", DOCUMENTED),
    "binding-offset": ("binding/{}/offset", "accepts an unaligned offset of the {}", DOCUMENTED),
}
"""Rules of each tensor alone: label, what the mutant does, basis."""


def _places(operator: Operator) -> dict[str, str]:
    """The tensors of an operator by place: ``input-0``, ``input-1``, ``output-0``."""
    inputs = {f"input-{index}": field.name for index, field in enumerate(operator.inputs())}
    return inputs | {f"output-{index}": field.name for index, field in enumerate(operator.outputs())}


def _unenforced(operators: Sequence[Operator]) -> Iterator[Mutant]:
    places = {operator.name: _places(operator) for operator in operators}
    for place in sorted({place for known in places.values() for place in known}):
        concerned = _names(operators, lambda operator, place=place: place in places[operator.name])  # type: ignore[misc]
        for name, (label, does, basis) in _TENSOR_RULES.items():
            rules = _accepting_at(place, label, places)
            yield Mutant(f"accepts/{name}/{place}", concerned, does.format(place), basis=basis, first=_FIRST, rules=rules)
    for label in sorted({constraint.label for operator in operators for constraint in operator.constraints}):
        concerned = _names(operators, lambda o, label=label: label in {c.label for c in o.constraints})  # type: ignore[misc]
        reason = "sizes of different number are different sizes" if label == "same-dimension-count" else ""
        does = f"does not demand {label}"
        yield Mutant(
            f"accepts/{label}", concerned, does, equivalent=reason, first=_FIRST, rules=_accepting(f"constraint/{label}", "shape/*")
        )
    everyone = _names(operators)
    for name, (patterns, does) in _GENERAL_RULES.items():
        yield Mutant(f"accepts/{name}", everyone, does, first=_FIRST, rules=_accepting(*patterns))
    overlap = _accepting("tensor/*/overlap")
    yield Mutant("accepts/overlap", everyone, "accepts outputs whose elements lie on one another", MEASURED, first=_FIRST, rules=overlap)
    enumerations = _names(operators, lambda operator: any(field.enum for field in operator.attributes()))
    for name, (does, test) in _CONSTANTS.items():
        yield Mutant(f"accepts/enum-{name}", enumerations, does, first=_FIRST, rules=_accepting_where(test, "enum/*"))
    for data_type in (*abi().data_types, UNKNOWN):
        yield from _unlisted_types(operators, data_type)
    for count in (0, abi().limits["dimension_count"] + 1):
        rules = _accepting_where(_of_dimensions(count), "support/*/dimension-count")
        yield Mutant(f"accepts/{count}-dimensions", everyone, f"accepts {count} dimensions", first=_FIRST, rules=rules)
    owned = abi().tensor_flags["OWNED_BY_DML"]
    for name, test in (("owned-by-dml", lambda flags: flags & owned), ("unknown-flags", lambda flags: flags & ~owned)):
        rules = _accepting_where(_any_tensor(lambda tensor, test=test: bool(test(tensor.flags))), "tensor/*/flags")  # type: ignore[misc]
        yield Mutant(f"accepts/{name}", everyone, f"accepts {name.replace('-', ' ')}", first=_FIRST, rules=rules)


def _accepting_at(place: str, label: str, places: Mapping[str, Mapping[str, str]]) -> Rules:
    return lambda dispatch, broken: _accepting(label.format(places[dispatch.desc.type][place]))(dispatch, broken)


_GENERAL_RULES: dict[str, tuple[tuple[str, ...], str]] = {
    "everything": (("*",), "accepts everything"),
    "any-desc": (("field/*", "enum/*", "support/*", "tensor/*", "constraint/*", "shape/*"), "checks bindings alone"),
    "any-binding": (("binding/*",), "checks descs alone"),
    "any-data-type": (("support/*/data-type",), "accepts any data type"),
    "any-dimension-count": (("support/*/dimension-count",), "accepts any number of dimensions"),
    "size-0": (("tensor/*/sizes",), "accepts sizes of 0"),
}

_CONSTANTS: dict[str, tuple[str, Test]] = {
    "any": ("accepts any number for a constant", lambda dispatch: True),
    "next": ("accepts the number after the last constant", lambda dispatch: 0xFFFFFFFF not in dispatch.desc.fields.values()),
    "largest": ("accepts the largest number for a constant", lambda dispatch: 0xFFFFFFFF in dispatch.desc.fields.values()),
}


def _unlisted_types(operators: Sequence[Operator], data_type: str) -> Iterator[Mutant]:
    """A data type accepted that the table does not list: for each group of tensors that must be of one type."""
    concerned: dict[str, dict[str, tuple[str, ...]]] = {}
    for operator in operators:
        for index, group in enumerate(tied_tensors(operator, "DataType")):
            if all(dict(choice.types)[group[0]] != data_type for choice in type_choices(operator)):
                concerned.setdefault(f"group-{index}", {})[operator.name] = group
    for name, groups in concerned.items():
        rules = _accepting_where(_of_type(groups, data_type), "support/*/data-type")
        does = f"accepts {data_type}, which the table does not list"
        yield Mutant(f"accepts/{data_type}/{name}", tuple(groups), does, first=_FIRST, rules=rules)


def _of_type(groups: Mapping[str, tuple[str, ...]], data_type: str) -> Test:
    """Whether the group's tensors are of the type."""

    def test(dispatch: Dispatch) -> bool:
        tensors = dict(dispatch.desc.tensors())
        return all(name in tensors and tensors[name].data_type == data_type for name in groups[dispatch.desc.type])

    return test


def _of_dimensions(count: int) -> Test:
    return lambda dispatch: all(tensor.DimensionCount == count for _, tensor in dispatch.desc.tensors())


def _any_tensor(test: Callable[[TensorDesc], bool]) -> Test:
    return lambda dispatch: any(test(tensor) for _, tensor in dispatch.desc.tensors())


# Rules that are enforced by half


def _seeing(repair: Callable[[Dispatch], Dispatch]) -> Rules:
    """Checks what ``repair`` makes of a dispatch: what the mutant does not look at is then as it should be."""
    return lambda dispatch, broken: broken_rules(repair(dispatch)) if broken else broken


def _with_tensors(dispatch: Dispatch, change: Callable[[str, TensorDesc], TensorDesc]) -> Dispatch:
    desc = dispatch.desc
    return replace(dispatch, desc=desc.with_fields(**{name: change(name, tensor) for name, tensor in desc.tensors()}))


def _sizes_alike(alike: Callable[[Sizes, Sizes], bool]) -> Callable[[Dispatch], Dispatch]:
    """Tensors whose sizes are like the first one's, by this test, seen with its sizes."""

    def repair(dispatch: Dispatch) -> Dispatch:
        first = next((tensor.sizes for _, tensor in dispatch.desc.tensors()), ())
        return _with_tensors(dispatch, lambda name, t: replace(t, sizes=first) if alike(first, t.sizes) else t)

    return repair


def _types_alike(alike: Callable[[TensorDesc, TensorDesc], bool]) -> Callable[[Dispatch], Dispatch]:
    """Tensors whose data type is like the first one's, by this test, seen with its type."""

    def repair(dispatch: Dispatch) -> Dispatch:
        first = next(tensor for _, tensor in dispatch.desc.tensors())
        return _with_tensors(dispatch, lambda name, t: replace(t, data_type=first.data_type) if alike(first, t) else t)

    return repair


def _known(*tensors: TensorDesc) -> bool:
    return all(tensor.data_type in abi().data_types for tensor in tensors)


def _broadcastable(first: Sizes, other: Sizes) -> bool:
    pairs = zip(reversed(first), reversed(other), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def _bindings(change: Callable[[TensorDesc, BufferBinding], BufferBinding]) -> Callable[[Dispatch], Dispatch]:
    def repair(dispatch: Dispatch) -> Dispatch:
        changed = {name: change(dispatch.desc.tensor(name), binding) for name, binding in dispatch.bindings.items()}
        return replace(dispatch, bindings=changed)

    return repair


def _aligned_to(bytes_: int) -> Callable[[Dispatch], Dispatch]:
    return _bindings(lambda tensor, binding: replace(binding, offset=0) if binding.offset % bytes_ == 0 else binding)


def _bound_almost(missing: int) -> Callable[[Dispatch], Dispatch]:
    """Bindings that are short by so many bytes at most seen as whole."""
    return _bindings(lambda t, b: replace(b, size=t.bytes) if b.size >= t.bytes - missing else b)


def _total_size(fine: Callable[[TensorDesc, int], bool]) -> Callable[[Dispatch], Dispatch]:
    """Total sizes that the test finds fine are not looked at further."""
    return lambda dispatch: _with_tensors(
        dispatch,
        lambda name, t: replace(t, total_size=None) if t.total_size is not None and _known(t) and fine(t, t.total_size) else t,
    )


def _packed_bytes(tensor: TensorDesc) -> int:
    return tensor.count * tensor.type.bits // 8


_HALVES: dict[str, tuple[str, Callable[[Dispatch], Dispatch], str]] = {
    "sizes-by-count": ("compares the numbers of elements alone", _sizes_alike(lambda a, b: prod(a) == prod(b)), "same-sizes"),
    "sizes-by-last": ("compares the last sizes alone", _sizes_alike(lambda a, b: a[-1:] == b[-1:]), "same-sizes"),
    "sizes-by-first": ("compares the first sizes alone", _sizes_alike(lambda a, b: a[:1] == b[:1]), "same-sizes"),
    "sizes-but-last": ("compares all sizes but the last", _sizes_alike(lambda a, b: a[:-1] == b[:-1]), "same-sizes"),
    "sizes-broadcast": ("accepts sizes of 1 beside others", _sizes_alike(_broadcastable), "same-sizes"),
    "sizes-without-ones": (
        "takes no notice of sizes of 1 in front",
        _sizes_alike(lambda a, b: tuple(n for n in a if n > 1) == tuple(n for n in b if n > 1)),
        "same-sizes",
    ),
    "larger-inputs": (
        "accepts tensors that are larger than the first",
        _sizes_alike(lambda a, b: len(a) == len(b) and all(n <= m for n, m in zip(a, b, strict=True))),
        "same-sizes",
    ),
    "types-by-width": (
        "compares the widths of data types alone",
        _types_alike(lambda a, b: _known(a, b) and a.type.bits == b.type.bits),
        "same-data-type",
    ),
    "types-by-kind": (
        "compares the kinds of data types alone",
        _types_alike(lambda a, b: _known(a, b) and a.type.kind == b.type.kind),
        "same-data-type",
    ),
    "offset-of-4": ("demands offsets that are multiples of 4 alone", _aligned_to(4), ""),
    "offset-of-8": ("demands offsets that are multiples of 8 alone", _aligned_to(8), ""),
    "binding-short-by-4": ("accepts bindings that are 4 bytes short", _bound_almost(4), ""),
    "total-size-odd": ("accepts total sizes that are no multiples of 4", _total_size(lambda t, n: n >= t.least_bytes), ""),
    "total-size-packed": ("compares total sizes with packed tensors alone", _total_size(lambda t, n: n >= _packed_bytes(t)), ""),
    "alignment-not-of-2": (
        "accepts alignments that are no powers of 2",
        lambda dispatch: _with_tensors(dispatch, lambda name, t: replace(t, alignment=0) if t.alignment > 8 else t),
        "",
    ),
}
"""By name: what it does, what it sees, and the constraint that it is about."""


def _half_enforced(operators: Sequence[Operator]) -> Iterator[Mutant]:
    for name, (does, repair, constraint) in _HALVES.items():
        concerned = _names(
            operators,
            lambda o, constraint=constraint: not constraint or constraint in {c.label for c in o.constraints},  # type: ignore[misc]
        )
        yield Mutant(f"accepts/{name}", concerned, does, first=_FIRST, rules=_seeing(repair))


# Refusals of what is valid


def _refusing(test: Test) -> Rules:
    return lambda dispatch, broken: broken or ([Violation("field/refused", "not this one")] if test(dispatch) else [])


def _outputs(dispatch: Dispatch) -> list[TensorDesc]:
    return [dispatch.desc.tensor(name) for name in dispatch.outputs]


def _inputs(dispatch: Dispatch) -> list[TensorDesc]:
    return [tensor for name, tensor in dispatch.desc.tensors() if name not in dispatch.outputs]


def _laid_out(tensors: Callable[[Dispatch], list[TensorDesc]], layout: str) -> Test:
    return lambda dispatch: any(
        tensor.strides is not None and tensor.strides == laid_out(tensor, layout).strides for tensor in tensors(dispatch)
    )


def _in_place(dispatch: Dispatch) -> bool:
    return len({binding.resource for binding in dispatch.bindings.values()}) < len(dispatch.bindings)


_REFUSALS: dict[str, tuple[str, Test]] = {
    "strides": ("strides", _any_tensor(lambda tensor: tensor.strides is not None)),
    "no-strides": ("tensors without strides", _any_tensor(lambda tensor: tensor.strides is None)),
    "output-strides": ("strides of the output", lambda d: any(tensor.strides is not None for tensor in _outputs(d))),
    "different-strides": ("inputs of different strides", lambda d: len({tensor.effective_strides for tensor in _inputs(d)}) > 1),
    "strides-beyond-4d": ("strides of more than 4 dimensions", _any_tensor(lambda t: t.strides is not None and len(t.strides) > 4)),
    **{f"input-{layout}": (f"{layout} inputs", _laid_out(_inputs, layout)) for layout in INPUT_LAYOUTS if layout != "packed"},
    **{f"output-{layout}": (f"{layout} outputs", _laid_out(_outputs, layout)) for layout in OUTPUT_LAYOUTS if layout != "packed"},
    "single-element": ("single elements", _any_tensor(lambda tensor: tensor.count == 1)),
    "first-size-1": ("a first size of 1", _any_tensor(lambda tensor: tensor.sizes[0] == 1)),
    "first-size-not-1": ("a first size other than 1", _any_tensor(lambda tensor: tensor.sizes[0] != 1)),
    "odd-count": ("odd numbers of elements", _any_tensor(lambda tensor: tensor.count % 2 == 1)),
    "odd-bytes": ("tensors of no multiple of 4 bytes", _any_tensor(lambda t: t.count * t.type.bits % 32 != 0)),
    "beyond-65536": ("more than 65,536 elements", _any_tensor(lambda tensor: tensor.count > 65536)),
    "long-rows": ("rows of more than 16,384 elements", _any_tensor(lambda tensor: tensor.sizes[-1] > 16384)),
    "offsets": ("bindings that do not begin the resource", lambda d: any(b.offset for b in d.bindings.values())),
    "total-size-given": ("total sizes beyond the least", _any_tensor(lambda t: t.total_size is not None and t.total_size > t.least_bytes)),
    "larger-binding": ("bindings larger than the tensor", lambda d: any(b.size > d.desc.tensor(n).bytes for n, b in d.bindings.items())),
    "alignment-given": ("a guaranteed alignment", _any_tensor(lambda tensor: tensor.alignment > 0)),
}
"""By name: what is refused, and when that is."""


def _refusals(operators: Sequence[Operator]) -> Iterator[Mutant]:
    everyone = _names(operators)
    for name, (what, test) in _REFUSALS.items():
        yield Mutant(f"refuses/{name}", everyone, f"refuses {what}", rules=_refusing(test))
    allowed = _names(operators, lambda operator: bool(operator.in_place))
    yield Mutant("refuses/in-place", allowed, "refuses in-place execution", first=("in-place",), rules=_refusing(_in_place))
    for data_type in abi().data_types:
        for role, tensors in (("input", _inputs), ("output", _outputs)):
            fields = {o.name: (o.inputs() if role == "input" else o.outputs())[0].name for o in operators}
            concerned = _names(
                operators,
                lambda o, fields=fields, t=data_type: any(dict(c.types)[fields[o.name]] == t for c in type_choices(o)),  # type: ignore[misc]
            )
            if concerned:
                rules = _refusing(lambda d, tensors=tensors, t=data_type: any(tensor.data_type == t for tensor in tensors(d)))  # type: ignore[misc]
                yield Mutant(f"refuses/{data_type}/{role}", concerned, f"refuses {data_type} as {role}", rules=rules)
    for count in range(1, abi().limits["dimension_count"] + 1):
        concerned = _names(
            operators,
            lambda o, count=count: any(count in dimension_counts(o, choice) for choice in type_choices(o)),  # type: ignore[misc]
        )
        yield Mutant(
            f"refuses/{count}-dimensions", concerned, f"refuses {count} dimensions", rules=_refusing(_of_dimensions(count))
        )
    for operator in operators:
        for field in operator.attributes():
            for value in attribute_values(field):
                rules = _refusing(lambda d, name=field.name, value=value: d.desc.fields[name] == value)  # type: ignore[misc]
                does = f"refuses {value} for {field.name}"
                yield Mutant(f"refuses/{operator.name}/{field.name}={value}", (operator.name,), does, rules=rules)


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
