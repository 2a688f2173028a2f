"""Which tensor of a desc each place of a binding table, or of a node, is: absent tensors have a place too."""

from __future__ import annotations

from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import Operator

INPUT, OUTPUT = "input", "output"


def slots(operator: Operator, desc: OperatorDesc, kind: str) -> tuple[str | None, ...]:
    """The tensors of one ``kind`` by place, None where one is absent."""
    found: list[str | None] = []
    for field in operator.fields:
        if not field.is_tensor or field.kind != kind:
            continue
        value = desc.fields.get(field.name)
        if field.is_tensor_array:
            entries = value if isinstance(value, tuple) else ()
            found += [None if entry is None else f"{field.name}[{place}]" for place, entry in enumerate(entries)]
        else:
            found.append(None if value is None else field.name)
    return tuple(found)
