"""Checks of the bytes after a run: guards, the bytes past an output, inputs, and the gaps between the elements of a strided output."""

from __future__ import annotations

from dmlcts.conformance.backends.backend import Bytes
from dmlcts.conformance.backends.buffers import element_bytes
from dmlcts.conformance.execution.layout import GUARD_BYTE, Layout
from dmlcts.generator.case import Case


def trespasses(case: Case, layout: Layout) -> str:
    """Describes forbidden writes: to guard bytes, inputs, and gaps if the case checks them. Empty if there were none."""
    dispatch = layout.dispatch
    written = {dispatch.bindings[name].resource for name in dispatch.outputs}
    for name, binding in dispatch.bindings.items():
        now, before = layout.resources[binding.resource], layout.snapshot[binding.resource]
        end = (
            binding.offset + dispatch.desc.tensor(name).bytes
        )  # an operator may overwrite the total size, but not further bytes of the binding
        if binding.resource not in written:
            if now.tobytes() != before.tobytes():
                return f"the input {name} was changed, first at byte {_first(now, before) - binding.offset}"
            continue
        past = now[end:] != before[end:]  # an aliased input that is wider than the output has its own bytes there
        if past.any():
            return f"{past.sum()} bytes past the end of {name} were overwritten, first {int(past.argmax())} bytes after it"
        if (now[: binding.offset] != GUARD_BYTE).any():
            return f"bytes before the beginning of {name} were overwritten"
    if "gaps" in case.checks:
        return _overwritten_gaps(case, layout)
    return ""


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


def _first(now: Bytes, before: Bytes) -> int:
    return int((now != before).argmax())
