"""An attack on the suite: what is done in a scratch folder, and what must hold afterwards.

An attack is a row of a table in ``tables/``: a name and steps. A step is a command with its expectations (``Run``), or a function of the folder,
which changes it, or returns what is broken.
What is expected stands in ``expect.py``: a function that returns what is broken in words, or an empty text. Whatever else a table expects, no
command may end in a traceback of the suite, take longer than its limit, or leave a process behind.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("conformance", "generator", "reference", "reports", "spec")
MARK = "ATTACKED_FOLDER"
"""The environment variable by which what an attack left behind is found."""

_GRACE = 6.0
"""Seconds that processes have to end after the command: a host whose suite was killed looks for it now and then."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit code (negative for a signal), what it printed, and the scratch folder as it was left."""

    code: int
    output: str
    errors: str
    seconds: float
    folder: Path
    left: tuple[str, ...] = ()

    @property
    def printed(self) -> str:
        return self.output + self.errors

    def results(self, out: str = "out") -> dict[str, dict[str, Any]]:
        """The results of the record in ``out`` by case; none where there is no record."""
        file = self.folder / out / "results.jsonl"
        if not file.is_file():
            return {}
        entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return {entry["result"]["case"]: entry["result"] for entry in entries if "result" in entry}

    def claims(self, out: str = "out") -> bool:
        """Whether the folder claims anything, or calls a run fine."""
        file = self.folder / out / "claim.json"
        claim = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        return bool(claim.get("ok") or claim.get("claim"))


Must = Callable[[Outcome], str]


@dataclass(frozen=True)
class Run:
    """A command in the scratch folder: arguments of ``dmlcts``, or of another ``program``.

    ``meanwhile`` gets the folder and the running process. ``at_start`` runs in the new process (POSIX). A command takes at most ``seconds``.
    ``leaves`` says that the attack itself leaves processes behind, which nobody could find.
    """

    arguments: tuple[str, ...]
    must: tuple[Must, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    meanwhile: Callable[[Path, subprocess.Popen[bytes]], object] | None = None
    at_start: Callable[[], object] | None = None
    program: tuple[str, ...] = ()
    folder: str = ""
    seconds: float = 120.0
    leaves: bool = False


@dataclass(frozen=True)
class Batch:
    """Commands that only read files and write reports, in one process: for each of them its arguments and what must hold."""

    runs: tuple[Run, ...]
    seconds: float = 240.0


Step = Run | Batch | Callable[[Path], object]


@dataclass(frozen=True)
class Attack:
    """``files`` are written first. ``quick`` ones are in the project's own tests. Of a ``self_check`` the engine must say that it is broken."""

    name: str
    steps: tuple[Step, ...]
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    quick: bool = False
    self_check: bool = False
    together: bool = False
    """Whether it is a single batch that may share its process and folder with others, as it must change nothing."""


def dmlcts() -> tuple[str, ...]:
    """The command line as users start it."""
    script = shutil.which("dmlcts", path=str(Path(sys.executable).parent))
    return (script,) if script else (sys.executable, "-P", "-c", "from dmlcts.conformance.commands.cli import main; main()")


def tried(attack: Attack) -> list[str]:
    """Runs an attack; what is broken, in words."""
    folder = Path(tempfile.mkdtemp(prefix="attack-"))
    try:
        for name, content in attack.files.items():
            _write(folder / name, content)
        broken: list[str] = []
        for step in attack.steps:
            if isinstance(step, Run):
                broken += judged(step, outcome_of(step, folder))
            elif isinstance(step, Batch):
                broken += _of_batch(step, folder)
            else:
                broken += _changed(step, folder)
        return broken
    finally:
        _remove(folder)


def tried_together(attacks: Sequence[Attack]) -> list[list[str]]:
    """What is broken about each of some attacks that may share a process."""
    batches = [step for attack in attacks for step in attack.steps if isinstance(step, Batch)]
    whole = Batch(tuple(run for batch in batches for run in batch.runs))
    folder = Path(tempfile.mkdtemp(prefix="attack-"))
    try:
        for name, content in attacks[0].files.items():
            _write(folder / name, content)
        found = iter(_of_each(whole, folder))
        return [[problem for _ in batch.runs for problem in next(found)] for batch in batches]
    finally:
        _remove(folder)


def _of_batch(batch: Batch, folder: Path) -> list[str]:
    """What is broken about the commands of a batch."""
    return [problem for problems in _of_each(batch, folder) for problem in problems]


def _of_each(batch: Batch, folder: Path) -> list[list[str]]:
    """What is broken about each command of a batch."""
    command = [sys.executable, str(Path(__file__).with_name("batch.py"))]
    given = json.dumps([run.arguments for run in batch.runs])
    environment = _environment(folder, {})
    try:
        done = subprocess.run(
            command, input=given, cwd=folder, env=environment, capture_output=True, text=True, timeout=batch.seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return [[f"took more than {batch.seconds:g} s"] for _ in batch.runs]
    if done.returncode:
        return [[f"the batch ended with {done.returncode}: {done.stderr[-500:]}"] for _ in batch.runs]
    outcomes = [Outcome(code, output, errors, seconds, folder) for code, output, errors, seconds in json.loads(done.stdout)]
    return [judged(run, outcome) for run, outcome in zip(batch.runs, outcomes, strict=True)]


def _changed(step: Callable[[Path], object], folder: Path) -> list[str]:
    try:
        problem = step(folder)
    except Exception as error:
        return [f"raises {type(error).__name__}: {error}"]
    return [problem] if isinstance(problem, str) and problem else []


def _write(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def judged(run: Run, outcome: Outcome) -> list[str]:
    """What is broken about an outcome."""
    words = " ".join(run.arguments)[:120]
    found = [universal(run, outcome), *(must(outcome) for must in run.must)]
    last = outcome.errors.strip().rpartition("\n")[2][-300:]
    return [f"{problem} (exit {outcome.code}: {words!r}: {last!r})" for problem in found if problem]


def universal(run: Run, outcome: Outcome) -> str:
    """What breaks of that which holds for every command; empty if nothing does."""
    if outcome.seconds > run.seconds:
        return f"took {outcome.seconds:.0f} s"
    if any(of_the_suite(block) for block in outcome.errors.split("Traceback (most recent call last)")[1:]):
        return "a traceback of the suite"
    if outcome.left and not run.leaves:
        return f"left behind: {'; '.join(outcome.left)}"
    return ""


def of_the_suite(traceback: str) -> bool:
    """Whether a traceback goes through the suite, and does not end in code of the attack."""
    files = re.findall(r'File "([^"]+)"', traceback)
    return any(file.startswith(tuple(f"{ROOT}{os.sep}{room}" for room in ROOMS)) for file in files) and not Path(
        files[-1]
    ).name.startswith(("mine", "host"))


def outcome_of(run: Run, folder: Path) -> Outcome:
    """Runs a command in the folder, ends what it left, and says how it ended."""
    where = folder / run.folder
    began = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [*(run.program or dmlcts()), *run.arguments], cwd=where, env=_environment(folder, run.environment),
            stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=os.name == "posix", preexec_fn=_starting(run.at_start),
        )  # fmt: skip
        try:
            if run.meanwhile is not None:
                run.meanwhile(folder, process)
            process.wait(max(1.0, run.seconds + 5 - (time.monotonic() - began)))
        except subprocess.TimeoutExpired:
            pass
        finally:
            seconds = time.monotonic() - began
            left = _ended(folder, process)
            process.wait()
        texts = []
        for stream in (output, errors):
            stream.seek(0)
            texts.append(stream.read(20_000_000).decode("utf-8", "replace"))
    return Outcome(process.returncode, *texts, seconds, folder, left)


def _starting(at_start: Callable[[], object] | None) -> Callable[[], None] | None:
    """Runs in the new process before its program: signals as in a terminal, whoever started the attacks; then ``at_start``."""
    if os.name != "posix":
        return None

    def prepare() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if at_start is not None:
            at_start()

    return prepare


def _environment(folder: Path, changes: Mapping[str, str | None]) -> dict[str, str]:
    given = {name: value for name, value in os.environ.items() if not name.startswith(("DMLCTS_", "PYTEST_", "PYTHON"))}
    merged = {**given, "PYTHONDONTWRITEBYTECODE": "1", **changes, MARK: str(folder)}
    return {name: value for name, value in merged.items() if value is not None}


def _ended(folder: Path, process: subprocess.Popen[bytes]) -> tuple[str, ...]:
    """Ends the processes of an attack; describes those that did not end by themselves, the command itself aside."""
    until = time.monotonic() + _GRACE
    if process.poll() is None:
        with suppress(ProcessLookupError):
            process.kill()
    while (others := list(_marked(folder))) and time.monotonic() < until:
        time.sleep(0.2)
    described = []
    for other in others:
        with suppress(psutil.Error):
            described.append(" ".join(other.cmdline())[:100])
            other.kill()
    return tuple(described)


def _marked(folder: Path) -> Iterator[psutil.Process]:
    """Processes other than this one that have the attack's mark in their environment."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == str(folder):
                yield process


def _remove(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            with suppress(OSError):
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def waited(limit: float = 60.0) -> Iterator[Callable[[Callable[[], object]], bool]]:
    """Waits for a condition; False where it does not come within the limit."""

    def wait(condition: Callable[[], object]) -> bool:
        until = time.monotonic() + limit
        while time.monotonic() < until:
            with suppress(OSError, ValueError):
                if condition():
                    return True
            time.sleep(0.02)
        return False

    yield wait


def signalled(number: int, when: Callable[[Path], object]) -> Callable[[Path, subprocess.Popen[bytes]], None]:
    """Sends a signal to the command as soon as a condition on the folder holds."""

    def meanwhile(folder: Path, process: subprocess.Popen[bytes]) -> None:
        with waited() as wait:
            if wait(lambda: when(folder) or process.poll() is not None) and process.poll() is None:
                process.send_signal(number)

    return meanwhile


def killed(folder: Path, process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
