"""Records that are damaged, duplicated, mixed, forged, huge or hostile, read by each command that reads one.

``GOOD`` is the record of a complete run that passed, ``BAD`` one of the same cases of which one failed. A damaged one is an error in a line (exit code 2), or is
not green; no text of a record attacks what shows it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from attack import Attack, Batch, Must, Outcome, Run
from expect import exits, prints_no

from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.record.record import Manifest, RecordError, Result, read_record, result_json

ATTACK = "\x1b]0;owned\x07\x1b[2J\n::error file=x::owned\n##vso[task.complete result=Succeeded]\n<script>alert(1)</script>]]></failure>\u202e\u2028[x](javascript:alert(1)) |`|@all"
MANIFEST = Manifest(
    suite_version="0.1.0", spec_version="abc", backend={"name": "impl", "version": "1.0", "device": "GPU"}, backend_spec="process:./impl",
    command="dmlcts run", level="core", basis="documented", feature_level="6_4", seed="", platform={"system": "Linux"}, started="2026-01-02T03:04:05Z",
    finished="2026-01-02T03:04:15Z", seconds=10.0, selected=6, inputs="abc",
)  # fmt: skip
CASES = [f"ELEMENT_WISE_BIT_OR/{kind}/4d" for kind in ("UINT8", "UINT16", "UINT32", "INT8", "INT16", "INT32")]


def result(case: str, status: str = "pass", **more: Any) -> Result:
    operator, data_type, _ = case.split("/")
    return Result(case, operator, data_type, "table", "documented", "3_0", status, **more)


PASSED = [result(case) for case in CASES]
FAILED = [replace(PASSED[0], status="fail", message="1 of 30 elements wrong", wrong=1, elements=30), *PASSED[1:]]

Lines = list[dict[str, Any]]


def lines(results: list[Result], **changes: Any) -> Lines:
    manifest = asdict(replace(MANIFEST, **{"selected": len(results), **changes}))
    return [{"manifest": manifest}, *({"result": result_json(each)} for each in results)]


def text(entries: Lines) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


GOOD, BAD = text(lines(PASSED)), text(lines(FAILED))
FILES = {"good.jsonl": GOOD, "bad.jsonl": BAD}


def outside_code(text: str) -> str:
    """Markdown without its fenced blocks and code spans, in which nothing is markup."""
    return re.sub(r"(`+).+?(?<!`)\1(?!`)", "", re.sub(r"^(```+).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL))


def clean(outcome: Outcome) -> str:
    """Neither a terminal nor a report is attacked."""
    shown = {"printed": outcome.printed}
    for folder in ("report",):
        for file in (outcome.folder / folder).rglob("*"):
            if file.is_file():
                shown[file.name] = file.read_text(encoding="utf-8", errors="replace")
    for name, content in shown.items():
        if found := re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202e]", content):
            return f"{name} has the control character {found[0]!r}"
        if re.search(r"^\s*::error file=x|##vso\[task", content, re.MULTILINE):
            return f"{name} has a command of a CI system"
        if name.endswith((".html", ".md")) and "<script>alert" in (outside_code(content) if name.endswith(".md") else content):
            return f"{name} has a script"
    return ""


def small(outcome: Outcome) -> str:
    return f"prints {len(outcome.printed):,} characters" if len(outcome.printed) > 200_000 else ""


def one_line(outcome: Outcome) -> str:
    return (
        ""
        if outcome.code != 2 or len(outcome.errors.strip().splitlines()) <= 4
        else f"an error of {len(outcome.errors.splitlines())} lines"
    )


def readers(name: str, *must: Must) -> Batch:
    """Each command that reads a record, on a file."""
    musts = (*must, clean, small, one_line, prints_no("internal error"))
    commands = (
        ("report", name, "--out", "report"),
        ("explain", name),
        ("gate", name, "--baseline", "good.jsonl"),
        ("gate", name, "--baseline", "bad.jsonl", "--github", "--markdown", "gate.md", "--json", "gate.json"),
        ("bounds", name),
    )
    return Batch(tuple(Run(command, musts) for command in commands))


def none_green(outcome: Outcome) -> str:
    """A command that judges the damaged file does not end with 0; those that only look at it may."""
    return "exit 0" if outcome.code == 0 and re.search(r"conforms to|^PASS\b|first look", outcome.output, re.MULTILINE) else ""


def changed(entries: Lines, number: int, kind: str, **fields: Any) -> Lines:
    """The lines with other fields in one of them; None removes a field."""
    found = json.loads(json.dumps(entries))
    for name, value in fields.items():
        if value is None:
            found[number][kind].pop(name, None)
        else:
            found[number][kind][name] = value
    return found


BASE, WORSE = lines(PASSED), lines(FAILED)

DAMAGED: dict[str, bytes] = {
    "nothing": b"",
    "a line feed": b"\n",
    "zeros": bytes(5000),
    "noise": bytes(range(256)) * 20,
    "UTF-16": GOOD.decode().encode("utf-16"),
    "carriage returns alone": GOOD.replace(b"\n", b"\r"),
    "one JSON array": json.dumps(BASE).encode(),
    "no manifest": text(BASE[1:]),
    "the manifest last": text([*BASE[1:], BASE[0]]) if False else text([*BASE[1:], BASE[0], BASE[0]]),
    "two manifests": text([BASE[0], *BASE]),
    "a manifest alone": text(BASE[:1]),
    "a result less": text(BASE[:-1]),
    "the first result less": text([BASE[0], *BASE[2:]]),
    "a result twice": text([*BASE, BASE[1]]),
    "a result twice, with two statuses": text([*WORSE, BASE[1]]),
    "a result of another case more": text([*BASE, {"result": result_json(result("ELEMENT_WISE_BIT_AND/UINT8/4d"))}]),
    "an unknown line": text([*BASE, {"verdict": {"ok": True}}]),
    "a line with two keys": text([BASE[0], {**BASE[1], **{"manifest": BASE[0]["manifest"]}}, *BASE[2:]]),
    "an unknown field": text(changed(BASE, 1, "result", verdict="pass")),
    "an unknown field of the manifest": text(changed(BASE, 0, "manifest", conforms=True)),
    "not finished": text(changed(BASE, 0, "manifest", finished="")),
    "interrupted": text(changed(BASE, 0, "manifest", interrupted=True)),
    "interrupted: no boolean": text(changed(BASE, 0, "manifest", interrupted="no")),
    "more selected": text(changed(BASE, 0, "manifest", selected=7)),
    "fewer selected": text(changed(BASE, 0, "manifest", selected=5)),
    "none selected": text(changed(BASE, 0, "manifest", selected=0)),
    "fewer than none selected": text(changed(BASE, 0, "manifest", selected=-1)),
    "selected: 1e300": text(changed(BASE, 0, "manifest", selected=1e300)),
    "unlisted operators": text(changed(BASE, 0, "manifest", unlisted=["GEMM"])),
    "a requirement of what is not there": text(changed(BASE, 0, "manifest", required=["GEMM/*"])),
    "a basis that is none": text(changed(BASE, 0, "manifest", basis="hearsay")),
    "a shard that is none": text(changed(BASE, 0, "manifest", shard="0/0")),
    "a backend without a name": text(changed(BASE, 0, "manifest", backend={})),
    "a backend whose accumulator is text": text(changed(BASE, 0, "manifest", backend={"name": "x", "accumulator": "52"})),
    "no level": text(changed(BASE, 0, "manifest", level=None)),
    "code paths that no line has": text(changed(BASE, 1, "result", paths=0)),
    "a sequence of code paths that no line has": text([BASE[0], {"sequence": [[0, 8, 1, 1]]}, *BASE[1:]]),
    "code paths in the result itself": text(changed(BASE, 1, "result", paths=[{"label": "a"}])),
    "a code path without a name": text([BASE[0], {"path": ""}, *BASE[1:]]),
    "a failure's status in capitals": text(changed(WORSE, 1, "result", status="FAIL")),
    "a failure that is passed": text(changed(WORSE, 1, "result", status="passed")),
    "a failure that is a list": text(changed(WORSE, 1, "result", status=["pass"])),
    "a failure without a status": text(changed(WORSE, 1, "result", status=None)),
    "a failure with two statuses": BAD.replace(b'"status": "fail"', b'"status": "fail", "status": "fail"'),
    "a failure": BAD,
    "a failure, all others not run": text([WORSE[0], WORSE[1], *changed(WORSE, 2, "result", status="not_run")[2:3], *WORSE[3:]]),
    "all waived": text([BASE[0], *({"result": {**entry["result"], "status": "waived", "waiver": "x"}} for entry in BASE[1:])]),
    "all unsupported": text([BASE[0], *({"result": {**entry["result"], "status": "unsupported"}} for entry in BASE[1:])]),
    "all unsupported and declared": text([BASE[0], *({"result": {**entry["result"], "status": "unsupported", "undeclared": "data type"}} for entry in BASE[1:])]),
    "all negative": text([BASE[0], *({"result": {**entry["result"], "kind": "negative"}} for entry in BASE[1:-1]), {"result": {**BASE[-1]["result"], "status": "unsupported"}}]),
    "a pass with wrong elements": text(changed(BASE, 1, "result", wrong=3, elements=30, mismatches=[])) if False else text(changed(WORSE, 2, "result", wrong=3)),
    "seconds that are no number": text(changed(BASE, 1, "result", seconds="fast")),
    "NaN": GOOD.replace(b'"seconds": 10.0', b'"seconds": NaN'),
    "infinity": GOOD.replace(b'"seconds": 10.0', b'"seconds": 1e999'),
    "a number of 10,000 digits": GOOD.replace(b'"seconds": 10.0', b'"seconds": ' + b"9" * 10_000),
    "a thousand levels": text(BASE[:1]) + b'{"result": ' + b"[" * 1000 + b"]" * 1000 + b"}\n",
    "a line of 5 MB": text(changed(BASE, 1, "result", message="x" * 5_000_000)),
    "a negative index": text(changed(WORSE, 1, "result", mismatches=[{"tensor": "x", "index": [-1], "expected": "1", "actual": "2"}], wrong=-5)),
    "an error map of a million rows": text(changed(WORSE, 1, "result", error_maps=[{"tensor": "x", "sizes": [1000000], "split": 1, "cells": ["9"] * 1000000}])),
}  # fmt: skip

HOSTILE: dict[str, bytes] = {
    **{f"an attack in {name}": text(changed(WORSE, 1, "result", **{name: ATTACK})) for name in ("case", "operator", "data_type", "message", "repro", "waiver", "grade", "matched_answer")},
    **{f"an attack in the manifest's {name}": text(changed(WORSE, 0, "manifest", **{name: ATTACK})) for name in ("command", "backend_spec", "selection", "seed", "suite_version", "started", "finished", "inputs", "level", "feature_level")},
    "an attack in the backend": text(changed(WORSE, 0, "manifest", backend={"name": ATTACK, "version": ATTACK, "device": ATTACK, "details": {ATTACK: ATTACK}})),
    "an attack in waivers": text(changed(WORSE, 0, "manifest", unused_waivers=[ATTACK], waivers=[{"file": ATTACK, "sha256": "0" * 64}])),
    "an attack in evidence": text(changed(WORSE, 1, "result", evidence={ATTACK: {ATTACK: [ATTACK]}, "traceback": ATTACK, "fault": ATTACK})),
    "an attack in mismatches": text(changed(WORSE, 1, "result", mismatches=[{"tensor": ATTACK, "index": [0], "expected": ATTACK, "actual": ATTACK, "allowed": ATTACK}])),
    "an attack in the desc": text(changed(WORSE, 1, "result", desc={"Type": ATTACK, "Desc": {ATTACK: ATTACK}})),
    "an attack in an error map": text(changed(WORSE, 1, "result", error_maps=[{"tensor": ATTACK, "sizes": [2], "split": 0, "cells": [ATTACK]}])),
    "rich's markup": text(changed(WORSE, 1, "result", message="[/bold] [link=x] [red", case="[/]/x/[bold", operator="[/red]")),
    "a path in an operator": text(changed(WORSE, 1, "result", operator="../../../../tmp/owned", case="../../x")),
    "a drive in an operator": text(changed(WORSE, 1, "result", operator="C:\\windows\\x")),
    "a device in an operator": text([*changed(WORSE, 1, "result", operator="NUL")]),
    "an empty operator": text(changed(WORSE, 1, "result", operator="")),
    "an operator of 10,000 letters": text(changed(WORSE, 1, "result", operator="X" * 10_000)),
    "operators that differ in case": text([*changed(WORSE, 1, "result", operator="element_wise_bit_or")]),
    "an operator of dots": text(changed(WORSE, 1, "result", operator="..")),
    "right-to-left": text(changed(WORSE, 1, "result", message="\u202eevil\u2066", case="a\u202eb/c/d")),
    "a prototype": text(changed(WORSE, 1, "result", operator="__proto__", data_type="constructor")),
}  # fmt: skip


def never_ok(contents: Iterator[bytes]) -> Callable[[Path], str]:
    """Each of these is an error, or its claim is none."""

    def step(folder: Path) -> str:
        file = folder / "cut.jsonl"
        for number, content in enumerate(contents):
            file.write_bytes(content)
            try:
                claim = claim_of(read_record(file))
            except RecordError:
                continue
            if claim.ok or claim.claim:
                return f"number {number} claims: {claim.sentence[:200]}"
        return ""

    return step


def cuts(data: bytes) -> Iterator[bytes]:
    return (data[:end] for end in range(len(data) - 1))


def without_a_piece(data: bytes, size: int) -> Iterator[bytes]:
    """A block is lost, as on a damaged disk."""
    return (data[:start] + data[start + size :] for start in range(0, len(data) - size, 7))


def zeroed(data: bytes, size: int) -> Iterator[bytes]:
    return (data[:start] + bytes(size) + data[start + size :] for start in range(0, len(data) - size, 13))


def flipped(data: bytes) -> Iterator[bytes]:
    """One bit of the record of a failed run is another."""
    return (data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :] for at in range(len(data)))


def sparse(folder: Path) -> None:
    with (folder / "huge.jsonl").open("wb") as stream:
        stream.write(GOOD)
        stream.truncate(3 << 30)


def many(count: int) -> Callable[[Path], None]:
    def step(folder: Path) -> None:
        entry = json.dumps({"result": result_json(PASSED[0])}).encode().replace(b"UINT8/4d", b"UINT8/%08d") + b"\n"
        manifest = text(lines(PASSED, selected=count))[: len(text(lines(PASSED, selected=count)[:1]))]
        with (folder / "many.jsonl").open("wb") as stream:
            stream.write(manifest)
            for start in range(0, count, 10_000):
                stream.write(b"".join(entry % number for number in range(start, start + 10_000)))

    return step


def attacks() -> Iterator[Attack]:
    for name, content in DAMAGED.items():
        yield Attack(
            f"damaged: {name}", (readers("damaged.jsonl", none_green, exits(0, 1, 2, 4, 130)),), {**FILES, "damaged.jsonl": content}
        )
    for name, content in HOSTILE.items():
        yield Attack(f"hostile: {name}", (readers("hostile.jsonl", exits(0, 1, 2)),), {**FILES, "hostile.jsonl": content})
    for name in ("a folder", "a missing file"):
        steps = ((lambda folder: (folder / "x.jsonl").mkdir()),) if name == "a folder" else ()
        yield Attack(f"{name} instead of a record", (*steps, readers("x.jsonl", exits(2))), FILES)
    yield Attack(
        "a FIFO instead of a record", ((lambda folder: os.mkfifo(folder / "x.jsonl")), readers("x.jsonl", exits(2))), FILES
    )
    yield Attack("a device instead of a record", (readers("/dev/zero", exits(2)),), FILES)
    yield Attack(
        "the record itself as its report's folder",
        (Batch((Run(("report", "good.jsonl", "--out", "good.jsonl"), (exits(2),)),)),),
        FILES,
    )
    yield Attack("a record of 3 GB", (sparse, readers("huge.jsonl", exits(2))), FILES)
    yield Attack("a record that ends at each byte", (never_ok(cuts(GOOD)),), quick=True)
    for size in (1, 10, 100, 512):
        yield Attack(f"a record that lacks {size} bytes", (never_ok(without_a_piece(BAD, size)),))
        yield Attack(f"a record with {size} zeros in it", (never_ok(zeroed(BAD, size)),))
    yield Attack("a record with a bit flipped", (never_ok(flipped(BAD)),))
    yield Attack(
        "a record that lacks a line",
        (never_ok(text(BASE[:number] + BASE[number + 1 :]) for number in range(len(BASE))),),
        quick=True,
    )
    yield Attack("a whole record is called damaged", (never_ok(iter([GOOD])),), quick=True, self_check=True)
    yield Attack("a good record must be red", (readers("good.jsonl", none_green),), FILES, self_check=True)


ATTACKS = tuple(attacks())
