"""Every value of a data type as an operator's input: all are tried once, a single wrong one is found, and what is not promised is left out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import pytest
from commands import dmlcts
from device_arrays import NAMESPACE

from dmlcts.conformance.backends.backend import BackendFault, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.probing.exhaustive import Found, NotExhaustible, all_inputs, chunks, try_chunk
from dmlcts.generator.plan.plan import plan_of
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.reading.loader import load

DOCUMENTED, MEASURED = "documented", "measured"


class WrongAt(ReferenceBackend):
    """Wrong for one input value alone, given by its bits."""

    def __init__(self, *bits: int) -> None:
        super().__init__()
        self.bits = bits

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, Any]) -> dict[str, Any]:
        found = super().compute(desc, inputs)
        hit = np.ones(1, np.bool_)
        for array, bits in zip(inputs.values(), self.bits, strict=True):
            hit = hit & (array.view(f"u{array.itemsize}") == bits)
        return {name: np.where(hit, array * 0 + 7, array).astype(array.dtype) for name, array in found.items()}


def tried(
    name: str, data_type: str, backend: ReferenceBackend, basis: str = DOCUMENTED, chunk: int = 1 << 14, xp: Any = np
) -> Found:
    inputs, found = all_inputs(plan_of(load(name)), data_type), Found()
    for start, count in chunks(inputs.count, chunk):
        try_chunk(inputs, start, count, backend, backend.info, basis, 30.0, xp, found)
    return found


@pytest.mark.parametrize(("name", "data_type"), [("ELEMENT_WISE_SQRT", "FLOAT16"), ("ELEMENT_WISE_MODULUS_FLOOR", "INT8")])
@pytest.mark.parametrize("basis", [DOCUMENTED, MEASURED])
def test_the_reference_is_right_for_all(name: str, data_type: str, basis: str) -> None:
    found = tried(name, data_type, ReferenceBackend(), basis)
    assert found.is_right
    assert found.inputs == 1 << 16
    assert found.left_out < found.inputs


@pytest.mark.parametrize(
    ("name", "data_type", "bits", "text"),
    [
        ("ELEMENT_WISE_SQRT", "FLOAT16", (0x3C01,), "0x3C01 (1.0009765625)"),
        ("ELEMENT_WISE_BIT_COUNT", "UINT16", (0xFFFF,), "0xFFFF (65535)"),
        ("ELEMENT_WISE_ADD", "INT8", (0x7F, 0x81), "ATensor 0x7F (127), BTensor 0x81 (-127)"),
    ],
)
def test_a_single_wrong_input_is_found_and_named(name: str, data_type: str, bits: tuple[int, ...], text: str) -> None:
    found = tried(name, data_type, WrongAt(*bits))
    assert (found.wrong, found.is_right) == (1, False)
    assert [where for where, _ in found.mismatches] == [text]


def test_what_cases_of_a_basis_do_not_have_is_left_out() -> None:
    """NaN is no input of documented cases of a square root, and 0 no divisor of a remainder."""
    assert tried("ELEMENT_WISE_SQRT", "FLOAT16", WrongAt(0x7E00)).is_right
    assert not tried("ELEMENT_WISE_SQRT", "FLOAT16", WrongAt(0x7BFF), MEASURED).is_right
    assert tried("ELEMENT_WISE_MODULUS_FLOOR", "INT8", WrongAt(5, 0)).is_right


def test_answers_of_a_device_are_the_same() -> None:
    on_host = tried("ELEMENT_WISE_TANH", "FLOAT16", ReferenceBackend())
    on_device = tried("ELEMENT_WISE_TANH", "FLOAT16", ReferenceBackend(), xp=NAMESPACE)
    assert on_device.is_right
    assert (on_device.inputs, on_device.left_out, on_device.worst_ulp) == (on_host.inputs, on_host.left_out, on_host.worst_ulp)


@pytest.mark.parametrize(
    ("name", "data_type", "message"),
    [
        ("GEMM", "FLOAT16", "each element from those in its place alone"),
        ("ACTIVATION_LOG_SOFTMAX", "FLOAT16", "each element from those in its place alone"),
        ("ELEMENT_WISE_ADD", "FLOAT32", "2 inputs of 32 bits"),
        ("ELEMENT_WISE_SQRT", "INT8", "no table gives all inputs of ELEMENT_WISE_SQRT the type INT8"),
    ],
)
def test_what_cannot_be_tried_says_why(name: str, data_type: str, message: str) -> None:
    with pytest.raises(NotExhaustible, match=message):
        all_inputs(plan_of(load(name)), data_type)


def test_shards_are_all_chunks_once() -> None:
    parts = [list(chunks(1000, 64, (part, 3))) for part in (1, 2, 3)]
    assert sorted(chain.from_iterable(parts)) == list(chunks(1000, 64))
    assert sum(count for _, count in chunks(1000, 64)) == 1000


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("BIT_COUNT", "--type", "UINT16"), 0, "65,536 inputs: 0 wrong"),
        (("BIT_COUNT", "--type", "UINT16", "--shard", "1/2", "--chunk", "256"), 0, "32,768 inputs of 65,536 (50 %): 0 wrong"),
        (("BIT_COUNT", "--type", "UINT16", "--shard", "257/300", "--chunk", "256"), 1, "nothing was judged"),
        (("GEMM",), 2, "each element from those in its place alone"),
        (("BIT_COUNT", "-b", "reference:no"), 3, "reference:no is unknown"),
    ],
)
def test_the_command(arguments: tuple[str, ...], code: int, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("exhaustive", *arguments) == code
    printed = capsys.readouterr()
    assert text in printed.out + printed.err


def test_a_backend_without_the_operator_is_exit_code_4(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Lacking(ReferenceBackend):
        def compute(self, desc: OperatorDesc, inputs: Mapping[str, Any]) -> dict[str, Any]:
            raise Unsupported("not there")

    monkeypatch.setattr("dmlcts.conformance.commands.backends.exhaustive.open_backend", lambda _: Lacking())
    assert dmlcts("exhaustive", "BIT_COUNT", "--type", "UINT16", "--chunk", "256") == 4
    assert capsys.readouterr().out.count("not there") == 3


def test_a_backend_that_fails_at_its_end_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Crashing(ReferenceBackend):
        def close(self) -> None:
            raise BackendFault("the host was ended by SIGSEGV (11)")

    monkeypatch.setattr("dmlcts.conformance.commands.backends.exhaustive.open_backend", lambda _: Crashing())
    assert dmlcts("exhaustive", "BIT_COUNT", "--type", "UINT16") == 1
    assert "error: the host was ended by SIGSEGV (11)" in capsys.readouterr().out
