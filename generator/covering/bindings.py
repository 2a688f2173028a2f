"""What is bound in a case of a covering array: layouts, tensors in place, owned inputs, offsets, shared resources, slack and data.

A packed desc decides which of these make a difference: a permuted tensor of one dimension is packed, and two tensors share memory only if
they are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from random import Random

from dmlcts.generator.case.build import random_data
from dmlcts.generator.case.case import OFFSETS, Binding, Data
from dmlcts.generator.facts.factors import ANY, USUAL, Factor, Model
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.values.layouts import has_layout, laid_out, layouts_of
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, field_of
from dmlcts.spec.model.operator import DOCUMENTED, Operator

_GAPS = (3, 1, 2, 5, 8, 16, 61)
"""Elements between the rows, planes... of a tensor with gaps."""

_LARGE = 1 << 20
"""Bytes of a tensor with gaps above which they have one element: many short rows with long gaps cost as much as all else."""

_EXPLICIT = 0.3
"""How many packed tensors have explicit strides."""


def is_allowed(model: Model, desc: OperatorDesc, row: Sequence[int], factor: Factor, value: str) -> bool:
    """Whether a value makes a difference for this desc, and fits to those chosen (NONE where nothing is chosen yet)."""
    known = _FITS.get(factor.kind)
    return known is None or known(model, desc, row, factor, value)


def _chosen_value(model: Model, row: Sequence[int], name: str) -> str:
    at = model.place.get(name, NONE)
    return model.factors[at].values[row[at]] if at != NONE and row[at] != NONE else ""


def _aliases(model: Model, row: Sequence[int]) -> Mapping[str, str]:
    return model.aliases.get(_chosen_value(model, row, "in place"), {})


def _layout_fits(model: Model, desc: OperatorDesc, row: Sequence[int], factor: Factor, value: str) -> bool:
    if not any(has_layout(tensor.sizes, value) for _, tensor in desc.called(factor.of)):
        return False
    aliases = _aliases(model, row)
    if not aliases:
        return True
    same = {factor.of, *(name for pair in aliases.items() if factor.of in pair for name in pair)}
    same |= {name for pair in aliases.items() if same & set(pair) for name in pair}
    layouts = [_chosen_value(model, row, f"layout {name}") for name in same]
    return all(layout in ("", value) for layout in layouts) and _may_have(model.plan.operator, value, same)


def _alias_fits(model: Model, desc: OperatorDesc, row: Sequence[int], factor: Factor, value: str) -> bool:
    operator, pairs = model.plan.operator, model.aliases.get(value, {}).items()
    names = {name for pair in pairs for name in pair}
    layouts = {_chosen_value(model, row, f"layout {name}") for name in names} - {""}
    return (
        all(desc.fields[name] is not None and desc.fields[name] == desc.fields[on] for name, on in pairs)
        and len(layouts) < 2
        and not names & set(model.owned_sets.get(_chosen_value(model, row, "owned"), ()))
        and all(_may_have(operator, layout, names) for layout in layouts)
    )


def _owned_fits(model: Model, desc: OperatorDesc, row: Sequence[int], factor: Factor, value: str) -> bool:
    names, aliases = owned_inputs(model, desc, value), _aliases(model, row)
    enough = len(names) > 1 if value == "all" else len(names) >= len(model.owned_sets.get(value, ()))
    return enough and not {*aliases, *aliases.values()} & set(names)


def _data_fits(model: Model, desc: OperatorDesc, row: Sequence[int], factor: Factor, value: str) -> bool:
    operator = model.plan.operator
    return value == USUAL or any(
        value in values.data for name in random_data(operator, desc) if (values := operator.values_of(name)) is not None
    )


def _resource_fits(model: Model, desc: OperatorDesc, row: Sequence[int], factor: Factor, value: str) -> bool:
    inputs = {field.name for field in model.plan.operator.inputs()}
    return value != "inputs" or sum(field in inputs for field, _, _ in desc.by_field()) > 1


_FITS = {
    "layout": _layout_fits,
    "in place": _alias_fits,
    "owned": _owned_fits,
    "data": _data_fits,
    "resource": _resource_fits,
}
"""By kind of factor; others fit everywhere."""


def _may_have(operator: Operator, layout: str, tensors: Iterable[str]) -> bool:
    return all(layout in layouts_of(operator, operator.field(name)) for name in tensors)


def owned_inputs(model: Model, desc: OperatorDesc, value: str) -> tuple[str, ...]:
    """The present inputs of a value of the factor ``owned``."""
    return tuple(name for of in model.owned_sets.get(value, ()) for name, _ in desc.called(of))


def bind(model: Model, desc: OperatorDesc, values: Mapping[str, str], random: Random) -> tuple[OperatorDesc, dict[str, Binding]]:
    """A desc with the layouts, flags and slack of these values, and its bindings. A tensor of which no layout is named keeps its strides."""
    gap = random.choice(_GAPS)
    layouts = _layouts(model, desc, values, random)
    owned, slack = _some_of_arrays(owned_inputs(model, desc, values.get("owned", "")), random), values.get("slack", "none")
    changed: dict[str, TensorDesc] = {}
    bindings: dict[str, Binding] = {}
    for name, tensor in desc.tensors():
        layout = layouts.get(name, "packed")
        laid = tensor if layout == "packed" else laid_out(tensor, layout, gap)
        if laid.least_bytes > _LARGE:
            laid = laid_out(tensor, layout, 1)
        if layout == "packed" and random.random() < _EXPLICIT:
            laid = replace(tensor, strides=tensor.effective_strides)
        if slack == "binding":
            bindings[name] = Binding(short=-16)
        changed[name] = with_slack(laid, slack, name in owned)
    for name, on in model.aliases.get(values.get("in place", ""), {}).items():
        if desc.fields[name] == desc.fields[on]:
            changed[name] = changed[on]
    return desc.with_tensors(changed), bindings


def _layouts(model: Model, desc: OperatorDesc, values: Mapping[str, str], random: Random) -> dict[str, str]:
    """The layout of each tensor that is not packed."""
    found: dict[str, str] = {}
    for of in model.plan.tensors:
        layout = values.get(f"layout {of}", "packed")
        if layout != "packed":
            strided = [name for name, tensor in desc.called(of) if has_layout(tensor.sizes, layout)]
            found |= dict.fromkeys(_some_of_arrays(strided or [name for name, _ in desc.called(of)], random), layout)
    return found


def _some_of_arrays(names: Sequence[str], random: Random) -> list[str]:
    """These tensors; half of the time, only some of those in an array."""
    found: list[str] = []
    for _, each in groupby(names, key=field_of):
        own = list(each)
        found += random.sample(own, random.randint(1, len(own))) if len(own) > 1 and random.random() < 0.5 else own
    return found


def with_slack(tensor: TensorDesc, slack: str, owned: bool) -> TensorDesc:
    """A tensor with a value of the factor ``slack`` as far as it is in the tensor's desc, and DirectML's if ``owned``."""
    if owned:
        tensor = replace(tensor, flags=abi().tensor_flags["OWNED_BY_DML"])
    if slack == "total-size":
        return replace(tensor, total_size=tensor.bytes + 16)
    return replace(tensor, alignment=16) if slack == "alignment" else tensor


def offset_of(value: str, random: Random) -> int:
    """An offset of a value of the factor ``offset``, in bytes; of any other, half are small."""
    if value != ANY:
        return int(value)
    found = OFFSETS[0]
    while found in OFFSETS:
        found = 16 * (random.randrange(4096) if random.random() < 0.5 else int(4096 ** random.random()))
    return found


def data_of(operator: Operator, desc: OperatorDesc, name: str) -> tuple[dict[str, Data], str]:
    """The spec's random data of each input, or its further data of that name where it has such, and their basis."""
    found, basis = random_data(operator, desc), DOCUMENTED
    for tensor in found:
        values = operator.values_of(tensor)
        other = values.data.get(name) if values else None
        if other is not None:
            found[tensor] = Data(other.recipe, other.parameters)
            basis = other.basis if other.basis != DOCUMENTED else basis
    return found, basis
