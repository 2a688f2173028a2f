"""``dmlcts bounds``: the spec's bounds beside the errors of runs, from records made up and from cases that really ran."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from click.testing import Result as Invoked

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.commands.results import bounds as module
from dmlcts.conformance.execution import answers
from dmlcts.conformance.execution.execute import execute
from dmlcts.conformance.execution.judge.unchecked import all_reasons, read_reasons
from dmlcts.generator.suite.suite import find_case
from dmlcts.reference.answer import Answer
from dmlcts.reports.record.record import ERROR, FAIL, PASS, STATUSES, Manifest, Record, Result, read_record, write_record
from dmlcts.reports.record.text import result_lines
from dmlcts.spec.model.expression import compile_expression
from dmlcts.spec.model.operator import Operator, Support, TensorSupport, Tolerance, ToleranceException
from dmlcts.spec.reading.loader import load, operator_names

NAME = "ELEMENT_WISE_ROUND"
ULP = Tolerance("ulp", "value", {"ulps": {"FLOAT32": 16, "FLOAT16": 4}})

MANIFEST = Manifest(
    suite_version="0.1.0",
    spec_version="abc",
    backend={"name": "fast", "version": "1.2", "feature_level": "6_4", "device": "a device in /home/someone"},
    backend_spec="python:/home/someone/fast.py",
    command="dmlcts run --out /home/someone/results",
    level="core",
    basis="documented",
    feature_level="6_4",
    seed="",
    platform={"system": "Linux"},
    started="2027-03-01T10:00:00Z",
)


@pytest.fixture(autouse=True)
def tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator is judged by ULPs, as none was when this was written."""
    operator = replace(load(NAME), tolerance=ULP)
    monkeypatch.setattr(module, "load", lambda name: operator if name == NAME else load(name))


def measured(
    worst: float | None, share: float | None, case: str = "a", status: str = PASS, data_type: str = "FLOAT32", **more: Any
) -> Result:
    operator = more.pop("operator", NAME)
    return Result(
        f"{operator}/{case}", operator, data_type, "values", "documented", "2_1", status,
        worst_ulp=worst, worst_share=share, **more,
    )  # fmt: skip


def record(*results: Result, **manifest: Any) -> Record:
    return Record(replace(MANIFEST, **manifest), results)


def written(folder: Path, *records: Record) -> list[str]:
    files = [folder / f"{number}.jsonl" for number in range(len(records))]
    for one, file in zip(records, files, strict=True):
        write_record(one, file)
    return [str(file) for file in files]


def invoke(*arguments: str) -> Invoked:
    return CliRunner().invoke(module.command, arguments)


def only(*results: Result) -> module.Row:
    (row,) = module.rows([record(*results)])
    return row


# What a row says


def test_a_row(tmp_path: Path) -> None:
    slow = {**MANIFEST.backend, "name": "slow", "version": ""}
    files = written(
        tmp_path,
        record(measured(1.0, 0.0625, "a"), measured(3.25, 0.203125, "b"), measured(0.5, 0.125, "c", data_type="FLOAT16")),
        record(measured(2.0, 0.125, "a"), backend=slow),
    )
    result = invoke(*files)
    assert result.exit_code == 0
    lines = [re.split(r"\s{2,}", line.strip()) for line in result.stdout.splitlines()]
    assert lines[0] == ["operator", "data type", "bound", "fast 1.2", "slow", "would do", "remark"]
    assert [NAME, "FLOAT16", "ulp: 4 ULP", "0.5 ULP (12.5 %), 1 case", "-", "30 % of it"] in lines
    assert [NAME, "FLOAT32", "ulp: 16 ULP", "3.25 ULP (20.3 %), 2 cases", "2 ULP (12.5 %), 1 case", "50 % of it"] in lines
    assert "fast 1.2: level core, 2027-03-01, spec abc; 3 cases with a measured error, 0 of them failed" in result.stdout


def test_failures_are_reported_apart() -> None:
    row = only(measured(2.0, 0.125, "a"), measured(8192.0, 512.0, "b", FAIL), measured(40.0, 2.5, "c", FAIL))
    assert [module.seen_text(run) for run in row.runs] == ["2 ULP (12.5 %), 1 case; 2 failed, by up to 8,192 ULP"]
    assert (row.would_do, row.remark) == ("30 % of it", "")
    row = only(measured(8192.0, 512.0, "b", FAIL))
    assert [module.seen_text(run) for run in row.runs] == ["1 failed, by up to 8,192 ULP"]
    assert (row.would_do, row.remark) == ("-", "")


@pytest.mark.parametrize("status", sorted({*STATUSES} - {PASS, FAIL}))
def test_other_results_do_not_count(status: str) -> None:
    row = only(measured(2.0, 0.125), measured(8.0, 0.5, "b", status), measured(None, None, "c"), measured(None, None, "d", FAIL))
    assert [module.seen_text(run) for run in row.runs] == ["2 ULP (12.5 %), 1 case"]
    assert module.rows([record(measured(8.0, 0.5, status=status))]) == []


@pytest.mark.parametrize(
    ("shares", "remark"),
    [
        ([0.125], ""),
        ([0.0625], "loose: 16 times the worst"),
        ([0.0625, 0.125], ""),
        ([0.001, 0.0625], "loose: 16 times the worst"),
        ([0.0], "loose: no error at all"),
        ([None], ""),
        ([0.001, None], ""),
    ],
)
def test_loose_is_what_no_run_comes_near(shares: list[float | None], remark: str) -> None:
    results = [measured(1.0, share, str(number)) for number, share in enumerate(shares)]
    assert only(*results).remark == remark
    (row,) = module.rows([record(result) for result in results])
    assert row.remark == remark, "the same in runs of their own"


def test_what_failed_is_not_called_loose() -> None:
    assert only(measured(1.0, 0.01), measured(20.0, 1.25, "b", FAIL)).remark == ""
    assert only(measured(1.0, 0.01), measured(20.0, None, "b", FAIL)).remark == ""


def test_a_record_of_an_older_suite_has_no_shares(tmp_path: Path) -> None:
    (file,) = written(tmp_path, record(measured(2.0, 0.01)))
    text = Path(file).read_text(encoding="utf-8")
    assert json.loads(text.splitlines()[1])["result"]["worst_share"] == 0.01
    Path(file).write_text(text.replace(',"worst_share":0.01', ""), encoding="utf-8", newline="\n")
    assert read_record(Path(file)).results == (measured(2.0, None),)
    assert "  2 ULP, 1 case  " in invoke(file).stdout


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, "exact"), (0.001, "0.2 % of it"), (0.0125, "3 % of it"), (0.05, "10 % of it"), (0.07, "15 % of it"), (0.2, "40 % of it"),
        (0.4, "80 % of it"), (0.41, "as it is"), (1.0, "as it is"), (None, "-"),
    ],
)  # fmt: skip
def test_what_would_do_is_twice_the_worst_share_rounded_up(share: float | None, expected: str) -> None:
    assert only(measured(1e9, share), measured(3.0, share and share / 2, "b")).would_do == expected


def test_simple_numbers_are_never_below_and_hardly_above() -> None:
    for number in np.geomspace(1e-6, 1e12, 500):
        assert number * (1 - 1e-9) <= module.simple(float(number)) <= 1.5 * number * (1 + 1e-9)
    for exact in (0.02, 1.0, 2.0, 10.0, 1000.0, 1e6):
        assert module.simple(exact) == pytest.approx(exact)


# Bounds in words, output types


@pytest.mark.parametrize(
    ("tolerance", "data_type", "text"),
    [
        (Tolerance("ulp"), "FLOAT32", "ulp: 1 ULP"),
        (Tolerance("ulp", "value", {"ulps": {"FLOAT32": 2.5}}), "FLOAT32", "ulp: 2.5 ULP"),
        (Tolerance("mixed", "value", {"ulps": 18, "absolute": {"FLOAT16": 0.003}}), "FLOAT16", "mixed: 18 ULP or 0.003"),
        (Tolerance("mixed", "value", {"ulps": 18, "absolute": {"FLOAT16": 0.003}}), "FLOAT32", "mixed: 18 ULP"),
        (Tolerance("mixed", "value", {"argument": 3}), "FLOAT32", "mixed: 1 ULP or abs(r) 2^-23 (4 + abs(x))"),
        (Tolerance("accumulate"), "FLOAT32", "accumulate: rounding of L terms"),
        (
            Tolerance("accumulate", "value", {"accumulator": 10, "ulps": 2, "terms": 1}),
            "FLOAT16",
            "accumulate: rounding of L terms, 10 bits, 1 more terms, 2 more ULP",
        ),
        (Tolerance("product"), "FLOAT32", "product: rounding of L factors"),
        (Tolerance("discrete"), "INT8", "discrete: the integers that rounding may give"),
        (Tolerance("check"), "UINT32", "check: a property"),
        (Tolerance("exact"), "FLOAT32", "exact"),
        (Tolerance("ulp"), "INT32", "exact"),
    ],
)
def test_bounds_in_words(tolerance: Tolerance, data_type: str, text: str) -> None:
    assert module.tolerance_text(tolerance, data_type) == text


def test_exceptions_are_reported() -> None:
    when = ToleranceException(Tolerance("exact"), when=compile_expression("RoundingMode == 1"))
    half = ToleranceException(Tolerance("ulp", "value", {"ulps": 9}), data_types=("FLOAT16",))
    other = ToleranceException(Tolerance("check"), outputs=("NoSuchTensor",))
    operator = replace(load(NAME), tolerance=replace(ULP, exceptions=(when, half, other)))
    assert module.bound_text(operator, "FLOAT32") == "exact, when RoundingMode == 1; ulp: 16 ULP"
    assert module.bound_text(operator, "FLOAT16") == "exact, when RoundingMode == 1; ulp: 9 ULP"
    sharp = ToleranceException(Tolerance("ulp", "value", {"ulps": 2}), basis="measured")
    operator = replace(load(NAME), tolerance=replace(ULP, exceptions=(sharp,)))
    assert module.bound_text(operator, "FLOAT32") == "ulp: 2 ULP, in measured cases; ulp: 16 ULP"


def with_output_types(*types: str) -> Operator:
    """The operator with inputs of INT8 and outputs of these types, as one that dequantizes has."""
    (table, *_) = load(NAME).support
    tensors = {name: TensorSupport((1, 8), types if name == "OutputTensor" else ("INT8",)) for name in table.tensors}
    return replace(load(NAME), tolerance=ULP, support=(Support(table.level, tensors),))


@pytest.mark.parametrize(
    ("types", "row", "bound"),
    [
        (("FLOAT32",), "FLOAT32", "ulp: 16 ULP"),
        (("INT32", "FLOAT16"), "FLOAT16", "ulp: 4 ULP"),
        (("FLOAT32", "FLOAT16"), "FLOAT32 FLOAT16", "ulp: 16 ULP; ulp: 4 ULP"),
    ],
)
def test_outputs_of_another_type_than_the_input(
    monkeypatch: pytest.MonkeyPatch, types: tuple[str, ...], row: str, bound: str
) -> None:
    operator = with_output_types(*types)
    monkeypatch.setattr(module, "load", lambda _: operator)
    found = only(measured(1.0, 0.1, data_type="INT8"))
    assert (found.data_type, found.bound) == (row, bound)


def test_exact_operators_have_no_row(tmp_path: Path) -> None:
    """What fails exactly has a distance too, in numbers of the type; it is no bound's business."""
    (file,) = written(tmp_path, record(measured(3.0, None, status=FAIL, data_type="UINT8", operator="ELEMENT_WISE_BIT_OR")))
    result = invoke(file)
    assert result.exit_code == 0
    assert "ELEMENT_WISE_BIT_OR" not in result.stdout
    assert "no case of an operator with a tolerance was measured" in result.stdout


# Vacuous bounds


def excusing(vacuous: int, elements: int, case: str, **more: Any) -> Result:
    return replace(measured(1.0, 0.5, case, **more), vacuous=vacuous, elements=elements)


def test_bounds_that_excuse_everything_are_counted_and_the_worst_case_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "vacuous_reasons", lambda case: ("one reason", "another"))
    results = (excusing(2, 10, "a"), excusing(7, 1000, "b"), excusing(7, 9, "c"), excusing(0, 50, "d"))
    others = (excusing(1, 4, "e", data_type="FLOAT16"), excusing(3, 4, "f", status=ERROR))
    found = module.unchecked_bounds([record(*results, *others), record(excusing(0, 5, "g"))])
    assert [(one.data_type, one.run, one.elements, one.judged, one.cases, one.worst) for one in found] == [
        ("FLOAT16", 0, 1, 4, 1, f"{NAME}/e"),
        ("FLOAT32", 0, 16, 1069, 3, f"{NAME}/c"),
    ]
    assert {one.why for one in found} == {"one reason; another"}


def test_a_reason_hides_no_other_case_of_its_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    (reason,) = read_reasons([{"why": "it is 0", "operators": [NAME], "cases": ["*/values/zeros*"]}])
    monkeypatch.setattr(module, "vacuous_reasons", lambda case: [reason.why] if reason.explains(case) else [])
    found = module.unchecked_bounds(
        [record(*(excusing(2, 10, f"FLOAT32/values/{label}") for label in ("zeros", "zeros-x-ones", "ones")))]
    )
    assert [(one.why, one.cases, one.elements, one.judged) for one in found] == [("it is 0", 2, 4, 30), ("not explained", 1, 2, 30)]


@pytest.mark.parametrize(
    "entry", [{"why": "it is 0", "operators": [NAME]}, {"why": "", "operators": [NAME], "cases": ["*"]}, "why"]
)
def test_a_reason_says_of_which_cases(entry: Any) -> None:
    with pytest.raises(ValueError, match=r"unchecked\.yaml, entry 1 must have why, operators and cases"):
        read_reasons([entry])


def test_what_nobody_explained_says_so(tmp_path: Path) -> None:
    table = tmp_path / "bounds.md"
    result = invoke(*written(tmp_path, record(excusing(2, 10, "a"))), "--table", str(table))
    assert "Vacuous bounds" in result.stdout
    assert "not explained" in result.stdout
    text = table.read_text(encoding="utf-8").replace("\\", "")
    row = f"| {NAME} | FLOAT32 | fast 1.2 | 2 of 10 elements, 1 case | {NAME}/a | not explained |"
    assert row in text
    assert text.index("| operator | data type | bound |") < text.index("## Vacuous bounds") < text.index(row)


def test_a_run_in_which_every_bound_judges_has_no_such_table(tmp_path: Path) -> None:
    assert "excuse everything" not in invoke(*written(tmp_path, record(excusing(0, 10, "a")))).stdout


def test_the_count_stands_in_the_record_of_a_run(tmp_path: Path) -> None:
    """Zeros of an operator whose promised error is absolute."""
    backend = ReferenceBackend()
    result = execute(find_case("ELEMENT_WISE_SIN/FLOAT32/values/zeros"), backend, backend.info)
    assert (result.status, result.vacuous, result.elements) == ("pass", 2, 2)
    (file,) = written(tmp_path, record(result))
    assert read_record(Path(file)).results[0].vacuous == 2
    assert "vacuous bounds: 2 of 2 elements" in "\n".join(result_lines(result))
    assert "Direct3D" in invoke(file).stdout.replace("\n", " ")


def test_every_reason_is_of_operators_that_there_are() -> None:
    assert {operator for reason in all_reasons() for operator in reason.operators} <= set(operator_names())
    assert not any(reason.why.endswith(".") for reason in all_reasons())


# The command


def test_markdown(tmp_path: Path) -> None:
    files = written(tmp_path, record(measured(3.25, 0.01, "b")), record(measured(2.0, 0.02, "a"), spec_version="def"))
    table = tmp_path / "folder" / "bounds.md"
    result = invoke(*files, "--table", str(table))
    assert (result.exit_code, result.stderr) == (0, "")
    text = table.read_bytes().decode("utf-8")
    assert text.startswith("# Bounds and errors\n\nThe specs' tolerances")
    assert "`dmlcts bounds RESULTS.jsonl... --table FILE`,\nnot by hand" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[0] == "| operator | data type | bound | fast 1.2 | fast 1.2 (2) | would do | remark |"
    assert rows[1] == "| --- | --- | --- | --- | --- | --- | --- |"
    assert rows[2].replace("\\", "") == (
        f"| {NAME} | FLOAT32 | ulp: 16 ULP | 3.25 ULP (1 %), 1 case | 2 ULP (2 %), 1 case | 4 % of it | loose: 50 times the worst |"
    )
    assert len(rows) == 3
    assert "- The runs used different specs or operators: a percentage refers to the bound at that time.\n" in text
    assert "someone" not in text, "nothing of the machine"
    assert "\r" not in text


def test_verbose_names_the_cases(tmp_path: Path) -> None:
    files = written(tmp_path, record(measured(1.0, 0.2, "a"), measured(3.0, 0.1, "worst"), measured(9.0, 9.0, "failed", FAIL)))
    assert f"{NAME}/worst" not in invoke(*files).stdout
    table = tmp_path / "bounds.md"
    printed = invoke(*files, "-v", "--table", str(table)).stdout
    assert f"{NAME}/worst" in printed
    assert f"{NAME}/a" not in printed
    assert f"{NAME}/failed" not in printed
    text = table.read_text(encoding="utf-8").replace("\\", "")
    assert (
        f"## Cases of the worst errors\n\n| operator | data type | run | case |\n| --- | --- | --- | --- |\n| {NAME} | FLOAT32 | fast 1.2 | {NAME}/worst |\n"
        in text
    )


def test_a_table_is_no_place_for_markup(tmp_path: Path) -> None:
    named = {**MANIFEST.backend, "name": "a|b [bold]c[/] <d>"}
    table = tmp_path / "bounds.md"
    result = invoke(*written(tmp_path, record(measured(1.0, 0.2), backend=named)), "--table", str(table))
    assert "a|b [bold]c[/] <d> 1.2" in result.stdout
    rows = [line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"hello\n", "not a line of a results file"),
        (b"", "has no manifest"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_bad_input_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, message: str) -> None:
    good = written(tmp_path, record(measured(1.0, 0.2)))
    bad, table = tmp_path / "bad.jsonl", tmp_path / "bounds.md"
    if content is not None:
        bad.write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        main(["bounds", *good, str(bad), "--table", str(table)])
    captured = capsys.readouterr()
    assert (ended.value.code, captured.out, table.exists()) == (2, "", False)
    assert re.search(rf"{re.escape(str(bad))}(:1)?: {message}", captured.err)


def test_an_operator_without_a_spec_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bounds", *written(tmp_path, record(measured(1.0, 0.2, operator="NOSUCH")))])
    assert ended.value.code == 2
    assert "there is no operator NOSUCH; use the version of the suite that ran it" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["bounds"])
    assert ended.value.code == 2


# Cases that really ran


def ran(monkeypatch: pytest.MonkeyPatch, off: float, cases: Iterable[str]) -> list[Result]:
    """Cases of an operator that is judged by ULPs, on the reference with every result off by as many of them."""
    operator = replace(load(NAME), tolerance=ULP)
    monkeypatch.setattr(
        answers, "recent", lambda desc, inputs: {"OutputTensor": Answer(np.rint(inputs["InputTensor"].astype(np.float64)))}
    )

    class Off(ReferenceBackend):
        def compute(self, desc: Any, inputs: Any) -> dict[str, np.ndarray]:
            found = np.rint(inputs["InputTensor"])
            return {"OutputTensor": found + np.spacing(np.abs(found)) * found.dtype.type(off)}

    backend = Off()
    return [execute(replace(find_case(case), operator=operator), backend, backend.info) for case in cases]


@pytest.mark.parametrize(
    ("off", "status", "message"),
    [(0, PASS, "0 ULP (0 %), 1 case"), (2, PASS, "2 ULP (12.5 %), 1 case"), (32, FAIL, "1 failed, by up to 32 ULP")],
)
def test_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, off: float, status: str, message: str) -> None:
    results = ran(monkeypatch, off, [f"{NAME}/FLOAT32/4d/HALVES_TO_NEAREST_EVEN"])
    assert [(result.status, result.worst_ulp, result.worst_share) for result in results] == [(status, off, off / 16)]
    (line,) = [line for line in invoke(*written(tmp_path, record(*results))).stdout.splitlines() if line.startswith(NAME)]
    assert f"  ulp: 16 ULP  {message}  " in line


def test_a_run_of_the_whole_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output folder of ``dmlcts run`` will do for a results file; these operators are exact, so nothing is measured."""
    out = tmp_path / "out"
    with pytest.raises(SystemExit) as ended:
        main(["run", "--backend", "reference", "--case", "ELEMENT_WISE_BIT_OR/UINT8/4d", "--out", str(out)])
    assert ended.value.code == 0
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["bounds", str(out)])
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert "No errors to show: no case of an operator with a tolerance was measured." in printed
    assert "0 cases with a measured error" in printed
