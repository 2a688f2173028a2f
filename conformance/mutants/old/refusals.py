"""Faults of validation: refusals of what is valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dmlcts.conformance.backend import Dispatch
from dmlcts.conformance.mutants.old.mutant import Mutant
from dmlcts.conformance.mutants.old.validation import Test, any_tensor, of_dimensions
from dmlcts.generator.attributes import constant_values, has_value, value_text
from dmlcts.generator.layouts import INPUT_LAYOUTS, OUTPUT_LAYOUTS, laid_out
from dmlcts.generator.shapes import dimension_counts
from dmlcts.generator.types import type_choices
from dmlcts.spec.abi import abi
from dmlcts.spec.desc import TensorDesc
from dmlcts.spec.model import Operator
from dmlcts.spec.rules import Violation

Tensors = Callable[[Dispatch], list[TensorDesc]]


def refusal_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every refusal of something valid, for the operators that may be asked for it."""
    everyone = tuple(operator.name for operator in operators)
    for name, (what, test) in _REFUSALS.items():
        yield _refusing(name, everyone, what, test)
    two = tuple(operator.name for operator in operators if len(operator.inputs()) > 1)
    yield _refusing("different-strides", two, "inputs of different strides", _different_strides)
    yield _refusing(
        "in-place", tuple(operator.name for operator in operators if operator.in_place), "in-place execution", _in_place
    )
    together = tuple(o.name for o in operators if any(p.together and len(p.inputs) > 1 for p in o.in_place))
    yield _refusing("in-place-together", together, "in-place execution on several inputs", _together)
    for data_type in abi().data_types:
        for role, index, tensors in (("input", 0, _inputs), ("output", -1, _outputs)):
            concerned = tuple(o.name for o in operators if any(choice.types[index][1] == data_type for choice in type_choices(o)))
            yield _refusing(f"{data_type}/{role}", concerned, f"{data_type} as {role}", _of_type(tensors, data_type))
    for count in range(1, abi().limits["dimension_count"] + 1):
        concerned = tuple(o.name for o in operators if any(count in dimension_counts(o, choice) for choice in type_choices(o)))
        yield _refusing(f"{count}-dimensions", concerned, f"{count} dimensions", of_dimensions(count))
    for operator in operators:
        for field, value in constant_values(operator):
            what = f"{field.name}={value_text(value)}"
            yield _refusing(f"{operator.name}/{what}", (operator.name,), what, _of_value(field.name, value))


def _refusing(name: str, operators: tuple[str, ...], what: str, test: Test) -> Mutant:
    def rules(dispatch: Dispatch, broken: list[Violation]) -> list[Violation]:
        return broken or ([Violation("field/refused", f"no {what} here")] if test(dispatch) else [])

    first = next((kinds for kinds, names in _FIRST.items() if name.startswith(names)), ())
    return Mutant(f"refuses/{name}", operators, f"refuses {what}", first=first, rules=rules, rejections=False)


def _of_type(tensors: Tensors, data_type: str) -> Test:
    return lambda dispatch: any(tensor.data_type == data_type for tensor in tensors(dispatch))


def _of_value(name: str, value: object) -> Test:
    return lambda dispatch: has_value(dispatch.desc, name, value)


def _outputs(dispatch: Dispatch) -> list[TensorDesc]:
    return [dispatch.desc.tensor(name) for name in dispatch.outputs]


def _inputs(dispatch: Dispatch) -> list[TensorDesc]:
    return [tensor for name, tensor in dispatch.desc.tensors() if name not in dispatch.outputs]


def _laid_out(tensors: Tensors, layout: str) -> Test:
    return lambda dispatch: any(
        tensor.strides is not None and tensor.strides == laid_out(tensor, layout).strides for tensor in tensors(dispatch)
    )


def _different_strides(dispatch: Dispatch) -> bool:
    return len({tensor.effective_strides for tensor in _inputs(dispatch)}) > 1


def _together(dispatch: Dispatch) -> bool:
    return len(dispatch.bindings) > 2 and len({binding.resource for binding in dispatch.bindings.values()}) == 1


def _in_place(dispatch: Dispatch) -> bool:
    return len({binding.resource for binding in dispatch.bindings.values()}) < len(dispatch.bindings)


_FIRST: dict[tuple[str, ...], tuple[str, ...]] = {
    ("layout",): ("strides", "output-", "input-", "different-strides", "no-strides"),
    ("in-place",): ("in-place",),
    ("slack", "offset", "placement"): ("offsets", "total-size", "larger-binding", "alignment"),
    ("sizes",): ("single", "first-size", "odd-", "beyond-", "long-rows"),
}
"""The kinds of cases that find refusals whose names begin so."""

_REFUSALS: dict[str, tuple[str, Test]] = {
    "strides": ("strides", any_tensor(lambda tensor: tensor.strides is not None)),
    "no-strides": ("tensors without strides", any_tensor(lambda tensor: tensor.strides is None)),
    "output-strides": ("strides of the output", lambda d: any(tensor.strides is not None for tensor in _outputs(d))),
    "strides-beyond-4d": ("strides of more than 4 dimensions", any_tensor(lambda t: t.strides is not None and len(t.strides) > 4)),
    **{f"input-{layout}": (f"{layout} inputs", _laid_out(_inputs, layout)) for layout in INPUT_LAYOUTS if layout != "packed"},
    **{f"output-{layout}": (f"{layout} outputs", _laid_out(_outputs, layout)) for layout in OUTPUT_LAYOUTS if layout != "packed"},
    "single-element": ("single elements", any_tensor(lambda tensor: tensor.count == 1)),
    "first-size-1": ("a first size of 1", any_tensor(lambda tensor: tensor.sizes[0] == 1)),
    "first-size-not-1": ("a first size other than 1", any_tensor(lambda tensor: tensor.sizes[0] != 1)),
    "odd-count": ("odd numbers of elements", any_tensor(lambda tensor: tensor.count % 2 == 1)),
    "odd-bytes": ("tensors of no multiple of 4 bytes", any_tensor(lambda t: t.count * t.type.bits % 32 != 0)),
    "beyond-65536": ("more than 65,536 elements", any_tensor(lambda tensor: tensor.count > 65536)),
    "long-rows": ("rows of more than 16,384 elements", any_tensor(lambda tensor: tensor.sizes[-1] > 16384)),
    "offsets": ("bindings that do not begin the resource", lambda d: any(b.offset for b in d.bindings.values())),
    "total-size-given": (
        "total sizes beyond the least",
        any_tensor(lambda t: t.total_size is not None and t.total_size > t.least_bytes),
    ),
    "larger-binding": (
        "bindings larger than the tensor",
        lambda d: any(b.size > d.desc.tensor(n).bytes for n, b in d.bindings.items()),
    ),
    "alignment-given": ("a guaranteed alignment", any_tensor(lambda tensor: tensor.alignment > 0)),
}
"""By name: what is refused, and when that is."""
