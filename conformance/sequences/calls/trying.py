"""Calls that show what is refused, and what objects tell of themselves: no client needs them to compute.

They have names of their own, so that a host which does not know one of them answers ``unsupported`` and does not do something like it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.conformance.sequences.calls.call import DEVICE, Call
from dmlcts.spec.model.desc import OperatorDesc


@dataclass(frozen=True, slots=True)
class TryDevice(Call):
    """As CreateDevice, but by any interface, and what is made is released at once; without an interface ``ppv`` is null."""

    flags: int = 0
    level: str = ""
    interface: str = ""


@dataclass(frozen=True, slots=True)
class CheckFeature(Call):
    """IDMLDevice::CheckFeatureSupport with any feature, these bytes as query, and memory for ``size`` bytes of the answer, with which it is answered.

    Without a query, or without a size, the pointer is null.
    """

    feature: int
    query: bytes | None = None
    size: int | None = None
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class GetParent(Call):
    """IDMLDevice::GetParentDevice, by the interface's name; answered with whether it is the suite's Direct3D 12 device."""

    interface: str = "ID3D12Device"
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class RemoveParent(Call):
    """ID3D12Device5::RemoveDevice of the suite's Direct3D 12 device."""


@dataclass(frozen=True, slots=True)
class TryOperator(Call):
    """As CreateOperator, but by any interface, and what is made is released at once; without an interface ``ppv`` is null."""

    desc: OperatorDesc
    interface: str = ""
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class TryType(Call):
    """IDMLDevice::CreateOperator with a DML_OPERATOR_DESC of any type whose Desc is null."""

    type: int
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class TryCompile(Call):
    """As Compile, but with any flags, as a number; what is made is released at once. Without an operator that pointer is null, without an interface ``ppv``."""

    operator: int | None = None
    flags: int = 0
    interface: str = ""
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class BindNothing(Call):
    """A Bind method with a null pointer: of ``inputs`` or ``outputs`` with a count, of ``temporary`` or ``persistent`` memory."""

    table: int
    what: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class TryTable(Call):
    """As CreateTable, but with one member of the desc null: the ``dispatchable``, or the ``cpu`` or ``gpu`` handle; what is made is released at once."""

    of: int
    what: str
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class TryGraph(Call):
    """As CompileGraph of one operator with an input and an output, but with one pointer null: the ``desc``, ``nodes``, ``input-edges``, ``output-edges``, ``edges`` (of which one is counted), the desc of the ``node``, or its ``operator``; what is made is released at once."""

    operator: int
    what: str
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class EvictNothing(Call):
    """IDMLDevice::Evict or MakeResident, as ``what`` says (``evict``, ``make-resident``), with an array of one null pointer."""

    what: str
    device: int = DEVICE


@dataclass(frozen=True, slots=True)
class CreatePlainResource(Call):
    """As CreateResource in a heap of type DEFAULT, but without D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS."""

    makes: int
    size: int


@dataclass(frozen=True, slots=True)
class CreateOtherList(Call):
    """As CreateList, but of a type that cannot execute dispatches: COPY or BUNDLE."""

    makes: int
    type: str


@dataclass(frozen=True, slots=True)
class RecordNothing(Call):
    """IDMLCommandRecorder::RecordDispatch with one null pointer: the ``list``, the ``dispatchable`` or the ``table``; the others are those of Record."""

    list: int
    dispatchable: int
    table: int
    what: str


@dataclass(frozen=True, slots=True)
class SetNoName(Call):
    """IDMLObject::SetName with a null pointer."""

    of: int


@dataclass(frozen=True, slots=True)
class GetDevice(Call):
    """IDMLDeviceChild::GetDevice; answered with the number of the device that it is, null if it is none of them."""

    of: int


@dataclass(frozen=True, slots=True)
class SetPrivateData(Call):
    """IDMLObject::SetPrivateData under an identifier that ``key`` stands for; without content with a null pointer and no bytes, which deletes."""

    of: int
    key: int
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class SetPrivateInterface(Call):
    """IDMLObject::SetPrivateDataInterface, with another object of the sequence."""

    of: int
    key: int
    object: int


@dataclass(frozen=True, slots=True)
class GetPrivateData(Call):
    """IDMLObject::GetPrivateData into memory of so many bytes, a null pointer without them; answered with the size that it gives."""

    of: int
    key: int
    size: int | None = None
