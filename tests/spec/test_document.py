"""YAML as spec files have it: aliases, merge keys, scalars, and the lines of values."""

import pickle
import time
from pathlib import Path

import pytest

from dmlcts.spec.reading.document import SpecError, parse


def test_aliases_and_merge_keys() -> None:
    text = "a: &a {x: 1, y: [2]}\nb: {<<: *a, x: 3}\nc:\n  <<: [*a, {x: 4, z: 5}]\n  w: *a\n"
    data = parse(text).data
    assert data["b"] == {"x": 3, "y": [2]}
    assert data["c"] == {"x": 1, "y": [2], "z": 5, "w": {"x": 1, "y": [2]}}
    data["b"]["y"].append(9)
    assert data["a"]["y"] == [2], "what an alias gives must be a copy"


@pytest.mark.parametrize(
    "text", ["a: &a [*a]\n", "a: &a {b: *a}\n", "a: &a {<<: *a}\n", "a: &a {<<: [*a]}\n", f"a: {'[' * 40}{']' * 40}\n"]
)
def test_an_alias_inside_itself_has_an_end(text: str) -> None:
    with pytest.raises(SpecError, match=r"1: a.*nested deeper than 32 levels"):
        parse(text)


def test_an_error_of_a_worker_process_arrives_as_it_is() -> None:
    error = SpecError(Path("spec/x.yaml"), 7, ("cases", "values"), "no such recipe")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is SpecError
    assert (str(copy), copy.file, copy.line, copy.path) == (str(error), error.file, error.line, error.path)


@pytest.mark.parametrize("opened", ["[", "{a: ", "- ", "? "])
def test_a_file_of_brackets_does_no_harm(opened: str) -> None:
    with pytest.raises(SpecError, match="lists and mappings"):
        parse(f"a:\n {opened * 100_000}")


@pytest.mark.parametrize("form", ["[{}]", "{{<<: [{}]}}"])
def test_a_billion_laughs_are_cut_short(form: str) -> None:
    first = {"[{}]": "[x]", "{{<<: [{}]}}": "{x: y}"}[form]
    lines = [f"a0: &a0 {first}", *(f"a{n}: &a{n} {form.format(', '.join([f'*a{n - 1}'] * 9))}" for n in range(1, 12))]
    start = time.process_time()
    with pytest.raises(SpecError, match="more than 100000 values"):
        parse("\n".join(lines))
    assert time.process_time() - start < 10  # minutes, without the cut


# Scalars


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-12", -12),
        ("1.5", 1.5),
        ("1e5", 1e5),
        ("3.4028235e38", 3.4028235e38),
        ("-0.0", -0.0),
        ("-0", -0.0),
        ("true", True),
        ("false", False),
        ("null", None),
        ('"1_0"', "1_0"),
        ("'NO'", "NO"),
        ("y", "y"),
        ("nan", "nan"),
        ("-inf", "-inf"),
        ("1-8", "1-8"),
        ("18446744073709551615", 18446744073709551615),
    ],
)
def test_scalars(text: str, value: object) -> None:
    found = parse(f"a: {text}").data["a"]
    assert (type(found), repr(found)) == (type(value), repr(value))


@pytest.mark.parametrize(
    "text",
    ["NO", "no", "on", "Off", "True", "yes", "0x10", "010", "1_0", "+1", "1.", ".5", ".inf", ".NaN", "1:30", "2021-02-10", "="],
)
def test_scalars_that_readers_take_differently(text: str) -> None:
    with pytest.raises(SpecError, match=r"without quotes is .* to some readers of YAML"):
        parse(f"a: {text}")
    assert parse(f'a: "{text}"').data["a"] == text


def test_lines() -> None:
    document = parse("a: 1\nb:\n  - c\n  - d:\n      e\n")
    places: list[tuple[str | int, ...]] = [("a",), ("b",), ("b", 0), ("b", 1, "d")]
    assert [document.place(path)[1] for path in places] == [1, 2, 3, 4]
    assert document.place(("b", 1, "d", "missing", 5)) == (None, 4)
