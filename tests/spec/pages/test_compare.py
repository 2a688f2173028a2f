"""Comparing reference pages with specs: pages rendered from a spec compare clean, and broken ones show exactly what broke."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

import pytest
from hard_operators import HARD, operator
from rendered_pages import declared, keys, plainly, render_page

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import (
    MEASURED,
    UNDEFINED,
    Constraint,
    Example,
    InPlace,
    Literal,
    Operator,
    Support,
)
from dmlcts.spec.pages.compare import compare
from dmlcts.spec.pages.page import read_page
from dmlcts.spec.reading.loader import load

# The first operators; then attributes of every kind, optional tensors of several types, and sizes with symbols; then what is in none of them yet.
SAMPLE = (
    *(
        f"ELEMENT_WISE_{name}"
        for name in ("BIT_COUNT", "BIT_OR", "BIT_SHIFT_RIGHT", "BIT_XOR", "ROUND", "CLIP1", "QUANTIZED_LINEAR_ADD")
    ),
    "ACTIVATION_SOFTMAX",
)
OPERATORS = list(dict.fromkeys((*SAMPLE, *(file.stem.upper() for file in sorted(HARD.glob("*.yaml"))))))
STYLES = ["en", "es", "it", "es beside en", "it beside en", "source"]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_page_that_says_what_the_spec_says_has_no_differences(name: str, style: str) -> None:
    op = operator(name)
    page = read_page(render_page(op, style))
    assert compare(page, op) == []
    assert page.unread == ()
    assert page.operator == name
    assert (page.original is not None) == ("beside" in style)
    assert [(table.level or op.introduced.name, len(table.tensors)) for table in page.support] == [
        (table.level.name, len(table.tensors)) for table in op.support
    ]


# --- Everything that a page can get wrong, each thing by itself ----------------------------------------------------------------------

Broken = tuple[str, Operator]  # the key that must show, and what the page is rendered from


def where(table: Support) -> str:
    order = {name: abi().enums["DML_REDUCE_FUNCTION"].values for name in table.when}
    return "".join(f"/{name}={','.join(sorted(map(str, v), key=order[name].__getitem__))}" for name, v in table.when.items())


def broken_tables(op: Operator) -> Iterator[Broken]:
    other = next(level for level in abi().feature_levels.values() if level not in {table.level for table in op.support})
    for index, table in enumerate(op.support):
        before, after = op.support[:index], op.support[index + 1 :]

        def with_table(*tables: Support, before: tuple[Support, ...] = before, after: tuple[Support, ...] = after) -> Operator:
            return replace(op, support=(*before, *tables, *after))

        at = f"support/{table.level}{where(table)}"
        if len(op.support) > 1 and table.basis != MEASURED:
            yield at, with_table()
        if not table.when:
            yield f"support/{other}", with_table(replace(table, level=other), table)
        for turn, (name, row) in enumerate(table.tensors.items()):
            if len(table.tensors) > 1:
                yield f"{at}/{name}", with_table(replace(table, tensors={n: r for n, r in table.tensors.items() if n != name}))
            low, high = row.dimensions
            wider = (low, high - 1) if high == 8 else (low, high + 1)
            more = next(t for t in abi().data_types if t not in row.data_types)
            less = tuple(t for i, t in enumerate(row.data_types) if i != turn % len(row.data_types))
            for end, changed in (
                ("dimensions", replace(row, dimensions=wider)),
                ("types", replace(row, data_types=less)),
                ("types", replace(row, data_types=(*row.data_types, more))),
            ):
                yield f"{at}/{name}/{end}", with_table(replace(table, tensors={**table.tensors, name: changed}))


def broken_sentences(op: Operator) -> Iterator[Broken]:
    later = next(level for level in abi().feature_levels.values() if level > op.introduced or level.name == "1_0")
    yield "availability", replace(op, introduced=later if later != op.introduced else abi().feature_levels["2_0"])
    for constraint in filter(plainly, op.constraints):
        rest = tuple(c for c in op.constraints if c is not constraint)
        yield f"constraint/{constraint.label}", replace(op, constraints=rest)
        for name in constraint.tensors if len(constraint.tensors) > 2 else ():
            fewer = replace(constraint, tensors=tuple(t for t in constraint.tensors if t != name))
            yield f"constraint/{constraint.label}", replace(op, constraints=(*rest, fewer))
    for same, label in (("DataType", "same-data-type"), ("DimensionCount", "same-dimension-count"), ("Sizes", "same-sizes")):
        tensors = tuple(field.name for field in op.fields if field.is_tensor)
        if len(tensors) > 1 and not any(c.same == same for c in op.constraints):
            yield f"constraint/{label}", replace(op, constraints=(*op.constraints, Constraint("more", same, tensors)))
    if not op.in_place:
        yield "in-place", replace(op, in_place=(InPlace(op.outputs()[0].name, tuple(field.name for field in op.inputs())),))
    for entry in (entry for entry in op.in_place if entry.basis != MEASURED):
        rest = tuple(e for e in op.in_place if e is not entry)
        yield "in-place", replace(op, in_place=rest)
        if len(entry.inputs) > 1:
            yield "in-place", replace(op, in_place=(*rest, replace(entry, inputs=entry.inputs[1:])))
            yield "in-place/together", replace(op, in_place=(*rest, replace(entry, together=not entry.together)))


def broken_examples(op: Operator) -> Iterator[Broken]:
    for index, example in enumerate(op.examples):
        if not example.id.startswith("page-"):
            continue
        before, after = op.examples[:index], op.examples[index + 1 :]
        key = f"example/{example.id.removeprefix('page-')}"
        yield key, replace(op, examples=(*before, *after))
        for changed in broken_numbers(example, op):
            yield key, replace(op, examples=(*before, changed, *after))
        if not after:
            extra = replace(
                example,
                id="page-more",
                inputs=negated(example.inputs),
                answers={"documented": negated(example.answers["documented"])},
            )
            yield f"example/{index + 2}", replace(op, examples=(*before, example, extra))


def negated(tensors: dict[str, Literal]) -> dict[str, Literal]:
    return {name: replace(t, data=tuple(-int(x) - 1 if x != UNDEFINED else x for x in t.data)) for name, t in tensors.items()}


def broken_numbers(example: Example, op: Operator) -> Iterator[Example]:
    outputs = example.answers["documented"]
    for name, literal in chain(example.inputs.items(), outputs.items()):
        for place in {0, len(literal.data) - 1}:
            if literal.data[place] != UNDEFINED:
                data = (*literal.data[:place], float(literal.data[place]) + 0.5, *literal.data[place + 1 :])
                yield with_tensor(example, name, replace(literal, data=data))
        yield with_tensor(example, name, replace(literal, sizes=(*literal.sizes, 1)))
        yield with_tensor(example, name, replace(literal, data_type="INT64" if literal.data_type != "INT64" else "INT8"))
    for name, value in example.attributes.items():
        rest = {n: v for n, v in example.attributes.items() if n != name}
        constants = [c for c in abi().enums[str(op.field(name).enum)].values if c != value] if op.field(name).enum else []
        other = constants[0] if constants else (value[0] + 1, *value[1:]) if isinstance(value, tuple) else value + 77
        yield replace(example, attributes={**rest, name: other})
        if name not in {field.count for field in op.fields}:
            yield replace(example, attributes=rest)


def with_tensor(example: Example, name: str, literal: Literal) -> Example:
    if name in example.inputs:
        return replace(example, inputs={**example.inputs, name: literal})
    return replace(example, answers={"documented": {**example.answers["documented"], name: literal}})


@pytest.mark.parametrize("kind", [broken_tables, broken_sentences, broken_examples])
@pytest.mark.parametrize("name", OPERATORS)
def test_whatever_a_page_says_otherwise_is_found_and_nothing_else(name: str, kind: Callable[[Operator], Iterator[Broken]]) -> None:
    op = operator(name)
    for turn, (key, broken) in enumerate(kind(op)):
        style = STYLES[turn % len(STYLES)]
        assert keys(render_page(broken, style), op) == [key], f"{style}, breakage {turn}"


def struct_changes(op: Operator) -> Iterator[tuple[str, str, str]]:
    """The key that must show, a line of the struct, and what it is changed to."""
    for field in op.fields:
        line = f"  {declared(field)};\n"
        end, key = f" {field.name};", f"fields/{field.name}"
        yield key, line, ""
        yield key, line, line.replace(end, f" {field.name}2;")
        yield key, line, line.replace("  ", "  _Maybenull_ ", 1) if not field.optional else line.replace("_Maybenull_ ", "")
        yield key, line, line.replace("const ", "").replace(f"*{end}", end) if "*" in line else line.replace(end, f"*{end}")
        if field.enum:
            yield key, line, line.replace(field.enum, "DML_AXIS_DIRECTION" if field.enum != "DML_AXIS_DIRECTION" else "UINT")
        elif field.count:
            yield key, line, line.replace(f"_Field_size_({field.count}) ", "")
            yield key, line, line.replace(field.count, "AnotherCount")
        elif "*" not in line:
            yield key, line, line.replace(f"{field.type} ", "UINT64 ").replace("DML_UINT64", "UINT64")
    for one, two in zip(op.fields, op.fields[1:], strict=False):
        lines = f"  {declared(one)};\n", f"  {declared(two)};\n"
        yield "fields/order", "".join(lines), "".join(reversed(lines))


@pytest.mark.parametrize("name", OPERATORS)
def test_every_change_of_the_struct_is_found(name: str) -> None:
    op = operator(name)
    text = render_page(op, "es beside en")
    for key, line, changed in struct_changes(op):
        assert text.count(line) == 1
        assert keys(text.replace(line, changed), op) == [key], f"{line!r} -> {changed!r}"


def test_a_member_that_is_described_unlike_the_struct_is_found() -> None:
    op = load("ELEMENT_WISE_ROUND")
    text = render_page(op)
    assert keys(text.replace("[**DML_ROUNDING_MODE**](/windows/x)", "**[DML_ROUNDING_MODE](/windows/x)\\***"), op) == [
        "members/RoundingMode"
    ]
    assert keys(text.replace("`InputTensor`", "`XTensor`"), op) == ["members/InputTensor"]
    assert keys(re.sub(r"`RoundingMode`\n\n.*\n\n.*\n", "", text), op) == ["members/RoundingMode"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("| InputTensor | Input |", "| InputTensor | Output |", ["support/3_0/InputTensor/kind"]),
        ("| OutputTensor | Output |", "| OutputTensor | Optional output |", ["support/3_0/OutputTensor/kind"]),
        ("| InputTensor | Input |", "| XTensor | Input |", ["support/3_0/InputTensor", "support/3_0/XTensor"]),
        ("struct DML_ELEMENT_WISE_ROUND", "struct DML_ELEMENT_WISE_CEIL", ["struct"]),
        ("NS:directml.DML_ELEMENT_WISE_ROUND", "NS:directml.DML_ELEMENT_WISE_CEIL", ["operator"]),
        ("*OutputTensor* may alias", "*XTensor* may alias", ["in-place"]),
        ("*OutputTensor* may alias", "*OutputTensor* may not alias", ["in-place"]),
        ("Here since `DML_FEATURE_LEVEL_2_1`.", "", ["availability"]),
        (
            "* *InputTensor* and *OutputTensor* must",
            "* *ATensor* and *OutputTensor* must",
            ["constraint/same-data-type", "constraint/same-dimension-count", "constraint/same-sizes"],
        ),
    ],
)
def test_a_changed_word_is_found(old: str, new: str, expected: list[str]) -> None:
    op = load("ELEMENT_WISE_ROUND")
    text = render_page(op)
    assert old in text
    assert keys(text.replace(old, new, 1), op) == expected


@pytest.mark.parametrize("half", ["ttu", "stu"])
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("UINT64, UINT32, UINT16, UINT8", "UINT64, UINT32, UINT8", ["support/4_1/ATensor/types"]),
        ("4", "5", ["support/2_1/ATensor/dimensions"]),
        ("(De 1 a|1 to) 8", r"\1 7", ["support/4_1/ATensor/dimensions"]),
        ("(.*)LEVEL_2_1`", r"\1LEVEL_3_0`", ["availability"]),
        (r"(\*O.*)\*BTensor\*", r"\1*ATensor*", ["in-place"]),
        ("(.*(?:mismos|same) .*)DimensionCount", r"\1DataType", ["constraint/same-dimension-count"]),
    ],
)
def test_a_change_in_either_language_of_a_page_is_found(half: str, old: str, new: str, expected: list[str]) -> None:
    op = load("ELEMENT_WISE_BIT_SHIFT_RIGHT")
    text = render_page(op, "es beside en")
    changed = re.sub(rf'(?i)(?<={half}-id="5eed-...">){old}', new, text, count=1)
    assert changed != text
    assert keys(changed, op) == expected


@pytest.mark.parametrize("name", OPERATORS)
def test_errata_explain_keys_that_compare_can_give(name: str) -> None:
    known = r"struct|availability|in-place|(fields|members)/\w+|constraint/[a-z0-9-]+|example/[a-z0-9-]+|support/\d_\d(/[\w=,]+)*"
    explained = [key for erratum in operator(name).errata for key in erratum.differences]
    assert [key for key in explained if not re.fullmatch(known, key)] == []
    assert len(explained) == len(set(explained))
