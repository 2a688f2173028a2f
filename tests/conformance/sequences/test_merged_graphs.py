"""Searches among graphs on several machines become one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import dmlcts

from dmlcts.conformance.backends.backend import Backend
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.faults.beyond.graphs import FAULTS
from dmlcts.conformance.faults.beyond.planted_graphs import ChangedBackend
from dmlcts.conformance.sequences.graphs.many import Found, name_of, write_results
from dmlcts.conformance.sequences.graphs.search import search


def searched(folder: Path, backend: Backend, seed: int, numbers: range) -> Path:
    info = backend.describe()
    write_results(Found(name_of(info), (seed,), search(backend, info, seed, iter(numbers), (), 1e12), complete=True), folder)
    return folder


@pytest.fixture(name="two", scope="module")
def _two(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("searches")
    numbers = range(-4, 30)
    return [searched(folder / f"machine-{seed}", ChangedBackend(FAULTS["constant-ignored"]), seed, numbers) for seed in (1, 2)]


def data_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "graphs.json").read_text(encoding="utf-8"))
    return found


def test_failures_of_one_cause_come_together(two: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "merged"
    assert dmlcts("merge", *map(str, two), "--out", str(out)) == 1
    merged, each = data_of(out), [data_of(folder) for folder in two]
    assert (merged["seeds"], merged["graphs"], merged["complete"]) == ([1, 2], 68, True)
    for key in ("statuses", "nodes"):
        assert merged[key] == {
            name: sum(one[key].get(name, 0) for one in each) for name in sorted({name for one in each for name in one[key]})
        }
    labels = [label for cause in merged["causes"].values() for label in cause]
    assert {label.partition("-")[0] for label in labels} == {"1", "2"}
    assert len(labels) == merged["statuses"]["fail"]
    assert len(merged["causes"]) < sum(len(one["causes"]) for one in each)
    assert len(merged["failures"]) == len(list((out / "graphs").glob("*.json"))) <= sum(len(one["failures"]) for one in each)
    assert "seeds 1, 2" in (out / "index.html").read_text(encoding="utf-8")
    assert "68 graphs: " in capsys.readouterr().out


def test_what_is_merged_can_be_merged_again(two: list[Path], tmp_path: Path) -> None:
    once, third, twice = tmp_path / "once", tmp_path / "third", tmp_path / "twice"
    dmlcts("merge", *map(str, two), "--out", str(once))
    searched(third, ChangedBackend(FAULTS["constant-ignored"]), 3, range(5))
    assert dmlcts("merge", str(once), str(third / "graphs.json"), "--out", str(twice)) == 1
    assert (data_of(twice)["seeds"], data_of(twice)["graphs"]) == ([1, 2, 3], 73)


def test_a_graph_that_fails_in_both_searches_counts_once(two: list[Path], tmp_path: Path) -> None:
    """As those of the families do, which have no seed."""
    first = data_of(two[0])
    (tmp_path / "graphs.json").write_text(json.dumps(first | {"seeds": [9]}), encoding="utf-8")
    assert dmlcts("merge", str(two[0]), str(tmp_path), "--out", str(tmp_path / "out")) == 1
    merged = data_of(tmp_path / "out")
    assert merged["causes"] == first["causes"]
    assert {failure["label"] for failure in merged["failures"]} == {failure["label"] for failure in first["failures"]}
    assert len(merged["failures"]) == len(first["failures"])


def test_a_kernel_counts_once(tmp_path: Path) -> None:
    folders = []
    for seed in (1, 2):
        folder = searched(tmp_path / str(seed), ReferenceBackend(), seed, range(3))
        found = data_of(folder)
        found["forms"] = [["a", 1], ["b", seed], [f"only {seed}", 1]]
        (folder / "graphs.json").write_text(json.dumps(found), encoding="utf-8")
        folders.append(str(folder))
    assert dmlcts("merge", *folders, "--out", str(tmp_path / "out")) == 0
    assert data_of(tmp_path / "out")["kernels"] == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": [1]}, "has seed 1, as another has: the same graphs; give each machine a seed of its own"),
        ({"implementation": "another 2.0"}, "is a search on reference "),
        ({"suite_version": "0.0.1"}, "of version 0.1.0 of the suite, and "),
        ({"forms": None}, "graphs.json has not what a search writes (`dmlcts fuzz --graphs`): TypeError"),
        ({"nodes": 3}, "graphs.json has not what a search writes"),
        (None, "graphs.json cannot be read"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    two: list[Path], change: dict[str, Any] | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    text = "{" if change is None else json.dumps(data_of(two[1]) | change)
    (other / "graphs.json").write_text(text, encoding="utf-8")
    assert dmlcts("merge", str(two[0]), str(other), "--out", str(tmp_path / "out")) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_search_among_graphs_and_a_run_are_not_merged(
    two: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    assert dmlcts("merge", str(two[0]), str(tmp_path / "run"), "--out", str(tmp_path / "out")) == 2
    assert "is a search among graphs, and" in capsys.readouterr().err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    assert dmlcts("merge", *map(str, two), "--out", str(tmp_path / "full")) == 2
    assert "holds other files" in capsys.readouterr().err
