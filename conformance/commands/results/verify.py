"""``dmlcts verify``."""

from __future__ import annotations

from pathlib import Path

import click

from dmlcts.conformance.commands.common import json_option, print_json


@click.command("verify")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def command(file: Path, as_json: bool) -> None:
    """Checks a submission: its hashes, that every case that there must be has one result, that waivers explain what is waived, and that the claim follows.

    FILE is what `dmlcts submit` wrote, with the same version of the suite. Outputs that it includes are judged anew; nothing of the
    implementation runs. It makes all cases of the run's level, which takes a minute at level core.

    \b
    Exit codes: 0 all holds, 1 something does not, 2 usage or input error, or no submission.
    """
    # Imported here, so that `--help` is quick.
    from dmlcts.conformance.runner.folder.submission import Check, verify
    from dmlcts.reports.claim.submission import STATEMENT, read_submission

    submission = read_submission(file)
    found: list[Check] = []
    for check in verify(submission, lambda text: click.echo(f"... {text}", err=True)):
        found.append(check)
        if not as_json:
            click.echo(f"{'fails' if check.problems else 'holds'}: {check.name}")
            for problem in check.problems[:_SHOWN]:
                click.echo(f"  {problem}")
            if len(check.problems) > _SHOWN:
                click.echo(f"  ... and {len(check.problems) - _SHOWN:,} more")
    ok = not any(check.problems for check in found)
    outputs = len(submission.index["sample"])
    if as_json:
        checks = [{"check": check.name, "ok": not check.problems, "problems": list(check.problems)} for check in found]
        print_json({"file": file.as_posix(), "ok": ok, "outputs": outputs, "checks": checks})
    else:
        click.echo(_conclusion(ok, outputs))
        if ok:
            click.echo(
                submission.files[STATEMENT].decode("utf-8", "replace").split("\n")[2] if STATEMENT in submission.files else ""
            )
    raise click.exceptions.Exit(0 if ok else 1)


_SHOWN = 5


def _conclusion(ok: bool, outputs: int) -> str:
    if not ok:
        return "The submission does not hold."
    if outputs:
        return f"All holds, and {outputs} outputs are right. That nobody made up the record is shown by nothing but the submitter's word (SECURITY.md)."
    return "All holds. It has no outputs, so that the results are the submitter's word alone (SECURITY.md)."
