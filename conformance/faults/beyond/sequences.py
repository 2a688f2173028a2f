"""Faults that no single dispatch shows, and legal variations, planted in what performs sequences on the reference.

Each is one changed step of ``Performer``; a row of ``FAULTS`` or ``LEGAL`` says what it does. Its backend: ``FaultySequences``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.backends.backend import BufferBinding, Bytes, Dispatch
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.sequences.calls import COMPUTE, PERSISTENT, TEMPORARY, BindOutputs, Call, Range, Reply, Slot
from dmlcts.conformance.sequences.perform import (
    Bound,
    CommandList,
    Compiled,
    Executable,
    Initializer,
    Performer,
    Recorded,
    Table,
    owned_places,
)

Outputs = dict[str, bytes]


def _outputs_of(dispatch: Dispatch) -> Outputs:
    """The bytes that are bound to the outputs of a dispatch."""
    places = ((name, dispatch.bindings[name]) for name in dispatch.outputs)
    return {name: dispatch.resources[at.resource][at.offset : at.offset + at.size].tobytes() for name, at in places}


def _put(dispatch: Dispatch, held: Mapping[str, bytes]) -> None:
    """Writes bytes where tensors are bound."""
    for name, data in held.items():
        at = dispatch.bindings[name]
        dispatch.resources[at.resource][at.offset : at.offset + len(data)] = np.frombuffer(data, np.uint8)


def _bytes_at(dispatch: Dispatch, name: str) -> bytes:
    at = dispatch.bindings[name]
    return dispatch.resources[at.resource][at.offset : at.offset + at.size].tobytes()


# Faults


class _Stale(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.first: dict[int, Outputs] = {}

    def run(self, compiled: Compiled, dispatch: Dispatch) -> None:
        super().run(compiled, dispatch)
        _put(dispatch, self.first.setdefault(compiled.number, _outputs_of(dispatch)))


class _CachedByDesc(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.first: dict[str, tuple[int, Outputs]] = {}

    def run(self, compiled: Compiled, dispatch: Dispatch) -> None:
        super().run(compiled, dispatch)
        number, outputs = self.first.setdefault(repr(compiled.desc), (compiled.number, _outputs_of(dispatch)))
        if number != compiled.number:
            _put(dispatch, outputs)


class _InputsOfFirstUse(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.first: dict[tuple[int, str], bytes] = {}

    def run(self, compiled: Compiled, dispatch: Dispatch) -> None:
        names = [name for name in dispatch.bindings if name not in dispatch.outputs]
        now = {name: _bytes_at(dispatch, name) for name in names}
        _put(dispatch, {name: self.first.setdefault((compiled.number, name), now[name]) for name in names})
        super().run(compiled, dispatch)
        _put(dispatch, now)


class _InitializedOnce(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.done: set[int] = set()

    def initialize(self, compiled: Executable, inputs: Mapping[str, Range], persistent: Range | None) -> None:
        if compiled.number not in self.done:
            super().initialize(compiled, inputs, persistent)
        self.done.add(compiled.number)


class _InitializerUsedOnce(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.used: set[int] = set()

    def execute(self, record: Recorded, bound: Bound) -> None:
        if id(record.dispatchable) not in self.used:
            super().execute(record, bound)
        if isinstance(record.dispatchable, Initializer):
            self.used.add(id(record.dispatchable))


class _SharedPersistent(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.shared: dict[str, dict[str, bytes]] = {}

    def initialize(self, compiled: Executable, inputs: Mapping[str, Range], persistent: Range | None) -> None:
        super().initialize(compiled, inputs, persistent)
        at = {name: self.as_binding(inputs[name]) for name in owned_places(compiled)}
        self.shared[repr(compiled.desc if isinstance(compiled, Compiled) else compiled.call)] = {
            name: self.memory[each.resource][each.offset : each.offset + size].tobytes()
            for (name, each), (_, size) in zip(at.items(), owned_places(compiled).values(), strict=True)
        }

    def run(self, compiled: Compiled, dispatch: Dispatch) -> None:
        shared = self.shared.get(repr(compiled.desc), {})
        own = {name: _bytes_at(dispatch, name) for name in shared}
        _put(dispatch, shared)
        super().run(compiled, dispatch)
        _put(dispatch, own)


class _SourceReadLate(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.sources: dict[int, Mapping[str, Range]] = {}

    def initialize(self, compiled: Executable, inputs: Mapping[str, Range], persistent: Range | None) -> None:
        super().initialize(compiled, inputs, persistent)
        self.sources[compiled.number] = {name: inputs[name] for name in owned_places(compiled)}

    def ranges(self, compiled: Executable, bound: Bound) -> Iterator[tuple[str, BufferBinding]]:
        yield from super().ranges(compiled, bound)
        yield from ((name, self.as_binding(of)) for name, of in self.sources.get(compiled.number, {}).items())


class _FirstOffsets(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.first: dict[tuple[int, str], int] = {}

    def ranges(self, compiled: Executable, bound: Bound) -> Iterator[tuple[str, BufferBinding]]:
        for name, at in super().ranges(compiled, bound):
            yield name, replace(at, offset=self.first.setdefault((compiled.number, name), at.offset))


class _FirstBuffers(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.first: dict[tuple[int, str], int] = {}

    def ranges(self, compiled: Executable, bound: Bound) -> Iterator[tuple[str, BufferBinding]]:
        for name, at in super().ranges(compiled, bound):
            yield name, replace(at, resource=self.first.setdefault((compiled.number, name), at.resource))


class _NotReset(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.kept: set[int] = set()

    def reset(self, table: Table) -> None:
        self.kept.add(id(table))

    def bind(self, table: Table, **slots: Any) -> None:
        if id(table) not in self.kept:
            super().bind(table, **slots)


class _BoundOnce(Performer):
    def bind(self, table: Table, **slots: Any) -> None:
        super().bind(table, **{name: slot for name, slot in slots.items() if not getattr(table.bound, name)})


class _RecordedBindings(Performer):
    def execute(self, record: Recorded, bound: Bound) -> None:
        super().execute(record, record.bound)


class _SubmittedOnce(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.done: set[int] = set()

    def submit(self, commands: CommandList) -> None:
        if id(commands) not in self.done:
            super().submit(commands)
        self.done.add(id(commands))


class _NoBarriers(Performer):
    """Every dispatch of a list reads what was there when the list began."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.before: dict[int, Bytes] = {}

    def submit(self, commands: CommandList) -> None:
        self.before = {number: content.copy() for number, content in self.memory.items()}
        super().submit(commands)

    def dispatch(self, compiled: Compiled, bound: Bound) -> None:
        now = self.memory
        read = {slot.resource for slot in bound.inputs if isinstance(slot, Range)}
        written = {slot.resource for slot in bound.outputs if isinstance(slot, Range)}
        self.memory = {**now, **{number: self.before[number] for number in read - written}}
        super().dispatch(compiled, bound)
        self.memory = now


class _LastDescriptors(Performer):
    """All dispatches of one desc in a list have the bindings of the last of them."""

    def submit(self, commands: CommandList) -> None:
        every = [record for group in commands.groups for record in group]
        last = {_desc_of(record): record.bound for record in every}
        for record in every:
            self.execute(record, record.table.bound if record.is_volatile else last[_desc_of(record)])


def _desc_of(record: Recorded) -> str:
    of = record.dispatchable
    return repr(of.desc) if isinstance(of, Compiled) else repr(id(of))


_SCRATCH = 64
"""Bytes of memory that what follows asks for."""


class _Scratch(Performer):
    """Needs temporary memory."""

    def properties(self, of: Executable | Initializer) -> dict[str, int]:
        return super().properties(of) | ({TEMPORARY: _SCRATCH} if isinstance(of, Compiled) else {})

    def scratch(self, bound: Bound) -> Bytes:
        """The temporary memory that is bound, and what follows it."""
        assert isinstance(bound.temporary, Range)
        return self.memory[bound.temporary.resource][bound.temporary.offset :]


class _TemporaryTakenForZero(_Scratch):
    def dispatch(self, compiled: Compiled, bound: Bound) -> None:
        if not self.scratch(bound)[:_SCRATCH].any():
            super().dispatch(compiled, bound)


class _TemporaryOverrun(_Scratch):
    def dispatch(self, compiled: Compiled, bound: Bound) -> None:
        super().dispatch(compiled, bound)
        self.scratch(bound)[: _SCRATCH + 1] = 0


class _PersistentWritten(Performer):
    def properties(self, of: Executable | Initializer) -> dict[str, int]:
        known = super().properties(of)
        return known | ({PERSISTENT: known[PERSISTENT] + _SCRATCH} if isinstance(of, Compiled) else {})

    def dispatch(self, compiled: Compiled, bound: Bound) -> None:
        super().dispatch(compiled, bound)
        assert isinstance(bound.persistent, Range)
        end = bound.persistent.offset + self.count_bytes(bound.persistent)
        self.memory[bound.persistent.resource][end - 1] ^= 1


class _OutputsOfAnotherThread(Performer):
    """A thread that binds outputs binds those that the thread before it has bound."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.others: tuple[Slot, ...] | None = None

    def answer(self, call: Call) -> Reply:
        if not (call.thread and isinstance(call, BindOutputs)):
            return super().answer(call)
        others, self.others = self.others, call.to
        return super().answer(call if others is None else replace(call, to=others))


class _OwnQueueAlone(Performer):
    """Knows the queue of type DIRECT alone."""

    def submit(self, commands: CommandList) -> None:
        if commands.type != COMPUTE:
            super().submit(commands)


FAULTS: Mapping[str, tuple[str, type[Performer]]] = {
    "stale-result": ("gives the result of an operator's first dispatch again", _Stale),
    "cached-by-desc": ("gives the result of another operator with an equal desc", _CachedByDesc),
    "inputs-of-first-use": ("reads the inputs of an operator's first dispatch again", _InputsOfFirstUse),
    "initialized-once": ("does not initialize an operator a second time", _InitializedOnce),
    "initializer-used-once": ("executes an initializer once, whatever it was reset to since", _InitializerUsedOnce),
    "persistent-shared": ("shares persistent memory between operators of one desc", _SharedPersistent),
    "owned-read-late": ("reads owned inputs where they were bound for initialization, at each dispatch", _SourceReadLate),
    "first-offsets": ("takes offsets from the first binding", _FirstOffsets),
    "first-buffers": ("takes buffers from the first binding", _FirstBuffers),
    "table-not-reset": ("keeps the bindings of a table that was reset", _NotReset),
    "bound-once": ("ignores bindings in the place of others", _BoundOnce),
    "recorded-bindings": ("takes the bindings of recording, though descriptors are volatile", _RecordedBindings),
    "submitted-once": ("executes a list that is submitted again no more", _SubmittedOnce),
    "no-barriers": ("reads what was there before the list, in spite of a barrier", _NoBarriers),
    "last-descriptors": ("has the last bindings in all dispatches of an equal desc in a list", _LastDescriptors),
    "temporary-zero": ("takes temporary memory to be zero", _TemporaryTakenForZero),
    "temporary-overrun": ("writes past its temporary memory", _TemporaryOverrun),
    "persistent-written": ("writes persistent memory during a dispatch", _PersistentWritten),
    "wrong-thread": ("binds for one thread what another one has bound", _OutputsOfAnotherThread),
    "one-queue": ("executes nothing that is submitted to a queue of type COMPUTE", _OwnQueueAlone),
}
"""By label: what an implementation does, and the changed step."""


# What is legal


class _LargerTemporary(_Scratch):
    pass


class _Scribbles(_Scratch):
    def dispatch(self, compiled: Compiled, bound: Bound) -> None:
        self.scratch(bound)[:_SCRATCH] = 0
        super().dispatch(compiled, bound)
        self.scratch(bound)[:_SCRATCH] = 0x5A


class _LargerPersistent(Performer):
    def properties(self, of: Executable | Initializer) -> dict[str, int]:
        known = super().properties(of)
        return known | ({PERSISTENT: known[PERSISTENT] + 7 * _SCRATCH} if isinstance(of, Compiled) else {})


class _ManyDescriptors(Performer):
    def properties(self, of: Executable | Initializer) -> dict[str, int]:
        known = super().properties(of)
        return known | {"descriptors": 7 * known["descriptors"] + 3}


class _KeptInside(Performer):
    """Owned inputs lie in memory of the operator's own: it needs no persistent memory."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.inside: dict[int, dict[str, int]] = {}

    def properties(self, of: Executable | Initializer) -> dict[str, int]:
        return super().properties(of) | {PERSISTENT: 0}

    def initialize(self, compiled: Executable, inputs: Mapping[str, Range], persistent: Range | None) -> None:
        for index, name in enumerate(owned_places(compiled)):
            at, number = self.as_binding(inputs[name]), -(16 * compiled.number + index + 1)
            self.memory[number] = self.memory[at.resource][at.offset : at.offset + at.size].copy()
            self.inside.setdefault(compiled.number, {})[name] = number

    def ranges(self, compiled: Executable, bound: Bound) -> Iterator[tuple[str, BufferBinding]]:
        yield from super().ranges(compiled, bound)
        own = self.inside.get(compiled.number, {}).items()
        yield from ((name, BufferBinding(number, 0, self.memory[number].size)) for name, number in own)


class _FreeOrder(Performer):
    def submit(self, commands: CommandList) -> None:
        super().submit(CommandList(commands.type, [group[::-1] for group in commands.groups]))


class _Late(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.queue: list[CommandList] = []

    def submit(self, commands: CommandList) -> None:
        self.queue.append(commands)

    def wait(self) -> None:
        for commands in self.queue:
            super().submit(commands)
        self.queue.clear()


class _AlwaysVolatile(Performer):
    def execute(self, record: Recorded, bound: Bound) -> None:
        super().execute(record, record.table.bound)


class _CachedByData(Performer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.known: dict[str, Outputs] = {}

    def run(self, compiled: Compiled, dispatch: Dispatch) -> None:
        inputs = {name: _bytes_at(dispatch, name) for name in dispatch.bindings if name not in dispatch.outputs}
        key = repr((compiled.desc, inputs))
        if key not in self.known:
            super().run(compiled, dispatch)
        _put(dispatch, self.known.setdefault(key, _outputs_of(dispatch)))


class _InitializedTwice(Performer):
    def initialize(self, compiled: Executable, inputs: Mapping[str, Range], persistent: Range | None) -> None:
        super().initialize(compiled, inputs, persistent)
        super().initialize(compiled, inputs, persistent)


class _ZeroedFirst(Performer):
    def initialize(self, compiled: Executable, inputs: Mapping[str, Range], persistent: Range | None) -> None:
        if persistent is not None:
            at = self.as_binding(persistent)
            self.memory[at.resource][at.offset : at.offset + at.size] = 0
        super().initialize(compiled, inputs, persistent)


LEGAL: Mapping[str, tuple[str, type[Performer]]] = {
    "larger-temporary": ("asks for temporary memory that it does not use", _LargerTemporary),
    "scribbled-temporary": ("leaves anything in temporary memory", _Scribbles),
    "larger-persistent": ("asks for more persistent memory than it uses", _LargerPersistent),
    "many-descriptors": ("asks for more descriptors than there are tensors", _ManyDescriptors),
    "kept-inside": ("keeps owned inputs in memory of its own", _KeptInside),
    "free-order": ("executes dispatches without a barrier between them in another order", _FreeOrder),
    "late-execution": ("executes nothing before someone waits for it", _Late),
    "always-volatile": ("reads all bindings when they are executed", _AlwaysVolatile),
    "cached-by-data": ("gives a known result again for equal desc and equal data", _CachedByData),
    "initialized-twice": ("initializes twice each time", _InitializedTwice),
    "persistent-zeroed": ("fills persistent memory with zeros before it is initialized", _ZeroedFirst),
}
"""By label: what an implementation does that no page forbids, and the changed step."""


class FaultySequences(ReferenceBackend):
    """The reference with a changed step of sequences; single dispatches are right."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.step = {**FAULTS, **LEGAL}[label][1]
        self.info = replace(self.info, name=f"sequences with {label}", accumulator=0, nearest=False)

    def perform(self, calls: list[Call]) -> list[Reply]:
        """Performs a sequence with the changed step."""
        return self.step(ReferenceBackend()).perform(calls)
