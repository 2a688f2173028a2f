"""Bounded reading: files, JSON and schemas."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest

from dmlcts.reports.record.record import STATUSES, Manifest, Mismatch, Result
from dmlcts.spec.untrusted.files import (
    DEEPEST,
    InputError,
    parse_json,
    parse_json_line,
    read_bytes,
    read_lines,
    read_text,
    schema_of,
)

SCHEMAS = [
    ("dmlcts.reports", "record"),
    ("dmlcts.reports", "waivers"),
    ("dmlcts.generator.case", "case"),
    ("dmlcts.conformance.backends.process", "answer"),
    ("dmlcts.conformance.dxdispatch", "model"),
]


def test_a_file_within_its_limit_is_read_and_a_larger_one_refused(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"12345")
    assert read_bytes(file, 5) == b"12345"
    with pytest.raises(InputError, match="too large: 5 bytes; at most 4 are read"):
        read_bytes(file, 4)


def test_text_is_utf_8_with_or_without_a_mark(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"\xef\xbb\xbfa\n\xc3\xa4")
    assert read_text(file, 100) == "a\nä"
    file.write_bytes(b"a\n\xff")
    with pytest.raises(InputError, match="not UTF-8: the byte 0xFF") as error:
        read_text(file, 100)
    assert error.value.line == 2


def test_lines_end_with_a_line_feed_alone_and_have_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes("a\u2028\rb\nc".encode())
    assert list(read_lines(file, 100, 50)) == ["a\u2028\rb\n", "c"]
    file.write_bytes(b"a\n" + b"x" * 60)
    with pytest.raises(InputError, match="a line of more than 50 bytes") as error:
        list(read_lines(file, 100, 50))
    assert error.value.line == 2


@pytest.mark.parametrize("name", ["missing", "a\0b", "\ud800"])
def test_a_name_of_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_bytes(tmp_path / name, 10)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_bytes(tmp_path, 10)


@pytest.mark.skipif(os.name == "nt", reason="no such devices on Windows")
def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="a pipe or a device"):
            read_bytes(file, 10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1, column 2: not JSON"),
        ("[1,\nNaN]", "NaN is not JSON"),
        ("-Infinity", "-Infinity is not JSON"),
        ("1e999", "1e999 is too large for a number"),
        ("9" * 5000, "not JSON: "),
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' is given twice"),
        ("[" * 100_000, "nested deeper than 64 levels"),
        ("[" * (DEEPEST + 2) + "]" * (DEEPEST + 2), "nested deeper than 64 levels"),
        ('{"a":' * (DEEPEST + 2) + "1" + "}" * (DEEPEST + 2), "nested deeper than 64 levels"),
    ],
)
def test_what_is_no_json_that_is_read(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_json(text)


def test_json_as_deep_as_is_allowed() -> None:
    assert parse_json("[" * DEEPEST + "]" * DEEPEST + " " * 10)
    assert parse_json("[" + "[]," * 1000 + "[]]")


def test_surrogates_become_replacement_characters_and_pairs_stay() -> None:
    assert parse_json(r'{"\ud800": ["a\udc00b", "\ud83d\ude00"]}') == {"\ufffd": ["a\ufffdb", "😀"]}


def test_a_line_of_results_may_have_a_key_twice_and_nothing_else_more() -> None:
    assert parse_json_line('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(InputError, match="NaN"):
        parse_json_line("NaN")


@pytest.mark.parametrize(("package", "name"), SCHEMAS)
def test_the_schemas_are_schemas(package: str, name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of(package, name))


@pytest.mark.parametrize(("part", "kind"), [("manifest", Manifest), ("result", Result), ("mismatch", Mismatch)])
def test_the_schema_of_results_has_every_field(part: str, kind: type) -> None:
    assert {field.name for field in fields(kind)} <= schema_of("dmlcts.reports", "record")["$defs"][part]["properties"].keys()


def test_the_schema_of_results_has_every_status() -> None:
    assert set(schema_of("dmlcts.reports", "record")["$defs"]["result"]["properties"]["status"]["enum"]) == set(STATUSES)
