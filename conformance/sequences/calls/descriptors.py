"""Calls about descriptors that a client places itself: written into a heap of its own, and copied to where a list reads them."""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.conformance.sequences.calls.call import DEVICE, Call


@dataclass(frozen=True, slots=True)
class CreateStagingHeap(Call):
    """As CreateHeap, but not shader visible: a heap that descriptors are copied from."""

    makes: int
    count: int


@dataclass(frozen=True, slots=True)
class CreateStagedTable(Call):
    """As CreateTable, but what is bound is written into the ``staging`` heap, and read from ``heap``: from the first descriptor on of each."""

    makes: int
    of: int
    staging: int
    heap: int
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class CopyDescriptors(Call):
    """ID3D12Device::CopyDescriptorsSimple: the first ``count`` descriptors of the ``staging`` heap to the beginning of ``heap``."""

    staging: int
    heap: int
    count: int


@dataclass(frozen=True, slots=True)
class RecordWithoutHeaps(Call):
    """As Record, but no descriptor heap is set before it: the list has those that were set last, if any."""

    list: int
    dispatchable: int
    table: int
