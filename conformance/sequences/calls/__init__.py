"""The calls that a sequence consists of, one class each, and what a call is answered with.

A sequence is a list of calls. Whoever writes it numbers the objects that calls make (``makes``) and names them by their numbers; number 0 is a
DirectML device that is there from the beginning. Each call stands for one call of DirectML or Direct3D 12, so that a host can perform one
after another, and is answered by one ``Reply``. How they look in JSON and YAML: ``call_json`` and schema/calls.schema.json.

Three things keep a sequence short, as it is often written by hand:

- defaults are left out: a table without a heap lies in one that its performer has, large enough;
- sizes that only the implementation knows are written as ``SizeOf``: the temporary or persistent bytes of an object;
- a range of no bytes is no binding (DML_BINDING_TYPE_NONE): who needs no temporary memory has none bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.conformance.sequences.calls.call import (
    COMPUTE,
    DEVICE,
    DIRECT,
    OK,
    PERSISTENT,
    TEMPORARY,
    VOLATILE,
    Call,
    Perform,
    Range,
    Reply,
    Size,
    SizeOf,
    Slot,
    code_name,
    code_number,
)
from dmlcts.conformance.sequences.calls.descriptors import CopyDescriptors, CreateStagedTable, CreateStagingHeap, RecordWithoutHeaps
from dmlcts.conformance.sequences.calls.graph import CompileGraph
from dmlcts.conformance.sequences.calls.trying import (
    BindNothing,
    CheckFeature,
    CreateOtherList,
    CreatePlainResource,
    EvictNothing,
    GetDevice,
    GetParent,
    GetPrivateData,
    RecordNothing,
    RemoveParent,
    SetNoName,
    SetPrivateData,
    SetPrivateInterface,
    TryCompile,
    TryDevice,
    TryGraph,
    TryOperator,
    TryTable,
    TryType,
)
from dmlcts.spec.model.desc import OperatorDesc

# The device


@dataclass(frozen=True, slots=True)
class CreateDevice(Call):
    """DMLCreateDevice1 over the suite's Direct3D 12 device, with flags (DML_CREATE_DEVICE_FLAGS) and a minimum feature level; ``""`` is DMLCreateDevice."""

    makes: int
    flags: int = 0
    level: str = ""


@dataclass(frozen=True, slots=True)
class CheckLevels(Call):
    """IDMLDevice::CheckFeatureSupport, FEATURE_LEVELS; answered with the number of the highest of ``levels`` that is supported."""

    levels: tuple[int, ...]
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class CheckDataType(Call):
    """IDMLDevice::CheckFeatureSupport, TENSOR_DATA_TYPE_SUPPORT; answered with true or false. The type is a number: unknown ones are asked too."""

    type: int
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class GetRemovedReason(Call):
    """IDMLDevice::GetDeviceRemovedReason; the code is the reason, S_OK for none."""

    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class Evict(Call):
    """IDMLDevice::Evict."""

    objects: tuple[int, ...]
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class MakeResident(Call):
    """IDMLDevice::MakeResident."""

    objects: tuple[int, ...]
    device: int = DEVICE


# Operators


@dataclass(frozen=True, slots=True)
class CreateOperator(Call):
    """IDMLDevice::CreateOperator."""

    makes: int
    desc: OperatorDesc
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class Compile(Call):
    """IDMLDevice::CompileOperator, with DML_EXECUTION_FLAGS by name."""

    makes: int
    operator: int
    flags: tuple[str, ...] = ()
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class CreateInitializer(Call):
    """IDMLDevice::CreateOperatorInitializer over compiled operators: none, one, or many."""

    makes: int
    over: tuple[int, ...]
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class ResetInitializer(Call):
    """IDMLOperatorInitializer::Reset to other compiled operators."""

    initializer: int
    over: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GetProperties(Call):
    """IDMLDispatchable::GetBindingProperties; answered with ``descriptors``, ``temporary`` and ``persistent``."""

    of: int


# Bindings


@dataclass(frozen=True, slots=True)
class CreateHeap(Call):
    """ID3D12Device::CreateDescriptorHeap, shader visible, with so many descriptors for views of buffers."""

    makes: int
    count: int


@dataclass(frozen=True, slots=True)
class CreateTable(Call):
    """IDMLDevice::CreateBindingTable for a dispatchable; with none, an empty table. Its descriptors: ``count`` of a heap from ``first`` on."""

    makes: int
    of: int | None = None
    heap: int | None = None
    first: int = 0
    count: int | None = None
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class ResetTable(Call):
    """IDMLBindingTable::Reset, to what CreateTable takes."""

    table: int
    of: int | None = None
    heap: int | None = None
    first: int = 0
    count: int | None = None


@dataclass(frozen=True, slots=True)
class BindInputs(Call):
    """IDMLBindingTable::BindInputs: a slot for each input in the struct's order, absent optional ones included. An initializer has a slot for each of
    its operators: the ranges of all inputs of that operator, None for those that it does not own.
    """

    table: int
    to: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class BindOutputs(Call):
    """IDMLBindingTable::BindOutputs. An initializer has a slot for each of its operators: the persistent memory."""

    table: int
    to: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class BindTemporary(Call):
    """IDMLBindingTable::BindTemporaryResource."""

    table: int
    to: Slot


@dataclass(frozen=True, slots=True)
class BindPersistent(Call):
    """IDMLBindingTable::BindPersistentResource."""

    table: int
    to: Slot


# Memory


@dataclass(frozen=True, slots=True)
class CreateResource(Call):
    """ID3D12Device::CreateCommittedResource: a buffer that holds ``fill`` in every byte before its first use; one of no bytes is not made."""

    makes: int
    size: Size
    fill: int = 0xA5
    heap: str = "DEFAULT"


@dataclass(frozen=True, slots=True)
class Write(Call):
    """Bytes of a buffer are replaced, by ID3D12GraphicsCommandList::CopyBufferRegion from memory for upload, complete when the call is answered."""

    resource: int
    data: bytes
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Read(Call):
    """Bytes of a buffer are read back, by ID3D12GraphicsCommandList::CopyBufferRegion; answered with them. ``size`` None: up to the end."""

    resource: int
    offset: int = 0
    size: int | None = None


# Execution


@dataclass(frozen=True, slots=True)
class CreateList(Call):
    """ID3D12Device::CreateCommandList, with an allocator of its own, and descriptor heaps set as its records need them."""

    makes: int
    type: str = DIRECT


@dataclass(frozen=True, slots=True)
class Record(Call):
    """IDMLCommandRecorder::RecordDispatch of an initializer or a compiled operator, with a table."""

    list: int
    dispatchable: int
    table: int


@dataclass(frozen=True, slots=True)
class Barrier(Call):
    """ID3D12GraphicsCommandList::ResourceBarrier for unordered access to a resource; to all without one."""

    list: int
    resource: int | None = None


@dataclass(frozen=True, slots=True)
class Close(Call):
    """ID3D12GraphicsCommandList::Close."""

    list: int


@dataclass(frozen=True, slots=True)
class Submit(Call):
    """ID3D12CommandQueue::ExecuteCommandLists, on the queue of their type."""

    lists: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wait(Call):
    """Until all that was submitted is done: ID3D12CommandQueue::Signal, ID3D12Fence::SetEventOnCompletion."""


# Objects


@dataclass(frozen=True, slots=True)
class QueryInterface(Call):
    """IUnknown::QueryInterface, by the interface's name: ``IDMLDevice1``; what is got is released at once."""

    of: int
    interface: str


@dataclass(frozen=True, slots=True)
class AddReference(Call):
    """IUnknown::AddRef; answered with the count, which no page promises."""

    of: int


@dataclass(frozen=True, slots=True)
class Release(Call):
    """IUnknown::Release; answered with the count. What made the object holds one reference, and its number is free when that is gone."""

    of: int


@dataclass(frozen=True, slots=True)
class SetName(Call):
    """IDMLObject::SetName."""

    of: int
    name: str


@dataclass(frozen=True, slots=True)
class Meet(Call):
    """The calling thread waits until so many threads are at the point of this name."""

    point: str
    threads: int


CALLS: tuple[type[Call], ...] = (
    *(CreateDevice, CheckLevels, CheckDataType, GetRemovedReason, Evict, MakeResident),
    *(CreateOperator, Compile, CompileGraph, CreateInitializer, ResetInitializer, GetProperties),
    *(CreateHeap, CreateTable, ResetTable, BindInputs, BindOutputs, BindTemporary, BindPersistent),
    *(CreateResource, Write, Read),
    *(CreateList, Record, Barrier, Close, Submit, Wait),
    *(QueryInterface, AddReference, Release, SetName),
    *(GetDevice, GetParent, SetPrivateData, SetPrivateInterface, GetPrivateData, Meet),
    *(CreateStagingHeap, CreateStagedTable, CopyDescriptors, RecordWithoutHeaps),
    *(TryDevice, TryOperator, TryType, TryCompile, TryGraph, TryTable, CheckFeature, EvictNothing),
    *(BindNothing, RecordNothing, SetNoName, CreatePlainResource, CreateOtherList, RemoveParent),
)
"""Every call."""


__all__ = [
    "CALLS",
    "COMPUTE",
    "DEVICE",
    "DIRECT",
    "OK",
    "PERSISTENT",
    "TEMPORARY",
    "VOLATILE",
    "AddReference",
    "Barrier",
    "BindInputs",
    "BindNothing",
    "BindOutputs",
    "BindPersistent",
    "BindTemporary",
    "Call",
    "CheckDataType",
    "CheckFeature",
    "CheckLevels",
    "Close",
    "Compile",
    "CompileGraph",
    "CopyDescriptors",
    "CreateDevice",
    "CreateHeap",
    "CreateInitializer",
    "CreateList",
    "CreateOperator",
    "CreateOtherList",
    "CreatePlainResource",
    "CreateResource",
    "CreateStagedTable",
    "CreateStagingHeap",
    "CreateTable",
    "Evict",
    "EvictNothing",
    "GetDevice",
    "GetParent",
    "GetPrivateData",
    "GetProperties",
    "GetRemovedReason",
    "MakeResident",
    "Meet",
    "Perform",
    "QueryInterface",
    "Range",
    "Read",
    "Record",
    "RecordNothing",
    "RecordWithoutHeaps",
    "Release",
    "RemoveParent",
    "Reply",
    "ResetInitializer",
    "ResetTable",
    "SetName",
    "SetNoName",
    "SetPrivateData",
    "SetPrivateInterface",
    "Size",
    "SizeOf",
    "Slot",
    "Submit",
    "TryCompile",
    "TryDevice",
    "TryGraph",
    "TryOperator",
    "TryTable",
    "TryType",
    "Wait",
    "Write",
    "code_name",
    "code_number",
]
