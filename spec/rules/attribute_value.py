"""An attribute's value in a spec file: what an operator desc holds, or an expression that computes it.

| field type | written as |
|---|---|
| UINT, INT, UINT64, FLOAT, SCALAR_UNION | a number, or an expression over tensors and earlier attributes: ``InputTensor.DimensionCount - 1`` |
| FLOAT, SCALAR_UNION | also inf, -inf, nan |
| BOOL | true or false |
| an enumeration | a constant's short name; of DML_TENSOR_DATA_TYPE also an expression: ``InputTensor.DataType`` |
| an array | a list of numbers, or an expression: ``range(InputTensor.DimensionCount)`` |
| OPERATOR_DESC | an operator's name: with its usual attributes |
| OPERATOR_DESC_ARRAY | a list of operators' names, or an expression that gives one: ``["ACTIVATION_TANH"] * (2 if Both else 1)`` |
| SCALE_BIAS, SIZE_2D | ``{Scale: 2, Bias: -1}``, ``{Width: 3, Height: 2}`` |
| any that is optional | null: absent |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import ScaleBias, Size2D
from dmlcts.spec.model.expression import Expression

_PAIRS: Mapping[str, tuple[Callable[..., object], tuple[str, str]]] = {
    "SCALE_BIAS": (ScaleBias, ("Scale", "Bias")),
    "SIZE_2D": (Size2D, ("Width", "Height")),
}


def attribute_value(kind: str, enum: str | None, optional: bool, raw: object, compiled: Callable[[str], Expression]) -> object:
    """What ``raw`` means for a field of type ``kind``; ``compiled`` compiles a text, or raises an error with its place.

    Raises:
        ValueError: not a value of such a field; the message says what is allowed.
    """
    if raw is None:
        if not optional:
            raise ValueError("only an optional attribute can be absent")
        return None
    if kind in _PAIRS:
        make, keys = _PAIRS[kind]
        if not isinstance(raw, Mapping) or set(raw) != set(keys) or not all(_is_number(raw[key]) for key in keys):
            raise ValueError(f"a {kind} is written {{{keys[0]}: number, {keys[1]}: number}}, not {raw!r}")
        return make(*(raw[key] for key in keys))
    if enum is not None and isinstance(raw, str) and raw in abi().enums[enum].values:
        return raw
    if kind in ("FLOAT", "SCALAR_UNION") and isinstance(raw, str) and raw in ("inf", "-inf", "nan"):
        return float(raw)
    if kind == "OPERATOR_DESC":
        if not isinstance(raw, str) or raw not in abi().operator_types:
            raise ValueError(f"an {kind} is an operator's name, not {raw!r}")
        return raw
    if isinstance(raw, str) and (enum is None or enum == "DML_TENSOR_DATA_TYPE"):
        return compiled(raw)
    if enum is not None:
        raise ValueError(f"{enum} has no {raw!r}; it has {', '.join(abi().enums[enum].values)}")
    if kind == "BOOL":
        if not isinstance(raw, bool):
            raise ValueError(f"a BOOL is true or false, not {raw!r}")
        return raw
    if kind == "OPERATOR_DESC_ARRAY":
        if not isinstance(raw, list) or not all(isinstance(name, str) and name in abi().operator_types for name in raw):
            raise ValueError(f"an {kind} is a list of operators' names or an expression, not {raw!r}")
        return tuple(raw)
    if kind.endswith("_ARRAY"):
        if not isinstance(raw, list) or not all(_is_number(element) for element in raw):
            raise ValueError(f"a {kind} is a list of numbers or an expression, not {raw!r}")
        return tuple(raw)
    if not _is_number(raw):
        raise ValueError(f"a {kind} is a number or an expression, not {raw!r}")
    return raw


def _is_number(raw: object) -> bool:
    return isinstance(raw, int | float) and not isinstance(raw, bool)
