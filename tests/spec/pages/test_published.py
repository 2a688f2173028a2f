"""Five pages as Microsoft published them: they differ from the specs in what the errata say, and in nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from rendered_pages import keys

from dmlcts.spec.pages.compare import compare
from dmlcts.spec.pages.page import read_page
from dmlcts.spec.reading.loader import load

PUBLISHED = Path(__file__).parents[4] / "shared" / "pages"

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
