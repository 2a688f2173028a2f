"""Faults of matrix operators."""

from __future__ import annotations

from dmlcts.conformance.mutants.old.dense.matrix_bytes import BIASES, POINTS, QUANTIZATION, SCALES
from dmlcts.conformance.mutants.old.dense.matrix_gemm import NUMBERS
from dmlcts.conformance.mutants.old.dense.matrix_terms import GEMM, INTEGER, PRODUCTS, QUANTIZED, TO_FLOAT
from dmlcts.conformance.mutants.old.fault import Faults, for_each, merged

FAULTS: Faults = merged(
    for_each((GEMM, INTEGER, TO_FLOAT, QUANTIZED), PRODUCTS),
    {GEMM: NUMBERS},
    for_each((INTEGER, TO_FLOAT, QUANTIZED), POINTS),
    for_each((TO_FLOAT, QUANTIZED), SCALES),
    {TO_FLOAT: BIASES, QUANTIZED: QUANTIZATION},
)
"""What implementations of these operators get wrong."""

_ALL = (GEMM, INTEGER, TO_FLOAT, QUANTIZED)
_BYTES = (INTEGER, TO_FLOAT, QUANTIZED)
_SCALED = (TO_FLOAT, QUANTIZED)

NO_FAULT: dict[str, dict[str, tuple[str, ...]]] = {
    **{
        mutant: {"matrices have four dimensions at most": _ALL}
        for mutant in (
            *(f"strides/ignored-beyond-4d/{tensor}" for tensor in ("input-0", "input-1", "output")),
            *(f"lost/outside-last-{count}d" for count in (4, 5)),
            "refuses/strides-beyond-4d",
        )
    },
    **{
        f"strides/{which}/input-1": {
            "all sizes of AScaleTensor but one are 1": _SCALED,
            "all sizes of AZeroPointTensor but one are 1": (INTEGER,),
        }
        for which in ("inner-as-1", "outer-gaps-ignored", "permuted-as-packed")
    },
    "operands/first-row/input-3": {"BZeroPointTensor has one row": (INTEGER,)},
    "operands/first-row/input-4": {"BScaleTensor has one row": _SCALED},
    "operands/first-row/input-5": {"BZeroPointTensor has one row": _SCALED},
    "memory/padding": {"elements of 4 bytes need no padding": (INTEGER,)},
    "numbers/input-0/integers-through-float32": {
        "integers of 32 bits may be rounded to FLOAT32, as DirectML.dll does": (TO_FLOAT,),
    },
    "numbers/output/minus-zero-lost": {"the sign of a zero is demanded of nobody here": (GEMM, TO_FLOAT)},
}
"""Mutant, reason, operators: mutants of any operator that change nothing which these promise."""

OTHER_BASIS: dict[str, tuple[str, ...]] = {}
"""Mutants of any operator that cases of the other basis find in these."""
