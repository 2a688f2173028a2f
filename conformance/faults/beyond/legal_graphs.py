"""Legal variations of graphs: what an implementation may do otherwise than the nodes one after another, and no graph may call a fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Bytes
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.faults.beyond.graphs import ChangedGraph
from dmlcts.conformance.faults.beyond.sequences import LEGAL as SEQUENCES
from dmlcts.conformance.sequences.calls.slots import slots_of
from dmlcts.conformance.sequences.compose import Made, Place, Run
from dmlcts.conformance.sequences.perform import Performer
from dmlcts.spec.model.desc import field_of
from dmlcts.spec.reading.loader import family_of, load
from dmlcts.spec.rules.rules import violations

Array = NDArray[Any]


class _OtherOrder(ChangedGraph):
    """Independent nodes run in another order."""

    def order(self) -> list[int]:
        found, left = [], set(range(len(self.descs)))
        while left:
            ready = [node for node in left if all(edge[0] not in left for edge in self.call.edges if edge[2] == node)]
            if not ready:
                return super().order()
            found.append(max(ready))
            left.remove(found[-1])
        return found


class _OtherGaps(ChangedGraph):
    """What lies between the elements of a result with strides is anything."""

    def finish_node(self, node: int, made: Made) -> None:
        for (of, slot), content in made.items():
            tensor = self.tensor(of, "output", slot)
            if of == node and tensor is not None and tensor.strides is not None:
                kept = read_tensor(content, tensor)
                content[...] = 0x3C
                write_tensor(content, tensor, kept)


class _Rounded(ChangedGraph):
    """What may round: inner results of FLOAT32 or FLOAT16 that need not be exact."""

    def is_rounded(self, node: int, slot: int, least: float = 2.0) -> bool:
        """Whether an output may be off by so many units, whatever the attributes are: a sum of one term is exact. One unit of 2 is left for the reference's own rounding."""
        desc = self.descs[node]
        if desc is None:
            return False
        name = slots_of(desc, "output")[slot]
        data_type = desc.tensor(name).data_type
        tolerance = load(desc.type).tolerance.for_output(field_of(name), data_type, desc.fields)
        if data_type not in ("FLOAT32", "FLOAT16") or tolerance.judge not in ("ulp", "mixed"):
            return False
        units: Any = tolerance.parameters.get("ulps", 0.0)
        return float(units[data_type] if isinstance(units, Mapping) else units) >= least

    def finish_node(self, node: int, made: Made) -> None:
        for (of, slot), content in made.items():
            tensor = self.tensor(of, "output", slot)
            if of == node and self.is_inner(node) and tensor is not None and self.is_rounded(node, slot):
                write_tensor(content, tensor, self.round_otherwise(read_tensor(content, tensor)))

    def round_otherwise(self, kept: Array) -> Array:
        """A result as it is rounded otherwise."""
        raise NotImplementedError


class _AwayFromZero(_Rounded):
    """An inner result that need not be exact is off by one unit in its last place."""

    def round_otherwise(self, kept: Array) -> Array:
        """The next number away from zero."""
        with np.errstate(all="ignore"):
            moved = np.nextafter(kept, np.where(kept > 0, np.inf, -np.inf).astype(kept.dtype))
        return np.where(np.isfinite(moved) & (kept != 0), moved, kept).astype(kept.dtype)


class _TowardZero(_Rounded):
    """An inner result that need not be exact is off by one unit in its last place, toward zero."""

    def round_otherwise(self, kept: Array) -> Array:
        """The next number toward zero, but zero itself."""
        with np.errstate(all="ignore"):
            moved = np.nextafter(kept, np.zeros_like(kept))
        return np.where(np.isfinite(kept) & (np.abs(kept) > np.finfo(kept.dtype).tiny), moved, kept).astype(kept.dtype)


class _OtherNans(_Rounded):
    """NaNs of an inner result that is computed have other bits."""

    def round_otherwise(self, kept: Array) -> Array:
        """The same numbers, and NaNs of the other sign."""
        return np.where(np.isnan(kept), np.negative(kept), kept).astype(kept.dtype)


class _Recomputed(ChangedGraph):
    """A node runs once more for each that reads it."""

    def inputs_of(self, node: int, bound: Place, made: Made) -> dict[int, Bytes | None]:
        return {slot: None if content is None else content.copy() for slot, content in super().inputs_of(node, bound, made).items()}


class _EqualOnce(ChangedGraph):
    """Nodes with equal descs and equal data are one."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        self.known: dict[str, Made] = getattr(self, "known", {})
        if self.descs[node] is None:
            return super().outputs_of(node, fed, run, timeout)
        key = repr((self.descs[node], {slot: content.tobytes() for slot, content in sorted(fed.items()) if content is not None}))
        if key not in self.known:
            self.known[key] = super().outputs_of(node, fed, run, timeout)
        return {(node, slot): content.copy() for (_, slot), content in self.known[key].items()}


class _UnusedLeftOut(ChangedGraph):
    """An output that nobody uses is not computed."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        found = super().outputs_of(node, fed, run, timeout)
        used = {edge[1] for edge in (*self.call.edges, *self.call.output_edges) if edge[0] == node}
        for (_, slot), content in found.items():
            if slot not in used:
                content[...] = 0x3C
        return found


class _OverwrittenWhenRead(ChangedGraph):
    """An inner result is overwritten as soon as all have read it."""

    def finish_node(self, node: int, made: Made) -> None:
        order = self.order()
        for source in {edge[0] for edge in self.call.edges if edge[2] == node}:
            is_read = all(order.index(reader) <= order.index(node) for reader in self.readers(source))
            if is_read and self.is_inner(source):
                for slot in (slot for of, slot in list(made) if of == source):
                    made[source, slot] = np.full_like(made[source, slot], 0x3C)


class _NotStored(_Rounded):
    """An element-wise operator or activation that computes reads what another gives in FLOAT16 before that is rounded to it: the two are one, in FLOAT32."""

    def finish_node(self, node: int, made: Made) -> None:
        """Rounds nothing else."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        self.wide: dict[tuple[int, int], Array] = getattr(self, "wide", {})
        found = super().outputs_of(node, fed, run, timeout)
        desc = self.descs[node]
        if desc is None or family_of(desc.type) not in ("element_wise", "activation"):
            return found
        is_half = all(tensor.data_type == "FLOAT16" for _, tensor in desc.tensors())
        if not is_half or len(found) > 1 or not self.is_rounded(node, 0, 1.0):
            return found
        wide = desc.with_tensors({name: replace(tensor, data_type="FLOAT32", strides=None) for name, tensor in desc.tensors()})
        if violations(load(desc.type), wide):
            return found
        sources = {slot: (source, of) for source, of, to, slot in self.call.edges if to == node and self.is_inner(source)}
        given: dict[int, Bytes | None] = {}
        for slot, content in fed.items():
            own = desc.tensor(slots_of(desc, "input")[slot])
            if content is None:
                return found
            exact = read_tensor(content, own).astype(np.float32)
            kept = self.wide.get(sources.get(slot, (-1, 0)))
            plain = kept is not None and own.strides is None and kept.size == exact.size
            given[slot] = np.frombuffer((kept if kept is not None and plain else exact).tobytes(), np.uint8).copy()
        descs = self.descs
        self.descs = (*descs[:node], wide, *descs[node + 1 :])
        try:
            computed = super().outputs_of(node, given, run, timeout)[node, 0]
        finally:
            self.descs = descs
        output = desc.tensor(slots_of(desc, "output")[0])
        result = np.frombuffer(computed.tobytes(), np.float32).reshape(output.sizes)
        if output.strides is None:
            self.wide[node, 0] = result
        if any(source in self.wide for source in sources.values()):
            with np.errstate(all="ignore"):
                write_tensor(found[node, 0], output, result.astype(np.float16))
        return found


LEGAL: Mapping[str, type[ChangedGraph]] = {
    "other-order": _OtherOrder,
    "other-gaps": _OtherGaps,
    "less-rounded": _AwayFromZero,
    "toward-zero": _TowardZero,
    "other-nans": _OtherNans,
    "recomputed": _Recomputed,
    "equal-once": _EqualOnce,
    "unused-left-out": _UnusedLeftOut,
    "overwritten-when-read": _OverwrittenWhenRead,
    "not-stored": _NotStored,
}
"""What is legal, by label."""

AROUND: Mapping[str, type[Performer]] = {
    label: SEQUENCES[label][1]
    for label in ("many-descriptors", "late-execution", "always-volatile", "initialized-twice", "persistent-zeroed")
}
"""What is legal around a graph: the variations of sequences that touch it."""
