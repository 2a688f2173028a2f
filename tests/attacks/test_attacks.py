"""A small sample of the attacks of ``run.py``, the same ones every time, so that what held stays so; and that the engine finds what is broken.

``python tests/attacks/run.py`` tries all.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from attack import Attack, Batch, Must, Outcome, Run, judged, tried, universal
from expect import (
    any_of,
    costs_only,
    exits,
    file_text,
    green,
    never_green,
    no_claim,
    no_file,
    prints,
    prints_no,
    refuses,
    status,
    within,
)
from run import TABLES, attacks, grouped, verdict

ALL = list(attacks())
QUICK = [(table, attack) for table, attack in ALL if attack.quick]
IN_THIS_PROCESS = [(table, attack) for table, attack in QUICK if not any(isinstance(step, Run | Batch) for step in attack.steps)]
COMMANDS = [(table, attack) for table, attack in QUICK if (table, attack) not in IN_THIS_PROCESS]

WRONG = "ELEMENT_WISE_BIT_OR/UINT8/4d"
RECORD = '{"manifest": {}}\n{"result": {"case": "ELEMENT_WISE_BIT_OR/UINT8/4d", "status": "STATUS"}}\n{"result": {"case": "other", "status": "pass"}}\n'


@pytest.mark.parametrize("table", sorted({table for table, _ in IN_THIS_PROCESS}))
def test_attacks_in_this_process_hold(table: str) -> None:
    found = {attack.name: broken for name, attack in IN_THIS_PROCESS if name == table and (broken := verdict(attack))}
    assert not found


@pytest.mark.parametrize(("table", "attack"), COMMANDS, ids=lambda value: value.name if isinstance(value, Attack) else value)
def test_attacks_by_command_hold(table: str, attack: Attack) -> None:
    assert verdict(attack) == []


# The tables


def test_every_table_has_attacks_and_a_self_check() -> None:
    counted = {table: [attack for name, attack in ALL if name == table] for table in TABLES}
    assert len(ALL) > 1000
    for table, rows in counted.items():
        assert len(rows) == 0 or any(attack.self_check for attack in rows), table
        assert len({attack.name for attack in rows}) == len(rows), f"{table} has two attacks of one name"


def test_those_that_share_a_process_are_batches() -> None:
    groups = list(grouped(ALL))
    assert sum(map(len, groups)) == len(ALL)
    for group in groups:
        assert len(group) == 1 or all(isinstance(step, Batch) for _, attack in group for step in attack.steps)


# The engine


def test_what_holds_for_every_command() -> None:
    run, fine = Run(()), Outcome(0, "", "", 1.0, Path())
    suite = f'Traceback (most recent call last):\n  File "{Path(__file__).parents[2]}/conformance/x.py", line 1, in f\nValueError\n'
    foreign = f'{suite.removesuffix("ValueError" + chr(10))}  File "/tmp/x/mine.py", line 2, in run\nValueError\n'
    assert universal(run, fine) == ""
    assert universal(run, replace(fine, errors=suite)) == "a traceback of the suite"
    assert universal(run, replace(fine, errors=foreign)) == ""
    assert universal(run, replace(fine, errors=foreign + suite)) == "a traceback of the suite"
    assert universal(run, replace(fine, seconds=1000.0)) == "took 1000 s"
    assert universal(run, replace(fine, left=("sleep 600",))) == "left behind: sleep 600"
    assert universal(replace(run, leaves=True), replace(fine, left=("sleep 600",))) == ""
    assert judged(replace(run, must=(exits(1),)), fine) == ["exit 0 instead of 1 (exit 0: '': '')"]


def recorded(folder: Path, wrong: str, claim: str = '{"ok": false, "claim": ""}') -> None:
    (folder / "out").mkdir(exist_ok=True)
    (folder / "out" / "results.jsonl").write_text(RECORD.replace("STATUS", wrong), encoding="utf-8")
    (folder / "out" / "claim.json").write_text(claim, encoding="utf-8")


# name: (expectation, exit code, output, errors, status of the wrong case, claim, whether it holds)
JUDGED: list[tuple[Must, int, str, str, str, str, bool]] = [
    (never_green, 1, "does NOT conform to", "", "fail", "{}", True),
    (never_green, 0, "", "", "fail", "{}", False),
    (never_green, 1, "", "", "pass", "{}", False),
    (never_green, 1, "", "", "fail", '{"ok": true}', False),
    (never_green, 1, "", "", "fail", '{"claim": "conforms"}', False),
    (never_green, 1, "impl conforms to the", "", "fail", "{}", False),
    (never_green, 1, "PASS: no regression", "", "fail", "{}", False),
    (no_claim, 1, "", "", "pass", "{}", True),
    (no_claim, 0, "", "", "pass", "{}", False),
    (no_claim, 1, "", "", "pass", '{"ok": true}', False),
    (green, 0, "", "", "pass", "{}", True),
    (green, 0, "", "", "fail", "{}", False),
    (green, 1, "", "", "pass", "{}", False),
    (exits(2, 3), 3, "", "", "pass", "{}", True),
    (exits(2, 3), -9, "", "", "pass", "{}", False),
    (prints("b"), 0, "a", "b", "pass", "{}", True),
    (prints("c"), 0, "a", "b", "pass", "{}", False),
    (prints_no("c"), 0, "a", "b", "pass", "{}", True),
    (prints_no("b"), 0, "a", "b", "pass", "{}", False),
    (refuses("x.yaml"), 2, "", "dmlcts: x.yaml: no", "pass", "{}", True),
    (refuses("x.yaml"), 2, "", "dmlcts: y.yaml: no", "pass", "{}", False),
    (refuses(), 2, "", "", "pass", "{}", False),
    (refuses(), 2, "", "a\nb\nc\nd", "pass", "{}", False),
    (refuses(), 1, "", "dmlcts: no", "pass", "{}", False),
    (status(WRONG, "fail"), 1, "", "", "fail", "{}", True),
    (status(WRONG, "fail"), 1, "", "", "error", "{}", False),
    (status("missing", "fail"), 1, "", "", "fail", "{}", False),
    (costs_only(WRONG), 1, "", "", "fail", "{}", True),
    (costs_only(WRONG), 1, "", "", "pass", "{}", False),
    (costs_only("other"), 1, "", "", "fail", "{}", False),
    (within(2), 0, "", "", "pass", "{}", True),
    (within(0.5), 0, "", "", "pass", "{}", False),
    (file_text("out/claim.json", "{}"), 0, "", "", "pass", "{}", True),
    (file_text("out/claim.json", "{}"), 0, "", "", "pass", '{"ok": false}', False),
    (file_text("missing", ""), 0, "", "", "pass", "{}", False),
    (no_file("missing"), 0, "", "", "pass", "{}", True),
    (no_file("out/claim.json"), 0, "", "", "pass", "{}", False),
    (any_of(exits(1), exits(0)), 0, "", "", "pass", "{}", True),
    (any_of(exits(1), exits(2)), 0, "", "", "pass", "{}", False),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(JUDGED)))
def test_an_expectation_holds_and_breaks(row: int, tmp_path: Path) -> None:
    must, code, output, errors, wrong, claim, holds = JUDGED[row]
    recorded(tmp_path, wrong, claim)
    assert (must(Outcome(code, output, errors, 1.0, tmp_path)) == "") == holds


def test_a_step_that_raises_is_broken() -> None:
    def fails(folder: Path) -> None:
        raise ValueError("no")

    assert tried(Attack("x", (fails,))) == ["raises ValueError: no"]
    assert tried(Attack("x", (lambda folder: "what is broken",))) == ["what is broken"]
    assert verdict(Attack("x", (lambda folder: "",), self_check=True)) == ["a self-check: the engine finds nothing broken"]
    assert verdict(Attack("x", (fails,), self_check=True)) == []


@pytest.mark.skipif(not Path("/proc").exists(), reason="the environment of other processes")
def test_what_a_command_leaves_behind_is_found_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attack._GRACE", 0.3)
    run = Run(
        ("-c", "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"),
        program=("python3",),
    )
    (broken,) = tried(Attack("x", (run,)))
    assert broken.startswith("left behind: ")
    assert "time.sleep(600)" in broken
