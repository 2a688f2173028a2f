"""``dmlcts mutants``: what it prints, counts and exits with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands import mutants as module
from dmlcts.conformance.mutants.catalogue import find_mutant, mutants
from dmlcts.conformance.mutants.mutant import Mutant
from dmlcts.conformance.runner.options import UsageError
from dmlcts.generator.suite import find_case

ROUND, OR = "ELEMENT_WISE_ROUND", "ELEMENT_WISE_BIT_OR"
FAULT = find_mutant("ELEMENT_WISE_ROUND/mode-ignored")
HARMLESS = Mutant("planted/harmless", (ROUND,), "does nothing")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(module.command, ["--level", "smoke", *arguments])


def plant(monkeypatch: pytest.MonkeyPatch, *planted: Mutant) -> None:
    """Makes these all the mutants there are."""
    known = {mutant.name: mutant for mutant in planted}
    monkeypatch.setattr(module, "mutants", lambda: planted)
    monkeypatch.setattr(module, "find_mutant", known.__getitem__)


def as_json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke("--json", *arguments).stdout)
    return found


def test_fault_that_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, FAULT)
    result = invoke()
    assert result.exit_code == 0
    assert "ELEMENT_WISE_ROUND/FLOAT32/example/toward-zero" in result.stdout
    assert "1 of 1 faults are found" in result.stdout


def test_fault_that_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, FAULT, HARMLESS)
    result = invoke()
    assert result.exit_code == 1
    assert "survives: planted/harmless, which does nothing, in ELEMENT_WISE_ROUND" in result.stdout
    assert "1 of 2 faults are found" in result.stdout


def test_what_is_no_fault_may_survive(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, FAULT, Mutant("planted/same", (ROUND,), "does nothing", equivalent="nothing is done"))
    result = invoke()
    assert result.exit_code == 0
    assert "no fault: nothing is done" in result.stdout
    assert "1 of 1 faults are found; 1 more" in result.stdout


def test_what_is_said_to_be_no_fault_and_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, Mutant("planted/same", (ROUND,), "lies", equivalent="nothing is done", value=FAULT.value))
    result = invoke()
    assert result.exit_code == 1
    assert "found, and should not be: planted/same, which lies" in result.stdout


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    same = Mutant("planted/same", (ROUND, OR), "does nothing", equivalent="nothing is done")
    plant(monkeypatch, FAULT, HARMLESS, same)
    found = as_json()
    assert found["killed"] == 1
    assert found["total"] == 2
    assert found["equivalent"] == 1
    assert found["survivors"] == [
        {"name": "planted/harmless", "operators": [ROUND], "equivalent": False, "reason": ""},
        {"name": "planted/same", "operators": [ROUND, OR], "equivalent": True, "reason": "nothing is done"},
    ]
    assert found["by_operator"] == {
        ROUND: {"killed": 1, "total": 2, "equivalent": 1},
        OR: {"killed": 0, "total": 0, "equivalent": 1},
    }
    killed, harmless, _ = found["mutants"]
    assert killed["killed"]
    kill = killed["kills"][ROUND]
    assert find_case(kill["case"]).operator == ROUND
    assert kill["status"] == "fail"
    assert "expected" in kill["message"]
    assert (harmless["killed"], harmless["kills"], harmless["does"]) == (False, {}, "does nothing")


def test_operators_are_chosen_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Mutant("planted/wrong", (ROUND, OR), "gives zeros", value=lambda desc, inputs, right: np.ones_like(right))
    plant(monkeypatch, both)
    assert list(as_json("element_wise_bit_or")["by_operator"]) == [OR]
    assert as_json("element_wise_bit_or")["mutants"][0]["operators"] == [OR]


def test_names_are_chosen() -> None:
    found = as_json(ROUND, "-k", "strides/ignored and not 4d")
    assert [entry["name"] for entry in found["mutants"]] == ["strides/ignored/input-0", "strides/ignored/output"]


def test_documented_basis_plants_nothing_that_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, FAULT, find_mutant("ELEMENT_WISE_ROUND/nan-to-0"))
    assert len(as_json("--basis", "documented")["mutants"]) == 1
    assert len(as_json()["mutants"]) == 2


def test_processes_find_the_same() -> None:
    assert as_json(OR, "-k", "order", "-n", "2") == as_json(OR, "-k", "order")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ELEMENT_WISE_NONE"], "ELEMENT_WISE_NONE"),
        (["-k", "no-such-mutant"], "no mutant matches"),
        (["-k", "and and"], "not an expression"),
    ],
)
def test_usage_errors(arguments: Sequence[str], said: str) -> None:
    result = invoke(*arguments)
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)


def test_wrong_reference_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ReferenceBackend.compute
    monkeypatch.setattr(
        ReferenceBackend, "compute", lambda self, desc, inputs: {n: a + 1 for n, a in right(self, desc, inputs).items()}
    )
    result = invoke(ROUND, "-k", "order")
    assert isinstance(result.exception, UsageError)
    assert "the reference itself does not pass ELEMENT_WISE_ROUND/" in str(result.exception)


def test_repro_of_a_kill_fails_on_the_command_line(tmp_path: object) -> None:
    """As a user would run it: another process, and the mutant by its name."""
    mutant = find_mutant("order/ends-exchanged")
    case = "ELEMENT_WISE_BIT_OR/UINT32/4d"
    assert mutant in mutants()
    for backend, code in ((mutant.backend, 1), ("reference", 0)):
        command = ["run", "--backend", backend, "--case", case, "--out", str(tmp_path)]
        program = "import sys; from dmlcts.conformance.commands.cli import main; main(sys.argv[1:])"
        ran = subprocess.run(
            [sys.executable, "-c", program, *command], capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
