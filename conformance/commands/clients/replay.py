"""``dmlcts replay``."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from time import perf_counter

import click

from dmlcts.conformance.commands.common import Seconds

OUT, WRONG = "results-replay", "wrong"
_MOST_WRITTEN = 5
"""So many wrong dispatches are written as models with their arrays."""


@click.command("replay")
@click.argument("file", metavar="CAPTURE", type=click.Path(path_type=Path))
@click.option("--backend", "-b", help="the backend  [default: directml]")
@click.option("--captured", is_flag=True, help="judge the outputs that were captured; runs nothing, and needs no GPU")
@click.option("--execution", type=click.IntRange(1), help="only this execution, by its number")
@click.option(
    "--basis",
    type=click.Choice(["documented", "measured"]),
    default="documented",
    show_default=True,
    help="the basis of the bounds",
)
@click.option("--waivers", multiple=True, type=click.Path(), help="a YAML file of known failures; may be repeated")
@click.option("--timeout", type=Seconds(), default=30.0, show_default=True, help="limit for one dispatch, in seconds")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(OUT),
    show_default=True,
    help="folder for results and reports",
)
def command(
    file: Path,
    backend: str | None,
    captured: bool,
    execution: int | None,
    basis: str,
    waivers: tuple[str, ...],
    timeout: float,
    out: Path,
) -> None:
    """Run the dispatches of a capture once more, one by one, and judge each by the reference (docs/clients.md).

    A graph is taken apart into its nodes. Inputs are those that were captured, or random data where none were. The folder gets the reports of a
    run, and the first wrong dispatches as DxDispatch models with their arrays, and, made smaller, as case files for `dmlcts run --case-file`.

    \b
    Exit codes: 0 all are right, 1 one is wrong (or nothing was judged), 2 the capture cannot be read,
    3 the backend could not be started, 4 nothing is wrong, but something is unsupported.
    """
    from dmlcts.conformance.backends.opening import open_backend, separate_process
    from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
    from dmlcts.conformance.client.replay.flow import Step
    from dmlcts.conformance.client.replay.judging import CAPTURED, Judged, Rules, captured_info, judge
    from dmlcts.conformance.client.replay.replay import in_words, replay, verdict_lines
    from dmlcts.conformance.client.replay.wrong import Example, write_example, write_step
    from dmlcts.conformance.commands.results.summary import print_explanations
    from dmlcts.conformance.commands.results.supplement import SpecSupplement
    from dmlcts.conformance.runner.exit_code import EXIT_FAILED, exit_code
    from dmlcts.conformance.runner.explaining.explain import MOST_OPERATORS, explain
    from dmlcts.conformance.runner.folder.journal import EXAMPLES
    from dmlcts.conformance.runner.folder.manifest import manifest_of, with_version
    from dmlcts.conformance.runner.folder.out_folder import claim_folder
    from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
    from dmlcts.conformance.runner.run import command_line
    from dmlcts.conformance.runner.screen.terminal import command_text, console
    from dmlcts.reports import write_all
    from dmlcts.reports.explain.explanation import MOST_SHOWN
    from dmlcts.reports.gate.waivers import read_waivers
    from dmlcts.reports.record.record import FAILURES, REPLAY, Record

    if captured and backend:
        raise click.UsageError("--captured judges what was captured, so it has no backend")
    named = CAPTURED if captured else backend or "directml"
    options = RunOptions(backend=named, level=REPLAY, basis=basis, timeout=timeout, waivers=waivers, out=str(out))
    rules_of_waivers = [waiver for name in waivers for waiver in read_waivers(Path(name))]
    started = perf_counter()
    examples: dict[int, Example] = {}
    with ExitStack() as stack:
        try:
            capture = read_capture(file)
        except CaptureError as error:
            raise UsageError(str(error)) from None
        stack.enter_context(claim_folder(out))
        for older in (WRONG, EXAMPLES):
            rmtree(out / older, ignore_errors=True)
        opened = None if captured else open_backend(separate_process(named))
        if opened is not None:
            stack.callback(opened.close)
        info = captured_info(capture.version) if opened is None else opened.describe()
        manifest = manifest_of(replace(options, feature_level=info.feature_level), info, (), command_line())

        rules = Rules(opened, info, basis, timeout)

        def report(number: int, judged: Judged) -> None:
            if judged.result.status in FAILURES and len(examples) < _MOST_WRITTEN:
                write_step(judged, out / WRONG / str(number))
                examples[number] = write_example(judged, None if opened is None else judge_again, out / EXAMPLES)

        def judge_again(step: Step) -> Judged:
            return judge(step, rules)

        def repro(number: int, step: Step) -> str:
            if (example := examples.get(number)) and example.file and opened is not None:
                return command_text(("dmlcts", "run", "--backend", named, "--case-file", example.file.as_posix()))
            on = ("--captured",) if captured else ("--backend", named)
            return command_text(("dmlcts", "replay", str(file), "--execution", str(step.execution.number), *on))

        try:
            found = replay(
                capture,
                rules,
                rules_of_waivers,
                datetime.now(UTC).date(),
                lambda one: execution is None or one.number == execution,
                report,
            )
        except CaptureError as error:
            raise UsageError(str(error)) from None
        results = tuple(
            replace(result, repro=repro(number, step)) if result.status in FAILURES else result
            for number, (step, result, _) in enumerate(found.steps, 1)
        )
        manifest = with_version(
            replace(
                manifest,
                finished=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
                seconds=perf_counter() - started,
                selected=len(results),
                interrupted=False,
                selection=str(file),
            ),
            sorted({result.operator for result in results}),
        )
        record = Record(manifest, results)
        explanations = explain(record, MOST_OPERATORS)
        write_all(record, out, SpecSupplement(REPLAY), explanations)
    for line in verdict_lines(found):
        click.echo(line)
    for remark in capture.remarks:
        click.echo(f"note: {remark}")
    for number, example in list(examples.items())[:1]:
        click.echo(f"written: {out / WRONG}, and as a case: {example.file or f'none, as {example.why}'}")
        if example.judged.step.desc != found.steps[number - 1][0].desc:
            click.echo(f"made smaller: {in_words(example.judged.step)}\n  {example.judged.result.message}")
    print_explanations(explanations[:MOST_SHOWN], console())
    click.echo(f"report: {out / 'index.html'}")
    whole = all(verdict.ok for verdict in found.graphs)
    raise click.exceptions.Exit(exit_code(record) if results and whole else EXIT_FAILED if not whole or not found.graphs else 0)
