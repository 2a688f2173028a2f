"""The example host against NumPy, and the documentation against the example host: whoever starts from them starts from something true."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import STAGES, BufferBinding, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.process.process import ProcessBackend, open_process
from dmlcts.conformance.backends.process.protocol import CLOSE, DESCRIBE, MAGIC, MAX_HEADER, PREFIX, frame, read_info
from dmlcts.conformance.backends.process.standard_error import KEPT
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load

DOCS = Path(__file__).parents[3] / "docs"
HOST = DOCS / "example_host.py"
TYPES = load("ELEMENT_WISE_BIT_OR").support[0].tensors["ATensor"].data_types
NAMES = ("ATensor", "BTensor", "OutputTensor")


@pytest.fixture(scope="module")
def backend() -> Iterator[ProcessBackend]:
    opened = ProcessBackend([sys.executable, "-S", "-E", str(HOST)])
    yield opened
    opened.close()


def places(tensor: TensorDesc) -> list[int]:
    """Where each element is, in elements."""
    indices = itertools.product(*map(range, tensor.sizes))
    return [sum(i * stride for i, stride in zip(index, tensor.effective_strides, strict=True)) for index in indices]


def dispatch(*tensors: TensorDesc, offset: int = 0) -> Dispatch:
    """An execution of BIT_OR on random bytes, each tensor in a resource of its own with something before and after it."""
    random = np.random.default_rng(len(tensors[0].sizes))
    desc = OperatorDesc("ELEMENT_WISE_BIT_OR", dict(zip(NAMES, tensors, strict=True)))
    resources = [random.integers(0, 256, offset + tensor.bytes + 16, dtype=np.uint8) for tensor in tensors]
    bindings = {name: BufferBinding(i, offset, tensor.bytes) for i, (name, tensor) in enumerate(desc.tensors())}
    return Dispatch(desc, resources, bindings, ("OutputTensor",))


def expected(work: Dispatch) -> list[bytes]:
    """The resources after the execution, computed by NumPy from what they are before it."""
    resources = [resource.copy() for resource in work.resources]
    views = []
    for name, tensor in work.desc.tensors():
        binding = work.bindings[name]
        width = tensor.type.bits // 8
        part = resources[binding.resource][binding.offset : binding.offset + binding.size // width * width]
        views.append((part.view(f"<u{width}"), places(tensor)))
    (a, at_a), (b, at_b), (output, at_output) = views
    output[at_output] = a[at_a] | b[at_b]
    return [resource.tobytes() for resource in resources]


LAYOUTS = {
    "packed": ((2, 3, 5), (None, None, None)),
    "one dimension": ((7,), (None, (2,), None)),
    "eight dimensions": ((1, 2, 1, 2, 1, 2, 1, 3), (None, None, None)),
    "transposed": ((4, 6), ((1, 4), (6, 1), (1, 4))),
    "broadcast": ((3, 4), ((0, 1), (1, 0), (4, 1))),
    "gaps": ((3, 4), ((10, 2), None, (9, 2))),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("data_type", TYPES)
@pytest.mark.parametrize("offset", [0, 32])
def test_it_agrees_with_numpy(data_type: str, layout: str, offset: int, backend: ProcessBackend) -> None:
    sizes, strides = LAYOUTS[layout]
    work = dispatch(*(TensorDesc(data_type, sizes, s) for s in strides), offset=offset)
    wanted = expected(work)
    backend.run(work)
    assert [resource.tobytes() for resource in work.resources] == wanted


@pytest.mark.parametrize("shared", ["ATensor", "BTensor"])
def test_it_works_in_place(shared: str, backend: ProcessBackend) -> None:
    work = dispatch(*(TensorDesc("UINT32", (2, 3)),) * 3)
    work = Dispatch(work.desc, work.resources, {**work.bindings, "OutputTensor": work.bindings[shared]}, work.outputs)
    wanted = expected(work)
    backend.run(work)
    assert [resource.tobytes() for resource in work.resources] == wanted


GOOD = TensorDesc("UINT8", (2, 4))
REFUSED = {
    "data type": ((GOOD, TensorDesc("UINT16", (2, 4)), GOOD), "create"),
    "sizes": ((GOOD, TensorDesc("UINT8", (4, 2)), GOOD), "create"),
    "unknown data type": ((GOOD, GOOD, TensorDesc("UNKNOWN", (2, 4))), "create"),
    "zero": ((TensorDesc("UINT8", (2, 0)),) * 3, "create"),
    "no dimension": ((TensorDesc("UINT8", ()),) * 3, "create"),
    "nine dimensions": ((TensorDesc("UINT8", (1,) * 9),) * 3, "create"),
    "total size too small": ((GOOD, TensorDesc("UINT8", (2, 4), total_size=4), GOOD), "create"),
    "total size no multiple of four": ((GOOD, TensorDesc("UINT8", (2, 4), total_size=9), GOOD), "create"),
    "flags": ((GOOD, TensorDesc("UINT8", (2, 4), flags=2), GOOD), "create"),
    "output owned": ((GOOD, GOOD, TensorDesc("UINT8", (2, 4), flags=1)), "create"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_what_is_wrong(name: str, backend: ProcessBackend) -> None:
    tensors, stage = REFUSED[name]
    resources = [np.zeros(64, np.uint8) for _ in NAMES]
    bindings = {tensor: BufferBinding(i, 0, 64) for i, tensor in enumerate(NAMES)}
    work = Dispatch(OperatorDesc("ELEMENT_WISE_BIT_OR", dict(zip(NAMES, tensors, strict=True))), resources, bindings, NAMES[2:])
    with pytest.raises(Rejected) as rejected:
        backend.run(work)
    assert (rejected.value.stage, rejected.value.code) == (stage, "0x80070057")


@pytest.mark.parametrize("binding", [None, BufferBinding(0, 0, 4), BufferBinding(0, 4, 8), BufferBinding(0, 16, 16)])
def test_it_refuses_wrong_bindings(binding: BufferBinding | None, backend: ProcessBackend) -> None:
    work = dispatch(GOOD, GOOD, GOOD)
    bindings = {name: bound for name, bound in {**work.bindings, "ATensor": binding}.items() if bound}
    with pytest.raises(Rejected, match="ATensor") as rejected:
        backend.run(Dispatch(work.desc, work.resources, bindings, work.outputs))
    assert rejected.value.stage == "bind"


def test_it_does_not_claim_what_it_does_not_know(backend: ProcessBackend) -> None:
    work = dispatch(GOOD, GOOD, GOOD)
    other = OperatorDesc("ELEMENT_WISE_BIT_XOR", work.desc.fields)
    with pytest.raises(Unsupported, match="BIT_OR is all"):
        backend.run(Dispatch(other, work.resources, work.bindings, work.outputs))


def test_it_is_started_as_the_document_says() -> None:
    opened = open_process(f'"{Path(sys.executable).as_posix()}" "{HOST.as_posix()}"')
    assert opened.describe().name == "example host"
    opened.close()


def test_the_document_s_session_is_what_is_sent() -> None:
    text = (DOCS / "process-protocol.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```hex\n(.*?)```", text, re.DOTALL)
    asked, answered, closed = (bytes.fromhex("".join(line[:47] for line in block.splitlines())) for block in blocks)
    assert (asked, closed) == (frame(DESCRIBE), frame(CLOSE))
    done = subprocess.run(
        [sys.executable, "-S", "-E", str(HOST)], input=asked + closed, capture_output=True, check=True, timeout=30
    )
    assert done.stdout == answered
    assert done.stderr == b""


def test_the_document_names_every_number_of_the_protocol() -> None:
    text = (DOCS / "process-protocol.md").read_text(encoding="utf-8")
    for name in ("status", *read_info({"status": "ok", "name": "x"}).to_json()):
        assert f"`{name}`" in text
    assert all(f"`{stage}`" in text for stage in STAGES)
    assert f"at most {MAX_HEADER}" in text
    assert f"last {KEPT} bytes" in text
    assert MAGIC.hex(" ") in text
    assert PREFIX.size == 20
