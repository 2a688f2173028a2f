"""Options that select nothing, everything twice, or something else than they seem to: an error in a line, or a run of exactly that."""

from __future__ import annotations

from collections.abc import Iterator

from attack import Attack, Batch, Outcome, Run
from expect import exits, no_file, prints_no, refuses

CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"
SMOKE = ("--level", "smoke", "-q", "--out", "out")

REFUSED: tuple[tuple[str, ...], ...] = (
    *(("BIT_OR", *SMOKE, "--shard", shard) for shard in ("0/0", "0/1", "2/1", "1/0", "-1/2", "1", "1/", "/1", "1/2/3", "1 / 2", "١/٢", "1/10000", "01/2x", "a/b", "1.0/2", "+1/2", "1/2\n")),
    *(("BIT_OR", *SMOKE, "-k", expression) for expression in ("", " ", "(", ")", "()", "not", "and", "or", "BIT_OR and", "BIT_OR or or X", "not not", "BIT_OR)", "((BIT_OR)", "nothing_at_all", "BIT_OR and not BIT_OR", "'", '"BIT_OR', "\\", "[", "BIT_OR xor UINT8", "a" * 100_000, "(" * 3_000, "not " * 10_000 + "BIT_OR", "__import__('os')", "\x00", "True") if expression.strip()),
    *((name, *SMOKE) for name in ("NO_SUCH", "", " ", "*X*Y*Z", "[", "BIT_OR ", "BIT OR", "DML_OPERATOR_", "../ADD", "ADD,GEMM", "add;gemm", "ELEMENT_WISE_", "ADD/FLOAT32", "%s", "\u0391DD")),
    *((*SMOKE, "--case", case) for case in ("", "X", "ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_BIT_OR/", f"{CASE}/", f"/{CASE}", f"{CASE} ", CASE.lower(), f"{CASE}*", f"{CASE}\n", "../../x", "ELEMENT_WISE_BIT_OR//4d", "x" * 100_000)),
    *(("BIT_OR", *SMOKE, "--feature-level", level) for level in ("9_9", "6.4.1", "six", "0_0", "1", "-1_0", "6_5", "٦_٤", "6_4_", "latest")),
    *(("BIT_OR", *SMOKE, "--timeout", limit) for limit in ("0", "-1", "nan", "inf", "1e400", "soon", "")),
    *(("BIT_OR", *SMOKE, "--maxfail", number) for number in ("0", "-1", "1.5", "x", "")),
    *(("BIT_OR", *SMOKE, "-n", number) for number in ("-1", "1.5", "x", "Auto", "")),
    *(("BIT_OR", *SMOKE, "--require", what) for what in ("NO_SUCH", "BIT_OR/NO_TYPE", "/UINT8", "BIT_OR/", "*", "missing.yaml", "")),
    *(("BIT_OR", *SMOKE, "--waivers", file) for file in ("missing.yaml", "", ".", "/dev/null/x")),
    *(("BIT_OR", *SMOKE, "--case-file", file) for file in ("missing.json", ".", "/dev/zero", "empty.json", "noise.json")),
    *(("BIT_OR", *SMOKE, "--rerun-failed", file) for file in ("missing", ".", "empty.json", "/dev/zero")),
    ("BIT_OR", *SMOKE, "--level", "all"), ("BIT_OR", *SMOKE, "--basis", "both"), ("BIT_OR", *SMOKE, "--resume"), ("BIT_OR", *SMOKE, "--no-such-option"),
    ("BIT_OR", *SMOKE, "--backend", ""), ("BIT_OR", *SMOKE, "--backend", "reference:x"), ("BIT_OR", *SMOKE, "--backend", "python:"), ("BIT_OR", *SMOKE, "--backend", "inprocess:x"), ("BIT_OR", *SMOKE, "--backend", "process:"),
    ("BIT_OR", *SMOKE, "--backend", "process:   "), ("BIT_OR", *SMOKE, "--backend", ":"), ("BIT_OR", *SMOKE, "--backend", "REFERENCE"), ("BIT_OR", *SMOKE, "--backend", "python:os:getcwd"), ("BIT_OR", *SMOKE, "--backend", "python:os.path:join:x"),
    ("BIT_OR", "--level", "huge", "-n", "2", "-q", "--out", "out"),
)  # fmt: skip

SAME: tuple[tuple[str, ...], ...] = (
    ("BIT_OR", "BIT_OR", "bit_or", "ELEMENT_WISE_BIT_OR", "DML_OPERATOR_ELEMENT_WISE_BIT_OR", "--operator", "BIT_O[R]"),
    ("*BIT_OR", "--operator", "ELEMENT_WISE_BIT_OR"),
    ("BIT_O?",),
    ("BIT_OR", "-k", "BIT_OR or BIT_OR"),
    ("BIT_OR", "-k", "not nothing_at_all"),
    ("BIT_OR", "-k", "((BIT_OR))"),
    ("BIT_OR", "-k", "bit_or AND NOT nothing" if False else "bit_or and not nothing"),
    ("BIT_OR", "--shard", "1/1"),
    ("BIT_OR", "--feature-level", "6_4"),
    ("BIT_OR", "--basis", "documented"),
)  # fmt: skip
"""Ways to select the same cases."""


def all_passed(outcome: Outcome) -> str:
    statuses = [result["status"] for result in outcome.results().values()]
    return "" if outcome.code == 0 and statuses and set(statuses) == {"pass"} else f"{len(statuses)} results, {set(statuses)}"


def counted(number: int) -> object:
    return lambda outcome: "" if len(outcome.results()) == number else f"{len(outcome.results())} cases instead of {number}"


def attacks() -> Iterator[Attack]:
    refused = (refuses(), exits(2, 3), no_file("out/results.jsonl"), prints_no("conforms"))
    files = {"empty.json": "", "noise.json": bytes(range(256))}
    for arguments in REFUSED:
        shown = " ".join(word for word in arguments if word not in SMOKE)
        yield Attack(f"refused: {shown[:80]!r}", (Batch((Run(("run", *arguments), refused),)),), files, together=True)
    for arguments in SAME:
        steps = (Batch((Run(("run", *arguments, *SMOKE), (all_passed,)),)), same_as_alone)
        yield Attack(f"the same as BIT_OR: {' '.join(arguments)}", steps)
    yield Attack("a case twice is one", (Batch((Run(("run", "--case", CASE, "--case", CASE, *SMOKE), (all_passed, counted(1))),)),))  # type: ignore[arg-type]
    shards = [
        Run(("run", "BIT_OR", "--level", "smoke", "-q", "--shard", f"{n}/3", "--out", f"s{n}"), (exits(0, 1),)) for n in (1, 2, 3)
    ]
    yield Attack(
        "shards are a partition",
        (Batch((*shards, Run(("merge", "s1", "s2", "s3", "--out", "out/results.jsonl"), (exits(0), all_passed)))), same_as_alone),
    )
    yield Attack(
        "shards that lack one are the whole",
        (Batch((*shards, Run(("merge", "s1", "s2", "--out", "out/results.jsonl"), (exits(0),)))),),
        self_check=True,
    )
    yield Attack("a right choice is refused", (Batch((Run(("run", "BIT_OR", *SMOKE), refused),)),), self_check=True)


def same_as_alone(folder: object) -> str:
    """The record has each case of the operator once."""
    from pathlib import Path

    from dmlcts.conformance.runner.planning.options import RunOptions
    from dmlcts.conformance.runner.planning.selection import selected_cases
    from dmlcts.reports.record.record import read_record

    found = sorted(result.case for result in read_record(Path(str(folder)) / "out/results.jsonl").results)
    wanted = sorted(case.id for case in selected_cases(RunOptions(level="smoke", operators=("BIT_OR",))))
    return "" if found == wanted else f"{len(found)} cases instead of {len(wanted)}"


ATTACKS = tuple(attacks())
