"""Given outputs of a model's dispatches, judged as a run judges a backend's: by the right answers for the inputs, within the operator's tolerance.

Each output is the array of a file with its resource's name. A later dispatch gets the given outputs of earlier ones as its inputs, so that an error is
found where it was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.backends.buffers import write_tensor
from dmlcts.conformance.dxdispatch.model_json import ModelError
from dmlcts.conformance.dxdispatch.read import DispatchCommand, RunnableModel
from dmlcts.conformance.dxdispatch.run import State, array_file
from dmlcts.conformance.dxdispatch.values import npy_array
from dmlcts.conformance.execution.answers import computed_answers
from dmlcts.conformance.execution.domains import undefined_inputs
from dmlcts.conformance.execution.execute import compare_outputs
from dmlcts.conformance.execution.judge import CARRIERS, Verdict
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.generator.case.case import Case, Data
from dmlcts.generator.case.places import output_names
from dmlcts.reference.registry import reference_of
from dmlcts.reports.record.record import PASS
from dmlcts.spec.model.abi import newest_level
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.untrusted.files import InputError, read_bytes

Array = NDArray[Any]

_HEADER = 1 << 16
"""The most bytes before the elements in a .npy file."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A dispatch whose outputs were judged. ``where`` is its command; ``files`` and ``verdicts`` are by output.

    ``accepted`` are the bases of all answers that are accepted: several where they are contested. ``matched`` is the basis that all outputs
    match, and empty if none does. ``notes`` say which inputs define no result.
    """

    where: str
    operator: str
    outcome: Outcome
    files: Mapping[str, Path]
    verdicts: Mapping[str, Verdict]
    accepted: tuple[str, ...]
    matched: str
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all outputs are right."""
        return self.outcome.status == PASS


@dataclass(frozen=True, slots=True)
class Rules:
    """How outputs are judged: what the implementation declares, the ``basis`` of bounds, and further ``checks`` (``Case.checks``)."""

    info: BackendInfo
    basis: str = DOCUMENTED
    checks: tuple[str, ...] = ()


def judged_model(model: RunnableModel, folder: Path, rules: Rules) -> Iterator[Judged]:
    """Judges each dispatch of a model, whose outputs are .npy files in ``folder``.

    Raises:
        ModelError: nothing to judge, a desc that breaks a rule, an output that two dispatches write, or a file that is missing or not the output's.
    """
    dispatches = [(index, c) for index, c in enumerate(model.commands) if isinstance(c, DispatchCommand)]
    if not dispatches:
        raise ModelError(f"{model.file}: no command dispatches an operator, so there is no output to judge")
    _check_written_once(model, [command for _, command in dispatches])
    state = State(model)
    for index, command in dispatches:
        yield _judge_dispatch(state, command, f"commands[{index}]", folder, rules)


def _check_written_once(model: RunnableModel, commands: Sequence[DispatchCommand]) -> None:
    """A file has one content: what a resource held in between is not there."""
    written = [command.bindings[name].resource for command in commands for name in _outputs(model, command)]
    for resource in written:
        if written.count(resource) > 1:
            raise ModelError(
                f"{model.file}: the resource {resource!r} is an output more than once; give each output its own resource"
            )


def _outputs(model: RunnableModel, command: DispatchCommand) -> tuple[str, ...]:
    dispatchable = model.dispatchables[command.dispatchable]
    return output_names(dispatchable.operator, dispatchable.desc)


def _judge_dispatch(state: State, command: DispatchCommand, where: str, folder: Path, rules: Rules) -> Judged:
    dispatchable, names = state.model.dispatchables[command.dispatchable], _outputs(state.model, command)
    operator, desc = dispatchable.operator, dispatchable.desc
    if broken := violations(operator, desc):
        raise ModelError(f"{state.model.file}: {where}: the desc of {command.dispatchable!r} is invalid: {broken[0].message}")
    if reference_of(operator.name) is None:
        raise ModelError(f"{state.model.file}: {where}: {operator.name} has no reference function to judge by")
    files = {name: array_file(command.bindings[name].resource, folder) for name in names}
    outputs = {name: read_output(file, name, desc.tensor(name)) for name, file in files.items()}
    inputs = state.inputs(command)
    case = Case(
        id=where,
        kind="model",
        level="",
        desc=desc,
        operator=operator,
        feature_level=str(newest_level()),
        data_type="",
        basis=rules.basis,
        data={name: Data(recipe="given", alike=_alike(array)) for name, array in inputs.items()},
        checks=rules.checks,
    )
    answers = computed_answers(case, inputs)
    outcome = compare_outputs(case, inputs, outputs, answers, rules.info)
    for name in names:
        content, part = state.sources(command)[name]
        write_tensor(content, desc.tensor(name), outputs[name], part.offset)
    matched = (outcome.matched_answer or next(iter(answers))) if outcome.status == PASS else ""
    verdicts = dict(zip(next(iter(answers.values())), outcome.verdicts, strict=True))
    notes = tuple(undefined_inputs(operator, desc, inputs))
    return Judged(
        f"{where}, dispatch {command.dispatchable!r}", operator.name, outcome, files, verdicts, tuple(answers), matched, notes
    )


def _alike(array: Array) -> bool:
    """Whether all elements have one value: then the terms of its sums do not vary."""
    return array.size > 1 and bool((array == array.flat[0]).all())


def read_output(file: Path, name: str, tensor: TensorDesc) -> Array:
    """The array in a .npy file, of the sizes and the data type of the output ``name``. Elements of 4 bits take a byte each.

    Raises:
        ModelError: it cannot be read, or is another tensor.
    """
    try:
        data = read_bytes(file, 8 * tensor.count + _HEADER)
    except InputError as error:
        raise ModelError(f"{file}: {error}; it must hold the output {name}") from None
    array = npy_array(data, str(file))
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    carriers = CARRIERS[tensor.data_type]
    if array.dtype not in carriers or array.shape != tensor.sizes:
        raise ModelError(
            f"{file}: holds {array.dtype} of sizes {list(array.shape)}, but {name} is {tensor.data_type} "
            f"({carriers[-1]}) of sizes {list(tensor.sizes)}"
        )
    if tensor.type.bits < 8:
        least, most = tensor.type.limits
        if array.size and not (least <= int(array.min()) and int(array.max()) <= most):
            raise ModelError(f"{file}: {name} is {tensor.data_type}, whose elements are from {least} to {most}")
    return np.ascontiguousarray(array)
