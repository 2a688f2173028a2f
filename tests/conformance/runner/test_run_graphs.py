"""Graphs in a run: which ones, what becomes of them, and what the reports, the claim and the commands say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from commands import dmlcts
from runs import claim, ran, selected

from dmlcts.conformance.backends.backend import BackendFault
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.runner.planning.beyond import work_called
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.selection import selection_of
from dmlcts.conformance.runner.run import without_calls_of_the_suite
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.sequences.graphs.case import execute_graph
from dmlcts.generator.suite.graph_cases.graph_case import find_graph, graph_cases
from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.record.record import (
    API,
    BEYOND_OPERATORS,
    ERROR,
    FAIL,
    GRAPH,
    GRAPHS,
    PASS,
    SEQUENCES,
    UNSUPPORTED,
    WAIVED,
    Record,
    Result,
)
from dmlcts.spec.reading.loader import operator_names
from dmlcts.spec.reading.promises import spec_version

FEW = ("-k", "diamond or cast-to-INT32 or random/14 or random/21")
"""Families and random graphs, some of which have constants."""


@pytest.fixture
def wrong_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of backends that are wrong in graphs."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "sequences"))
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "sequences"))


WRONG = ("--backend", "inprocess:wrong_in_graphs:Wrong")


def statuses(record: Record) -> dict[str, str]:
    return {result.case: result.status for result in record.results}


# Which


def test_the_word_graphs_selects_those_of_the_level() -> None:
    core, full = selected("graphs"), selected("graphs", level="full")
    assert core == [case.id for case in graph_cases("core")]
    assert set(core) < set(full)
    assert all(case.startswith("graphs/") for case in full)


def test_the_area_of_the_api_has_its_own_name() -> None:
    assert {case.partition("/")[0] for case in selected("api/graphs")} == {API}


def test_a_run_of_all_has_them_and_a_first_look_has_not() -> None:
    assert selection_of(RunOptions()).operators[-1] == GRAPHS
    assert GRAPHS not in selection_of(RunOptions(level="smoke")).operators
    assert GRAPHS not in selection_of(RunOptions(network="resnet50")).operators
    assert GRAPHS not in selection_of(RunOptions(operators=("*",))).operators
    with pytest.raises(UsageError):
        selection_of(RunOptions(level="smoke", operators=("graphs",)))


@pytest.mark.parametrize(("backend", "performs"), [("inprocess:wrong_in_graphs:Wrong", True), ("reference", False)])
def test_a_run_of_all_asks_those_who_perform_the_calls_themselves(wrong_at_hand: None, backend: str, performs: bool) -> None:
    with Session(RunOptions(backend=backend)) as session:
        for options, is_in in ((RunOptions(), performs), (RunOptions(operators=("graphs",)), True)):
            assert (GRAPHS in without_calls_of_the_suite(selection_of(options), session).operators) == is_in


def test_expressions_shards_and_feature_levels_select_among_them() -> None:
    assert set(selected("graphs", expression="diamond")) == {"graphs/family/diamond/FLOAT32", "graphs/family/diamond/FLOAT16"}
    parts = [selected("graphs", shard=f"{part}/3") for part in (1, 2, 3)]
    assert sorted(case for part in parts for case in part) == sorted(selected("graphs"))
    older = selected("graphs", feature_level="2_0")
    assert "graphs/family/convolution-and-RELU/FLOAT32" in older
    assert len(older) < len(selected("graphs"))
    assert GRAPHS not in selection_of(RunOptions(expression="BIT_OR/UINT8")).operators


def test_those_that_need_their_own_process_come_last() -> None:
    isolated = [work_called(case).isolated for case in selected("graphs", level="full")]  # type: ignore[union-attr]
    assert isolated == sorted(isolated)
    assert any(isolated)


def test_an_unknown_one_is_an_error_with_similar_names() -> None:
    with pytest.raises(UsageError, match="no graph 'graphs/random/99999'; similar ids: graphs/random/"):
        selected(cases=("graphs/random/99999",))


# What becomes of them


def test_the_reference_computes_them_all(tmp_path: Path) -> None:
    record = ran(tmp_path, "graphs", *FEW, code=0)
    assert set(statuses(record).values()) == {PASS}
    assert {(result.operator, result.kind, result.data_type) for result in record.results} == {(GRAPHS, GRAPH, "")}
    assert record.manifest.spec_version == spec_version(operator_names())  # each may be in a graph
    total = len(record.results)
    assert claim(tmp_path)["claim"].startswith(f"computes all {total} graphs of operators, within the cases that ")


def test_a_fault_names_the_node_and_the_first_line_the_condition(wrong_at_hand: None, tmp_path: Path) -> None:
    record = ran(tmp_path, "graphs", *FEW, *WRONG, code=1)
    failed = {result.case: result for result in record.results if result.status == FAIL}
    assert set(failed) == {"graphs/random/14", "graphs/random/21"}
    assert "the operator alone is right" in failed["graphs/random/14"].message
    assert failed["graphs/random/14"].repro.endswith("--case graphs/random/14")
    explained = json.loads((tmp_path / "explanations.json").read_text(encoding="utf-8"))
    assert (explained[0]["operator"], explained[0]["group"]) == (GRAPHS, GRAPH)
    (statement,) = claim(tmp_path)["statements"]
    assert (statement["basis"], statement["holds"]) == (GRAPHS, False)
    assert f"of {len(record.results)} graphs of operators, {len(record.results) - 2} right, 2 failed" in statement["sentence"]


def test_the_page_draws_a_failing_graph_and_marks_the_wrong_node(wrong_at_hand: None, tmp_path: Path) -> None:
    record = ran(tmp_path, "--case", "graphs/random/14", *WRONG, code=1)
    data = (tmp_path / "data" / "graphs.js").read_text(encoding="utf-8")
    node = record.results[0].evidence["node"]
    assert '["g",{"class":"wrong"},["title",{},"' + f"{node}: " in data
    assert data.count('"class":"wrong"') == 1


def test_graphs_and_operators_have_a_statement_each(wrong_at_hand: None, tmp_path: Path) -> None:
    ran(tmp_path, "BIT_OR", "graphs", "-k", "UINT8/4d or diamond", "--backend", "inprocess:wrong_in_graphs:Wrong", code=0)
    found = claim(tmp_path)["statements"]
    assert [each["basis"] for each in found] == ["documented", GRAPHS]
    assert "for 1 operator (ELEMENT_WISE_BIT_OR)" in found[0]["claim"]


def test_a_host_without_sequences_takes_no_part_and_loses_no_claim(tmp_path: Path) -> None:
    host = Path(__file__).parents[3] / "docs" / "example_host.py"
    backend = f"process:python3 {host.as_posix()}"
    record = ran(tmp_path, "BIT_OR", "graphs", "-k", "UINT8/4d or convolution-and-RELU", "--backend", backend, code=0)
    found = {result.case: result for result in record.results}
    assert (
        found["graphs/family/convolution-and-RELU/FLOAT32"].status,
        found["graphs/family/convolution-and-RELU/FLOAT32"].undeclared,
    ) == (
        UNSUPPORTED,
        SEQUENCES,
    )
    said = claim(tmp_path)
    assert said["ok"]
    assert said["sentence"].endswith(" Graphs: not claimed, as it takes no part in 2 graphs.")


def test_what_is_required_must_not_be_unsupported(tmp_path: Path) -> None:
    host = Path(__file__).parents[3] / "docs" / "example_host.py"
    backend = f"process:python3 {host.as_posix()}"
    profile = tmp_path / "mine.yaml"
    profile.write_text("profile: mine\ngraphs: true\n", encoding="utf-8")
    for required in ("graphs", profile):
        record = ran(tmp_path / "out", "graphs", "-k", "convolution-and-RELU", "--backend", backend, "--require", required, code=1)
        assert set(statuses(record).values()) == {FAIL}
    assert dmlcts("run", "BIT_OR", "-k", "UINT8/4d", "--require", "graphs", "--out", tmp_path / "other") == 1, "no graph ran"


def test_a_waiver_excuses_a_graph(wrong_at_hand: None, tmp_path: Path) -> None:
    waivers = tmp_path / "waivers.yaml"
    entry = {"reason": "not yet", "issue": "https://example.org/1", "expires": "2099-01-01"}
    entries = [{"cases": f"graphs/random/{number}", **entry} for number in (14, 21)]
    waivers.write_text(json.dumps({"waivers": entries}), encoding="utf-8")
    record = ran(tmp_path / "out", "graphs", *FEW, *WRONG, "--waivers", waivers, code=0)
    assert {name for name, status in statuses(record).items() if status == WAIVED} == {"graphs/random/14", "graphs/random/21"}


def test_a_node_without_a_defined_result_is_told_in_the_grade(tmp_path: Path) -> None:
    backend = ReferenceBackend()
    found = [execute_graph(case, backend, backend.describe()) for case in graph_cases("core")[42:80]]
    grades = [result.grade for result in found if result.grade]
    assert grades
    assert all(result.status == PASS for result in found)
    assert all("nodes judged" in grade for grade in grades)


def test_a_process_that_does_not_end_well_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(backend: object) -> None:
        raise BackendFault("it does not end")

    monkeypatch.setattr("dmlcts.conformance.sequences.graphs.case.end_host", fail)
    case, backend = find_graph("graphs/family/diamond/FLOAT32"), ReferenceBackend()
    assert execute_graph(case, backend, backend.describe()).status == PASS
    result = execute_graph(replace(case, isolated=True), backend, backend.describe())
    assert (result.status, result.message) == (ERROR, "after the graph it does not end")


def test_each_report_has_them(wrong_at_hand: None, tmp_path: Path) -> None:
    ran(tmp_path, "graphs", *FEW, *WRONG, code=1)
    assert "graphs/random/14" in (tmp_path / "junit" / "graphs.xml").read_text(encoding="utf-8")
    assert "graphs/random/14" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_several_processes_and_a_run_again_of_what_failed(wrong_at_hand: None, tmp_path: Path) -> None:
    ran(tmp_path, "graphs", *FEW, "-n", "2", *WRONG, code=1)
    record = ran(tmp_path / "again", "--rerun-failed", tmp_path, code=1)
    assert set(statuses(record)) == {"graphs/random/14", "graphs/random/21"}


def test_all_that_stands_beyond_operators_counts_as_none(tmp_path: Path) -> None:
    record = ran(tmp_path, "BIT_OR", "graphs", "-k", "UINT8/4d or diamond", code=0)
    assert {result.operator for result in record.results if result.is_beyond} == {GRAPHS} <= set(BEYOND_OPERATORS)
    (documented, _) = claim_of(record).statements
    assert documented.claimed_types.keys() == {"ELEMENT_WISE_BIT_OR"}


# Commands


def test_a_graph_is_shown_and_written_as_a_file_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("show", "graphs/family/diamond/FLOAT32") == 0
    assert "of input 0" in capsys.readouterr().out
    assert dmlcts("show", "graphs/family/diamond/FLOAT32", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert dmlcts("repro", "graphs/family/diamond/FLOAT32", "--out", tmp_path) == 0
    capsys.readouterr()
    assert json.loads((tmp_path / "graph.json").read_text(encoding="utf-8")) == shown["graph"]
    assert dmlcts("fuzz", "--graph", tmp_path / "graph.json") == 0
    assert "graph.json: pass" in capsys.readouterr().out


def test_the_requests_of_a_graph_may_be_written(tmp_path: Path) -> None:
    file = tmp_path / "frames"
    assert dmlcts("show", "graphs/family/diamond/FLOAT32", "--frame", file) == 0
    assert b'"compile-graph"' in file.read_bytes()


def test_an_unknown_graph_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("show", "graphs/family/none"), ("repro", "graphs/family/none", "--out", tmp_path)):
        assert dmlcts(*words) == 2
        assert "no graph 'graphs/family/none'" in capsys.readouterr().err


def test_a_result_of_a_graph_is_of_graphs(tmp_path: Path) -> None:
    from dmlcts.reports.record.labels import checked_record
    from dmlcts.reports.record.record import RecordError

    record = ran(tmp_path, "graphs", "-k", "diamond", code=0)
    wrong = Result("ELEMENT_WISE_ABS/x", "ELEMENT_WISE_ABS", "", GRAPH, "documented", "1_0", PASS)
    with pytest.raises(RecordError, match="a result of kind graph is none of ELEMENT_WISE_ABS"):
        checked_record(replace(record, results=(wrong,)), "here")
