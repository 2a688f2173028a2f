"""The initial content of a model's resource, as bytes. DxDispatch's guide has five forms:

| ``initialValues`` | meaning |
|---|---|
| ``[1, 2, "nan"]`` | the values, all of ``initialValuesDataType`` |
| ``[{"name": ..., "type": ..., "value": ...}]`` | values of several types, one after the other; the data type is UNKNOWN or left out |
| ``{"valueCount": 4, "value": 0}`` | one value repeated |
| ``{"valueCount": 4, "valueStart": 1, "valueDelta": 2.5}`` | a sequence: each the one before plus the delta, in the data type |
| ``{"sourcePath": "x.npy"}`` | a file: an array with its own type, or raw bytes (any other extension) of ``initialValuesDataType`` |

Beyond DxDispatch, values may be of the 4-bit types; two share a byte, the first in the low nibble.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO
from math import prod
from pathlib import Path, PureWindowsPath
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Bytes
from dmlcts.conformance.backends.buffers import write_tensor
from dmlcts.conformance.dxdispatch.model_json import ModelError, check
from dmlcts.spec.model.abi import DataType, abi, data_type
from dmlcts.spec.model.desc import UNKNOWN, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.untrusted.files import MIB, InputError, read_bytes, shorten_text

Array = NDArray[Any]

IMAGES = (".png", ".jpg", ".jpeg")
"""Image files, which DxDispatch reads and writes through a graphics library, but this suite does not."""


LARGEST = 256 * MIB
"""All resources of a model together may have so many bytes, and more where the machine has memory for them."""


def initial_values(
    data: Any, given: str, folder: Path, where: str, outside: bool = False, most: int = LARGEST
) -> tuple[str, Bytes]:
    """The data type and the bytes of ``initialValues``, at most ``most``. ``given`` is the data type beside it, UNKNOWN if there is none.

    Files are read below ``folder`` alone, unless ``outside`` allows others; a symbolic link counts as the file to which it leads.

    Raises:
        ModelError: it has none of these forms, or a value is not of the data type.
    """
    if isinstance(data, str):
        problem = "deferred resources are for ONNX models and not supported here" if data == "deferred" else f"not {data!r}"
        raise ModelError(f"{where} must be an array or an object; {problem}")
    if isinstance(data, Mapping) and "sourcePath" in data:
        check(data, "file", where)
        return _from_file(data["sourcePath"], given, folder, f"{where}.sourcePath", most, outside)
    if isinstance(data, Sequence) and given == UNKNOWN:
        return UNKNOWN, _typed_bytes(data, where)
    if given == UNKNOWN:
        raise ModelError(f"{where.removesuffix('.initialValues')}.initialValuesDataType is missing")
    if isinstance(data, Sequence):
        return given, pack(numbers(data, given, where), given)
    if "value" in data:
        check(data, "constant", where)
        _check_count(data, given, where, most)
        array = np.repeat(numbers([data["value"]], given, f"{where}.value", False), int(data["valueCount"]))
    elif "valueStart" in data or "valueDelta" in data:
        check(data, "sequence", where)
        _check_count(data, given, where, most)
        array = _sequence(data, data_type(given), where)
    else:
        raise ModelError(f"{where} must have value, or valueStart and valueDelta, or sourcePath")
    return given, pack(array, given)


def _check_count(data: Mapping[str, Any], name: str, where: str, most: int) -> None:
    size = int(data["valueCount"]) * max(data_type(name).bits // 8, 1)  # elements of 4 bits take a byte each at first
    if size > most:
        raise ModelError(f"{where}.valueCount: {too_large(size, most)}")


def too_large(size: int, most: int) -> str:
    """Why a resource of ``size`` bytes is none, where ``most`` are left."""
    return f"{size:,} bytes, but this machine's memory leaves {most:,} for it: all resources together may have a sixth of what is available"


def numbers(values: Sequence[Any], name: str, where: str, indexed: bool = True) -> Array:
    """JSON's numbers, and "nan", "inf" and "-inf", as an array of the data type ``name``.

    Raises:
        ModelError: one is not a number or out of the type's range; the message gives its index.
    """
    entry = data_type(name)
    read = [_number(value, entry, f"{where}[{index}]" if indexed else where) for index, value in enumerate(values)]
    if not entry.is_float:
        return np.array(read, np.int8 if entry.bits < 8 else numpy_dtype(name)).astype(numpy_dtype(name))
    exact = np.array(read, np.float64)
    with np.errstate(over="ignore"):
        # DxDispatch reads a FLOAT16 as float, then rounds it once more.
        rounded = (exact.astype(np.float32) if entry.bits < 32 else exact).astype(numpy_dtype(name))
    wrong = np.isinf(rounded) & np.isfinite(exact)
    if wrong.any():
        index = int(wrong.argmax())
        raise ModelError(f"{where}{f'[{index}]' if indexed else ''}: {values[index]} is out of the range of {name}")
    return rounded


def _number(value: Any, entry: DataType, where: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ModelError(f"{where} must be a number, not {short(value)}")
    if entry.is_float:
        if isinstance(value, str) and value.lower() not in ("nan", "inf", "-inf"):
            infinity = f'; write "{"-" if value[0] == "-" else ""}inf"' if value.lower().lstrip("+-") in ("infinity", "inf") else ""
            raise ModelError(f'{where} must be a number or "nan", "inf" or "-inf", not {short(value)}{infinity}')
        try:
            return float(value)
        except OverflowError:
            raise ModelError(f"{where}: {short(value)} is out of the range of {entry.name}") from None
    if not isinstance(value, int):
        raise ModelError(f"{where} must be a whole number, as {entry.name} has no {short(value)}")
    if not entry.holds(value):
        raise ModelError(f"{where}: {short(value)} is out of the range of {entry.name}")
    return value


def pack(array: Array, name: str) -> Bytes:
    """A flat array of the data type ``name`` as bytes; two elements of a 4-bit type share one."""
    if data_type(name).bits >= 8:
        return np.ascontiguousarray(array).view(np.uint8)
    found = np.zeros((array.size + 1) // 2, np.uint8)
    write_tensor(found, TensorDesc(name, (array.size,)), array)
    return found


def _sequence(data: Mapping[str, Any], entry: DataType, where: str) -> Array:
    start, delta = (numbers([data[key]], entry.name, f"{where}.{key}", False) for key in ("valueStart", "valueDelta"))
    count = int(data["valueCount"])
    if entry.is_float or entry.bits >= 8:
        # Accumulated in the type itself, as DxDispatch does, and not start + i * delta; integers wrap around.
        with np.errstate(all="ignore"):
            return np.add.accumulate(np.concatenate([start, np.repeat(delta, count - 1)]), dtype=start.dtype)
    first, step = (np.uint8(int(value[0]) & 15) for value in (start, delta))
    nibbles = np.add.accumulate(np.concatenate([[first], np.repeat(step, count - 1)]), dtype=np.uint8).view(np.int8) & np.int8(15)
    return ((nibbles ^ 8) - 8 if entry.kind == "int" else nibbles).astype(start.dtype)


def _typed_bytes(data: Sequence[Any], where: str) -> Bytes:
    parts = [np.zeros(0, np.uint8)]
    for index, element in enumerate(data):
        place = f"{where}[{index}]"
        if not isinstance(element, Mapping):
            raise ModelError(
                f"{place}: without initialValuesDataType, a value is an object with type and value, not {short(element)}"
            )
        check(element, "typed", place)
        name = data_type_named(element["type"], f"{place}.type")
        if name == UNKNOWN or data_type(name).bits < 8:
            raise ModelError(f"{place}.type must be a data type of whole bytes, not {element['type']}")
        parts.append(pack(numbers([element["value"]], name, f"{place}.value", False), name))
    return np.concatenate(parts)


def data_type_named(text: str, where: str) -> str:
    """The short name of a data type that may have its prefix. Raises ModelError."""
    short = text.removeprefix("DML_TENSOR_DATA_TYPE_")
    if short != UNKNOWN and short not in abi().data_types:
        raise ModelError(f"{where}: unknown data type {text!r}; known: {', '.join((UNKNOWN, *abi().data_types))}")
    return short


def _from_file(source: str, given: str, folder: Path, where: str, most: int, outside: bool) -> tuple[str, Bytes]:
    path = Path(PureWindowsPath(source).as_posix())  # a model from Windows may have backslashes
    if path.suffix.lower() in IMAGES:
        raise ModelError(f"{where}: images are not supported here")
    try:
        data = read_bytes(_allowed_path(folder, path, outside), most)
    except InputError as error:
        raise ModelError(f"{where}: {source} {error} (looked in {folder})") from None
    if path.suffix.lower() == ".npy":
        return _array_bytes(npy_array(data, f"{where}: {source}"), given, where)
    if given == UNKNOWN:
        raise ModelError(f"{where}: raw bytes have no type; set initialValuesDataType to the type of {source}")
    return given, np.frombuffer(data, np.uint8)


def _allowed_path(folder: Path, path: Path, outside: bool) -> Path:
    """The file of a model: below its folder, or anywhere if ``outside`` allows it. Raises InputError."""
    try:
        file = (folder / path).resolve()
        if outside:
            return file if file.exists() else path
        if file.is_relative_to(folder.resolve()):
            return file
    except (OSError, ValueError, RuntimeError) as error:  # a NUL or a lone surrogate in the name, or a loop of links
        raise InputError(f"cannot be read: {error}") from None
    raise InputError("is not below the model's folder; allow it with --read-outside if you trust the model")


def npy_array(data: bytes, what: str) -> Array:
    """The array of a .npy file. Its header is checked first: of a shape and a type that fill exactly what follows it. Raises ModelError."""
    stream = BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if read_header is None:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not supported")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shape, fortran, dtype = read_header(stream)
        if dtype.hasobject or any(size < 0 for size in shape) or prod(shape) * dtype.itemsize != len(data) - stream.tell():
            raise ValueError(
                f"its header says {shorten_text(str(shape))} of {shorten_text(str(dtype))}, and {len(data) - stream.tell()} bytes follow"
            )
        array: Array = np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape, order="F" if fortran else "C")
    except Exception as error:  # NumPy evaluates the header as a Python literal and repairs old ones: that raises anything
        raise ModelError(f"{what} is not a .npy file: {shorten_text(str(error))}") from None
    return array


def _array_bytes(array: Array, given: str, where: str) -> tuple[str, Bytes]:
    native = array.astype(np.uint8 if array.dtype == np.bool_ else array.dtype.newbyteorder("="))
    found = next((n for n, entry in abi().data_types.items() if entry.bits >= 8 and numpy_dtype(n) == native.dtype), None)
    if found is None:
        raise ModelError(f"{where}: an array of {array.dtype} cannot be a tensor")
    if given not in (UNKNOWN, found):
        raise ModelError(f"{where}: the file holds {found}, but initialValuesDataType is {given}")
    return found, np.ascontiguousarray(native).reshape(-1).view(np.uint8)
