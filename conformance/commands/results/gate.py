"""``dmlcts gate``."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path

import click


def _finite(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Refuses NaN, which is in every range, and infinity."""
    if value is not None and not isfinite(value):
        raise click.BadParameter(f"{value} is not a factor")
    return value


@click.command("gate")
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--baseline", required=True, type=click.Path(path_type=Path), metavar="OLD", help="the older run to compare with")
@click.option(
    "--repeat",
    "repeats",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="a further run of the new implementation, perhaps of some cases: the least time counts; may be repeated",
)
@click.option("--waivers", multiple=True, type=click.Path(path_type=Path), help="a YAML file of known failures; may be repeated")
@click.option(
    "--max-slowdown",
    type=click.FloatRange(min=1.0, min_open=True),
    metavar="FACTOR",
    callback=_finite,
    help="fail if a case takes more than FACTOR times as long as before and 0.5 s longer, beyond the runs' noise; without it, 3 times is a warning",
)
@click.option(
    "--markdown", "markdown_file", type=click.Path(path_type=Path, dir_okay=False), help="write a comment for a pull request"
)
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="write the comparison as JSON")
@click.option(
    "--waivers-reviewed",
    is_flag=True,
    help="accept that more cases of an operator are waived than before, if a waiver file changed: somebody reviewed it",
)
@click.option("--github", is_flag=True, help="also print annotations for GitHub Actions")
def command(
    new: Path,
    baseline: Path,
    repeats: tuple[Path, ...],
    waivers: tuple[Path, ...],
    max_slowdown: float | None,
    markdown_file: Path | None,
    json_file: Path | None,
    waivers_reviewed: bool,
    github: bool,
) -> None:
    """Compares a run with an older one: what newly fails, vanished, became unsupported or slower, and what was fixed.

    NEW and OLD are results files, or output folders of runs, also of two releases: they are compared at the lower feature level of both. What is
    above it, and an operator of which OLD supports no case, is new; its failures are no regression. A NEW run that is incomplete, of a lower feature
    level, or not comparable with OLD (another level, basis, selection of cases or spec), is never green. Neither is one in which waivers excuse a
    larger share of an operator's cases, but with --waivers-reviewed.

    \b
    Exit codes: 0 no regression, 1 a regression, not comparable, or more is waived, 2 usage or input error.
    """
    # Imported here, so that `--help` is quick.
    from datetime import UTC, datetime
    from hashlib import sha256

    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.reports.gate.forms import gate_json, github_annotations, markdown, text
    from dmlcts.reports.gate.gate import compare
    from dmlcts.reports.gate.waivers import read_waivers
    from dmlcts.reports.record.files import write_text

    rules = [waiver for file in waivers for waiver in read_waivers(file)]
    files = [sha256(file.read_bytes()).hexdigest() for file in waivers]
    today = datetime.now(UTC).date()
    gate = compare(
        read_run(new), read_run(baseline), rules, today, max_slowdown, files, waivers_reviewed, list(map(read_run, repeats))
    )
    for line in text(gate):
        click.echo(line)
    if github:
        for line in github_annotations(gate):
            click.echo(line)
    if markdown_file is not None:
        write_text(markdown_file, "\n".join(markdown(gate)) + "\n")
    if json_file is not None:
        write_text(json_file, json.dumps(gate_json(gate), indent=1) + "\n")
    raise click.exceptions.Exit(0 if gate.ok else 1)
