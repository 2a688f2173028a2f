"""What a spec file inherits, what it says itself, and that errors name the file that is wrong."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from dmlcts.conformance.commands.cli import main
from dmlcts.spec.reading import file_form, loader
from dmlcts.spec.reading.document import Document, SpecError, parse, read
from dmlcts.spec.reading.inherit import merged_document
from dmlcts.spec.reading.loader import load, load_document, load_text, operator_names, operators_folder, profiles_folder
from dmlcts.spec.reading.promises import promises, spec_version
from dmlcts.spec.writing.yaml_writer import yaml_text

BASE = """\
operator: A
summary: The base.
fields:
  - {name: X, kind: input}
  - {name: Y, kind: output}
constraints:
  one: {that: X}
  two: {same: Sizes, of: [X, Y]}
tolerance: {class: ulp, ulps: 1}
cases:
  layouts: [channels-last]
  sizes: {N: [1], C: [2]}
  values:
    X: {random: {recipe: any-bits}, special: [zeros]}
"""


def merged(own: str) -> Document:
    return merged_document(parse(f"operator: B\nextends: A\n{own}", Path("own.yaml")), parse(BASE, Path("base.yaml")))


def test_what_is_not_said_is_inherited_but_for_what_a_file_is() -> None:
    data = merged("").data
    assert data["operator"] == "B"
    assert "summary" not in data
    assert {key: data[key] for key in ("fields", "constraints", "tolerance", "cases")} == {
        key: parse(BASE).data[key] for key in ("fields", "constraints", "tolerance", "cases")
    }


def test_an_entry_given_again_stands_whole_and_a_new_one_comes_last() -> None:
    data = merged("constraints:\n  three: {that: Y}\n  one: {same: Sizes, of: [X]}\n").data
    assert list(data["constraints"].items()) == [
        ("one", {"same": "Sizes", "of": ["X"]}),
        ("two", {"same": "Sizes", "of": ["X", "Y"]}),
        ("three", {"that": "Y"}),
    ]


def test_sections_of_cases_are_inherited_entry_by_entry() -> None:
    cases = merged("cases:\n  sizes: {C: [3]}\n  values:\n    X: {random: {recipe: truth}}\n").data["cases"]
    assert cases == {
        "layouts": ["channels-last"],
        "sizes": {"N": [1], "C": [3]},
        "values": {"X": {"random": {"recipe": "truth"}}},
    }


def test_everything_else_given_again_stands_whole() -> None:
    assert merged("tolerance: {class: exact}\n").data["tolerance"] == {"class": "exact"}


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ("{name: Z, kind: input}", ["X", "Y", "Z"]),
        ("{name: Z, kind: input, after: X}", ["X", "Z", "Y"]),
        ("{name: X, kind: output}", ["X", "Y"]),
    ],
)
def test_fields_stand_in_their_places(fields: str, names: list[str]) -> None:
    found = merged(f"fields: [{fields}]\n").data["fields"]
    assert [entry["name"] for entry in found] == names
    assert all("after" not in entry for entry in found)


def test_what_is_left_out() -> None:
    data = merged("without: [fields.Y, constraints.one, tolerance, cases.sizes.N, cases.layouts]\n").data
    assert [entry["name"] for entry in data["fields"]] == ["X"]
    assert list(data["constraints"]) == ["two"]
    assert "tolerance" not in data
    assert data["cases"] == {"sizes": {"C": [2]}, "values": parse(BASE).data["cases"]["values"]}


def test_what_is_left_out_may_be_given_anew() -> None:
    assert merged("without: [cases.sizes]\ncases: {sizes: {S: [4]}}\n").data["cases"]["sizes"] == {"S": [4]}


@pytest.mark.parametrize("fields", ["null", "7", "{}", "[x]", "[{kind: input}]", "[{name: [X]}]"])
def test_fields_that_are_none(fields: str) -> None:
    with pytest.raises(SpecError, match=r"own\.yaml:3: fields: must be a list of fields, each with a name"):
        merged(f"fields: {fields}\n")


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ("without: [constraints.nine]\n", "without[0]: nothing called constraints.nine is inherited from A"),
        ("without: [fields.Q]\n", "without[0]: nothing called fields.Q is inherited"),
        ("fields: [{name: Z, after: Q}]\n", "fields[0].after: there is no field 'Q'"),
    ],
)
def test_what_cannot_be_inherited_is_an_error(own: str, problem: str) -> None:
    with pytest.raises(SpecError) as error:
        merged(own)
    assert f"own.yaml:3: {problem}" in str(error.value)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("constraints", "two", "of", 1), ("base.yaml", 8)),
        (("constraints", "one"), ("own.yaml", 4)),
        (("fields", 2, "kind"), ("own.yaml", 5)),
        (("fields", 1, "kind"), ("base.yaml", 5)),
        (("cases", "values", "X", "special", 0), ("base.yaml", 14)),
        (("tolerance", "ulps"), ("base.yaml", 9)),
    ],
)
def test_every_value_knows_the_file_that_it_stands_in(path: tuple[str | int, ...], place: tuple[str, int]) -> None:
    document = merged("constraints:\n  one: {that: Y}\nfields: [{name: Z, kind: input}]\n")
    file, line = document.place(path)
    assert (str(file), line) == place


CHILD = """\
operator: ELEMENT_WISE_SIGN
type: 100
introduced: "2_1"
summary: For a test.
extends: unary
support: [{level: "2_1", dimensions: "4", types: [FLOAT32]}]
tolerance: {class: exact}
sources: [{title: none}]
"""


def test_a_profile_gives_what_it_says() -> None:
    operator = load_text(CHILD.replace("100", str(load("ELEMENT_WISE_SIGN").type)))
    assert [constraint.label for constraint in operator.constraints] == ["same-data-type", "same-dimension-count", "same-sizes"]
    assert [place.inputs for place in operator.in_place] == [("InputTensor",)]


def test_an_error_in_what_is_inherited_names_the_file_that_it_stands_in() -> None:
    text = CHILD.replace("100", str(load("ELEMENT_WISE_SIGN").type)) + "without: [fields.OutputTensor]\n"
    with pytest.raises(SpecError) as error:
        load_text(text, Path("child.yaml"))
    profile = profiles_folder() / "unary.yaml"
    line = 1 + read(profile).splitlines().index("  same-data-type: {same: DataType, of: [InputTensor, OutputTensor]}")
    assert str(error.value).startswith(f"{profile}:{line}: constraints.same-data-type.of[1]: unknown tensor 'OutputTensor'")


@pytest.mark.parametrize(
    ("name", "problem"),
    [("unarey", "there is no operator or profile 'unarey'; profiles: "), ("ELEMENT_WISE_SIGN", "ELEMENT_WISE_SIGN, without end")],
)
def test_what_cannot_be_extended(name: str, problem: str) -> None:
    with pytest.raises(SpecError, match=problem) as error:
        load_text(CHILD.replace("unary", name), Path("child.yaml"))
    assert str(error.value).startswith("child.yaml:5: extends: ")


@pytest.mark.parametrize("name", operator_names())
def test_the_whole_spec_stands_for_itself(name: str) -> None:
    """What `dmlcts spec show --yaml` prints inherits nothing and promises the same."""
    operator = load(name)
    assert operator.file is not None
    text = yaml_text(load_document(read(operator.file), operator.file).data)
    assert "\nextends:" not in text
    assert json.dumps(promises(load_text(text, operator.file))) == json.dumps(promises(operator))


# The hash


def test_the_hash_is_of_promises_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = CHILD.replace("100", str(load("ELEMENT_WISE_SIGN").type))

    def hashed(changed: str) -> str:
        operator = load_text(changed)
        monkeypatch.setattr("dmlcts.spec.reading.promises.load", lambda name: operator)
        return spec_version(["ELEMENT_WISE_SIGN"])

    same = hashed(text)
    whole = yaml_text(load_document(text).data)
    for changed in (f"# a comment\n{text}", text.replace("For a test", "For another"), whole):
        assert hashed(changed) == same
    for changed in (
        text.replace("class: exact", "class: ulp"),
        text.replace("[FLOAT32]", "[FLOAT16]"),
        f"{text}without: [in_place]\n",
    ):
        assert hashed(changed) != same


# Only what is needed is read


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty caches for one test. Those of all tests stay: their cases have operators that an operator loaded anew does not equal."""
    for name in ("_load", "_parse_spec"):
        monkeypatch.setattr(loader, name, cache(getattr(loader, name).__wrapped__))


@pytest.mark.usefixtures("nothing_loaded")
def test_one_operator_reads_its_own_file_and_those_that_it_extends(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def noted(file: Path) -> str:
        opened.append(file.stem)
        return read(file)

    monkeypatch.setattr(loader, "read", noted)
    assert "MAX_POOLING2" in operator_names()
    assert opened == []
    load("MAX_POOLING2")
    assert opened == ["max_pooling2", "max_pooling1", "max_pooling", "pooling"]


@pytest.mark.usefixtures("nothing_loaded")
def test_a_broken_file_stops_no_command_about_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "element_wise_abs.yaml"
    broken.write_text("operator: [", encoding="utf-8")
    files = loader._files() | {"ELEMENT_WISE_ABS": broken}
    monkeypatch.setattr(loader, "_files", lambda: files)
    for arguments in (["spec", "show", "ELEMENT_WISE_ACOS"], ["spec", "coverage", "ELEMENT_WISE_ACOS"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["spec", "list"])
    printed = capsys.readouterr()
    assert "ELEMENT_WISE_ACOS" in printed.out
    assert f"{broken}:2" in printed.err or f"{broken}:1" in printed.err


# The files

FILES = [*operators_folder().rglob("*.yaml"), *profiles_folder().glob("*.yaml")]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_promises_come_first_and_every_file_has_one_order(file: Path) -> None:
    assert list(file_form.problems(read(file), file)) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("# yaml-language-server", "# yaml", ":1: the first line must be"),
        ("\nfields:", "\ncases: {}\nfields:", "the sections of the file must stand in this order: operator, type"),
        ("\n  values:", "\n  relations: {}\n  values:", "the sections of cases must stand in this order: values, relations"),
        ("extends: unary", f"extends: unary # {'-' * 150}", ":6: 167 characters"),
        ("extends: unary", "extends: unary # CHECK: is it so?", ":6: still to be done"),
        ("Each element", "FILL IN", ":5: still to be done"),
    ],
)
def test_a_file_of_another_form_is_seen(old: str, new: str, problem: str) -> None:
    file = operators_folder() / "element_wise" / "element_wise_round.yaml"
    text = read(file)
    if new.endswith("values:"):
        text = text[: text.index("\n  relations:")]
    if "cases" in new:
        text = text[: text.index("\ncases:")] + "\n"
    found = list(file_form.problems(text.replace(old, new, 1), file))
    assert len(found) == 1
    assert problem in found[0]


def test_no_profile_has_the_name_of_an_operator() -> None:
    """``extends`` and the words of ids find either by its name, whatever the case."""
    assert not {file.stem.upper() for file in profiles_folder().glob("*.yaml")} & set(operator_names())


# Errors in what is inherited


def test_an_error_in_an_inherited_part_names_its_file_and_who_inherits_it() -> None:
    """The profile's workloads name sizes that the shapes of this operator do not have."""
    operator = "operator: ELEMENT_WISE_ABS\ntype: 2\nintroduced: '1_0'\nsummary: Given in a test.\nextends: pooling\n"
    text = (
        operator
        + "fields: [{name: InputTensor, kind: input, type: TENSOR_DESC}, {name: OutputTensor, kind: output, type: TENSOR_DESC}]\n"
    )
    text += 'support: [{level: "1_0", dimensions: 4-5, types: [FLOAT32]}]\nconstraints: {}\ntolerance: {class: exact}\n'
    text += 'shapes: [{sizes: {InputTensor: ["*S"], OutputTensor: ["*S"]}}]\nsources: [{title: none}]\n'
    with pytest.raises(SpecError, match=r"pooling\.yaml:\d+: cases\.workloads\.") as error:
        load_text(text, Path("element_wise_abs.yaml"))
    assert str(error.value).endswith("(inherited by ELEMENT_WISE_ABS)")


def test_an_error_in_an_own_part_names_no_heir() -> None:
    file = operators_folder() / "element_wise" / "element_wise_round.yaml"
    with pytest.raises(SpecError) as error:
        load_text(read(file).replace("class: exact", "class: exakt"), file)
    assert "element_wise_round.yaml:" in str(error.value)
    assert "inherited" not in str(error.value)
