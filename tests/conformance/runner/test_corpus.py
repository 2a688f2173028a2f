"""The corpus of a search by kernels: the smallest case of each form, what it changes next, and what it leaves to the next search."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from commands import dmlcts
from rich.console import Console

from dmlcts.conformance.backends.array_backend import Array
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.runner.kernels.corpus import Corpus, Entry, Guide, append, entry_of, read_corpus, write_corpora
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.run import run
from dmlcts.conformance.runner.screen.progress import Progress
from dmlcts.conformance.runner.workers import search
from dmlcts.conformance.runner.workers.search import BATCH, SearchPlan
from dmlcts.generator.random.fuzz_cases import find_numbered, number_in
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.record.paths import CodePath, forms_of
from dmlcts.reports.record.record import SEARCH, Record
from dmlcts.spec.model.desc import OperatorDesc

ADD = "ELEMENT_WISE_ADD"


def entry(case: str, size: int, *labels: str) -> Entry:
    return Entry(case, size, frozenset((label, 1) for label in labels))


# Forms and entries


def test_a_kernel_with_another_power_of_two_of_groups_is_another_form() -> None:
    of = [forms_of((CodePath("a", numbers),)) for numbers in ((), (0,), (1,), (2, 1, 1), (3, 1, 1), (2, 2, 1), (7,))]
    assert of == [{("a", bits)} for bits in (0, 0, 1, 2, 2, 3, 3)]
    assert forms_of((CodePath("more", (7,)),)) == set()
    assert forms_of((CodePath("a", (1,)), CodePath("b"), CodePath("a", (1,)))) == {("a", 1), ("b", 0)}


def test_the_size_of_an_entry_is_that_of_all_tensors() -> None:
    case = find_case("ELEMENT_WISE_BIT_OR/UINT8/4d")
    assert entry_of(case, (CodePath("a"),)) == Entry(case.id, 3 * case.desc.tensor("ATensor").count, frozenset({("a", 0)}))


# The corpus


def test_the_smallest_case_of_each_form_is_kept() -> None:
    corpus = Corpus()
    assert corpus.add(entry("large", 9, "a", "b"))
    assert not corpus.add(entry("larger", 10, "a"))
    assert corpus.add(entry("small", 3, "a"))
    assert {form[0]: kept.case for form, kept in corpus.smallest.items()} == {"a": "small", "b": "large"}


def test_what_reaches_something_new_is_told_from_what_is_smaller() -> None:
    corpus = Corpus([entry("one", 9, "a")])
    assert not corpus.reaches_more(entry("small", 1, "a"))
    assert corpus.reaches_more(entry("other", 99, "a", "b"))


def test_the_fewest_cases_that_reach_all_are_left() -> None:
    corpus = Corpus([entry("a", 1, "a"), entry("b", 1, "b"), entry("c", 2, "c"), entry("all", 50, "a", "b", "c", "d")])
    assert [each.case for each in corpus.minimal_entries()] == ["all"]
    assert [each.case for each in Corpus([entry("b", 2, "b"), entry("a", 1, "a"), entry("c", 3, "c")]).minimal_entries()] == [
        "a",
        "b",
        "c",
    ]
    assert Corpus().minimal_entries() == []


# Files


def test_entries_of_several_processes_are_read_together(tmp_path: Path) -> None:
    append(tmp_path, ADD, "0", entry("x", 1, "a"))
    append(tmp_path, ADD, "1", entry("y", 2, "b"))
    append(tmp_path, ADD, "0", entry("z", 3, "c"))
    append(tmp_path, "ELEMENT_WISE_ADD1", "0", entry("other", 1, "a"))
    assert sorted(each.case for each in read_corpus(tmp_path, ADD)) == ["x", "y", "z"]
    assert read_corpus(tmp_path / "none", ADD) == []


@pytest.mark.parametrize(
    "line", ["", "{", "7", "[]", '{"case": "x"}', '{"case": "x", "size": "a", "forms": []}', '{"case": "x", "size": 1, "forms": [7]}', '{"case": "x", "size": 1, "forms": [["a"]]}', "\0"],
)  # fmt: skip
def test_a_line_that_cannot_be_read_harms_no_other(line: str, tmp_path: Path) -> None:
    append(tmp_path, ADD, "0", entry("x", 1, "a"))
    (file,) = tmp_path.iterdir()
    file.write_text(f"{line}\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    assert [each.case for each in read_corpus(tmp_path, ADD)] == ["x"]


def test_corpora_are_merged_and_minimized(tmp_path: Path) -> None:
    one, two, out = (tmp_path / name for name in ("one", "two", "out"))
    for folder in (one, two):
        folder.mkdir()
    append(one, ADD, "0", entry("x", 9, "a", "b"))
    append(two, ADD, "0", entry("y", 1, "a"))
    append(two, ADD, "0", entry("z", 1, "c"))
    assert write_corpora([one, two], [ADD, "GEMM"], out) == (2, 3)
    assert [each.case for each in read_corpus(out, ADD)] == ["x", "z"]  # y reaches nothing that x does not
    assert [file.name for file in out.iterdir()] == [f"{ADD}.all.corpus"]


# What to change


def test_changed_cases_are_more_where_they_find_more() -> None:
    guide = Guide()
    for _ in range(100):
        guide.saw([("a", 0)], is_changed=False, is_new=True)
        guide.saw([("a", 0)], is_changed=True, is_new=False)
    few = guide.changed_count(BATCH)
    for _ in range(400):
        guide.saw([("a", 0)], is_changed=False, is_new=False)
        guide.saw([("a", 0)], is_changed=True, is_new=True)
    assert 1 <= few < 5 < guide.changed_count(BATCH) < BATCH


def test_cases_that_reach_rare_kernels_are_changed_more_often() -> None:
    guide, corpus = Guide(), Corpus([entry("often", 1, "a"), entry("seldom", 1, "b")])
    guide.saw([("a", 1)] * 50 + [("b", 1)], is_changed=False, is_new=False)
    parents = [each.case for each in islice(guide.parents(corpus, Random(1)), 100)]
    assert parents.count("seldom") > 90
    assert list(guide.parents(Corpus(), Random(1))) == []


# Searches


class Choosy(ReferenceBackend):
    """Its kernels follow from sizes and types."""

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Array]:
        output = desc.tensor("OutputTensor")
        turn = "60 to 64" if 60 <= output.sizes[-1] <= 64 and len(output.sizes) > 2 else "large" if output.count > 1000 else "small"
        self.path(f"{output.data_type} {turn} {'strided' if output.strides else 'packed'}", -(-output.count // 64))
        return super().compute(desc, inputs)


def searched(out: Path, monkeypatch: pytest.MonkeyPatch, batches: int, **options: Any) -> Record:
    """The record of a search of so many batches."""

    def end(self: SearchPlan) -> None:
        if len(self.statuses) >= batches * BATCH:
            self.until = -1.0
        in_time(self)

    in_time = SearchPlan._end_in_time
    with monkeypatch.context() as patch:
        patch.setattr(SearchPlan, "_end_in_time", end)
        patch.setattr("dmlcts.conformance.runner.run.opened_to_describe", lambda spec: Choosy())
        given = RunOptions("reference", SEARCH, operators=(ADD,), seed="1", out=str(out), **options)
        return run(given, 0, Progress(Console(quiet=True), quiet=True, endless=True))


def test_a_search_changes_cases_that_reached_kernels_and_keeps_the_smallest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = searched(tmp_path / "out", monkeypatch, 6, corpus=(str(tmp_path / "kept"),))
    places = [number_in(result.case) for result in record.results]
    assert all(places)
    assert any(place.changes for place in places if place)
    assert not any(place.changes for place in places[:BATCH] if place)  # the first batch has nothing to change
    kept = read_corpus(tmp_path / "kept", ADD)
    assert {form for each in kept for form in each.forms} == {form for result in record.results for form in forms_of(result.paths)}
    assert all(find_numbered(each.case) is not None for each in kept)
    sizes = {result.case: sum(tensor.count for _, tensor in find_case(result.case).desc.tensors()) for result in record.results}
    assert all(sizes[each.case] == each.size for each in kept)


def test_a_search_goes_on_with_an_earlier_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched(tmp_path / "one", monkeypatch, 2, corpus=(str(tmp_path / "kept"),))
    kept = {each.case for each in read_corpus(tmp_path / "kept", ADD)}
    record = searched(tmp_path / "two", monkeypatch, 6, corpus=(str(tmp_path / "new"), str(tmp_path / "kept")))
    assert kept & {result.case for result in record.results}
    earlier, now = ({form for each in read_corpus(tmp_path / name, ADD) for form in each.forms} for name in ("kept", "new"))
    assert earlier <= now


def test_without_code_paths_nothing_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = searched(tmp_path / "out", monkeypatch, 3, paths=False, corpus=(str(tmp_path / "kept"),))
    assert not any(place.changes for result in record.results if (place := number_in(result.case)))
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_search_by_kernels_reaches_what_drawing_alone_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In as many cases, it reaches at least about as many forms."""

    def forms(record: Record) -> int:
        return len({form for result in record.results for form in forms_of(result.paths)})

    guided = forms(searched(tmp_path / "guided", monkeypatch, 25))
    monkeypatch.setattr(search.Guide, "changed_count", lambda self, batch: 0)
    alone = forms(searched(tmp_path / "alone", monkeypatch, 25))
    assert guided >= 0.95 * alone


def test_the_command_takes_several_corpora(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert (
        dmlcts(
            "fuzz",
            ADD,
            "--minutes",
            "0.02",
            "--seed",
            "1",
            "--out",
            out,
            "--corpus",
            tmp_path / "a",
            "--corpus",
            tmp_path / "b",
            "-q",
        )
        == 0
    )
    assert (tmp_path / "a").is_dir()
    assert not (tmp_path / "b").exists()
