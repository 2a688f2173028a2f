"""Runs side by side: what differs, since when, what cannot be compared, and nothing that one run lacks held against another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from commands import dmlcts
from records import HOSTILE, result, run

from dmlcts.reports.explain.explanation import read_texts
from dmlcts.reports.record.record import (
    API,
    ERROR,
    FAIL,
    NOT_RUN,
    PASS,
    PROMISE,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Mismatch,
    Record,
    RecordError,
    Result,
    write_record,
)
from dmlcts.reports.runs.comparison import Comparison, cause_text, changes_of, compare_runs
from dmlcts.reports.runs.history import HistoryError, read_history, write_history
from dmlcts.reports.runs.page import page_text, write_runs
from dmlcts.reports.runs.run import condense, in_order, name_runs
from dmlcts.reports.runs.runs_json import runs_json

SCHEMA = json.loads((Path(__file__).parents[2] / "reports" / "schema" / "runs.schema.json").read_text(encoding="utf-8"))
WAIVERS = [{"file": "waivers.yaml", "sha256": "a"}]
LETTERS = {"p": PASS, "f": FAIL, "e": ERROR, "w": WAIVED, "u": UNSUPPORTED, "n": NOT_RUN, "P": UNEXPECTED_PASS}


def release(version: str, *results: Result, **manifest: object) -> Record:
    backend = {"name": "DirectML", "version": version, "device": "a GPU"}
    return run(*results, **{"backend": backend, "waivers": WAIVERS, **manifest})


def compared(*records: Record) -> Comparison:
    found = compare_runs(name_runs(in_order(map(condense, records))))
    jsonschema.validate(runs_json(found), SCHEMA)
    return found


def through_time(*rows: str) -> Comparison:
    """Releases 1.0, 1.1 ... in which case i ended as the letters of row i say; a dot leaves it out."""
    columns = zip(*rows, strict=True)
    records = [
        release(
            f"1.{at}",
            result(number=99),
            *(result(LETTERS[letter], number) for number, letter in enumerate(column) if letter != "."),
        )
        for at, column in enumerate(columns)
    ]
    return compared(*records)


# When


@pytest.mark.parametrize(
    ("row", "when", "first", "last"),
    [
        ("pffp", "since 1.1 (1.0 passes), until 1.2 (1.3 passes)", "1.1", "1.2"),
        ("ppff", "since 1.2 (1.1 passes)", "1.2", None),
        ("ffpp", "until 1.1 (1.2 passes)", None, "1.1"),
        ("ffff", "from 1.0 to 1.3, wherever it ran", None, None),
        ("..ff", "from 1.2 to 1.3, wherever it ran", None, None),
        ("p..f", "since 1.3 (1.0 passes)", "1.3", None),
        ("punf", "since 1.3 (1.0 passes)", "1.3", None),
        ("pfpf", "since 1.1 (1.0 passes), in 1.1, 1.3", "1.1", None),
        ("pwwp", "since 1.1 (1.0 passes), until 1.2 (1.3 passes)", "1.1", "1.2"),
        ("pepp", "only in 1.1", "1.1", "1.1"),
        (".e..", "in 1.1", None, None),
        (".euu", "in 1.1", None, None),
    ],
)
def test_a_failure_says_since_when_and_until_when(row: str, when: str, first: str | None, last: str | None) -> None:
    found = through_time(row)
    (cause,) = runs_json(found)["causes"]
    assert cause["when"] == when == cause_text(found.causes[0], found.runs)
    assert (cause["first_bad"], cause["last_bad"]) == (first, last)
    assert cause["only"] is (sum(letter in "few" for letter in row) == 1 and "p" in row)


def test_what_passes_everywhere_or_is_unsupported_has_no_cause() -> None:
    assert through_time("pppp", "uuuu", "pPpp", "pnn.").causes == ()


# One cause


def test_failures_that_came_and_went_together_are_one() -> None:
    found = through_time("pffp", ".ffp", "pffp", "pfff")
    assert [len(cause.cases) for cause in found.causes] == [1, 2, 1], "a case that a later release added may have begun before"
    assert changes_of(".ffp") == ((0, True), (3, False))


def test_wrong_values_of_two_operators_are_two_causes_and_a_refusal_is_one() -> None:
    wrong = {"mismatches": (Mismatch("OutputTensor", (0,), "1", "2"),), "wrong": 1}
    refused = {"evidence": {"stage": "compile", "code": "0x80004001"}}
    for more, causes in ((wrong, 2), (refused, 1)):
        results = [result(FAIL, 0, name, message="no", **more) for name in ("GEMM", "ELEMENT_WISE_ROUND")]
        found = compared(release("1.0", *results), release("1.1", *results))
        assert len(found.causes) == causes


@pytest.mark.parametrize(
    ("status", "more", "symptom"),
    [
        (
            FAIL,
            {"message": "OutputTensor: nan", "mismatches": (Mismatch("OutputTensor", (0,), "1", "nan"),), "wrong": 1},
            "NaN in place of numbers",
        ),
        (FAIL, {"message": "no", "evidence": {"stage": "compile", "code": "0x80004001"}}, "refused at compile with 0x80004001"),
        (FAIL, {"message": "accepted, but must be rejected: it breaks sizes"}, ""),
        (
            FAIL,
            {"message": "wrote 3 bytes past the end", "evidence": {"memory": "wrote 3 bytes past the end"}},
            "wrote # bytes past the end",
        ),
        (ERROR, {"message": "the host crashed"}, "the host crashed"),
        (
            ERROR,
            {"message": "must be rejected (sizes), but the device hung", "evidence": {"stage": "bind", "code": "1"}},
            "must be rejected (sizes), but the device hung",
        ),
    ],
)
def test_a_waived_failure_has_the_symptom_that_it_has_without_a_waiver(status: str, more: dict[str, object], symptom: str) -> None:
    failing = result(status, **more)
    found = compared(release("1.0", failing), release("1.1", replace(failing, status=WAIVED)))
    assert [(cause.symptom, cause.bad) for cause in found.causes] == [(symptom, (0, 1))]


def test_a_cause_has_the_explanation_of_the_newest_run_that_has_one() -> None:
    case = result().case
    texts = [{case: "fails whenever a"}, {case: "fails whenever b", "another": "no"}, {}]
    runs = [condense(release(f"1.{at}", result(FAIL)), explained) for at, explained in enumerate(texts)]
    (cause,) = runs_json(compare_runs(name_runs(runs)))["causes"]
    assert cause["explanation"] == "in 1.1, fails whenever b"


@pytest.mark.parametrize("text", ["3", "[3]", '[{"example": 3, "text": ""}]', '[{"example": "x"}]', "[", "{}"])
def test_what_is_no_list_of_explanations_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "explanations.json").write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=r"explanations.json"):
        read_texts(tmp_path / "explanations.json")


def test_explanations_are_read_by_example_and_cleaned(tmp_path: Path) -> None:
    assert read_texts(tmp_path / "explanations.json") == {}
    found = [{"example": "X/1", "text": "a\x1bb"}, {"example": "", "text": "left out"}]
    (tmp_path / "explanations.json").write_text(json.dumps(found), encoding="utf-8")
    assert read_texts(tmp_path / "explanations.json") == {"X/1": "a\ufffdb"}


# What is comparable


def test_an_operator_of_a_later_level_is_no_failure_and_one_that_was_left_out_is_said_to_be() -> None:
    old = release("1.0", result(), feature_level="2_0", backend={"name": "DirectML", "version": "1.0", "feature_level": "2_0"})
    new = release("1.1", result(), result(operator="QUANTIZE"), result(operator="ELEMENT_WISE_ABS"))
    cells = runs_json(compared(old, new))["operators"]
    assert {name: [cell["state"] for cell in row] for name, row in cells.items()} == {
        "ELEMENT_WISE_ABS": ["missing", "pass"], "ELEMENT_WISE_ROUND": ["pass", "pass"], "QUANTIZE": ["later", "pass"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "remark"),
    [
        ({"level": "full"}, "Another level: core in 1.0; full in 1.1."),
        ({"suite_version": "9"}, "Another suite version: 0.1.0 in 1.0; 9 in 1.1."),
        ({"spec_version": "9"}, "A case may ask for something else under the same id."),
        ({"basis": "measured"}, "Another basis"),
        ({"selection": "ROUND"}, "Another selection of cases: all in 1.0; ROUND in 1.1."),
        ({"feature_level": "5_0"}, "Another feature level: 6.4 in 1.0; 5.0 in 1.1."),
        ({"waivers": []}, "Another waiver files: waivers.yaml in 1.0; none in 1.1."),
        ({"shard": "1/2"}, "merge the shards"),
        ({"backend": {"name": "DirectML", "version": "1.1", "device": "another"}}, "Another device: a GPU in 1.0; another in 1.1."),
        ({"backend": {"name": "DirectML", "version": "1.1", "device": "a GPU", "accumulator": 10}}, "Another precision"),
        ({"interrupted": True, "selected": 5}, "1.1: The run was interrupted: 4 of 5 cases were not run."),
    ],
)
def test_what_cannot_be_compared_is_said(change: dict[str, object], remark: str) -> None:
    found = compared(release("1.0", result()), release("1.1", result(), **change))
    assert any(remark.lower() in each.lower() for each in found.remarks), found.remarks
    assert compared(release("1.0", result()), release("1.1", result())).remarks == ()


# Names and order


def keys(*records: Record) -> list[str]:
    return [each.key for each in compared(*records).runs]


def test_runs_of_one_implementation_stand_by_version_and_are_called_by_it() -> None:
    assert keys(release("1.10.1"), release("1.8.0"), release("1.9.1")) == ["1.8.0", "1.9.1", "1.10.1"]


def test_runs_of_several_stand_as_given() -> None:
    assert keys(run(backend={"name": "theirs", "version": "2"}), release("1.8.0")) == ["theirs 2", "DirectML 1.8.0"]


def test_two_runs_of_one_version_are_told_apart_by_device_or_day_or_number() -> None:
    other = release("1.8.0", backend={"name": "DirectML", "version": "1.8.0", "device": "another"})
    assert keys(release("1.8.0"), other) == ["1.8.0 a GPU", "1.8.0 another"]
    assert keys(release("1.8.0"), release("1.8.0", started="2026-02-01T00:00:00Z")) == [
        "1.8.0 a GPU 2026-01-02",
        "1.8.0 a GPU 2026-02-01",
    ]
    assert len(set(keys(release("1.8.0"), release("1.8.0")))) == 2


# Cells


@pytest.mark.parametrize(
    ("statuses", "state"),
    [
        ([PASS, UNSUPPORTED], PASS),
        ([PASS, FAIL, ERROR], ERROR),
        ([PASS, FAIL, WAIVED], FAIL),
        ([PASS, WAIVED], WAIVED),
        ([UNSUPPORTED], UNSUPPORTED),
        ([PASS, NOT_RUN], NOT_RUN),
        ([PASS, UNEXPECTED_PASS], UNEXPECTED_PASS),
    ],
)
def test_a_cell_shows_the_worst_but_support_is_no_fault(statuses: Sequence[str], state: str) -> None:
    records = [release(version, *(result(status, number) for number, status in enumerate(statuses))) for version in ("1.0", "1.1")]
    (row,) = runs_json(compared(*records))["operators"].values()
    assert [cell["state"] for cell in row] == [state, state]


# Files


def test_the_page_names_what_to_use_and_holds_no_markup_of_a_case(tmp_path: Path) -> None:
    failing = result(FAIL, 1, message=HOSTILE)
    page = write_runs(compared(release("1.0", result()), release("1.1", result(), failing)), tmp_path).read_text(encoding="utf-8")
    assert "Most operators pass in 1.0: 1 of the 1 that it has." in page
    assert "In 1.1, avoid or test what you use of ELEMENT_WISE_ROUND." in page
    assert "<b>&'" not in page
    assert page.count("</script>") == 1
    jsonschema.validate(json.loads((tmp_path / "runs.json").read_text(encoding="utf-8")), SCHEMA)


def test_promises_of_the_api_are_a_row_and_no_operator(tmp_path: Path) -> None:
    def promise(status: str) -> Result:
        return replace(result(status, operator=API, data_type=""), case="api/device/a_promise", kind=PROMISE)

    write_runs(compared(release("1.0", result(), promise(PASS)), release("1.1", result(), promise(FAIL))), tmp_path)
    data = json.loads((tmp_path / "runs.json").read_text(encoding="utf-8"))
    assert [cell["state"] for cell in data["operators"][API]] == [PASS, FAIL]
    assert [run["operators"] for run in data["runs"]] == [{PASS: 1}, {PASS: 1}]
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "1 operator of 1 passes in every run that has them." in page
    assert "1.1 breaks 1 promise of the API." in page
    assert "Operators that differ: 0 of 1" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_the_page_holds_no_more_cases_than_it_can_and_says_so() -> None:
    found = through_time("pf", "pf", "pf", "fp")
    data = runs_json(found, 2)
    assert (len(data["cases"]), data["cases_left_out"]) == (2, 2)
    assert {case["cause"] for case in data["cases"]} == {0, 1}, "each cause has one, if there is room"
    assert "<html" in page_text(data, [])


def test_the_history_keeps_runs_that_are_gone_and_none_twice(tmp_path: Path) -> None:
    write_runs(compared(release("1.0", result()), release("1.1", result())), tmp_path)
    later = release("1.2", result(FAIL), started="2026-03-01T00:00:00Z")
    page = write_runs(compared(release("1.1", result()), later), tmp_path).read_text(encoding="utf-8")
    lines = read_history(tmp_path / "history.jsonl")
    assert [line["implementation"] for line in lines] == ["DirectML 1.0", "DirectML 1.1", "DirectML 1.2"]
    assert [line["counts"]["fail"] for line in lines] == [0, 0, 1]
    assert page.count('<th scope="row">DirectML') == 3


@pytest.mark.parametrize("text", ["{}\n", "no JSON\n", '{"counts": 3}\n', "\n"])
def test_what_is_no_history_is_refused_and_stays(text: str, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(HistoryError, match=r"history.jsonl:1: "):
        write_history([], file)
    assert file.read_text(encoding="utf-8") == text


# The command


def written(folder: Path, *records: Record) -> list[Path]:
    for record in records:
        out = folder / str(record.manifest.backend["version"])
        out.mkdir()
        write_record(record, out / "results.jsonl")
    return sorted(folder.iterdir())


def test_the_command_sets_runs_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs").mkdir()
    places = written(tmp_path / "runs", release("1.10", result(FAIL)), release("1.9", result()))
    out = tmp_path / "out"
    assert dmlcts("report", *places, "--out", out) == 0
    assert "ELEMENT_WISE_ROUND: wrong values: since 1.10 (1.9 passes)" in capsys.readouterr().out
    assert dmlcts("report", *places, "--out", out) == 0, "its own page is written anew"
    assert dmlcts("report", *places, "--order", "given", "--out", out) == 0
    assert [each["key"] for each in json.loads((out / "runs.json").read_text(encoding="utf-8"))["runs"]] == ["1.10", "1.9"]


def test_the_command_writes_over_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs").mkdir()
    places = written(tmp_path / "runs", release("1.0", result()), release("1.1", result()))
    assert dmlcts("report", *places, "--out", places[0]) == 2
    assert "holds files but no runs.json" in capsys.readouterr().err
    assert sorted(file.name for file in places[0].iterdir()) == ["results.jsonl"]
