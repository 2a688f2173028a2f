"""The tables by which the capture DLL reads a desc struct, written as C++ from the specs: no operator is named by hand.

``python -m dmlcts.conformance.client.programs.tables FILE`` writes them for a build by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from dmlcts.spec.model.abi import Enum, abi
from dmlcts.spec.model.operator import Field, Operator
from dmlcts.spec.reading.loader import load

DATA_TYPE = "DML_TENSOR_DATA_TYPE"


def tables() -> str:
    """``operator_tables.inc``, which native/src/operator_tables.cpp includes."""
    operators = [load(name) for name in abi().operator_types]
    names = sorted({field.enum for operator in operators for field in operator.fields if field.enum} | {DATA_TYPE})
    lines = ["// Written from the specs by conformance/client/programs/tables.py."]
    lines += [line for name in names for line in _enumeration(abi().enums[name])]
    lines += [line for operator in operators for line in _fields(operator)]
    lines.append("const Operator operators[] = {")
    lines += [
        f'    {{{operator.type}, "{operator.name}", fields_{operator.type}, {len(operator.fields)}}},'
        for operator in sorted(operators, key=lambda operator: operator.type)
    ]
    return "\n".join([*lines, "};", ""])


def _enumeration(enum: Enum) -> Iterator[str]:
    values = ", ".join(f'{{{value}, "{name}"}}' for name, value in enum.values.items())
    yield f"const Constant {enum.name}_constants[] = {{{values}}};"
    yield f"const Enumeration {enum.name}{{{enum.name}_constants, {len(enum.values)}}};"


def _fields(operator: Operator) -> Iterator[str]:
    yield f"const Field fields_{operator.type}[] = {{"
    for field in operator.fields:
        element, array = field.type.removesuffix("_ARRAY"), field.type.endswith("_ARRAY")
        enum = f"&{field.enum}" if field.enum else "nullptr"
        yield f'    {{"{field.name}", Type::{element}_, {str(array).lower()}, {enum}, {_other(field, operator.fields)}}},'
    yield "};"


def _other(field: Field, fields: Sequence[Field]) -> int:
    """The place of the field that counts an array's elements, or says which member a union has; -1 if there is none."""
    name = field.count if field.type.endswith("_ARRAY") else field.data_type if field.type == "SCALAR_UNION" else None
    return next((place for place, other in enumerate(fields) if other.name == name), -1)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(tables(), encoding="utf-8", newline="\n")
