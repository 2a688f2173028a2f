"""What a spec file says, as data: an operator's fields, tensor support, constraints, values, tolerance, examples and errata.

Everything the suite knows about an operator hangs on ``Operator``. A promise carries its basis: ``documented`` (the published page
says it), ``measured`` (the page is silent and DirectML.dll does it) or ``contested`` (page and DLL disagree).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from dmlcts.spec.abi import FeatureLevel
from dmlcts.spec.expression import Expression
from dmlcts.spec.measurement import ORACLE, Acceptance, Measurement

DOCUMENTED, MEASURED, CONTESTED = "documented", "measured", "contested"
BASES = (DOCUMENTED, MEASURED, CONTESTED)


@dataclass(frozen=True, slots=True)
class Domain:
    """The least and the most that something may be, both inclusive; None where it is unbounded. A bound may be a sequence, element by element."""

    least: Expression | None = None
    most: Expression | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the operator desc struct, in the struct's order. ``kind`` is input, output or attribute.

    ``optional_since`` is the feature level from which an optional field may be absent, None if always. ``count`` is the attribute that
    counts the elements of an array, ``data_type`` the one that says how a scalar union is read. ``domain`` bounds a number, or every
    element of an array of them. ``operators`` are those that an operator desc may be of, each with the level that allows it; any where
    empty. ``owned_by_dml`` says whether an input may have DML_TENSOR_FLAG_OWNED_BY_DML, ``packed`` that its elements
    must lie next to each other. ``values`` are those of an attribute that cases
    go through, the usual one first; an Expression among them is computed from the desc's tensors and the attributes before it.
    """

    name: str
    kind: str
    type: str
    optional: bool = False
    enum: str | None = None
    optional_since: FeatureLevel | None = None
    count: str | None = None
    data_type: str | None = None
    domain: Domain | None = None
    operators: Mapping[str, FeatureLevel] = field(default_factory=dict, hash=False)
    owned_by_dml: bool = True
    packed: bool = False
    values: tuple[object, ...] = ()

    @property
    def is_tensor(self) -> bool:
        """Whether the field holds a tensor desc or an array of them."""
        return self.type in ("TENSOR_DESC", "TENSOR_DESC_ARRAY")


@dataclass(frozen=True, slots=True)
class TensorSupport:
    """A row of a tensor-support table: dimension counts (inclusive) and data types, in the documentation's order."""

    dimensions: tuple[int, int]
    data_types: tuple[str, ...]

    def dimension_counts(self) -> range:
        """Every supported dimension count."""
        return range(self.dimensions[0], self.dimensions[1] + 1)


@dataclass(frozen=True, slots=True)
class Support:
    """One tensor-support table. ``when`` limits it to values of an attribute (REDUCE's differ by Function)."""

    level: FeatureLevel
    tensors: Mapping[str, TensorSupport]
    when: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)
    basis: str = DOCUMENTED

    def applies(self, attributes: Mapping[str, object]) -> bool:
        """Whether the table speaks of a desc with these attribute values."""
        return all(attributes.get(name) in allowed for name, allowed in self.when.items())


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule that a valid desc keeps: either ``same`` (a property equal over tensors) or ``that`` (an expression that is true).

    ``when`` is the condition under which it speaks, if not always; ``before`` is the feature level that lifted it. It is silent about
    tensors and attributes that are absent. ``label`` names it in cases, coverage and messages.
    """

    label: str
    same: str | None = None
    tensors: tuple[str, ...] = ()
    that: Expression | None = None
    when: Expression | None = None
    basis: str = DOCUMENTED
    before: FeatureLevel | None = None

    @property
    def text(self) -> str:
        """The rule in words that a message can carry."""
        said = f"{', '.join(self.tensors)} have the same {self.same}" if self.same else self.that.text if self.that else ""
        return f"{said}, when {self.when.text}" if self.when else said


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes as the documentation writes them, with symbols: ``{InputTensor: [N, C, H, W]}``.

    ``*S`` stands for any number of dimensions, or for as many as ``counts`` says, and ``*1`` for any number of ones. ``A[i]`` in the
    row of a tensor array has a value for each of its tensors, so that A is a sequence elsewhere. A symbol that ``where`` defines is
    derived; the others are free, within ``domains``. Attributes may stand in the expressions. Of an operator's shapes, those hold whose
    ``when`` does, each with symbols of its own.
    """

    sizes: Mapping[str, tuple[str, ...]]
    where: Mapping[str, Expression] = field(default_factory=dict)
    when: Expression | None = None
    counts: Mapping[str, Expression] = field(default_factory=dict)
    domains: Mapping[str, Domain] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RandomData:
    """A recipe of generator/recipes and its parameters; ``basis`` says whether the documentation answers for what they give."""

    recipe: str
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)
    basis: str = DOCUMENTED


@dataclass(frozen=True, slots=True)
class Values:
    """What to put into an input tensor: a recipe for random data, and named sets of special values by basis.

    An output that the operator reads before it writes it has values too: when ``when`` is true of the desc, they stand in it.

    A set is one of generator/special, or one of the operator's own: of ``sets`` each data type takes what it can hold, and ``parts`` are
    those values ``x`` of a set of generator/special for which a condition is true (of all at once: it joins by ``&`` and ``|``).
    ``where`` is what the documentation demands of every element ``x``; the result for other data is not defined. ``data`` are other
    random data by name, which have cases of their own.
    """

    recipe: str
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)
    special: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    where: Expression | None = None
    sets: Mapping[str, tuple[float | int | str, ...]] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, Expression]] = field(default_factory=dict)
    data: Mapping[str, RandomData] = field(default_factory=dict)
    when: Expression | None = None


@dataclass(frozen=True, slots=True)
class InPlace:
    """An output that may alias any one of ``inputs`` during binding, or with ``together`` several of them at once."""

    output: str
    inputs: tuple[str, ...]
    basis: str = DOCUMENTED
    together: bool = False


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How results are judged (conformance/execution/judge): the class and its parameters by data type.

    ``compare`` is ``value`` (equal numbers; both zeros are equal) or ``bits`` (equal bit patterns, for operators that work on bits).
    ``parameters`` maps a parameter to its value, or to values by data type.
    """

    judge: str
    compare: str = "value"
    parameters: Mapping[str, float | Mapping[str, float]] = field(default_factory=dict)
    exceptions: tuple[ToleranceException, ...] = ()

    def of(self, output: str, data_type: str, fields: Mapping[str, object]) -> Tolerance:
        """The tolerance of one output of a desc with these fields: the first exception that speaks of it, or this."""
        return next((e.tolerance for e in self.exceptions if e.applies(output, data_type, fields)), self)

    def parameter(self, name: str, data_type: str, default: float | None = None) -> float:
        """A parameter's value for a data type. Raises KeyError if the spec gives none and there is no default."""
        value = self.parameters.get(name, default)
        if isinstance(value, Mapping):
            value = value.get(data_type, default)
        if value is None:
            raise KeyError(f"tolerance class {self.judge} needs {name!r} for {data_type}")
        return float(value)


@dataclass(frozen=True, slots=True)
class ToleranceException:
    """Where another tolerance holds: for these outputs and data types (all where empty), when the condition is true of the desc."""

    tolerance: Tolerance
    outputs: tuple[str, ...] = ()
    data_types: tuple[str, ...] = ()
    when: Expression | None = None

    def applies(self, output: str, data_type: str, fields: Mapping[str, object]) -> bool:
        """Whether it speaks of this output (``OutputTensor``, ``OutputTensors[0]``)."""
        named = not self.outputs or output.partition("[")[0] in self.outputs
        typed = not self.data_types or data_type in self.data_types
        return named and typed and (self.when is None or bool(self.when.evaluate(fields)))


PRESENT, ABSENT = "present", "absent"
"""What an optional tensor is in a choice of attributes."""

UNDEFINED = "_"
"""An element of a literal whose value the documentation leaves open."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A tensor written out: ``data`` is flat, in row-major order.

    An element is a number, or nan, inf, -inf, a bit pattern ``0x7FC00001``, or ``UNDEFINED`` in an output.
    """

    data_type: str
    sizes: tuple[int, ...]
    data: tuple[float | int | str, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """Inputs, attributes and outputs as numbers: the page's example, or what DirectML.dll was measured to give.

    ``answers`` maps a basis to outputs: one entry, or for a contested example the documentation's and the DLL's.
    ``evidence`` names the page or the measurement.
    """

    id: str
    basis: str
    inputs: Mapping[str, Literal]
    attributes: Mapping[str, object]
    answers: Mapping[str, Mapping[str, Literal]]
    evidence: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """A law that outputs keep among themselves, so that no reference is needed: ``f(f(a, b), b) == a``.

    ``given`` maps each variable to the tensor whose values it takes; ``where`` limits them. ``f`` runs the operator, and the names in
    ``uses`` other operators. The law is about those data types of the first tensor (all where empty) and those fields of a desc alone
    for which ``when`` is true. A variable in ``data`` has those instead of its tensor's random data. What a law may say stands in
    conformance/properties/laws.
    """

    label: str
    law: Expression
    given: Mapping[str, str]
    where: Expression | None = None
    basis: str = DOCUMENTED
    uses: Mapping[str, str] = field(default_factory=dict)
    data_types: tuple[str, ...] = ()
    when: Expression | None = None
    data: Mapping[str, RandomData] = field(default_factory=dict)

    def speaks_of(self, data_type: str, fields: Mapping[str, object]) -> bool:
        """Whether it is about a desc with these fields and this data type of its first tensor. It needs the tensors that it is given."""
        typed = not self.data_types or data_type in self.data_types
        present = all(fields.get(name.partition("[")[0]) is not None for name in self.given.values())
        return typed and present and (self.when is None or bool(self.when.evaluate(fields)))


@dataclass(frozen=True, slots=True)
class Erratum:
    """A flaw of the documentation, with its evidence; ``differences`` are the keys of ``spec compare`` that it explains."""

    id: str
    text: str
    evidence: str
    severity: str = "erratum"
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A published page: repository, path and commit, or a title for what has no repository."""

    title: str
    repo: str = ""
    path: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """Everything written down about one operator, compared and hashed by identity. ``file`` is where it was read from.

    ``sizes`` are what the shapes' free symbols go through, the usual one first. ``configurations`` say what may stand together: each
    limits attributes to some of their values, and optional tensors to being there or not; ``bases`` are those of the configurations that
    do not rest on the documentation. ``layouts`` are those of generator/layouts
    that mean something for this operator alone. ``lenient`` are the acceptances that the spec file states itself, and ``measurements`` reads
    what probes found, which is no promise and stands in spec/measured.
    """

    name: str
    type: int
    family: str
    introduced: FeatureLevel
    summary: str
    fields: tuple[Field, ...]
    support: tuple[Support, ...]
    constraints: tuple[Constraint, ...]
    shapes: tuple[Shape, ...]
    values: Mapping[str, Values]
    in_place: tuple[InPlace, ...]
    tolerance: Tolerance
    examples: tuple[Example, ...]
    relations: tuple[Relation, ...]
    lenient: tuple[Acceptance, ...]
    errata: tuple[Erratum, ...]
    sources: tuple[Source, ...]
    file: Path | None = None
    measurements: Callable[[], tuple[Measurement, ...]] = tuple
    sizes: Mapping[str, tuple[int | tuple[int, ...], ...]] = field(default_factory=dict)
    configurations: Mapping[str, Mapping[str, tuple[object, ...]]] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    layouts: tuple[str, ...] = ()

    @property
    def measured(self) -> tuple[Measurement, ...]:
        """What probes found, one measurement an implementation."""
        return self.measurements()

    @property
    def accepts(self) -> tuple[Acceptance, ...]:
        """The rules whose breach is not required to be rejected: as the spec file says, and as DirectML.dll was measured."""
        measured = (
            Acceptance(entry.what, f"probe of {found.by} on {found.date}", entry.types)
            for found in self.measured
            if found.by.partition(" ")[0] == ORACLE
            for entry in found.accepts
            if entry.waived
        )
        return (*self.lenient, *measured)

    def strict(self) -> Operator:
        """The same operator, whose every rule is enforced."""
        return replace(self, lenient=(), measurements=tuple)

    def field(self, name: str) -> Field:
        """The field called ``name``. Raises KeyError."""
        for entry in self.fields:
            if entry.name == name:
                return entry
        raise KeyError(f"{self.name} has no field {name!r}")

    def inputs(self) -> tuple[Field, ...]:
        """The input tensor fields."""
        return tuple(f for f in self.fields if f.kind == "input")

    def outputs(self) -> tuple[Field, ...]:
        """The output tensor fields."""
        return tuple(f for f in self.fields if f.kind == "output")

    def held(self, fields: Mapping[str, object]) -> frozenset[str]:
        """The outputs that the operator reads before it writes them, for a desc with these fields."""
        names = {output.name for output in self.outputs() if fields.get(output.name) is not None}
        return frozenset(
            name
            for name, values in self.values.items()
            if name in names and (values.when is None or bool(values.when.evaluate(fields)))
        )

    def configuration(self, fields: Mapping[str, object]) -> str:
        """The label of the first configuration that these fields are of, empty if there is none."""
        found = (
            label
            for label, limits in self.configurations.items()
            if all(_allowed(name, values, fields) for name, values in limits.items())
        )
        return next(found, "")

    def attributes(self) -> tuple[Field, ...]:
        """The fields that are not tensors."""
        return tuple(f for f in self.fields if f.kind == "attribute")

    def tables(self, at: FeatureLevel | None = None, attributes: Mapping[str, object] | None = None) -> Iterator[Support]:
        """The tensor-support tables in force at a level (all if None), newest first, that speak of these attributes (any if None)."""
        for table in newest_first(self):
            if (at is None or table.level <= at) and (attributes is None or table.applies(attributes)):
                yield table


@cache
def newest_first(operator: Operator) -> tuple[Support, ...]:
    """The operator's tensor-support tables, the newest level's first."""
    return tuple(sorted(operator.support, key=lambda table: table.level, reverse=True))


def _allowed(name: str, values: tuple[object, ...], fields: Mapping[str, object]) -> bool:
    """Whether a configuration lets the desc with these fields have its value of one of them."""
    value = fields.get(name)
    if set(values) <= {PRESENT, ABSENT}:
        return (ABSENT if value is None else PRESENT) in values
    value = getattr(value, "type", value)  # an operator stands there by its name
    return any(value == (other.evaluate(fields) if isinstance(other, Expression) else other) for other in values)
