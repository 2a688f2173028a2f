"""``dmlcts ask``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from dmlcts.conformance.backends.backend import Backend
from dmlcts.conformance.backends.buffers import read_tensor
from dmlcts.conformance.backends.opening import open_backend, separate_process
from dmlcts.conformance.backends.process.protocol import WireError, wire_operator
from dmlcts.conformance.commands.common import Seconds, json_option, operator_named, print_json
from dmlcts.conformance.execution.domains import undefined_inputs
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.execution.outcome import attempt
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.generator.case.build import random_data
from dmlcts.generator.case.case import Case
from dmlcts.generator.case.case_file import LARGEST_TENSORS
from dmlcts.generator.case.inputs import array
from dmlcts.generator.case.places import output_names
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.spec.model.abi import abi, newest_level
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, field_of
from dmlcts.spec.model.dtypes import array_literal, literal_array
from dmlcts.spec.model.expression import Expression, compile_expression
from dmlcts.spec.model.operator import ABSENT, PRESENT, Field, Literal
from dmlcts.spec.reading.document import SpecError, parse_value
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.attribute_value import attribute_value
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES
from dmlcts.spec.untrusted.files import shorten_text

Given = tuple[str, tuple[int, ...] | None, tuple[Any, ...] | None]
"""A tensor as it is given: its data type (empty if none is), sizes (None if they follow), and elements (None where it has random data)."""

_MOST_TENSORS = 1000
"""The most tensors of an array."""

_DIMENSIONS = range(1, 9)
"""The dimension counts that are tried where no tensor's sizes are given, the first that suits the attributes is taken."""


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
    InputTensor=FLOAT16:present  with the sizes that follow from other tensors, and random data
    FusedActivation=ACTIVATION_RELU  a fused operator with its usual attributes
    ActivationDescs=[ACTIVATION_TANH,ACTIVATION_RELU]  several of them

    An optional tensor that is left out is absent, and the output says so. Other tensors that are left out have random data, and the sizes and
    types that follow from the rest; attributes have their usual value in cases. InputTensor=null leaves out a required one.
    Nothing is checked before: a desc that breaks a rule is run too, and the rule named.

    \b
    Exit codes: 0 it ran, 1 the backend rejected it, does not support it or failed,
    2 usage error, 3 the backend could not be started.
    """
    plan = plan_of(operator_named(operator))
    desc, inputs = parse_question(plan, values)
    broken = [found.message for found in violations(plan.operator, desc)]
    notes = [] if broken else list(undefined_inputs(plan.operator, desc, inputs))
    opened = open_backend(separate_process(backend))
    try:
        found = _dispatch(opened, plan, desc, inputs, timeout)
    finally:
        opened.close()
    absent = [
        field.name for field in plan.operator.fields if field.is_tensor and field.optional and desc.fields[field.name] is None
    ]
    report = {"operator": plan.operator.name, "backend": backend, "absent": absent, "broken": broken, "notes": notes, **found}
    if as_json:
        print_json(report)
    else:
        if absent:
            click.echo(f"absent: {', '.join(absent)} (optional; {absent[0]}={PRESENT} adds it with random data)")
        for message in broken:
            click.echo(f"breaks a rule: {message}")
        for note in notes:
            click.echo(f"note: {note}", err=True)
        for name, tensor in found.get("outputs", {}).items():
            click.echo(f"{name}: {tensor['type']} {'x'.join(map(str, tensor['sizes']))}: {', '.join(map(str, tensor['data']))}")
        if "message" in found:
            click.echo(f"{found['status']}: {found['message']}", err=True)
    raise click.exceptions.Exit(0 if found["status"] == "completed" else 1)


def _dispatch(backend: Backend, plan: Plan, desc: OperatorDesc, inputs: Mapping[str, Any], timeout: float) -> dict[str, Any]:
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


def parse_question(plan: Plan, values: Sequence[str]) -> tuple[OperatorDesc, dict[str, Any]]:
    """The desc that these FIELD=VALUE texts describe, and the elements of its inputs.

    Raises:
        UsageError: a text is none, or no desc has these sizes and types.
    """
    given: dict[str, Given] = {}
    optional = (field.name for field in plan.operator.fields if field.type == "TENSOR_DESC" and field.optional)
    attributes: dict[str, object] = dict.fromkeys(optional, ABSENT)
    seen: set[str] = set()
    for text in values:
        name, equals, value = text.partition("=")
        field = next((field for field in plan.operator.fields if field.name == name), None)
        if not equals or field is None:
            known = ", ".join(field.name for field in plan.operator.fields)
            raise UsageError(f"{shorten_text(text)!r} must be FIELD=VALUE, with a field of {plan.operator.name}: {known}")
        if name in seen:
            raise UsageError(f"{name} is given twice")
        seen.add(name)
        if field.is_tensor_array:
            given |= {f"{name}[{index}]": _tensor(name, one) for index, one in enumerate(value.split(";"))}
            attributes[plan.arrays[name]] = len(value.split(";"))
        elif field.is_tensor:
            attributes[name] = ABSENT if value == "null" else PRESENT
            given |= {name: _tensor(name, value)} if value != "null" else {}
        else:
            attributes[name] = _attribute(plan, field, value)
    try:
        desc = _with_counts(plan, _desc(plan, {**plan.usual, **attributes}, given), attributes)
        wire_operator(desc, load)
    except UsageError:
        raise
    except WireError as error:
        raise UsageError(shorten_text(str(error))) from None
    except (*FAILURES, MemoryError) as error:  # of an expression that was given, or over what was given
        raise UsageError(
            f"{plan.operator.name} cannot be made of these values: {shorten_text(str(error)) or 'too large'}"
        ) from None
    needed = sum(tensor.count * tensor.type.bits // 8 for _, tensor in desc.tensors())
    if needed > LARGEST_TENSORS:
        raise UsageError(f"the tensors need {needed:,} bytes; at most {LARGEST_TENSORS:,} are allowed: give smaller sizes")
    return desc, _inputs(plan, desc, given)


def _with_counts(plan: Plan, desc: OperatorDesc, attributes: Mapping[str, object]) -> OperatorDesc:
    """The desc with its counts as given, though an array may have another number of elements."""
    counts = {name: value for name, value in attributes.items() if name in plan.counts}
    return desc.with_fields(**{name: v.evaluate(desc.fields) if isinstance(v, Expression) else v for name, v in counts.items()})


def _inputs(plan: Plan, desc: OperatorDesc, given: Mapping[str, Given]) -> dict[str, Any]:
    """The elements of each input: as given, or the spec's random data. Raises UsageError where a tensor cannot hold them."""
    inputs = {}
    for name, data in random_data(plan.operator, desc).items():
        _, _, elements = given.get(name, ("", None, None))
        tensor = desc.tensor(name)
        try:
            if elements is None:
                inputs[name] = array(data, tensor, f"{plan.operator.name}/ask/{name}", desc.fields)
            else:
                if wrong := [element for element in elements if not tensor.type.holds(element)]:
                    raise ValueError(f"{wrong[0]!r} is no value of {tensor.data_type}")
                inputs[name] = literal_array(Literal(tensor.data_type, tensor.sizes, elements))
        except (*FAILURES, KeyError) as error:
            raise UsageError(f"{name}: {shorten_text(str(error))}") from None
    return inputs


def _desc(plan: Plan, attributes: Mapping[str, object], given: Mapping[str, Given]) -> OperatorDesc:
    """A desc of the first data types that suit, whose other tensors follow from those given."""
    wanted = {name: data_type for name, (data_type, _, _) in given.items() if data_type}
    suited = [each.types for each in plan.choices if all(dict(each.types)[plan.name_of(name)] == of for name, of in wanted.items())]
    valid = (types for types in suited if plan.keeps(types, attributes))
    types = next(valid, suited[0] if suited else tuple((name, wanted.get(name, plan.choices[0].main)) for name in plan.tensors))
    known = {name: sizes for name, (_, sizes, _) in given.items() if sizes is not None}
    needed = plan.present(attributes)
    if known.keys() >= needed.keys():  # nothing is left to follow, so that it may break any rule
        tensors = {name: TensorDesc(wanted.get(name, dict(types)[of]), known[name]) for name, of in needed.items()}
        return OperatorDesc(plan.operator.name, plan.fields(tensors, attributes))
    given_count = len(known.get(plan.leading_tensor, next(iter(known.values()), ())))
    errors = []
    for count in (given_count,) if known else _DIMENSIONS:  # an axis may need several
        try:
            return plan.desc(types, (2,) * count, attributes, known=known)
        except NotGenerable as error:
            errors.append(str(error))
    raise UsageError(f"{errors[0]}; give every tensor, also the outputs ({', '.join(needed)}), to run it all the same")


def _attribute(plan: Plan, field: Field, text: str) -> object:
    raw = _value(field.name, text.lower() if field.type == "BOOL" else text)  # ids of cases have True and False
    if field.enum and isinstance(raw, int):
        _check_held(plan, field, raw)
        return raw  # no constant, perhaps
    if field.type == "OPERATOR_DESC" and raw is not None:
        return plan_of(operator_named(str(raw))).fused_operator
    if field.type == "OPERATOR_DESC_ARRAY" and (isinstance(raw, list) or re.fullmatch(r"[\w, ]+", text)):
        names = raw if isinstance(raw, list) else text.split(",")
        return tuple(plan_of(operator_named(str(name).strip())).fused_operator for name in names)
    try:
        value = attribute_value(field.type, field.enum, field.optional, raw, compile_expression)
    except ValueError as error:
        raise UsageError(f"{field.name}: {error}") from None
    if not isinstance(value, Expression):
        _check_held(plan, field, value)
    elif unknown := value.names - {each.name for each in plan.operator.fields}:
        raise UsageError(f"{field.name}: {plan.operator.name} has no field {', '.join(sorted(unknown))}")
    return value


def _check_held(plan: Plan, field: Field, value: object) -> None:
    """Raises UsageError for a value that no struct can hold, or a count of more tensors than are made."""
    try:
        wire_operator(
            OperatorDesc(plan.operator.name, {**dict.fromkeys(f.name for f in plan.operator.fields), field.name: value}), load
        )
    except WireError as error:
        raise UsageError(shorten_text(str(error))) from None
    if field.name in plan.arrays.values() and isinstance(value, int) and value > _MOST_TENSORS:
        raise UsageError(f"{field.name}: {value:,} tensors; at most {_MOST_TENSORS:,} are made")


def _tensor(name: str, text: str) -> Given:
    """``FLOAT16:[[1,2],[3,4]]``, ``[1,2]``, ``FLOAT16:2x3`` or ``2x3``."""
    data_type, colon, rest = text.partition(":")
    if not colon or data_type not in abi().data_types:
        data_type, rest = "", text
    if rest == PRESENT:
        return data_type, None, None
    if re.fullmatch(r"[0-9]{1,10}(x[0-9]{1,10})*", rest):
        return data_type, tuple(map(int, rest.split("x"))), None
    try:
        elements = np.array(_value(name, rest), dtype=object)
    except ValueError:  # not rectangular, or no value at all
        elements = np.array(None, dtype=object)
    if not elements.ndim or not all(isinstance(element, int | float | str) for element in elements.ravel()):
        raise UsageError(
            f"{field_of(name)}: {shorten_text(text)!r} is neither sizes such as 2x3 nor a list of elements, such as [[1,2],[3,4]]"
        )
    return data_type, elements.shape, tuple(elements.ravel().tolist())


def _value(name: str, text: str) -> Any:
    """A text as a value of YAML. Raises UsageError."""
    try:
        return parse_value(text)
    except SpecError as error:
        raise UsageError(f"{field_of(name)}: {shorten_text(text)!r} is no value: {error.problem}") from None
