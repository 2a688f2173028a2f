"""What a spec file may leave out: rows of tables, usual attributes, fused activations, evidence in words, a page's path."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.building.evidence import basis_of, sentence
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.loader import load, load_text, operator_names

ROW = {"dimensions": "1-4", "types": ["FLOAT32"]}
NUMBERS = {"type": "FLOAT32", "sizes": [1, 3], "data": [1, 2, 3]}


def operator(**changes: Any) -> Operator:
    """An operator that sums along Axes, with other parts of its spec."""
    spec = {
        "operator": "ACTIVATION_SOFTMAX1",
        "type": abi().operator_types["ACTIVATION_SOFTMAX1"],
        "introduced": "5_0",
        "summary": "For a test.",
        "fields": [
            {"name": "InputTensor", "kind": "input", "type": "TENSOR_DESC"},
            {"name": "OutputTensor", "kind": "output", "type": "TENSOR_DESC"},
            {"name": "AxisCount", "kind": "attribute", "type": "UINT"},
            {
                "name": "Axes",
                "kind": "attribute",
                "type": "UINT_ARRAY",
                "count": "AxisCount",
                "default": "[InputTensor.DimensionCount - 1]",
            },
            {"name": "Keep", "kind": "attribute", "type": "BOOL", "default": True},
            {"name": "FusedActivation", "kind": "attribute", "type": "OPERATOR_DESC", "optional": True, "fused": True},
        ],
        "support": [{"level": "5_0", **ROW}],
        "constraints": {},
        "tolerance": {"class": "exact"},
        "examples": {"one": {"inputs": {"InputTensor": NUMBERS}, "outputs": {"OutputTensor": NUMBERS}, "evidence": {"page": True}}},
        "sources": [{"page": "DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC", "commit": "0123456789" * 4}],
    }
    return load_text(yaml.safe_dump({**spec, **changes}, sort_keys=False))


# Tables


def test_a_table_without_rows_is_of_every_tensor() -> None:
    [table] = operator().support
    assert list(table.tensors) == ["InputTensor", "OutputTensor"]
    assert {(row.dimensions, row.data_types) for row in table.tensors.values()} == {((1, 4), ("FLOAT32",))}


def test_a_row_says_only_what_is_unlike_the_rest() -> None:
    [table] = operator(support=[{"level": "5_0", **ROW, "tensors": {"OutputTensor": {"types": ["UINT8"]}}}]).support
    assert table.tensors["OutputTensor"].data_types == ("UINT8",)
    assert table.tensors["OutputTensor"].dimensions == (1, 4)
    assert table.tensors["InputTensor"].data_types == ("FLOAT32",)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"tensors": {"InputTensor": ROW}}, "the table has no row for OutputTensor"),
        ({"dimensions": "1-4", "tensors": {"InputTensor": ROW, "OutputTensor": {"dimensions": "4"}}}, "neither the row nor the table has types"),
        ({**ROW, "dimensions": "4-1"}, "support[0].dimensions: '4-1' runs backwards"),
        ({**ROW, "tensors": {"OtherTensor": ROW}}, "unknown tensor 'OtherTensor'"),
    ],
)  # fmt: skip
def test_a_table_that_is_wrong(table: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError) as error:
        operator(support=[{"level": "5_0", **table}])
    assert problem in str(error.value)


# Examples


def example(**changes: Any) -> dict[str, Any]:
    """An operator's examples, of which there is one, changed so."""
    one = {"inputs": {"InputTensor": NUMBERS}, "outputs": {"OutputTensor": NUMBERS}, "evidence": "a text", **changes}
    return {"examples": {"one": one}}


def test_an_example_has_the_usual_attributes_in_the_structs_order() -> None:
    assert list(operator().examples[0].attributes.items()) == [("AxisCount", 1), ("Axes", (1,)), ("Keep", True)]
    [given] = operator(**example(attributes={"Keep": False, "Axes": [0, 1]})).examples
    assert given.attributes == {"AxisCount": 2, "Axes": (0, 1), "Keep": False}


def test_a_default_that_cannot_be_computed_must_be_given() -> None:
    fields = [*operator_fields(), {"name": "Pad", "kind": "attribute", "type": "UINT", "default": "Axes[7]"}]
    with pytest.raises(SpecError, match=r"examples\.one\.attributes: Pad must be given: its default Axes\[7\] fails"):
        operator(fields=fields)
    [found] = operator(fields=fields, **example(attributes={"Pad": 3})).examples
    assert found.attributes["Pad"] == 3


def operator_fields() -> list[dict[str, Any]]:
    return [
        {"name": "InputTensor", "kind": "input", "type": "TENSOR_DESC"},
        {"name": "OutputTensor", "kind": "output", "type": "TENSOR_DESC"},
        {"name": "AxisCount", "kind": "attribute", "type": "UINT"},
        {"name": "Axes", "kind": "attribute", "type": "UINT_ARRAY", "count": "AxisCount", "default": [0]},
    ]


@pytest.mark.parametrize(
    ("changes", "basis", "text"),
    [
        ({"evidence": "a text"}, "documented", "a text"),
        ({"evidence": {"page": "formula"}}, "documented", "the operator's reference page, formula"),
        (
            {"evidence": {"measured": "1.15.4"}},
            "measured",
            "DirectML.dll 1.15.4 on a software adapter (dmlcts run ACTIVATION_SOFTMAX1 --backend directml --basis measured -k example/one)",
        ),
        ({"evidence": {"page": True, "measured": "1.15.4", "shown_by": "values nans"}, "basis": "measured"}, "measured",
         "the operator's reference page; DirectML.dll 1.15.4 on a software adapter (values nans)"),
    ],
)  # fmt: skip
def test_the_basis_follows_from_the_evidence(changes: dict[str, Any], basis: str, text: str) -> None:
    [found] = operator(**example(**changes)).examples
    assert (found.basis, list(found.answers), found.evidence) == (basis, [basis], text)


def test_both_sides_make_an_example_contested() -> None:
    entry = {"answers": {}, "evidence": {"source": "the formula", "measured": "2.0", "which": "adds first"}}
    assert basis_of(entry) == "contested"
    assert sentence(entry["evidence"]) == "the formula; DirectML.dll 2.0 on a software adapter, which adds first"


# Fused activations, sources


def test_the_usual_activations_come_with_their_levels_but_not_before_the_operator() -> None:
    found = operator().field("FusedActivation").operators
    assert list(found) == list(abi().fused_activations)
    assert (str(found["ACTIVATION_RELU"]), str(found["ACTIVATION_GELU"])) == ("5_0", "5_1")
    assert str(load("CONVOLUTION").field("FusedActivation").operators["ELEMENT_WISE_CLIP"]) == "6_0"


def test_a_page_stands_for_its_source() -> None:
    [source] = operator().sources
    assert (source.title, source.repo) == ("DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC structure", "MicrosoftDocs/sdk-api")
    assert source.path == "sdk-api-src/content/directml/ns-directml-dml_activation_softmax1_operator_desc.md"


@pytest.mark.parametrize("name", operator_names())
def test_evidence_by_measurement_has_a_command(name: str) -> None:
    """Each measured example whose evidence is nothing but the measurement can be measured again."""
    for found in load(name).examples:
        if found.basis == "measured" and found.evidence.endswith(")") and "dmlcts run" in found.evidence:
            assert f"(dmlcts run {name} --" in found.evidence
            assert found.evidence.endswith(f"-k example/{found.id})")
