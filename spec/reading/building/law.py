"""Checks of a spec file's relations beyond the JSON Schema (conformance/properties/laws evaluates relations).

Each problem is a path below the relation, and a message.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.expression import FUNCTIONS, Expression
from dmlcts.spec.model.operator import Field
from dmlcts.spec.reading.document import Path_

RELATION_FUNCTIONS = frozenset(
    [
        "concat",
        "floor",
        "implies",
        "isnan",
        "largest",
        "like",
        "maximum",
        "minimum",
        "near",
        "padded",
        "reshaped",
        "round_to",
        "sign",
        "sizes",
        "sorted",
        "sqrt",
        "sums",
        "swapped",
        "total",
        "where",
    ]
)
"""What a relation may call besides ``f``, the operators that it uses, and the expression language's own functions."""

_BOUNDED = frozenset({"exact", "ulp", "mixed", "discrete", "check"})
"""The tolerance classes with which a law may call ``near``. The bounds of the others depend on what was summed or multiplied."""

Problem = tuple[Path_, str]


def name_problems(entry: Mapping[str, Any]) -> Iterator[Problem]:
    """Variables and operators with a reserved name, and operators that the ABI does not have."""
    reserved = {*RELATION_FUNCTIONS, *FUNCTIONS, "f", "width"}
    given, uses = entry["given"], entry.get("uses", {})
    for key, taken in (("given", reserved), ("uses", {*reserved, *given})):
        for name in entry.get(key, {}):
            if name in taken:
                yield (key, name), f"{name!r} is reserved in laws: choose another name"
    for name, operator in uses.items():
        if operator not in abi().operator_types:
            yield ("uses", name), f"the ABI has no operator {operator}"


def law_problems(data: Mapping[str, Any], fields: Sequence[Field], entry: Mapping[str, Any], law: Expression) -> Iterator[Problem]:
    """What is wrong with a law that compiles. ``data`` is the whole file's."""
    for name in sorted(entry.get("uses", {}).keys() - law.names):
        yield ("uses", name), f"the law does not call {name}"
    for node in ast.walk(ast.parse(law.text.strip(), mode="eval")):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "f":
            yield from ((("law",), problem) for problem in _call_problems(fields, node))
    if "near" in law.names:
        yield from (
            (("law",), f"near has no bound for tolerance class {name}: state the difference, as in abs(a - b) <= 0.001")
            for name in _output_classes(data, fields)
            if name not in _BOUNDED
        )
    first = next(field.name for field in fields if field.is_tensor)
    rows = ({**table, **table.get("tensors", {}).get(first, {})} for table in data["support"])
    listed = {name for row in rows for name in row.get("types", ())}
    for index, name in enumerate(entry.get("types", ())):
        if name not in listed:  # the law would never be tested with it
            yield ("types", index), f"no table lists {name} for {first}"


def _call_problems(fields: Sequence[Field], call: ast.Call) -> Iterator[str]:
    """What is wrong with the arguments of a call of ``f``: inputs by position, then inputs, attributes, output sizes and the output by name."""
    inputs = [field for field in fields if field.kind == "input"]
    named = {keyword.arg for keyword in call.keywords}
    known = {field.name for field in fields} | {"output"}
    for name in sorted(str(name) for name in named - known):
        yield f"f has no field called {name}, in {ast.unparse(call)}"
    least = max((index for index, field in enumerate(inputs, 1) if not field.optional and field.name not in named), default=0)
    if not least <= len(call.args) <= len(inputs):  # the last ones may be omitted
        takes = f"{least} to {len(inputs)} inputs" if least < len(inputs) else f"{least} input{'s' * (least != 1)}"
        yield f"f takes {takes}, but {ast.unparse(call)} passes {len(call.args)}"


def _output_classes(data: Mapping[str, Any], fields: Sequence[Field]) -> list[str]:
    """The tolerance classes that may judge the first output, which is what ``f`` gives."""
    output = next(field.name for field in fields if field.kind == "output")
    tolerance = data["tolerance"]
    return [tolerance["class"], *(e["class"] for e in tolerance.get("exceptions", ()) if output in e.get("of", (output,)))]
