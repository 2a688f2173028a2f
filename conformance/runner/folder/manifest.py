"""The manifest of a run: when it starts, and when it goes on."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.folder.inputs import inputs_of
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.screen.terminal import command_text
from dmlcts.conformance.sequences.promises.profile import profile_called, profile_names
from dmlcts.reports.record.record import BEYOND_OPERATORS, NOT_RUN, Manifest, RecordError, Result
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.reading.loader import operator_names
from dmlcts.spec.reading.promises import spec_files, spec_version

_SAME = (
    "suite_version", "backend_spec", "backend", "level", "basis", "feature_level", "seed", "shard", "selection", "spec_version", "spec_files",
    "inputs",
)  # fmt: skip
"""Manifest entries that must be equal to resume a run."""

_HASHES = {
    "inputs": "the waivers, case files, --timeout or the backend's code",
    "spec_files": "the spec files, before the version of the spec was known",
}
"""What differs where these entries do; their values tell nobody anything."""


def resume_manifest(manifest: Manifest, operators: Sequence[str], out: Path) -> tuple[Manifest, dict[str, Result]]:
    """The manifest of a run of these operators that goes on, and the results that it has so far, by case.

    A run that was killed before it knew the version of its spec goes on if the spec's files are the same, byte for byte.

    Raises:
        UsageError: the output folder has no run, one that is complete, or one with other options, versions or files. Nothing has been
            changed then.
    """
    try:
        before = journal.read_run(out)
    except RecordError as error:
        raise UsageError(f"nothing to resume: {error}") from None
    if before.manifest.spec_version:
        manifest = with_version(manifest, operators)
    for name in _SAME:
        earlier, current = (json.loads(json.dumps(getattr(m, name))) for m in (before.manifest, manifest))  # a file has no tuples
        if earlier != current:
            values = _HASHES.get(name, f"{name} was {earlier!r} and is {current!r}")
            raise UsageError(
                f"the run in {out} cannot be resumed with other options or versions: {values}; start it anew without --resume"
            )
    done = {result.case: result for result in before.results if result.status != NOT_RUN}
    if before.manifest.finished and not before.manifest.interrupted and len(done) >= before.manifest.selected:
        raise UsageError(f"the run in {out} is complete, so there is nothing to resume; start it anew without --resume")
    first = before.manifest
    return replace(manifest, started=first.started, seconds=first.seconds, resumed=[*first.resumed, now()]), done


_SHOWN = 5
"""How many selected ids a manifest names."""


def _selection_text(options: RunOptions) -> str:
    """What selects the cases besides level, basis and shard; empty if nothing does."""
    named = (*options.cases, *options.case_files)
    if named:
        more = [f"{len(named) - _SHOWN:,} more"] if len(named) > _SHOWN else []
        return ", ".join((*named[:_SHOWN], *more))
    operators = ", ".join(options.operators)
    network = f"{'profile' if options.network in profile_names() else 'network'} {options.network}" if options.network else ""
    return ": ".join(filter(None, (network, operators, options.expression)))


def manifest_of(options: RunOptions, info: BackendInfo, operators: Sequence[str], command: Sequence[str] = ()) -> Manifest:
    """The manifest of a run that starts now; it counts as interrupted until it ends, the cases of no operator are listed yet, and it has no ``spec_version``."""
    return Manifest(
        suite_version=metadata.version("directml-conformance"),
        spec_version="",
        backend=info.to_json(),
        backend_spec=options.backend,
        command=command_text(["dmlcts", *(command or ["run"])]),
        level=options.level,
        basis=options.basis,
        feature_level=str(feature_level(options.feature_level)),
        seed=options.seed,
        platform={
            "system": platform.system(),
            "release": platform.release(),
            "version": platform.version(),
            "machine": platform.machine(),
            "python": platform.python_version(),
        },
        started=now(),
        shard=options.shard,
        interrupted=True,
        selection=_selection_text(options),
        unlisted=list(operators),
        inputs=inputs_of(options),
        spec_files=spec_files(),
        required=list(options.required),
        left_out=options.left_out,
        profile=_profile_of(options),
        waivers=[{"file": Path(file).name, "sha256": sha256(Path(file).read_bytes()).hexdigest()} for file in options.waivers],
    )


def _profile_of(options: RunOptions) -> dict[str, str]:
    """The profile of the API that a run is of; empty if it is of none."""
    if options.network not in profile_names():
        return {}
    profile = profile_called(options.network)
    return {"name": profile.name, "client": profile.client, "able": profile.able}


def with_version(manifest: Manifest, operators: Sequence[str]) -> Manifest:
    """The manifest with the version of these operators' specs, which are loaded; of all, where promises of the API or graphs run alone. Raises SpecError."""
    if manifest.spec_version:
        return manifest
    names = [name for name in operators if name not in BEYOND_OPERATORS] or operator_names()
    return replace(manifest, spec_version=spec_version(names), spec_files="")


def now() -> str:
    """The time, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
