"""A spec file's content as data: an operator's fields, tensor support, constraints, values, tolerance, examples and errata.

Everything the suite knows about an operator hangs on ``Operator``. A promise carries its basis: ``documented`` (the published page
says it), ``measured`` (the page is silent and DirectML.dll does it) or ``contested`` (page and DLL disagree).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from dmlcts.spec.model.abi import FeatureLevel, feature_level
from dmlcts.spec.model.case_data import RandomData, Values
from dmlcts.spec.model.case_sizes import Resize, SingleDispatch, Turning, Workload
from dmlcts.spec.model.desc import field_of
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.measurement import ORACLE, Acceptance, Measurement
from dmlcts.spec.model.source import CONTESTED as CONTESTED
from dmlcts.spec.model.source import DOCUMENTED as DOCUMENTED
from dmlcts.spec.model.source import MEASURED as MEASURED
from dmlcts.spec.model.source import Erratum, Source

BASES = (DOCUMENTED, MEASURED, CONTESTED)


@dataclass(frozen=True, slots=True)
class Domain:
    """Inclusive lower and upper bounds, None where unbounded. A bound may be a sequence, element by element.

    ``basis`` says what the bounds of an attribute rest on: the page, or only what DirectML.dll refuses.
    """

    least: Expression | None = None
    most: Expression | None = None
    basis: str = field(default=DOCUMENTED, metadata={"later": True})


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the operator desc struct, in the struct's order. ``kind`` is input, output or attribute.

    ``optional_since`` is the feature level from which an optional field may be absent, None if always. ``count`` is the attribute that
    counts the elements of an array, ``data_type`` the one that says how a scalar union is read. ``domain`` bounds a number, or every
    element of an array. ``operators`` are those allowed in an operator desc, each with the level that allows it; any where
    empty. ``owned_by_dml`` says whether an input may have DML_TENSOR_FLAG_OWNED_BY_DML, ``packed`` that its elements
    must be contiguous, ``overlap`` whether an input's elements may share memory, as strides of 0 make them. ``values`` are an attribute's values in cases, the default first; an Expression among them is computed from the
    desc's tensors and the attributes before it.
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
    overlap: bool = field(default=True, metadata={"later": True})
    values: tuple[object, ...] = ()

    @property
    def is_tensor(self) -> bool:
        """Whether the field holds a tensor desc or an array of them."""
        return self.type == "TENSOR_DESC" or self.is_tensor_array

    @property
    def is_tensor_array(self) -> bool:
        """Whether the field holds an array of tensor descs."""
        return self.type == "TENSOR_DESC_ARRAY"

    @property
    def may_overlap(self) -> bool:
        """Whether the tensor's elements may share memory: never those of an output."""
        return self.kind == "input" and self.overlap


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

    def row(self, tensor: str) -> TensorSupport:
        """The row of a tensor; those of an array have one in common."""
        return self.tensors[field_of(tensor)]

    def applies(self, attributes: Mapping[str, object]) -> bool:
        """Whether the table applies to a desc with these attribute values."""
        return all(attributes.get(name) in allowed for name, allowed in self.when.items())


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule for valid descs: either ``same`` (a property that is equal in all tensors) or ``that`` (an expression that must be true).

    ``when`` is the condition under which it applies, if not always; ``before`` is the feature level that lifted it. It does not apply to
    absent tensors and attributes. ``label`` names it in cases, coverage and messages.
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
        """The rule as text for messages."""
        text = f"{', '.join(self.tensors)} have the same {self.same}" if self.same else self.that.text if self.that else ""
        return f"{text}, when {self.when.text}" if self.when else text


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes as the documentation writes them, with symbols: ``{InputTensor: [N, C, H, W]}``.

    ``*S`` stands for any number of dimensions, or for as many as ``counts`` says, and ``*1`` for any number of ones. ``A[i]`` in the
    row of a tensor array has a value for each of its tensors; elsewhere A is a sequence. A symbol defined in ``where`` is derived; the
    others are free, within ``domains``. Expressions may use attributes. A shape applies if its ``when`` is true; each shape has its own
    symbols.
    """

    sizes: Mapping[str, tuple[str, ...]]
    where: Mapping[str, Expression] = field(default_factory=dict)
    when: Expression | None = None
    counts: Mapping[str, Expression] = field(default_factory=dict)
    domains: Mapping[str, Domain] = field(default_factory=dict)


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

    def for_output(self, output: str, data_type: str, fields: Mapping[str, object], basis: str = DOCUMENTED) -> Tolerance:
        """The tolerance of one output of a desc with these fields, in a case of that basis: the first exception that applies, or this."""
        return next((e.tolerance for e in self.exceptions if e.applies(output, data_type, fields, basis)), self)

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
    """Another tolerance for these outputs and data types (all where empty), if the condition is true of the desc.

    With ``basis`` measured it applies only in cases of that basis: they require what every known implementation achieves, where that is
    better than what the documentation promises.
    """

    tolerance: Tolerance
    outputs: tuple[str, ...] = ()
    data_types: tuple[str, ...] = ()
    when: Expression | None = None
    basis: str = DOCUMENTED

    def applies(self, output: str, data_type: str, fields: Mapping[str, object], basis: str = DOCUMENTED) -> bool:
        """Whether it applies to this output (``OutputTensor``, ``OutputTensors[0]``)."""
        named = not self.outputs or output.partition("[")[0] in self.outputs
        typed = not self.data_types or data_type in self.data_types
        meant = self.basis in (DOCUMENTED, basis)
        return named and typed and meant and (self.when is None or bool(self.when.evaluate(fields)))


PRESENT, ABSENT = "present", "absent"
"""The two states of an optional tensor in a combination of attributes."""

UNDEFINED = "_"
"""An element of a literal that the documentation leaves undefined."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A tensor as a list of values: ``data`` is flat, in row-major order.

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
    """A law between outputs, for which no reference is needed: ``f(f(a, b), b) == a``.

    ``given`` maps each variable to the tensor that provides its values; ``where`` limits them. ``f`` runs the operator, and the names in
    ``uses`` run other operators. The law applies to these data types of the first tensor (all where empty), and to descs for which
    ``when`` is true. A variable in ``data`` has these data instead of its tensor's random data. conformance/properties/laws describes the
    language of laws.
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
        """Whether it applies to a desc with these fields and this data type of its first tensor. All tensors in ``given`` must be present."""
        typed = not self.data_types or data_type in self.data_types
        present = all(fields.get(name.partition("[")[0]) is not None for name in self.given.values())
        return typed and present and (self.when is None or bool(self.when.evaluate(fields)))


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """Everything that the suite knows about one operator, compared and hashed by identity. ``file`` is its source.

    ``sizes`` are the values of the shapes' free symbols, the default first; ``largest`` are the most that cases combine with others, of
    symbols that make a case slow, ``most_elements`` the most of their product, ``usual_elements`` a soft limit on it in combinations;
    ``turning``, ``resize`` and ``workloads`` are about sizes, too, and ``dispatches`` about sizes and data at once.
    ``configurations`` are the valid combinations: each limits attributes to some values, and optional tensors to present or absent;
    ``bases`` has the basis of those that are not documented, and ``measured_where`` says of which descs no page speaks, whatever their configuration.
    ``layouts`` are the extra layouts (generator/values/layouts) for this operator. ``edition`` is the number of an earlier edition
    (generator/plan/editions), None of the spec as it is. ``lenient`` are the acceptances in the spec file itself;
    ``measurements`` reads the findings of probes from spec/measured, which are not promises.
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
    largest: Mapping[str, int] = field(default_factory=dict)
    most_elements: int = 1 << 32
    usual_elements: int = field(default=1 << 32, metadata={"later": True})
    turning: Turning | None = None
    resize: Resize | None = field(default=None, metadata={"later": True})
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    dispatches: Mapping[str, SingleDispatch] = field(default_factory=dict, metadata={"later": True})
    configurations: Mapping[str, Mapping[str, tuple[object, ...]]] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    measured_where: Expression | None = field(default=None, metadata={"later": True})
    layouts: tuple[str, ...] = ()
    edition: int | None = field(default=None, metadata={"later": True})

    @property
    def probe_measurements(self) -> tuple[Measurement, ...]:
        """The findings of probes, one measurement for each implementation."""
        return self.measurements()

    @property
    def accepts(self) -> tuple[Acceptance, ...]:
        """What need not be rejected although it breaks a rule: from the spec file, and as measured on DirectML.dll."""
        measured = (
            Acceptance(entry.what, f"probe of {found.by} on {found.date}", entry.ways, entry.types, feature_level(found.level))
            for found in self.probe_measurements
            if found.by.partition(" ")[0] == ORACLE
            for entry in found.accepts
            if entry.waived
        )
        return (*self.lenient, *measured)

    def strict(self) -> Operator:
        """The same operator with every rule enforced."""
        return replace(self, lenient=(), measurements=tuple)

    def field(self, name: str) -> Field:
        """The field called ``name``. Raises KeyError."""
        for entry in self.fields:
            if entry.name == name:
                return entry
        raise KeyError(f"{self.name} has no field {name!r}")

    def values_of(self, tensor: str) -> Values | None:
        """The content of a tensor in cases: its own, or what all elements of its array have."""
        return self.values.get(tensor, self.values.get(field_of(tensor)))

    def inputs(self) -> tuple[Field, ...]:
        """The input tensor fields."""
        return _of_kind(self, "input")

    def outputs(self) -> tuple[Field, ...]:
        """The output tensor fields."""
        return _of_kind(self, "output")

    def read_outputs(self, fields: Mapping[str, object]) -> frozenset[str]:
        """The outputs that the operator reads before it writes them, for a desc with these fields."""
        names = {output.name for output in self.outputs() if fields.get(output.name) is not None}
        return frozenset(
            name
            for name, values in self.values.items()
            if name in names and (values.when is None or bool(values.when.evaluate(fields)))
        )

    def configuration(self, fields: Mapping[str, object]) -> str:
        """The label of the first configuration that allows these fields, empty if none does."""
        found = (
            label
            for label, limits in self.configurations.items()
            if all(_is_allowed(name, values, fields) for name, values in limits.items())
        )
        return next(found, "")

    def basis(self, fields: Mapping[str, object]) -> str:
        """What the results of a desc with these fields rest on: the page, or only what DirectML.dll was measured to do."""
        if self.measured_where is not None and bool(self.measured_where.evaluate(fields)):
            return MEASURED
        return self.bases.get(self.configuration(fields), DOCUMENTED)

    @property
    def is_measured_alone(self) -> bool:
        """Whether no page says what the operator computes, so that what was measured is the only promise there is: its cases run by default."""
        return bool(self.configurations) and all(self.bases.get(label, DOCUMENTED) != DOCUMENTED for label in self.configurations)

    def attributes(self) -> tuple[Field, ...]:
        """The fields that are not tensors."""
        return _of_kind(self, "attribute")

    def tables(self, at: FeatureLevel | None = None, attributes: Mapping[str, object] | None = None) -> Iterator[Support]:
        """The tensor-support tables in force at a level (all if None), newest first, that apply to these attributes (any if None)."""
        for table in newest_first(self):
            if (at is None or table.level <= at) and (attributes is None or table.applies(attributes)):
                yield table


@cache
def _of_kind(operator: Operator, kind: str) -> tuple[Field, ...]:
    return tuple(field for field in operator.fields if field.kind == kind)


@cache
def newest_first(operator: Operator) -> tuple[Support, ...]:
    """The operator's tensor-support tables, the newest level's first."""
    return tuple(sorted(operator.support, key=lambda table: table.level, reverse=True))


def _is_allowed(name: str, values: tuple[object, ...], fields: Mapping[str, object]) -> bool:
    """Whether a configuration allows the value of one field of a desc."""
    value = fields.get(name)
    if PRESENT in values or ABSENT in values:
        return (ABSENT if value is None else PRESENT) in values
    value = getattr(value, "type", value)  # a configuration lists operators by name
    return any(value == (other.evaluate(fields) if isinstance(other, Expression) else other) for other in values)
