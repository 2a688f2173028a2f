"""Hostile input for every reader of foreign files and messages.

    python tests/support/fuzzing.py --examples 5000          # every reader, each in a process of its own; prints the figures
    python tests/support/fuzzing.py --examples 5000 results  # one reader

A reader gets valid input in which values were replaced (trees of JSON and YAML) or bytes were changed. It may accept the input, or raise the one
exception that it documents. Anything else fails: another exception, more than 5 seconds for one input, more than 1 GB of memory.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import io
import json
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
LONGEST, MOST_MEMORY = 5.0, 1 << 30
"""Seconds for one input; bytes that all inputs together may add to the process."""


@dataclass(frozen=True)
class Reader:
    """``read`` raises one of ``refusals``, or accepts. ``valid`` is valid input; ``tree`` says that it is JSON or YAML, ``lines`` that each line is."""

    read: Callable[[bytes, Path], object]
    refusals: tuple[type[Exception], ...]
    valid: tuple[bytes, ...]
    tree: bool = True
    lines: bool = False


# The readers; each imports only what it needs


def results() -> Reader:
    from dmlcts.reports.record import RecordError, read_record

    return Reader(lambda data, folder: read_record(_file(folder, "results.jsonl", data)), (RecordError,), (_record(),), lines=True)


def journal() -> Reader:
    from dmlcts.conformance.runner.journal import read_run
    from dmlcts.reports.record import RecordError

    def read(data: bytes, folder: Path) -> object:
        (folder / "parts").mkdir(exist_ok=True)
        _file(folder / "parts", "0-selected.jsonl", _record())
        _file(folder / "parts", "1-ran-main.jsonl", data)
        return read_run(folder)

    return Reader(read, (RecordError,), (_record(),), lines=True)


def merged() -> Reader:
    from dmlcts.reports.html import write_html
    from dmlcts.reports.markdown import markdown
    from dmlcts.reports.merge import MergeError, merge
    from dmlcts.reports.record import RecordError, read_record

    def read(data: bytes, folder: Path) -> object:
        shards = [read_record(_file(folder, "1.jsonl", data)), read_record(_file(folder, "2.jsonl", _record("2/2")))]
        record = merge(shards)
        write_html(record, folder / "out")
        return markdown(record)

    return Reader(read, (RecordError, MergeError), (_record("1/2"),), lines=True)


def waivers() -> Reader:
    from dmlcts.reports.waivers import WaiverError, read_waivers

    def read(data: bytes, folder: Path) -> object:
        return [waiver.matches("ELEMENT_WISE_ROUND/FLOAT32/1d") for waiver in read_waivers(_file(folder, "waivers.yaml", data))]

    valid = tuple(file.read_bytes() for file in (ROOT / "docs" / "waivers").glob("*.yaml"))
    return Reader(read, (WaiverError,), (*valid, b"waivers:\n- cases: [x, y*]\n  reason: r\n  issue: i\n  expires: 2027-03-01\n"))


def cases() -> Reader:
    from dmlcts.generator.case import to_json
    from dmlcts.generator.case_file import CaseError, read_case_file
    from dmlcts.generator.suite import operator_cases

    kinds: dict[tuple[str, str], bytes] = {}
    for operator in ("ELEMENT_WISE_ROUND", "CONVOLUTION", "MULTIHEAD_ATTENTION", "REDUCE"):
        for case in operator_cases(operator, "core"):
            kinds.setdefault((case.expect, case.kind), json.dumps(to_json(case)).encode())
    return Reader(lambda data, folder: read_case_file(_file(folder, "case.json", data)), (CaseError,), tuple(kinds.values()))


def models() -> Reader:
    from dmlcts.conformance.dxdispatch.read import ModelError, read_model

    def read(data: bytes, folder: Path) -> object:
        np.save(folder / "x.npy", np.ones(3, np.float32))
        return read_model(_file(folder, "model.json", data))

    sizes = {"DataType": "FLOAT32", "Sizes": [3]}
    model = {
        "resources": {
            "a": {"initialValues": {"sourcePath": "x.npy"}},
            "b": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 3, "valueStart": 1, "valueDelta": 0.5}},
            "c": {"initialValues": [{"type": "FLOAT32", "value": 1}], "sizeInBytes": 12},
            "d": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 3, "value": 0}},
        },
        "dispatchables": {"add": {"type": "ELEMENT_WISE_ADD", "desc": {"ATensor": sizes, "BTensor": sizes, "OutputTensor": sizes}}},
        "commands": [
            {
                "type": "dispatch",
                "dispatchable": "add",
                "bindings": {"ATensor": "a", "BTensor": {"name": "b"}, "OutputTensor": "d"},
            },
            {"type": "print", "resource": "d", "verbose": True},
            {"type": "writeFile", "resource": "d", "targetPath": "o.npy", "dimensions": [3]},
        ],
    }
    commented = b"{ // a comment\n" + json.dumps(model).encode()[1:-1] + b", /* one more */ }"
    return Reader(read, (ModelError,), (json.dumps(model).encode(), commented))


def arrays() -> Reader:
    from dmlcts.conformance.dxdispatch.model_json import ModelError
    from dmlcts.conformance.dxdispatch.values import initial_values

    def read(data: bytes, folder: Path) -> object:
        _file(folder, "x.npy", data)
        return initial_values({"sourcePath": "x.npy"}, "UNKNOWN", folder, "x")

    valid = []
    for array in (np.ones((2, 3), np.float32), np.ones(4, np.uint8), np.asfortranarray(np.ones((2, 2), np.int64))):
        stream = io.BytesIO()
        np.save(stream, array)
        valid.append(stream.getvalue())
    return Reader(read, (ModelError,), tuple(valid), tree=False)


def answers() -> Reader:
    from dmlcts.conformance.backends.backend import BackendFault, BufferBinding, Dispatch, Rejected, Unsupported
    from dmlcts.conformance.backends.protocol import (
        MAGIC,
        PREFIX,
        ProtocolError,
        Source,
        answer_views,
        raise_status,
        read_header,
        read_info,
    )
    from dmlcts.spec.desc import OperatorDesc

    dispatch = Dispatch(OperatorDesc("ELEMENT_WISE_ROUND", {}), [np.zeros(4, np.uint8)], {"O": BufferBinding(0, 0, 4)}, ("O",))

    def read(data: bytes, folder: Path) -> object:
        framed = data if data.startswith(MAGIC[:6]) else PREFIX.pack(MAGIC, len(data), 4) + data
        header, length = read_header(Source(io.BytesIO(framed)))  # type: ignore[arg-type]
        for ask in (lambda: read_info(header), lambda: (answer_views(header, length, 7, dispatch), raise_status(header))):
            try:
                ask()
            except (ProtocolError, Rejected, Unsupported, BackendFault):
                continue
        return raise_status(header)

    valid = [
        {"status": "ok", "name": "n", "version": "1", "device": "d", "feature_level": "6_4", "data_types": ["FLOAT32"], "denormals": "any",
         "half_store": "nearest", "accumulator": 24, "nearest": True, "details": {"a": [1]}},
        {"status": "ok", "id": 7, "resources": [0]},
        {"status": "rejected", "id": 7, "message": "m", "stage": "create", "code": "0x80070057"},
        {"status": "error", "id": 7, "message": "m", "evidence": {"a": "b"}},
    ]  # fmt: skip
    texts = [json.dumps(header).encode() for header in valid]
    framed = PREFIX.pack(MAGIC, len(texts[1]), 4) + texts[1] + struct.pack("<I", 1)
    return Reader(read, (ProtocolError, Rejected, Unsupported, BackendFault), (*texts, framed))


def specs() -> Reader:
    from dmlcts.spec.document import SpecError, read
    from dmlcts.spec.loader import load_text, operators_folder

    def load(data: bytes, folder: Path) -> object:
        return load_text(read(_file(folder, "spec.yaml", data)))

    names = ("element_wise/element_wise_round.yaml", "element_wise/element_wise_bit_or.yaml")
    found = [operators_folder() / name for name in names]
    valid = [file.read_bytes() for file in found if file.exists()] or [next(operators_folder().rglob("*round.yaml")).read_bytes()]
    return Reader(load, (SpecError,), tuple(valid))


def measured() -> Reader:
    from dmlcts.spec.document import SpecError, read
    from dmlcts.spec.measured import checked

    head = "by: X 1\ndate: '2026-01-01'\nlevel: '6_4'\nsuite: 0.1.0\ncommand: dmlcts probe\n"
    usual = "usual:\n  accepts:\n  - {rule: 'alignment/*', ways: [a]}\n"
    entry = "operators:\n  ELEMENT_WISE_ROUND:\n    probes: 3\n    cells: 2\n    accepts:\n    - {rule: sizes, ways: [b], types: [FLOAT32]}\n"
    return Reader(
        lambda data, folder: checked(read(_file(folder, "m.yaml", data))), (SpecError,), ((head + usual + entry).encode(),)
    )


def profiles() -> Reader:
    from dmlcts.conformance.runner.requirements import read_profile
    from dmlcts.spec.document import SpecError

    valid = b"profile: mine\noperators:\n  ELEMENT_WISE_ROUND: [FLOAT32, FLOAT16]\n  GEMM: all\ndata_types: [FLOAT32]\nvalidation: true\n"
    return Reader(
        lambda data, folder: read_profile(_file(folder, "profile.yaml", data)),
        (SpecError,),
        (valid, b"profile: mine\nvalidation: true\n"),
    )


def pages() -> Reader:
    from dmlcts.spec.foreign import ForeignError, read_text
    from dmlcts.spec.pages.page import PageError, read_page

    def read(data: bytes, folder: Path) -> object:
        file = _file(folder, "page.md", data)
        return read_page(read_text(file, 1 << 22), file)

    valid = tuple(file.read_bytes() for file in (ROOT / "tests" / "pages").glob("*.md"))
    return Reader(read, (PageError, ForeignError), valid, tree=False)


def options() -> Reader:
    from dmlcts.conformance.runner.options import UsageError, shard_of
    from dmlcts.generator.matching import matcher

    def read(data: bytes, folder: Path) -> object:
        text = data.decode("utf-8", "surrogateescape")
        with suppress(UsageError):
            shard_of(text)
        return matcher(text)("ELEMENT_WISE_ROUND/FLOAT32/1d")

    valid = (
        b"1/3",
        b"ROUND and not negative",
        b"(a or b) and not (c or not d)",
        b"1/0",
        "²/2".encode(),
        b"not " * 3000 + b"x",
        b"(" * 300 + b"x",
    )
    return Reader(read, (ValueError,), valid, tree=False)


READERS: dict[str, Callable[[], Reader]] = {
    "results": results,
    "journal": journal,
    "merge": merged,
    "waivers": waivers,
    "cases": cases,
    "models": models,
    "arrays": arrays,
    "answers": answers,
    "specs": specs,
    "measured": measured,
    "profiles": profiles,
    "pages": pages,
    "options": options,
}


def _file(folder: Path, name: str, data: bytes) -> Path:
    file = folder / name
    file.write_bytes(data)
    return file


def _record(shard: str = "") -> bytes:
    manifest = {
        "suite_version": "1", "spec_version": "s", "backend": {"name": "n", "version": "1", "data_types": ["FLOAT32"], "operators": ["X"], "validates": True, "details": {}},
        "backend_spec": "reference", "command": "dmlcts run", "level": "core", "basis": "documented", "feature_level": "6_4", "seed": "",
        "platform": {"system": "Linux"}, "started": "2026-01-01T00:00:00Z", "finished": "2026-01-01T00:01:00Z", "seconds": 60.0, "selected": 1,
        "shard": shard, "interrupted": False, "selection": "", "unused_waivers": ["x"], "required": ["X/*"],
        "waivers": [{"file": "w", "sha256": "0"}],
    }  # fmt: skip
    result = {
        "case": f"X/{shard}", "operator": "X", "data_type": "FLOAT32", "kind": "table", "basis": "documented", "feature_level": "1_0", "status": "fail",
        "message": "wrong", "seconds": 0.1, "desc": {"Type": "X"}, "wrong": 1, "elements": 4, "worst_ulp": 1.5, "worst_share": 2.0, "vacuous": 0,
        "mismatches": [{"tensor": "O", "index": [0, 1], "expected": "1", "actual": "2", "ulp": 1.0, "allowed": "0 ULP"}],
        "grade": "", "matched_answer": "", "repro": "dmlcts run", "waiver": "", "evidence": {"fault": "x"}, "undeclared": "",
    }  # fmt: skip
    return b"".join(json.dumps({kind: data}).encode() + b"\n" for kind, data in (("manifest", manifest), ("result", result)))


# Hostile input

SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**32, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), "", " ",
    "x", "\0", "\x1b[2J", "\ud800", "\ufeff", "::error::x", "nan", "-inf", "0x7FC00001", "_", "1/0", "²", "../x", "/etc/passwd", "2027-02-30",
    "9" * 400, "x" * 5000, "FLOAT32", "UINT4", "INT64", "9**9**9", "*", "[", "(" * 150,
)  # fmt: skip
TOKENS = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"NaN", b"Infinity", b"null", b"1e999", b"9" * 5000, b"[" * 300, b"{\"a\":" * 300, b'"\\ud800"', b"\\u0000", b"\x1b[2J",
    b"&a ", b"*a ", b"<<: ", b"!!python/object ", b"!!binary ", b"? ", b"- - - - ", b"---\n", b"%YAML 9.9\n", b"\t", b"\r", b"\xe2\x80\xa8", b"//", b"/*", b"\"", b"'", b"\\",
    b"-1", b"1.0", b"[]", b"{}", b"\xef\xbb\xbf",
)  # fmt: skip

scalars = st.sampled_from(SCALARS) | st.integers() | st.text(max_size=20) | st.floats()
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=8
)
deep = st.integers(1, 3000).map(lambda depth: json.loads("[" * min(depth, 400) + "]" * min(depth, 400)))
replacements = st.lists(
    st.tuples(st.integers(0, 1 << 20), st.sampled_from(["set", "set", "delete", "rename", "add"]), trees | deep),
    min_size=1,
    max_size=3,
)
edits = st.lists(
    st.tuples(
        st.floats(0, 1), st.sampled_from(["flip", "token", "cut", "copy", "end"]), st.integers(0, 255), st.sampled_from(TOKENS)
    ),
    min_size=1,
    max_size=6,
)


def replaced(data: Any, changes: list[tuple[int, str, Any]]) -> Any:
    """A tree in which some values were replaced, removed, renamed or added."""
    data = json.loads(json.dumps(data))
    for number, kind, value in copy.deepcopy(changes):
        places: list[tuple[Any, Any]] = []
        _places(data, places)
        if not places:
            return value
        parent, key = places[number % len(places)]
        if kind == "delete":
            del parent[key]
        elif kind == "rename" and isinstance(parent, dict):
            parent[value if isinstance(value, str) else "renamed"] = parent.pop(key)
        elif kind == "add" and isinstance(parent, dict):
            parent["added"] = value
        else:
            parent[key] = value
    return data


def _places(data: Any, found: list[tuple[Any, Any]], depth: int = 0) -> None:
    if depth < 100 and isinstance(data, dict | list):
        for key in data if isinstance(data, dict) else range(len(data)):
            found.append((data, key))
            _places(data[key], found, depth + 1)


def edited(data: bytes, changes: list[tuple[float, str, int, bytes]]) -> bytes:
    """Bytes of which some were changed."""
    for share, kind, number, token in changes:
        at = int(share * len(data))
        if kind == "flip" and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ (number or 1)]) + data[at + 1 :]
        elif kind == "token":
            data = data[:at] + token + data[at:]
        elif kind == "cut":
            data = data[:at] + data[at + number :]
        elif kind == "copy":
            data = data[:at] + data[at : at + number] * 3 + data[at + number :]
        elif kind == "end":
            data = data[:at]
    return data


def parsed(data: bytes) -> Any:
    """Valid input as a tree; None if it is not one, as with comments."""
    import yaml

    try:
        return json.loads(data)
    except ValueError:
        try:
            return json.loads(json.dumps(yaml.safe_load(data), default=str))
        except (yaml.YAMLError, UnicodeDecodeError):
            return None


# Trying


def fuzz(name: str, examples: int) -> Mapping[str, Any]:
    """Tries a reader with ``examples`` inputs, half of them changed trees if it reads trees. Raises what it must not raise."""
    reader = READERS[name]()
    readable = [valid for valid in reader.valid if reader.tree and (reader.lines or parsed(valid) is not None)]
    counts = {"accepted": 0, "refused": 0}
    slowest = 0.0
    config = settings(
        max_examples=-(-examples // 2) if readable else examples,
        derandomize=examples <= 100,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )

    def attempt(data: bytes) -> None:
        nonlocal slowest
        started = monotonic()
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            reader.read(data, folder)
            counts["accepted"] += 1
        except reader.refusals as error:
            counts["refused"] += 1
            if len(str(error)) > 25_000 or (isinstance(error, ValueError) and not str(error)):  # a host's own message may be empty
                raise AssertionError(f"the refusal has {len(str(error))} characters") from error
        finally:
            faulthandler.cancel_dump_traceback_later()
            slowest = max(slowest, monotonic() - started)

    @config
    @given(st.sampled_from(reader.valid), edits)
    def bytewise(valid: bytes, changes: list[tuple[float, str, int, bytes]]) -> None:
        attempt(edited(valid, changes))

    def tree_text(valid: bytes, changes: list[tuple[int, str, Any]]) -> bytes:
        if not reader.lines:
            return json.dumps(replaced(parsed(valid), changes)).encode()
        lines = [
            replaced(parsed(line), changes if number == changes[0][0] % 2 else changes[1:])
            for number, line in enumerate(valid.splitlines())
        ]
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    @config
    @given(st.sampled_from(readable or [b""]), replacements)
    def treewise(valid: bytes, changes: list[tuple[int, str, Any]]) -> None:
        attempt(tree_text(valid, changes))

    started = monotonic()
    with TemporaryDirectory() as name_of_folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name_of_folder)
        _limit_memory()
        for valid in reader.valid:
            attempt(valid)
        assert counts["accepted"] or name == "options", "no valid input is accepted"
        bytewise()
        if readable:
            treewise()
    return {
        "reader": name,
        "tried": sum(counts.values()),
        **counts,
        "slowest": round(slowest, 2),
        "seconds": round(monotonic() - started, 1),
    }


def _limit_memory() -> None:
    """Limits what the process may allocate from here on; on Linux only."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + MOST_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> int:
    """Tries the readers that the command line names, each in a process of its own, or one in this process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", help="names; all if there are none", default=list(READERS))
    parser.add_argument("--examples", type=int, default=100, help="for each reader")
    parser.add_argument("--here", action="store_true", help="in this process")
    given_ = parser.parse_args()
    failed = 0
    for name in given_.readers:
        if given_.here:
            print(json.dumps(fuzz(name, given_.examples)))
            continue
        failed += (
            subprocess.run([sys.executable, __file__, "--here", "--examples", str(given_.examples), name], check=False).returncode
            != 0
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
