"""A case from a file: read within limits and checked completely, so that it can be run like a case of the suite's own.

The file may come from anyone, so it holds no code: a parameter that is an expression must be one of the operator's own spec.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np

from dmlcts.generator.case.case import MOST_OFFSET, REJECTION, RELATION, SEQUENCE, VALUES, Case, from_json
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.generator.values.special_sets import SPECIAL
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import TensorDesc, field_of
from dmlcts.spec.model.operator import Literal, Operator
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES
from dmlcts.spec.untrusted.files import MIB, InputError, check, parse_json, path_text, read_text, shorten_text, validator

LARGEST = 4 * MIB
"""The most bytes of a file."""

LARGEST_TENSORS = 256 * MIB
"""The most bytes of all tensors of a case."""


class CaseError(ValueError):
    """A file is not a case; the message says what is wrong, and where."""


def read_case_file(file: Path) -> Case:
    """A case from a JSON file that ``repro`` or a failed property case wrote. Raises CaseError, with the file in its message."""
    try:
        text = read_text(file, LARGEST)
    except InputError as error:
        raise CaseError(f"{file}: {error}") from None
    try:
        return parse_case(text)
    except (CaseError, InputError) as error:
        raise CaseError(f"{file}: not a case: {error}") from None


def parse_case(text: str) -> Case:
    """A case from JSON. Raises InputError if the text is not JSON, CaseError if that is not a case."""
    data = parse_json(text)
    check(
        validator("dmlcts.generator.case", "case"), data, lambda path, problem: CaseError(f"{path_text(path) or 'it'}: {problem}")
    )
    try:
        case = from_json(data, load)
    except KeyError as error:
        raise CaseError(shorten_text(str(error.args[0]))) from None
    except FAILURES as error:
        raise CaseError(shorten_text(str(error))) from None
    problem = next(_problems(case), None)
    if problem:
        raise CaseError(problem)
    if case.expect == RELATION:
        return case  # its data are those of a law's variables
    try:
        with np.errstate(all="ignore"):
            inputs(case)
    except (*FAILURES, KeyError) as error:
        raise CaseError(f"its data cannot be made: {shorten_text(f'{type(error).__name__}: {error}')}") from None
    return case


def _problems(case: Case) -> Iterator[str]:
    """What does not belong together. Each check may assume those before it."""
    tensors = dict(case.desc.tensors())
    if case.expect == RELATION and case.relation not in {relation.label for relation in case.operator.relations}:
        yield f"relation: {case.operator.name} has no relation {case.relation!r}"
    if (case.expect == SEQUENCE) != bool(case.sequence):
        yield "sequence: a case that expects a sequence has a form, and no other does"
    if case.expect == SEQUENCE and (case.in_place or case.bindings or case.resource):
        yield "sequence: each tensor of a sequence has a resource of its own, and a usual binding"
    holders = tensors | _variables(case, tensors)
    if case.feature_level not in abi().feature_levels:
        yield f"feature_level: unknown; known: {', '.join(abi().feature_levels)}"
    if case.offset % 16 or not 0 <= case.offset < MOST_OFFSET:
        yield f"offset: {case.offset} is not a multiple of 16 from 0 to {MOST_OFFSET - 16}"
    needed = sum(map(_bytes, tensors.values()))
    if needed > LARGEST_TENSORS:
        yield f"desc: its tensors need {needed:,} bytes; at most {LARGEST_TENSORS:,} are allowed in a file"
    for section, names in (
        ("in_place", {*case.in_place, *case.in_place.values()}),
        ("bindings", case.bindings),
        *((f"answers.{basis}", outputs) for basis, outputs in case.answers.items()),
    ):
        for name in sorted(names - tensors.keys()):
            yield f"{section}.{shorten_text(name)}: the desc has no such tensor; it has {', '.join(tensors)}"
    for name in sorted(case.data.keys() - holders.keys()):
        yield f"data.{shorten_text(name)}: the desc has no such tensor; it has {', '.join(holders)}"
    yield from _data_problems(case, holders)
    if case.expect == VALUES and not case.answers:
        yield "answers: a case that expects values has answers"
    for basis, outputs in case.answers.items():
        for name, literal in outputs.items():
            yield from _literal_problems(literal, tensors[name], f"answers.{basis}.{name}")
    for name, shared in case.in_place.items():
        if shared in case.in_place or list(tensors).index(shared) >= list(tensors).index(name):
            yield f"in_place.{name}: {shared} is not a tensor before it with a resource of its own"
    if case.expect != REJECTION:
        for violation in violations(case.operator, case.desc):
            yield f"desc: it is invalid, but must be rejected only in a case that expects that: {shorten_text(str(violation))}"
        for name in {field.name for field in case.operator.fields if field.kind == "input"}:
            missing = [tensor for tensor in tensors if field_of(tensor) == name and tensor not in case.data]
            if missing and case.expect != RELATION:
                yield f"data.{missing[0]}: is missing"


def _variables(case: Case, tensors: dict[str, TensorDesc]) -> dict[str, TensorDesc]:
    """The tensors that give a law's variables their values, by variable."""
    given = next((relation.given for relation in case.operator.relations if relation.label == case.relation), {})
    return {name: tensors[tensor] for name, tensor in given.items() if tensor in tensors} if case.expect == RELATION else {}


def _bytes(tensor: TensorDesc) -> int:
    """At least as many bytes as a run allocates for a tensor, whose desc may be invalid."""
    spread = sum((size - 1) * stride for size, stride in zip(tensor.sizes, tensor.strides or (), strict=False) if size)
    return max(tensor.total_size or 0, 8 * prod(tensor.sizes), 8 * spread)


def _data_problems(case: Case, tensors: dict[str, TensorDesc]) -> Iterator[str]:
    expressions = _own_expressions(case.operator)
    for name, data in case.data.items():
        where = f"data.{name}"
        if tensors[name].data_type not in abi().data_types:
            yield f"{where}: {tensors[name].data_type} has no values"
        if data.literal is not None:
            tensor = tensors[name]
            if case.expect == RELATION:  # a law runs descs of other sizes, too
                tensor = replace(tensor, sizes=data.literal.sizes)
            yield from _literal_problems(data.literal, tensor, where)
            continue
        if data.recipe and data.recipe not in RECIPES:
            yield f"{where}.recipe: unknown; known: {', '.join(RECIPES)}"
        if data.special and data.special not in SPECIAL and not data.parameters.get("points"):
            yield f"{where}.special: unknown; known: {', '.join(SPECIAL)}"
        computed = RECIPES[data.recipe].computed if data.recipe else frozenset({"where"})
        for key, value in data.parameters.items():
            if key in computed and isinstance(value, str) and value not in expressions:
                yield f"{where}.{shorten_text(key)}: not an expression of the operator's spec"


def _own_expressions(operator: Operator) -> set[object]:
    """The texts of the expressions by which an operator's spec describes data."""
    found: set[object] = set()
    for values in operator.values.values():
        for parameters in (values.parameters, *(other.parameters for other in values.data.values())):
            found.update(parameters.values())
        found.update(part.text for _, part in values.parts.values())
    return found


def _literal_problems(literal: Literal, tensor: TensorDesc, where: str) -> Iterator[str]:
    if (literal.data_type, literal.sizes) != (tensor.data_type, tensor.sizes):
        yield f"{where}: its type and sizes are not those of the tensor in the desc"
    if len(literal.data) != prod(literal.sizes):
        yield f"{where}: {len(literal.data):,} elements, but its sizes have {prod(literal.sizes):,}"
