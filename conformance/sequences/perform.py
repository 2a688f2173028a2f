"""Sequences on any backend that runs single dispatches: what has state lies in the buffers, so ``run(dispatch)`` is enough for it.

Performed are the calls about operators, bindings, memory and execution on the device that is there from the beginning. All others are answered
``unsupported``, as are all calls after one that was: what they need may not have been made. Threads take turns in the order in which their calls stand.

An initializer copies the inputs that DirectML owns (DML_TENSOR_FLAG_OWNED_BY_DML) into the persistent memory that is bound to it, and a dispatch
reads them there. Each dispatch gets copies of the buffers, and what it leaves in them is copied back: a backend must not go on with
memory that a call has returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dmlcts.conformance.backends.backend import Backend, BufferBinding, Bytes, Dispatch, Rejected, Unsupported, run_graph
from dmlcts.conformance.sequences.calls import (
    DEVICE,
    DIRECT,
    PERSISTENT,
    TEMPORARY,
    VOLATILE,
    Barrier,
    BindInputs,
    BindOutputs,
    BindPersistent,
    BindTemporary,
    Call,
    Close,
    Compile,
    CompileGraph,
    CreateHeap,
    CreateInitializer,
    CreateList,
    CreateOperator,
    CreateResource,
    CreateTable,
    GetProperties,
    Meet,
    Range,
    Read,
    Record,
    Reply,
    ResetInitializer,
    ResetTable,
    Size,
    SizeOf,
    Slot,
    Submit,
    Wait,
    Write,
)
from dmlcts.conformance.sequences.calls.slots import is_owned, slots_of
from dmlcts.conformance.sequences.compose import CompiledGraph, Place
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

_ALIGNMENT = 256
"""Where an owned input may begin in persistent memory: multiples of DML_PERSISTENT_BUFFER_ALIGNMENT, which is as large as any alignment that is tested."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a binding table holds."""

    inputs: tuple[Slot, ...] = ()
    outputs: tuple[Slot, ...] = ()
    temporary: Slot = None
    persistent: Slot = None


@dataclass(eq=False, slots=True)
class Compiled:
    """A compiled operator. ``number`` is how the sequence names it."""

    number: int
    desc: OperatorDesc
    flags: tuple[str, ...] = ()

    def slots(self, kind: str) -> tuple[str, ...]:
        """The names of its inputs or outputs, a slot of a binding table each."""
        return slots_of(self.desc, kind)

    def owned_inputs(self) -> dict[str, TensorDesc]:
        """The inputs that DirectML owns, by name."""
        return {name: tensor for name, tensor in self.desc.tensors() if is_owned(tensor)}


Executable = Compiled | CompiledGraph
"""What is initialized, and then recorded with a table."""


@dataclass(eq=False, slots=True)
class Initializer:
    """An initializer of some compiled operators."""

    over: tuple[Executable, ...]


@dataclass(eq=False, slots=True)
class Table:
    """A binding table."""

    bound: Bound = Bound()


@dataclass(eq=False, slots=True)
class Recorded:
    """A dispatch in a list. ``bound`` is what the table held then; a volatile one reads the table when it is executed."""

    dispatchable: Executable | Initializer
    table: Table
    bound: Bound

    @property
    def is_volatile(self) -> bool:
        """Whether bindings count that were made after it was recorded."""
        return not isinstance(self.dispatchable, Initializer) and VOLATILE in self.dispatchable.flags


@dataclass(eq=False, slots=True)
class CommandList:
    """A list of recorded dispatches, in groups: between two groups is a barrier, and the order within one is free."""

    type: str = DIRECT
    groups: list[list[Recorded]] = field(default_factory=lambda: [[]])


class Performer:
    """Performs one sequence on a backend, from the beginning: objects are made by its calls and end with it.

    ``timeout`` is for each dispatch, in seconds. Methods without an underscore are steps that planted faults replace (conformance/faults/beyond/sequences).
    """

    graph_type: type[CompiledGraph] = CompiledGraph

    def __init__(self, backend: Backend, timeout: float | None = None) -> None:
        self.backend, self.timeout = backend, timeout
        self.objects: dict[int, Any] = {}
        self.memory: dict[int, Bytes] = {}

    def perform(self, calls: list[Call]) -> list[Reply]:
        """A reply for each call. Raises BackendFault, and whatever else a dispatch on the backend raises but Rejected and Unsupported.

        Raises:
            KeyError: a call names an object that was not made, or is of another kind.
        """
        replies: list[Reply] = []
        stopped = ""
        for call in calls:
            reply = Reply(unsupported=stopped) if stopped else self.answer(call)
            stopped = stopped or reply.unsupported
            replies.append(reply)
        return replies

    def answer(self, call: Call) -> Reply:
        """The reply to one call."""
        make = _ANSWERS.get(type(call))
        if make is None or getattr(call, "device", DEVICE) != DEVICE:
            return Reply(unsupported=f"{type(call).__name__} is not performed by a backend that runs single dispatches")
        try:
            return Reply(value=make(self, call))
        except Rejected as error:
            return Reply(error.code or "E_FAIL", message=f"refused at {error.stage}: {error}")
        except Unsupported as error:
            return Reply(unsupported=str(error) or "the backend does not support it")

    # What an implementation does

    def properties(self, of: Executable | Initializer) -> dict[str, int]:
        """The binding properties: a descriptor for each tensor, no temporary memory, and persistent memory for owned inputs."""
        if isinstance(of, Initializer):
            return {"descriptors": 0, TEMPORARY: 0, PERSISTENT: 0}
        places = owned_places(of).values()
        return {
            "descriptors": sum(len(of.slots(kind)) for kind in ("input", "output")),
            TEMPORARY: 0,
            PERSISTENT: max((at + size for at, size in places), default=0),
        }

    def initialize(self, compiled: Executable, inputs: Mapping[str, Range], persistent: Range | None) -> None:
        """Copies owned inputs into persistent memory."""
        for name, (at, size) in owned_places(compiled).items():
            if name not in inputs or persistent is None:
                raise Rejected(
                    f"{name} is owned by DirectML, and not bound at initialization", "initialize", "DXGI_ERROR_DEVICE_REMOVED"
                )
            source = self.as_binding(inputs[name])
            target = self.as_binding(persistent).offset + at
            self.memory[persistent.resource][target : target + size] = self.memory[source.resource][
                source.offset : source.offset + size
            ]

    def dispatch(self, compiled: Compiled, bound: Bound) -> None:
        """Executes a compiled operator with what is bound."""
        bindings = dict(self.ranges(compiled, bound))
        numbers = list(dict.fromkeys(binding.resource for binding in bindings.values()))
        index = {number: at for at, number in enumerate(numbers)}
        copies = [self.memory[number].copy() for number in numbers]
        outputs = tuple(name for name in slots_of(compiled.desc, "output") if name and name in bindings)
        local = {name: replace(binding, resource=index[binding.resource]) for name, binding in bindings.items()}
        self.run(compiled, Dispatch(compiled.desc, [copy.view() for copy in copies], local, outputs, self.timeout))
        for number, copy in zip(numbers, copies, strict=True):
            self.memory[number][...] = copy

    def run(self, compiled: Compiled, dispatch: Dispatch) -> None:
        """Has the backend execute a dispatch of a compiled operator."""
        self.backend.run(dispatch)

    def dispatch_graph(self, graph: CompiledGraph, bound: Bound) -> None:
        """Executes a compiled graph with what is bound: as a whole where the backend takes it so, else node by node."""
        ranges = dict(self.ranges(graph, bound))

        def bytes_of(name: str) -> Bytes | None:
            binding = ranges.get(name)
            return None if binding is None else self.memory[binding.resource][binding.offset : binding.offset + binding.size]

        if not self.run_whole(graph, bytes_of):
            graph.execute(self.backend.run, bytes_of, self.timeout)

    def run_whole(self, graph: CompiledGraph, bound: Place) -> bool:
        """Whether the backend executed the graph as a whole. One that does not take it has written nothing."""
        dispatch = graph.as_dispatch(bound, self.timeout)
        if dispatch is None:
            return False
        targets = dispatch.resources
        copies = [target.copy() for target in targets]
        try:
            run_graph(self.backend, replace(dispatch, resources=list(copies)))
        except Unsupported:
            return False
        for target, copy in zip(targets, copies, strict=True):
            target[...] = copy
        return True

    def ranges(self, compiled: Executable, bound: Bound) -> Iterator[tuple[str, BufferBinding]]:
        """The bytes of each tensor that has some: bound ones, and owned inputs in persistent memory."""
        for kind, slots in (("input", bound.inputs), ("output", bound.outputs)):
            for name, slot in zip(compiled.slots(kind), slots, strict=False):
                if name and isinstance(slot, Range):
                    yield name, self.as_binding(slot)
        if isinstance(bound.persistent, Range) and self.count_bytes(bound.persistent):
            start = self.as_binding(bound.persistent)
            for name, (at, size) in owned_places(compiled).items():
                yield name, BufferBinding(start.resource, start.offset + at, size)

    def bind(self, table: Table, **slots: Any) -> None:
        """Changes what a table holds."""
        table.bound = replace(table.bound, **slots)

    def reset(self, table: Table) -> None:
        """Empties a table."""
        table.bound = Bound()

    # Sizes and ranges

    def size(self, size: Size) -> int:
        """A size in bytes."""
        if not isinstance(size, SizeOf):
            return size
        known = self.properties(self.objects[size.of])[size.size]
        return known + size.around if known else 0

    def count_bytes(self, of: Range) -> int:
        """How many bytes a range has."""
        return len(self.memory[of.resource]) - of.offset if of.size is None else self.size(of.size)

    def as_binding(self, of: Range) -> BufferBinding:
        """A range as a binding."""
        return BufferBinding(of.resource, of.offset, self.count_bytes(of))

    # One method a call

    def _create_operator(self, call: CreateOperator) -> None:
        self.objects[call.makes] = call.desc

    def _compile(self, call: Compile) -> None:
        self.objects[call.makes] = Compiled(call.makes, self.objects[call.operator], call.flags)

    def _compile_graph(self, call: CompileGraph) -> None:
        descs = tuple(self.objects[node] if isinstance(node, int) else None for node in call.nodes)
        self.objects[call.makes] = self.graph_type(call.makes, call, descs)

    def _create_initializer(self, call: CreateInitializer) -> None:
        self.objects[call.makes] = Initializer(tuple(self.objects[number] for number in call.over))

    def _reset_initializer(self, call: ResetInitializer) -> None:
        self.objects[call.initializer].over = tuple(self.objects[number] for number in call.over)

    def _get_properties(self, call: GetProperties) -> dict[str, int]:
        return self.properties(self.objects[call.of])

    def _create_heap(self, call: CreateHeap) -> None:
        self.objects[call.makes] = call.count

    def _create_table(self, call: CreateTable) -> None:
        self.objects[call.makes] = Table()

    def _reset_table(self, call: ResetTable) -> None:
        self.reset(self.objects[call.table])

    def _bind_inputs(self, call: BindInputs) -> None:
        self.bind(self.objects[call.table], inputs=call.to)

    def _bind_outputs(self, call: BindOutputs) -> None:
        self.bind(self.objects[call.table], outputs=call.to)

    def _bind_temporary(self, call: BindTemporary) -> None:
        self.bind(self.objects[call.table], temporary=call.to)

    def _bind_persistent(self, call: BindPersistent) -> None:
        self.bind(self.objects[call.table], persistent=call.to)

    def _create_resource(self, call: CreateResource) -> None:
        self.memory[call.makes] = np.full(self.size(call.size), call.fill, np.uint8)

    def _write(self, call: Write) -> None:
        self.memory[call.resource][call.offset : call.offset + len(call.data)] = np.frombuffer(call.data, np.uint8)

    def _read(self, call: Read) -> bytes:
        end = None if call.size is None else call.offset + call.size
        return self.memory[call.resource][call.offset : end].tobytes()

    def _create_list(self, call: CreateList) -> None:
        self.objects[call.makes] = CommandList(call.type)

    def _record(self, call: Record) -> None:
        table: Table = self.objects[call.table]
        self.objects[call.list].groups[-1].append(Recorded(self.objects[call.dispatchable], table, table.bound))

    def _barrier(self, call: Barrier) -> None:
        self.objects[call.list].groups.append([])

    def _close(self, call: Close) -> None:
        """Nothing is left to do."""

    def _submit(self, call: Submit) -> None:
        for number in call.lists:
            self.submit(self.objects[number])

    def _wait(self, call: Wait) -> None:
        self.wait()

    def _meet(self, call: Meet) -> None:
        """All are there: nobody runs ahead where threads take turns."""

    # Execution

    def submit(self, commands: CommandList) -> None:
        """Executes a list, one dispatch after another, each to its end."""
        for group in commands.groups:
            for record in group:
                self.execute(record, record.table.bound if record.is_volatile else record.bound)

    def wait(self) -> None:
        """All that was submitted is done already."""

    def execute(self, record: Recorded, bound: Bound) -> None:
        """Executes a dispatch, or initializes operators, with what is bound."""
        if isinstance(record.dispatchable, Compiled):
            self.dispatch(record.dispatchable, bound)
            return
        if isinstance(record.dispatchable, CompiledGraph):
            self.dispatch_graph(record.dispatchable, bound)
            return
        for index, compiled in enumerate(record.dispatchable.over):
            slots = bound.inputs[index] if index < len(bound.inputs) else None
            output = bound.outputs[index] if index < len(bound.outputs) else None
            names = zip(compiled.slots("input"), slots if isinstance(slots, tuple) else (), strict=False)
            inputs = {name: of for name, of in names if name and of is not None}
            self.initialize(compiled, inputs, output if isinstance(output, Range) and self.count_bytes(output) else None)


_ANSWERS: Mapping[type[Call], Callable[[Performer, Any], Any]] = {
    CreateOperator: Performer._create_operator,
    Compile: Performer._compile,
    CompileGraph: Performer._compile_graph,
    CreateInitializer: Performer._create_initializer,
    ResetInitializer: Performer._reset_initializer,
    GetProperties: Performer._get_properties,
    CreateHeap: Performer._create_heap,
    CreateTable: Performer._create_table,
    ResetTable: Performer._reset_table,
    BindInputs: Performer._bind_inputs,
    BindOutputs: Performer._bind_outputs,
    BindTemporary: Performer._bind_temporary,
    BindPersistent: Performer._bind_persistent,
    CreateResource: Performer._create_resource,
    Write: Performer._write,
    Read: Performer._read,
    CreateList: Performer._create_list,
    Record: Performer._record,
    Barrier: Performer._barrier,
    Close: Performer._close,
    Submit: Performer._submit,
    Wait: Performer._wait,
    Meet: Performer._meet,
}
"""What performs each call."""


def owned_places(compiled: Executable) -> dict[str, tuple[int, int]]:
    """Where the owned inputs lie in persistent memory: offset and size in bytes, by name."""
    found: dict[str, tuple[int, int]] = {}
    at = 0
    for name, tensor in compiled.owned_inputs().items():
        found[name] = at, tensor.bytes
        at += -(-tensor.bytes // _ALIGNMENT) * _ALIGNMENT
    return found
