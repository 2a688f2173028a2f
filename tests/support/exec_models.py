"""Models in DxDispatch's form for tests, and what runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from dmlcts.conformance.backends.array_backend import ArrayBackend
from dmlcts.conformance.backends.backend import Backend, BackendInfo, Dispatch
from dmlcts.conformance.commands.cli import dmlcts
from dmlcts.conformance.dxdispatch.read import read_model
from dmlcts.conformance.dxdispatch.run import State


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(dmlcts, ["exec", *map(str, arguments)])


def printed(result: Result) -> list[str]:
    assert result.exit_code == 0, (result.output, result.exception)
    return str(result.stdout).splitlines()


def bit_or(resources: Mapping[str, Any], sizes: list[int], **changes: Any) -> dict[str, Any]:
    """A model of one BIT_OR over the resources a, b and out."""
    tensor = {"DataType": "UINT32", "Sizes": sizes}
    desc = {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}
    bindings = {"ATensor": "a", "BTensor": "b", "OutputTensor": "out"}
    model = {
        "resources": {"a": uint32([1, 2, 4]), "b": uint32([16, 16, 16]), "out": uint32([9, 9, 9]), **resources},
        "dispatchables": {"or": {"type": "ELEMENT_WISE_BIT_OR", "desc": desc}},
        "commands": [{"type": "dispatch", "dispatchable": "or", "bindings": bindings}],
    }
    return {**model, **changes}


def uint32(values: Any, **more: Any) -> dict[str, Any]:
    return {"initialValuesDataType": "UINT32", "initialValues": values, **more}


Write = Callable[[Any], Path]


class Recorder(ArrayBackend):
    """Keeps each dispatch as it came, and writes a mark into its outputs."""

    info = BackendInfo("recorder")

    def __init__(self) -> None:
        self.seen: list[tuple[Dispatch, list[list[int]]]] = []

    def run(self, dispatch: Dispatch) -> None:
        self.seen.append((dispatch, [resource.tolist() for resource in dispatch.resources]))
        for name in dispatch.outputs:
            binding = dispatch.bindings[name]
            dispatch.resources[binding.resource][binding.offset] = 0xEE


def run_on(backend: Backend, file: Path, folder: Path) -> State:
    state = State(read_model(file))
    assert list(state.run(backend, backend.describe(), folder)) == []
    return state
