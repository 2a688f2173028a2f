"""The backend interface, at the level of buffers: what an implementation under test must offer.

``run`` gets a ``Dispatch`` (an operator desc, resources that are plain bytes, and which part of which resource is bound to which
tensor) and writes into the resources, as DirectML does through its binding table. An implementation that works on arrays derives
from ``ArrayBackend`` instead and needs ten lines.

What a backend says is foreign text: its exceptions and its description clean and cap it (spec/untrusted/sanitize), so that no report has to.

Three exceptions report everything but success: ``Rejected`` (the implementation rejects the desc or bindings, as negative cases require),
``Unsupported`` (it does not claim this at all) and ``BackendFault`` (it crashed, hung, or gave an answer that makes no sense).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dmlcts.reports.record.paths import MOST_PATHS, CodePath, code_path
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.untrusted import sanitize

Bytes = NDArray[np.uint8]

LONGEST_NAME = 200
"""Characters of a backend's name, version or device."""

STAGES = ("create", "compile", "initialize", "bind", "dispatch", "read back")
"""Where a rejection can happen, in DirectML's order."""


class Rejected(Exception):
    """The implementation rejected the desc or the bindings. ``stage`` is one of STAGES; ``code`` its own code, such as an HRESULT.

    ``stderr`` is what its program wrote to standard error meanwhile, the end of it.
    """

    def __init__(self, message: str, stage: str = "create", code: str = "") -> None:
        super().__init__(sanitize.line(message))
        self.stage, self.code, self.stderr = sanitize.line(stage), sanitize.line(code), ""


class Unsupported(Exception):
    """The implementation does not claim this operator, data type or feature. Not a pass and not a failure."""

    def __init__(self, message: str = "") -> None:
        super().__init__(sanitize.line(message))


CRASHED, HUNG, SLOW, GARBLED, NOT_STARTED = "crashed", "hung", "slow", "garbled", "not started"
"""How a host is lost: it ended, did nothing more, worked on for too long, answered what is no answer; it could not be started again."""


class BackendFault(Exception):
    """The implementation crashed, hung or gave an answer that makes no sense. ``evidence``: exit code, last lines, bytes.

    ``lost`` says how its host was lost (CRASHED ...); it is empty where the host reported the fault itself, and goes on. ``stderr`` is what its
    program wrote to standard error before it answered so, the end of it; empty if it gave no answer. ``call`` is the place of the call of a
    sequence in which its program was last.
    """

    call: int | None = None

    def __init__(self, message: str, evidence: str = "", lost: str = "") -> None:
        super().__init__(sanitize.line(message))
        self.evidence, self.lost, self.stderr = sanitize.block(evidence), lost, ""


class BackendUnavailable(Exception):
    """A backend could not be started at all; the message says what is missing and how to get it. Exit code 3."""

    def __init__(self, message: str) -> None:
        super().__init__(sanitize.block(message))


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """A backend's description.

    ``operators`` and ``data_types`` are those that it supports, all where empty, and may be given as lists; ``validates`` says whether it rejects invalid descs and
    bindings. Cases beyond them are not run; everything else is claimed, so that an unsupported case there is no conformance.
    ``denormals`` is its policy: preserve, flush or any. ``half_store`` is how FLOAT16 results are stored: nearest or truncate.
    ``accumulator`` is p_acc, the mantissa bits of FLOAT32 and FLOAT16 accumulation, 0 if unknown; ``nearest`` says whether it rounds
    to nearest while accumulating.
    """

    name: str
    version: str = ""
    device: str = ""
    feature_level: str = "6_4"
    data_types: tuple[str, ...] = ()
    denormals: str = "any"
    half_store: str = "nearest"
    accumulator: int = 0
    nearest: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    operators: tuple[str, ...] = ()
    validates: bool = True

    def __post_init__(self) -> None:
        for name in ("name", "version", "device"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, sanitize.line(value, LONGEST_NAME))
        for name in ("operators", "data_types"):
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))
        if isinstance(self.details, Mapping):
            object.__setattr__(self, "details", sanitize.data(self.details, sanitize.line))

    def to_json(self) -> dict[str, Any]:
        """The description as JSON, for the manifest."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> BackendInfo:
        """A description from ``to_json``'s data."""
        return BackendInfo(**data)

    def change(self, later: BackendInfo) -> str:
        """The first field in which a later description by the same backend differs, in words; empty if none does. ``details`` may."""
        pairs = ((f.name, getattr(self, f.name), getattr(later, f.name)) for f in fields(self) if f.name != "details")
        return next((f"its {name} was {before!r} and is {now!r}" for name, before, now in pairs if before != now), "")


@dataclass(frozen=True, slots=True)
class BufferBinding:
    """DML_BUFFER_BINDING: ``size`` bytes from ``offset`` of the resource with this index."""

    resource: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One execution. ``resources`` are writable and changed in place; two bindings of one resource are an in-place execution.

    ``bindings`` has every tensor of the desc by name (``ATensor``, ``InputTensors[0]``). ``outputs`` are the names of the tensors
    that the operator writes. ``timeout`` is in seconds, None for no limit. ``paths`` takes the code paths that ran; None where nobody asks. Without ``execute``,
    they are all that is asked for: the outputs are not looked at, and need not be written.
    """

    desc: OperatorDesc
    resources: list[Bytes]
    bindings: Mapping[str, BufferBinding]
    outputs: tuple[str, ...]
    timeout: float | None = None
    paths: list[CodePath] | None = None
    execute: bool = True

    def path(self, label: str, *numbers: int) -> None:
        """Notes a code path that runs: a kernel's name or digest, and up to 8 numbers, such as thread groups. Beyond 1,025 none is kept.

        Raises ValueError for an empty label, or a number that is not an unsigned integer.
        """
        _note_path(self.paths, label, numbers)

    def bound_outputs(self) -> dict[int, str]:
        """The resources that outputs are bound to, each with an output's name."""
        return {self.bindings[name].resource: name for name in self.outputs if name in self.bindings}


Source = int | tuple[int, str]
"""What feeds a tensor of a node: the graph's input of this number, or a node and the name of its output, empty for a constant's."""


@dataclass(frozen=True, slots=True)
class GraphDispatch:
    """One execution of a compiled graph, for a backend that has ``run_graph``.

    ``nodes`` are operators, each behind those that feed it, and the bytes of constants. ``feeds`` has the source of each input tensor of each node, by
    name. ``outputs`` are the graph's: a node and the name of its output. ``resources`` are the buffers of the graph's inputs, ``inputs`` of them, and
    then those of its outputs, changed in place: bytes between elements stay. ``timeout``, ``paths`` and ``execute`` are a Dispatch's.
    """

    nodes: tuple[OperatorDesc | bytes, ...]
    feeds: tuple[Mapping[str, Source], ...]
    outputs: tuple[tuple[int, str], ...]
    resources: list[Bytes]
    inputs: int
    timeout: float | None = None
    paths: list[CodePath] | None = None
    execute: bool = True

    def path(self, label: str, *numbers: int) -> None:
        """Notes a code path that runs, as ``Dispatch.path`` does. Raises ValueError."""
        _note_path(self.paths, label, numbers)

    def bound_outputs(self) -> dict[int, str]:
        """The resources of its outputs, each with a name."""
        return {self.inputs + number: f"{number} of the graph" for number in range(len(self.outputs))}


def _note_path(paths: list[CodePath] | None, label: str, numbers: tuple[int, ...]) -> None:
    found = code_path(label, numbers)
    if paths is not None and len(paths) < MOST_PATHS:
        paths.append(found)


class Backend(Protocol):
    """An implementation under test.

    One that compiles graphs of operators may also have ``run_graph(dispatch: GraphDispatch)``, which raises as ``run`` does, and Unsupported for a graph that it
    does not take as a whole: the suite has its nodes run one after another then.
    """

    def describe(self) -> BackendInfo:
        """The description. Called once, after opening."""
        ...

    def run(self, dispatch: Dispatch) -> None:
        """Executes. Raises Rejected, Unsupported or BackendFault."""
        ...

    def close(self) -> None:
        """Releases resources. Called once, at the end."""
        ...


def run_graph(backend: Backend, dispatch: GraphDispatch) -> None:
    """Has a backend execute a graph as a whole. Raises Unsupported where it does not, and what else the backend raises."""
    whole: Callable[[GraphDispatch], None] | None = getattr(backend, "run_graph", None)
    if whole is None:
        raise Unsupported("it runs single dispatches")
    whole(dispatch)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """An implementation that other machines have: here is its description alone, and nothing can be run. ``performs`` says whether it performs sequences itself."""

    info: BackendInfo
    performs: bool

    def describe(self) -> BackendInfo:
        """The description that it gave there."""
        return self.info

    def run(self, dispatch: Dispatch) -> None:
        """Raises BackendFault: it is not here."""
        raise BackendFault(f"{self.info.name} is on another machine")

    def close(self) -> None:
        """Nothing is open here."""
