"""An open backend, and cases run on it: the common code of ``dmlcts run``, emitted modules and mutants."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Self

from dmlcts.conformance.backends.backend import Backend
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.execution.execute import execute
from dmlcts.conformance.execution.traced import Traced
from dmlcts.conformance.properties.causes import CAUSE, Cause, Causes, like_another
from dmlcts.conformance.properties.drawn import execute_drawn
from dmlcts.conformance.properties.relations import EXAMPLES, execute_property
from dmlcts.conformance.runner.folder.journal import EXAMPLES as EXAMPLES_FOLDER
from dmlcts.conformance.runner.folder.journal import FOLDER as JOURNAL
from dmlcts.conformance.runner.kernels.compiling import NOT_EXECUTED, compile_case
from dmlcts.conformance.runner.planning.beyond import Work
from dmlcts.conformance.runner.planning.options import RunOptions, read_case
from dmlcts.conformance.runner.screen.terminal import command_text
from dmlcts.conformance.runner.workers.malloc import keep_freed_memory
from dmlcts.conformance.sequences.graphs.case import execute_graph, graph_result
from dmlcts.conformance.sequences.promises.judge import execute_promise, promise_result
from dmlcts.conformance.sequences.promises.promise import Promise
from dmlcts.conformance.sequences.repetition.execute import execute_sequence
from dmlcts.generator.case.case import AGREEMENT, RELATION, SEQUENCE, Case, to_json
from dmlcts.generator.random.fuzz_cases import find_numbered
from dmlcts.generator.random.random_dispatch import KIND as DRAWN
from dmlcts.generator.suite.graph_cases.graph_case import GraphCase
from dmlcts.reports.claim.claim import REQUIRED, is_required
from dmlcts.reports.gate.waivers import Waiver, apply_waivers, read_waivers
from dmlcts.reports.record.files import file_name
from dmlcts.reports.record.record import FAIL, PASS, SEARCH, UNSUPPORTED, Result
from dmlcts.reports.record.versions import what_ran
from dmlcts.spec.untrusted import sanitize
from dmlcts.spec.writing.files import writing_to


class Session:
    """Runs cases on one backend under one set of options. A context manager: leaving it closes the backend, and prints what
    goes wrong there unless ``close`` was called.

    Raises, when made:
        BackendUnavailable: the backend cannot be started. WaiverError: the waiver file is wrong.
    """

    def __init__(self, options: RunOptions, backend: Backend | None = None) -> None:
        keep_freed_memory()
        self.options = options
        self.waivers = tuple(waiver for file in options.waivers for waiver in read_waivers(Path(file)))
        self.examples = (Path(options.out) / EXAMPLES_FOLDER).absolute()  # a backend may change the current folder
        self.files = {read_case(Path(file)).id: Path(file) for file in options.case_files}
        """The cases from files, which have no other name."""
        self.today = date.fromisoformat(options.today)
        self.causes = Causes(Path(options.out).absolute() / JOURNAL) if options.level == SEARCH else None
        opened = open_backend(options.backend) if backend is None else backend
        self.traced = Traced(opened) if options.paths else None
        self.backend: Backend | None = self.traced or opened
        self.info = self.backend.describe()
        self.ran = what_ran(self.info.to_json())

    def run(self, case: Work) -> Result:
        """Runs one case of any kind, or a promise of the API, or a graph, applies waivers, and adds the command to run it again if it did not pass. Raises ValueError once closed."""
        return self.conclude(*self.measure(case))

    def conclude(self, result: Result, cause: Cause | None) -> Result:
        """The result of ``run`` from what ``measure`` gave, in this process or another one."""
        if cause is None or self.causes is None:
            return self.settle(result)
        judged = self._judge(result, self.waivers)  # short if a case before has the same status for the same cause
        first = self.causes.first(result.operator, replace(cause, case=result.case, status=judged.status))
        return self._with_command(judged if first == result.case else like_another(judged, first))

    def measure(self, case: Work) -> tuple[Result, Cause | None]:
        """The result of one case, and, of a drawn one that failed, the cause. Raises ValueError once closed."""
        if self.backend is None:
            raise ValueError("the session is closed")
        if self.traced is None:
            return self._execute(case, self.backend)
        self.traced.begin()
        result, cause = self._execute(case, self.backend)
        of_many = not isinstance(case, Case) or case.expect in (RELATION, AGREEMENT, SEQUENCE)
        return replace(result, paths=self.traced.distinct() if of_many else self.traced.first()), cause

    def _execute(self, case: Work, backend: Backend) -> tuple[Result, Cause | None]:
        """The result of a case, and, of a drawn one that failed, the cause."""
        if not self.options.execute:
            return self._compile(case, backend), None
        if isinstance(case, Promise):
            return execute_promise(case, backend, self.options.timeout), None
        if isinstance(case, GraphCase):
            return execute_graph(case, backend, self.info, self.options.timeout), None
        if case.expect in (RELATION, AGREEMENT):
            examples = EXAMPLES[self.options.level]
            return execute_property(case, backend, self.info, self.options.timeout, examples, self.options.seed), None
        if case.kind == DRAWN:
            return execute_drawn(case, backend, self.info, self.options.timeout, self.causes)
        if case.expect == SEQUENCE:
            return execute_sequence(case, backend, self.info, self.options.timeout), None
        return execute(case, backend, self.info, self.options.timeout), None

    def _compile(self, case: Work, backend: Backend) -> Result:
        if isinstance(case, Case):
            return compile_case(case, backend, self.info, self.options.timeout)
        return promise_result(case, NOT_EXECUTED) if isinstance(case, Promise) else graph_result(case, NOT_EXECUTED)

    def settle(self, result: Result, waivers: Sequence[Waiver] | None = None) -> Result:
        """A result under the run's requirements and waivers (or these), with the command that runs its case again if it did not pass."""
        return self._with_command(self._judge(result, self.waivers if waivers is None else waivers))

    def _judge(self, result: Result, waivers: Sequence[Waiver]) -> Result:
        if result.status == UNSUPPORTED:
            name = next((name for name in self.options.required if is_required(name, result)), "")
            if name:
                message = f"unsupported, but required ({name}): {result.message}"
                result = replace(result, status=FAIL, message=message, evidence={**result.evidence, REQUIRED: name})
        if waivers:
            result = apply_waivers(result, waivers, self.today, self.ran)
        return result

    def _with_command(self, result: Result) -> Result:
        return result if result.status in (PASS, UNSUPPORTED) else replace(result, repro=self._repro(result))

    def close(self) -> str:
        """Closes the backend, once. Returns why that failed, in one line, or nothing: whoever ran cases makes a failure of it."""
        backend, self.backend = self.backend, None
        if backend is not None:
            try:
                backend.close()
            except (Exception, SystemExit) as error:  # a Python backend may raise anything
                return f"the backend failed to close: {sanitize.line(error)}"
        return ""

    def _repro(self, result: Result) -> str:
        """The command that runs the case again; a shrunken example, or a drawn case, is saved for it."""
        file = self.files.get(result.case)
        example = result.evidence.get("example")
        alone = result.kind == DRAWN and CAUSE not in result.evidence
        if example is None and alone and (case := find_numbered(result.case)):  # its process died
            example = to_json(case)
        if example is not None:
            name = file_name(result.case, ".json")
            with writing_to(self.examples):
                self.examples.mkdir(parents=True, exist_ok=True)
                (self.examples / name).write_text(json.dumps(example, indent=1), encoding="utf-8", newline="\n")
            file = Path(self.options.out) / EXAMPLES_FOLDER / name
        what = ("--case", result.case) if file is None else ("--case-file", file.as_posix())
        return command_text(("dmlcts", "run", "--backend", self.options.backend, *what))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if problem := self.close():
            print(f"dmlcts: {problem}", file=sys.stderr)
