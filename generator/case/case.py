"""A case: one test of an implementation, with its data and what is expected.

A case is plain data. Its id is readable and stable (``ELEMENT_WISE_BIT_OR/UINT8/4d``); its random data come from a byte stream that
is seeded by the id, so they are the same on every machine. ``to_json`` and ``from_json`` write a case to a file and read it.

Expectations:

| ``expect`` | what must happen |
|---|---|
| ``reference`` | the outputs match the reference within the operator's tolerance |
| ``values`` | the outputs match ``answers``; any one of them for a contested case |
| ``rejection`` | the backend rejects the desc or the bindings |
| ``relation`` | the law of that label holds for generated data (conformance/properties/relations) |
| ``agreement`` | as ``reference``, for data, sizes and layouts that Hypothesis chooses |
| ``sequence`` | each dispatch of a sequence of calls gives what it gives alone (conformance/sequences) |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED, Literal, Operator
from dmlcts.spec.reading.loader import load
from dmlcts.spec.untrusted.desc_json import read_desc, write_desc

HUGE = "huge"
LEVELS = ("smoke", "core", "full", HUGE)
"""Each level contains the ones before it. The last one is for machines with enough memory (generator/sweeps/memory), and never the default."""


def is_beyond(level: str, most: str) -> bool:
    """Whether a level is higher than ``most``."""
    return LEVELS.index(level) > LEVELS.index(most)


LONGEST_ID = 240
"""An id becomes the name of a file, which may have 255 bytes."""

OFFSETS = (64, 0, 16, 48, 256, 65_552)
"""Where tensors usually begin in their resources, in bytes: multiples of 16, as DirectML requires; the last is beyond 64 KiB."""

MOST_OFFSET = 1 << 20
"""Other multiples of 16 are below this."""

APART, INPUTS, ALL = "", "inputs", "all"
"""Which tensors have parts of one resource: none, the inputs, or all."""

REFERENCE, VALUES, REJECTION, RELATION, AGREEMENT = "reference", "values", "rejection", "relation", "agreement"
SEQUENCE = "sequence"
"""Also the kind of such cases."""


@dataclass(frozen=True, slots=True)
class Data:
    """What an input tensor holds: a recipe (generator/values/recipes), a named set of special values (generator/values/special_sets), or a literal.

    Elements that are ``alike`` all have one value, as if the tensor's strides were 0.

    The parameters of a set are ``each``, how often each value is repeated, ``after``, how many leading ones are skipped, and ``skip``, bit
    patterns to omit.
    """

    recipe: str = ""
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)
    special: str = ""
    literal: Literal | None = None
    alike: bool = False


@dataclass(frozen=True, slots=True)
class Binding:
    """How a tensor is bound, if not by default: ``short`` bytes too few (negative: more), at an ``offset``, or ``absent``."""

    short: int = 0
    offset: int = 0
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One case. ``feature_level`` is the lowest level that promises it; ``covers`` are the labels of the promises that it tests (generator/checks/promises).

    ``in_place`` maps a tensor to the input whose resource it shares: an output, or another input. ``checks`` are
    further checks: ``gaps`` (bytes between strided elements must not change) and ``zero-sign``. ``rule`` is the rule that a rejection case
    breaks, and ``base_types`` are the data types of the valid desc that it changes. ``offset`` is where the first tensor begins in its resource (a multiple of 16; the others elsewhere), and ``resource`` says
    which tensors share one. ``sequence`` is the form of a sequence case (generator/suite/repetition). Pickling stores only the operator's name, so the operator must be one of the package's own.
    """

    id: str
    kind: str
    level: str
    desc: OperatorDesc
    operator: Operator
    feature_level: str
    data_type: str
    basis: str = DOCUMENTED
    expect: str = REFERENCE
    data: Mapping[str, Data] = field(default_factory=dict)
    answers: Mapping[str, Mapping[str, Literal]] = field(default_factory=dict)
    in_place: Mapping[str, str] = field(default_factory=dict)
    offset: int = OFFSETS[0]
    resource: str = ""
    bindings: Mapping[str, Binding] = field(default_factory=dict)
    checks: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    rule: str = ""
    base_types: tuple[str, ...] = ()
    relation: str = ""
    sequence: str = ""
    note: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (to_json(self),)


def _unpickle(data: Mapping[str, Any]) -> Case:
    return from_json(data, load)


def to_json(case: Case) -> dict[str, Any]:
    """A case as JSON; empty fields are omitted."""
    found: dict[str, Any] = {
        "id": case.id,
        "kind": case.kind,
        "level": case.level,
        "feature_level": case.feature_level,
        "data_type": case.data_type,
        "basis": case.basis,
        "expect": case.expect,
        "desc": write_desc(case.desc),
    }
    optional: dict[str, Any] = {
        "data": {name: data_json(data) for name, data in case.data.items()},
        "answers": {basis: {n: literal_json(v) for n, v in outputs.items()} for basis, outputs in case.answers.items()},
        "in_place": dict(case.in_place),
        "resource": case.resource,
        "bindings": {n: {"short": b.short, "offset": b.offset, "absent": b.absent} for n, b in case.bindings.items()},
        "checks": list(case.checks),
        "covers": list(case.covers),
        "rule": case.rule,
        "base_types": list(case.base_types),
        "relation": case.relation,
        "sequence": case.sequence,
        "note": case.note,
    }
    if case.offset != OFFSETS[0]:
        found["offset"] = case.offset
    return found | {key: value for key, value in optional.items() if value}


def from_json(data: Mapping[str, Any], find: Callable[[str], Operator]) -> Case:
    """A case from its JSON; ``find`` gives an operator's spec by name.

    Raises:
        DescError: the desc is wrong. KeyError: a field is missing.
    """
    desc = read_desc(data["desc"], find, "desc")
    return Case(
        id=data["id"],
        kind=data["kind"],
        level=data["level"],
        desc=desc,
        operator=find(desc.type),
        feature_level=data["feature_level"],
        data_type=data["data_type"],
        basis=data["basis"],
        expect=data["expect"],
        data={name: read_data(entry) for name, entry in data.get("data", {}).items()},
        answers={basis: {n: read_literal(v) for n, v in outputs.items()} for basis, outputs in data.get("answers", {}).items()},
        in_place=data.get("in_place", {}),
        offset=int(data.get("offset", OFFSETS[0])),
        resource=data.get("resource", ""),
        bindings={name: Binding(**entry) for name, entry in data.get("bindings", {}).items()},
        checks=tuple(data.get("checks", ())),
        covers=tuple(data.get("covers", ())),
        rule=data.get("rule", ""),
        base_types=tuple(data.get("base_types", ())),
        relation=data.get("relation", ""),
        sequence=data.get("sequence", ""),
        note=data.get("note", ""),
    )


def literal_json(literal: Literal) -> dict[str, Any]:
    """A literal tensor as JSON, in the form of spec files."""
    return {"type": literal.data_type, "sizes": list(literal.sizes), "data": list(literal.data)}


def read_literal(data: Mapping[str, Any]) -> Literal:
    """A literal tensor from its JSON."""
    return Literal(data["type"], tuple(data["sizes"]), tuple(data["data"]))


def data_json(data: Data) -> dict[str, Any]:
    """The data of a tensor as JSON."""
    if data.literal is not None:
        return {"literal": literal_json(data.literal)}
    if data.special:
        return {"special": data.special, **data.parameters}
    return {"recipe": data.recipe, **data.parameters, **({"alike": True} if data.alike else {})}


def read_data(entry: Mapping[str, Any]) -> Data:
    """The data of a tensor from its JSON."""
    if "literal" in entry:
        return Data(literal=read_literal(entry["literal"]))
    if "special" in entry:
        return Data(special=entry["special"], parameters={k: v for k, v in entry.items() if k != "special"})
    parameters = {key: value for key, value in entry.items() if key not in ("recipe", "alike")}
    return Data(recipe=entry["recipe"], parameters=parameters, alike=entry.get("alike", False))
