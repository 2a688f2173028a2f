"""The readers of foreign files and messages, each with valid input and the exception that it documents."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

ROOT = Path(__file__).parents[2]


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
    from dmlcts.reports.record.record import RecordError, read_record

    return Reader(lambda data, folder: read_record(_file(folder, "results.jsonl", data)), (RecordError,), (_record(),), lines=True)


def journal() -> Reader:
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.reports.record.record import RecordError

    def read(data: bytes, folder: Path) -> object:
        (folder / "parts").mkdir(exist_ok=True)
        _file(folder / "parts", "0-selected.jsonl", _record())
        _file(folder / "parts", "1-ran-main.jsonl", data)
        return read_run(folder)

    return Reader(read, (RecordError,), (_record(),), lines=True)


def merged() -> Reader:
    from dmlcts.reports.formats.html import write_html
    from dmlcts.reports.formats.markdown import markdown
    from dmlcts.reports.record.record import RecordError, read_record
    from dmlcts.reports.runs.merge import MergeError, merge

    def read(data: bytes, folder: Path) -> object:
        shards = [read_record(_file(folder, "1.jsonl", data)), read_record(_file(folder, "2.jsonl", _record("2/2")))]
        record = merge(shards)
        write_html(record, folder / "out")
        return markdown(record)

    return Reader(read, (RecordError, MergeError), (_record("1/2"),), lines=True)


def submissions() -> Reader:
    from dmlcts.conformance.runner.folder.submission import verify
    from dmlcts.reports.claim.submission import SubmissionError, read_submission, write_submission
    from dmlcts.reports.record.record import read_record

    def read(data: bytes, folder: Path) -> object:
        return list(verify(read_submission(_file(folder, "submission.zip", data))))

    with TemporaryDirectory() as folder:
        record = read_record(_file(Path(folder), "results.jsonl", _record()))
        write_submission(record, _record(), [b"waivers: []"], {"a case": b"bytes"}, Path(folder) / "submission.zip")
        valid = (Path(folder) / "submission.zip").read_bytes()
    return Reader(read, (SubmissionError,), (valid,), tree=False)


def histories() -> Reader:
    from dmlcts.reports.record.record import read_record
    from dmlcts.reports.runs.comparison import compare_runs
    from dmlcts.reports.runs.history import HistoryError, line_of, read_history
    from dmlcts.reports.runs.run import condense
    from dmlcts.reports.runs.runs_json import runs_json

    with TemporaryDirectory() as folder:
        found = compare_runs([condense(read_record(_file(Path(folder), "results.jsonl", _record())))])
    valid = "".join(json.dumps(line_of(run)) + "\n" for run in runs_json(found)["runs"]).encode()
    return Reader(lambda data, folder: read_history(_file(folder, "history.jsonl", data)), (HistoryError,), (valid,), lines=True)


def waivers() -> Reader:
    from dmlcts.reports.gate.waivers import WaiverError, read_waivers

    def read(data: bytes, folder: Path) -> object:
        return [waiver.matches("ELEMENT_WISE_ROUND/FLOAT32/1d") for waiver in read_waivers(_file(folder, "waivers.yaml", data))]

    valid = tuple(file.read_bytes() for file in (ROOT / "docs" / "waivers").glob("*.yaml"))
    return Reader(read, (WaiverError,), (*valid, b"waivers:\n- cases: [x, y*]\n  reason: r\n  issue: i\n  expires: 2027-03-01\n"))


def cases() -> Reader:
    from dmlcts.generator.case.case import to_json
    from dmlcts.generator.case.case_file import CaseError, read_case_file
    from dmlcts.generator.suite.suite import operator_cases

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
    from dmlcts.conformance.backends.process.protocol import (
        MAGIC,
        PREFIX,
        ProtocolError,
        RawStream,
        answer_views,
        raise_status,
        read_header,
        read_info,
        read_paths,
    )
    from dmlcts.spec.model.desc import OperatorDesc

    dispatch = Dispatch(OperatorDesc("ELEMENT_WISE_ROUND", {}), [np.zeros(4, np.uint8)], {"O": BufferBinding(0, 0, 4)}, ("O",))

    def read(data: bytes, folder: Path) -> object:
        framed = data if data.startswith(MAGIC[:6]) else PREFIX.pack(MAGIC, len(data), 4) + data
        header, length = read_header(RawStream(io.BytesIO(framed)))  # type: ignore[arg-type]
        for ask in (
            lambda: read_info(header),
            lambda: read_paths(header),
            lambda: (answer_views(header, length, 7, dispatch), raise_status(header)),
        ):
            try:
                ask()
            except (ProtocolError, Rejected, Unsupported, BackendFault):
                continue
        return raise_status(header)

    valid = [
        {"status": "ok", "name": "n", "version": "1", "device": "d", "feature_level": "6_4", "data_types": ["FLOAT32"], "denormals": "any",
         "half_store": "nearest", "accumulator": 24, "nearest": True, "details": {"a": [1]}},
        {"status": "ok", "id": 7, "resources": [0]},
        {"status": "ok", "id": 7, "resources": [0], "paths": [{"label": "a", "numbers": [1, 2]}]},
        {"status": "rejected", "id": 7, "message": "m", "stage": "create", "code": "0x80070057"},
        {"status": "error", "id": 7, "message": "m", "evidence": {"a": "b"}},
    ]  # fmt: skip
    texts = [json.dumps(header).encode() for header in valid]
    framed = PREFIX.pack(MAGIC, len(texts[1]), 4) + texts[1] + struct.pack("<I", 1)
    return Reader(read, (ProtocolError, Rejected, Unsupported, BackendFault), (*texts, framed))


def specs() -> Reader:
    from dmlcts.spec.reading.document import SpecError, read
    from dmlcts.spec.reading.loader import load_text, operators_folder

    def load(data: bytes, folder: Path) -> object:
        return load_text(read(_file(folder, "spec.yaml", data)))

    names = ("element_wise/element_wise_round.yaml", "element_wise/element_wise_bit_or.yaml")
    found = [operators_folder() / name for name in names]
    valid = [file.read_bytes() for file in found if file.exists()] or [next(operators_folder().rglob("*round.yaml")).read_bytes()]
    return Reader(load, (SpecError,), tuple(valid))


def spec_cases() -> Reader:
    """Specs with every section of ``cases`` among them, and what ``dmlcts spec check`` looks for besides."""
    from dmlcts.generator.checks.written import written_wrong
    from dmlcts.spec.reading.document import SpecError, read
    from dmlcts.spec.reading.loader import load_text, operators_folder

    def load(data: bytes, folder: Path) -> object:
        return list(written_wrong(load_text(read(_file(folder, "spec.yaml", data)))))

    names = ("resample2", "gather", "top_k1")
    return Reader(load, (SpecError,), tuple(next(operators_folder().rglob(f"{name}.yaml")).read_bytes() for name in names))


def measured() -> Reader:
    from dmlcts.spec.reading.document import SpecError, read
    from dmlcts.spec.reading.measured import validated_document

    head = "by: X 1\ndate: '2026-01-01'\nlevel: '6_4'\nsuite: 0.1.0\ncommand: dmlcts probe\n"
    usual = "usual:\n  accepts:\n  - {rule: 'alignment/*', ways: [a]}\n"
    entry = "operators:\n  ELEMENT_WISE_ROUND:\n    probes: 3\n    cells: 2\n    accepts:\n    - {rule: sizes, ways: [b], types: [FLOAT32]}\n"
    return Reader(
        lambda data, folder: validated_document(read(_file(folder, "m.yaml", data))),
        (SpecError,),
        ((head + usual + entry).encode(),),
    )


def profiles() -> Reader:
    from dmlcts.conformance.runner.planning.requirements import read_profile
    from dmlcts.spec.reading.document import SpecError

    valid = b"profile: mine\noperators:\n  ELEMENT_WISE_ROUND: [FLOAT32, FLOAT16]\n  GEMM: all\ndata_types: [FLOAT32]\nvalidation: true\n"
    return Reader(
        lambda data, folder: read_profile(_file(folder, "profile.yaml", data)),
        (SpecError,),
        (valid, b"profile: mine\nvalidation: true\n"),
    )


def captured() -> Reader:
    from captures import round_client, text_of

    from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
    from dmlcts.conformance.client.summary import summary

    def read(data: bytes, folder: Path) -> object:
        return list(summary(read_capture(_file(folder, "a.capture", data))))

    return Reader(read, (CaptureError,), (text_of(round_client()),), lines=True)


def replays() -> Reader:
    """What was read is run, too: descs, sizes and edges may be anything that the reader lets pass."""
    from datetime import date

    from captures import add_graph, round_client, text_of

    from dmlcts.conformance.backends.reference import ReferenceBackend
    from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
    from dmlcts.conformance.client.replay.judging import Rules
    from dmlcts.conformance.client.replay.replay import replay, verdict_lines

    backend = ReferenceBackend()
    rules = Rules(backend, backend.describe())

    def read(data: bytes, folder: Path) -> object:
        capture = read_capture(_file(folder, "a.capture", data))
        return list(verdict_lines(replay(capture, rules, (), date(2027, 1, 1), lambda one: True, lambda number, judged: None)))

    return Reader(read, (CaptureError,), (text_of(round_client()), text_of(add_graph())), lines=True)


def onnx_models() -> Reader:
    import numpy as np

    from dmlcts.conformance.client.models.bisecting import nodes_around, part_of
    from dmlcts.conformance.client.models.reading import ModelError, read_model
    from dmlcts.conformance.client.models.writing import Node, onnx_model

    shape = ("float32", (2, 3))
    nodes = [Node("Add", ["x", "w"], ["a"], {"axis": 1}, "add"), Node("Relu", ["a"], ["y"], name="relu")]
    valid = onnx_model(nodes, {"x": shape}, {"y": shape}, {"w": np.ones((2, 3), np.float32)})

    def read(data: bytes, folder: Path) -> object:
        model = read_model(_file(folder, "a.onnx", data))
        places = nodes_around(model, len(model.nodes) - 1, 4) if model.nodes else ()
        return part_of(model, places, lambda names: {name: np.ones((2, 3), np.float32) for name in names})

    return Reader(read, (ModelError,), (valid,), tree=False)


def pages() -> Reader:
    from dmlcts.spec.pages.page import PageError, read_page
    from dmlcts.spec.untrusted.files import InputError, read_text

    def read(data: bytes, folder: Path) -> object:
        file = _file(folder, "page.md", data)
        return read_page(read_text(file, 1 << 22), file)

    valid = tuple(file.read_bytes() for file in (ROOT / "tests" / "pages").glob("*.md"))
    return Reader(read, (PageError, InputError), valid, tree=False)


def options() -> Reader:
    from dmlcts.conformance.runner.planning.options import UsageError, shard_of
    from dmlcts.generator.case.id_filter import matcher

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
    "submissions": submissions,
    "histories": histories,
    "waivers": waivers,
    "captures": captured,
    "replays": replays,
    "onnx models": onnx_models,
    "cases": cases,
    "models": models,
    "arrays": arrays,
    "answers": answers,
    "specs": specs,
    "spec_cases": spec_cases,
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
        "suite_version": "1", "spec_version": "s", "backend": {"name": "n", "version": "1", "data_types": ["FLOAT32"], "operators": ["GEMM"], "validates": True, "details": {}},
        "backend_spec": "reference", "command": "dmlcts run", "level": "core", "basis": "documented", "feature_level": "6_4", "seed": "",
        "platform": {"system": "Linux"}, "started": "2026-01-01T00:00:00Z", "finished": "2026-01-01T00:01:00Z", "seconds": 60.0, "selected": 1,
        "shard": shard, "interrupted": False, "selection": "", "unused_waivers": ["x"], "required": ["GEMM/*"],
        "waivers": [{"file": "w", "sha256": "0"}],
    }  # fmt: skip
    result = {
        "case": f"GEMM/{shard}", "operator": "GEMM", "data_type": "FLOAT32", "kind": "table", "basis": "documented", "feature_level": "1_0", "status": "fail",
        "message": "wrong", "seconds": 0.1, "desc": {"Type": "X"}, "wrong": 1, "elements": 4, "worst_ulp": 1.5, "worst_share": 2.0, "vacuous": 0,
        "mismatches": [{"tensor": "O", "index": [0, 1], "expected": "1", "actual": "2", "ulp": 1.0, "allowed": "0 ULP"}],
        "grade": "", "matched_answer": "", "repro": "dmlcts run", "waiver": "", "evidence": {"fault": "x"}, "undeclared": "",
    }  # fmt: skip
    return b"".join(json.dumps({kind: data}).encode() + b"\n" for kind, data in (("manifest", manifest), ("result", result)))
