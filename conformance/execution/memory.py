"""The memory that a case needs, and checks of the bytes after a run: guards, the bytes past an output, inputs, and the gaps between the elements of a strided output."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import psutil

from dmlcts.conformance.backends.backend import Backend, Bytes
from dmlcts.conformance.backends.buffers import element_bytes
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.execution.layout import Layout
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.execution.traced import inner
from dmlcts.generator.case.case import HUGE, Case
from dmlcts.generator.case.places import places
from dmlcts.reports.record.record import MEMORY, UNSUPPORTED

_PIECE = 1 << 26
"""So many bytes are compared at once."""

_OUT_OF_MEMORY = ("0x8007000E", "E_OUTOFMEMORY", "MemoryError")
"""How backends name a lack of memory."""

_COPIES, _COPIES_ELSEWHERE = 2, 4
"""The resources of a dispatch and what they held before; and what a backend in a process of its own may have: what it received, what it uploads,
the device's, what it reads back."""


def missing_memory(case: Case, backend: Backend) -> str:
    """What the machine lacks to run a case of level huge, in words; empty if it has the memory, and for cases of other levels."""
    if case.level != HUGE:
        return ""
    size = sum({(place.of, place.begin): place.length for place in places(case).values()}.values())
    needed = size * (_COPIES + (_COPIES_ELSEWHERE if isinstance(inner(backend), ProcessBackend) else 0))
    free = psutil.virtual_memory().available
    return f"needs {needed / 2**30:.1f} GiB of memory, of which {free / 2**30:.1f} GiB are available" if needed > free else ""


def room() -> int:
    """How many bytes the resources of a dispatch may have together, on any backend, in the memory that is available now."""
    return int(psutil.virtual_memory().available) // (_COPIES + _COPIES_ELSEWHERE)


def without_memory(case: Case, failure: Outcome) -> Outcome:
    """The outcome of a case of level huge for which the device, or the backend's process, had no memory: it is not wrong, but unsupported."""
    if case.level == HUGE and any(name in failure.message for name in _OUT_OF_MEMORY):
        return Outcome(UNSUPPORTED, f"the backend has too little memory: {failure.message}", undeclared=MEMORY)
    return failure


def stray_writes(case: Case, layout: Layout) -> str:
    """Describes forbidden writes: outside the outputs, and to gaps if the case checks them. Empty if there were none.

    An operator may overwrite an output's total size, but not further bytes of its binding.
    """
    bindings = layout.dispatch.bindings
    found = _outside_writes(
        {name: (b.resource, b.offset, b.offset + case.desc.tensor(name).bytes) for name, b in bindings.items()}, layout
    )
    return found or (_overwritten_gaps(case, layout) if "gaps" in case.checks else "")


def stray_writes_of_a_rejection(layout: Layout) -> str:
    """Describes writes of a dispatch that was rejected: outside what is bound to its outputs, whatever a desc says that may be invalid."""
    bindings = layout.dispatch.bindings
    return _outside_writes({name: (b.resource, b.offset, b.offset + b.size) for name, b in bindings.items()}, layout)


def _outside_writes(ranges: Mapping[str, tuple[int, int, int]], layout: Layout) -> str:
    """Describes writes outside the outputs, where each tensor has a resource, and its bytes there."""
    outputs = layout.dispatch.outputs
    for index, (now, before) in enumerate(zip(layout.resources, layout.snapshot, strict=True)):
        here = {name: (start, end) for name, (resource, start, end) in ranges.items() if resource == index}
        first, count = _changed_bytes(now, before, [here[name] for name in outputs if name in here])
        if count:
            return _describe_overwritten(first, count, here, outputs)
    return ""


def _changed_bytes(now: Bytes, before: Bytes, written: Collection[tuple[int, int]]) -> tuple[int, int]:
    """The first byte that changed outside what may be written, and how many did. In pieces: a mask of all bytes would be a third copy."""
    if all(now[start:end].tobytes() == before[start:end].tobytes() for start, end in _forbidden_parts(written, now.size)):
        return 0, 0
    first = count = 0
    for begin in range(0, now.size, _PIECE):
        changed = now[begin : begin + _PIECE] != before[begin : begin + _PIECE]
        for start, end in written:
            changed[max(0, start - begin) : max(0, end - begin)] = False
        if changed.any():
            first = first if count else begin + int(changed.argmax())
            count += int(changed.sum())
    return first, count


def _forbidden_parts(written: Collection[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """The parts of a resource that may not be written, at most ``_PIECE`` bytes each."""
    start = 0
    for begin, end in (*sorted(written), (size, size)):
        yield from ((at, min(at + _PIECE, begin)) for at in range(start, begin, _PIECE))
        start = max(start, end)


def _describe_overwritten(first: int, count: int, ranges: Mapping[str, tuple[int, int]], outputs: Collection[str]) -> str:
    """What was overwritten in a resource whose tensors lie at these bytes."""
    written = {name: ranges[name] for name in outputs if name in ranges}
    starts = {start for start, _ in written.values()}
    inputs = {name: each for name, each in ranges.items() if each[0] not in starts}  # an input in place is an output
    nearest = min(inputs, key=lambda name: max(inputs[name][0] - first, first - inputs[name][1] + 1, 0), default="")
    if nearest and (not written or inputs[nearest][0] <= first < inputs[nearest][1]):
        return f"the input {nearest} was changed, first at byte {first - inputs[nearest][0]}"
    past = {name: end for name, (_, end) in written.items() if end <= first}
    if not past:
        return f"bytes before the beginning of {min(written, key=written.__getitem__)} were overwritten"
    name = max(past, key=past.__getitem__)
    return f"{count} bytes past the end of {name} were overwritten, first {first - past[name]} bytes after it"


def _overwritten_gaps(case: Case, layout: Layout) -> str:
    dispatch = layout.dispatch
    for name in dispatch.outputs:
        tensor, binding = case.desc.tensor(name), dispatch.bindings[name]
        now = layout.resources[binding.resource][binding.offset : binding.offset + tensor.bytes]
        before = layout.snapshot[binding.resource][binding.offset : binding.offset + tensor.bytes]
        changed = (now != before) & ~element_bytes(tensor)
        if changed.any():
            return f"{changed.sum()} bytes between elements of {name} were overwritten, first at byte {int(changed.argmax())}"
    return ""
