"""Runs on a cluster of dask.distributed on the loopback address: their record is the one of a single machine, whatever dies meanwhile."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_lab import Lab, lab, wait_for
from commands import dmlcts

from dmlcts.reports.record.record import read_record

needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs dask.distributed")

PROGRAM = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")
CASES = ("ACTIVATION_S*", "ACTIVATION_R*", "--level", "smoke", "-k", "not property")

TIMES = ("started", "finished", "seconds", "command", "resumed")
"""What two runs of the same cases differ in."""


def lines(folder: Path) -> list[str]:
    """The lines of a record, without what times and command lines make of them."""
    found = []
    for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines():
        ((kind, data),) = json.loads(line).items()
        if kind in ("manifest", "result"):  # others number code paths
            data = {name: value for name, value in data.items() if name not in TIMES}
        found.append(json.dumps([kind, data]))
    return found


def so_far(folder: Path) -> int:
    """How many results a run has so far."""
    return sum(len(file.read_bytes().splitlines()) for file in folder.glob("parts/*-ran-cluster.jsonl"))


def begun(address: str, out: Path, *more: str) -> subprocess.Popen[str]:
    """A run on the cluster that has results, beyond those that there are already, and is not at its end."""
    before = so_far(out)
    run = subprocess.Popen(
        [*PROGRAM, "run", *CASES, "--cluster", address, "--out", str(out), *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )  # fmt: skip
    wait_for(lambda: so_far(out) > before + 5 or run.poll() is not None)
    assert run.poll() is None, run.communicate()
    return run


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tmp_path_factory.mktemp("lab"), workers=4) as found:
        yield found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The record of a single machine."""
    out = tmp_path_factory.mktemp("alone") / "out"
    assert dmlcts("run", *CASES, "--out", out, "--quiet") == 0
    return lines(out)


@needs_dask
def test_the_record_is_that_of_a_single_machine_though_a_worker_dies(cluster: Lab, alone: list[str], tmp_path: Path) -> None:
    run = begun(cluster.address, tmp_path)
    cluster.workers[0].kill()
    out, err = run.communicate(timeout=200)
    assert run.returncode == 0, out + err
    assert "ACTIVATION_RELU" in out
    assert "in 4 processes" in out
    assert lines(tmp_path) == alone


@needs_dask
def test_a_search_goes_on_though_a_worker_dies(cluster: Lab, tmp_path: Path) -> None:
    run = subprocess.Popen(
        [*PROGRAM, "fuzz", "BIT_OR", "BIT_AND", "--seed", "7", "--minutes", "0.15", "--cluster", cluster.address, "--out", str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    wait_for(lambda: so_far(tmp_path) > 5 or run.poll() is not None)
    cluster.workers[1].kill()
    out, err = run.communicate(timeout=200)
    assert run.returncode == 0, out + err
    ids = [result.case for result in read_record(tmp_path / "results.jsonl").results]
    assert len(set(ids)) == len(ids) > 20
    assert all("fuzz-7-" in case for case in ids)


@needs_dask
def test_a_search_among_graphs_runs_on_the_workers(cluster: Lab, tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "fuzz", "--graphs", "--seed", "7", "--minutes", "0.25", "--cluster", cluster.address, "--out", str(tmp_path)],
        capture_output=True, text=True, encoding="utf-8", timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "graphs.json").read_text(encoding="utf-8"))
    assert found["graphs"] == found["statuses"]["pass"] > 0


@needs_dask
def test_a_cluster_without_the_resource_runs_nothing(cluster: Lab, tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "run", *CASES, "--cluster", cluster.address, "--resource", "H200", "--out", str(tmp_path)],
        capture_output=True, text=True, encoding="utf-8", timeout=200, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert "no worker of" in done.stderr


@needs_dask
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT for another process")
def test_an_interrupted_run_goes_on_and_one_without_its_scheduler_is_no_success(
    cluster: Lab, alone: list[str], tmp_path: Path
) -> None:
    run = begun(cluster.address, tmp_path)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=200)
    assert run.returncode == 130
    kept = read_record(tmp_path / "results.jsonl")
    assert kept.manifest.interrupted
    assert 5 < kept.counts()["pass"] < len(kept.results)

    run = begun(cluster.address, tmp_path, "--resume")
    cluster.scheduler.kill()
    _, err = run.communicate(timeout=200)
    assert run.returncode == 3, err
    assert f"the scheduler {cluster.address} is gone; what has run is kept" in err
    assert not (tmp_path / "results.jsonl").exists()

    assert dmlcts("run", *CASES, "--out", tmp_path, "--quiet", "--resume") == 0
    assert lines(tmp_path) == alone


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--cluster", "tcp://10.0.0.5:8786"), "whoever reaches a scheduler without TLS"),
        (("--cluster", "tcp://127.0.0.1:8786", "-n", "2"), "leave one of the two out"),
        (("--cluster", "tcp://127.0.0.1:8786", "--backend", "inprocess:mine:Mine"), "use python:"),
        (("--cluster", "tcp://127.0.0.1:8786", "--level", "huge"), "without --cluster"),
    ],
)
def test_what_cannot_run_on_a_cluster_is_refused(
    more: tuple[str, ...], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dmlcts("run", "ADD", "--out", tmp_path / "out", *more) == 2
    assert text in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_search_among_graphs_refuses_what_runs_in_the_worker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--graphs", "--cluster", "tcp://127.0.0.1:8786", "--backend", "inprocess:mine:Mine")
    assert dmlcts("fuzz", *words, "--out", tmp_path / "out") == 2
    assert "use python:" in capsys.readouterr().err


def test_nothing_of_dask_is_imported_for_a_run_without_a_cluster(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom dmlcts.conformance.commands.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} & {'dask', 'distributed', 'tornado', 'cloudpickle', 'msgpack'}), 'imported')"
    )
    words = ("run", "--case", "ELEMENT_WISE_BIT_OR/UINT8/4d", "--out", str(tmp_path), "--quiet")
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, encoding="utf-8", timeout=200, check=True
    )
    assert done.stdout.splitlines()[-1] == "imported"
