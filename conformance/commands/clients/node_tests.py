"""``dmlcts client onnxruntime --conformance``: ONNX's node tests on a DirectML.dll, with whose it is what is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from dmlcts.conformance.client.models.node_tests import (
    BROKEN,
    WRONG,
    NodeTestResult,
    NoNodeTests,
    node_tests,
    run_node_tests,
    summary,
)
from dmlcts.conformance.client.models.onnxruntime import ClientError

OUT, RESULTS, SUMMARY, PAGE = "results-node-tests", "node-tests.jsonl", "node-tests.txt", "index.html"
"""The folder for what came of the tests, and the files in it."""

_FAILED, _MISSING = 1, 3

_MOST_ASKED = 100
"""Of so many wrong results it is found out whose they are."""


def run_conformance(
    dll: Path | None, backend: str, options: Sequence[str], expression: str | None, most: int | None, limit: float, out: Path
) -> int:
    """Runs ONNX's node tests, writes what came of them, and returns the exit code: what is wrong and not DirectML's is no failure.

    ``limit`` is that of a test, in seconds.
    """
    from dmlcts.conformance.client.models.whose import OTHERS
    from dmlcts.generator.case.id_filter import matcher
    from dmlcts.reports.formats.node_tests import write_node_tests

    try:
        tests = node_tests(matcher(expression) if expression else lambda name: True, most)
    except ValueError as error:
        raise click.UsageError(f"-k: {error}") from None
    except NoNodeTests as error:
        click.echo(f"dmlcts client: {error}", err=True)
        return _MISSING
    if not tests:
        raise click.UsageError("no node test has such a name")
    results: list[NodeTestResult] = []
    out.mkdir(parents=True, exist_ok=True)
    with (out / RESULTS).open("w", encoding="utf-8", newline="\n") as stream:

        def report(result: NodeTestResult) -> None:
            results.append(result)
            stream.write(json.dumps(asdict(result)) + "\n")

        try:
            run_node_tests(tests, dll, options, limit, report)
        except ClientError as error:
            click.echo(f"dmlcts client: {error}", err=True)
            return _FAILED
    results = _with_owners(results, {test.name: test for test in tests}, dll, backend, options, limit)
    (out / RESULTS).write_text("".join(json.dumps(asdict(result)) + "\n" for result in results), encoding="utf-8", newline="\n")
    text = "\n".join(summary(results))
    (out / SUMMARY).write_text(text + "\n", encoding="utf-8", newline="\n")
    write_node_tests([asdict(result) for result in results], f"ONNX Runtime on {dll.name if dll else backend}", out / PAGE)
    click.echo(f"{text}\nreport: {out / PAGE}")
    return _FAILED if any(result.status in (WRONG, BROKEN) and result.whose != OTHERS for result in results) else 0


def _with_owners(
    results: Sequence[NodeTestResult],
    tests: Mapping[str, Any],
    dll: Path | None,
    backend: str,
    options: Sequence[str],
    limit: float,
) -> list[NodeTestResult]:
    """The results, with whose it is what is wrong in the first of them."""
    from dmlcts.conformance.backends.opening import open_backend, separate_process
    from dmlcts.conformance.client.models.whose import whose
    from dmlcts.conformance.client.replay.judging import Rules

    found = list(results)
    wrong = [place for place, result in enumerate(results) if result.status in (WRONG, BROKEN)][:_MOST_ASKED]
    if not wrong:
        return found
    opened = open_backend(separate_process(backend))
    try:
        rules = Rules(opened, opened.describe())
        for place in wrong:
            owner, why = whose(tests[results[place].test], options, dll, rules, limit)
            found[place] = replace(results[place], whose=owner, why=why)
    finally:
        opened.close()
    return found
