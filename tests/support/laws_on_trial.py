"""Operators with a law, and backends that compute what a test says."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.backends.backend import BackendInfo, Dispatch, Unsupported
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.properties.examples import relation_draft
from dmlcts.conformance.properties.law_dispatch import LawTrial
from dmlcts.conformance.properties.laws import law_outcome
from dmlcts.conformance.properties.relations import execute_property
from dmlcts.generator.case.case import Case, from_json
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import find_case
from dmlcts.generator.sweeps.properties import property_cases
from dmlcts.reports.record.record import Result
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, load_document, load_text

Array = np.ndarray
Inputs = Mapping[str, Array]
Value = Callable[..., Array]
ROUND, XOR, OR = "ELEMENT_WISE_ROUND", "ELEMENT_WISE_BIT_XOR", "ELEMENT_WISE_BIT_OR"


class Computing:
    """``values`` by operator, each of which takes the input arrays in order; it validates nothing and keeps the descs."""

    def __init__(self, **values: Value) -> None:
        self.values = values
        self.info = BackendInfo("computing", denormals="preserve", nearest=True)
        self.seen: list[OperatorDesc] = []

    def describe(self) -> BackendInfo:
        return self.info

    def close(self) -> None:
        pass

    def run(self, dispatch: Dispatch) -> None:
        desc = dispatch.desc
        self.seen.append(desc)
        if desc.type not in self.values:
            raise Unsupported(f"no {desc.type}")
        given = {
            name: read_tensor(dispatch.resources[binding.resource], desc.tensor(name), binding.offset)
            for name, binding in dispatch.bindings.items()
        }
        (output,) = dispatch.outputs
        tensor, binding = desc.tensor(output), dispatch.bindings[output]
        with np.errstate(all="ignore"):
            value = self.values[desc.type](*(array for name, array in given.items() if name != output))
            value = np.asarray(value).astype(numpy_dtype(tensor.data_type))
        write_tensor(dispatch.resources[binding.resource], tensor, value, binding.offset)


def with_law(name: str, relation: Mapping[str, Any], change: Callable[[dict[str, Any]], object] = lambda spec: None) -> Operator:
    """The operator with one relation, called ``it``, and a changed spec."""
    file = load(name).file
    assert file is not None
    spec: dict[str, Any] = json.loads(json.dumps(load_document(file.read_text(encoding="utf-8"), file).data))
    spec["cases"]["relations"] = {"it": dict(relation)}
    change(spec)
    return load_text(json.dumps(spec, default=str))


def law_cases(operator: Operator) -> list[Case]:
    return [case for case in property_cases(plan_of(operator)) if case.relation == "it"]


def judged(operator: Operator, backend: Any, types: str, /, **arrays: Any) -> Outcome:
    """What the law gives for the variables, in the first case of these data types."""
    case = next(case for case in law_cases(operator) if case.id.split("/")[1] == types)
    given = {
        name: np.asarray(array, numpy_dtype(case.desc.tensor(operator.relations[0].given[name]).data_type))
        for name, array in arrays.items()
    }
    return law_outcome(LawTrial(case, backend, backend.info, None), given)


def tried(case: str | Case, backend: Any, examples: int = 25) -> Result:
    return execute_property(find_case(case) if isinstance(case, str) else case, backend, backend.info, examples=examples)


def example_of(result: Result) -> Case:
    return from_json(json.loads(json.dumps(result.evidence["example"], allow_nan=False)), load)


def draft_of(label: str, examples: int = 25) -> dict[str, Array]:
    case = find_case(label)
    trial = LawTrial(case, ReferenceBackend(), ReferenceBackend().info, None)
    return dict(relation_draft(trial, examples, case.id).arrays)
