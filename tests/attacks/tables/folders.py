"""Output folders: two runs at once in one, a folder that is renamed, removed, made read-only or filled while a run writes to it, odd names, links, and full disks.

A run that was disturbed may end with an error in a line; it is never green when its backend is wrong, and never writes outside its folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from attack import Attack, Run, dmlcts, waited
from expect import WRONG, costs_only, exits, file_text, never_green, no_claim
from suspects import run_of, suspect

SLOW, RIGHT = suspect(True, before="time.sleep(0.05)"), suspect(False, before="time.sleep(0.05)")
WAITING = suspect(True, before="while not os.path.exists('go'): time.sleep(0.05)")
"""It is at its first case until the other command has ended."""
Meanwhile = Callable[[Path, subprocess.Popen[bytes]], None]


def some_ran(folder: Path) -> bool:
    return sum(file.read_bytes().count(b"\n") for file in (folder / "out/parts").glob("1-ran-*")) >= 2


def when(condition: Callable[[Path], object], then: Callable[[Path], object]) -> Meanwhile:
    """Does something to the folder as soon as a condition holds."""

    def meanwhile(folder: Path, process: subprocess.Popen[bytes]) -> None:
        with waited() as wait:
            if wait(lambda: process.poll() is not None or condition(folder)) and process.poll() is None:
                then(folder)

    return meanwhile


def begun(folder: Path) -> bool:
    return (folder / "out/parts/0-selected.jsonl").exists()


DISTURBED: dict[str, Callable[[Path], object]] = {
    "renamed": lambda folder: (folder / "out").rename(folder / "gone"),
    "removed": lambda folder: shutil.rmtree(folder / "out", ignore_errors=True),
    "removed and made anew": lambda folder: (shutil.rmtree(folder / "out", ignore_errors=True), (folder / "out").mkdir()),
    "replaced by a file": lambda folder: ((folder / "out").rename(folder / "gone"), (folder / "out").write_text("x", encoding="utf-8")),
    "replaced by a link": lambda folder: ((folder / "out").rename(folder / "gone"), (folder / "out").symlink_to(folder / "gone")),
    "replaced by a link to nothing": lambda folder: ((folder / "out").rename(folder / "gone"), (folder / "out").symlink_to("nowhere")),
    "without its journal": lambda folder: shutil.rmtree(folder / "out/parts", ignore_errors=True),
    "with its journal renamed": lambda folder: (folder / "out/parts").rename(folder / "out/partz"),
    "with its manifest removed": lambda folder: (folder / "out/parts/0-selected.jsonl").unlink(),
    "with its lists removed": lambda folder: [file.unlink() for file in (folder / "out/parts").glob("0-listed-*")],
    "with its results removed": lambda folder: [file.unlink() for file in (folder / "out/parts").glob("1-ran-*")],
    "with its results emptied": lambda folder: [os.truncate(file, 0) for file in (folder / "out/parts").glob("1-ran-*")],
    "with its lock removed": lambda folder: (folder / "out/.dmlcts.lock").unlink(),
    "read-only": lambda folder: [path.chmod(0o500) for path in (folder / "out", folder / "out/parts")],
    "with foreign files": lambda folder: [(folder / "out" / name).write_text("mine", encoding="utf-8") for name in ("notes.txt", "summary.md", "index.html", "claim.json")],
    "with a foreign record": lambda folder: (folder / "out/results.jsonl").write_text("mine", encoding="utf-8"),
    "with folders in place of reports": lambda folder: [(folder / "out" / name).mkdir() for name in ("summary.md", "claim.json", "index.html")],
    "with a folder in place of the record": lambda folder: (folder / "out/results.jsonl").mkdir(),
    "with links in place of reports": lambda folder: [(folder / "out" / name).symlink_to(folder / "victim") for name in ("results.jsonl", "summary.md", "claim.json", "index.html")],
    "with links in place of folders": lambda folder: [(folder / "out" / name).symlink_to(folder) for name in ("junit", "ctrf", "data")],
    "with a file in place of a folder": lambda folder: [(folder / "out" / name).write_text("x", encoding="utf-8") for name in ("junit", "ctrf", "data")],
}  # fmt: skip


def beside(*arguments: str, name: str = "other") -> Meanwhile:
    """Another command at once."""

    def meanwhile(folder: Path, process: subprocess.Popen[bytes]) -> None:
        with waited() as wait:
            wait(lambda: process.poll() is not None or begun(folder))
        environment = {**os.environ, "ATTACKED_FOLDER": str(folder)}
        done = subprocess.run([*dmlcts(), *arguments], cwd=folder, env=environment, capture_output=True, timeout=100, check=False)
        (folder / "go").touch()
        (folder / f"{name}.code").write_text(str(done.returncode), encoding="utf-8")
        (folder / f"{name}.text").write_bytes(done.stdout + done.stderr)

    return meanwhile


def other_ended(*codes: int) -> Callable[[Path], str]:
    def step(folder: Path) -> str:
        code = int((folder / "other.code").read_text(encoding="utf-8"))
        text = (folder / "other.text").read_text(encoding="utf-8", errors="replace")
        return "" if code in codes and "Traceback" not in text else f"the other command ended with {code}: {text[-300:]}"

    return step


REFERENCE = ("run", "BIT_OR", "--level", "smoke", "-k", "4d and not negative and not property", "-q", "--out", "out")

BESIDE: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "another run": (REFERENCE, (2,)),
    "the same run": (run_of("python"), (2,)),
    "a run that goes on": (run_of("python", "--resume"), (2,)),
    "a run of failed cases": ((*run_of("python", names=()), "--rerun-failed", "out"), (2,)),
    "a search": (("fuzz", "BIT_OR", "--minutes", "0.01", "--out", "out"), (2,)),
    "a report of it": (("report", "out", "--out", "report"), (130, 1, 2)),
    "a report into it": (("report", "out", "--out", "out"), (130, 1, 2)),
    "a merge into it": (("merge", "out", "--out", "out/results.jsonl"), (2,)),
    "a merge of it": (("merge", "out", "out", "--out", "merged.jsonl"), (2,)),
    "a gate": (("gate", "out", "--baseline", "out"), (1, 2)),
    "an explanation": (("explain", "out"), (0, 1, 2)),
    "modules generated into it": (("generate", "-k", "BIT_OR/UINT8/4d", "--level", "smoke", "--out", "out"), (0, 1, 2)),
}  # fmt: skip

NAMES: dict[str, str] = {
    "spaces": "a b  c", "quotes": "a'b\"c", "a dollar": "$HOME", "a semicolon": "x;exit 0", "a percent sign": "100%s%n", "brackets": "[x]{y}", "a star": "a*b", "a question mark": "what?",
    "a hash": "a#b?c=d", "an ampersand": "a&b<c>", "a backslash": "a\\b", "a dash in front": "./-rf", "dots": "./a/../b", "a tilde": "~", "a line feed": "a\nb", "a tab": "a\tb", "an escape": "a\x1b[2Jb",
    "umlauts": "Prüfung-ß", "Chinese": "测试结果", "emoji": "🔥", "combining letters": "e\u0301", "right-to-left": "\u202eabc", "no text": os.fsdecode(b"caf\xe9"), "a long name": "x" * 200, "a deep path": "/".join(["d" * 50] * 20),
    "a name that is too long": "y" * 300, "a path that is too long": "/".join(["z" * 200] * 30), "a colon": "C:x", "the current folder": ".", "the root of a device": "/dev/null", "/proc": "/proc/x", "a FIFO": "fifo", "markup": "[red]x[/red]",
    "a name of a report": "results.jsonl", "a device of Windows": "CON", "a dot at the end": "x.", "a command of a CI": "::error::x",
}  # fmt: skip


def attacks() -> Iterator[Attack]:
    files = {"mine.py": SLOW, "victim": "mine"}
    ended = (never_green, exits(1, 2, 3, 130))
    for name, then in DISTURBED.items():
        for kind in ("python", "inprocess"):
            if kind == "inprocess" and not name.startswith(("re", "without", "with its")):
                continue
            run = Run(run_of(kind), (*ended, file_text("victim", "mine")), meanwhile=when(some_ran, then))
            yield Attack(f"{name} midway, {kind}", (run,), files)
    for name in (
        "renamed",
        "removed",
        "without its journal",
        "with its lists removed",
        "with its results removed",
        "with a foreign record",
        "with a folder in place of the record",
    ):
        run = Run(run_of("python"), (exits(0, 1, 2, 3),), meanwhile=when(some_ran, DISTURBED[name]))
        yield Attack(f"{name} midway, right", (run, lambda folder: pretends(folder)), {"mine.py": RIGHT})
    for name, (arguments, codes) in BESIDE.items():
        run = Run(
            run_of("python", "--timeout", "120"),
            (never_green, exits(1), costs_only(WRONG)),
            meanwhile=beside(*arguments),
            seconds=240,
        )
        yield Attack(f"{name} beside a run", (run, other_ended(*codes)), {**files, "mine.py": WAITING})
    for name, out in NAMES.items():
        if name == "a FIFO":
            steps: tuple[object, ...] = (lambda folder: os.mkfifo(folder / "fifo"),)
        else:
            steps = ()
        run = Run(("run", "--case", WRONG, "--backend", "python:mine:Mine", "-q", "--out", out), (no_claim, exits(1, 2)))
        yield Attack(f"a folder with {name}", (*steps, run), files)  # type: ignore[arg-type]
    for name in ("spaces", "quotes", "umlauts", "Chinese", "emoji", "brackets", "a hash", "a percent sign"):
        out = NAMES[name]
        steps = (
            Run(("run", "--case", WRONG, "-q", "--out", out), (exits(0),)),
            Run(("report", out, "--out", "report"), (exits(0),)),
            Run(("gate", out, "--baseline", "report"), (exits(0, 1, 2),)),
        )
        yield Attack(f"a right run in a folder with {name}", steps)
        inside = Run(
            ("run", "--case", WRONG, "--backend", "python:mine:Mine", "-q", "--out", "out"), (never_green, exits(1)), folder=out
        )
        yield Attack(f"a command in a folder with {name}", (inside,), {f"{out}/mine.py": suspect(True)})
    case = ("--case", WRONG, "-q")
    link = lambda folder: (folder / "out").symlink_to("elsewhere", target_is_directory=True)  # noqa: E731
    yield Attack(
        "the folder is a link to a folder",
        ((lambda folder: (folder / "elsewhere").mkdir()), link, Run(("run", *case, "--out", "out"), (exits(0, 2),))),
    )
    yield Attack("the folder is a link to nothing", (link, Run(("run", *case, "--out", "out"), (exits(0, 2),))))
    yield Attack(
        "the folder is a link to itself",
        ((lambda folder: (folder / "out").symlink_to("out")), Run(("run", *case, "--out", "out"), (exits(2),))),
    )
    full = Run(("run", *case, "--out", "/dev/full"), (exits(2),))
    yield Attack("the folder is a full device", (full,))
    for command in (
        ("run", *case),
        ("report", "good", "--out", "report"),
        ("spec", "list"),
        ("show", WRONG),
        ("backends",),
        ("--help",),
        ("run", "--help"),
        ("explain", "good"),
    ):
        for where in (">/dev/full", ">&-", "2>&-", ">&- 2>&- <&-", "| head -c 1 >/dev/null"):
            shell = Run(("-c", f'"$0" "$@" {where}', *dmlcts(), *command), (), program=("bash",))
            yield Attack(f"dmlcts {' '.join(command)[:30]} {where}", (Run(("run", *case, "--out", "good")), shell))
    with_results = {"out/notes.txt": "mine", "mine.py": SLOW}
    yield Attack(
        "a folder with files of others",
        (Run(run_of("python"), (exits(2), file_text("out/notes.txt", "mine"))),),
        with_results,
        quick=True,
    )
    yield Attack(
        "a folder with files of others must be overwritten", (Run(run_of("python"), (exits(1),)),), with_results, self_check=True
    )


def pretends(folder: Path) -> str:
    """A record that lacks cases must not claim them."""
    from dmlcts.reports.claim.claim import claim_of
    from dmlcts.reports.record.record import read_record

    for name in ("out", "gone"):
        file = folder / name / "results.jsonl"
        if file.is_file() and file.read_bytes().startswith(b'{"manifest"'):
            record = read_record(file)
            if claim_of(record).ok and len(record.results) < 15:
                return f"claims with {len(record.results)} results"
    return ""


ATTACKS = tuple(attacks()) if sys.platform == "linux" else ()
