"""What the old faults of attention still take from those of normalizations."""

from __future__ import annotations

import numpy as np

from dmlcts.spec.desc import OperatorDesc


def number(desc: OperatorDesc, name: str) -> float:
    """A FLOAT attribute as the desc holds it."""
    value = desc.fields[name]
    assert isinstance(value, int | float)
    return float(np.float32(value))
