"""Descriptions of backends that are odd, by a Python class and by a host: taken as the documentation says, or refused in a line that names the field (exit code 3)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

from attack import Attack, Run
from expect import exits, green, no_claim, refuses
from suspects import HEAD, run_of

from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable
from dmlcts.conformance.backends.process.protocol import MAGIC, PREFIX, ProtocolError, RawStream, read_header, read_info
from dmlcts.conformance.backends.python.load import _check_description
from dmlcts.conformance.backends.reference import ReferenceBackend

TAKEN, REFUSED = "taken", "refused"

FIELDS: tuple[tuple[str, str, str], ...] = (
    ("feature_level", "'6.4'", REFUSED), ("feature_level", "6.4", REFUSED), ("feature_level", "None", REFUSED), ("feature_level", "''", REFUSED),
    ("feature_level", "'6_4 '", REFUSED), ("feature_level", "'0_0'", REFUSED), ("feature_level", "['6_4']", REFUSED), ("feature_level", "True", REFUSED),
    ("feature_level", "'6_٤'", REFUSED), ("feature_level", "'1_0'", TAKEN), ("feature_level", "'6_40'", REFUSED), ("feature_level", "'７_0'", REFUSED),
    ("data_types", "['UINT8']", TAKEN), ("data_types", "[]", TAKEN), ("data_types", "'UINT8'", REFUSED), ("data_types", "['UINT8', 'UINT8']", TAKEN),
    ("data_types", "['UINT9']", REFUSED), ("data_types", "[8]", REFUSED), ("data_types", "None", REFUSED), ("data_types", "[['UINT8']]", REFUSED), ("data_types", "{'UINT8': 1}", REFUSED),
    ("operators", "['ELEMENT_WISE_BIT_OR']", TAKEN), ("operators", "['BIT_OR']", REFUSED), ("operators", "'ELEMENT_WISE_BIT_OR'", REFUSED), ("operators", "[None]", REFUSED),
    ("operators", "['DML_OPERATOR_ELEMENT_WISE_BIT_OR']", REFUSED), ("operators", "['*']", REFUSED), ("operators", "None", REFUSED), ("operators", "['element_wise_bit_or']", REFUSED),
    ("denormals", "'preserve'", TAKEN), ("denormals", "'sometimes'", REFUSED), ("denormals", "True", REFUSED), ("denormals", "None", REFUSED), ("denormals", "'Any'", REFUSED), ("denormals", "''", REFUSED),
    ("half_store", "'truncate'", TAKEN), ("half_store", "'away'", REFUSED), ("half_store", "1", REFUSED), ("half_store", "['nearest', 'truncate']", REFUSED),
    ("accumulator", "0", TAKEN), ("accumulator", "10", TAKEN), ("accumulator", "52", TAKEN), ("accumulator", "9", REFUSED), ("accumulator", "53", REFUSED), ("accumulator", "-1", REFUSED),
    ("accumulator", "True", REFUSED), ("accumulator", "'24'", REFUSED), ("accumulator", "24.5", REFUSED), ("accumulator", "10**30", REFUSED), ("accumulator", "None", REFUSED), ("accumulator", "float('nan')", REFUSED),
    ("nearest", "True", TAKEN), ("nearest", "1", REFUSED), ("nearest", "'no'", REFUSED), ("nearest", "None", REFUSED),
    ("validates", "True", TAKEN), ("validates", "'false'", REFUSED), ("validates", "0", REFUSED), ("validates", "None", REFUSED), ("validates", "[]", REFUSED),
    ("name", "''", REFUSED), ("name", "None", REFUSED), ("name", "7", REFUSED), ("name", "'x' * 1000000", TAKEN), ("name", "'\\x1b[2J::error::x'", TAKEN), ("name", "'\\ud800'", TAKEN), ("name", "['x']", REFUSED),
    ("version", "None", REFUSED), ("version", "1.0", REFUSED), ("version", "(1, 0)", REFUSED), ("version", "'<script>alert(1)</script>'", TAKEN),
    ("device", "'GPU'", TAKEN), ("device", "None", REFUSED), ("device", "{}", REFUSED),
    ("details", "{'driver': '1.0'}", TAKEN), ("details", "None", REFUSED), ("details", "[]", REFUSED), ("details", "{'x': float('nan')}", TAKEN), ("details", "{'x': 'y' * 3000000}", TAKEN),
    ("details", "{str(i): i for i in range(100000)}", TAKEN), ("details", "'text'", REFUSED), ("details", "{'a': {'b': [1, None, True]}}", TAKEN), ("details", "{7: 8}", TAKEN),
)  # fmt: skip

NO_JSON = {"{7: 8}", "float('nan')", "{'x': float('nan')}", "{'x': 'y' * 3000000}", "{str(i): i for i in range(100000)}"}
"""What a host cannot send in a header, which is another matter (``hosts``)."""


def python_class(field: str, value: str) -> str:
    return f"{HEAD}\nVALUE = {value}\nclass Mine(ReferenceBackend):\n    def describe(self):\n        return replace(self.info, {field}=VALUE)\n"


def by_class(field: str, value: object, wanted: str) -> str:
    """What is broken about how a class's description is read."""

    class Mine(ReferenceBackend):
        def describe(self) -> BackendInfo:
            return replace(self.info, **{field: value})

    try:
        _check_description(Mine())
    except BackendUnavailable as error:
        return refusal(str(error), field, wanted)
    return "taken" if wanted == REFUSED else ""


def by_host(field: str, value: object, wanted: str) -> str:
    """What is broken about how a host's description is read, as it comes in a frame."""
    try:
        text = json.dumps({"status": "ok", "name": "host", field: value}).encode()
        info = read_info(read_header(RawStream(BytesIO(PREFIX.pack(MAGIC, len(text), 0) + text)))[0])
    except ProtocolError as error:
        return refusal(str(error), field, wanted)
    if wanted == REFUSED:
        return "taken"
    return "a name that is not clean" if any(ord(letter) < 32 for letter in info.name) or len(info.name) > 300 else ""


def refusal(message: str, field: str, wanted: str) -> str:
    if wanted == TAKEN:
        return f"refused: {message[:200]}"
    return (
        ""
        if field in message and "\n" not in message and len(message) < 3000
        else f"the refusal does not name {field}: {message[:200]}"
    )


def attacks() -> Iterator[Attack]:
    names = ("BIT_OR", "--level", "smoke", "-k", "4d and UINT8 and not negative and not property")
    for field, text, wanted in FIELDS:
        value, shown = eval(text), text if len(text) < 30 else f"{text[:30]}..."
        yield Attack(f"{field} = {shown}, by a class", (lambda _, f=field, v=value, w=wanted: by_class(f, v, w),), quick=True)
        if text not in NO_JSON:
            yield Attack(f"{field} = {shown}, by a host", (lambda _, f=field, v=value, w=wanted: by_host(f, v, w),), quick=True)
    must = (no_claim, refuses("validates"), exits(3))
    files = {"mine.py": python_class("validates", "'false'")}
    for kind in ("python", "inprocess"):
        yield Attack(f"validates = 'false', by a class, in a run of {kind}:", (Run(run_of(kind, names=names), must),), files)
    yield Attack("a wrong field that is taken", (Run(run_of("python", names=names), (green,)),), files, self_check=True)
    yield Attack(
        "a wrong field, and the engine thinks that it is right",
        (lambda _: by_class("validates", "false", TAKEN),),
        self_check=True,
        quick=True,
    )
    yield Attack(
        "a right field, and the engine thinks that it is wrong",
        (lambda _: by_host("validates", True, REFUSED),),
        self_check=True,
        quick=True,
    )


ATTACKS = tuple(attacks())
