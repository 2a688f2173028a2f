"""The tables of the capture DLL, and what it reads by them: each desc comes back as it was laid out. Needs a C++ compiler of this platform."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dmlcts.conformance.backends.directml import stack
from dmlcts.conformance.backends.process.protocol import wire_operator
from dmlcts.conformance.client.programs.programs import NATIVE
from dmlcts.conformance.client.programs.tables import tables
from dmlcts.generator.case.case import REJECTION
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.reading.loader import load
from dmlcts.spec.untrusted.desc_json import read_desc

OPERATORS = ("ELEMENT_WISE_CLIP1", "CONVOLUTION", "LSTM", "JOIN", "RANDOM_GENERATOR", "FILL_VALUE_SEQUENCE", "RESAMPLE2", "ADAM_OPTIMIZER", "PADDING1", "MULTIHEAD_ATTENTION", "ELEMENT_WISE_THRESHOLD")  # fmt: skip
"""With every type of field among them."""


def test_every_operator_has_its_fields_in_the_tables() -> None:
    text = tables()
    for name, number in abi().operator_types.items():
        assert f'{{{number}, "{name}", fields_{number}, {len(load(name).fields)}}}' in text


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None or os.name == "nt":
        pytest.skip("no C++ compiler of this platform")
    folder = tmp_path_factory.mktemp("echo")
    (folder / "operator_tables.inc").write_text(tables(), encoding="utf-8")
    host = stack.NATIVE / "src"
    sources = [
        NATIVE / "tests" / "desc_echo.cpp",
        NATIVE / "src" / "desc_json.cpp",
        NATIVE / "src" / "operator_tables.cpp",
        host / "desc_layout.cpp",
    ]
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", f"-I{folder}", f"-I{NATIVE / 'src'}", f"-I{host}"]
    subprocess.run([compiler, *flags, *map(str, sources), "-o", str(folder / "echo")], check=True, timeout=200)
    return folder / "echo"


def echoed(echo: Path, descs: list[OperatorDesc]) -> list[str]:
    """What the DLL would write for these descs."""
    requests = "".join(json.dumps(wire_operator(desc, load)) + "\n" for desc in descs)
    return subprocess.run([echo], input=requests, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_desc_comes_back_as_it_was_laid_out(operator: str, echo: Path) -> None:
    descs = [case.desc for case in operator_cases(operator, "core") if case.expect != REJECTION][:300]
    assert descs
    for desc, line in zip(descs, echoed(echo, descs), strict=True):
        assert wire_operator(read_desc(json.loads(line), load), load) == wire_operator(desc, load)


def test_numbers_come_back_exactly(echo: Path) -> None:
    """Also those that JSON has not, and those whose shortest text as FLOAT32 is another FLOAT64."""
    usual = next(case.desc for case in operator_cases("ELEMENT_WISE_CLIP1", "core") if case.expect != REJECTION)
    for data_type, values in {
        "FLOAT32": (0.1, float("inf")),
        "FLOAT16": (-5.960464477539063e-08, 65504.0),
        "FLOAT64": (0.1, -float("inf")),
        "INT64": (-(2**63), 2**63 - 1),
        "UINT64": (0, 2**64 - 1),
        "INT8": (-128, 127),
    }.items():
        desc = usual.with_fields(MinMaxDataType=data_type, Min=values[0], Max=values[1])
        (line,) = echoed(echo, [desc])
        assert wire_operator(read_desc(json.loads(line), load), load) == wire_operator(desc, load), data_type


def test_what_no_valid_desc_can_have_is_not_read(echo: Path) -> None:
    usual = next(case.desc for case in operator_cases("ELEMENT_WISE_ROUND", "core") if case.expect != REJECTION)
    wire = wire_operator(usual, load)
    tensor = wire["fields"][0]["value"]
    far = {**wire, "fields": [{**wire["fields"][0], "value": {**tensor, "sizes": [1] * 17, "strides": None}}, *wire["fields"][1:]]}
    unknown = {**wire, "operator_type": 9999}
    lines = subprocess.run(
        [echo],
        input="".join(json.dumps(one) + "\n" for one in (far, unknown)),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.splitlines()
    assert lines == ["a tensor has 17 dimensions", "the operator type 9999 is not known"]
