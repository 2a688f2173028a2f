"""Cases from the tables: every cell of every level, sizes, the examples, and special values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

from dmlcts.generator.build import build, support_cells
from dmlcts.generator.case import VALUES, Case, Data
from dmlcts.generator.shapes import (
    TypeChoice,
    attribute_choices,
    dimension_counts,
    level_of,
    make_desc,
    padded_run,
    representatives,
    type_choices,
    usual_dimension_count,
)
from dmlcts.generator.special import special_values
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.dtypes import bits_dtype, literal_array
from dmlcts.spec.model import CONTESTED, DOCUMENTED, MEASURED, Example, Literal, Operator, Values

_RUN = (2, 3, 1, 5, 1, 2, 3, 1)
"""Sizes of table cases, from the last dimension on: small, odd, with ones among them, and no two neighbours alike."""

_COUNTS = (1, 3, 4, 5, 31, 32, 33, 63, 64, 65, 255, 256, 257)
"""Element counts around the widths of vectors, waves and thread groups."""

_LARGE = 65_537
"""One more than a 16-bit index, or a dispatch of 256 groups of 256 threads, can reach: as elements of a row, and as rows."""

_MANY = 10_000
"""Special values above this number are left to level full."""

_SHAPES = ((7, 1, 1, 1), (1, 5, 1, 3), (3, 5, 7, 9), (1, 1, 17, 33), (2, 1, 1, 129))
"""Shapes with ones at either end and in the middle, and with odd sizes throughout."""


def cell_cases(operator: Operator) -> Iterator[Case]:
    """One case for each choice of data types, dimension count and attribute values: every cell of every table stands in one."""
    for choice in type_choices(operator):
        usual = usual_dimension_count(operator, choice)
        for count in dimension_counts(operator, choice):
            run = tuple(reversed(_RUN[:count]))
            for index, attributes in enumerate(attribute_choices(operator)):
                level = "smoke" if count == usual and index == 0 else "core" if count == usual or index == 0 else "full"
                desc = make_desc(operator, choice.types, run, attributes)
                cells = support_cells(operator, desc)
                yield build(operator, "table", (f"{count}d",), desc, choice, level=level, covers=cells)


def size_cases(operator: Operator) -> Iterator[Case]:
    """Element counts around powers of two, odd shapes and one large tensor; in core for one type of each width."""
    core = representatives(operator)
    first = attribute_choices(operator)[0]
    for choice in type_choices(operator):
        usual = usual_dimension_count(operator, choice)
        for sizes in (*((1, 1, 1, count) for count in _COUNTS), *_SHAPES, (1, 1, 1, _LARGE), (1, 1, _LARGE, 1)):
            run = padded_run(sizes, usual)
            level = "core" if choice == core[0] or (choice in core and prod(sizes) != _LARGE) else "full"
            desc = make_desc(operator, choice.types, run, first)
            label = f"sizes/{'x'.join(map(str, sizes))}"
            yield build(operator, "sizes", (label,), desc, choice, level=level, covers=(label,))


def value_cases(operator: Operator) -> Iterator[Case]:
    """Special values: the product of the inputs' sets, each in one case that holds every combination of their values."""
    for choice, attributes in product(type_choices(operator), attribute_choices(operator)):
        core = choice in representatives(operator)
        for sets in product(*(_sets(values) for values in operator.values.values())):
            bases = [basis for _, basis in sets]
            names = [name for name, _ in sets]
            case = _value_case(operator, choice, attributes, dict(zip(operator.values, names, strict=True)))
            if case is not None:
                desc, data = case
                basis = MEASURED if MEASURED in bases else DOCUMENTED
                yield build(
                    operator,
                    "values",
                    ("values", "-x-".join(names)),
                    desc,
                    choice,
                    level="core" if core and prod(next(desc.tensors())[1].sizes) <= _MANY else "full",
                    data=data,
                    basis=basis,
                    checks=("zero-sign",) if basis == MEASURED else (),
                    covers=[f"values/{tensor}/{name}" for tensor, name in zip(operator.values, names, strict=True)],
                )


def _sets(values: Values) -> list[tuple[str, str]]:
    return [*((name, DOCUMENTED) for name in values.special), *((name, MEASURED) for name in values.measured)]


def _value_case(
    operator: Operator, choice: TypeChoice, attributes: Mapping[str, object], sets: Mapping[str, str]
) -> tuple[OperatorDesc, dict[str, Data]] | None:
    """Desc and data that hold every combination of the sets' values, or None where a set has nothing for its type."""
    types = dict(choice.types)
    skipped = {tensor: _contested(operator, tensor, types[tensor], attributes) for tensor in sets}
    lengths = {tensor: special_values(name, types[tensor], skipped[tensor]).size for tensor, name in sets.items()}
    total = prod(lengths.values())
    if not total:
        return None
    desc = make_desc(operator, choice.types, padded_run((total,), usual_dimension_count(operator, choice)), attributes)
    data = {}
    each = total
    for tensor, name in sets.items():
        each //= lengths[tensor]
        data[tensor] = Data(special=name, parameters={"each": each} | ({"skip": skipped[tensor]} if skipped[tensor] else {}))
    return desc, data


def _contested(operator: Operator, tensor: str, data_type: str, attributes: Mapping[str, object]) -> str:
    """The bit patterns that a contested example disputes for these attributes: cases of another basis leave them out."""
    found: set[int] = set()
    for example in operator.examples:
        literal = example.inputs.get(tensor)
        if (
            example.basis == CONTESTED
            and literal
            and literal.data_type == data_type
            and dict(example.attributes) == dict(attributes)
        ):
            found |= {int(pattern) for pattern in literal_array(literal).view(bits_dtype(data_type))}
    return " ".join(f"{pattern:#x}" for pattern in sorted(found))


def example_cases(operator: Operator) -> Iterator[Case]:
    """The documentation's examples, and what DirectML.dll was measured to give, as numbers on both sides."""
    for example in operator.examples:
        desc = _example_desc(operator, example)
        literals = [*example.inputs.values(), *(literal for outputs in example.answers.values() for literal in outputs.values())]
        label = "-".join(dict.fromkeys(literal.data_type for literal in literals))
        yield Case(
            id=f"{operator.name}/{label}/example/{example.id}",
            kind="example",
            level="smoke" if example.basis == DOCUMENTED else "core",
            desc=desc,
            feature_level=str(level_of(operator, desc) or operator.introduced),
            data_type=literals[0].data_type,
            basis=example.basis,
            expect=VALUES,
            data={name: Data(literal=literal) for name, literal in example.inputs.items()},
            answers=example.answers,
            checks=("zero-sign",) if example.basis == MEASURED else (),
            covers=(f"example/{example.id}",),
            note=example.note,
        )


def _example_desc(operator: Operator, example: Example) -> OperatorDesc:
    answers = next(iter(example.answers.values()))
    tensors: dict[str, Literal] = {**example.inputs, **answers}
    fields: dict[str, object] = {}
    for field in operator.fields:
        found = {name: literal for name, literal in tensors.items() if name.partition("[")[0] == field.name}
        descs = tuple(TensorDesc(literal.data_type, literal.sizes) for literal in found.values())
        if field.type == "TENSOR_DESC":
            fields[field.name] = descs[0] if descs else None
        elif field.is_tensor:
            fields[field.name] = descs
        else:
            fields[field.name] = example.attributes.get(field.name)
    return OperatorDesc(operator.name, fields)
