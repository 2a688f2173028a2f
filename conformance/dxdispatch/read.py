"""A model in DxDispatch's JSON form: resources, dispatchables, commands. Read and checked completely before anything runs.

Everything that is not DirectML (HLSL, ONNX, serialized graphs, images) is rejected. Execution and compilation flags are checked but have no
effect, as backends have no such options; nor has ``elementCount`` in a binding: like DxDispatch, it binds the rest of the resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from dmlcts.conformance.backends.backend import Bytes
from dmlcts.conformance.dxdispatch.model_json import ModelError, UnsupportedOperator, check, parse
from dmlcts.conformance.dxdispatch.values import IMAGES, LARGEST, data_type_named, initial_values, too_large
from dmlcts.conformance.execution.memory import room
from dmlcts.spec.model.abi import abi, data_type
from dmlcts.spec.model.desc import UNKNOWN, OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load
from dmlcts.spec.untrusted.desc_json import read_desc
from dmlcts.spec.untrusted.files import shorten_text


@dataclass(frozen=True, slots=True)
class Resource:
    """A buffer: its bytes at the start, and of what type they are shown; ``shown`` bytes of them, as the rest is padding."""

    data_type: str
    content: Bytes
    shown: int

    @property
    def count(self) -> int:
        """The number of elements shown."""
        return self.shown * 8 // self.bits

    @property
    def bits(self) -> int:
        """The width of an element; a resource of several types is shown as bytes."""
        return 8 if self.data_type == UNKNOWN else data_type(self.data_type).bits


@dataclass(frozen=True, slots=True)
class Part:
    """What a tensor is bound to: a resource from ``offset`` bytes on."""

    resource: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Dispatchable:
    """An operator. ``owned`` has the tensors that are bound when it is initialized (DML_TENSOR_FLAG_OWNED_BY_DML)."""

    operator: Operator
    desc: OperatorDesc
    owned: Mapping[str, Part] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DispatchCommand:
    """Executes an operator; ``bindings`` has every tensor of its desc that is not owned, by name (``InputTensors[0]``)."""

    dispatchable: str
    bindings: Mapping[str, Part]


@dataclass(frozen=True, slots=True)
class PrintCommand:
    """Prints a resource, each element with its bits if ``verbose``."""

    resource: str
    verbose: bool = False


@dataclass(frozen=True, slots=True)
class WriteCommand:
    """Writes a resource to a file: an array (.npy, of ``dimensions``, or flat if there are none), or raw bytes."""

    resource: str
    target: PurePosixPath
    dimensions: tuple[int, ...] = ()


Command = DispatchCommand | PrintCommand | WriteCommand


@dataclass(frozen=True, slots=True)
class RunnableModel:
    """A model that can be run: every name in it is known and every resource is large enough."""

    file: Path
    resources: Mapping[str, Resource]
    dispatchables: Mapping[str, Dispatchable]
    commands: tuple[Command, ...]


def read_model(file: Path, outside: bool = False) -> RunnableModel:
    """The model in a JSON file. It may name files below its own folder, others if ``outside`` allows it.

    Raises:
        ModelError: it cannot be read, is not a model, or cannot be run here; the message says where.
        UnsupportedOperator: it uses an operator that has no spec here.
    """
    try:
        data = parse(file)
        check(data, "model", "")
        _check_names(data["resources"], "resources")
        _check_names(data["dispatchables"], "dispatchables")
        resources: dict[str, Resource] = {}
        most = max(LARGEST, room())
        for name, entry in data["resources"].items():
            left = most - sum(resource.content.size for resource in resources.values())
            resources[name] = _resource(entry, file.parent, f"resources.{name}", outside, left)
        known = {name: _dispatchable(entry, resources, f"dispatchables.{name}") for name, entry in data["dispatchables"].items()}
        commands = [_command(entry, resources, known, f"commands[{index}]") for index, entry in enumerate(data["commands"])]
    except UnsupportedOperator:
        raise
    except ModelError as error:
        raise ModelError(f"{file}: {error}") from None
    return RunnableModel(file, resources, known, tuple(commands))


# Resources


def _check_names(names: Iterable[str], where: str) -> None:
    for name in names:
        if not name.isprintable():
            raise ModelError(f"{where}: a name holds a character that cannot be printed: {shorten_text(ascii(name))}")


def _resource(data: Mapping[str, Any], folder: Path, where: str, outside: bool, left: int) -> Resource:
    check(data, "resource", where)
    given = data_type_named(data.get("initialValuesDataType", UNKNOWN), f"{where}.initialValuesDataType")
    try:
        found, values = initial_values(data["initialValues"], given, folder, f"{where}.initialValues", outside, left)
    except MemoryError:
        raise _beyond_memory(where) from None
    if not values.size:
        raise ModelError(f"{where}.initialValues is empty")
    offset = int(data.get("initialValuesOffsetInBytes", 0))
    size = int(data.get("sizeInBytes", offset + values.size))
    if offset + values.size > size:
        raise ModelError(f"{where}.sizeInBytes is {size}, but the initial values end at byte {offset + values.size}")
    if size > left:
        raise ModelError(f"{where} is too large: {too_large(size, left)}")
    try:
        content = np.zeros(-(-size // 4) * 4, np.uint8)
    except (MemoryError, OverflowError, ValueError):  # NumPy has a limit of its own
        raise _beyond_memory(where) from None
    content[offset : offset + values.size] = values
    return Resource(found, content, size)


def _beyond_memory(where: str) -> ModelError:
    return ModelError(f"{where} is too large for the memory of this machine")


# Dispatchables

_ELSEWHERE = {"hlsl": "HLSL shaders", "onnx": "ONNX models", "dmlserializedgraph": "serialized graphs"}
_BESIDE_DESC = ("dmlCompileType", "executionFlags", "bindings")


def _dispatchable(data: Mapping[str, Any], resources: Mapping[str, Resource], where: str) -> Dispatchable:
    check(data, "dispatchable", where)
    kind = str(data["type"])
    if kind.lower() in _ELSEWHERE:
        raise ModelError(f"{where}: {_ELSEWHERE[kind.lower()]} are not supported here, only DirectML operators")
    name = kind.removeprefix("DML_OPERATOR_")
    if name in abi().operator_types:
        try:
            load(name)
        except KeyError:
            raise UnsupportedOperator(where, name) from None
    _check_flags(data.get("executionFlags", []), f"{where}.executionFlags")
    try:
        desc = read_desc({key: value for key, value in data.items() if key not in _BESIDE_DESC}, load, where)
    except (ValueError, TypeError) as error:
        raise ModelError(f"{error}" if str(error).startswith(where) else f"{where}: {error}") from None
    operator = load(desc.type)
    for entry in operator.fields:
        if desc.fields.get(entry.name) is None and not entry.optional:
            raise ModelError(f"{where}.{entry.name} is missing")
    owned = _bindings(data.get("bindings", {}), Dispatchable(operator, desc), resources, f"{where}.bindings")
    for name in owned:
        if operator.field(name.partition("[")[0]).kind != "input":
            raise ModelError(f"{where}.bindings.{name}: only an input can be bound when the operator is initialized")
    return Dispatchable(operator, desc, owned)


def _check_flags(flags: str | Sequence[str], where: str) -> None:
    for flag in [flags] if isinstance(flags, str) else flags:
        if flag.removeprefix("DML_EXECUTION_FLAG_") not in abi().execution_flags:
            raise ModelError(f"{where}: unknown flag {flag!r}; known: {', '.join(abi().execution_flags)}")


# Commands


def _command(data: Mapping[str, Any], resources: Mapping[str, Resource], known: Mapping[str, Dispatchable], where: str) -> Command:
    kind = str(data.get("type", "")).lower()  # DxDispatch ignores case here
    if kind not in ("dispatch", "print", "writefile"):
        raise ModelError(f"{where}.type must be dispatch, print or writeFile, not {data.get('type')!r}")
    check(data, kind, where)
    if kind == "dispatch":
        name = data["dispatchable"]
        if name not in known:
            raise ModelError(f"{where}.dispatchable: no dispatchable {name!r}; there are {', '.join(known) or 'none'}")
        bindings = _bindings(data["bindings"], known[name], resources, f"{where}.bindings")
        for tensor, _ in known[name].desc.tensors():
            if tensor not in bindings and tensor not in known[name].owned:
                raise ModelError(f"{where}.bindings.{tensor} is missing: {name!r} has this tensor")
        return DispatchCommand(name, bindings)
    resource = _known_resource(data["resource"], resources, f"{where}.resource")
    if kind == "print":
        return PrintCommand(data["resource"], data.get("verbose", False))
    dimensions = tuple(map(int, data.get("dimensions", ())))
    if dimensions and prod(dimensions) > resource.count:
        raise ModelError(f"{where}.dimensions are {prod(dimensions)} elements, but {data['resource']!r} has {resource.count}")
    return WriteCommand(data["resource"], _target(data["targetPath"], f"{where}.targetPath"), dimensions)


def _known_resource(name: str, resources: Mapping[str, Resource], where: str) -> Resource:
    if name not in resources:
        raise ModelError(f"{where}: no resource {name!r}; there are {', '.join(resources) or 'none'}")
    return resources[name]


def _target(text: str, where: str) -> PurePosixPath:
    path = PureWindowsPath(text)
    if path.drive or path.root or ".." in path.parts or not path.name:
        raise ModelError(f"{where}: {text!r} must be a path below the output folder")
    if path.suffix.lower() in IMAGES:
        raise ModelError(f"{where}: images are not supported here")
    return PurePosixPath(path.as_posix())


def _bindings(data: Mapping[str, Any], bound: Dispatchable, resources: Mapping[str, Resource], where: str) -> dict[str, Part]:
    """What each tensor is bound to, by the tensor's name in the desc."""
    found: dict[str, Part] = {}
    tensors = dict(bound.desc.tensors())
    fields = [entry.name for entry in bound.operator.fields if entry.is_tensor]
    for point, given in data.items():
        if point not in fields:
            raise ModelError(f"{where}.{point}: {bound.desc.type} has no such tensor; it has {', '.join(fields)}")
        array = isinstance(bound.desc.fields.get(point), tuple)
        sources = given if isinstance(given, list) else [given]
        names = [name for name in tensors if name == point or (array and name.partition("[")[0] == point)]
        if len(names) != len(sources):
            raise ModelError(f"{where}.{point}: the desc has {len(names)} tensors there, but {len(sources)} resources are bound")
        for index, (name, source) in enumerate(zip(names, sources, strict=True)):
            place = f"{where}.{point}[{index}]" if isinstance(given, list) else f"{where}.{point}"
            found[name] = _part(source, resources, place)
            _check_size(name, tensors[name], found[name], resources, place)
    return found


def _part(data: Any, resources: Mapping[str, Resource], where: str) -> Part:
    if isinstance(data, str):
        _known_resource(data, resources, where)
        return Part(data)
    check(data, "binding", where)
    resource = _known_resource(data["name"], resources, f"{where}.name")
    size = int(data.get("elementSizeInBytes", 0)) * 8 or (0 if resource.data_type == UNKNOWN else resource.bits)
    bits = int(data.get("elementOffset", 0)) * size
    if bits % 8:
        raise ModelError(f"{where}.elementOffset: element {data['elementOffset']} of {resource.data_type} begins within a byte")
    return Part(data["name"], bits // 8)


def _check_size(name: str, tensor: TensorDesc, part: Part, resources: Mapping[str, Resource], where: str) -> None:
    """Checks that the resource is large enough. The size of an invalid tensor is unknown; the backend will reject it."""
    try:
        needed = tensor.bytes
    except (KeyError, ValueError):
        return
    size = resources[part.resource].content.size
    if part.offset + needed > size:
        beyond = f" from byte {part.offset} on" if part.offset else ""
        raise ModelError(f"{where}: {name} needs {needed} bytes{beyond}, but the resource {part.resource!r} has {size}")
