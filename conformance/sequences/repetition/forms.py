"""What each form of repetition (generator/suite/repetition) is as calls, and which dispatches it has, each to be judged as if it were alone.

Every dispatch is laid out as that of a single case: outputs hold what is far from right, and guard bytes surround each binding
(conformance/execution/layout). So what an earlier dispatch left is as wrong as what was never written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.execution.answers import answers_of
from dmlcts.conformance.execution.layout import Layout, lay_out
from dmlcts.conformance.sequences.calls import COMPUTE, DIRECT, VOLATILE, Range
from dmlcts.conformance.sequences.calls.slots import is_owned
from dmlcts.conformance.sequences.script import Operator, Reading, Script, ranges_of
from dmlcts.generator.case.case import OFFSETS, REFERENCE, Case
from dmlcts.generator.case.inputs import inputs as case_inputs
from dmlcts.generator.suite.repetition import copied_output, copy_desc
from dmlcts.reference.answer import Answer
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.loader import load

Array = NDArray[Any]


@dataclass(eq=False, slots=True)
class Turn:
    """One dispatch of a sequence, and what it must give. ``readings`` are where its resources are read back, by their place in the layout.

    ``source``: the turn whose output, as it came out, this one has as its only input.
    """

    case: Case
    inputs: Mapping[str, Array]
    answers: Mapping[str, Mapping[str, Answer]]
    layout: Layout
    readings: dict[int, Reading] = field(default_factory=dict)
    source: Turn | None = None


@dataclass(eq=False, slots=True)
class Held:
    """Memory of an operator that is read back: ``after`` must lie between untouched guards, and be what it was ``before`` where that was read."""

    name: str
    after: Reading
    before: Reading | None = None


@dataclass(eq=False, slots=True)
class Repetition:
    """A sequence with its dispatches, in the order in which they are executed, and the memory beside them."""

    script: Script = field(default_factory=Script)
    turns: list[Turn] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    timeout: float | None = None


@dataclass(eq=False, slots=True)
class _Ready:
    """An operator with a table, and where its persistent memory was read after it was initialized."""

    operator: Operator
    table: int
    persistent: Reading


def repetition_of(case: Case, timeout: float | None = None) -> Repetition:
    """The sequence of a case. Raises KeyError for a form that is unknown."""
    found = Repetition(timeout=timeout)
    FORMS[case.sequence](case, found)
    return found


def _turn(case: Case, number: int, repetition: Repetition, owned: Mapping[str, Array] | None = None, **changes: Any) -> Turn:
    """The dispatch with this number: the case with data of its own, but for owned inputs that are given."""
    own = replace(case, id=f"{case.id}/{number}", expect=REFERENCE, **changes)
    inputs = {**case_inputs(own), **(owned or {})}
    answers = answers_of(own, inputs)
    turn = Turn(own, inputs, answers, lay_out(own, inputs, next(iter(answers.values())), repetition.timeout))
    repetition.turns.append(turn)
    return turn


def _turns(case: Case, repetition: Repetition, count: int) -> list[Turn]:
    """So many dispatches, each with data of its own."""
    return [_turn(case, number, repetition) for number in range(1, count + 1)]


def _start(
    repetition: Repetition, turn: Turn, ranges: Mapping[str, Range], flags: tuple[str, ...] = (), like: _Ready | None = None
) -> _Ready:
    """Compiles and initializes the operator of a turn, with a table; by the initializer of another operator, if one is given."""
    operator = repetition.script.operator(turn.case.desc, flags)
    if like is not None:
        operator = replace(operator, initializer=like.operator.initializer)
    table = repetition.script.table(operator)
    return _Ready(operator, table, _initialize(repetition, operator, turn, ranges))


def _initialize(repetition: Repetition, operator: Operator, turn: Turn, ranges: Mapping[str, Range]) -> Reading:
    """Initializes an operator with the owned inputs of a turn, which are overwritten then: the data are copied, no page allows a look at them later."""
    script = repetition.script
    script.initialize(operator, ranges)
    for name, tensor in turn.case.desc.tensors():
        if is_owned(tensor):
            index = turn.layout.dispatch.bindings[name].resource
            for held in (turn.layout.resources[index], turn.layout.snapshot[index]):
                np.invert(held, out=held)
            script.write(ranges[name].resource, turn.layout.snapshot[index])
    return script.read(operator.persistent)


def _read_back(repetition: Repetition, turn: Turn, buffers: list[int]) -> None:
    """Reads all that a turn may have written."""
    for index, buffer in enumerate(buffers):
        turn.readings[index] = repetition.script.read(buffer, turn.layout.resources[index].size)


def _finish(repetition: Repetition, *ready: _Ready) -> None:
    """Reads back what lies beside the tensors: persistent memory, which no dispatch may change, and temporary memory with its guards."""
    for each in ready:
        repetition.held += _memory_of(repetition, each.operator, each.persistent)


def _memory_of(repetition: Repetition, operator: Operator, before: Reading | None = None) -> list[Held]:
    """Reads the memory of an operator, whose persistent part was read before, if it was."""
    script = repetition.script
    return [
        Held("persistent memory", script.read(operator.persistent), before),
        Held("temporary memory", script.read(operator.temporary)),
    ]


def _execute(repetition: Repetition, ready: _Ready, turn: Turn, buffers: list[int]) -> None:
    """Binds and executes a turn on these buffers, and reads them back."""
    script = repetition.script
    script.bind(ready.table, ready.operator, ranges_of(turn.layout.dispatch, buffers))
    script.run([(ready.operator.compiled, ready.table)])
    _read_back(repetition, turn, buffers)
    repetition.held.append(Held("persistent memory", script.read(ready.operator.persistent), ready.persistent))


def _again(case: Case, repetition: Repetition) -> None:
    script, (first, second) = repetition.script, _turns(case, repetition, 2)
    buffers = script.buffers(first.layout.snapshot)
    ready = _start(repetition, first, ranges_of(first.layout.dispatch, buffers))
    _execute(repetition, ready, first, buffers)
    for buffer, content in zip(buffers, second.layout.snapshot, strict=True):
        script.write(buffer, content)
    script.run([(ready.operator.compiled, ready.table)])
    _read_back(repetition, second, buffers)
    _finish(repetition, ready)


def _other_buffers(case: Case, repetition: Repetition) -> None:
    script, (first, second) = repetition.script, _turns(case, repetition, 2)
    one, other = (script.buffers(turn.layout.snapshot) for turn in (first, second))
    ready = _start(repetition, first, ranges_of(first.layout.dispatch, one))
    _execute(repetition, ready, first, one)
    script.reset(ready.table, ready.operator)
    _execute(repetition, ready, second, other)
    _finish(repetition, ready)


def _other_offsets(case: Case, repetition: Repetition) -> None:
    script = repetition.script
    first = _turn(case, 1, repetition)
    second = _turn(case, 2, repetition, offset=OFFSETS[-2])
    sizes = [content.size for content in second.layout.snapshot]
    buffers = script.buffers(first.layout.snapshot, sizes)
    ready = _start(repetition, first, ranges_of(first.layout.dispatch, buffers))
    _execute(repetition, ready, first, buffers)
    for buffer, content in zip(buffers, second.layout.snapshot, strict=True):
        script.write(buffer, content)
    _execute(repetition, ready, second, buffers)
    _finish(repetition, ready)


def _initialized_again(case: Case, repetition: Repetition) -> None:
    script, (first, second) = repetition.script, _turns(case, repetition, 2)
    one, other = (script.buffers(turn.layout.snapshot) for turn in (first, second))
    ready = _start(repetition, first, ranges_of(first.layout.dispatch, one))
    _execute(repetition, ready, first, one)
    ready.persistent = _initialize(repetition, ready.operator, second, ranges_of(second.layout.dispatch, other))
    _execute(repetition, ready, second, other)
    _finish(repetition, ready)


def _two_of_one(case: Case, repetition: Repetition) -> None:
    script, (first, second) = repetition.script, _turns(case, repetition, 2)
    owned = {name: first.inputs[name] for name, tensor in case.desc.tensors() if is_owned(tensor)}
    third = _turn(case, 3, repetition, owned)
    one, other, last = (script.buffers(turn.layout.snapshot) for turn in repetition.turns)
    ready = _start(repetition, first, ranges_of(first.layout.dispatch, one))
    twin = _start(repetition, second, ranges_of(second.layout.dispatch, other), like=ready)
    _execute(repetition, ready, first, one)
    _execute(repetition, twin, second, other)
    _execute(repetition, ready, third, last)
    _finish(repetition, ready, twin)


def _side_by_side(case: Case, repetition: Repetition) -> None:
    script, (first, second) = repetition.script, _turns(case, repetition, 2)
    one, other = (script.buffers(turn.layout.snapshot) for turn in (first, second))
    pairs = [_start(repetition, turn, ranges_of(turn.layout.dispatch, own)) for turn, own in ((first, one), (second, other))]
    for ready, turn, own in zip(pairs, (first, second), (one, other), strict=True):
        script.bind(ready.table, ready.operator, ranges_of(turn.layout.dispatch, own))
    script.run([(ready.operator.compiled, ready.table) for ready in pairs], barriers=False)
    _read_back(repetition, first, one)
    _read_back(repetition, second, other)
    _finish(repetition, *pairs)


def _in_turn(case: Case, repetition: Repetition) -> None:
    script, first = repetition.script, _turn(case, 1, repetition)
    buffers = script.buffers(first.layout.snapshot)
    ranges = ranges_of(first.layout.dispatch, buffers)
    ready = _start(repetition, first, ranges)
    second = _copy(case, first, repetition)
    source, target = second.layout.dispatch.bindings
    index = second.layout.dispatch.bindings[target].resource
    (output,) = script.buffers([second.layout.snapshot[index]])
    between = {
        source: ranges[copied_output(case)],
        target: replace(ranges_of(second.layout.dispatch, [0, 0])[target], resource=output),
    }
    copier = _start(repetition, second, between)
    script.bind(ready.table, ready.operator, ranges)
    script.bind(copier.table, copier.operator, between)
    script.run([(ready.operator.compiled, ready.table), (copier.operator.compiled, copier.table)])
    _read_back(repetition, first, buffers)
    second.readings[index] = script.read(output)
    _finish(repetition, ready, copier)


def _copy(case: Case, first: Turn, repetition: Repetition) -> Turn:
    """The turn that copies an output of the first one: laid out as if that were right, and judged by what it is."""
    desc, tensor = copy_desc(case), case.desc.tensor(copied_output(case))
    operator = load(desc.type)
    right = next(iter(first.answers.values()))[copied_output(case)].stored_value
    with np.errstate(all="ignore"):
        inputs = {operator.inputs()[0].name: np.asarray(right).astype(numpy_dtype(tensor.data_type))}
    own = replace(case, id=f"{case.id}/2", desc=desc, operator=operator, data={}, expect=REFERENCE)
    answers = answers_of(own, inputs)
    layout = lay_out(own, inputs, next(iter(answers.values())), repetition.timeout)
    repetition.turns.append(Turn(own, inputs, answers, layout, source=first))
    return repetition.turns[-1]


def _recorded_once(case: Case, repetition: Repetition) -> None:
    script, turns = repetition.script, _turns(case, repetition, 3)
    every = [script.buffers(turn.layout.snapshot) for turn in turns]
    ranges = [ranges_of(turn.layout.dispatch, own) for turn, own in zip(turns, every, strict=True)]
    ready = _start(repetition, turns[0], ranges[0], (VOLATILE,))
    script.bind(ready.table, ready.operator, ranges[0])
    recorded = script.record([(ready.operator.compiled, ready.table)])
    for own in ranges:
        script.bind(ready.table, ready.operator, own)
        script.submit(recorded)
    for turn, own_buffers in zip(turns, every, strict=True):
        _read_back(repetition, turn, own_buffers)
    _finish(repetition, ready)


def _compute_queue(case: Case, repetition: Repetition) -> None:
    script, (first, second) = repetition.script, _turns(case, repetition, 2)
    buffers = script.buffers(first.layout.snapshot)
    script.queue = COMPUTE
    ready = _start(repetition, first, ranges_of(first.layout.dispatch, buffers))
    _execute(repetition, ready, first, buffers)
    script.queue = DIRECT
    for buffer, content in zip(buffers, second.layout.snapshot, strict=True):
        script.write(buffer, content)
    script.run([(ready.operator.compiled, ready.table)])
    _read_back(repetition, second, buffers)
    _finish(repetition, ready)


THREADS = 4


def _threads(case: Case, repetition: Repetition) -> None:
    script, turns = repetition.script, _turns(case, repetition, THREADS)
    every = [script.buffers(turn.layout.snapshot) for turn in turns]

    def work(ranges: Mapping[str, Range]) -> tuple[Operator, int]:
        operator = script.operator(case.desc)
        first = script.initializer_table(operator, ranges)
        table = script.table(operator)
        script.bind(table, operator, ranges)
        return operator, script.record([(operator.initializer, first), (operator.compiled, table)])

    ranges = [ranges_of(turn.layout.dispatch, own) for turn, own in zip(turns, every, strict=True)]
    made = script.at_once([partial(work, own) for own in ranges])
    script.submit(*(recorded for _, recorded in made))
    for turn, own_buffers in zip(turns, every, strict=True):
        _read_back(repetition, turn, own_buffers)
    for operator, _ in made:
        repetition.held += _memory_of(repetition, operator)


FORMS: Mapping[str, Callable[[Case, Repetition], None]] = {
    "again": _again,
    "other-buffers": _other_buffers,
    "other-offsets": _other_offsets,
    "initialized-again": _initialized_again,
    "two-of-one": _two_of_one,
    "side-by-side": _side_by_side,
    "in-turn": _in_turn,
    "recorded-once": _recorded_once,
    "compute-queue": _compute_queue,
    "threads": _threads,
}
"""What writes the sequence of each form."""
