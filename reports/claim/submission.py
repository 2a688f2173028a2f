"""A submission: a run's record, its claim and all that it rests on in one zip file, for somebody else to check.

    submission.json   what it is, with the hash of every other file (reports/schema/submission.schema.json)
    results.jsonl     the record
    claim.json        the claim
    STATEMENT.md      the claim in words, to be signed
    waivers/1.yaml    the waiver files of the run, in its order
    outputs/1.bin     what the implementation answered in a sample of the cases, if it was asked again: the bytes of a case's outputs

What it shows, and what not: SECURITY.md, "What a submission shows".
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from dmlcts.reports.claim.claim_json import claim_json
from dmlcts.reports.record.record import Record
from dmlcts.reports.record.verdict import backend_name, level_text
from dmlcts.spec.untrusted.files import MIB, InputError, check, parse_json, path_text, validator
from dmlcts.spec.writing.files import writing_to

FORMAT = "dmlcts-submission-1"

INDEX, RESULTS, CLAIM, STATEMENT = "submission.json", "results.jsonl", "claim.json", "STATEMENT.md"

SAMPLE = 200
"""So many cases are asked again."""

LARGEST_OUTPUTS = MIB
"""The most bytes of outputs of a case that may be in the sample."""

_NAME = re.compile(
    rf"{re.escape(RESULTS)}|{re.escape(CLAIM)}|{re.escape(STATEMENT)}|waivers/[1-9][0-9]{{0,2}}\.yaml|outputs/[1-9][0-9]{{0,2}}\.bin"
)
_LARGEST = {"results.jsonl": 1024 * MIB, "submission.json": 4 * MIB, "claim.json": 64 * MIB}
"""The most bytes of a file, unpacked; others have at most 4 MiB. A case's results and claim are text that packs well: only sizes limit a bomb."""

_MOST_FILES = 2 * SAMPLE


class SubmissionError(ValueError):
    """A file is no submission; the message names it and what is wrong."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission that was read: its index, and the bytes of its files by name. All hashes are right."""

    index: dict[str, Any]
    files: dict[str, bytes]

    def waivers(self) -> list[bytes]:
        """The waiver files in the run's order."""
        return [self.files[name] for name in sorted((n for n in self.files if n.startswith("waivers/")), key=_number)]


def _number(name: str) -> int:
    return int(re.sub(r"[^0-9]", "", name))


def sample_of(cases: Iterable[str], results_sha256: str, count: int = SAMPLE) -> list[str]:
    """The cases of a sample: those with the lowest hashes of their id and the record's own hash, so that nobody knows them before the record is complete."""
    return sorted(cases, key=lambda case: sha256(f"{results_sha256}\0{case}".encode()).digest())[:count]


def write_submission(
    record: Record, results: bytes, waivers: Sequence[bytes], outputs: Mapping[str, bytes], file: Path
) -> dict[str, Any]:
    """Writes a submission of a record, whose file is ``results``, and returns its index.

    ``outputs`` are the files of the sample by case, in its order; none if nothing was asked again. Raises WriteError.
    """
    digest = _digest(results)
    contents = {
        RESULTS: results,
        CLAIM: (json.dumps(claim_json(record, digest), indent=1) + "\n").encode(),
        STATEMENT: statement(record, digest).encode(),
        **{f"waivers/{number}.yaml": data for number, data in enumerate(waivers, start=1)},
        **{f"outputs/{number}.bin": data for number, data in enumerate(outputs.values(), start=1)},
    }
    index = index_of(record, {name: _digest(data) for name, data in contents.items()}, list(outputs))
    text = (json.dumps(index, indent=1, ensure_ascii=False) + "\n").encode()
    partial = file.with_name(f"{file.name}.partial")
    with writing_to(file):
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in {INDEX: text, **contents}.items():
                archive.writestr(
                    zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED
                )  # of no date, so that the same run gives the same file
        partial.replace(file)
    return index


def index_of(record: Record, hashes: Mapping[str, str], sample: Sequence[str]) -> dict[str, Any]:
    """The index of a submission of a record: versions, environment, the hash of each file, and the cases whose outputs it has."""
    manifest, backend = record.manifest, record.manifest.backend
    details = backend.get("details") if isinstance(backend.get("details"), Mapping) else {}
    return {
        "format": FORMAT,
        "implementation": {
            "name": str(backend.get("name") or ""),
            "version": str(backend.get("version") or ""),
            "device": str(backend.get("device") or ""),
            "details": {str(name): value for name, value in (details or {}).items() if isinstance(value, str)},
        },
        "environment": dict(manifest.platform),
        "versions": {"suite": manifest.suite_version, "spec": manifest.spec_version},
        "command": manifest.command,
        "inputs": manifest.inputs,
        "started": manifest.started,
        "finished": manifest.finished,
        "files": dict(hashes),
        "sample": list(sample),
    }


def statement(record: Record, results_sha256: str) -> str:
    """The claim as a document that a person signs."""
    manifest, claim = record.manifest, claim_json(record, results_sha256)
    waivers = "".join(f"- {entry['file']}, SHA-256 {entry['sha256']}\n" for entry in manifest.waivers) or "- none\n"
    return f"""# Statement of conformance

{claim["sentence"]}

| | |
|---|---|
| implementation | {backend_name(manifest)} |
| device | {manifest.backend.get("device") or "not named"} |
| tested at | {level_text(manifest)}, level {manifest.level}, basis {manifest.basis} |
| suite, spec | {manifest.suite_version}, {manifest.spec_version} |
| run | {manifest.started} to {manifest.finished} |
| command | `{manifest.command}` |
| SHA-256 of the results | {results_sha256} |

Waiver files:

{waivers}
The undersigned states that these results were produced by the unmodified suite of this version, with this implementation, on this device, and were not edited.

Name, organization:

Date, signature:
"""


def read_submission(file: Path) -> Submission:
    """Reads a submission and checks its form and its hashes.

    Raises:
        SubmissionError: it is no zip file, holds a file that no submission has, or twice, or that is too large, lacks one, or a hash differs.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > _MOST_FILES:
                raise SubmissionError(f"{file}: holds {len(entries):,} files; a submission has at most {_MOST_FILES}")
            found: dict[str, bytes] = {}
            for entry in entries:
                name = entry.filename
                if name != INDEX and not _NAME.fullmatch(name):
                    raise SubmissionError(f"{file}: holds {name[:100]!a}, which no submission has")
                if name in found:
                    raise SubmissionError(f"{file}: holds {name} twice")
                found[name] = _unpack(archive, entry, _LARGEST.get(name, 4 * MIB), file)
    except SubmissionError:
        raise
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise SubmissionError(f"{file}: cannot be read as a zip file: {error}") from None
    index = _index(found.pop(INDEX, None), file)
    if missing := sorted({RESULTS, CLAIM, *index["files"]} - found.keys()):
        raise SubmissionError(f"{file}: lacks {missing[0]}")
    if unlisted := sorted(found.keys() - index["files"].keys()):
        raise SubmissionError(f"{file}: {INDEX} does not list {unlisted[0]}")
    for name, digest in index["files"].items():
        if (actual := _digest(found[name])) != digest:
            raise SubmissionError(f"{file}: {name} was changed: its SHA-256 is {actual}, and {INDEX} has {digest}")
    return Submission(index, found)


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int, file: Path) -> bytes:
    """The bytes of an entry. What its header says of its size is not believed."""
    with archive.open(entry) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise SubmissionError(f"{file}: {entry.filename} has more than {most:,} bytes")
    return data


def _index(data: bytes | None, file: Path) -> dict[str, Any]:
    if data is None:
        raise SubmissionError(f"{file}: lacks {INDEX}: no submission that `dmlcts submit` wrote")
    try:
        found: dict[str, Any] = parse_json(data.decode("utf-8"))
    except (InputError, UnicodeDecodeError) as error:
        raise SubmissionError(f"{file}: {INDEX}: {error}") from None
    check(
        validator("dmlcts.reports", "submission"),
        found,
        lambda path, problem: SubmissionError(f"{file}: {INDEX}: {path_text(path) or 'it'}: {problem}"),
    )
    return found


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
