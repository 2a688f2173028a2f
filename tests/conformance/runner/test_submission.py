"""A submission: what its check says of a true one, and of each that somebody made a little better."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import jsonschema
import pytest
from commands import dmlcts

from dmlcts.conformance.runner.folder.submission import verify
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.promises import select_promises
from dmlcts.reports.claim.submission import (
    INDEX,
    RESULTS,
    SAMPLE,
    SubmissionError,
    read_submission,
    sample_of,
    write_submission,
)
from dmlcts.reports.record.record import API, PASS, PROMISE, UNSUPPORTED, WAIVED, Record, Result, read_record, write_record

SCHEMA = json.loads((Path(__file__).parents[3] / "reports" / "schema" / "submission.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a run of one operator, which passes."""
    out = tmp_path_factory.mktemp("run") / "results"
    assert dmlcts("run", "ELEMENT_WISE_BIT_OR", "--level", "core", "--out", out, "--quiet") == 0
    return out


@pytest.fixture(scope="module")
def submitted(run: Path) -> Path:
    file = run.parent / "submission.zip"
    assert dmlcts("submit", run, "--out", file, "--with-outputs") == 0
    return file


def problems(file: Path) -> list[str]:
    return [problem for check in verify(read_submission(file)) for problem in check.problems]


def remade(record: Record, folder: Path, waivers: tuple[bytes, ...] = ()) -> list[str]:
    """What is found in a submission of such a record, which somebody made anew with all its hashes."""
    write_record(record, folder / RESULTS)
    write_submission(record, (folder / RESULTS).read_bytes(), waivers, {}, folder / "made.zip")
    return problems(folder / "made.zip")


# A true one


def test_a_true_one_holds(submitted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert dmlcts("verify", submitted, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["outputs"], len(found["checks"])) == (True, min(SAMPLE, found["outputs"]), 8)
    assert found["outputs"] > 20
    jsonschema.validate(read_submission(submitted).index, SCHEMA)


def with_promises(record: Record) -> Record:
    """The record of a run that also held the promises of the API, all of which are kept."""
    wanted = select_promises(RunOptions(level="core", feature_level=record.manifest.feature_level))
    kept = tuple(
        Result(each.id, API, "", PROMISE, "documented", each.feature_level, PASS, repro=f"dmlcts run --case {each.id}")
        for each in wanted
    )
    return replace(
        record, manifest=replace(record.manifest, selected=len(record.results) + len(kept)), results=(*record.results, *kept)
    )


def test_a_true_one_with_promises_of_the_api_holds(run: Path, tmp_path: Path) -> None:
    assert remade(with_promises(read_record(run / RESULTS)), tmp_path) == []


def test_a_promise_that_was_left_out_is_named(run: Path, tmp_path: Path) -> None:
    whole = with_promises(read_record(run / RESULTS))
    found = remade(replace(whole, results=whole.results[:-1]), tmp_path)
    assert found == [f"without a result: 1 case, {whole.results[-1].case}"]


def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        assert dmlcts("submit", run, "--out", tmp_path / name) == 0
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_the_statement_names_the_hash_of_the_results(run: Path, submitted: Path) -> None:
    text = read_submission(submitted).files["STATEMENT.md"].decode()
    assert sha256((run / RESULTS).read_bytes()).hexdigest() in text
    assert "conforms to the documentation" in text


def test_nobody_chooses_the_sample() -> None:
    cases = [f"case {number}" for number in range(1000)]
    assert sample_of(cases, "a") == sample_of(reversed(cases), "a")
    assert len(set(sample_of(cases, "a")) & set(sample_of(cases, "b"))) < SAMPLE / 2


# What somebody made better


def first(record: Record, change: Callable[[Result], Result]) -> Record:
    return replace(record, results=(change(record.results[0]), *record.results[1:]))


FORGED: dict[str, tuple[Callable[[Record], Record], str]] = {
    "a case is gone": (
        lambda r: replace(r, results=r.results[1:], manifest=replace(r.manifest, selected=len(r.results) - 1)),
        "without a result: 1 case, ELEMENT_WISE_BIT_OR/",
    ),
    "a case is made up": (
        lambda r: replace(r, results=(*r.results, replace(r.results[0], case="ELEMENT_WISE_BIT_OR/UINT8/made-up")), manifest=replace(r.manifest, selected=len(r.results) + 1)),
        "no case of such a run: 1 case, ELEMENT_WISE_BIT_OR/UINT8/made-up",
    ),
    "a case has another type": (lambda r: first(r, lambda one: replace(one, data_type="INT8")), "another operator, data type"),
    "a case is measured": (
        lambda r: first(replace(r, manifest=replace(r.manifest, basis="measured")), lambda one: replace(one, basis="measured")),
        "another operator, data type, kind, basis or feature level",
    ),
    "a case is excluded by nothing": (
        lambda r: first(
            replace(r, manifest=replace(r.manifest, backend={**r.manifest.backend, "operators": ["GEMM"]})),
            lambda one: replace(one, status=UNSUPPORTED, undeclared="operator"),
        ),
        "supported, although the description excludes it",
    ),
    "a case lacked memory": (
        lambda r: first(r, lambda one: replace(one, status=UNSUPPORTED, undeclared="memory")),
        "recorded as excluded by the description, which does not exclude it: 1 case",
    ),
    "a case is of a type that is declared": (
        lambda r: first(r, lambda one: replace(one, status=UNSUPPORTED, undeclared="data type")),
        "recorded as excluded by the description, which does not exclude it: 1 case",
    ),
    "the suite was another": (lambda r: replace(r, manifest=replace(r.manifest, suite_version="9.9")), "the suite was 9.9"),
    "the spec was another": (lambda r: replace(r, manifest=replace(r.manifest, spec_version="abc")), "the spec's promises were abc"),
    "the level is lower": (lambda r: replace(r, manifest=replace(r.manifest, level="smoke")), "level smoke claims nothing"),
    "the selection is a hidden one": (lambda r: replace(r, manifest=replace(r.manifest, selection="BIT_OR: UINT8")), "only some cases of its operators"),
    "a shard is the whole": (lambda r: replace(r, manifest=replace(r.manifest, shard="1/2")), "merge all shards first"),
    "a waiver file is not there": (
        lambda r: replace(r, manifest=replace(r.manifest, waivers=[{"file": "w.yaml", "sha256": "0" * 64}])),
        "the run had 1 waiver file, and these 0 are not the same",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", FORGED)
def test_what_was_made_better_does_not_hold(how: str, run: Path, tmp_path: Path) -> None:
    """With hashes, index and claim made anew, so that nothing but the record itself can tell."""
    change, problem = FORGED[how]
    found = remade(change(read_record(run / RESULTS)), tmp_path)
    assert any(problem in each for each in found), found


WAIVER = b"waivers: [{cases: ELEMENT_WISE_BIT_OR/UINT8/4d, reason: known, issue: somewhere, expires: 2999-01-01}]"
EXPIRED = WAIVER.replace(b"2999", b"2001")


@pytest.mark.parametrize(
    ("waiver", "status", "reason", "problem"),
    [
        (WAIVER, WAIVED, "known (somewhere)", ""),
        (WAIVER, WAIVED, "another (somewhere)", "no waiver that is valid explains it"),
        (WAIVER, PASS, "", "it must be an unexpected pass"),
        (EXPIRED, WAIVED, "known (somewhere)", "no waiver that is valid explains it"),
        (EXPIRED, PASS, "", ""),
        (b"waivers: nothing", PASS, "", "waivers/1.yaml"),
    ],
)
def test_waivers_must_explain_what_is_waived(
    waiver: bytes, status: str, reason: str, problem: str, run: Path, tmp_path: Path
) -> None:
    record = read_record(run / RESULTS)
    assert any(result.case == "ELEMENT_WISE_BIT_OR/UINT8/4d" for result in record.results)
    results = tuple(
        replace(r, status=status, waiver=reason) if r.case == "ELEMENT_WISE_BIT_OR/UINT8/4d" else r for r in record.results
    )
    manifest = replace(record.manifest, waivers=[{"file": "w.yaml", "sha256": sha256(waiver).hexdigest()}])
    found = remade(Record(manifest, results), tmp_path, (waiver,))
    assert any(problem in each for each in found) if problem else found == []


def entries(file: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            yield name, archive.read(name)


def rewrite(submitted: Path, file: Path, change: Callable[[dict[str, bytes]], None], hashes: bool = True) -> None:
    """Writes a changed copy; with the right ``hashes``, as somebody would who knows how."""
    found = dict(entries(submitted))
    change(found)
    if hashes:
        index = json.loads(found[INDEX])
        index["files"] = {name: sha256(data).hexdigest() for name, data in found.items() if name != INDEX}
        found[INDEX] = json.dumps(index).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in found.items():
            archive.writestr(name, data)


def test_a_wrong_output_is_judged_wrong(submitted: Path, tmp_path: Path) -> None:
    def flip(found: dict[str, bytes]) -> None:
        found["outputs/7.bin"] = bytes([found["outputs/7.bin"][0] ^ 1]) + found["outputs/7.bin"][1:]

    rewrite(submitted, tmp_path / "flipped.zip", flip)
    (problem,) = problems(tmp_path / "flipped.zip")
    assert "1 of " in problem
    assert "elements wrong" in problem


def test_outputs_of_another_size_or_of_other_cases_do_not_count(submitted: Path, tmp_path: Path) -> None:
    def shorten(found: dict[str, bytes]) -> None:
        found["outputs/1.bin"] = found["outputs/1.bin"][:-1]

    rewrite(submitted, tmp_path / "short.zip", shorten)
    assert "and the outputs take" in problems(tmp_path / "short.zip")[0]

    def choose(found: dict[str, bytes]) -> None:
        index = json.loads(found[INDEX])
        index["sample"].reverse()
        found[INDEX] = json.dumps(index).encode()

    rewrite(submitted, tmp_path / "chosen.zip", choose)
    assert problems(tmp_path / "chosen.zip") == ["the outputs are of other cases than those that the record's hash chooses"]


def test_a_claim_that_does_not_follow_is_found(submitted: Path, tmp_path: Path) -> None:
    def boast(found: dict[str, bytes]) -> None:
        found["claim.json"] = found["claim.json"].replace(b'"level": "core"', b'"level": "full"')

    rewrite(submitted, tmp_path / "boast.zip", boast)
    assert problems(tmp_path / "boast.zip") == ["claim.json: level is not what the record shows"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda found: found.update({RESULTS: found[RESULTS] + b"\n"}), "results.jsonl was changed: its SHA-256 is"),
        (lambda found: found.pop(INDEX), "lacks submission.json"),
        (lambda found: found.pop("claim.json"), "lacks claim.json"),
        (lambda found: found.update({"../evil": b""}), "holds '../evil', which no submission has"),
        (lambda found: found.update({"waivers/1.yaml": b""}), "does not list waivers/1.yaml"),
        (lambda found: found.update({INDEX: b"{}"}), "submission.json: "),
        (lambda found: found.update({INDEX: b"\xff"}), "submission.json: "),
        (lambda found: found.update({"STATEMENT.md": b" " * 5_000_000}), "STATEMENT.md has more than 4,194,304 bytes"),
    ],
)
def test_what_is_no_submission_is_refused(
    change: Callable[[dict[str, bytes]], None], problem: str, submitted: Path, tmp_path: Path
) -> None:
    rewrite(submitted, tmp_path / "x.zip", change, hashes=False)
    with pytest.raises(SubmissionError) as error:
        read_submission(tmp_path / "x.zip")
    assert problem in str(error.value)
    assert dmlcts("verify", tmp_path / "x.zip") == 2


def test_what_is_no_zip_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04 and nothing more")
    assert dmlcts("verify", tmp_path / "x.zip") == 2
    assert dmlcts("verify", tmp_path / "none.zip") == 2


# The command that makes one


def test_only_a_whole_run_can_be_submitted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dmlcts("run", "ELEMENT_WISE_BIT_OR", "--level", "core", "-k", "4d and UINT8", "--out", tmp_path / "part", "--quiet")
    assert dmlcts("submit", tmp_path / "part", "--out", tmp_path / "x.zip") == 2
    assert "only some cases of its operators were selected" in capsys.readouterr().err
    assert not (tmp_path / "x.zip").exists()


WRONG = """
from dataclasses import replace
from dmlcts.conformance.backends.reference import ReferenceBackend

class Other(ReferenceBackend):
    def __init__(self):
        super().__init__()
        self.info = replace(self.info, name="other")

class Wrong(ReferenceBackend):
    def compute(self, desc, inputs):
        return {name: array ^ 1 for name, array in super().compute(desc, inputs).items()}
"""


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Other", "the backend is not the run's: its name was 'reference' and is 'other'"),
        ("Wrong", "passed in the run, and now it does not: "),
    ],
)
def test_who_answers_again_must_be_who_ran_and_right(
    name: str, problem: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "answers_again.py").write_text(WRONG, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    backend = f"inprocess:answers_again:{name}"
    assert dmlcts("submit", run, "--with-outputs", "--backend", backend, "--out", tmp_path / "x.zip") == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "x.zip").exists()


# The claim beside the results


@pytest.mark.parametrize("command", ["report", "merge", "gate", "submit"])
def test_results_that_were_edited_are_refused_beside_their_claim(
    command: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "edited").mkdir()
    for name in (RESULTS, "claim.json"):
        (tmp_path / "edited" / name).write_bytes((run / name).read_bytes())
    record = read_record(run / RESULTS)
    write_record(first(record, lambda one: replace(one, seconds=9.0)), tmp_path / "edited" / RESULTS)
    more = ("--baseline", run) if command == "gate" else ("--out", tmp_path / "out")
    for place in (tmp_path / "edited", tmp_path / "edited" / RESULTS):
        assert dmlcts(command, place, *more) == 2
        assert "it was edited, or is another run's" in capsys.readouterr().err
    (tmp_path / "edited" / "claim.json").unlink()
    if command == "submit":
        assert dmlcts(command, tmp_path / "edited", *more) == 0
