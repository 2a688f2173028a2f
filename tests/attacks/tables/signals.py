"""Signals and clocks: a run that is stopped at each of its phases, and one whose day or zone is another.

A stopped run ends with 130 or 128 and the signal's number, claims nothing, and leaves nobody behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from attack import Attack, Run, waited
from expect import WRONG, exits, green, never_green, no_claim, status
from suspects import run_of, suspect

SLOW = suspect(
    True,
    module="open('imported', 'w')",
    describe="open('described', 'w'); time.sleep(0.3)",
    before="open('ran', 'w'); time.sleep(0.1)",
    close="open('closing', 'w'); time.sleep(0.5)",
)

PHASES: dict[str, Callable[[Path], object]] = {
    "at once": lambda folder: True,
    "when the backend is imported": lambda folder: (folder / "imported").exists(),
    "when it is described": lambda folder: (folder / "described").exists(),
    "when the folder is there": lambda folder: (folder / "out").is_dir(),
    "in the first case": lambda folder: (folder / "ran").exists(),
    "when it is closed": lambda folder: (folder / "closing").exists(),
    "when reports are written": lambda folder: (folder / "out" / "results.jsonl").exists(),
}  # fmt: skip


def sent(number: int, phase: Callable[[Path], object], times: int = 1) -> Callable[[Path, subprocess.Popen[bytes]], None]:
    def meanwhile(folder: Path, process: subprocess.Popen[bytes]) -> None:
        with waited() as wait:
            wait(lambda: phase(folder) or process.poll() is not None)
        for _ in range(times):
            if process.poll() is None:
                process.send_signal(number)
                time.sleep(0.05)

    return meanwhile


def suspended(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Stopped for a while, as by Ctrl-Z, and continued."""
    with waited() as wait:
        wait(lambda: (folder / "ran").exists() or process.poll() is not None)
    process.send_signal(signal.SIGSTOP)
    time.sleep(2)
    process.send_signal(signal.SIGCONT)


DAY = (datetime.now(UTC) + timedelta(days=-1)).date()
WAIVER = 'waivers:\n  - cases: ELEMENT_WISE_BIT_OR/UINT8/*\n    reason: the last bit of a byte\n    issue: "1"\n    expires: {}\n'


def attacks() -> Iterator[Attack]:
    for phase, condition in PHASES.items():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for kind in ("python", "inprocess") if number == signal.SIGTERM else ("python",):
                # After the results are there the run may have ended; before Python has a handler, the signal ends it.
                codes = (130, 128 + number, -number, *((1,) if phase in ("when it is closed", "when reports are written") else ()))
                run = Run(run_of(kind), (never_green, exits(*codes)), meanwhile=sent(number, condition))
                yield Attack(f"{number.name} {phase}, {kind}", (run,), {"mine.py": SLOW})
        run = Run(run_of("python"), (never_green, exits(1, 130, 143, -2, -15)), meanwhile=sent(signal.SIGINT, condition, times=5))
        yield Attack(f"five times Ctrl-C {phase}", (run,), {"mine.py": SLOW})
    for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGQUIT, signal.SIGSEGV, signal.SIGXCPU, signal.SIGPIPE):
        run = Run(run_of("python"), (never_green,), meanwhile=sent(number, PHASES["in the first case"]))
        yield Attack(f"{number.name} in a case", (run,), {"mine.py": SLOW})
    yield Attack(
        "suspended and continued", (Run(run_of("python"), (never_green, exits(1)), meanwhile=suspended),), {"mine.py": SLOW}
    )
    right = suspect(False)
    yield Attack(
        "SIGWINCH and SIGCONT",
        (Run(run_of("python"), (green,), meanwhile=sent(signal.SIGWINCH, PHASES["when the folder is there"], 5)),),
        {"mine.py": right},
    )
    for zone in ("UTC", "Pacific/Kiritimati", "Etc/GMT+12", "Asia/Kathmandu"):
        files = {"mine.py": suspect(True), "w.yaml": WAIVER.format(DAY)}
        run = Run(run_of("python", "--waivers", "w.yaml"), (never_green, status(WRONG, "fail")), {"TZ": zone})
        yield Attack(f"a waiver that expired yesterday, in {zone}", (run,), files)
        run = Run(run_of("inprocess", "--waivers", "w.yaml"), (never_green, status(WRONG, "fail")), {"TZ": zone})
        clock = "import datetime as d\nclass Then(d.datetime):\n    @classmethod\n    def now(cls, tz=None): return d.datetime(2000, 1, 1, tzinfo=tz)\nd.datetime = Then\ntime.time = lambda: 946684800.0"
        yield Attack(
            f"a waiver that expired, and a clock of the year 2000, in {zone}",
            (run,),
            {**files, "mine.py": suspect(True, module=clock)},
        )
    for date in (
        "2999-13-01",
        "never",
        "9999999-01-01",
        "0",
        "2026-02-30",
        "''",
        "null",
        "true",
        "[2999-01-01]",
        "2999-01-01T00:00:00",
        "-1",
        "1e99",
    ):
        run = Run(run_of("python", "--waivers", "w.yaml"), (no_claim, exits(1, 2)))
        yield Attack(f"a waiver that expires {date}", (run,), {"mine.py": suspect(True), "w.yaml": WAIVER.format(date)})
    yield Attack(
        "a run that nobody stops has been stopped", (Run(run_of("python"), (exits(130),)),), {"mine.py": right}, self_check=True
    )


ATTACKS = tuple(attacks()) if os.name == "posix" and sys.platform != "darwin" else ()
