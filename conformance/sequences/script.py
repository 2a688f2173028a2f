"""Writes sequences: numbers objects, and spells out what dispatches of a backend, laid out by the suite, are as calls.

All memory is the suite's. Buffers hold what the dispatch says before their first use; persistent and temporary memory holds a pattern of NaN
and lies between guard bytes, which are read back at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TypeVar

from dmlcts.conformance.backends.backend import Bytes, Dispatch
from dmlcts.conformance.sequences.calls import (
    DIRECT,
    PERSISTENT,
    TEMPORARY,
    Barrier,
    BindInputs,
    BindOutputs,
    BindPersistent,
    BindTemporary,
    Call,
    Close,
    Compile,
    CreateInitializer,
    CreateList,
    CreateOperator,
    CreateResource,
    CreateTable,
    Meet,
    Range,
    Read,
    Record,
    Reply,
    ResetInitializer,
    ResetTable,
    SizeOf,
    Submit,
    Wait,
    Write,
)
from dmlcts.conformance.sequences.calls.slots import is_owned, slots_of
from dmlcts.spec.model.desc import OperatorDesc

Made = TypeVar("Made")

NAN = 0xFF
"""What temporary and persistent memory holds before its first use: NaN in every floating-point type."""

GUARD = 256
"""Bytes before and after temporary and persistent memory: its alignment."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A compiled operator, by the numbers of its object, its initializer, and of its temporary and persistent memory."""

    desc: OperatorDesc
    compiled: int
    initializer: int
    temporary: int
    persistent: int


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a sequence reads a buffer back: the place of the call."""

    at: int

    def bytes_in(self, replies: Sequence[Reply]) -> bytes:
        """The bytes that were read."""
        value = replies[self.at].value
        return value if isinstance(value, bytes) else b""


class Script:
    """A sequence that is being written. Every method adds calls. ``queue`` is the type of the lists that are made from now on."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.queue = DIRECT
        self._next = 0

    def number(self) -> int:
        """The number of a new object."""
        self._next += 1
        return self._next

    def operator(self, desc: OperatorDesc, flags: tuple[str, ...] = ()) -> Operator:
        """Creates and compiles an operator, and makes its initializer and its temporary and persistent memory."""
        made, compiled, initializer, temporary, persistent = (self.number() for _ in range(5))
        self.calls += [
            CreateOperator(made, desc),
            Compile(compiled, made, flags),
            CreateInitializer(initializer, (compiled,)),
            CreateResource(temporary, SizeOf(compiled, TEMPORARY, 2 * GUARD), NAN),
            CreateResource(persistent, SizeOf(compiled, PERSISTENT, 2 * GUARD), NAN),
        ]
        return Operator(desc, compiled, initializer, temporary, persistent)

    def initialize(self, operator: Operator, inputs: Mapping[str, Range]) -> None:
        """Initializes an operator, with the inputs that DirectML owns, in a list of its own."""
        self.run([(operator.initializer, self.initializer_table(operator, inputs))])

    def initializer_table(self, operator: Operator, inputs: Mapping[str, Range]) -> int:
        """Makes a table for an operator's initializer, with all that it needs bound."""
        table, temporary = self.number(), self.number()
        names = slots_of(operator.desc, "input")
        owned = {name for name, tensor in operator.desc.tensors() if is_owned(tensor)}
        needed = SizeOf(operator.initializer, TEMPORARY)
        self.calls += [
            ResetInitializer(operator.initializer, (operator.compiled,)),
            CreateTable(table, operator.initializer),
            CreateResource(temporary, SizeOf(operator.initializer, TEMPORARY, 2 * GUARD), NAN),
            BindTemporary(table, Range(temporary, GUARD, needed)),
            BindOutputs(table, (_persistent(operator),)),
        ]
        if owned:
            self.calls.append(BindInputs(table, (tuple(inputs[name] if name in owned else None for name in names),)))
        return table

    def buffers(self, contents: Iterable[Bytes], least: Sequence[int] = ()) -> list[int]:
        """Makes buffers with these contents, each of at least so many bytes."""
        numbers = []
        for index, content in enumerate(contents):
            numbers.append(self.number())
            self.calls.append(CreateResource(numbers[-1], max(content.size, *least[index : index + 1], 0)))
            self.write(numbers[-1], content)
        return numbers

    def write(self, buffer: int, content: Bytes) -> None:
        """Replaces the first bytes of a buffer."""
        self.calls.append(Write(buffer, content.tobytes()))

    def table(self, operator: Operator) -> int:
        """Makes a binding table."""
        number = self.number()
        self.calls.append(CreateTable(number, operator.compiled))
        return number

    def reset(self, table: int, operator: Operator) -> None:
        """Empties a binding table."""
        self.calls.append(ResetTable(table, operator.compiled))

    def bind(self, table: int, operator: Operator, ranges: Mapping[str, Range]) -> None:
        """Binds everything that an operator needs: tensors that it does not own to their ranges, temporary and persistent memory."""
        owned = {name for name, tensor in operator.desc.tensors() if is_owned(tensor)}
        inputs, outputs = (
            tuple(None if name in owned else ranges.get(name) for name in slots_of(operator.desc, kind))
            for kind in ("input", "output")
        )
        self.calls += [
            BindInputs(table, inputs),
            BindOutputs(table, outputs),
            BindTemporary(table, Range(operator.temporary, GUARD, SizeOf(operator.compiled, TEMPORARY))),
            BindPersistent(table, _persistent(operator)),
        ]

    def record(self, pairs: Iterable[tuple[int, int]], barriers: bool = True) -> int:
        """Records dispatchables with their tables into a new list, with a barrier after each."""
        number = self.number()
        self.calls.append(CreateList(number, self.queue))
        for dispatchable, table in pairs:
            self.calls.append(Record(number, dispatchable, table))
            if barriers:
                self.calls.append(Barrier(number))
        self.calls.append(Close(number))
        return number

    def submit(self, *numbers: int) -> None:
        """Submits lists together and waits for them."""
        self.calls += [Submit(numbers), Wait()]

    def at_once(self, works: Sequence[Callable[[], Made]]) -> list[Made]:
        """What each work adds, on a thread of its own: they meet at the beginning, and their calls stand one after another in turn.

        No work may use what another one makes.
        """
        before, of_threads, made = self.calls, [], []
        for number, work in enumerate(works, start=1):
            self.calls = [Meet("all are there", len(works))]
            made.append(work())
            of_threads.append([replace(call, thread=f"thread {number}") for call in self.calls])
        self.calls = [*before, *(call for turn in zip_longest(*of_threads) for call in turn if call is not None)]
        return made

    def run(self, pairs: Iterable[tuple[int, int]], barriers: bool = True) -> None:
        """Records dispatchables with their tables, submits them and waits."""
        self.submit(self.record(pairs, barriers))

    def read(self, buffer: int, size: int | None = None) -> Reading:
        """Reads a buffer back, or its first bytes."""
        self.calls.append(Read(buffer, 0, size))
        return Reading(len(self.calls) - 1)


def _persistent(operator: Operator) -> Range:
    return Range(operator.persistent, GUARD, SizeOf(operator.compiled, PERSISTENT))


def ranges_of(dispatch: Dispatch, buffers: Sequence[int]) -> dict[str, Range]:
    """The bindings of a dispatch whose resources have become these buffers."""
    return {name: Range(buffers[binding.resource], binding.offset, binding.size) for name, binding in dispatch.bindings.items()}


def sequence_of(dispatch: Dispatch) -> tuple[list[Call], list[Reading]]:
    """What ``Backend.run`` does, in calls, and where they read back what each resource holds then: a dispatch is a sequence written short."""
    script = Script()
    operator = script.operator(dispatch.desc)
    buffers = script.buffers(dispatch.resources)
    ranges = ranges_of(dispatch, buffers)
    script.initialize(operator, ranges)
    table = script.table(operator)
    script.bind(table, operator, ranges)
    script.run([(operator.compiled, table)])
    return script.calls, [script.read(buffer) for buffer in buffers]
