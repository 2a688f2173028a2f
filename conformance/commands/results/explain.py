"""``dmlcts explain``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dmlcts.conformance.commands.common import json_option, print_json
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.screen.terminal import console
from dmlcts.generator.case.case import LEVELS

if TYPE_CHECKING:
    from dmlcts.conformance.faults.hunt.explained import PlantedCondition


@click.command("explain")
@click.argument("results", required=False, type=click.Path(path_type=Path, exists=True))
@click.option("--level", "-l", type=click.Choice(LEVELS), help="name cases to run next up to this level  [default: the run's]")
@click.option(
    "--simplify",
    is_flag=True,
    help="run the smallest case of each explanation again, with ever fewer things unusual, for 20 s in all",
)
@click.option("--backend", "-b", default="", help="the backend for --simplify  [default: the run's]")
@json_option
@click.option(
    "--self-test",
    "planted",
    type=click.IntRange(1),
    metavar="N",
    help="plant N conditions in place of results, and count those named first",
)
@click.option(
    "--kernels",
    is_flag=True,
    help="with --self-test: plant N faults in one code path each, of implementations that choose these by rules",
)
def command(
    results: Path | None, level: str | None, simplify: bool, backend: str, as_json: bool, planted: int | None, kernels: bool
) -> None:
    """Says what separates the cases that fail from those that pass, in up to five conditions, and which cases to run next.

    RESULTS is a results file, or the output folder of a run. Where two explanations fit the results, the command is printed that runs the
    cases in which they differ. Cases that fail, that end in an error and that are unsupported are explained apart, and so are
    symptoms, rejections and laws; only operators with failures are looked at. Of level full, only the cases of level core are looked at
    where the others fail alike, unless --level full is given.

    \b
    Exit codes: 0 explained, also if nothing failed; 1 with --self-test, if less than 90 % are named first,
    or less than 80 % where a fault does not show in every case; with --kernels, if it is less than 95 % of the code paths, or one is named for
    more than 5 % of the faults that are in none; 2 usage or input error.
    """
    # Imported here, so that `--help` is quick.
    from dmlcts.conformance.commands.results.summary import print_explanations
    from dmlcts.conformance.runner.explaining.explain import explain
    from dmlcts.conformance.runner.folder.journal import read_run

    if planted is not None:
        raise click.exceptions.Exit((_self_test_of_kernels if kernels else _self_test)(planted, as_json))
    if kernels:
        raise UsageError("--kernels belongs to --self-test N")
    if results is None:
        raise UsageError("give a results file or the output folder of a run")
    record = read_run(results)
    found = explain(record, level=level or "")
    if simplify:
        from dmlcts.conformance.runner.explaining.simplest import with_simplest

        found = with_simplest(found, backend or record.manifest.backend_spec)
    if as_json:
        print_json([asdict(explanation) for explanation in found])
        return
    print_explanations(found, console())
    if not found:
        click.echo("no failure of a case that this version of the suite knows")


SEED, ENOUGH, ENOUGH_UNSTEADY = 13, 0.9, 0.8
"""Of the planted conditions, and the share of them that must be named first: where the fault shows in every case, and where it does not."""


def _self_test(count: int, as_json: bool) -> int:
    """Plants conditions in the cases of all operators, prints what was named, and returns the exit code."""
    from dmlcts.conformance.faults.hunt.explained import trials
    from dmlcts.spec.reading.loader import operator_names

    found: list[PlantedCondition] = []
    for trial in trials(operator_names(), count, SEED):
        found.append(trial)
        if not as_json and not trial.right:
            click.echo(f"{trial.operator}: planted {' and '.join(trial.planted)}, named {' and '.join(trial.named) or 'nothing'}")
    if as_json:
        print_json([asdict(trial) for trial in found])
    else:
        _print_shares(found)
    right, unsteady = (sum(each) for each in zip(*((trial.right, trial.unsteady) for trial in found), strict=True))
    return 0 if right >= ENOUGH * len(found) and unsteady >= ENOUGH_UNSTEADY * len(found) else 1


ENOUGH_KERNELS = 0.95
"""The share of the planted code paths that must be named first, and of the faults in none for which none may be named."""


def _self_test_of_kernels(count: int, as_json: bool) -> int:
    """Plants faults in code paths, prints what was named, and returns the exit code."""
    from dmlcts.conformance.faults.hunt.explained import HIDDEN
    from dmlcts.conformance.faults.hunt.explained_kernels import kernel_trials
    from dmlcts.spec.reading.loader import operator_names

    found = list(kernel_trials(operator_names(), count, SEED))
    right, unsteady, innocent = (sum(getattr(trial, name) for trial in found) for name in ("right", "unsteady", "innocent"))
    if as_json:
        print_json([asdict(trial) for trial in found])
    else:
        for trial in found:
            if not trial.right:
                click.echo(f"{trial.operator}: planted in {trial.kernel}, named {' and '.join(trial.named) or 'nothing'}")
        click.echo(f"{right} of {len(found)} code paths named first; {unsteady} if one in {HIDDEN} of their cases passes")
        click.echo(f"no code path named for {innocent} of {len(found)} faults that are in none")
    return 0 if min(right, innocent) >= ENOUGH_KERNELS * len(found) and unsteady >= ENOUGH_UNSTEADY * len(found) else 1


def _print_shares(found: Sequence[PlantedCondition]) -> None:
    """How many were named first, by the number of properties."""
    for parts in sorted({len(trial.planted) for trial in found}):
        own = [trial for trial in found if len(trial.planted) == parts]
        click.echo(f"on {parts} {'property' if parts == 1 else 'properties'}: {_share(own)}")
    click.echo(f"together: {_share(found)}")


def _share(found: Sequence[PlantedCondition]) -> str:
    from dmlcts.conformance.faults.hunt.explained import HIDDEN

    right, unsteady, half, asked = (
        sum(each) for each in zip(*((t.right, t.unsteady, t.half, t.asked) for t in found), strict=True)
    )
    return (
        f"{right} of {len(found)} named first; {unsteady} if one in {HIDDEN} of their cases passes; "
        f"from half of the cases {half}, after the cases to run next {asked}"
    )
