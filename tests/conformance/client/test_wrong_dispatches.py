"""A wrong dispatch of a client becomes a small case of its own, and is explained, as one of the suite's is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import DataWriter, Line, compiled, head, operator, part, table, tensor, write
from click.testing import CliRunner

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands.cli import dmlcts as command
from dmlcts.generator.case.case_file import read_case_file
from dmlcts.reports.record.record import FAIL, PASS, REPLAY, read_record
from dmlcts.spec.model.desc import OperatorDesc

BACKEND = f"inprocess:{__name__}:WrongFromTwelve"
SIZES = ((6, 5, 3), (6, 40, 3), (2, 11, 9), (4, 30, 8), (9, 9, 9), (3, 12, 1))
"""M, K and N of products."""

WAIVERS = """waivers:
  - cases: [GEMM/FLOAT32/replay/2, GEMM/FLOAT32/replay/4, GEMM/FLOAT32/replay/6]
    reason: sums of 12 terms and more
    issue: https://example.org/1
"""


class WrongFromTwelve(ReferenceBackend):
    """Its products are wrong in their last element where they sum 12 terms or more."""

    def compute(self, desc: OperatorDesc, inputs: Any) -> dict[str, Any]:
        outputs = super().compute(desc, inputs)
        if desc.type == "GEMM" and desc.tensor("ATensor").sizes[-1] >= 12:
            outputs["OutputTensor"] = outputs["OutputTensor"].copy()
            outputs["OutputTensor"].flat[-1] += 1
        return outputs


def product(rows: int, terms: int, columns: int) -> Line:
    sizes = {"ATensor": (rows, terms), "BTensor": (terms, columns), "OutputTensor": (rows, columns)}
    tensors = {name: tensor(1, 1, *own) for name, own in sizes.items()}
    return {"Type": "GEMM", **tensors, "TransA": "NONE", "TransB": "NONE", "Alpha": 1.0, "Beta": 0.0}


def products(folder: Path) -> Path:
    """A client that multiplies matrices of these sizes."""
    writer = DataWriter()
    lines = products_of(SIZES, writer)
    return write(folder, lines, writer.bytes)


def products_of(each: Sequence[tuple[int, int, int]], writer: DataWriter) -> list[Line]:
    """The lines of a client that multiplies matrices, with random inputs."""
    lines, number, draw = head(), 2, np.random.default_rng(3)
    for execution, (rows, terms, columns) in enumerate(each, 1):
        one, two = (draw.standard_normal(sizes).astype("<f4").tobytes() for sizes in ((rows, terms), (terms, columns)))
        lines += [
            operator(number, product(rows, terms, columns)),
            compiled(number + 1, number),
            table(number + 2, number + 1),
            {"event": "bind", "table": number + 2, "inputs": [part(1, len(one)), part(2, len(two)), None]},
            {"event": "bind", "table": number + 2, "outputs": [part(3, 4 * rows * columns)]},
            {"event": "dispatch", "id": number + 3, "dispatchable": number + 1, "table": number + 2, "list": 1},
            {"event": "execute", "queue": 1, "first": execution, "dispatches": [number + 3]},
            {"event": "data", "execution": execution, "inputs": [writer.piece(one), writer.piece(two), None]},
        ]
        number += 4
    return lines


def dmlcts(code: int, *words: str) -> str:
    done = CliRunner().invoke(command, words)
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The output folder of a replay on the wrong backend, and what it said."""
    folder = tmp_path_factory.mktemp("replay")
    return folder / "out", dmlcts(1, "replay", str(products(folder)), "--backend", BACKEND, "--out", str(folder / "out"))


def test_a_wrong_dispatch_becomes_the_smallest_case_that_fails(replayed: tuple[Path, str]) -> None:
    out, said = replayed
    assert "The first wrong dispatch is 2 of 6: GEMM, FLOAT32 1x1x6x40, 1x1x40x3 to 1x1x6x3" in said
    case = read_case_file(out / "examples" / "GEMM-FLOAT32-replay-2-example.json")
    assert case.desc.tensor("ATensor").sizes == (1, 1, 1, 12)
    assert case.desc.tensor("BTensor").sizes == (1, 1, 12, 1)


def test_its_file_fails_where_it_failed_and_passes_elsewhere(replayed: tuple[Path, str], tmp_path: Path) -> None:
    file = str(replayed[0] / "examples" / "GEMM-FLOAT32-replay-2-example.json")
    dmlcts(1, "run", "--backend", BACKEND, "--case-file", file, "--out", str(tmp_path / "wrong"))
    dmlcts(0, "run", "--backend", "reference", "--case-file", file, "--out", str(tmp_path / "right"))


def test_its_command_runs_the_file(replayed: tuple[Path, str]) -> None:
    out, _ = replayed
    repros = [result.repro for result in read_record(out / "results.jsonl").results if result.status == FAIL]
    assert len(repros) == 3
    assert all(repro.startswith(f"dmlcts run --backend {BACKEND} --case-file ") for repro in repros)


def test_data_of_an_older_replay_is_removed(tmp_path: Path) -> None:
    file, out = products(tmp_path), str(tmp_path / "out")
    dmlcts(1, "replay", str(file), "--backend", BACKEND, "--out", out)
    dmlcts(0, "replay", str(file), "--backend", "reference", "--out", out)
    assert not (tmp_path / "out" / "examples").exists()
    assert not (tmp_path / "out" / "wrong").exists()


def test_a_replay_is_explained_with_cases_of_the_suite_that_tell_more(replayed: tuple[Path, str]) -> None:
    (found,) = json.loads(dmlcts(0, "explain", str(replayed[0]), "--json"))
    assert found["conditions"] in (["size K is 12 or more"], ["size A last is 12 or more"])
    assert (found["failing"], found["inside"], found["failing_outside"]) == (3, 3, 0)
    assert all(f"/{REPLAY}/" not in case for case in found["next"])


def test_a_report_of_a_replay_has_its_exit_code_and_explanation(replayed: tuple[Path, str], tmp_path: Path) -> None:
    assert "12 or more" in dmlcts(1, "report", str(replayed[0]), "--out", str(tmp_path))


def test_a_gate_names_what_newly_fails_in_a_replay(replayed: tuple[Path, str], tmp_path: Path) -> None:
    file = products(tmp_path)
    before = tmp_path / "before"
    dmlcts(0, "replay", str(file), "--backend", "reference", "--out", str(before))
    assert {result.status for result in read_record(before / "results.jsonl").results} == {PASS}
    after = tmp_path / "after"
    dmlcts(1, "replay", str(file), "--backend", BACKEND, "--out", str(after))
    assert "newly failing: 3" in dmlcts(1, "gate", str(after), "--baseline", str(before))
    waivers = tmp_path / "waivers.yaml"
    waivers.write_text(WAIVERS, encoding="utf-8")
    dmlcts(0, "replay", str(file), "--backend", BACKEND, "--out", str(after), "--waivers", str(waivers))
    assert {result.status for result in read_record(after / "results.jsonl").results} == {PASS, "waived"}


def test_a_captured_wrong_output_becomes_a_case_of_its_own_size(tmp_path: Path) -> None:
    """Nothing can be run, so nothing is made smaller."""
    writer, sizes = DataWriter(), (2, 3, 2)
    lines = [line for line in products_of([sizes], writer) if line["event"] != "data"]
    one, two = (writer.piece(np.ones(count, "<f4").tobytes()) for count in (6, 6))
    made = writer.piece(np.array([3, 3, 3, 4], "<f4").tobytes())
    lines.append({"event": "data", "execution": 1, "inputs": [one, two, None], "outputs": [made]})
    file, out = write(tmp_path, lines, writer.bytes), tmp_path / "out"
    dmlcts(1, "replay", str(file), "--captured", "--out", str(out))
    (case,) = (out / "examples").iterdir()
    assert read_case_file(case).desc.tensor("ATensor").sizes == (1, 1, 2, 3)
    (result,) = read_record(out / "results.jsonl").results
    assert result.repro == f"dmlcts replay {file} --execution 1 --captured"
    dmlcts(0, "run", "--backend", "reference", "--case-file", str(case), "--out", str(tmp_path / "right"))
