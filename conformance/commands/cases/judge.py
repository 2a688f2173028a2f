"""``dmlcts judge``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.commands.common import json_option, print_json
from dmlcts.conformance.dxdispatch.contested import SOURCES
from dmlcts.conformance.dxdispatch.judging import Judged, Rules, judged_model
from dmlcts.conformance.dxdispatch.read import read_model
from dmlcts.conformance.execution.judge import ZERO_SIGN, Verdict
from dmlcts.reports.record.policies import POLICIES, policies, policies_text
from dmlcts.reports.record.text import mismatch_text, ulp_text
from dmlcts.spec.model.operator import DOCUMENTED


@click.command("judge")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--expected",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="the folder with the outputs to judge: RESOURCE.npy for each resource that a dispatch writes, as `dmlcts exec --out` writes them",
)
@click.option(
    "--basis",
    type=click.Choice(list(SOURCES)),
    default=DOCUMENTED,
    show_default=True,
    help="documented bounds, or the narrower ones that are measured where a spec has such",
)
@click.option("--zero-sign", is_flag=True, help="a zero must also have the right sign, as in measured cases of special values")
@click.option(
    "--denormals",
    type=click.Choice(["preserve", "flush", "any"]),
    default=POLICIES["denormals"].default,
    show_default=True,
    help="what the implementation does with denormals",
)
@click.option(
    "--half-store",
    type=click.Choice(["nearest", "truncate"]),
    default=POLICIES["half_store"].default,
    show_default=True,
    help="how it stores FLOAT16 results",
)
@click.option("--accumulator", type=click.IntRange(10, 52), metavar="BITS", help="the mantissa bits in which it adds, 10 to 52")
@click.option("--nearest", is_flag=True, help="it rounds to nearest while it adds: long sums are then also judged together")
@click.option("--read-outside", is_flag=True, help="let the model read files that do not lie below its own folder")
@json_option
def command(
    model: Path,
    folder: Path,
    basis: str,
    zero_sign: bool,
    accumulator: int | None,
    read_outside: bool,
    as_json: bool,
    **declared: Any,
) -> None:
    """Judges given outputs of a model as a run judges a backend's: by the right answers for the model's inputs, within the operators' tolerances.

    MODEL is in DxDispatch's JSON form (docs/models.md). Any implementation may have computed the outputs; the other options say what it
    declares.

    \b
    Exit codes: 0 all outputs are right, 1 an output is wrong,
    2 the model is invalid, or an output is missing or has another data type or other sizes.
    """
    info = BackendInfo("given outputs", accumulator=accumulator or POLICIES["accumulator"].default, **declared)
    rules = Rules(info, basis, (ZERO_SIGN,) if zero_sign else ())
    found = list(judged_model(read_model(model, read_outside), folder, rules))
    ok = all(one.ok for one in found)
    if as_json:
        judged_by = {**policies(info.to_json()), "basis": basis, "zero_sign": zero_sign}
        print_json({"model": model.as_posix(), "ok": ok, "judged_by": judged_by, "dispatches": [_json(one) for one in found]})
    else:
        for line in _lines(found, info, basis):
            click.echo(line)
    raise click.exceptions.Exit(0 if ok else 1)


def _lines(found: Sequence[Judged], info: BackendInfo, basis: str) -> Iterator[str]:
    for one in found:
        yield f"{one.where} ({one.operator})"
        for name, verdict in one.verdicts.items():
            yield from (f"  {line}" for line in _verdict_lines(f"{name} in {one.files[name]}", verdict))
        yield from (f"  note: {note}" for note in one.notes)
        if text := _answers_text(one):
            yield f"  {text}"
    outputs = [verdict for one in found for verdict in one.verdicts.values()]
    yield f"{sum(verdict.ok for verdict in outputs):,} of {len(outputs):,} outputs are right; judged by: basis {basis}, {policies_text(info.to_json())}"


def _verdict_lines(what: str, verdict: Verdict) -> Iterator[str]:
    measured = f", largest error {ulp_text(verdict.worst_ulp)} ULP" if verdict.worst_ulp is not None else ""
    share = f" ({100 * verdict.worst_share:.3g} % of what is allowed)" if verdict.worst_share is not None else ""
    number = f"{verdict.elements:,} defined element{'' if verdict.elements == 1 else 's'}"
    yield f"{what}: {'pass' if verdict.ok else 'fail'}: {verdict.message or f'{number}{measured}{share}'}"
    for mismatch in verdict.mismatches:
        yield f"  {mismatch_text(mismatch)}"
    yield from (f"  warning: {warning}" for warning in verdict.warnings)
    if verdict.vacuous:
        yield f"  {verdict.vacuous:,} of them have a bound of more than half the largest magnitude, which shows little"


def _answers_text(one: Judged) -> str:
    """Which of several accepted answers the outputs match, empty if there is only one."""
    if len(one.accepted) < 2:
        return ""
    accepted = " and ".join(f"{basis} ({SOURCES.get(basis, basis)})" for basis in one.accepted)
    if one.matched:
        return f"contested: {accepted} are accepted; the outputs match the {one.matched} answer"
    return f"contested: {accepted} are accepted, but one of them in all outputs; the errors are those beside the {one.accepted[0]} answer"


def _json(one: Judged) -> dict[str, Any]:
    return {
        "where": one.where,
        "operator": one.operator,
        "ok": one.ok,
        "accepted_answers": list(one.accepted),
        "matched_answer": one.matched,
        "notes": list(one.notes),
        "outputs": [_verdict_json(name, one.files[name], verdict) for name, verdict in one.verdicts.items()],
    }


def _verdict_json(name: str, file: Path, verdict: Verdict) -> dict[str, Any]:
    return {
        "tensor": name,
        "file": file.as_posix(),
        "ok": verdict.ok,
        "message": verdict.message,
        "elements": verdict.elements,
        "wrong": verdict.wrong,
        "worst_ulp": verdict.worst_ulp,
        "worst_share": verdict.worst_share,
        "vacuous": verdict.vacuous,
        "warnings": list(verdict.warnings),
        "mismatches": [
            {"index": list(m.index), "expected": m.expected, "actual": m.actual, "ulp": m.ulp, "allowed": m.allowed}
            for m in verdict.mismatches
        ],
    }
