"""Runs that are resumed from a journal that somebody planted or damaged, and journals that are read as records.

Each begins with a run of a wrong backend that was stopped (``--maxfail`` leaves a record; a kill leaves a journal), changes what is in the folder, and goes on.
The wrong case must not become a pass, and what was not run must not be called so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attack import Attack, Run, killed, waited
from expect import WRONG, exits, never_green, no_claim
from suspects import run_of, suspect

PARTS = Path("out/parts")
SLOW = suspect(True, before="time.sleep(0.05)")
GREEN_LATER = suspect(False)


NAMES = ("BIT_OR", "BIT_XOR", "--level", "smoke", "-k", "4d and not negative and not property")
"""Two operators: the wrong case has its result, and the manifest the version of the specs, when the run is killed in the second."""


def runs(*more: str, out: str = "out") -> tuple[str, ...]:
    return run_of("python", *more, out=out, names=NAMES)


def in_the_second(folder: Path) -> bool:
    """Whether the run is at its second operator."""
    known = b'"spec_version":""' not in (folder / PARTS / "0-selected.jsonl").read_bytes()
    return known and any(b"BIT_XOR" in file.read_bytes() for file in (folder / PARTS).glob("1-ran-*"))


def killed_midway(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Kills the run when some results are there."""
    with waited() as wait:
        wait(
            lambda: (
                sum(file.read_bytes().count(b"\n") for file in (folder / PARTS).glob("1-ran-*")) >= 3 or process.poll() is not None
            )
        )
    killed(folder, process)


BEGIN = Run(runs(), meanwhile=killed_midway)


def entries(folder: Path, pattern: str) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    for file in sorted((folder / PARTS).glob(pattern)):
        yield file, [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def written(file: Path, lines: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def every_result(
    change: Callable[[dict[str, Any]], dict[str, Any] | None], pattern: str = "[01]-*.jsonl"
) -> Callable[[Path], None]:
    """Changes each result of the journal; None removes it."""

    def step(folder: Path) -> None:
        for file, lines in entries(folder, pattern):
            changed = [
                line if "manifest" in line else {"result": found}
                for line in lines
                if "manifest" in line or (found := change(line["result"]))
            ]
            written(file, changed)

    return step


def manifest(**changes: Any) -> Callable[[Path], None]:
    def step(folder: Path) -> None:
        for file, lines in entries(folder, "0-selected.jsonl"):
            written(file, [{"manifest": {**lines[0]["manifest"], **changes}}, *lines[1:]])

    return step


def planted(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / PARTS / name).write_bytes(content)


def forged_file(name: str, status: str) -> Callable[[Path], None]:
    """A file of results for every listed case."""

    def step(folder: Path) -> None:
        listed = [line["result"] for _, lines in entries(folder, "0-listed-*") for line in lines]
        written(folder / PARTS / name, [{"result": {**result, "status": status}} for result in listed])

    return step


def linked(name: str, target: str) -> Callable[[Path], None]:
    def step(folder: Path) -> None:
        file = folder / PARTS / name
        file.unlink(missing_ok=True)
        file.symlink_to(target)

    return step


def fifo(name: str) -> Callable[[Path], None]:
    return lambda folder: os.mkfifo(folder / PARTS / name)


def other_case(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "case": "ELEMENT_WISE_BIT_AND/UINT8/4d", "operator": "ELEMENT_WISE_BIT_AND"}


def cut(pattern: str, keep: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def step(folder: Path) -> None:
        for file in (folder / PARTS).glob(pattern):
            file.write_bytes(keep(file.read_bytes()))

    return step


def removed(pattern: str) -> Callable[[Path], None]:
    def step(folder: Path) -> None:
        for file in (folder / PARTS).glob(pattern):
            file.unlink()

    return step


def moved_parts(folder: Path) -> None:
    (folder / PARTS).rename(folder / "elsewhere")
    (folder / PARTS).symlink_to(folder / "elsewhere")


# Each is followed by `--resume` with the same wrong backend. Results that a user's own hand turned into passes are the user's; here everything but the wrong case's is.
CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda folder: None,
    "results of cases that are not selected": every_result(other_case, "1-ran-*"),
    "results of no case": every_result(lambda r: {**r, "case": "X/Y/Z", "operator": "X"}, "1-ran-*"),
    "each result twice": cut("1-ran-*", lambda data: data * 2),
    "each result a thousand times": cut("1-ran-*", lambda data: data * 1000),
    "lists twice": cut("0-listed-*", lambda data: data * 2),
    "results unsupported": every_result(lambda r: {**r, "status": "unsupported"} if r["status"] == "pass" else r, "1-ran-*"),
    "results unsupported and declared": every_result(lambda r: {**r, "status": "unsupported", "undeclared": "data type"} if r["status"] == "pass" else r, "1-ran-*"),
    "results waived": every_result(lambda r: {**r, "status": "waived", "waiver": "x"} if r["status"] == "pass" else r, "1-ran-*"),
    "results not run": every_result(lambda r: {**r, "status": "not_run"}, "1-ran-*"),
    "results of no status": every_result(lambda r: {**r, "status": "fine"}, "1-ran-*"),
    "results of another type": every_result(lambda r: {**r, "data_type": "FLOAT32"}, "1-ran-*"),
    "results of negative cases": every_result(lambda r: {**r, "kind": "negative"}, "1-ran-*"),
    "results of another basis": every_result(lambda r: {**r, "basis": "measured"}, "1-ran-*"),
    "lists with a case less": every_result(lambda r: None if r["case"] == WRONG else r, "0-listed-*"),
    "lists with other cases": every_result(other_case, "0-listed-*"),
    "empty lists": cut("0-listed-*", lambda data: b""),
    "no lists": removed("0-listed-*"),
    "no results": removed("1-ran-*"),
    "no manifest": removed("0-selected.jsonl"),
    "nothing at all": removed("*"),
    "half a manifest": cut("0-selected.jsonl", lambda data: data[: len(data) // 2]),
    "a manifest twice": cut("0-selected.jsonl", lambda data: data * 2),
    "half a result": cut("1-ran-*", lambda data: data[:-20]),
    "zeros in results": cut("1-ran-*", lambda data: data[:50] + bytes(100) + data[150:]),
    "zeros at the end": cut("1-ran-*", lambda data: data + bytes(4096)),
    "noise in results": cut("1-ran-*", lambda data: bytes(range(256)) + data),
    "a line of 8 MB": cut("1-ran-*", lambda data: b'{"result": {"case": "' + b"x" * (8 << 20) + b'"}}\n' + data),
    "a file of noise": planted("1-ran-x.jsonl", bytes(range(256)) * 100),
    "a file of another suite": planted("9-other.jsonl", b'{"verdict": "pass"}\n'),
    "a file with a manifest of its own": planted("9-other.jsonl", b'{"manifest": {}}\n'),
    "a file that is no JSON, by its name": planted("README.txt", b"hello"),
    "a name with a line feed": planted("1-ran-\n.jsonl", b""),
    "a folder with the name of a file": lambda folder: (folder / PARTS / "1-ran-z.jsonl").mkdir(),
    "a folder with a list's name": lambda folder: (folder / PARTS / "0-listed-9999.jsonl").mkdir(),
    "a link to nothing": linked("1-ran-z.jsonl", "nowhere"),
    "a link to a device": linked("1-ran-z.jsonl", "/dev/zero"),
    "a link to itself": linked("1-ran-z.jsonl", "1-ran-z.jsonl"),
    "a FIFO": fifo("1-ran-z.jsonl"),
    "a FIFO as a list": fifo("0-listed-9999.jsonl"),
    "a link in place of the manifest": linked("0-selected.jsonl", "/etc/passwd"),
    "a link in place of the results of before": linked("1-ran-before.jsonl", "../../victim"),
    "a link in place of the results to come": linked("1-ran-main.jsonl", "../../victim"),
    "a link in place of the crashes": linked("2-crashed.jsonl", "../../victim"),
    "the journal is a link": moved_parts,
    "a manifest of another backend": manifest(backend_spec="reference"),
    "a manifest of another level": manifest(level="full"),
    "a manifest of another selection": manifest(selection="GEMM"),
    "a manifest of another shard": manifest(shard="1/2"),
    "a manifest of other inputs": manifest(inputs="0"),
    "a manifest that is finished": manifest(finished="2026-01-01T00:00:00Z", interrupted=False),
    "a manifest that is finished with nothing selected": manifest(finished="2026-01-01T00:00:00Z", interrupted=False, selected=0),
    "a manifest that lists no operators": manifest(unlisted=[]),
    "a manifest that lists other operators": manifest(unlisted=["GEMM", "ELEMENT_WISE_ADD"]),
    "a manifest from the future": manifest(started="2999-01-01T00:00:00Z", resumed=["2999-01-01T00:00:00Z"]),
    "a manifest with seconds below zero": manifest(seconds=-1e9),
    "a record beside the journal": lambda folder: (folder / "out/results.jsonl").write_bytes(b'{"manifest": {}}\n'),
    "an older record beside the journal": lambda folder: (folder / "out/results-older.jsonl").write_bytes(b"noise"),
    "reports of another run beside the journal": lambda folder: (folder / "out/claim.json").write_text('{"ok": true, "claim": "x"}', encoding="utf-8"),
}  # fmt: skip


def victim(folder: Path) -> str:
    """What a link points to must not be written."""
    file = folder / "victim"
    return "" if not file.exists() or file.read_bytes() == b"mine\n" else "wrote through a link"


def attacks() -> Iterator[Attack]:
    files = {"mine.py": SLOW, "victim": "mine\n"}
    for name, change in CHANGES.items():
        again = Run(runs("--resume"), (never_green, exits(1, 2, 3)))
        yield Attack(f"resumed after: {name}", (BEGIN, change, again, victim), files)
    for name in (
        "results of no status",
        "empty lists",
        "no manifest",
        "a FIFO",
        "a link to a device",
        "noise in results",
        "a folder with the name of a file",
        "lists with a case less",
    ):
        report = Run(("report", "out", "--out", "report"), (exits(1, 2, 130), no_claim))
        yield Attack(f"reported after: {name}", (BEGIN, CHANGES[name], report), files)
    other = lambda folder: (folder / "mine.py").write_text(GREEN_LATER, encoding="utf-8")  # noqa: E731
    yield Attack("resumed with other code", (BEGIN, other, Run(runs("--resume"), (exits(2), never_green))), files)
    late = suspect(True, before="time.sleep(0.05)", close="open('out/parts/9-late.jsonl', 'w').write('noise')")
    yield Attack("a backend that writes to the journal when it is closed", (Run(runs(), (never_green,)),), {"mine.py": late})
    twice = (
        BEGIN,
        Run(runs("--resume"), meanwhile=killed_midway),
        Run(runs("--resume"), (never_green, exits(1, 2))),
    )
    yield Attack("killed twice and resumed twice", twice, files)
    copied = lambda folder: shutil.copytree(folder / "out", folder / "copy")  # noqa: E731
    yield Attack("resumed in a copy", (BEGIN, copied, Run(runs("--resume", out="copy"), (exits(1, 2), never_green))), files)
    yield Attack(
        "a run that was not stopped must be resumed",
        (Run(runs()), Run(runs("--resume"), (exits(0, 1),))),
        files,
        self_check=True,
    )


ATTACKS = tuple(attacks()) if os.name == "posix" else ()
