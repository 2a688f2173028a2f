"""The options of a run. Passed to worker processes as JSON."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dmlcts.generator.case.case import Case
from dmlcts.generator.case.case_cache import VARIABLE
from dmlcts.generator.case.case_file import CaseError, read_case_file
from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.untrusted.files import shorten_text

_MUTANTS = "python:dmlcts.conformance.faults:"
"""How the backends of mutants are named."""


class UsageError(ValueError):
    """The user asked for something that does not exist; the message says what does. Exit code 2."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of ``dmlcts run``.

    ``feature_level`` empty means the backend's; ``shard`` is ``I/N`` or empty; ``timeout`` is seconds; ``maxfail`` 0 means no limit.
    ``network`` names one of the census, whose dispatches alone are selected. ``operators`` are patterns of names (conformance/runner/planning/selection); none select all.
    ``corpus`` are folders of cases that earlier searches kept (conformance/runner/kernels/corpus); the first gets those of this one.
    ``left_out`` says which of the selected cases are not among the named ones; such a run claims nothing.
    ``required`` are requirements as in a manifest (conformance/runner/planning/requirements). ``minutes`` limit a search; 0 means no limit.
    ``paths`` asks the backend for the code paths of each case. Without ``execute``, cases are compiled for them and not executed: nothing is judged, nor claimed.
    ``keep_going`` runs all cases, however many in a row lose the host (conformance/runner/planning/breaker).
    ``today`` is the date by which waivers expire: a backend may change the clock of the process that it is in.
    """

    backend: str = "reference"
    level: str = "core"
    basis: str = DOCUMENTED
    feature_level: str = ""
    operators: tuple[str, ...] = ()
    expression: str = ""
    network: str = ""
    shard: str = ""
    seed: str = ""
    timeout: float = 30.0
    cases: tuple[str, ...] = ()
    case_files: tuple[str, ...] = ()
    waivers: tuple[str, ...] = ()
    maxfail: int = 0
    out: str = "results"
    required: tuple[str, ...] = ()
    minutes: float = 0.0
    keep_going: bool = False
    paths: bool = True
    execute: bool = True
    corpus: tuple[str, ...] = ()
    left_out: str = ""
    today: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())

    def __post_init__(self) -> None:
        """Cases from a folder judge nothing but the reference and its mutants. Raises UsageError."""
        if os.environ.get(VARIABLE) and self.backend != "reference" and not self.backend.startswith(_MUTANTS):
            raise UsageError(
                f"{VARIABLE} is set, and cases read from a folder may judge the reference alone, not {shorten_text(self.backend)}: unset it"
            )

    def to_json(self) -> str:
        """The options as one line."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> RunOptions:
        """Options from ``to_json``'s line."""
        data: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(text).items()
        }
        return RunOptions(**data)


def shard_of(text: str) -> tuple[int, int]:
    """``I/N`` as two numbers; empty means the whole run. Raises UsageError."""
    if not text:
        return 1, 1
    parts = re.fullmatch("([0-9]{1,4})/([0-9]{1,4})", text)
    if not (parts and 1 <= int(parts[1]) <= int(parts[2])):
        raise UsageError(f"a shard is I/N with 1 <= I <= N <= 9999, such as 2/4, not {shorten_text(text)!r}")
    return int(parts[1]), int(parts[2])


def read_case(file: Path) -> Case:
    """A case from a JSON file that ``repro`` or a failed property case wrote. Raises UsageError."""
    try:
        return read_case_file(file)
    except CaseError as error:
        raise UsageError(str(error)) from None
