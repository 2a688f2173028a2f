"""``dmlcts ask``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np
import yaml

from dmlcts.conformance.backends.backend import Backend
from dmlcts.conformance.backends.buffers import read_tensor
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.commands.common import Seconds, json_option, operator_named, print_json
from dmlcts.conformance.execution.domains import undefined_inputs
from dmlcts.conformance.execution.layout import lay_out, output_names
from dmlcts.conformance.execution.outcome import attempt
from dmlcts.conformance.runner.options import UsageError
from dmlcts.generator.attributes import NotGenerable
from dmlcts.generator.build import random_data
from dmlcts.generator.case import Case
from dmlcts.generator.data import array
from dmlcts.generator.plan import Plan, plan_of
from dmlcts.spec.abi import abi, newest_level
from dmlcts.spec.attribute_value import attribute_value
from dmlcts.spec.desc import OperatorDesc, TensorDesc, field_of
from dmlcts.spec.dtypes import array_literal, literal_array
from dmlcts.spec.expression import Expression, compile_expression
from dmlcts.spec.model import ABSENT, PRESENT, Field, Literal
from dmlcts.spec.rules import violations

Given = tuple[str, tuple[int, ...], tuple[Any, ...] | None]
"""A tensor as it is given: its data type (empty if none is), sizes, and elements (None where it has the spec's random data)."""


@click.command("ask")
@click.argument("operator")
@click.argument("values", nargs=-1)
@click.option("--backend", "-b", default="reference", show_default=True, help="the backend; see `dmlcts backends`")
@click.option("--timeout", type=Seconds(), default=30.0, show_default=True, help="limit for the dispatch, in seconds")
@json_option
def command(operator: str, values: tuple[str, ...], backend: str, timeout: float, as_json: bool) -> None:
    """Runs an operator once and prints its outputs: what does an implementation give for these inputs and attributes?

    VALUES are FIELD=VALUE, such as

    \b
    Axis=1 Function=MAX        an attribute, as in spec files
    InputTensor=[[1,nan],[3,4]]  a tensor with these elements
    InputTensor=FLOAT16:2x3    with the spec's random data
    InputTensors=[1,2];[3]     an array of tensors
    ScaleTensor=null           an optional tensor that is absent
    FusedActivation=ACTIVATION_RELU  a fused operator with its usual attributes

    Attributes that are left out have their usual value in cases, and tensors the sizes and types that follow from the others.
    Nothing is checked before: a desc that breaks a rule is run too, and the rule named.

    \b
    Exit codes: 0 it ran, 1 the backend rejected it, does not support it or failed,
    2 usage error, 3 the backend could not be started.
    """
    plan = plan_of(operator_named(operator))
    desc, inputs = asked(plan, values)
    broken = [found.message for found in violations(plan.operator, desc)]
    notes = [] if broken else list(undefined_inputs(plan.operator, desc, inputs))
    opened = open_backend(backend)
    try:
        found = _dispatched(opened, plan, desc, inputs, timeout)
    finally:
        opened.close()
    report = {"operator": plan.operator.name, "backend": backend, "broken": broken, "notes": notes, **found}
    if as_json:
        print_json(report)
    else:
        for message in broken:
            click.echo(f"breaks a rule: {message}")
        for note in notes:
            click.echo(f"note: {note}", err=True)
        for name, tensor in found.get("outputs", {}).items():
            click.echo(f"{name}: {tensor['type']} {'x'.join(map(str, tensor['sizes']))}: {', '.join(map(str, tensor['data']))}")
        if "message" in found:
            click.echo(f"{found['status']}: {found['message']}", err=True)
    raise click.exceptions.Exit(0 if found["status"] == "completed" else 1)


def _dispatched(backend: Backend, plan: Plan, desc: OperatorDesc, inputs: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """What a dispatch gives, as JSON: each output as a literal, or why there is none."""
    case = Case("", "", "", desc, plan.operator, str(newest_level()), "")
    layout = lay_out(case, inputs, {}, timeout)
    failure = attempt(backend, layout.dispatch)
    if failure is not None:
        return {"status": failure.status, "message": failure.message}
    outputs = {}
    for name in output_names(plan.operator, desc):
        tensor, binding = desc.tensor(name), layout.dispatch.bindings[name]
        literal = array_literal(read_tensor(layout.resources[binding.resource], tensor, binding.offset), tensor.data_type)
        outputs[name] = {"type": literal.data_type, "sizes": list(literal.sizes), "data": list(literal.data)}
    return {"status": "completed", "outputs": outputs}


def asked(plan: Plan, values: Sequence[str]) -> tuple[OperatorDesc, dict[str, Any]]:
    """The desc that these FIELD=VALUE texts describe, and the elements of its inputs.

    Raises:
        UsageError: a text is none, or no desc has these sizes and types.
    """
    given: dict[str, Given] = {}
    attributes: dict[str, object] = {}
    for text in values:
        name, equals, value = text.partition("=")
        field = next((field for field in plan.operator.fields if field.name == name), None)
        if not equals or field is None:
            known = ", ".join(field.name for field in plan.operator.fields)
            raise UsageError(f"{text!r} must be FIELD=VALUE, with a field of {plan.operator.name}: {known}")
        if field.is_tensor_array:
            given |= {f"{name}[{index}]": _tensor(name, one) for index, one in enumerate(value.split(";"))}
            attributes[plan.arrays[name]] = len(value.split(";"))
        elif field.is_tensor:
            attributes[name] = ABSENT if value == "null" else PRESENT
            given |= {name: _tensor(name, value)} if value != "null" else {}
        else:
            attributes[name] = _attribute(plan, field, value)
    desc = _desc(plan, {**plan.usual, **attributes}, given)
    counts = {
        name: value for name, value in attributes.items() if name in plan.counts
    }  # as given, though the array has another number
    desc = desc.with_fields(**{name: v.evaluate(desc.fields) if isinstance(v, Expression) else v for name, v in counts.items()})
    inputs = {}
    for name, data in random_data(plan.operator, desc).items():
        _, _, elements = given.get(name, ("", (), None))
        tensor = desc.tensor(name)
        if elements is None:
            inputs[name] = array(data, tensor, f"{plan.operator.name}/ask/{name}", desc.fields)
        else:
            try:
                inputs[name] = literal_array(Literal(tensor.data_type, tensor.sizes, elements))
            except (OverflowError, ValueError, TypeError) as error:
                raise UsageError(f"{name}: {error}") from None
    return desc, inputs


def _desc(plan: Plan, attributes: Mapping[str, object], given: Mapping[str, Given]) -> OperatorDesc:
    """A desc of the first data types that suit, whose other tensors follow from those given."""
    wanted = {name: data_type for name, (data_type, _, _) in given.items() if data_type}
    suited = [each.types for each in plan.choices if all(dict(each.types)[plan.name_of(name)] == of for name, of in wanted.items())]
    valid = (types for types in suited if plan.keeps(types, attributes))
    types = next(valid, suited[0] if suited else tuple((name, wanted.get(name, plan.choices[0].main)) for name in plan.tensors))
    known = {name: sizes for name, (_, sizes, _) in given.items()}
    needed = plan.present(attributes)
    if known.keys() >= needed.keys():  # nothing is left to follow, so that it may break any rule
        tensors = {name: TensorDesc(wanted.get(name, dict(types)[of]), known[name]) for name, of in needed.items()}
        return OperatorDesc(plan.operator.name, plan.fields(tensors, attributes))
    count = len(known.get(plan.leading, next(iter(known.values()), (1,))))
    try:
        return plan.desc(types, (2,) * count, attributes, known=known)
    except NotGenerable as error:
        raise UsageError(f"{error}; give every tensor, also the outputs ({', '.join(needed)}), to run it all the same") from None


def _attribute(plan: Plan, field: Field, text: str) -> object:
    raw = yaml.safe_load(text)
    if field.enum and isinstance(raw, int):
        return raw  # no constant, perhaps
    if field.type == "OPERATOR_DESC" and raw is not None:
        return plan_of(operator_named(str(raw))).fused
    try:
        value = attribute_value(field.type, field.enum, field.optional, raw, compile_expression)
    except ValueError as error:
        raise UsageError(f"{field.name}: {error}") from None
    if isinstance(value, Expression) and (unknown := value.names - {each.name for each in plan.operator.fields}):
        raise UsageError(f"{field.name}: {plan.operator.name} has no field {', '.join(sorted(unknown))}")
    return value


def _tensor(name: str, text: str) -> Given:
    """``FLOAT16:[[1,2],[3,4]]``, ``[1,2]``, ``FLOAT16:2x3`` or ``2x3``."""
    data_type, colon, rest = text.partition(":")
    if not colon or data_type not in abi().data_types:
        data_type, rest = "", text
    if re.fullmatch(r"[0-9]+(x[0-9]+)*", rest):
        return data_type, tuple(map(int, rest.split("x"))), None
    try:
        elements = np.array(yaml.safe_load(rest), dtype=object)
    except (yaml.YAMLError, ValueError):
        elements = np.array(None, dtype=object)
    if not elements.ndim or any(isinstance(element, list | None) for element in elements.ravel()):
        raise UsageError(f"{field_of(name)}: {text!r} is neither sizes such as 2x3 nor a list of elements, such as [[1,2],[3,4]]")
    return data_type, elements.shape, tuple(elements.ravel().tolist())
