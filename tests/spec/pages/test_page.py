"""Reading pages as people write them: what cannot be read is reported with its line, and the rest is read all the same."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hard_operators import operator
from rendered_pages import keys, render_page

from dmlcts.spec.model.operator import (
    DOCUMENTED,
    MEASURED,
    Constraint,
)
from dmlcts.spec.pages.compare import compare
from dmlcts.spec.pages.examples import read_examples
from dmlcts.spec.pages.markdown import read_blocks
from dmlcts.spec.pages.page import Page, PageError, read_page
from dmlcts.spec.reading.loader import load

PAGES = Path(__file__).parents[2] / "pages"


@pytest.mark.parametrize(
    ("old", "new", "message"),
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
def test_what_cannot_be_read_is_reported_with_its_line(old: str, new: str, message: str) -> None:
    text = render_page(load("ELEMENT_WISE_ROUND"))
    assert old in text
    changed = text.replace(old, new, 1)
    (entry,) = read_page(changed).unread
    assert message.replace("*", "") in entry
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
    ("text", "message"),
    [
        ("", "no DML_.._OPERATOR_DESC"),
        ("<!DOCTYPE html><html><body>DML_GEMM_OPERATOR_DESC</body></html>", "as Markdown and not as HTML"),
        ("---\ntitle: DML_ROUNDING_MODE\n---\n# DML_ROUNDING_MODE enumeration\n", "give the reference page of an operator desc"),
        ("---\ntitle: DML_GEMM_OPERATOR_DESC\n---\n# DML_GEMM_OPERATOR_DESC\nSoon.\n", "page.md:4: no C++ struct and no"),
    ],
)
def test_what_is_no_operator_page_is_refused(text: str, message: str) -> None:
    with pytest.raises(PageError, match=re.escape(message)) as error:
        read_page(text, Path("page.md"))
    assert str(error.value).startswith("page.md:")


@pytest.fixture
def sum_page() -> Page:
    file = PAGES / "reduce.md"
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
