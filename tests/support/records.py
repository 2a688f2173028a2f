"""Records of runs for tests of reports, and what a report's page lists."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import decompress

from dmlcts.reports.record.record import PASS, STATUSES, Manifest, Record, Result

MANIFEST = Manifest(
    suite_version="0.1.0", spec_version="1", backend={"name": "impl", "version": "2.0", "device": "a GPU", "data_types": ["FLOAT32"]},
    backend_spec="process:./impl", command="dmlcts run --backend process:./impl", level="core", basis="documented", feature_level="6_4",
    seed="7", platform={"system": "Linux"}, started="2026-01-02T03:04:05+00:00", finished="2026-01-02T03:04:15Z", seconds=10.0,
)  # fmt: skip

HOSTILE = "a \"<b>&' \x00\x1b[31m </script> ]]> `|` @somebody \ud800 \u2028 ÿ𝔘"


def result(
    status: str = PASS, number: int = 0, operator: str = "ELEMENT_WISE_ROUND", data_type: str = "FLOAT16", **more: object
) -> Result:
    basis = str(more.pop("basis", "documented"))
    return Result(f"{operator}/{data_type}/{number}", operator, data_type, "table", basis, "6_4", status, **more)  # type: ignore[arg-type]


def negative(status: str = PASS, number: int = 0, **more: object) -> Result:
    """The result of an invalid desc or binding."""
    return replace(result(status, number, **more), kind="negative")  # type: ignore[arg-type]


def run(*results: Result, **manifest: object) -> Record:
    return Record(replace(MANIFEST, **{"selected": len(results), **manifest}), results)


def of(**numbers: int) -> Record:
    """A run with so many results of each status."""
    statuses = ((status, i) for status, number in numbers.items() for i in range(number))
    return run(*(result(status, number, message=f"{status} {i}") for number, (status, i) in enumerate(statuses)))


# Different numbers, so that no status can stand for another unseen.
ALL_SEVEN = of(**{status: 2**i for i, status in enumerate(STATUSES)})


def listed_cases(folder: Path) -> list[tuple[Any, ...]]:
    """Every case that the browser lists: id, milliseconds, ULP, and what it shares with others."""
    text = (folder / "data" / "cases.js").read_text(encoding="ascii")
    data = json.loads(decompress(b64decode(text.removeprefix('(window.dmlcts ??= {}).cases = "').removesuffix('";\n'))))
    return [
        (short, milliseconds, ulp, *data["shared"][shared])
        for lists in data["operators"]
        for short, shared, milliseconds, ulp in zip(*lists, strict=True)
    ]
