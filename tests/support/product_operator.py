"""A made-up operator on tensors of different sizes: a product of matrices, with an attribute and an optional third input."""

from typing import Any

import numpy as np
import yaml

from dmlcts.conformance.backends.backend import BackendInfo, Dispatch
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load_text

_ROW = {"dimensions": "2-4", "types": ["FLOAT32", "FLOAT16"]}
_TENSORS = ("ATensor", "BTensor", "CTensor", "OutputTensor")
CASES = ("attributes", "configurations", "sizes", "turning", "resize", "workloads", "dispatches", "values", "layouts", "relations")
_QUARTERS = {"random": {"recipe": "quarters", "limit": 2}}

SPEC: dict[str, Any] = {
    "operator": "ELEMENT_WISE_ADD",
    "type": 4,
    "introduced": "1_0",
    "summary": "Scale times A times B, plus C.",
    "fields": [
        {"name": "ATensor", "kind": "input", "type": "TENSOR_DESC"},
        {"name": "BTensor", "kind": "input", "type": "TENSOR_DESC"},
        {"name": "CTensor", "kind": "input", "type": "TENSOR_DESC", "optional": True},
        {"name": "OutputTensor", "kind": "output", "type": "TENSOR_DESC"},
        {"name": "Scale", "kind": "attribute", "type": "FLOAT"},
    ],
    "support": [{"level": "1_0", "tensors": dict.fromkeys(_TENSORS, _ROW)}],
    "constraints": {
        "same-data-type": {"same": "DataType", "of": list(_TENSORS)},
        "same-dimension-count": {"same": "DimensionCount", "of": list(_TENSORS)},
    },
    "shapes": [
        {
            "sizes": {
                "ATensor": ["*Batch", "M", "K"],
                "BTensor": ["*Batch", "K", "N"],
                "CTensor": ["*Batch", "M", "N"],
                "OutputTensor": ["*Batch", "M", "N"],
            }
        }
    ],
    "tolerance": {"class": "exact"},
    "sources": [{"title": "none"}],
    "cases": {
        "attributes": {"Scale": [1, 2, -0.5]},
        "values": {"ATensor": _QUARTERS, "BTensor": _QUARTERS, "CTensor": _QUARTERS},
    },
}


def product_operator(**changes: Any) -> Operator:
    """The operator, with other parts of its spec, or sections of its cases."""
    cases = {name: changes.pop(name) for name in CASES if name in changes}
    spec = {**SPEC, "cases": SPEC["cases"] | cases, **changes}
    return load_text(yaml.safe_dump(spec, sort_keys=False))


class Products:
    """A backend that computes it, wrongly if told so."""

    def __init__(self, wrong: str = "") -> None:
        self.wrong = wrong
        self.dispatches = 0
        self.info = BackendInfo("products", denormals="preserve")

    def describe(self) -> BackendInfo:
        return self.info

    def close(self) -> None:
        pass

    def run(self, dispatch: Dispatch) -> None:
        self.dispatches += 1
        desc = dispatch.desc
        given = {
            name: read_tensor(dispatch.resources[binding.resource], desc.tensor(name), binding.offset).astype(np.float64)
            for name, binding in dispatch.bindings.items()
            if name not in dispatch.outputs
        }
        a, b = given["ATensor"], given["BTensor"]
        if self.wrong == "last term left out" and a.shape[-1] > 1:
            a, b = a[..., :-1], b[..., :-1, :]
        value = desc.fields["Scale"] * (a @ b)
        if "CTensor" in given and self.wrong != "C ignored":
            value = value + given["CTensor"]
        (output,) = dispatch.outputs
        tensor, binding = desc.tensor(output), dispatch.bindings[output]
        write_tensor(dispatch.resources[binding.resource], tensor, value.astype(numpy_dtype(tensor.data_type)), binding.offset)
