"""``dmlcts submit``."""

from __future__ import annotations

from pathlib import Path

import click

from dmlcts.conformance.commands.common import Seconds


@click.command("submit")
@click.argument("results", type=click.Path(path_type=Path, exists=True))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, dir_okay=False), help="the zip file to write")
@click.option("--waivers", multiple=True, type=click.Path(path_type=Path), help="each waiver file of the run; may be repeated")
@click.option("--with-outputs", is_flag=True, help="run 200 cases that the record's hash chooses again, and include their outputs")
@click.option("--backend", "-b", default="", help="the backend for --with-outputs  [default: the run's]")
@click.option("--timeout", type=Seconds(), default=30.0, show_default=True, help="seconds for a case of --with-outputs")
def command(results: Path, out: Path, waivers: tuple[Path, ...], with_outputs: bool, backend: str, timeout: float) -> None:
    """Puts a run's record, its claim and all that it rests on into one file, for somebody else to check with `dmlcts verify`.

    RESULTS is a results file, or the output folder of a run: a whole one of level core or higher, of all operators or of some. The file
    has the claim as a statement to sign, the waiver files, and versions and hashes of suite, spec, implementation and backend. SECURITY.md says
    what it shows, and what not.

    \b
    Exit codes: 0 written, 1 written although the run is no success, 2 usage or input error, or a case of --with-outputs does not pass any
    more, 3 the backend could not be started.
    """
    # Imported here, so that `--help` is quick.
    from hashlib import sha256

    from dmlcts.conformance.runner.folder.journal import RESULTS, read_run
    from dmlcts.conformance.runner.folder.submission import why_not_whole
    from dmlcts.conformance.runner.planning.options import UsageError
    from dmlcts.reports.claim.claim import claim_of
    from dmlcts.reports.claim.submission import write_submission

    file = results / RESULTS if results.is_dir() else results
    record = read_run(results)
    if why := why_not_whole(record):
        raise UsageError(f"{results} cannot be submitted: {why}")
    given = {sha256(data).hexdigest(): data for data in (each.read_bytes() for each in waivers)}
    if missing := [entry["file"] for entry in record.manifest.waivers if entry["sha256"] not in given]:
        raise UsageError(f"the run had the waiver file {missing[0]}: give it as it was then, with --waivers")
    data = file.read_bytes()
    outputs = _outputs(record_path=file, backend=backend, timeout=timeout) if with_outputs else {}
    files = [given[entry["sha256"]] for entry in record.manifest.waivers]
    index = write_submission(record, data, files, outputs, out)
    claim = claim_of(record)
    click.echo(claim.sentence)
    click.echo(
        f"{len(index['files'])} files and {len(index['sample'])} cases with outputs in {out}; check it with `dmlcts verify {out}`"
    )
    raise click.exceptions.Exit(0 if claim.ok else 1)


def _outputs(record_path: Path, backend: str, timeout: float) -> dict[str, bytes]:
    """The outputs of the sample by case. Raises UsageError if the backend is another than the run's, or a case does not pass."""
    from hashlib import sha256

    from dmlcts.conformance.backends.backend import BackendInfo
    from dmlcts.conformance.backends.opening import open_backend
    from dmlcts.conformance.runner.folder.submission import ask_again, cases_of, sampled_cases
    from dmlcts.conformance.runner.planning.options import UsageError
    from dmlcts.reports.record.record import read_record

    record = read_record(record_path)
    sample = sampled_cases(record, cases_of(record), sha256(record_path.read_bytes()).hexdigest())
    opened = open_backend(backend or record.manifest.backend_spec)
    try:
        info = opened.describe()
        if change := BackendInfo.from_json(record.manifest.backend).change(info):
            raise UsageError(f"the backend is not the run's: {change}")
        return dict(ask_again(sample, opened, info, timeout))
    finally:
        opened.close()
