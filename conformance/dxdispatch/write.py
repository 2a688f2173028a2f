"""A case as a model in DxDispatch's JSON form, for both dxdispatch.exe and ``dmlcts exec``.

Inputs are laid out by their strides, with the same bytes between elements as in execution. They are in the model if they are few and
packed, otherwise in files of raw bytes beside it, or as bytes in a model that has no folder. What DxDispatch does not support is expressed in other terms: 4-bit tensors are resources
of bytes with an explicit total size, and a scalar that is not finite is a member of its union. Each tensor has a resource of its own, from
the first byte on: the description says so where the case places them otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Bytes
from dmlcts.conformance.dxdispatch.model_json import dumps
from dmlcts.conformance.dxdispatch.values import numbers, pack
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.generator.case.case import OFFSETS, REFERENCE, VALUES, Case
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.untrusted.desc_json import write_desc

INLINE = 64
"""The most values of an input that are written into the model itself."""


def write_model(case: Case, arrays: Mapping[str, NDArray[Any]], folder: Path) -> Path:
    """Writes ``model.json`` into an existing folder, and the inputs that are not in it. Returns its path.

    ``arrays`` are the inputs by tensor name, packed, each of its tensor's sizes.

    Raises:
        ValueError: the case does not expect values. OSError: the folder cannot be written.
    """
    file = folder / "model.json"
    file.write_text(model_text(case, arrays, folder), encoding="utf-8", newline="\n")
    return file


def model_text(case: Case, arrays: Mapping[str, NDArray[Any]], folder: Path | None = None) -> str:
    """The model as JSON. Inputs that are not in it are written to ``folder``; without one, everything is in the model.

    Raises as ``write_model`` does.
    """
    if case.expect not in (REFERENCE, VALUES):
        raise ValueError(f"{case.id} expects {case.expect}, which a model cannot express")
    operator = case.operator
    dispatch = lay_out(case, arrays, {}).dispatch
    tensors = dict(case.desc.tensors())
    holder = {name: case.in_place.get(name, name) for name in tensors}  # the tensor that owns the resource
    resources = {}
    for name in dict.fromkeys(holder.values()):
        binding = dispatch.bindings[name]
        content = dispatch.resources[binding.resource][binding.offset : binding.offset + binding.size]
        fill = name in dispatch.outputs
        resources[name] = _constant(content, tensors[name]) if fill else _values(content, tensors[name], name, folder)
    owned = {name for name, tensor in tensors.items() if tensor.flags & abi().tensor_flags["OWNED_BY_DML"]}
    dispatchable = {
        "type": f"DML_OPERATOR_{operator.name}",
        "desc": desc_fields(case.desc, operator),
        "bindings": _bindings({name: holder[name] for name in tensors if name in owned}),
    }
    elsewhere = "offsets and shared resources are left out" if case.offset != OFFSETS[0] or case.resource else ""
    model = {
        "description": ": ".join(part for part in (case.id, case.note, elsewhere) if part),
        "resources": resources,
        "dispatchables": {"operator": {key: value for key, value in dispatchable.items() if value}},
        "commands": [
            {
                "type": "dispatch",
                "dispatchable": "operator",
                "bindings": _bindings({name: holder[name] for name in tensors if name not in owned}),
            },
            *({"type": "print", "resource": holder[name]} for name in dispatch.outputs),
        ],
    }
    return dumps(model) + "\n"


def _constant(content: Bytes, tensor: TensorDesc) -> dict[str, Any]:
    """A resource filled with the byte that outputs have before the run, as one value of the tensor's type."""
    name, dtype = _shown_as(tensor)
    value = np.repeat(content[:1], dtype.itemsize).view(dtype)[0].item()
    last = sum((size - 1) * stride for size, stride in zip(tensor.sizes, tensor.effective_strides, strict=True))
    padding = content.size - (last + 1) * dtype.itemsize
    count = last + 1 if 0 <= padding < 4 else -(-content.size // dtype.itemsize)  # without the bytes added by rounding up
    return {"initialValuesDataType": name, "initialValues": {"valueCount": count, "value": value}}


def _values(content: Bytes, tensor: TensorDesc, name: str, folder: Path | None) -> dict[str, Any]:
    """A resource that holds these bytes."""
    type_name, dtype = _shown_as(tensor)
    size = tensor.count * dtype.itemsize
    if tensor.type.bits >= 8 and tensor.strides is None and tensor.count <= INLINE and content.size - size < 4:
        values = [value if isfinite(value) else str(value) for value in content[:size].view(dtype).tolist()]
        # JSON cannot express every NaN; such values are written as bytes.
        if np.array_equal(pack(numbers(values, type_name, name), type_name), content[:size]):
            return {"initialValuesDataType": type_name, "initialValues": values}
    if folder is None:
        return {"initialValuesDataType": "UINT8", "initialValues": content.tolist()}
    file = folder / f"{name}.bin"
    file.write_bytes(content.tobytes())
    return {"initialValuesDataType": type_name, "initialValues": {"sourcePath": file.name}}


def _shown_as(tensor: TensorDesc) -> tuple[str, np.dtype[Any]]:
    """The data type of a tensor's resource. DxDispatch has no 4-bit types."""
    name = tensor.data_type if tensor.type.bits >= 8 else "UINT8"
    return name, numpy_dtype(name)


def _bindings(bound: Mapping[str, str]) -> dict[str, Any]:
    """Resources by tensor field; those of an array of tensors in its order."""
    found: dict[str, Any] = {}
    for name, resource in bound.items():
        field, bracket, _ = name.partition("[")
        if bracket:
            found.setdefault(field, []).append(resource)
        else:
            found[field] = resource
    return found


def desc_fields(desc: OperatorDesc, operator: Operator) -> dict[str, Any]:
    """The fields of an operator desc as DxDispatch reads them."""
    sized = {name: _with_total_size(value) for name, value in desc.fields.items()}
    written = write_desc(OperatorDesc(desc.type, sized))
    fields: dict[str, Any] = written["Desc"] if "Desc" in written else {k: v for k, v in written.items() if k != "Type"}
    for entry in operator.fields:
        value = desc.fields.get(entry.name)
        if isinstance(value, bool):
            fields[entry.name] = int(value)
        if entry.type == "SCALAR_UNION" and isinstance(value, float) and not isfinite(value):
            fields[entry.name] = _member(value, str(desc.fields.get(entry.data_type or "")))
    return fields


def _with_total_size(value: object) -> object:
    """Tensors of 4-bit types with their total size, which DxDispatch cannot compute."""
    if isinstance(value, tuple) and all(isinstance(element, TensorDesc) for element in value):
        return tuple(_with_total_size(element) for element in value)
    if isinstance(value, TensorDesc) and value.type.bits < 8:
        return replace(value, total_size=value.bytes)
    return value


def _member(value: float, data_type: str) -> dict[str, Any]:
    if data_type == "FLOAT16":
        return {"UInt16": int(np.float16(value).view(np.uint16))}
    return {data_type.capitalize(): str(value)}
