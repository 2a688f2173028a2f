"""Runs a model on a backend: its commands in order. Resources keep their content from one command to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Backend, BackendInfo, BufferBinding, Bytes, Dispatch
from dmlcts.conformance.backends.buffers import read_tensor
from dmlcts.conformance.dxdispatch.model_json import ModelError
from dmlcts.conformance.dxdispatch.read import DispatchCommand, Part, PrintCommand, RunnableModel, WriteCommand
from dmlcts.conformance.execution.domains import undefined_inputs
from dmlcts.conformance.execution.outcome import Outcome, attempt
from dmlcts.generator.case.places import output_names
from dmlcts.reports.record.files import portable
from dmlcts.reports.record.record import UNSUPPORTED
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.desc import UNKNOWN, TensorDesc
from dmlcts.spec.model.dtypes import bits_dtype
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.writing.files import writing_to

Array = NDArray[Any]

SHORT = 16
"""The number of values shown of a resource."""


@dataclass(frozen=True, slots=True)
class ResourceValues:
    """The values of a resource at one moment. ``shaped`` says that the array has a tensor's sizes."""

    resource: str
    data_type: str
    array: Array
    shaped: bool = False
    verbose: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a command wrote."""

    resource: str
    file: Path


@dataclass(frozen=True, slots=True)
class StoppedDispatch:
    """A dispatch that did not complete; no later command is run. ``where`` is the command."""

    where: str
    outcome: Outcome


Step = ResourceValues | Written | StoppedDispatch


@dataclass(slots=True)
class State:
    """A running model: the content of each resource, and the tensor as which it was last bound as an output. ``notes`` say which inputs define no result."""

    model: RunnableModel
    contents: dict[str, Bytes] = field(init=False)
    owned: dict[tuple[str, str], Bytes] = field(init=False)
    outputs: dict[str, tuple[TensorDesc, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.contents = {name: resource.content.copy() for name, resource in self.model.resources.items()}
        # An operator copies its owned tensors at initialization, before any command.
        self.owned = {
            (name, tensor): self.contents[part.resource].copy()
            for name, dispatchable in self.model.dispatchables.items()
            for tensor, part in dispatchable.owned.items()
        }

    def run(self, backend: Backend, info: BackendInfo, folder: Path, timeout: float | None = None) -> Iterator[Step]:
        """Runs every command, and yields the results of those that print, write or fail. ``folder`` is for files."""
        for index, command in enumerate(self.model.commands):
            if isinstance(command, PrintCommand):
                yield self.flat(command.resource, verbose=command.verbose)
            elif isinstance(command, WriteCommand):
                yield Written(command.resource, self.write(command, folder))
            else:
                outcome = self.dispatch(command, backend, info, timeout)
                if outcome is not None:
                    yield StoppedDispatch(f"commands[{index}], dispatch {command.dispatchable!r}", outcome)
                    return

    def dispatch(self, command: DispatchCommand, backend: Backend, info: BackendInfo, timeout: float | None) -> Outcome | None:
        """Executes one dispatch. Returns the outcome if it did not complete, None if it did."""
        dispatchable = self.model.dispatchables[command.dispatchable]
        desc = dispatchable.desc
        missing = sorted({tensor.data_type for _, tensor in desc.tensors()} - {*info.data_types, UNKNOWN})
        if info.data_types and missing:
            return Outcome(UNSUPPORTED, f"{info.name} does not claim {', '.join(missing)}")
        sources = self.sources(command)
        resources: list[Bytes] = []
        bindings: dict[str, BufferBinding] = {}
        for name, _ in desc.tensors():
            content, part = sources[name]
            index = next((i for i, known in enumerate(resources) if known is content), len(resources))
            if index == len(resources):
                resources.append(content)
            bindings[name] = BufferBinding(index, part.offset, content.size - part.offset)
        outputs = output_names(dispatchable.operator, desc)
        if not violations(dispatchable.operator, desc):
            self.notes += undefined_inputs(dispatchable.operator, desc, self.inputs(command))
        failure = attempt(backend, Dispatch(desc, resources, bindings, outputs, timeout))
        if failure is None:
            for name in outputs:
                part = command.bindings[name]
                self.outputs[part.resource] = desc.tensor(name), part.offset
        return failure

    def sources(self, command: DispatchCommand) -> dict[str, tuple[Bytes, Part]]:
        """Where each tensor of a dispatch lies, by name: the content of its resource, and its part of that."""
        sources = {name: (self.contents[part.resource], part) for name, part in command.bindings.items()}
        owned = self.model.dispatchables[command.dispatchable].owned
        return sources | {name: (self.owned[command.dispatchable, name], part) for name, part in owned.items()}

    def inputs(self, command: DispatchCommand) -> dict[str, Array]:
        """The elements of a dispatch's inputs now, and of the outputs that the operator reads, packed. The desc is valid."""
        operator, desc = (
            self.model.dispatchables[command.dispatchable].operator,
            self.model.dispatchables[command.dispatchable].desc,
        )
        written = set(output_names(operator, desc)) - operator.read_outputs(desc.fields)
        sources = self.sources(command)
        return {
            name: read_tensor(sources[name][0], tensor, sources[name][1].offset).copy()
            for name, tensor in desc.tensors()
            if name not in written
        }

    def flat(self, name: str, verbose: bool = False) -> ResourceValues:
        """A resource as a flat array of the type that it was initialized with."""
        resource = self.model.resources[name]
        shown = "UINT8" if resource.data_type == UNKNOWN else resource.data_type
        return ResourceValues(name, shown, read_tensor(self.contents[name], TensorDesc(shown, (resource.count,))), verbose=verbose)

    def tensor(self, name: str) -> ResourceValues:
        """A resource that was bound as an output, as that tensor; flat if the backend accepted an invalid desc."""
        desc, offset = self.outputs[name]
        try:
            return ResourceValues(name, desc.data_type, read_tensor(self.contents[name], desc, offset), shaped=True)
        except (KeyError, TypeError, ValueError):
            return self.flat(name)

    def write(self, command: WriteCommand, folder: Path) -> Path:
        """Executes a writeFile command. Raises ModelError if a symbolic link leads out of the folder, OSError if it cannot be written."""
        file = folder / command.target
        if not file.resolve().is_relative_to(folder.resolve()):
            raise ModelError(f"{file} is not written: a symbolic link leads out of {folder}")
        with writing_to(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix.lower() == ".npy":
                values = self.flat(command.resource)
                array = savable(values)
                if command.dimensions:
                    array = array[: int(np.prod(command.dimensions))].reshape(command.dimensions)
                with file.open("wb") as stream:
                    np.save(stream, array)
            else:
                file.write_bytes(self.contents[command.resource].tobytes())
        return file


def savable(values: ResourceValues) -> Array:
    """The array in a type that a .npy file can have: 4-bit integers take a byte each."""
    entry = data_type(values.data_type)
    if entry.bits >= 8:
        return values.array
    return values.array.astype(np.int8 if entry.kind == "int" else np.uint8)


def save(values: ResourceValues, folder: Path) -> Path:
    """Writes a resource to a .npy file of its name, in which what a file name cannot have is percent-encoded. Raises OSError."""
    file = array_file(values.resource, folder)
    with writing_to(file):
        np.save(file, savable(values))
    return file


def array_file(resource: str, folder: Path) -> Path:
    """The .npy file of a resource in a folder."""
    return folder / portable(f"{quote(resource, safe=' ()[]{},;=+@!#$&')}.npy")


def text(values: ResourceValues) -> str:
    """A resource on one line: ``Resource 'out': 1, 2, 3, ... (UINT32)``; if verbose, one line for each element, with its bits."""
    flat = values.array.ravel()
    printable = flat.astype(np.float32) if flat.dtype == np.float16 else flat  # as a half, 65504 is written 6.55e+04
    sizes = f" {list(values.array.shape)}" if values.shaped else ""
    if values.verbose:
        entry = data_type(values.data_type)
        mask, digits = (1 << entry.bits) - 1, -(-entry.bits // 4)
        bits = flat.view(bits_dtype(values.data_type))
        width = len(str(max(flat.size - 1, 0)))
        lines = [f"[{i:{width}}] {v} (0x{int(b) & mask:0{digits}X})" for i, (v, b) in enumerate(zip(printable, bits, strict=True))]
        return "\n".join([f"Resource '{values.resource}' ({values.data_type}{sizes}):", *lines])
    shown = ", ".join(str(value) for value in printable[:SHORT])
    return f"Resource '{values.resource}': {shown}{', ...' if flat.size > SHORT else ''} ({values.data_type}{sizes})"


def to_json(values: ResourceValues) -> Mapping[str, Any]:
    """A resource as JSON; NaN and infinities are strings, as in a model."""
    flat = values.array.ravel()
    if data_type(values.data_type).is_float:
        numbers = [float(v) if np.isfinite(v) else str(float(v)) for v in flat]
    else:
        numbers = [int(v) for v in flat]
    sizes = {"sizes": list(values.array.shape)} if values.shaped else {}
    return {"dataType": values.data_type, **sizes, "values": numbers}
