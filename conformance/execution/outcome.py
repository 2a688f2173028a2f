"""The outcome of a case: what a dispatch ended in, and the result record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dmlcts.conformance.backends.backend import Backend, BackendFault, Dispatch, Rejected, Unsupported
from dmlcts.conformance.execution.judge import Verdict
from dmlcts.generator.case.case import Case
from dmlcts.reports.record.record import ERROR, FAIL, MOST_MAPS, PASS, STDERR, UNSUPPORTED, Result
from dmlcts.spec.untrusted import sanitize
from dmlcts.spec.untrusted.desc_json import write_desc


@dataclass(slots=True)
class Outcome:
    """The outcome of a case: the fields of a Result that execution sets. ``matched_answer`` is the basis of the matched answer."""

    status: str
    message: str = ""
    verdicts: list[Verdict] = field(default_factory=list)
    matched_answer: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    undeclared: str = ""


HOST = "host"
"""The evidence of a case that lost its host: how."""


def attempt(backend: Backend, dispatch: Dispatch) -> Outcome | None:
    """Runs a dispatch. Returns the outcome if it did not complete, None if it did."""
    return attempt_to(lambda: backend.run(dispatch))


def attempt_to(act: Callable[[], object]) -> Outcome | None:
    """Has a backend do something. Returns the outcome if it did not complete, None if it did."""
    try:
        act()
    except Rejected as error:
        message = f"refused at {error.stage}{f' with {error.code}' if error.code else ''}: {error}"
        return Outcome(FAIL, message, evidence={"stage": error.stage, "code": error.code, **written_by(error)})
    except Unsupported as error:
        return Outcome(UNSUPPORTED, str(error))
    except BackendFault as error:
        return Outcome(ERROR, str(error), evidence=fault_evidence(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a Python backend may raise anything, pytest's outcomes too; only this case fails
        return Outcome(ERROR, sanitize.error_line(error), evidence={"traceback": traceback_of(error)})
    return None


def fault_evidence(fault: BackendFault) -> dict[str, Any]:
    """A fault's evidence, how the host was lost, and what it wrote, as far as there is any."""
    return {name: value for name, value in (("fault", fault.evidence), (HOST, fault.lost)) if value} | written_by(fault)


def written_by(answer: Rejected | BackendFault) -> dict[str, Any]:
    """What a host wrote to standard error before it answered so, as evidence; nothing if it wrote nothing."""
    return {STDERR: answer.stderr} if answer.stderr else {}


def result_of(case: Case, outcome: Outcome, seconds: float) -> Result:
    """The result record of a case."""
    verdicts = outcome.verdicts
    ulps = [verdict.worst_ulp for verdict in verdicts if verdict.worst_ulp is not None]
    shares = [verdict.worst_share for verdict in verdicts if verdict.worst_share is not None]
    failed = outcome.status != PASS
    warnings = [warning for verdict in verdicts for warning in verdict.warnings]
    return Result(
        case=case.id,
        operator=case.operator.name,
        data_type=case.data_type,
        kind=case.kind,
        basis=case.basis,
        feature_level=case.feature_level,
        status=outcome.status,
        message=outcome.message,
        seconds=seconds,
        desc=write_desc(case.desc) if failed else None,
        mismatches=tuple(m for verdict in verdicts for m in verdict.mismatches) if failed else (),
        wrong=sum(verdict.wrong for verdict in verdicts),
        elements=sum(verdict.elements for verdict in verdicts),
        worst_ulp=max(ulps, default=None),
        worst_share=max(shares, default=None),
        vacuous=sum(verdict.vacuous for verdict in verdicts),
        grade=next((verdict.grade for verdict in verdicts if verdict.grade), ""),
        matched_answer=outcome.matched_answer,
        evidence=outcome.evidence | ({"warnings": warnings} if warnings else {}),
        undeclared=outcome.undeclared,
        error_maps=tuple(v.error_map for v in verdicts if v.error_map is not None)[:MOST_MAPS] if failed else (),
    )


def traceback_of(error: BaseException) -> str:
    """The last frames of an exception's traceback."""
    from traceback import format_exception

    return sanitize.block("".join(format_exception(error)[-6:]))
