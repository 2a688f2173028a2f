"""``dmlcts exhaustive``."""

from __future__ import annotations

from time import monotonic
from typing import Any

import click
import numpy as np

from dmlcts.conformance.backends.backend import BackendFault
from dmlcts.conformance.backends.opening import open_backend, separate_process
from dmlcts.conformance.backends.reference import open_reference
from dmlcts.conformance.commands.common import Seconds, json_option, operator_named, print_json
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.probing.exhaustive import Found, Inputs, NotExhaustible, all_inputs, chunks, try_chunk
from dmlcts.conformance.runner.exit_code import EXIT_FAILED, EXIT_PASSED, EXIT_UNSUPPORTED
from dmlcts.conformance.runner.planning.options import UsageError, shard_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.reports.record.record import ERROR, UNSUPPORTED
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED

_FAILURES = 3
"""After so many dispatches without a result the rest is not tried."""


@click.command("exhaustive")
@click.argument("operator")
@click.option("-b", "--backend", default="reference", show_default=True, help="the backend; see `dmlcts backends`")
@click.option(
    "--type", "data_type", type=click.Choice(sorted(abi().data_types)), default="FLOAT32", show_default=True, help="of all inputs"
)
@click.option(
    "--basis",
    type=click.Choice([DOCUMENTED, MEASURED]),
    default=DOCUMENTED,
    show_default=True,
    help="documented promises only, or also what DirectML.dll was measured to do",
)
@click.option(
    "--device",
    type=click.Choice(["numpy", "cuda"]),
    default="numpy",
    show_default=True,
    help="where the right answers are computed",
)
@click.option("--chunk", type=click.IntRange(1 << 8, 1 << 26), default=1 << 22, show_default=True, help="inputs of a dispatch")
@click.option("--shard", default="", metavar="I/N", help="only the I-th of N parts, for several processes or machines")
@click.option("--seconds", type=Seconds(), help="begin no chunk after so many")
@click.option("--timeout", type=Seconds(), default=60.0, show_default=True, help="limit for one dispatch, in seconds")
@json_option
def command(
    operator: str,
    backend: str,
    data_type: str,
    basis: str,
    device: str,
    chunk: int,
    shard: str,
    seconds: float | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Tries every value of a data type as the input of an operator, or every pair of values of its two inputs, and judges each as a case.

    Judged are the inputs between those that cases of the same basis have: what a page says nothing about is left out, and counted.
    For operators that compute each element from those in its place, with their usual attributes: one input of at most 32 bits, or two of 16.
    2^32 inputs take about half an hour on the reference, in one process.

    \b
    Exit codes: 0 none is wrong, among those that --shard and --seconds reach, 1 one is wrong, a dispatch has no result, the backend fails
    at its end, or nothing was judged, 2 usage error, 3 the backend could not be started, 4 the backend does not support it.
    """
    try:
        inputs = all_inputs(plan_of(operator_named(operator)), data_type)
    except NotExhaustible as error:
        raise UsageError(str(error)) from None
    part, until = shard_of(shard), monotonic() + seconds if seconds else float("inf")
    xp: Any = np if device == "numpy" else open_reference(device).xp
    found = Found()
    opened = open_backend(separate_process(backend))
    try:
        info = opened.describe()
        for start, count in chunks(inputs.count, chunk, part):
            if monotonic() > until or len(found.failures) == _FAILURES:
                break
            try_chunk(inputs, start, count, opened, info, basis, timeout, xp, found)
    finally:
        try:
            opened.close()
        except BackendFault as fault:
            found.failures.append(Outcome(ERROR, str(fault)))
    if as_json:
        print_json(_as_json(inputs, f"{info.name} {info.version}", found))
    else:
        for line in _lines(inputs, f"{info.name} {info.version}", found):
            click.echo(line)
    if found.failures and all(each.status == UNSUPPORTED for each in found.failures):
        raise click.exceptions.Exit(EXIT_UNSUPPORTED)
    raise click.exceptions.Exit(EXIT_PASSED if found.is_right else EXIT_FAILED)


def _lines(inputs: Inputs, name: str, found: Found) -> list[str]:
    reached = "" if found.inputs == inputs.count else f" of {inputs.count:,} ({100 * found.inputs / inputs.count:.3g} %)"
    left_out = f", {found.left_out:,} left out, as outside what cases have" if found.left_out else ""
    lines = [
        f"{inputs.plan.operator.name} {inputs.choice.label} on {name}: {found.inputs:,} inputs{reached}{left_out}: {found.wrong:,} wrong",
        f"  worst: {found.worst_ulp:.4g} ULP, {100 * found.worst_share:.3g} % of what is allowed",
    ]
    lines += [
        f"  {text}: expected {each.expected}, actual {each.actual}; allowed {each.allowed}" for text, each in found.mismatches
    ]
    lines += [f"  {each.status}: {each.message}" for each in found.failures]
    if found.inputs == found.left_out:
        lines.append("  nothing was judged")
    errata = [each.id for each in inputs.plan.operator.errata if each.effect and found.wrong]
    if errata:
        lines.append(f"  known of DirectML.dll: {', '.join(errata)}; see `dmlcts spec show {inputs.plan.operator.name}`")
    return lines


def _as_json(inputs: Inputs, name: str, found: Found) -> dict[str, Any]:
    return {
        "operator": inputs.plan.operator.name,
        "data_types": inputs.choice.label,
        "backend": name,
        "all_inputs": inputs.count,
        "inputs": found.inputs,
        "left_out": found.left_out,
        "wrong": found.wrong,
        "worst_ulp": found.worst_ulp,
        "worst_share": found.worst_share,
        "mismatches": [
            {"input": text, "expected": each.expected, "actual": each.actual, "allowed": each.allowed}
            for text, each in found.mismatches
        ],
        "failures": [{"status": each.status, "message": each.message} for each in found.failures],
    }
