"""`dmlcts kernels` on the results of a backend that names its kernels, and the bytecode that it asks a host for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commands import dmlcts as exit_code_of
from records import run
from rich.console import Console
from tiled import Tiled, WrongInLargeTiles

from dmlcts.conformance.backends.backend import Backend
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands.results.summary import print_summary
from dmlcts.conformance.runner.kernels import dump
from dmlcts.conformance.runner.kernels.corpus import Entry, append
from dmlcts.conformance.runner.kernels.dump import smallest_case, with_dump
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.kernels.table import kernels
from dmlcts.reports.record.paths import CodePath
from dmlcts.reports.record.record import NOT_RUN, Record, read_record, write_record


class Said(NamedTuple):
    """What a command printed, and how it ended."""

    exit_code: int
    output: str


Dmlcts = Callable[..., Said]


@pytest.fixture
def dmlcts(capsys: pytest.CaptureFixture[str]) -> Dmlcts:
    """Runs a command in this process."""

    def run_command(*arguments: object) -> Said:
        code = exit_code_of(*arguments)
        return Said(code, "".join(capsys.readouterr()))

    return run_command


OPERATORS = ("ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_ADD1")


def record_of(backend: Backend, level: str = "smoke", operators: tuple[str, ...] = OPERATORS) -> Record:
    options = RunOptions(level=level, operators=operators)
    with Session(options, backend) as session:
        return run(*(session.run(case) for case in selected_cases(options)), level=level, backend_spec="python:tiled:Tiled")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a right backend, of a wrong one, and of one that names nothing."""
    found = tmp_path_factory.mktemp("results")
    for name, backend in (("right", Tiled()), ("wrong", WrongInLargeTiles()), ("nothing", ReferenceBackend())):
        write_record(record_of(backend), found / f"{name}.jsonl")
    write_record(record_of(Tiled(), "core", OPERATORS[:1]), found / "core.jsonl")
    return found


def test_kernels_are_counted_by_operator_and_those_of_failures_are_listed(dmlcts: Dmlcts, folder: Path) -> None:
    done = dmlcts("kernels", str(folder / "wrong.jsonl"))
    assert done.exit_code == 0
    assert "ELEMENT_WISE_ADD1: " in done.output
    assert "together: " in done.output
    assert "ELEMENT_WISE_ADD1, FLOAT16, tile of 32: " in done.output
    assert " fail; ELEMENT_WISE_ADD1; groups " in done.output
    assert "ELEMENT_WISE_BIT_OR, UINT8" not in done.output


def test_all_kernels_are_listed_on_demand(dmlcts: Dmlcts, folder: Path) -> None:
    every = dmlcts("kernels", str(folder / "right.jsonl"), "--all").output
    labels = {path.label for result in record_of(Tiled()).results for path in result.paths}
    assert all(f"{label}: " in every for label in labels)


def test_a_part_of_a_name_shows_all_about_a_kernel(dmlcts: Dmlcts, folder: Path) -> None:
    done = dmlcts("kernels", str(folder / "wrong.jsonl"), "ADD1, FLOAT16, tile of 32")
    assert done.output.startswith("ELEMENT_WISE_ADD1, FLOAT16, tile of 32: ")
    assert "  fails: ELEMENT_WISE_ADD1/FLOAT16/" in done.output
    assert dmlcts("kernels", str(folder / "wrong.jsonl"), "no such").exit_code == 2


def test_as_data_there_is_all(dmlcts: Dmlcts, folder: Path) -> None:
    data: dict[str, Any] = json.loads(dmlcts("kernels", str(folder / "right.jsonl"), "--json").output)
    assert data["total"]["reached"] == len(data["kernels"])
    assert [each["operator"] for each in data["operators"]] == sorted(OPERATORS, key=lambda name: name != "ELEMENT_WISE_BIT_OR")
    assert data["total"]["curve"][-1] == [data["total"]["cases"], data["total"]["reached"]]


# What others reach


def test_what_a_run_lacks_is_listed_by_operator_with_a_case_that_reaches_it(dmlcts: Dmlcts, folder: Path, tmp_path: Path) -> None:
    corpus = Entry("ELEMENT_WISE_ADD1/search/1", 7, frozenset({("a kernel of a search", 3)}))
    append(tmp_path, "ELEMENT_WISE_ADD1", "0", corpus)
    few = tmp_path / "few.jsonl"
    write_record(record_of(Tiled(), operators=OPERATORS[:1]), few)
    own = json.loads(dmlcts("kernels", str(few), "--json").output)["total"]["reached"]
    every = json.loads(dmlcts("kernels", str(folder / "right.jsonl"), "--json").output)["total"]["reached"]
    done = dmlcts("kernels", str(few), "--known", str(folder / "right.jsonl"), "--known", str(tmp_path))
    assert done.exit_code == 0
    first, *_, last = done.output.splitlines()
    assert first == f"ELEMENT_WISE_ADD1: lacks {every - own + 1}"
    assert last == f"{own} of {every + 1} known kernels are reached ({100 * own / (every + 1):.1f} %)"
    data = json.loads(dmlcts("kernels", str(few), "--known", str(tmp_path), "--json").output)
    assert data == {"reached": own, "known": own + 1, "lacking": {"a kernel of a search": "ELEMENT_WISE_ADD1/search/1"}}


def test_a_run_without_code_paths_and_two_questions_at_once_are_refused(dmlcts: Dmlcts, folder: Path) -> None:
    right = str(folder / "right.jsonl")
    assert "no result has code paths" in dmlcts("kernels", right, "--known", str(folder / "nothing.jsonl")).output
    assert dmlcts("kernels", right, "--known", right, "--conditions").exit_code == 2
    assert dmlcts("kernels", right, "--known", right, "--baseline", right).exit_code == 2


# Conditions


def test_the_conditions_that_kernels_meet_are_counted_by_operator(dmlcts: Dmlcts, folder: Path) -> None:
    done = dmlcts("kernels", str(folder / "core.jsonl"), "--conditions")
    assert done.exit_code == 0
    *_, last = done.output.splitlines()
    assert last.startswith("together: ")
    assert " kernels in 10 cases or more; " in last
    assert " of them in one case alone" not in done.output


def test_cases_that_were_compiled_alone_meet_the_same_conditions(dmlcts: Dmlcts, folder: Path, tmp_path: Path) -> None:
    record = read_record(folder / "core.jsonl")
    compiled = tuple(replace(result, status=NOT_RUN) for result in record.results)
    write_record(replace(record, results=compiled), tmp_path / "compiled.jsonl")
    ran, other = (
        dmlcts("kernels", str(file), "--conditions").output for file in (folder / "core.jsonl", tmp_path / "compiled.jsonl")
    )
    assert ran == other


def test_the_conditions_of_a_kernel_are_a_table(dmlcts: Dmlcts, folder: Path) -> None:
    data = json.loads(dmlcts("kernels", str(folder / "core.jsonl"), "--conditions", "--json").output)
    first = data["operators"][0]["kernels"][0]
    done = dmlcts("kernels", str(folder / "core.jsonl"), first["label"], "--conditions")
    assert done.output.startswith(f"{first['label']}: {first['cases']} cases of ")
    assert f"  pairs: {first['pairs']['ran']} of {first['pairs']['ran'] + first['pairs']['missing']} ran" in done.output
    assert {tuple(each["condition"]) for each in first["alone"]} >= {("the offset", "64")}
    own = [kernel for operator in data["operators"] for kernel in operator["kernels"]]
    assert data["pairs"]["missing"] == sum(len(kernel["missing_pairs"]) for kernel in own)
    assert data["alone"]["ran"] == sum(len(kernel["alone"]) for kernel in own)


def test_two_processes_find_the_same_conditions(dmlcts: Dmlcts, folder: Path) -> None:
    one, two = (dmlcts("kernels", str(folder / "core.jsonl"), "--conditions", "--json", "-n", count) for count in ("0", "2"))
    assert one == two


def test_without_a_kernel_that_many_cases_run_there_are_no_conditions(dmlcts: Dmlcts, folder: Path) -> None:
    done = dmlcts("kernels", str(folder / "right.jsonl"), "--conditions")
    assert done.exit_code == 2
    assert "no such kernel runs in 10 cases of an operator, or more" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--conditions", "--baseline", "core.jsonl"), "leave out KERNEL, --dump, --conditions and --known"),
        (("--conditions", "--dump", "shaders"), "--conditions and --dump exclude each other"),
    ],
)
def test_conditions_go_with_nothing_else(dmlcts: Dmlcts, arguments: tuple[str, ...], message: str, folder: Path) -> None:
    done = dmlcts(
        "kernels", str(folder / "core.jsonl"), *(str(folder / each) if each.endswith("jsonl") else each for each in arguments)
    )
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize("arguments", [("nothing.jsonl",), ("right.jsonl", "--baseline", "nothing.jsonl")])
def test_results_without_code_paths_are_an_input_error(dmlcts: Dmlcts, arguments: tuple[str, ...], folder: Path) -> None:
    done = dmlcts("kernels", *(str(folder / each) if each.endswith("jsonl") else each for each in arguments))
    assert done.exit_code == 2
    assert "nothing.jsonl: no result has code paths" in done.output


def test_what_changed_since_another_run(dmlcts: Dmlcts, folder: Path) -> None:
    done = dmlcts("kernels", str(folder / "wrong.jsonl"), "--baseline", str(folder / "right.jsonl"))
    assert done.exit_code == 0
    assert "newly fail, 0 of them with other kernels" in done.output
    assert "0 of " in done.output.splitlines()[-1]


def test_the_summary_of_a_run_says_how_many_kernels_it_reached(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, says in (("right", True), ("nothing", False)):
        print_summary(read_record(folder / f"{name}.jsonl"), Console(width=200), Path("out"))
        assert (" of them in one case alone; " in capsys.readouterr().out) is says


# Bytecode


class Host(Tiled):
    """Writes bytecode where it is told to, and wants to be opened so."""

    opened: list[str] = []  # noqa: RUF012 (of the test)

    def __init__(self, spec: str) -> None:
        super().__init__()
        self.opened.append(spec)
        self.folder = Path(spec.rpartition(" ")[2].strip("'"))

    def compute(self, desc: Any, inputs: Any) -> Any:
        self.path("dxil 0123456789abcdef")
        for digest in ("0123456789abcdef", "ffffffffffffffff"):
            (self.folder / f"{digest}.bin").write_bytes(digest.encode())
        return super().compute(desc, inputs)


def test_the_bytecode_lies_beside_the_smallest_case_that_runs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dump, "open_backend", Host)
    cases = [find_case(each) for each in ("ELEMENT_WISE_BIT_OR/UINT8/4d", "ELEMENT_WISE_BIT_OR/UINT32/4d")]
    with Session(RunOptions(), ReferenceBackend()) as session:
        results = [replace(session.run(case), paths=(CodePath("dxil 0123456789abcdef"),)) for case in cases]
    (line,) = dump.dump_kernels(kernels(results), tmp_path / "out", "directml:some.dll")
    folder = tmp_path / "out" / "dxil-0123456789abcdef"
    assert line.startswith("dxil 0123456789abcdef: 0123456789abcdef.bin and ELEMENT_WISE_BIT_OR/")
    assert {file.name for file in folder.glob("*.bin")} >= {"0123456789abcdef.bin"}
    assert not (folder / "ffffffffffffffff.bin").exists()
    assert (folder / "model.json").exists()
    assert Host.opened[-1].startswith("directml:some.dll --dump-kernels ")


def test_the_smallest_case_of_a_kernel_is_taken() -> None:
    (kernel,) = kernels(
        [replace(each, paths=(CodePath("a"),)) for each in record_of(ReferenceBackend()).results if each.operator == OPERATORS[0]]
    )
    smallest = smallest_case(kernel)
    assert smallest is not None
    sizes = [
        sum(tensor.count for _, tensor in find_case(case).desc.tensors())
        for case in kernel.cases
        if "/property/" not in case and "/negative/" not in case
    ]
    assert sum(tensor.count for _, tensor in smallest.desc.tensors()) == min(sizes)


def test_only_the_host_for_directml_writes_bytecode(dmlcts: Dmlcts, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--backend directml"):
        with_dump("reference", tmp_path)
    assert with_dump("directml", tmp_path).startswith("directml:--dump-kernels ")
    done = dmlcts("kernels", str(folder / "right.jsonl"), "--dump", str(tmp_path))
    assert (done.exit_code, "--dump needs the KERNELs" in done.output) == (2, True)
