"""Whose a wrong result of a node test is: the test runs once more by itself, captured, and each of its dispatches is judged."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
from dmlcts.conformance.client.models.node_tests import data_of, model_of
from dmlcts.conformance.client.models.onnxruntime import CaptureWish, ClientError, run_model
from dmlcts.conformance.client.replay.judging import Rules
from dmlcts.conformance.client.replay.replay import in_words, replay

OTHERS, DIRECTML, UNKNOWN = "not DirectML's", "DirectML's", "not known"


def whose(test: Any, options: Sequence[str], dll: Path | None, rules: Rules, limit: float) -> tuple[str, str]:
    """Whose the wrong result of a test is, and why in a sentence.

    Where DirectML computes everything right that it was given, by its own documentation and within the suite's tolerances, it is not DirectML's: the client
    gave it something else than ONNX means, or computed that itself.
    """
    inputs, _ = data_of(test)
    with tempfile.TemporaryDirectory() as folder:
        file, wish = Path(folder) / "test.onnx", CaptureWish(Path(folder) / "test.capture", "all")
        file.write_bytes(model_of(test))
        with suppress(ClientError):  # what it did until then was captured
            run_model(file, ("--only-provider", *options), dll, wish, limit, inputs)
        try:
            capture = read_capture(wish.file)
            found = replay(capture, rules, (), date(1970, 1, 1), lambda one: True, lambda number, judged: None)
        except CaptureError as error:
            return UNKNOWN, str(error)
    for refusal in capture.refusals:
        if refusal.counts.get("nodes") == 0:
            return OTHERS, f"the client compiled a graph without a node, which DirectML refused with {refusal.code}"
        return UNKNOWN, f"DirectML refused {refusal.what} with {refusal.code}"
    for _, step, result in found.wrong():
        return DIRECTML, f"{in_words(step)}: {result.message}"
    for graph in found.graphs:
        if not graph.ok:
            return DIRECTML, f"the graph as a whole: {graph.message}"
    if not found.steps:
        return OTHERS, "DirectML was given nothing to do"
    right = sum(result.status == "pass" for _, result, _ in found.steps)
    if right < len(found.steps):
        return UNKNOWN, f"{right} of {len(found.steps)} dispatches are right, the others are not judged"
    return OTHERS, f"DirectML's {right} {'dispatch is' if right == 1 else 'dispatches are'} right: {in_words(found.steps[0][0])}"
