"""The results record, and what people and CI systems read: HTML, JUnit, CTRF, Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dmlcts.reports.explain.explanation import FILE, Explanation, write_explanations
from dmlcts.reports.formats.supplement import Supplement
from dmlcts.reports.record.record import Record


def write_all(record: Record, folder: Path, supplement: Supplement | None = None, explanations: Sequence[Explanation] = ()) -> Path:
    """Writes every form of a report into ``folder`` and returns the path of the page to open.

    ``results.jsonl`` (the record itself), ``claim.json``, the folders ``junit`` and ``ctrf``, ``summary.md`` and ``index.html`` with its folder ``data``.
    ``supplement`` gives the page what the record lacks; ``explanations`` of failures are in the summary, the page and ``explanations.json``.

    Raises:
        OSError: the folder cannot be written; the message names it.
    """
    # Imported here, so that who only reads records does not load a template engine.
    from dmlcts.reports.claim.claim_json import write_claim
    from dmlcts.reports.formats.ctrf import write_ctrf
    from dmlcts.reports.formats.html import write_html
    from dmlcts.reports.formats.junit import write_junit
    from dmlcts.reports.formats.markdown import write_markdown
    from dmlcts.reports.record.files import write_folder
    from dmlcts.reports.record.record import write_record

    with write_folder(folder):
        (folder / "claim.json").unlink(missing_ok=True)  # else it would be of other results, until the new one is written
        write_record(record, folder / "results.jsonl")
    write_claim(record, folder / "claim.json", folder / "results.jsonl")
    write_junit(record, folder / "junit")
    write_ctrf(record, folder / "ctrf")
    write_markdown(record, folder / "summary.md", explanations=explanations)
    if explanations:
        write_explanations(explanations, folder / FILE)
    else:
        (folder / FILE).unlink(missing_ok=True)
    return write_html(record, folder, supplement, explanations)
