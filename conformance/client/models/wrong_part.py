"""Bisects a model that a client runs wrong: its parts are run by the same client on the same DLL, captured, and judged as a replay judges.

What the nodes before a part give it are the values of ONNX Runtime's CPU provider.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
from dmlcts.conformance.client.capture.records import Capture, Graph
from dmlcts.conformance.client.models.bisecting import Part, place_of, smallest_wrong
from dmlcts.conformance.client.models.onnxruntime import CaptureWish, ClientError, arrays_of, run_model
from dmlcts.conformance.client.models.reading import Model, read_model, with_outputs
from dmlcts.conformance.client.models.writing import Node, node_proto
from dmlcts.conformance.client.replay.judging import Rules
from dmlcts.conformance.client.replay.replay import Replayed, replay
from dmlcts.reports.record.record import FAILURES, Record

Array = NDArray[Any]

_ALWAYS = date(1970, 1, 1)  # no waivers, so no day matters


@dataclass(frozen=True, slots=True)
class Setting:
    """How the client runs a model: its options, the DirectML.dll (None for the backend's own), a limit in seconds, and the first inputs."""

    options: tuple[str, ...]
    dll: Path | None
    limit: float = 600.0
    inputs: Sequence[Array] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class WrongPart:
    """The smallest part that is wrong, with what came of it, and the right values of its outputs."""

    part: Part
    found: Replayed
    expected: Mapping[str, Array]


def wrong_node(capture: Capture, record: Record) -> str:
    """What the capture calls the node of the first failure of its replay's record; empty where it has no name, or nothing failed."""
    for result in record.results:
        if result.status not in FAILURES:
            continue
        numbers = [int(word) for word in result.case.split("/replay/")[-1].split("/") if word.isdecimal()]
        execution = next((one for one in capture.executions if numbers and one.number == numbers[0]), None)
        content = getattr(execution.dispatchable, "content", None) if execution else None
        return content.nodes[numbers[1]].name if isinstance(content, Graph) and len(numbers) > 1 else ""
    return ""


def wrong_part(file: Path, node: str, setting: Setting, rules: Rules) -> WrongPart | None:
    """The smallest part of a model around the DirectML node of this name that is wrong by itself; around the first wrong one without a name. None if none is.

    Raises:
        ModelError: the model cannot be cut. ClientError: ONNX Runtime's CPU provider cannot run it.
    """
    model, seen = read_model(file), dict[str, Array]()
    last: Replayed | None = None

    def values(names: Sequence[str]) -> Mapping[str, Array]:
        if missing := [name for name in names if name not in seen]:
            seen.update(_values(model, missing, setting))
        return {name: seen[name] for name in names}

    def is_wrong(part: Part) -> bool:
        nonlocal last
        found = _judge_part(part, setting, rules)
        if found is None or not (found.wrong() or any(not graph.ok for graph in found.graphs)):
            return False
        last = found
        return True

    part = smallest_wrong(model, place_of(model, node), values, is_wrong)
    if part is None or last is None:
        return None
    return WrongPart(part, last, values(part.outputs))


def _values(model: Model, names: Sequence[str], setting: Setting) -> dict[str, Array]:
    """The values of names in the whole model, by the CPU provider. Each is made an output through an Identity, as an input cannot be one."""
    copies = {name: f"dmlcts/value/{number}" for number, name in enumerate(names)}
    nodes = [node_proto(Node("Identity", [name], [copy])) for name, copy in copies.items()]
    options = (*(word for word in setting.options if word not in ("--no-graph", "--optimize")), "--cpu")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "whole.onnx"
        file.write_bytes(with_outputs(model, nodes, list(copies.values())))
        found = arrays_of(run_model(file, options, setting.dll, None, setting.limit, setting.inputs))
    lacking = [name for name, copy in copies.items() if copy not in found]
    if lacking:
        raise ClientError(f"{lacking[0]} is no tensor of numbers, so the model cannot be cut there")
    return {name: found[copy] for name, copy in copies.items()}


def _judge_part(part: Part, setting: Setting, rules: Rules) -> Replayed | None:
    """What comes of a part; None where it does not run."""
    with tempfile.TemporaryDirectory() as folder:
        file, wish = Path(folder) / "part.onnx", CaptureWish(Path(folder) / "part.capture", "all")
        file.write_bytes(part.data)
        try:
            run_model(file, setting.options, setting.dll, wish, setting.limit, tuple(part.inputs.values()))
            return replay(read_capture(wish.file), rules, (), _ALWAYS, lambda one: True, lambda number, judged: None)
        except (ClientError, CaptureError):
            return None
