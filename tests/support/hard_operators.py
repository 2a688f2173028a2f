"""The operators of tests/data, which are hard to read or to obey, a valid desc of each, and ways to change one."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from dmlcts.spec.model.abi import abi, feature_level
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, load_file, load_text, operator_names
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.untrusted.desc_json import read_desc

HARD = Path(__file__).parents[1] / "data" / "operators"


DESCS: dict[str, Any] = json.loads((HARD / "descs.json").read_text(encoding="utf-8"))

INNER = """\
operator: {name}
type: {type}
introduced: "1_0"
summary: An operator that others fuse.
fields:
  - {{name: InputTensor, kind: input, type: TENSOR_DESC}}
  - {{name: OutputTensor, kind: output, type: TENSOR_DESC}}
  - {{name: Alpha, kind: attribute, type: FLOAT, optional: true}}
support: []
constraints: {{}}
tolerance: {{class: exact}}
sources: [{{title: none}}]
"""


@cache
def operator(name: str) -> Operator:
    """A hard operator of tests/data, one of the package, or a plain one for what stands inside them."""
    file = HARD / f"{name.lower()}.yaml"
    if file.exists():
        return load_file(file)
    return load(name) if name in operator_names() else load_text(INNER.format(name=name, type=abi().operator_types[name]))


@cache
def valid(name: str) -> OperatorDesc:
    return read_desc(DESCS[name], operator)


def labels(desc: OperatorDesc, level: str = "6_4") -> list[str]:
    return [violation.label for violation in violations(operator(desc.type), desc, feature_level(level))]


def resized(name: str, tensor: str, *sizes: int) -> OperatorDesc:
    """The valid desc with other sizes of one tensor (``InputTensors[1]`` is one of an array)."""
    return changed(valid(name), tensor, sizes=sizes)


def changed(desc: OperatorDesc, tensor: str, **changes: Any) -> OperatorDesc:
    field, _, index = tensor.rstrip("]").partition("[")
    value: Any = desc.fields[field]
    if not index:
        return desc.with_fields(**{field: replace(value, **changes)})
    at = int(index)
    return desc.with_fields(**{field: (*value[:at], replace(value[at], **changes), *value[at + 1 :])})


def retyped(name: str, *data_types: str) -> OperatorDesc:
    """The valid desc with the data type of each of its tensors in order; the last one holds for those that remain."""
    desc = valid(name)
    for index, (tensor, _) in enumerate(list(desc.tensors())):
        desc = changed(desc, tensor, data_type=data_types[min(index, len(data_types) - 1)])
    return desc


def set_to(name: str, **fields: Any) -> OperatorDesc:
    return valid(name).with_fields(**fields)


def fused(name: str, inner: str, **fields: Any) -> OperatorDesc:
    return set_to(name, FusedActivation=OperatorDesc(inner, fields))
