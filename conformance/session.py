"""A backend that is open, and cases run on it: the one piece of code behind ``dmlcts run``, emitted modules and mutants."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from dmlcts.conformance.backend import Backend
from dmlcts.conformance.backends import open_backend
from dmlcts.conformance.execute import execute
from dmlcts.conformance.options import RunOptions
from dmlcts.conformance.relations import EXAMPLES, execute_property
from dmlcts.generator.case import AGREEMENT, RELATION, Case
from dmlcts.reports.record import PASS, UNSUPPORTED, Result
from dmlcts.reports.waivers import apply_waivers, read_waivers


class Session:
    """Runs cases on one backend under one set of options. A context manager: leaving it closes the backend.

    Raises, when made:
        BackendUnavailable: the backend cannot be started. WaiverError: the waiver file is wrong.
    """

    def __init__(self, options: RunOptions, backend: Backend | None = None) -> None:
        self.options = options
        self.waivers = read_waivers(Path(options.waivers)) if options.waivers else ()
        self.backend = open_backend(options.backend) if backend is None else backend
        self.info = self.backend.describe()
        self.today = datetime.now(UTC).date()

    def run(self, case: Case) -> Result:
        """Runs one case of any kind, applies waivers, and says how to run it again if it did not pass."""
        if case.expect in (RELATION, AGREEMENT):
            examples = EXAMPLES[self.options.level]
            result = execute_property(case, self.backend, self.info, self.options.timeout, examples, self.options.seed)
        else:
            result = execute(case, self.backend, self.info, self.options.timeout)
        if self.waivers:
            result = apply_waivers(result, self.waivers, self.today)
        return result if result.status in (PASS, UNSUPPORTED) else replace(result, repro=self._repro(result))

    def _repro(self, result: Result) -> str:
        """The command that runs the case again; a shrunken example is written down for it."""
        example = result.evidence.get("example")
        if example is None:
            return f'dmlcts run --backend "{self.options.backend}" --case "{result.case}"'
        folder = Path(self.options.out) / "examples"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', result.case)}.json"
        file.write_text(json.dumps(example, indent=1), encoding="utf-8", newline="\n")
        return f'dmlcts run --backend "{self.options.backend}" --case-file "{file.as_posix()}"'

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.backend.close()
