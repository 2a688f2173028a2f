"""Tensor descs and operator descs: DML_BUFFER_TENSOR_DESC and DML_OPERATOR_DESC, one to one.

Python attributes are in snake case; the JSON form (``desc_json``) carries DirectML's own field names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ctypes import c_float
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from dmlcts.spec.model.abi import DataType as AbiDataType
from dmlcts.spec.model.abi import abi

T = TypeVar("T")

UNKNOWN = "UNKNOWN"
"""DML_TENSOR_DATA_TYPE_UNKNOWN: never valid in a desc; negative cases use it."""


@dataclass(frozen=True, slots=True)
class TensorDesc:
    """A buffer tensor desc.

    ``sizes`` and ``strides`` are in elements; ``strides`` None means packed. ``total_size`` is TotalTensorSizeInBytes and
    None means the minimum, as DMLCalcBufferTensorSize gives it. ``alignment`` is GuaranteedBaseOffsetAlignment in bytes, 0 for none.
    A desc may be invalid on purpose; ``rules.violations`` lists what is wrong with it.
    """

    data_type: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    flags: int = 0
    total_size: int | None = None
    alignment: int = 0
    _least: int = field(default=0, init=False, repr=False, compare=False)

    # Constraints in spec files use DirectML's field names.
    @property
    def DataType(self) -> str:  # noqa: N802
        """The data type's name, as constraints spell it."""
        return self.data_type

    @property
    def Sizes(self) -> tuple[int, ...]:  # noqa: N802
        """The sizes, as constraints spell them."""
        return self.sizes

    @property
    def DimensionCount(self) -> int:  # noqa: N802
        """The number of dimensions, as constraints spell it."""
        return len(self.sizes)

    @property
    def type(self) -> AbiDataType:
        """The data type's entry in the ABI. Raises KeyError for UNKNOWN."""
        return abi().data_types[self.data_type]

    @property
    def count(self) -> int:
        """The number of elements."""
        return prod(self.sizes)

    @property
    def effective_strides(self) -> tuple[int, ...]:
        """The strides, packed ones where the desc has none."""
        return packed_strides(self.sizes) if self.strides is None else self.strides

    @property
    def bytes(self) -> int:
        """TotalTensorSizeInBytes: as given, or the minimum."""
        return self.least_bytes if self.total_size is None else self.total_size

    @property
    def least_bytes(self) -> int:
        """The minimum valid TotalTensorSizeInBytes (DMLCalcBufferTensorSize), worked out once: a case asks for it a dozen times."""
        if not self._least:
            object.__setattr__(self, "_least", buffer_tensor_size(self.type, self.sizes, self.effective_strides))
        return self._least


def field_of(name: str) -> str:
    """The field that a tensor belongs to: ``InputTensors`` of ``InputTensors[0]``."""
    return name.partition("[")[0]


@lru_cache(maxsize=1024)  # a case asks for those of the same sizes a dozen times
def packed_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements for ``sizes``."""
    strides = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def buffer_tensor_size(data_type: AbiDataType, sizes: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Bytes from the first element to past the last, rounded up to a multiple of four.

    Source: DMLCalcBufferTensorSize in the DirectML helper functions page. That helper has no case for the 4-bit types; two
    elements share a byte there, the first in the low nibble.
    """
    multiple = abi().limits["total_size_multiple"]
    size_in_bytes = ((_last(sizes, strides) + 1) * data_type.bits + 7) // 8
    return -(-size_in_bytes // multiple) * multiple


@lru_cache(maxsize=1024)
def _last(sizes: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Where the last element lies, in elements."""
    return sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


class Size2D(NamedTuple):
    """DML_SIZE_2D."""

    width: int
    height: int


class ScaleBias(NamedTuple):
    """DML_SCALE_BIAS."""

    scale: float
    bias: float


@dataclass(frozen=True, slots=True)
class OperatorDesc:
    """An operator desc: the operator's name without DML_OPERATOR_, and its fields by name in the struct's order.

    A field's value is, by the field's type: TensorDesc; tuple of TensorDesc; OperatorDesc; tuple of OperatorDesc; int; float; bool;
    the short name of an enumeration's constant (or an int, valid or not); tuple of numbers; Size2D; ScaleBias; None where optional and
    absent. No field can be changed: cases share descs with each other and with the implementation under test.
    """

    type: str
    fields: Mapping[str, object] = field(default_factory=dict)
    _tensors: tuple[tuple[str, str, TensorDesc], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Copies the fields, and caches the tensors, which are read often."""
        object.__setattr__(self, "fields", MappingProxyType(dict(self.fields)))
        found = []
        for name, value in self.fields.items():
            if isinstance(value, TensorDesc):
                found.append((name, name, value))
            elif isinstance(value, tuple):
                found += [(name, f"{name}[{i}]", each) for i, each in enumerate(value) if isinstance(each, TensorDesc)]
        object.__setattr__(self, "_tensors", tuple(found))

    def __reduce__(self) -> tuple[Any, ...]:
        return OperatorDesc, (self.type, dict(self.fields))

    def tensors(self) -> Iterator[tuple[str, TensorDesc]]:
        """The tensors that are present, in the struct's order: ``("ATensor", desc)``, ``("InputTensors[0]", desc)``..."""
        return ((name, tensor) for _, name, tensor in self._tensors)

    def by_field(self) -> Iterator[tuple[str, str, TensorDesc]]:
        """The same, with their fields: ``("ATensor", "ATensor", desc)``, ``("InputTensors", "InputTensors[0]", desc)``..."""
        return iter(self._tensors)

    def tensor(self, name: str) -> TensorDesc:
        """The tensor called ``name`` (``ATensor`` or ``InputTensors[0]``); of an array (``InputTensors``) the first. Raises KeyError if it is absent."""
        for field_name, known, desc in self._tensors:
            if name in (known, field_name):
                return desc
        raise KeyError(f"{self.type} has no tensor {name!r} in this desc")

    def find(self, name: str) -> TensorDesc | None:
        """``tensor``, or None if it is absent."""
        return next((tensor for _, tensor in self.called(name)), None)

    def called(self, name: str) -> list[tuple[str, TensorDesc]]:
        """The tensors that a name stands for: one, all of an array, or none where it is absent."""
        return [(own, tensor) for field, own, tensor in self._tensors if name in (own, field)]

    # Attributes by their types. Each raises TypeError if the field is of another type, or absent and no default is given.

    def integer(self, name: str, default: int | None = None) -> int:
        """A UINT, UINT64 or INT: an axis, a count."""
        return _typed_field(self, name, default, int)

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """An array of UINT or INT: axes, strides, window sizes."""
        return _typed_field(self, name, default, tuple)

    def number(self, name: str, default: float | None = None) -> float:
        """A FLOAT as the struct holds it: rounded to FLOAT32."""
        return _as_float32(_typed_field(self, name, default, float, int))

    def numbers(self, name: str, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """An array of FLOAT, each rounded to FLOAT32."""
        return tuple(map(_as_float32, _typed_field(self, name, default, tuple)))

    def scalar(self, name: str) -> int | float:
        """A scalar union as it is given: of its data type, which another attribute says."""
        return _typed_field(self, name, None, float, int)

    def flag(self, name: str, default: bool | None = None) -> bool:
        """A BOOL."""
        return bool(_typed_field(self, name, default, int))

    def constant(self, name: str, default: str | None = None) -> str:
        """The short name of an enumeration's constant: ``HALVES_TO_NEAREST_EVEN``."""
        return _typed_field(self, name, default, str)

    def size_2d(self, name: str) -> Size2D:
        """A DML_SIZE_2D: ``width`` and ``height``."""
        return _typed_field(self, name, None, Size2D)

    def scale_bias(self, name: str = "ScaleBias") -> ScaleBias | None:
        """A DML_SCALE_BIAS, both numbers rounded to FLOAT32; None if it is absent."""
        if self.fields.get(name) is None:
            return None
        return ScaleBias(*map(_as_float32, _typed_field(self, name, None, ScaleBias)))

    def inner(self, name: str = "FusedActivation") -> OperatorDesc | None:
        """The operator desc in a field, which has no tensors; None if it is absent."""
        return None if self.fields.get(name) is None else _typed_field(self, name, None, OperatorDesc)

    def inners(self, name: str) -> tuple[OperatorDesc, ...]:
        """An array of operator descs."""
        return _typed_field(self, name, None, tuple)

    def with_tensors(self, changes: Mapping[str, TensorDesc]) -> OperatorDesc:
        """A copy in which tensors that are present (``ATensor`` or ``InputTensors[0]``) have other descs."""
        fields = dict(self.fields)
        for name, tensor in changes.items():
            array, _, index = name.removesuffix("]").partition("[")
            elements = cast(tuple[TensorDesc, ...], fields[array]) if index else ()
            fields[array] = (*elements[: int(index)], tensor, *elements[int(index) + 1 :]) if index else tensor
        return OperatorDesc(self.type, fields)

    def with_fields(self, **changes: object) -> OperatorDesc:
        """A copy in which the named fields have other values."""
        return OperatorDesc(self.type, {**self.fields, **changes})


def _as_float32(number: float) -> float:
    """The nearest FLOAT32; infinite if there is none."""
    return c_float(number).value


def _typed_field(desc: OperatorDesc, name: str, default: T | None, *kinds: type[T]) -> T:
    """The value of a desc's field, the default where it is absent. Raises TypeError if it is of no such type."""
    value = desc.fields.get(name)
    value = default if value is None else value
    if isinstance(value, kinds):
        return value
    wanted = " or ".join(kind.__name__ for kind in kinds)
    found = f"{value!r}, not of type {wanted}" if name in desc.fields else f"no field of it; it has {', '.join(desc.fields)}"
    raise TypeError(f"{desc.type}: {name} is {found}")
