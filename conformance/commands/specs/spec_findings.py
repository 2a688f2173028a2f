"""``dmlcts spec findings``: what DirectML.dll does otherwise than its documentation says, worst first, on one page.

Everything comes from the specs' errata and from waiver files, where it stands once, with its evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import click

from dmlcts.conformance.commands.common import sound
from dmlcts.conformance.commands.specs.spec_promises import broken_promises
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.reports.formats.markdown import plain
from dmlcts.reports.gate.waivers import Waiver, WaiverError, read_waivers
from dmlcts.reports.record.files import write_text
from dmlcts.reports.record.versions import is_within
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.model.source import EFFECTS, Erratum

CONTRADICTION, ERRATUM = "contradiction", "erratum"

_THE_DLL = "DirectML.dll"

Finding = tuple[Erratum, tuple[str, ...]]
"""An erratum, and the operators that have it in the same words."""


@click.command("findings")
@click.option(
    "--waivers",
    "waiver_files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="a YAML file of known failures; may be repeated",
)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.md", help="write the page there instead of printing it"
)
def command(waiver_files: tuple[Path, ...], out: Path | None) -> None:
    """Writes what DirectML.dll does otherwise than its documentation says, worst first, as a page in Markdown.

    First the bugs that waivers name, then what contradicts the documentation by its effect (crashes, results, refusals), then where the
    documents contradict each other, and at last errors of the documentation alone.
    """
    try:
        waivers = [waiver for file in waiver_files for waiver in read_waivers(file)]
    except WaiverError as error:
        raise UsageError(str(error)) from None
    text = page(sound(), waivers)
    if out:
        write_text(out, text)
    else:
        click.echo(text, nl=False)


def page(operators: Sequence[Operator], waivers: Sequence[Waiver]) -> str:
    """The page in Markdown."""
    found = findings(operators)
    versions = sorted({erratum.measured for erratum, _ in found} - {""})
    sections = (
        ("Bugs that are waived", _list_waived([waiver for waiver in waivers if _is_about(waiver, versions)])),
        *(
            (f"DirectML.dll {words}", _list_findings(found, partial(_has, effect), shortened=True))
            for effect, words in EFFECTS.items()
        ),
        ("DirectML.dll breaks a promise of the API", broken_promises()),
        ("The documents contradict each other", _list_findings(found, lambda e: e.severity == CONTRADICTION and not e.effect)),
        ("Errors of the documentation", _list_findings(found, lambda e: e.severity == ERRATUM)),
    )
    notes = sum(erratum.severity not in (CONTRADICTION, ERRATUM) for operator in operators for erratum in operator.errata)
    lines = [
        f"# DirectML {', '.join(versions)} and its documentation",
        "",
        "What differs, worst first. Written by `dmlcts spec findings --waivers FILE... --out FILE`, not by hand. A case accepts either answer",
        "where the documentation and DirectML.dll disagree; a failure that no line here explains is a failure. `dmlcts spec show OPERATOR` has",
        f"each in full, and {notes} notes besides on what the documentation leaves open. All was measured on a software adapter.",
        "",
    ]
    lines += _in_short(operators)
    for title, body in sections:
        rows = list(body)
        lines += [f"## {title} ({len(rows)})", "", "| operators | what | shown by |", "|---|---|---|", *rows, ""] if rows else []
    return "\n".join(lines).rstrip("\n") + "\n"


def _in_short(operators: Sequence[Operator]) -> Iterator[str]:
    """A table of the operators by the worst that is known of each."""
    order = list(EFFECTS)
    worst = {o.name: min((order.index(e.effect) for e in o.errata if e.effect), default=len(order)) for o in operators}
    yield from ("## In short", "", "The worst that is known of each operator, apart from waived bugs; details below.", "")
    yield from ("| DirectML.dll | operators |", "|---|---|")
    for place, words in enumerate(EFFECTS.values()):
        yield f"| {plain(words)} | {plain(', '.join(name for name, at in worst.items() if at == place)) or 'none'} |"
    yield from (
        f"| does as documented, as far as the cases tell | the other {sum(at == len(order) for at in worst.values())} |",
        "",
    )


def findings(operators: Sequence[Operator]) -> list[Finding]:
    """The errata, each once with its operators; those of the most operators first."""
    every = sorted(
        ((erratum, operator.name) for operator in operators for erratum in operator.errata),
        key=lambda pair: (pair[0].severity, pair[0].id, pair[0].text, bool(pair[0].measured)),
    )
    grouped = [list(group) for _, group in groupby(every, key=lambda p: (p[0].severity, p[0].id, p[0].text, bool(p[0].measured)))]
    return sorted(((group[0][0], tuple(name for _, name in group)) for group in grouped), key=lambda found: -len(found[1]))


def _has(effect: str, erratum: Erratum) -> bool:
    return erratum.effect == effect


def _list_findings(found: Sequence[Finding], wanted: Callable[[Erratum], bool], shortened: bool = False) -> Iterator[str]:
    for erratum, operators in found:
        if wanted(erratum):
            text = _of_the_dll(erratum.text) if shortened else erratum.text
            yield f"| {plain(', '.join(operators))} | {plain(text)} | {plain(erratum.shown_by or erratum.evidence)} |"


def _of_the_dll(text: str) -> str:
    """The sentences that say what DirectML.dll does; all where none does."""
    sentences = re.split(r"(?<=[.])\s+(?=[A-Z])", text)
    return " ".join(sentence for sentence in sentences if _THE_DLL in sentence) or text


def _is_about(waiver: Waiver, versions: Sequence[str]) -> bool:
    """Whether a waiver is about one of these versions of DirectML.dll, or about any."""
    ranges = waiver.versions.get("DirectML")
    return ranges is None or any(is_within(version, text) for version in versions for text in ranges)


def _list_waived(waivers: Sequence[Waiver]) -> Iterator[str]:
    for reason, group in groupby(sorted(waivers, key=lambda waiver: waiver.reason), key=lambda waiver: waiver.reason):
        cases = [waiver.cases for waiver in group]
        operators = sorted({case.partition("/")[0] for case in cases})
        yield f"| {plain(', '.join(operators))} | {plain(reason)} | {plain(', '.join(cases))} |"
