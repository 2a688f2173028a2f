"""``dmlcts spec show``: an operator whole, so that nobody follows references by hand."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.commands.specs.spec_show import print_operator
from dmlcts.spec.reading.loader import load, load_text, operator_names


def printed(name: str) -> str:
    out = io.StringIO()
    print_operator(Console(file=out, width=100_000, soft_wrap=True), load(name))
    return out.getvalue()


@pytest.mark.parametrize("name", operator_names())
def test_everything_has_its_place(name: str) -> None:
    operator, text = load(name), printed(name)
    expected = [field.name for field in operator.fields]
    expected += [level for field in operator.fields for level in (each.text for each in field.operators.values())]
    expected += [constraint.text for constraint in operator.constraints]
    expected += [f"tensor support at feature level {table.level.text}" for table in operator.support]
    expected += [expression.text for shape in operator.shapes for expression in shape.where.values()]
    expected += [operator.tolerance.judge, *(exception.tolerance.judge for exception in operator.tolerance.exceptions)]
    expected += [accepted.rule for accepted in operator.accepts]
    expected += [f"{example.id}:" for example in operator.examples]
    expected += [f"{attribute}:" for example in operator.examples for attribute in example.attributes]
    expected += [erratum.text for erratum in operator.errata]
    expected += [source.title for source in operator.sources]
    expected += [f"{label}:" for label in operator.configurations]
    expected += [f"recipe: {values.recipe}" for values in operator.values.values()]
    expected += [label for values in operator.values.values() for label in (*values.special, *values.measured, *values.data)]
    expected += [f"{relation.label}:" for relation in operator.relations]
    expected += list(operator.sizes)
    expected += [
        difference.what for found in operator.probe_measurements for difference in (*found.accepts, *found.refuses, *found.unknown)
    ]
    assert [part for part in expected if part not in text] == []


def test_what_is_inherited_and_usual_is_printed() -> None:
    text = printed("MAX_POOLING2")
    assert "padding-is-never-larger:" in text  # of MAX_POOLING
    assert "  attributes: {DimensionCount: 2, Strides: [1, 1], WindowSize: [1, 2], StartPadding: [0, 1], EndPadding: [0, 1]" in text
    command = "dmlcts run MAX_POOLING2 --backend directml --basis measured -k example/padding-is-never-larger"
    assert f"evidence: DirectML.dll 1.15.4 on a software adapter ({command})" in text


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["spec", "show", *arguments])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_json_has_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(output(capsys, "max_pooling2", "--json"))
    operator = load("MAX_POOLING2")
    assert [example["id"] for example in data["examples"]] == [example.id for example in operator.examples]
    assert data["measured"][0]["by"] == operator.probe_measurements[0].by
    assert len(data["accepts"]) == len(operator.accepts)
    assert data["shapes"][0]["where"]["Out"] == operator.shapes[0].where["Out"].text
    assert data["introduced"] == "2_1"


def test_yaml_is_a_spec_file(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "element_wise_acosh", "--yaml")
    assert "extends" not in text
    assert load_text(text).name == "ELEMENT_WISE_ACOSH"


@pytest.mark.parametrize("name", ["elu", "ACTIVATION_ELU", "DML_OPERATOR_ACTIVATION_ELU", "ACTIVATION_E*"])
def test_an_operator_may_be_given_in_short(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["spec", "show", name, "--json"])
    assert json.loads(capsys.readouterr().out)["name"] == "ACTIVATION_ELU"


def test_a_pattern_of_several_operators_is_no_operator(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["spec", "show", "ADD*"])
    assert "'ADD*' may be ELEMENT_WISE_ADD or ELEMENT_WISE_ADD1; give one operator" in capsys.readouterr().err
