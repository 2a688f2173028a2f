"""Spec files: what loads, and that each way to get one wrong is reported with file, line and field."""

import json
import time
from pathlib import Path

import pytest
import yaml
from hard_operators import HARD, operator

from dmlcts.spec.model.operator import UNDEFINED
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.loader import (
    load,
    load_all,
    load_file,
    load_text,
    operator_names,
    operators_folder,
)

FILES = sorted([*HARD.glob("*.yaml"), *operators_folder().rglob("*.yaml")], key=lambda file: file.stem)

SPEC = """\
operator: ELEMENT_WISE_CLIP1
type: 153
introduced: "5_0"
summary: Each element limited to a range.
fields:
  - {name: InputTensor, kind: input, type: TENSOR_DESC}
  - {name: OutputTensor, kind: output, type: TENSOR_DESC}
  - {name: Mode, kind: attribute, type: UINT, enum: DML_ROUNDING_MODE}
  - {name: Axes, kind: attribute, type: UINT_ARRAY, count: AxisCount, least: 0}
  - {name: AxisCount, kind: attribute, type: UINT}
support:
  - level: "5_0"
    when: {Mode: [TOWARD_ZERO]}
    tensors:
      InputTensor: &row {dimensions: 1-8, types: [FLOAT32, INT8]}
      OutputTensor: *row
constraints:
  same-sizes: {same: Sizes, of: [InputTensor, OutputTensor]}
  in-range: {that: "Axes[0] < InputTensor.DimensionCount", before: "6_0"}
shapes:
  - sizes: {InputTensor: ["*S"], OutputTensor: ["*R"]}
    where: {R: "[s for s in S]"}
tolerance: {class: exact, exceptions: [{class: ulp, ulps: 1, types: [FLOAT32], of: [OutputTensor]}]}
examples:
  one:
    inputs: {InputTensor: {type: FLOAT32, sizes: [2], data: [1, -0.5]}}
    attributes: {Mode: TOWARD_ZERO, AxisCount: 1, Axes: [0]}
    outputs: {OutputTensor: {type: FLOAT32, sizes: [2], data: [1, _]}}
    evidence: none
accepts:
  - {rule: constraint/same-sizes, ways: ["sizes/OutputTensor=1,2,3,5"], types: all, evidence: none}
sources: [{title: none}]
cases:
  values:
    InputTensor: {random: {recipe: any-bits}, where: x != 0}
  relations:
    idempotent: {law: "f(f(x)) == f(x)", given: {x: InputTensor}}
"""


def refused(folder: Path, text: str | bytes, name: str = "element_wise_clip1.yaml") -> SpecError:
    """The error that a file with this text gives; it names the file."""
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SpecError) as raised:
        load_file(file)
    assert str(raised.value).startswith(f"{file}:")
    return raised.value


def line_of(text: str, part: str) -> int:
    assert text.count(part) == 1, f"{part!r} stands {text.count(part)} times in the text"
    return text[: text.index(part)].count("\n") + 1


# What loads


def test_the_base_of_the_bad_ones_is_good() -> None:
    operator = load_text(SPEC)
    assert operator.examples[0].answers["documented"]["OutputTensor"].data == (1, UNDEFINED)
    assert operator.file is None


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_loads(file: Path) -> None:
    operator = load_file(file)
    assert operator.name == file.stem.upper()
    assert operator.family == file.parent.name
    assert operator.file == file
    assert operator.support
    for table in operator.support:
        assert table.tensors.keys() == {field.name for field in operator.fields if field.is_tensor}


def test_the_operators_of_the_package() -> None:
    assert [operator.name for operator in load_all()] == list(operator_names())
    assert load("DML_OPERATOR_ELEMENT_WISE_ROUND") is load("ELEMENT_WISE_ROUND")
    with pytest.raises(KeyError, match=r"no spec for operator .NONSENSE..*dmlcts spec list"):
        load("NONSENSE")


def test_what_hard_files_say() -> None:
    reduce, gemm, lstm = operator("REDUCE"), operator("GEMM"), operator("LSTM")
    assert [str(t.level) for t in reduce.tables(attributes={"Function": "MIN"})] == ["5_0", "3_0", "2_1", "1_0"]
    assert [str(t.level) for t in reduce.tables(attributes={"Function": "L2"})] == ["3_0", "1_0"]
    assert str(gemm.field("FusedActivation").operators["ACTIVATION_SOFTMAX"]) == "6_1"
    assert [f.name for f in lstm.fields if f.kind == "input" and not f.optional] == [
        "InputTensor",
        "WeightTensor",
        "RecurrenceTensor",
    ]
    assert not any(f.owned_by_dml for f in lstm.inputs())
    assert all(f.optional for f in lstm.outputs())
    assert operator("SPLIT").field("OutputTensors").count == "OutputCount"
    assert operator("PADDING1").field("PaddingValue").data_type == "PaddingValueDataType"
    assert operator("MULTIHEAD_ATTENTION1").examples == ()
    assert len([f for f in operator("MULTIHEAD_ATTENTION1").fields if f.is_tensor and f.optional]) == 14
    joined = operator("JOIN").examples[0].inputs
    assert joined["InputTensors[0]"].sizes == (1, 1, 2, 3)
    assert joined["InputTensors[1]"].sizes == (1, 1, 2, 4)
    coordinates = operator("NONZERO_COORDINATES").examples[0].answers["documented"]["OutputCoordinatesTensor"].data
    assert coordinates[:12] == (0, 0, 0, 0, 0, 3, 0, 1, 1, 0, 1, 3)
    assert coordinates[12:] == (UNDEFINED,) * 12


def test_merged_attributes_of_examples() -> None:
    edge = next(example for example in operator("PADDING1").examples if example.id == "edge")
    assert edge.attributes["PaddingMode"] == "EDGE"
    assert edge.attributes["StartPadding"] == (0, 0, 1, 2)


@pytest.mark.parametrize(
    ("fields", "output", "data_type", "judge"),
    [
        ({"Function": "SUM"}, "OutputTensor", "FLOAT32", "accumulate"),
        ({"Function": "MULTIPLY"}, "OutputTensor", "FLOAT32", "product"),
        ({"Function": "L2"}, "OutputTensor", "FLOAT32", "ulp"),
        ({"Function": "ARGMAX"}, "OutputTensor", "UINT32", "exact"),
        ({"Function": "MAX"}, "OutputTensor", "FLOAT16", "exact"),
    ],
)
def test_tolerance_by_attribute(fields: dict[str, object], output: str, data_type: str, judge: str) -> None:
    assert operator("REDUCE").tolerance.for_output(output, data_type, fields).judge == judge


def test_tolerance_by_output() -> None:
    tolerance = operator("MULTIHEAD_ATTENTION1").tolerance
    assert tolerance.for_output("OutputTensor", "FLOAT32", {}).judge == "accumulate"
    assert tolerance.for_output("OutputPresentKeyTensor", "FLOAT32", {}).parameter("ulps", "FLOAT32") == 1


def test_tolerance_by_type() -> None:
    clip = load("ELEMENT_WISE_CLIP1").tolerance
    assert clip.for_output("OutputTensor", "FLOAT16", {"ScaleBias": None}) is clip
    assert clip.for_output("OutputTensor", "FLOAT16", {"ScaleBias": (1.0, 0.0)}).judge == "ulp"
    assert clip.for_output("OutputTensor", "INT32", {"ScaleBias": (1.0, 0.0)}).judge == "discrete"


# Errors of a file as such


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"no\.yaml: cannot be read: No such file"):
        load_file(tmp_path / "no.yaml")


def test_not_utf_8(tmp_path: Path) -> None:
    error = refused(tmp_path, SPEC.encode().replace(b"a range", b"a r\xe9nge"))
    assert (error.line, error.problem) == (4, "not UTF-8: the byte 0xE9; save the file as UTF-8")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("operator: X\nfields:\n\t- a\n", 3, "not YAML: .*cannot start any token"),
        ("operator: X\nfields: [a, b\nlevel: c\n", 3, "not YAML: .*flow sequence"),
        ("operator: X\n  type: 3\n", 2, "not YAML: mapping values are not allowed"),
        ("operator: *nowhere\n", 1, "not YAML: .*undefined alias"),
        ("operator: X\n---\ntype: 3\n", 2, "not YAML: .*another document"),
        ("operator: X\nsummary: \x01\n", 2, "not YAML: the character #x01"),
        ("", 1, "not an empty file"),
        ("# a comment\n", 1, "not an empty file"),
        ("- operator: X\n", 1, "not a list"),
        ("operator", 1, "not one value"),
        ("operator: !!python/object/apply:os.getcwd []\n", 1, "the tag .*os.getcwd has no meaning"),
        ('operator: !!int "3"\n', 1, "the tag .*int has no meaning"),
        ("operator: !!set {a}\n", 1, "the tag .*set has no meaning"),
        ("? [a, b]\n: c\n", 1, "a key must be a string, not a list"),
    ],
)
def test_not_a_yaml_mapping(tmp_path: Path, text: str, line: int, says: str) -> None:
    error = refused(tmp_path, text)
    assert error.line == line
    with pytest.raises(SpecError, match=says):
        raise error


def test_file_named_unlike_its_operator(tmp_path: Path) -> None:
    error = refused(tmp_path, SPEC, "element_wise_clip.yaml")
    assert str(error).endswith(":1: operator: the file of ELEMENT_WISE_CLIP1 must be called element_wise_clip1.yaml")


@pytest.mark.parametrize("name", ["ELEMENT_WISE_CLIP1.yaml", "element_wise_clip1.yml"])
def test_file_with_another_case_or_ending(tmp_path: Path, name: str) -> None:
    assert "must be called element_wise_clip1.yaml" in refused(tmp_path, SPEC, name).problem


# A key given twice


@pytest.mark.parametrize(
    ("text", "field", "lines"),
    [
        (f"{SPEC}type: 153\n", "type", (2, 38)),
        (SPEC.replace("    evidence: none\nacc", "    evidence: none\n    evidence: x\nacc"), "examples.one.evidence", (29, 30)),
        (SPEC.replace("{title: none}", "{title: none,\n  'title': x}"), "sources[0].title", (32, 33)),
    ],
)
def test_a_key_twice_names_both_lines(tmp_path: Path, text: str, field: str, lines: tuple[int, int]) -> None:
    error = refused(tmp_path, text)
    key = field.rpartition(".")[2]
    assert str(error).endswith(f":{lines[1]}: {field}: the key '{key}' is given twice, on lines {lines[0]} and {lines[1]}")


# What a file says: the change, the field that the error names, and a part of its message. The line is that of the change.

WRONG = {
    "wrong-type": ("type: 153\n", 'type: "153"\n', "type", 'is not of type "integer"'),
    "not-the-abis-type": ("type: 153\n", "type: 154\n", "type", "the ABI gives ELEMENT_WISE_CLIP1 the type 153, not 154"),
    "unknown-operator": ("operator: ELEMENT_WISE_CLIP1", "operator: ELEMENT_WISE_CLIP9", "operator", "the ABI has no operator"),
    "unknown-key": ("summary: Each", "remark: none\nsummary: Each", "remark", "unknown 'remark'; known: operator, "),
    "unknown-key-near": ("least: 0", "leest: 0", "fields[3].leest", "unknown 'leest' (did you mean 'least'?)"),
    "unknown-level": ('- level: "5_0"', '- level: "5_9"', "support[0].level", "unknown feature level 5_9; known: 1_0, 2_0"),
    "level-unquoted": ('- level: "5_0"', "- level: 5_0", "support[0].level", 'write it in quotes, "5_0"'),
    "introduced-unknown": ('introduced: "5_0"', 'introduced: "0_1"', "introduced", "unknown feature level 0_1"),
    "unknown-data-type": ("types: [FLOAT32, INT8]", "types: [FLOAT32, INT7]", "support[0].tensors.InputTensor.types[1]", "INT7"),
    "dimensions-backwards": ("dimensions: 1-8", "dimensions: 8-1", "support[0].tensors.InputTensor.dimensions", "'8-1' runs backwards"),
    "dimensions-unquoted": ("dimensions: 1-8", "dimensions: 4", "support[0].tensors.InputTensor.dimensions", 'write it in quotes, "4"'),
    "dimensions-beyond": ("dimensions: 1-8", "dimensions: 1-9", "support[0].tensors.InputTensor.dimensions", "1-9"),
    "table-without-row": ("      OutputTensor: *row\n", "", "support[0].tensors", "the table has no row for OutputTensor"),
    "row-of-no-tensor": ("OutputTensor: *row", "OutTensor: *row", "support[0].tensors.OutTensor", "unknown tensor 'OutTensor'"),
    "table-when-constant": ("{Mode: [TOWARD_ZERO]}", "{Mode: [UPWARD]}", "support[0].when.Mode", "DML_ROUNDING_MODE has no 'UPWARD'"),
    "table-when-attribute": ("{Mode: [TOWARD_ZERO]}", "{Made: [X]}", "support[0].when.Made", "unknown attribute 'Made'"),
    "field-twice": ("{name: OutputTensor, kind", "{name: InputTensor, kind", "fields[1].name", "InputTensor is given twice"),
    "field-kind": ("name: Mode, kind: attribute", "name: Mode, kind: input", "fields[2].kind", "of type UINT cannot be of kind input"),
    "unknown-enumeration": ("enum: DML_ROUNDING_MODE", "enum: DML_ROUND", "fields[2].enum", "unknown enumeration DML_ROUND; known: DML_"),
    "field-count": ("count: AxisCount", "count: AxesCount", "fields[3].count", "unknown attribute 'AxesCount'"),
    "field-count-of-number": ("AxisCount, kind: attribute", "AxisCount, count: Mode, kind: attribute", "fields[4].count", "has no count"),
    "field-bound": ("least: 0", "least: Axes.Count", "fields[3].least", "a tensor has no 'Count'"),
    "field-basis": ("least: 0", "least: 0, basis: guessed", "fields[3].basis", "guessed"),
    "field-basis-of-nothing": ("least: 0", "basis: measured", "fields[3].basis", "there is no least and no most"),
    "constraint-tensor": ("of: [InputTensor, OutputTensor]", "of: [InputTensor, Output]", "constraints.same-sizes.of[1]", "'Output'"),
    "constraint-name": ("Axes[0] < Input", "Axis[0] < Input", "constraints.in-range.that", "unknown tensor or attribute: 'Axis'"),
    "constraint-name-near": ("Axes[0] < Input", "Axs[0] < Input", "constraints.in-range.that", "'Axs' (did you mean 'Axes'?)"),
    "constraint-both": ("{same: Sizes, of:", "{that: Mode == 0, same: Sizes, of:", "constraints.same-sizes", "more than one"),
    "constraint-neither": ('{that: "Axes[0] < InputTensor.DimensionCount", ', "{", "constraints.in-range", '"that" is a required'),
    "constraint-before": ('before: "6_0"', 'before: "6_9"', "constraints.in-range.before", "unknown feature level 6_9"),
    "constraint-label": ("  same-sizes: {", "  SameSizes: {", "constraints.SameSizes", "does not match"),
    "shape-tensor": ('["*S"], OutputTensor', '["*S"], Out', "shapes[0].sizes.Out", "unknown tensor 'Out'"),
    "shape-two-unknown-lengths": ('InputTensor: ["*S"]', 'InputTensor: ["*S", "*T"]', "shapes[0].sizes.InputTensor", "*S and *T"),
    "shape-symbol-alone": ('InputTensor: ["*S"]', 'InputTensor: ["*S", 4 * H]', "shapes[0].sizes.InputTensor[1]", "value of H"),
    "shape-where-unused": ('{R: "[s', '{Q: "[s', "shapes[0].where.Q", "no size is called Q"),
    "shape-where-name": ("for s in S]", "for s in T]", "shapes[0].where.R", "unknown name: 'T'"),
    "values-tensor": ("    InputTensor: {random", "    OutputTensor: {random", "cases.values.OutputTensor", "unknown input tensor 'OutputTensor'"),
    "values-where": ("where: x != 0", "where: y != 0", "cases.values.InputTensor.where", "unknown name: 'y'"),
    "tolerance-class": ("tolerance: {class: exact", "tolerance: {class: near", "tolerance.class", "unknown 'near'; known: exact, ulp"),
    "tolerance-parameter": ("ulps: 1", "ulps: one", "tolerance.exceptions[0].ulps", '"one" is not of type "number"'),
    "tolerance-parameter-near": ("ulps: 1", "ulp: 1", "tolerance.exceptions[0].ulp", "unknown 'ulp' (did you mean 'ulps'?)"),
    "tolerance-basis": ("of: [OutputTensor]", "basis: documented", "tolerance.exceptions[0].basis", '"measured" was expected'),
    "tolerance-output": ("of: [OutputTensor]", "of: [InputTensor]", "tolerance.exceptions[0].of[0]", "unknown output tensor"),
    "example-count": ("data: [1, -0.5]", "data: [1]", "examples.one.inputs.InputTensor.data", "sizes 2 need 2 values, but 1 are given"),
    "example-value": ("data: [1, -0.5]", "data: [1, 1e39]", "examples.one.inputs.InputTensor.data[1]", "not a valid input value of type"),
    "example-undefined-input": ("data: [1, -0.5]", "data: [1, _]", "examples.one.inputs.InputTensor.data[1]", "_ is not a valid input value"),
    "example-bits": ("data: [1, -0.5]", 'data: [1, "0x1FFFFFFFF"]', "examples.one.inputs.InputTensor.data[1]", "not a valid input value"),
    "example-bits-unquoted": ("data: [1, -0.5]", "data: [1, 0x7FC00001]", "examples.one.inputs.InputTensor.data[1]", "in quotes"),
    "example-constant": ("{Mode: TOWARD_ZERO,", "{Mode: TOWARD,", "examples.one.attributes.Mode", "DML_ROUNDING_MODE has no 'TOWARD'"),
    "example-attribute": ("AxisCount: 1, Axes", "Axis: 1, Axes", "examples.one.attributes.Axis", "unknown attribute 'Axis'"),
    "example-attribute-missing": (", Axes: [0]}", "}", "examples.one.attributes", "the attribute Axes is missing"),
    "example-output-missing": ("{OutputTensor: {type: FLOAT32, sizes: [2], data: [1, _]}}", "{}", "examples.one.outputs", "output OutputTensor is missing"),
    "example-commit": ("    evidence: none\nacc", "    evidence: at commit main, Example\nacc", "examples.one.evidence", "'main' is no commit"),
    "example-source-commit": (
        "    evidence: none\nacc", "    evidence: {source: the page at commits 0797841e and 12}\nacc", "examples.one.evidence", "'12' is no commit"
    ),
    "evidence-key": ("    evidence: none\nacc", "    evidence: {pages: x}\nacc", "examples.one.evidence.pages", "(did you mean 'page'?)"),
    "example-sides": ("    evidence: none\nacc", "    evidence: none\n    basis: contested\nacc", "examples.one", "`answers` of both sides"),
    "relation-tensor": ("{x: InputTensor}", "{x: OutputTensor}", "cases.relations.idempotent.given.x", "unknown input tensor"),
    "relation-function": ('"f(f(x)) == f(x)"', '"g(x) == x"', "cases.relations.idempotent.law", "g is not a function"),
    "acceptance-rule": ("constraint/same-sizes", "constraint/same-size", "accepts[0].rule", "there is no constraint 'same-size'"),
    "source-commit": ("{title: none}", "{title: none, commit: 0797841e}", "sources[0].commit", "40 hexadecimal digits"),
    "boolean-constant": ("{Mode: TOWARD_ZERO,", "{Mode: NO,", "examples.one.attributes.Mode", "'NO' without quotes is a boolean"),
    "boolean-label": ("  idempotent:", "  on:", "cases.relations", "'on' without quotes is a boolean"),
    "number-label": ("  idempotent:", "  1_0:", "cases.relations", 'write it in quotes, "1_0"'),
    "date": ("sources: [{title: none}]", "sources: [{title: 2021-02-10}]", "sources[0].title", "is a date to some readers"),
    "hexadecimal": ("type: 153\n", "type: 0x99\n", "type", "'0x99' without quotes is a number to some readers"),
    "too-large-a-number": ("ulps: 1,", "ulps: 1e999,", "tolerance.exceptions[0].ulps", "too large for a number"),
    "merge-of-no-mapping": ("sources: [{title: none}]", "sources: [{<<: none}]", "sources[0]", "<< takes a mapping"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "field", "says"), WRONG.values(), ids=WRONG)
def test_the_error_names_file_line_and_field(tmp_path: Path, old: str, new: str, field: str, says: str) -> None:
    line = line_of(SPEC, old)
    error = refused(tmp_path, SPEC.replace(old, new))
    assert str(error).startswith(f"{tmp_path / 'element_wise_clip1.yaml'}:")
    assert f": {field}: " in str(error)
    assert says in error.problem
    assert error.line in _lines_around(field, line), f"line {error.line}, and the change is on {line}"


def _lines_around(field: str, line: int) -> tuple[int, ...]:
    """The line of the change; what is missing or wrong as a whole is reported at the line where the whole begins."""
    whole = {"support[0].tensors": 14, "examples.one": 25}
    return (whole[field],) if field in whole else (line,)


@pytest.mark.parametrize(
    "key", ["operator", "type", "introduced", "summary", "fields", "support", "constraints", "tolerance", "sources"]
)
def test_a_missing_part_is_named(tmp_path: Path, key: str) -> None:
    whole = yaml.safe_load(SPEC)
    del whole[key]
    error = refused(tmp_path, json.dumps(whole))
    assert str(error).endswith(f':1: {key}: "{key}" is a required property')


# Expressions in files


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("Axes[0] <", "not an expression: invalid syntax"),
        ("InputTensor.Size == 1", "a tensor has no 'Size'; it has DataType, DimensionCount, Sizes"),
        ("InputTensor.__class__", "a tensor has no '__class__'"),
        ("InputTensor(1)", "InputTensor is not a function"),
        ("__import__('os')", "__import__ is not a function"),
        ("(lambda: 1)()", "is not a function"),
        ("any(x for x in (lambda: 1,))", "Lambda is not part of the expression language"),
        ("sum(i for i in Axes) > i", "unknown tensor or attribute: 'i'"),
    ],
)
def test_an_expression_that_is_none(tmp_path: Path, expression: str, says: str) -> None:
    error = refused(tmp_path, SPEC.replace('"Axes[0] < InputTensor.DimensionCount"', json.dumps(expression)))
    assert error.line == 19
    assert ": constraints.in-range.that: " in str(error)
    assert says in error.problem
    assert repr(expression) in error.problem


def test_nothing_is_computed_at_load() -> None:
    start = time.process_time()
    load_text(SPEC.replace("Axes[0] < InputTensor.DimensionCount", "9**9**9 > 8 << 9**9"))
    assert time.process_time() - start < 1


def test_a_fused_operator_of_an_example_is_an_operators_name() -> None:
    text = next(file for file in FILES if file.stem == "gemm").read_text(encoding="utf-8")
    (example,) = [e for e in load_text(text).examples if "FusedActivation" in e.attributes]
    assert example.attributes["FusedActivation"] == "ACTIVATION_RELU"
    for wrong in ("RELU", "ACTIVATION_NONE", "[ACTIVATION_RELU]"):
        with pytest.raises(SpecError, match="FusedActivation: an OPERATOR_DESC is an operator's name, not "):
            load_text(text.replace("FusedActivation: ACTIVATION_RELU", f"FusedActivation: {wrong}"))
