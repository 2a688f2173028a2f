"""Reading reference pages and comparing them with specs: pages rendered from a spec compare clean, and broken ones show exactly what broke."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from rendered_pages import declared, plainly, render_page

from dmlcts.spec.abi import abi
from dmlcts.spec.loader import load, load_file
from dmlcts.spec.model import (
    DOCUMENTED,
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
from dmlcts.spec.pages.examples import read_examples
from dmlcts.spec.pages.markdown import read_blocks
from dmlcts.spec.pages.page import Page, PageError, read_page
from dmlcts.spec.pages.sentences import alias_rule, permits_aliasing, same_rules

HERE = Path(__file__).parents[2]
PUBLISHED = HERE.parents[1] / "shared" / "pages"
FILES = sorted((HERE / "data" / "operators").glob("*.yaml"))
# The first operators; then attributes of every kind, optional tensors of several types, and sizes with symbols; then what is in none of them yet.
SAMPLE = (
    *(
        f"ELEMENT_WISE_{name}"
        for name in ("BIT_COUNT", "BIT_OR", "BIT_SHIFT_RIGHT", "BIT_XOR", "ROUND", "CLIP1", "QUANTIZED_LINEAR_ADD")
    ),
    "ACTIVATION_SOFTMAX",
)
OPERATORS = list(dict.fromkeys((*SAMPLE, *(file.stem.upper() for file in FILES))))
STYLES = ["en", "es", "it", "es beside en", "it beside en", "source"]


def operator(name: str) -> Operator:
    file = HERE / "data" / "operators" / f"{name.lower()}.yaml"
    return load_file(file) if file.exists() else load(name)


def keys(text: str, op: Operator) -> list[str]:
    return [difference.key for difference in compare(read_page(text), op)]


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


# --- What cannot be read is said -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("must have the same", "should somehow have the same", "the constraint '*InputTensor"),
        ("*OutputTensor* may alias *InputTensor*", "Anything may alias", "the in-place sentence 'Anything may alias"),
        ("| Input |", "| Ingang |", "the kind 'Ingang'"),
        ("1 to 8", "any", "the dimension counts 'any'"),
        ("FLOAT32, FLOAT16 |", "FLOAT32 but not FLOAT16 |", "the data types 'FLOAT32 but not FLOAT16'"),
        ("DML_FEATURE_LEVEL_3_0 and above", "Large tensors", "the heading 'Large tensors' limits"),
        ("  const DML_TENSOR_DESC* InputTensor;", "  const DML_TENSOR_DESC InputTensor[2];", "the declaration"),
        ("Type: [**DML_ROUNDING_MODE**]", "[**DML_ROUNDING_MODE**]", "the type of the member RoundingMode"),
        (
            "| --- | ---- | :---: | --- |\n| InputTensor |",
            "| --- | ---- | :---: | --- |\n| short |\n| InputTensor |",
            "a row of 1 cells",
        ),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_line(old: str, new: str, said: str) -> None:
    text = render_page(load("ELEMENT_WISE_ROUND"))
    assert old in text
    changed = text.replace(old, new, 1)
    (entry,) = read_page(changed).unread
    assert said.replace("*", "") in entry
    line = int(re.match(r"line (\d+): ", entry)[1])  # type: ignore[index]
    assert text.splitlines()[line - 1] != changed.splitlines()[line - 1]


def test_what_the_prose_says_is_the_same_must_be_so() -> None:
    op = load("ELEMENT_WISE_BIT_COUNT")
    text = render_page(op)
    assert keys(text.replace("Words about it.", "The input and output tensors must have the same *Sizes*.", 1), op) == []
    wrong = text.replace("Words about it.", "The input and output tensors must have the same *DataType*.", 1)
    assert keys(wrong, op) == ["constraint/same-data-type"]


def test_a_page_may_be_silent_where_the_spec_rests_on_measurements() -> None:
    op = operator("FOLD")
    measured = replace(op, support=tuple(replace(table, basis=MEASURED) for table in op.support))
    silent = re.sub(r"\| [A-Z0-9, ]+ \|$", "|  |", render_page(measured), flags=re.MULTILINE)
    assert keys(silent, measured) == []
    documented = replace(op, support=tuple(replace(table, basis=DOCUMENTED) for table in op.support))
    assert len(keys(silent, documented)) == 2


def test_constraints_on_elements_of_an_array_are_not_expected_of_a_page() -> None:
    op = operator("QUANTIZE")
    elements = Constraint("elements", "DataType", ("QuantizationTensors[0]", "OutputTensor"))
    assert keys(render_page(op), replace(op, constraints=(*op.constraints, elements))) == []


@pytest.mark.parametrize(
    ("cell", "dimensions"),
    [
        ("4", (4,)),
        ("4, 5", (4, 5)),
        ("4 o 6", (4, 6)),
        ("2 to 4", (2, 3, 4)),
        ("1-3", (1, 2, 3)),
        ("1, 2, 4", (1, 2, 4)),
        ("20", ()),
    ],
)
def test_dimension_counts(cell: str, dimensions: tuple[int, ...]) -> None:
    page = read_page(render_page(load("ELEMENT_WISE_ROUND")).replace("1 to 8", cell))
    assert page.support[0].tensors[0].dimensions == dimensions


def test_a_scene_ends_with_its_heading() -> None:
    example = "```\nOutputTensor: (Sizes:{1}, DataType:UINT8)\n[1]\n```\n"
    text = f"## Examples\n```\nK: 1\n```\n### One\n```\nAxis: 3\n```\n{example}### Two\n{example}"
    found, unread = read_examples(read_blocks(text), lambda name: name == "OutputTensor")
    assert [(shown.number, shown.attributes) for shown in found] == [(1, {"K": 1, "Axis": 3}), (2, {"K": 1})]
    assert unread == []


def test_an_input_that_is_called_like_an_output_makes_no_example() -> None:
    text = render_page(load("ELEMENT_WISE_BIT_COUNT")).replace("InputTensor", "OutputScaleTensor")
    text = text.replace("\n\nOutputTensor: (", "\n```\n\n```\nOutputTensor: (")
    (shown,) = read_page(text).examples
    assert list(shown.tensors) == ["OutputScaleTensor", "OutputTensor"]


@pytest.mark.parametrize(("locale", "unread"), [("es-ES", 1), ("nl-NL", 0)])
def test_english_beside_a_translation_stands_in_for_words_of_a_language_that_is_not_known(locale: str, unread: int) -> None:
    op = load("ELEMENT_WISE_ROUND")
    text = render_page(op, "es beside en").replace("es-ES", locale).replace("deben tener los mismos", "hebben dezelfde")
    assert keys(text, op) == []
    assert len(read_page(text).unread) == unread


def test_english_that_cannot_be_read_beside_a_translation_is_reported() -> None:
    text = render_page(load("ELEMENT_WISE_ROUND"), "it beside en")
    (entry,) = read_page(text.replace("must have the same", "agree in")).unread
    assert "agree in DataType" in entry


def test_a_constraint_that_cannot_be_read_is_not_called_missing() -> None:
    op = load("ELEMENT_WISE_ROUND")
    text = re.sub(r"\* \*InputTensor\* and .*", "The *Sizes* are the same where they are not reduced.", render_page(op))
    assert keys(text, op) == ["constraint/same-data-type", "constraint/same-dimension-count"]
    assert len(read_page(text).unread) == 1


def test_a_language_whose_words_are_not_known_is_read_as_far_as_names_and_numbers_go() -> None:
    op = load("ELEMENT_WISE_ROUND")
    german = render_page(op).replace("title:", "ms.contentlocale: de-DE\ntitle:").replace("Type:", "Typ:")
    german = german.replace("must have the same", "haben stets denselben").replace("*Sizes*", "*Größen*")
    german = german.replace("may alias", "teilt sich den Speicher mit")
    german = german.replace("| Input |", "| Eingabe |").replace("| Output |", "| Ausgabe |").replace("1 to 8", "1 bis 8")
    page = read_page(german)
    assert compare(page, op) == []
    assert len(page.unread) == 1 + 4 + 1  # the constraint, the kinds, whether it permits in-place execution
    assert keys(german.replace("FLOAT32, FLOAT16 |", "FLOAT32 |", 1), op) == ["support/3_0/InputTensor/types"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("123", "123, 7"),
        ("[[0, 123]", "[[0, ...]"),
        ("(Sizes:{2, 2}, DataType:UINT32)", "(DataType:UINT32)"),
        ("[[0, 123]", "x [[0, 123]"),
    ],
)
def test_an_example_that_cannot_be_read_is_a_difference_and_unread(old: str, new: str) -> None:
    op = load("ELEMENT_WISE_BIT_COUNT")
    text = render_page(op)
    assert old in text
    changed = text.replace(old, new, 1)
    assert keys(changed, op) == ["example/1"]
    assert len(read_page(changed).unread) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no DML_.._OPERATOR_DESC"),
        ("<!DOCTYPE html><html><body>DML_GEMM_OPERATOR_DESC</body></html>", "as Markdown and not as HTML"),
        ("---\ntitle: DML_ROUNDING_MODE\n---\n# DML_ROUNDING_MODE enumeration\n", "give the reference page of an operator desc"),
        ("---\ntitle: DML_GEMM_OPERATOR_DESC\n---\n# DML_GEMM_OPERATOR_DESC\nSoon.\n", "page.md:4: no C++ struct and no"),
    ],
)
def test_what_is_no_operator_page_is_refused(text: str, said: str) -> None:
    with pytest.raises(PageError, match=re.escape(said)) as error:
        read_page(text, Path("page.md"))
    assert str(error.value).startswith("page.md:")


# --- Sentences -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "properties", "tensors"),
    [
        (
            "*ATensor*, *BTensor*, and `CTensor` must have the same *DataType* and *Sizes*.",
            "DataType Sizes",
            "ATensor BTensor CTensor",
        ),
        (
            "*ATensor,* *BTensor* y *CTensor* deben tener los mismos *tamaños DataType,* y *.*",
            "DataType Sizes",
            "ATensor BTensor CTensor",
        ),
        ("*ATensor* e *BTensor* devono avere lo stesso *tipo* di dati e *dimensioni*.", "DataType Sizes", "ATensor BTensor"),
        ("El tensor de entrada y salida debe tener los mismos *sizes,* aunque pueden diferir *en DataType.*", "Sizes", ""),
        ("Il tensore di input e di output deve avere lo stesso *DimensionCount*.", "DimensionCount", ""),
        ("The input and output tensors must have the same *Sizes*.", "Sizes", ""),
        ("*ATensor* and *BTensor* must have the same *Sizes* (always).", "Sizes", "ATensor BTensor"),
        ("*ATensor* and *BTensor* must have the same *Sizes*, except in the last dimension.", "", ""),
        ("*ATensor* and *BTensor* must have the same *Sizes* (except in the last dimension).", "", ""),
        ("*ATensor* and *BTensor* must not have the same *Sizes*.", "", ""),
        ("*ATensor* and *BTensor* must have the same *Sizes* if *Axis* is 0.", "", ""),
        ("*ATensor* must have the same *Sizes*.", "", ""),
        ("*ATensor* and *BTensor* must have the same meaning.", "", ""),
    ],
)
def test_what_sentences_say_is_the_same(sentence: str, properties: str, tensors: str) -> None:
    rules = same_rules(re.sub(r"[*`]", "", sentence), 7)
    assert sorted(rule.property for rule in rules) == sorted(properties.split())
    assert {rule.tensors for rule in rules} == ({tuple(tensors.split())} if properties else set())


def test_a_member_is_the_subject_of_its_description() -> None:
    (rule,) = same_rules("The Sizes of this tensor must match InputTensor.Sizes", 1, "OutputTensor")
    assert rule.tensors == ("OutputTensor", "InputTensor")


@pytest.mark.parametrize(
    ("sentence", "names", "any_output", "any_input", "several"),
    [
        ("The output tensor may alias one or more of the input tensors.", (), True, True, True),
        ("OutputTensor may alias one of the input tensors.", ("OutputTensor",), False, True, False),
        ("OutputTensor puede crear un alias de uno de los tensores de entrada.", ("OutputTensor",), False, True, False),
        ("Il tensore di output può essere l'alias di uno o più dei tensori di input.", (), True, True, True),
        ("OutputTensor puede usar InputTensor como alias.", ("OutputTensor", "InputTensor"), False, False, False),
    ],
)
def test_what_sentences_permit_to_alias(
    sentence: str, names: tuple[str, ...], any_output: bool, any_input: bool, several: bool
) -> None:
    rule = alias_rule(sentence, 1)
    assert rule is not None
    assert (rule.names, rule.any_output, rule.any_input, rule.several) == (names, any_output, any_input, several)


@pytest.mark.parametrize(
    "sentence", ["OutputTensor must not alias InputTensor.", "It uses antialiasing.", "OutputTensor is written."]
)
def test_what_permits_no_aliasing(sentence: str) -> None:
    assert not permits_aliasing(sentence)


def test_an_input_that_is_excepted_from_aliasing() -> None:
    op = load("ELEMENT_WISE_BIT_OR")
    general = "Each output tensor may alias an input tensor. With the exception of *BTensor*, all may be aliased so."
    text = re.sub(r".*may alias.*", general, render_page(op))
    (difference,) = compare(read_page(text), op)
    assert (difference.key, difference.page_says) == ("in-place", "OutputTensor may alias ATensor")


# --- Pages as people write them ------------------------------------------------------------------------------------------------------


@pytest.fixture
def sum_page() -> Page:
    file = HERE / "pages" / "reduce.md"
    return read_page(file.read_text(encoding="utf-8"), file)


def test_a_page_with_scenes_careless_headings_and_flaws(sum_page: Page) -> None:
    differences = compare(sum_page, operator("REDUCE"))
    assert {difference.key: difference.line for difference in differences} == {
        "fields/Axes": 37,
        "support/4_1/Function=ARGMAX,ARGMIN": None,
        "support/5_0/Function=L1,SUM_SQUARE": None,
        "support/5_0/Function=MAX,MIN": None,
        "support/5_0/Function=MULTIPLY,SUM": None,
        "support/2_1/Function=MAX,MIN/InputTensor/types": 134,
        "example/3": 80,
    }
    assert [entry.partition(":")[0] for entry in sum_page.unread] == ["line 64", "line 89"]
    assert "element 0 of OutputTensor is 22 on the page and 21 in the spec" in {d.message.partition(": ")[2] for d in differences}


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    op = load("ELEMENT_WISE_BIT_COUNT")
    text = "\ufeff" + render_page(op, "it beside en").replace("\n", "\r\n")
    assert keys(text, op) == []
    assert read_page(text).unread == ()
    assert read_page(text).language == "it-it"


@pytest.mark.parametrize("name", OPERATORS)
def test_errata_explain_keys_that_compare_can_give(name: str) -> None:
    known = r"struct|availability|in-place|(fields|members)/\w+|constraint/[a-z0-9-]+|example/[a-z0-9-]+|support/\d_\d(/[\w=,]+)*"
    explained = [key for erratum in operator(name).errata for key in erratum.differences]
    assert [key for key in explained if not re.fullmatch(known, key)] == []
    assert len(explained) == len(set(explained))


# --- The five pages as published -----------------------------------------------------------------------------------------------------

TRUE_DIFFERENCES = {
    "element-wise-bit-count.es.md": {"support/4_1": "page-before-4-1"},
    "element-wise-bit-or.it.md": {"support/4_1": "page-before-4-1"},
    "element-wise-bit-shift-right.es.md": {"support/4_1": "page-before-4-1"},
    "element-wise-bit-xor.es.md": {"support/4_1": "page-before-4-1", "example/1": "example-of-bit-not"},
    "element-wise-round.es.md": {},
}


def published(file: str) -> str:
    path = PUBLISHED / file
    if not path.exists():
        pytest.skip(f"the published pages are not beside the checkout: no {path.name} in shared/pages")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", TRUE_DIFFERENCES)
def test_a_published_page_differs_in_what_its_errata_say(file: str) -> None:
    page = read_page(published(file), PUBLISHED / file)
    differences = compare(page, load(page.operator))
    assert {difference.key: difference.erratum for difference in differences} == TRUE_DIFFERENCES[file]
    assert page.unread == ()
    assert page.original is None or page.original.unread == ()
    assert len(page.fields) == len(page.members) == len(load(page.operator).fields)


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("element-wise-bit-count.es.md", "| UINT32, UINT16, UINT8 |", "| UINT32, UINT8 |", "support/3_0/InputTensor/types"),
        ("element-wise-bit-count.es.md", "De 1 a 8", "De 1 a 5", "support/3_0/InputTensor/dimensions"),
        ("element-wise-bit-count.es.md", "[4, 5]]", "[4, 6]]", "example/1"),
        ("element-wise-bit-count.es.md", "`DML_FEATURE_LEVEL_3_0`", "`DML_FEATURE_LEVEL_2_1`", "availability"),
        ("element-wise-bit-or.it.md", ">1 to 8<", ">1 to 4<", "support/3_0/ATensor/dimensions"),
        ("element-wise-bit-or.it.md", ">da 1 a 8<", ">da 4 a 8<", "support/3_0/ATensor/dimensions"),
        ("element-wise-bit-or.it.md", "* ATensor;", "* CTensor;", "fields/ATensor"),
        ("element-wise-bit-or.it.md", "alias di uno o più dei tensori di input", "alias di *ATensor*", "in-place"),
        ("element-wise-bit-or.it.md", "alias one or more of the input tensors", "alias *BTensor*", "in-place"),
        (
            "element-wise-bit-or.it.md",
            "stesso *tipo* di dati, *DimensionCount*",
            "stesso *DimensionCount*",
            "constraint/same-data-type",
        ),
        ("element-wise-bit-shift-right.es.md", "tamaños DataType", "DataType", "constraint/same-sizes"),
        (
            "element-wise-bit-shift-right.es.md",
            ">Output</span></span> |",
            ">Input</span></span> |",
            "support/3_0/OutputTensor/kind",
        ),
        ("element-wise-round.es.md", "  DML_ROUNDING_MODE     RoundingMode;\n", "", "fields/RoundingMode"),
        ("element-wise-round.es.md", "puede asignar un alias a", "precede a", "in-place"),
        ("element-wise-round.es.md", "*DimensionCount* y *tamaños*", "*DimensionCount*", "constraint/same-sizes"),
        ("element-wise-round.es.md", "DML_FEATURE_LEVEL_2_1-and-above", "", ""),
    ],
)
def test_a_published_page_that_is_changed_shows_the_change(file: str, old: str, new: str, expected: str) -> None:
    text = published(file)
    if not expected:
        text, old = text.replace("dml_feature_level_2_1-and-above", "dml_feature_level_1_0-and-above"), ""
        assert len(read_page(text).unread) == 1
        return
    assert old in text
    found = keys(text.replace(old, new, 1), load(read_page(text).operator))
    assert set(found) == {*TRUE_DIFFERENCES[file], expected}
