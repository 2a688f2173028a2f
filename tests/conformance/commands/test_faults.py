"""``dmlcts faults``: what it prints, counts and exits with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from laws_on_trial import law_cases, with_law

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands.cli import exit_code_of
from dmlcts.conformance.commands.faults import common
from dmlcts.conformance.commands.faults import hunt as module
from dmlcts.conformance.commands.faults.faults import command
from dmlcts.conformance.faults import catalogue
from dmlcts.conformance.faults.catalogue import find_mutant, mutants_of
from dmlcts.conformance.faults.families import recurrent
from dmlcts.conformance.faults.hunt import subsumption
from dmlcts.conformance.faults.model.fault import Fault
from dmlcts.conformance.faults.model.mutant import Mutant
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.generator.suite.suite import find_case
from dmlcts.reference.registry import references
from dmlcts.spec.model.operator import MEASURED
from dmlcts.spec.reading.document import SpecError

ROUND, OR = "ELEMENT_WISE_ROUND", "ELEMENT_WISE_BIT_OR"

ZEROS = Mutant(ROUND, "zeros", Fault("gives 0", lambda desc, inputs, right: 0))
LAST = Mutant(ROUND, "last", Fault("loses the last element", lambda desc, inputs, right: right * (right != right.flat[-1])))
HARMLESS = Mutant(ROUND, "harmless", Fault("does nothing", lambda desc, inputs, right: right))
SAME = Mutant(ROUND, "same", HARMLESS.fault, no_fault="nothing is done")


@pytest.fixture(autouse=True)
def own_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(subsumption, "FILE", tmp_path / "hardest.json")
    subsumption.known_hardest.cache_clear()


def invoke(*arguments: str, verb: str = "hunt") -> Result:
    return CliRunner().invoke(command, [verb, ROUND, *(() if verb in ("subsume", "list") else ("--level", "smoke")), *arguments])


def plant(monkeypatch: pytest.MonkeyPatch, *planted: Mutant) -> None:
    """Makes these all the mutants of the operator."""
    known: Mapping[str, Mutant] = {mutant.label: mutant for mutant in planted}
    monkeypatch.setattr(common, "mutants_of", lambda name: known)
    monkeypatch.setattr(module, "find_mutant", lambda name: known[name.partition("/")[2]])


def as_json(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(invoke("--json", *arguments).stdout)
    return found


def test_faults_that_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ZEROS, SAME)
    result = invoke()
    assert result.exit_code == 0
    assert "1 of 1 faults are found" in result.stdout
    assert "CPU s" in result.stdout
    assert f"all faults of {ROUND} were hunted" in result.stdout  # since it was not worked out which are the hardest


def test_a_fault_that_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ZEROS, HARMLESS)
    result = invoke()
    assert result.exit_code == 1
    assert f"{ROUND}/harmless, which does nothing, survives" in result.stdout
    assert "1 of 2 faults are found" in result.stdout


@pytest.mark.parametrize(
    ("label", "way"),
    [
        ("harmless", "`cases.values` (the schema lists recipes and sets), `cases.attributes`, `cases.sizes`"),
        ("accepts/same-sizes", "breaks this rule alone"),
        ("InputTensor/doubled", "data or sizes of InputTensor"),
        ("RoundingMode/next", "`cases.attributes.RoundingMode`"),
    ],
)
def test_what_is_left_says_what_to_do(monkeypatch: pytest.MonkeyPatch, label: str, way: str) -> None:
    plant(monkeypatch, ZEROS, Mutant(ROUND, label, HARMLESS.fault))
    found = invoke().stdout
    assert f"to find {ROUND}/{label}: " in found
    assert way in found
    assert f"dmlcts run {ROUND} --backend python:dmlcts.conformance.faults:{ROUND}/{label} " in found
    assert "reviewed.yaml" in found


def test_a_step_that_the_reference_does_not_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(right: Any, *arguments: Any) -> Any:
        return right(*arguments)

    unused = Mutant(ROUND, "as-a-sum", Fault("adds up", stages={"pooling.sum": other}))
    used = Mutant(ROUND, "as-it-is", Fault("rounds", stages={"element_wise.function": other}))
    references()
    plant(monkeypatch, unused, used)
    found = invoke().stdout
    assert f"to find {ROUND}/as-a-sum: it replaces the step pooling.sum, which this reference does not use" in found
    assert "compute it by `sums` of reference/operators/pooling/windows.py" in found
    assert f"to find {ROUND}/as-it-is: data, attributes or sizes" in found


def test_many_that_are_left_share_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, *(Mutant(ROUND, f"lost/{number}", HARMLESS.fault) for number in range(5)))
    assert f"to find {ROUND}/lost/0, {ROUND}/lost/1, {ROUND}/lost/2 and 2 more: outputs of such sizes" in invoke().stdout


def test_a_law_that_cannot_be_evaluated_is_an_error_of_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, HARMLESS)
    wrong = with_law(ROUND, {"law": "f(x) == swapped(x, 7, 1)", "given": {"x": "InputTensor"}})
    monkeypatch.setattr("dmlcts.conformance.faults.hunt.hunt.operator_cases", lambda *_: tuple(law_cases(wrong)))
    found = invoke("--level", "core")
    assert isinstance(found.exception, SpecError)
    assert exit_code_of(found.exception) == 2
    assert "cases.relations.it.law: cannot be evaluated in" in str(found.exception)


def test_when_all_are_found_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ZEROS)
    assert "reviewed.yaml" not in invoke().stdout


def test_what_is_found_and_reviewed_says_which_side_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, Mutant(ROUND, "same", ZEROS.fault, no_fault="it is said"))
    found = invoke("--all").stdout
    assert "the entry must go" in found
    assert "to find" not in found


def test_what_is_no_fault_is_hunted_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ZEROS, SAME)
    result = invoke("--all", "--list")
    assert result.exit_code == 0
    assert "no fault: nothing is done" in result.stdout
    assert "1 of 1 faults are found; 1 more" in result.stdout
    plant(monkeypatch, ZEROS, Mutant(ROUND, "same", ZEROS.fault, no_fault="it is said"))
    result = invoke("--all")
    assert result.exit_code == 1
    assert f"{ROUND}/same, which gives 0, is found, and should not be" in result.stdout


def test_what_falls_whenever_another_falls_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ZEROS, LAST, SAME)
    monkeypatch.setattr(subsumption, "_FEW", 10_000)
    assert "1 of 2 faults are not found whenever another is" in invoke(verb="subsume").stdout
    result = invoke()
    assert result.exit_code == 0
    assert "1 of 1 faults are found; 1 are skipped, as they are found whenever one of these is" in result.stdout
    assert "have changed" not in result.stdout
    assert [entry["name"] for entry in as_json("--all")] == [f"{ROUND}/{label}" for label in ("zeros", "last", "same")]
    assert [entry["name"] for entry in as_json("-k", "zeros")] == [f"{ROUND}/zeros"]
    plant(monkeypatch, ZEROS, LAST, SAME, HARMLESS)
    result = invoke()
    assert "2 of 3 faults are found" in result.stdout
    assert (
        f"all faults of {ROUND} were hunted, as they are new or have changed; at the end `dmlcts faults subsume {ROUND}`"
        in result.stdout
    )


def test_a_table_that_names_no_operator_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent, "FAULTS", {**recurrent.FAULTS, "RNN LSTMS": {}})
    for cached in (catalogue._tables, mutants_of):
        cached.cache_clear()
    with pytest.raises(UsageError, match="FAULTS: 'LSTMS' matches no operator that has"):
        common.planted_in(ROUND)
    monkeypatch.undo()
    assert common.planted_in(ROUND)


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ZEROS, HARMLESS)
    found, harmless = as_json()
    assert find_case(found["kill"]["case"]).kind == found["kill"]["kind"]
    assert found["kill"]["status"] == "fail"
    assert "expected" in found["kill"]["message"]
    assert harmless == {
        "name": f"{ROUND}/harmless",
        "does": "does nothing",
        "basis": "documented",
        "no_fault": "",
        "open": "",
        "kill": None,
    }


def test_kinds_of_cases_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ZEROS, LAST)
    result = invoke("--count", "1", verb="by-kind")
    assert "Up to 1 faults of each operator, drawn by the seed" in result.stdout
    assert "found by no other kind" in result.stdout


def test_every_fault_is_listed_without_a_hunt(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ZEROS, SAME)
    assert invoke(verb="list").stdout == f"{ROUND}/zeros: gives 0\n{ROUND}/same: does nothing (no fault: nothing is done)\n"
    assert [entry["name"] for entry in json.loads(invoke("--json", "-k", "zeros", verb="list").stdout)] == [f"{ROUND}/zeros"]


def test_names_are_chosen() -> None:
    found = as_json("-k", "strides/ignored and not 4d")
    assert [entry["name"] for entry in found] == [f"{ROUND}/strides/ignored/{name}" for name in ("InputTensor", "OutputTensor")]


def test_documented_basis_plants_nothing_that_measured_cases_find(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ZEROS, Mutant(ROUND, "measured", ZEROS.fault, MEASURED))
    assert len(as_json("--basis", "documented")) == 1
    assert len(as_json()) == 2


def test_faults_under_conditions(tmp_path: Path) -> None:
    result = invoke("--count", "2", "--seed", "6", "--json", "--out", str(tmp_path), verb="conditions")
    found = json.loads(result.stdout)
    assert (found["seed"], found["level"], found["basis"]) == (6, "smoke", "measured")
    assert [fault["name"] for fault in found["faults"]] == [f"{ROUND}/if-6-{number}" for number in range(2)]
    counted = [fault for fault in found["faults"] if fault["fate"] in ("found", "survives")]
    assert sum(share["planted"] for share in found["shares"]["family"]) == len(counted)
    survivors = [fault for fault in counted if fault["fate"] == "survives"]
    assert result.exit_code == (1 if survivors else 0)
    assert {path.name for path in tmp_path.iterdir()} == {f"{fault['name'].replace('/', '-')}.json" for fault in survivors}
    assert all(fault["kill"] for fault in counted if fault["fate"] == "found")
    shown = invoke("--count", "2", "--seed", "6", verb="conditions").stdout
    assert f"of {len(counted)} faults on two and three conditions are found" in shown
    assert "may be chance" in shown
    assert all(fault["name"] in shown for fault in survivors)
    assert survivors, "another seed is needed: none of these is left over at level smoke"


def test_legal_variations() -> None:
    add = CliRunner().invoke(command, ["legal", "ELEMENT_WISE_ADD1", "--level", "smoke", "--json"])
    assert add.exit_code == 0
    assert json.loads(add.stdout) == {"variations": {"ELEMENT_WISE_ADD1": 1}, "alarms": []}
    assert "0 of 0 legal variations are called faults" in invoke(verb="legal").stdout


def test_processes_find_the_same() -> None:
    assert as_json("-k", "lost", "-n", "2") == as_json("-k", "lost")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ELEMENT_WISE_NONE"], "ELEMENT_WISE_NONE"),
        (["-k", "no-such-fault"], "no fault matches"),
        (["-k", "and and"], "not an expression"),
    ],
)
def test_usage_errors(arguments: Sequence[str], message: str) -> None:
    result = invoke(*arguments)
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)


def test_wrong_reference_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ReferenceBackend.compute
    monkeypatch.setattr(
        ReferenceBackend, "compute", lambda self, desc, inputs: {n: a + 1 for n, a in right(self, desc, inputs).items()}
    )
    result = invoke("-k", "lost")
    assert isinstance(result.exception, UsageError)
    assert "the reference itself does not pass ELEMENT_WISE_ROUND/" in str(result.exception)


def test_repro_of_a_kill_fails_on_the_command_line(tmp_path: Path) -> None:
    """As a user would run it: another process, and the mutant by its name."""
    mutant = find_mutant(f"{OR}/ATensor/next")
    assert mutant is mutants_of(OR)["ATensor/next"]
    for backend, code in ((mutant.backend, 1), ("reference", 0)):
        command = ["run", "--backend", backend, "--case", f"{OR}/UINT32/4d", "--out", str(tmp_path)]
        program = "import sys; from dmlcts.conformance.commands.cli import main; main(sys.argv[1:])"
        ran = subprocess.run(
            [sys.executable, "-c", program, *command], capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert ran.returncode == code, ran.stdout + ran.stderr


def test_shards_have_every_operator_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ZEROS)
    hunted: list[str] = []
    monkeypatch.setattr(
        module, "track_work", lambda mapped, function, work: iter([hunted.append(name) or ([], {}) for name, _ in work])
    )
    monkeypatch.setattr(module, "Hunt", lambda *arguments: None)
    for shard in ("1/2", "2/2"):
        CliRunner().invoke(command, ["hunt", OR, ROUND, "ELEMENT_WISE_ABS", "--shard", shard])
    assert sorted(hunted) == sorted([OR, ROUND, "ELEMENT_WISE_ABS"])
    for shard, message in (("2/2", "fewer operators than parts"), ("0/2", "a shard is I/N")):
        done = invoke("--shard", shard)
        assert done.exit_code != 0
        assert message in str(done.exception)


def test_faults_of_sequences_are_found_and_legal_variations_are_not() -> None:
    result = CliRunner().invoke(command, ["sequences", "CONVOLUTION", "--level", "core", "-k", "barriers or late-execution"])
    assert result.exit_code == 0, result.output
    assert "1 of 1 faults are found, and 0 of 1 legal variations are called faults" in result.stdout
    assert "1 of 1 operators, first by CONVOLUTION/FLOAT32/sequence/in-turn/4d" in result.stdout


def test_a_fault_of_sequences_that_no_case_finds_is_a_failure() -> None:
    arguments = ["sequences", "ELEMENT_WISE_ADD", "--level", "core", "-k", "barriers"]  # there is but the plainest form
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 1
    assert "0 of 1 faults are found" in result.stdout
    (found,) = json.loads(CliRunner().invoke(command, [*arguments, "--json"]).stdout)
    assert (found["label"], found["case"], found["operators"]) == ("no-barriers", "", 0)


def test_no_fault_of_sequences_of_that_name_is_a_usage_error() -> None:
    result = CliRunner().invoke(command, ["sequences", "-k", "nonsense"])
    assert result.exit_code != 0
    assert "no fault of sequences matches 'nonsense'" in str(result.exception)
