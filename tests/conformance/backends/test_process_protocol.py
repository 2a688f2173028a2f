"""Frames, requests and answers, without a process."""

from __future__ import annotations

import json
import struct
from dataclasses import fields, replace
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.conformance.backends.backend import STAGES, BackendFault, BackendInfo, BufferBinding, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.process.protocol import (
    MAGIC,
    PREFIX,
    ProtocolError,
    RawStream,
    answer_views,
    frame,
    parts,
    raise_status,
    read_header,
    read_info,
    read_paths,
    run_request,
    wire_operator,
)
from dmlcts.reports.record.paths import CodePath
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load
from dmlcts.spec.untrusted.files import schema_of, validator

# Frames


class Chunks:
    """A raw stream that gives at most ``most`` bytes at a time."""

    def __init__(self, data: bytes, most: int) -> None:
        self.data, self.most = BytesIO(data), most

    def read(self, size: int, /) -> bytes:
        return self.data.read(min(size, self.most))

    def readinto(self, view: memoryview, /) -> int:
        return self.data.readinto(view[: self.most])


def test_a_frame_is_what_the_document_says() -> None:
    text = b'{"request":"describe"}'
    assert frame({"request": "describe"}) == b"DMLCTS\x01\n" + struct.pack("<IQ", len(text), 0) + text
    assert frame({}, 0x0102030405060708).hex() == "444d4c435453010a" + "02000000" + "0807060504030201" + "7b7d"


@pytest.mark.parametrize("most", [1, 7, 1 << 16])
def test_frames_are_read_however_they_come(most: int) -> None:
    sent = frame({"status": "ok", "é": [1]}, 6) + b"abcdef" + frame({"second": 2})
    source = RawStream(Chunks(sent, most))
    assert read_header(source) == ({"status": "ok", "é": [1]}, 6)
    payload = bytearray(6)
    source.fill(memoryview(payload)[:4])
    source.fill(memoryview(payload)[4:])
    assert payload == b"abcdef"
    assert read_header(source) == ({"second": 2}, 0)
    with pytest.raises(ProtocolError, match="the output ended before a frame") as error:
        read_header(source)
    assert error.value.ended


def test_the_first_wrong_byte_is_enough() -> None:
    class Stream(Chunks):
        def read(self, size: int, /) -> bytes:
            return super().read(size) or pytest.fail("read on after a byte that no frame has there")

    for data in (b"o", b"DMLX", b"DMLCTS\x02", b"\r\nDMLCTS"):
        with pytest.raises(ProtocolError, match="is not a frame") as error:
            read_header(RawStream(Stream(data, 1 << 16)))
        assert error.value.seen == data
        assert not error.value.ended


@settings(derandomize=True, database=None, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=64), st.binary(max_size=64).map(MAGIC.__add__), st.text(max_size=40).map(lambda t: framed(t.encode()))
    )
)
def test_whatever_comes_is_a_frame_or_a_protocol_error(data: bytes) -> None:
    source = RawStream(Chunks(data, 1 << 16))
    try:
        header, length = read_header(source)
    except ProtocolError:
        return
    assert isinstance(header, dict)
    assert data.startswith(MAGIC)
    assert length == PREFIX.unpack_from(data)[2]


def framed(text: bytes) -> bytes:
    return PREFIX.pack(MAGIC, len(text), 0) + text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["ok", "rejected", "error", "create"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
HEADERS = st.fixed_dictionaries({}, optional=dict.fromkeys(("status", "id", "resources", "message", "stage", "code"), JSON))


@settings(derandomize=True, database=None, deadline=None)
@given(HEADERS, st.integers(0, 40))
def test_no_answer_is_believed_unchecked(header: dict[str, Any], length: int) -> None:
    work = bit_or()
    try:
        views = answer_views(header, length, 2, work)
        raise_status(header)
    except (ProtocolError, Rejected, Unsupported, BackendFault):
        return
    assert header["status"] == "ok"
    assert header["id"] == 2
    assert 2 in header["resources"]
    assert sum(len(view) for view in views) == length


def test_small_requests_are_written_at_once_and_large_ones_uncopied() -> None:
    resources = [memoryview(bytearray(b"a" * 10)), memoryview(bytearray(b"b" * 100_000))]
    assert parts([b"head", resources[0]]) == [b"head" + b"a" * 10]
    large = parts([b"head", *resources])
    assert [piece is given for piece, given in zip(large[1:], resources, strict=True)] == [True, True]


# Requests and answers


def bit_or() -> Dispatch:
    tensor = TensorDesc("UINT16", (3,))
    desc = OperatorDesc("ELEMENT_WISE_BIT_OR", dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), tensor))
    resources = [np.arange(start, start + 24, dtype=np.uint8) for start in (0, 100, 200)]
    return Dispatch(desc, resources, {name: BufferBinding(i, 16, 8) for i, name in enumerate(desc.fields)}, ("OutputTensor",))


def test_a_request_says_everything_and_copies_nothing() -> None:
    work = bit_or()
    head, *views = run_request(work, 7, load)
    header, length = read_header(RawStream(BytesIO(head)))
    assert header == {
        "request": "run",
        "id": 7,
        **wire_operator(work.desc, load),
        "resources": [{"size": 24}] * 3,
        "bindings": [
            {"tensor": "ATensor", "resource": 0, "offset": 16, "size": 8},
            {"tensor": "BTensor", "resource": 1, "offset": 16, "size": 8},
            {"tensor": "OutputTensor", "resource": 2, "offset": 16, "size": 8},
        ],
        "outputs": ["OutputTensor"],
        "flags": 0,
    }
    assert header["operator_type"] == 122
    assert length == 72
    assert all(np.shares_memory(np.asarray(view), resource) for view, resource in zip(views, work.resources, strict=True))


def test_an_answer_is_read_into_the_resources_themselves() -> None:
    work = bit_or()
    (view,) = answer_views({"status": "ok", "id": 7, "resources": [2]}, 24, 7, work)
    RawStream(BytesIO(b"x" * 24)).fill(view)
    assert work.resources[2].tobytes() == b"x" * 24


def test_an_output_that_is_not_bound_need_not_come_back() -> None:
    work = bit_or()
    unbound = Dispatch(work.desc, work.resources, {}, work.outputs)
    assert answer_views({"status": "ok", "id": 7, "resources": []}, 0, 7, unbound) == []


def test_a_description_has_the_fields_of_backend_info() -> None:
    info = BackendInfo("host", "2", "GPU 0", "5_0", ("FLOAT32", "INT4"), "flush", "truncate", 24, True, {"driver": "31.0"})
    assert read_info({"status": "ok", **json.loads(json.dumps(info.to_json()))}) == info
    assert {field.name for field in fields(BackendInfo)} == info.to_json().keys()
    assert read_info({"status": "ok", "name": "host"}) == BackendInfo("host")
    assert read_info({"status": "ok", "name": "host", "progress": True}) == BackendInfo("host")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", ""),
        ("name", 3),
        ("version", 1.0),
        ("device", None),
        ("feature_level", "6.4"),
        ("data_types", "FLOAT32"),
        ("data_types", ["float32"]),
        ("data_types", [[]]),
        ("denormals", "keep"),
        ("half_store", "even"),
        ("accumulator", True),
        ("accumulator", -1),
        ("accumulator", 1),
        ("accumulator", 9),
        ("accumulator", 53),
        ("nearest", 1),
        ("details", []),
        ("progress", 1),
        ("progress", "yes"),
    ],
)
def test_a_description_is_not_believed_unchecked(key: str, value: object) -> None:
    with pytest.raises(ProtocolError, match=f"the description's {key} cannot be"):
        read_info({"status": "ok", "name": "host", key: value})


# The JSON Schema of answers, which other hosts' authors may use, says the same as the code

VALUES = st.sampled_from(
    ["ok", "rejected", "unsupported", "error", "name", "", "6_4", "9_9", "create", "any", "preserve", "nearest", "truncate", 0, 1, 9, 10, 24, 52, 53, -1, True, None]
) | st.lists(st.sampled_from(["FLOAT32", "INT4", "UINT33", 7]), max_size=2) | st.just({"a": 1})  # fmt: skip
KEYS = ["status", "name", "version", "device", "feature_level", "data_types", "denormals", "half_store", "accumulator", "nearest", "progress", "details",
        "message", "stage", "code", "other"]  # fmt: skip
GOOD = {"status": "ok", "name": "n", "message": "m", "stage": "create"}


def accepts(header: dict[str, Any]) -> bool:
    try:
        read_info(header)
    except ProtocolError:
        return False
    except (Rejected, Unsupported, BackendFault):
        pass
    return True


@settings(max_examples=500, derandomize=True, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6), st.sets(st.sampled_from(list(GOOD))))
def test_the_schema_of_answers_says_what_the_code_checks(header: dict[str, Any], kept: set[str]) -> None:
    header = header | {key: GOOD[key] for key in kept}
    assert validator("dmlcts.conformance.backends.process", "answer", "describe").is_valid(header) == accepts(header)


def test_the_schema_of_answers_names_every_level_type_and_stage() -> None:
    ok = schema_of("dmlcts.conformance.backends.process", "answer")["$defs"]["describe"]["oneOf"][1]
    assert ok["properties"]["feature_level"]["enum"] == list(abi().feature_levels)
    assert set(ok["properties"]["data_types"]["items"]["enum"]) == set(abi().data_types)
    refused = schema_of("dmlcts.conformance.backends.process", "answer")["$defs"]["refused"]["oneOf"][1]
    assert refused["properties"]["stage"]["enum"] == list(STAGES)


def test_a_hosts_texts_are_clean() -> None:
    text = "\x1b[2J\n::error::x" + "y" * 5000
    info = read_info({"status": "ok", "name": text, "version": text, "details": {text: [text]}})
    with pytest.raises(Rejected) as rejected:
        raise_status({"status": "rejected", "message": text, "stage": "create", "code": text})
    with pytest.raises(BackendFault) as fault:
        raise_status({"status": "error", "message": text, "evidence": {"a": text}})
    for shown in (info.name, info.version, *info.details, str(rejected.value), rejected.value.code, str(fault.value)):
        assert shown.isprintable()
        assert "::error" not in shown
        assert len(shown) <= 2000
    assert "\x1b" not in fault.value.evidence


# Code paths


def test_a_request_asks_for_code_paths_if_somebody_wants_them() -> None:
    def asks(work: Dispatch) -> object:
        return read_header(RawStream(BytesIO(run_request(work, 7, load)[0])))[0].get("paths")

    assert asks(bit_or()) is None
    assert asks(replace(bit_or(), paths=[])) is True


def test_code_paths_are_in_order_with_their_numbers() -> None:
    given = [{"label": "dxil 3f2a9c0d1e5b7a48", "numbers": [8, 1, 1]}, {"label": "copy"}, {"label": "copy", "numbers": []}]
    assert read_paths({"paths": given}) == [CodePath("dxil 3f2a9c0d1e5b7a48", (8, 1, 1)), CodePath("copy"), CodePath("copy")]
    assert read_paths({"status": "ok"}) == []


@pytest.mark.parametrize(
    "paths",
    [
        None, {}, "a", ["a"], [None], [{}], [{"label": ""}], [{"label": " \n"}], [{"label": 7}], [{"label": "a", "numbers": 8}],
        [{"label": "a", "numbers": "8"}], [{"label": "a", "numbers": None}], [{"label": "a", "numbers": [-1]}], [{"label": "a", "numbers": [1.5]}],
        [{"label": "a", "numbers": [True]}], [{"label": "a", "numbers": ["1"]}], [{"label": "a", "numbers": [2**63]}], [{"label": "a", "numbers": [1] * 9}],
    ],
)  # fmt: skip
def test_code_paths_are_not_believed_unchecked(paths: object) -> None:
    with pytest.raises(ProtocolError, match="path"):
        read_paths({"paths": paths})
    header = {"status": "ok", "id": 1, "resources": [], "paths": paths}
    assert not validator("dmlcts.conformance.backends.process", "answer", "run").is_valid(header)


def test_the_schema_of_answers_knows_code_paths() -> None:
    header = {"status": "ok", "id": 1, "resources": [], "paths": [{"label": "a", "numbers": [0, 2**63 - 1]}, {"label": "x" * 5000}]}
    assert validator("dmlcts.conformance.backends.process", "answer", "run").is_valid(header)
    assert next(path.label for path in read_paths(header)) == "a"


def test_too_many_code_paths_and_hostile_labels_are_cut_and_cleaned() -> None:
    found = read_paths({"paths": [{"label": "\x1b[2J\n::error::x" + "y" * 5000}] * 3000})
    assert len(found) == 1025
    assert len(found[0].label) <= 200
    assert found[0].label.isprintable()
    assert "::error" not in found[0].label
