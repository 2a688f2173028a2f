"""Mutants that cases of another basis find in some operators: what the documentation says of them, or leaves to DirectML.dll."""

from __future__ import annotations

from dmlcts.conformance.mutants.old.dense import other_basis


def _names(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}_{name}" for name in names)


OTHER_BASIS: dict[str, tuple[str, ...]] = {
    "numbers/output/small-as-zero": _names("ELEMENT_WISE", "CEIL", "FLOOR", "ROUND"),
    "numbers/output/at-most-100": _names("ELEMENT_WISE", "ASINH", "ACOSH", "ATANH", "ADD1"),
    "numbers/output/nan-as-zero": _names("ELEMENT_WISE", "POW", "CONSTANT_POW"),
    "numbers/output/integers-at-most-100": ("ACTIVATION_SHRINK",),
    "numbers/input-0/infinities-as-largest": _names(
        "ELEMENT_WISE", "CLIP", "CLIP1", "CLIP_GRAD", "CLIP_GRAD1", "THRESHOLD", "IS_INFINITY", "BIT_COUNT"
    ),
    "numbers/input-0/without-sign": _names("ELEMENT_WISE", "LOG", "SQRT", "ACOSH"),
    "numbers/input-0/nan-as-zero": _names("ELEMENT_WISE", "IS_NAN", "BIT_COUNT"),
    "numbers/input-0/integers-through-float32": ("ELEMENT_WISE_POW", "ACTIVATION_PARAMETERIZED_RELU", "ACTIVATION_SHRINK"),
    "numbers/input-0/without-top-bit": ("ELEMENT_WISE_THRESHOLD", "ACTIVATION_SHRINK"),
    "ELEMENT_WISE_CLIP_GRAD/Max-truncated": ("ELEMENT_WISE_CLIP_GRAD",),
    "ACTIVATION_SHRINK/Threshold-unsigned": ("ACTIVATION_SHRINK",),
    **{
        f"ELEMENT_WISE_POW/ScaleBias-{what}": ("ELEMENT_WISE_POW",)
        for what in ("bias-lost", "scale-lost", "bias-first", "twice", "bias-subtracted")
    },
}
for _mutant, _operators in other_basis():
    OTHER_BASIS[_mutant] = (*OTHER_BASIS.get(_mutant, ()), *_operators)
"""By mutant: the operators in which the basis is not the mutant's own, but the other of the two."""
