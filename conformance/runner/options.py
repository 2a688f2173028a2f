"""The options of a run. Passed to worker processes as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dmlcts.generator.case import Case
from dmlcts.generator.case_file import CaseError, read_case_file
from dmlcts.generator.matching import matcher, may_match
from dmlcts.generator.suite import find_case, operator_cases, select
from dmlcts.spec.abi import feature_level
from dmlcts.spec.foreign import shortened
from dmlcts.spec.loader import operator_names
from dmlcts.spec.model import DOCUMENTED


class UsageError(ValueError):
    """The user asked for something that does not exist; the message says what does. Exit code 2."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of ``dmlcts run``. ``feature_level`` empty means the backend's; ``shard`` is ``I/N`` or empty; ``timeout`` is seconds.

    ``required`` are requirements as in a manifest (conformance/runner/requirements).
    """

    backend: str = "reference"
    level: str = "core"
    basis: str = DOCUMENTED
    feature_level: str = ""
    expression: str = ""
    shard: str = ""
    seed: str = ""
    timeout: float = 30.0
    cases: tuple[str, ...] = ()
    case_files: tuple[str, ...] = ()
    waivers: tuple[str, ...] = ()
    out: str = "results"
    required: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The options as one line."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> RunOptions:
        """Options from ``to_json``'s line."""
        data: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(text).items()
        }
        return RunOptions(**data)


def selected_cases(options: RunOptions) -> list[Case]:
    """The cases that a run executes: those named, each once, or all that the options select.

    Raises:
        UsageError: an unknown case, feature level, expression or shard, or an invalid case file.
    """
    shard = shard_of(options.shard)
    try:
        level = feature_level(options.feature_level) if options.feature_level else None
        matching = matcher(options.expression) if options.expression else None
        named = [find_case(case_id) for case_id in dict.fromkeys(options.cases)]
    except (KeyError, ValueError) as error:
        raise UsageError(str(error.args[0])) from None
    if options.cases or options.case_files:
        return [*named, *_in_files(options.case_files, {case.id for case in named})]
    names = [name for name in operator_names() if not options.expression or may_match(options.expression, name)]
    every = (case for name in names for case in operator_cases(name, options.level))
    return select(every, level=options.level, basis=options.basis, at=level, matching=matching, shard=shard)


def _in_files(files: Iterable[str], taken: set[str]) -> Iterator[Case]:
    for file in dict.fromkeys(files):
        case = read_case(Path(file))
        if case.id in taken:
            raise UsageError(f"{file}: the case {case.id} is already selected; run one of the two at a time")
        taken.add(case.id)
        yield case


def shard_of(text: str) -> tuple[int, int]:
    """``I/N`` as two numbers; empty means the whole run. Raises UsageError."""
    if not text:
        return 1, 1
    parts = re.fullmatch("([0-9]{1,4})/([0-9]{1,4})", text)
    if not (parts and 1 <= int(parts[1]) <= int(parts[2])):
        raise UsageError(f"a shard is I/N with 1 <= I <= N <= 9999, such as 2/4, not {shortened(text)!r}")
    return int(parts[1]), int(parts[2])


def read_case(file: Path) -> Case:
    """A case from a JSON file that ``repro`` or a failed property case wrote. Raises UsageError."""
    try:
        return read_case_file(file)
    except CaseError as error:
        raise UsageError(str(error)) from None
