"""What a client did, as data: operators, graphs, and what was executed with which buffers and bytes.

A *dispatch* is one call of RecordDispatch; an *execution* is a dispatch that a queue was given, which may happen to one dispatch many times.
Objects are known by their number in the file, from 1, in the order in which they were made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of the data file. ``offset`` is None where only their size and digest are known."""

    offset: int | None
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Part:
    """A DML_BUFFER_BINDING. ``buffer`` stands for a resource's address, which another resource may have had before."""

    buffer: int
    offset: int
    size: int


Binding = Part | tuple[Part | None, ...] | None
"""A DML_BINDING_DESC: part of a buffer, an array of those, or none."""

Contents = Piece | tuple[Piece | None, ...] | None
"""The bytes of a binding, in its form; None where they were not captured."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An IDMLOperator. ``desc`` is None where this suite does not know the type, ``type`` its number then; ``line`` is its line in the file."""

    id: int
    line: int
    desc: OperatorDesc | None
    type: int = 0

    @property
    def name(self) -> str:
        """The operator's name, or its number if it has none here."""
        return self.desc.type if self.desc is not None else f"operator type {self.type}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A node of constant data."""

    data: Piece


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph: an operator, or constant data."""

    content: Operator | Constant
    name: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """``source`` and ``target`` are (node, its output or input), or (-1, the graph's own input or output)."""

    source: tuple[int, int]
    target: tuple[int, int]
    name: str = ""


OUTSIDE = -1
"""Stands for the graph itself in an edge."""


@dataclass(frozen=True, slots=True)
class Graph:
    """What CompileGraph was given."""

    inputs: int
    outputs: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """An IDMLCompiledOperator: of an operator or a graph. ``flags`` are DML_EXECUTION_FLAGS."""

    id: int
    line: int
    content: Operator | Graph
    flags: int

    @property
    def operators(self) -> tuple[Operator, ...]:
        """Its operators, in the order of the nodes."""
        if isinstance(self.content, Operator):
            return (self.content,)
        return tuple(node.content for node in self.content.nodes if isinstance(node.content, Operator))

    @property
    def volatile(self) -> bool:
        """Whether what is bound may change until it is executed."""
        return bool(self.flags & abi().execution_flags["DESCRIPTORS_VOLATILE"])


@dataclass(frozen=True, slots=True)
class Initializer:
    """An IDMLOperatorInitializer, from its creation or its last Reset on."""

    id: int
    line: int
    compiled: tuple[Compiled, ...]


Dispatchable = Compiled | Initializer


@dataclass(slots=True)
class Bindings:
    """What a binding table binds."""

    inputs: tuple[Binding, ...] = ()
    outputs: tuple[Binding, ...] = ()
    temporary: Binding = None
    persistent: Binding = None


@dataclass(slots=True)
class Execution:
    """A dispatch that a queue was given. ``number`` counts from 1; ``dispatch`` is the number of the dispatch, ``line`` where it was recorded."""

    number: int
    dispatch: int
    line: int
    dispatchable: Dispatchable
    bindings: Bindings
    inputs: tuple[Contents, ...] = ()
    outputs: tuple[Contents, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that failed: ``what`` it should have made, the HRESULT, and the desc as JSON where it was one of an operator."""

    line: int
    what: str
    code: str
    desc: object = None


@dataclass(slots=True)
class Capture:
    """A whole file. ``remarks`` say what is not in it, as that it was cut; ``names`` are those that the client gave objects, by their number."""

    file: Path
    program: str
    directml: str
    version: str
    operators: list[Operator] = field(default_factory=list)
    compiled: list[Compiled] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    @property
    def data_file(self) -> Path:
        """Where the bytes are."""
        return self.file.with_name(f"{self.file.name}.data")

    @property
    def graphs(self) -> list[Compiled]:
        """What was compiled from graphs."""
        return [compiled for compiled in self.compiled if isinstance(compiled.content, Graph)]

    def dispatched_operators(self) -> Iterator[tuple[Execution, Operator]]:
        """Every operator of every execution, the nodes of graphs one by one. Initializations are none."""
        for execution in self.executions:
            if isinstance(execution.dispatchable, Compiled):
                for operator in execution.dispatchable.operators:
                    yield execution, operator
