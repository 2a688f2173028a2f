"""Operator descs as JSON, in the form of DxDispatch's models: DirectML's field names, enumeration constants by name.

``{"Type": "ELEMENT_WISE_ROUND", "InputTensor": {"DataType": "FLOAT32", "Sizes": [3]}, ..., "RoundingMode": "TOWARD_ZERO"}``.
Defaults are omitted (packed strides, no flags, the minimum total size). NaN and infinities are the strings "nan", "inf"
and "-inf", as JSON has no numbers for them. The reader accepts everything that DxDispatch does: fields beside ``Type`` or below ``Desc``, both
also in lower case; flags as a list; a scalar union as a number or as its member (``{"Float32": 9}``; FLOAT16 bits as ``UInt16``).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias, Size2D, TensorDesc
from dmlcts.spec.model.operator import Field, Operator


class DescError(ValueError):
    """A JSON desc is wrong; the message names the field."""


def write_tensor(tensor: TensorDesc) -> dict[str, Any]:
    """A tensor desc as JSON."""
    found: dict[str, Any] = {"DataType": tensor.data_type, "Sizes": list(tensor.sizes)}
    if tensor.strides is not None:
        found["Strides"] = list(tensor.strides)
    if tensor.flags:
        names = [name for name, bit in abi().tensor_flags.items() if bit and tensor.flags == bit]
        found["Flags"] = names[0] if names else tensor.flags
    if tensor.total_size is not None:
        found["TotalTensorSizeInBytes"] = tensor.total_size
    if tensor.alignment:
        found["GuaranteedBaseOffsetAlignment"] = tensor.alignment
    return found


def write_desc(desc: OperatorDesc) -> dict[str, Any]:
    """An operator desc as JSON. An operator that has a field ``Type`` of its own gets its fields below ``Desc``."""
    fields = {name: _write(value) for name, value in desc.fields.items() if value is not None}
    return {"Type": desc.type, "Desc": fields} if "Type" in fields else {"Type": desc.type, **fields}


def _write(value: object) -> Any:
    if isinstance(value, TensorDesc):
        return write_tensor(value)
    if isinstance(value, OperatorDesc):
        return write_desc(value)
    if isinstance(value, Size2D):
        return {"Width": value.width, "Height": value.height}
    if isinstance(value, ScaleBias):
        return {"Scale": _write(value.scale), "Bias": _write(value.bias)}
    if isinstance(value, tuple):
        return [_write(element) for element in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def read_tensor(data: Any, where: str) -> TensorDesc:
    """A tensor desc from JSON; ``where`` names the field in errors. Raises DescError."""
    if not isinstance(data, Mapping):
        raise DescError(f"{where}: a tensor desc is an object such as {{'DataType': 'FLOAT32', 'Sizes': [3]}}, not {data!r}")
    body = data["Desc"] if isinstance(data.get("Desc"), Mapping) else data
    for key in ("DataType", "Sizes"):
        if key not in body:
            raise DescError(f"{where}.{key} is missing")
    data_type = str(body["DataType"]).removeprefix("DML_TENSOR_DATA_TYPE_")
    if data_type not in abi().data_types and data_type != "UNKNOWN":
        raise DescError(f"{where}.DataType: unknown data type {body['DataType']!r}; known: {', '.join(abi().data_types)}")
    sizes = _integers(body["Sizes"], f"{where}.Sizes")
    strides = None if body.get("Strides") is None else _integers(body["Strides"], f"{where}.Strides")
    count = body.get("DimensionCount", len(sizes))
    if count != len(sizes):
        raise DescError(f"{where}.DimensionCount is {count}, but there are {len(sizes)} Sizes")
    flags = 0
    given = body.get("Flags", 0)
    for flag in given if isinstance(given, list) else [given]:
        flags |= flag if isinstance(flag, int) else _flag(str(flag), f"{where}.Flags")
    total = body.get("TotalTensorSizeInBytes")
    alignment = body.get("GuaranteedBaseOffsetAlignment", 0)
    for name, values, bits in (
        ("Sizes", sizes, 32),
        ("Strides", strides or (), 32),
        ("TotalTensorSizeInBytes", () if total is None else (total,), 64),
        ("GuaranteedBaseOffsetAlignment", (alignment,), 32),
    ):
        for value in values:  # rules.py decides whether a number is valid; here it only must fit into the struct
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << bits:
                raise DescError(f"{where}.{name} must be whole numbers from 0 to {(1 << bits) - 1}, not {value!r}")
    return TensorDesc(data_type, sizes, strides, flags, total, alignment)


def _flag(name: str, where: str) -> int:
    short = name.removeprefix("DML_TENSOR_FLAG_")
    if short not in abi().tensor_flags:
        raise DescError(f"{where}: unknown flag {name!r}; known: {', '.join(abi().tensor_flags)}")
    return abi().tensor_flags[short]


def read_desc(data: Any, find: Callable[[str], Operator], where: str = "") -> OperatorDesc:
    """An operator desc from JSON; ``find`` gives an operator's spec by name.

    Both of DxDispatch's forms are read: fields beside ``Type``, or below ``Desc``.

    Raises:
        DescError: an unknown operator, field, constant or data type, or a value of the wrong kind.
    """
    type_key, desc_key = (next((key for key in keys if isinstance(data, Mapping) and key in data), None) for keys in _KEYS)
    if type_key is None:
        raise DescError(f"{where or 'desc'}: an operator desc is an object with a Type")
    try:
        operator = find(str(data[type_key]))
    except KeyError as error:
        raise DescError(f"{where or 'desc'}.{type_key}: {error.args[0]}") from None
    body = data[desc_key] if desc_key else {key: value for key, value in data.items() if key != type_key}
    if not isinstance(body, Mapping):
        raise DescError(f"{where or 'desc'}.{desc_key} must be an object, not {body!r}")
    unknown = body.keys() - {field.name for field in operator.fields}
    if unknown:
        known = ", ".join(field.name for field in operator.fields)
        raise DescError(f"{where or operator.name}: no field {', '.join(sorted(unknown))}; {operator.name} has {known}")
    prefix = f"{where}." if where else ""
    fields = {field.name: read_field(field, body.get(field.name), find, f"{prefix}{field.name}") for field in operator.fields}
    for field in operator.fields:
        value = body.get(field.name)
        if field.type == "SCALAR_UNION" and isinstance(value, Mapping):
            data_type = fields.get(field.data_type) if field.data_type else None
            fields[field.name] = _member(value, data_type, f"{prefix}{field.name}")
    return OperatorDesc(operator.name, fields)


_KEYS = (("Type", "type"), ("Desc", "desc"))


def _member(data: Mapping[str, Any], data_type: object, where: str) -> int | float:
    """A scalar union given as one of its members."""
    if len(data) != 1:
        raise DescError(f"{where} must be a number or one member of the union, such as {{'Float32': 9}}, not {data!r}")
    ((member, value),) = data.items()
    number = _number(value, where)
    if member == "UInt16" and data_type == "FLOAT16" and isinstance(number, int) and 0 <= number <= 0xFFFF:
        return float(struct.unpack("<e", struct.pack("<H", number))[0])
    return number


def read_field(field: Field, data: Any, find: Callable[[str], Operator], where: str) -> object:
    """One field's value from JSON. Raises DescError."""
    if data is None:
        return None
    if field.type.endswith("_ARRAY"):
        if not isinstance(data, list):
            raise DescError(f"{where} must be an array, not {data!r}")
        element = Field(field.name, field.kind, field.type.removesuffix("_ARRAY"), enum=field.enum)
        return tuple(read_field(element, value, find, f"{where}[{index}]") for index, value in enumerate(data))
    if field.type == "TENSOR_DESC":
        return read_tensor(data, where)
    if field.type == "OPERATOR_DESC":
        return read_desc(data, find, where)
    if field.enum:
        return _constant(field.enum, data, where)
    if field.type in _PAIRS:
        pair, keys = _PAIRS[field.type]
        values = [data.get(key) for key in keys] if isinstance(data, Mapping) else data
        if not isinstance(values, list) or len(values) != 2:
            raise DescError(f"{where} must have {keys[0]} and {keys[1]}")
        return pair(*(_number(value, where) for value in values))
    if field.type == "SCALAR_UNION" and isinstance(data, Mapping):
        return None  # read_desc reads it once it knows the data type
    return _number(data, where)


_PAIRS: dict[str, tuple[Callable[..., tuple[Any, ...]], tuple[str, str]]] = {
    "SIZE_2D": (Size2D, ("Width", "Height")),
    "SCALE_BIAS": (ScaleBias, ("Scale", "Bias")),
}


def _constant(enum: str, data: Any, where: str) -> str | int:
    """A constant's name. A number becomes its constant; one that is not a constant stays a number, which rules.py rejects."""
    if isinstance(data, int) and not isinstance(data, bool):
        return next((name for name, number in abi().enums[enum].values.items() if number == data), data)
    short = str(data).removeprefix(f"{enum}_")
    if short not in abi().enums[enum].values and short != "UNKNOWN":
        raise DescError(f"{where}: {enum} has no {data!r}; it has {', '.join(abi().enums[enum].values)}")
    return short


def _number(data: Any, where: str) -> int | float:
    if isinstance(data, int | float):
        return data
    if isinstance(data, str) and data.lower() in ("nan", "inf", "-inf"):
        return float(data)
    hint = '; NaN and infinities are "nan", "inf" and "-inf"' if isinstance(data, str) else ""
    raise DescError(f"{where} must be a number, not {data!r}{hint}")


def _integers(data: Any, where: str) -> tuple[int, ...]:
    if not isinstance(data, list) or not all(isinstance(value, int) for value in data):
        raise DescError(f"{where} must be an array of integers, not {data!r}")
    return tuple(data)
