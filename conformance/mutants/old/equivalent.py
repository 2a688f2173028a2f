"""Which mutants are no faults, and why: by rules over what the specs say, and one by one.

A mutant that no case finds stands here only if it changes nothing that an implementation promises. What a case could find and none
does is a hole of the suite, and no matter of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

from dmlcts.conformance.mutants.old.dense import no_faults
from dmlcts.conformance.mutants.old.validation import ACCEPTED, not_enforced
from dmlcts.spec.model import Operator, Relation

ANYWHERE = "*"


def _names(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}_{name}" for name in names)


_LOGICAL = tuple(f"ELEMENT_WISE_LOGICAL_{name}" for name in ("AND", "OR", "XOR", "NOT"))
_COMPARISONS = tuple(
    f"ELEMENT_WISE_LOGICAL_{name}"
    for name in ("EQUALS", "GREATER_THAN", "GREATER_THAN_OR_EQUAL", "LESS_THAN", "LESS_THAN_OR_EQUAL")
)
_TESTS = _names("ELEMENT_WISE", "IS_NAN", "IS_INFINITY")
_HARDMAX = _names("ACTIVATION", "HARDMAX", "HARDMAX1")
_SOFTMAX = _names("ACTIVATION", "SOFTMAX", "SOFTMAX1")

_REASONS: dict[str, dict[str, tuple[str, ...]]] = {
    "accepts/total-size-odd": {
        "DirectML.dll 1.15.4 accepts total sizes that are no multiples of 4: a refusal is demanded of nobody": (ANYWHERE,)
    },
    "bytes/big-endian/input-0": {
        "the order of bytes does not change how many bits are set": ("ELEMENT_WISE_BIT_COUNT",),
        "the order of bytes does not change whether one is not 0": _LOGICAL,
    },
    "bytes/big-endian/input-1": {"the order of bytes does not change whether one is not 0": _LOGICAL[:3]},
    "in-place/twice": {
        "(a | b) | b == a | b": ("ELEMENT_WISE_BIT_OR",),
        "an integer is rounded to itself": ("ELEMENT_WISE_ROUND",),
        "what is kept is kept again, and 0 is 0 again": ("ACTIVATION_THRESHOLDED_RELU",),
    },
    "numbers/output/at-most-100": {
        "no result is beyond 100": (
            *_names("ELEMENT_WISE", "ACOS", "ASIN", "ATAN", "ATAN_YX", "COS", "SIN", "ERF", "TANH", "SIGN"),
            *_names("ACTIVATION", "SIGMOID", "SOFTSIGN", "TANH", "HARD_SIGMOID"),
            *_SOFTMAX,
            *_HARDMAX,
        ),
    },
    "numbers/output/integers-at-most-100": {
        "the results are 0 and 1": (*_LOGICAL, *_COMPARISONS, *_TESTS),
        "no element has more than 64 bits": ("ELEMENT_WISE_BIT_COUNT",),
        "the results are -1, 0 and 1": ("ELEMENT_WISE_SIGN",),
    },
    "numbers/output/through-float16": {
        "the results are -1, 0 and 1": ("ELEMENT_WISE_SIGN",),
        "the results are 0 and 1": _HARDMAX,
        "Direct3D allows an absolute error of 0.0008, which is more than FLOAT16's": _names("ELEMENT_WISE", "SIN", "COS", "TAN"),
    },
    "numbers/output/12-digits": {
        "the results are -1, 0 and 1": ("ELEMENT_WISE_SIGN",),
        "the results are 0 and 1": _HARDMAX,
        "Direct3D allows an absolute error of 0.0008, which is more": _names("ELEMENT_WISE", "SIN", "COS", "TAN"),
        "an absolute error of 2^-12 is allowed, as much as DirectML.dll itself is off by": _names("ELEMENT_WISE", "ASIN"),
    },
    "numbers/output/small-as-zero": {
        "the results are -1, 0 and 1": ("ELEMENT_WISE_SIGN",),
        "the results are 0 and 1": _HARDMAX,
        "no result is less than 1": ("ELEMENT_WISE_COSH",),
    },
    "numbers/output/nan-as-zero": {
        "NaN gives 0 in DirectML.dll, and nothing else gives NaN": (
            "ELEMENT_WISE_SIGN",
            *_names("ACTIVATION", "RELU", "SHRINK", "HARD_SIGMOID", "CELU"),
        ),
        "the results are 0 and 1": _HARDMAX,
        "NaN gives a bound": _names("ELEMENT_WISE", "CLIP", "CLIP1", "THRESHOLD"),
        "nothing is demanded of NaN": _names("ELEMENT_WISE", "ATAN", "ATAN_YX", "ADD1"),
    },
    "numbers/output/minus-zero-lost": {
        "no result is -0": (
            *_names("ELEMENT_WISE", "ABS", "ACOS", "COS", "EXP", "LOG", "COSH", "ACOSH", "SIGN", "POW", "CLIP1"),
            *_names("ELEMENT_WISE", "MODULUS_TRUNCATE", "MODULUS_FLOOR", "DIFFERENCE_SQUARE"),
            *_names("ACTIVATION", "HARD_SIGMOID", "SOFTPLUS", "RELU", "SIGMOID", "CELU"),
            "ACTIVATION_SHRINK",
            *_SOFTMAX,
            *_HARDMAX,
        ),
        "the sign of a zero is demanded of nobody here": (
            *_names(
                "ELEMENT_WISE", "ASIN", "ATAN", "ERF", "SINH", "TANH", "ASINH", "ATANH", "DEQUANTIZE_LINEAR", "ADD1", "CONSTANT_POW"
            ),
            *_names("ACTIVATION", "LINEAR", "SCALED_TANH", "TANH", "LOG_SOFTMAX", "LOG_SOFTMAX1"),
            *_names("ACTIVATION", "SCALED_ELU", "PARAMETRIC_SOFTPLUS"),
        ),
    },
    "numbers/input-0/nan-as-zero": {
        "nothing is demanded of NaN": _names("ELEMENT_WISE", "ATAN", "ATAN_YX", "ADD1"),
        "neither is infinite": ("ELEMENT_WISE_IS_INFINITY",),
        "NaN gives what 0 gives: 0": (
            "ELEMENT_WISE_SIGN",
            *_names("ACTIVATION", "RELU", "SHRINK", "CELU", "RELU_GRAD"),
        ),
        "nothing is demanded of a row with a NaN": _HARDMAX,
        "documentation and DirectML.dll differ: either answer passes": _names("ELEMENT_WISE", "CLIP_GRAD", "CLIP_GRAD1"),
    },
    "numbers/input-0/infinities-as-largest": {
        "the largest number lies outside the domain too, and gives NaN": _names("ELEMENT_WISE", "ACOS", "ASIN", "ATANH"),
        "the largest number gives what infinity gives": (
            *_names("ELEMENT_WISE", "ATAN", "ERF", "EXP", "SINH", "COSH", "TANH", "SIGN"),
            *_names("ACTIVATION", "SIGMOID", "TANH", "SCALED_TANH", "RELU_GRAD"),
        ),
        "neither is NaN": ("ELEMENT_WISE_IS_NAN",),
    },
    "numbers/input-0/integers-through-float32": {
        "what is not 0 stays so": _LOGICAL,
        "rounding changes no sign": ("ELEMENT_WISE_SIGN", "ACTIVATION_RELU_GRAD"),
        "quotients are computed in FLOAT32": ("ELEMENT_WISE_QUANTIZE_LINEAR",),
    },
    "numbers/input-0/integers-through-float64": {"rounding changes no sign": ("ELEMENT_WISE_SIGN",)},
    "numbers/input-0/integers-without-sign": {
        "(d + 2^31)^2 == d^2 modulo 2^32": ("ELEMENT_WISE_DIFFERENCE_SQUARE",),
    },
    "numbers/input-0/without-top-bit": {"(d + 2^31)^2 == d^2 modulo 2^32": ("ELEMENT_WISE_DIFFERENCE_SQUARE",)},
    "numbers/input-0/through-float16": {"rounding makes no number NaN": ("ELEMENT_WISE_IS_NAN",)},
    "numbers/input-0/without-sign": {"the sign does not change whether it is NaN": ("ELEMENT_WISE_IS_NAN",)},
    "numbers/input-0/negated": {"the sign does not change whether it is NaN": ("ELEMENT_WISE_IS_NAN",)},
}
"""Mutant, reason, operators."""

EQUIVALENT: dict[str, dict[str, str]] = {
    mutant: {operator: why for why, operators in reasons.items() for operator in operators} for mutant, reasons in _REASONS.items()
}
"""The mutants of any operator that are no fault in some, or ``ANYWHERE``, and why: mutant, operator, reason."""

OWN: dict[str, str] = {}
"""The mutants of one operator that no family marks itself."""

for _mutant, _why, _operators in no_faults():
    if _mutant.partition("/")[0] in _operators:
        OWN[_mutant] = _why
    else:
        EQUIVALENT.setdefault(_mutant, {}).update(dict.fromkeys(_operators, _why))


# Rules


def _law(operator: Operator, *labels: str) -> bool:
    """Whether a law of such a label holds of the operator without a condition."""

    def always(relation: Relation) -> bool:
        return relation.label in labels and not relation.data_types and relation.when is None and relation.where is None

    return any(always(relation) for relation in operator.relations)


def _commutative(mutant: str, operator: Operator) -> str:
    return "the operator is commutative" if _law(operator, "commutative", "symmetric") else ""


def _idempotent(mutant: str, operator: Operator) -> str:
    if len(operator.inputs()) == 1:
        return "its result gives itself" if _law(operator, "idempotent", "identity") else ""
    semilattice = _law(operator, "idempotent", "of-itself") and _law(operator, "associative")
    return "f(f(a, b), b) == f(a, b), since f is associative and f(b, b) == b" if semilattice else ""


def _input_is_result(mutant: str, operator: Operator) -> str:
    return "what stands in the input is the result" if _law(operator, "identity") else ""


def _inputs_are_result(mutant: str, operator: Operator) -> str:
    idempotent = len(operator.inputs()) == 2 and _law(operator, "idempotent")
    return "f(x, x) == x, so that what is not written is right already" if idempotent else ""


def _single(mutant: str, operator: Operator) -> str:
    """Inputs that are one element by their shape."""
    position = int(mutant.rpartition("-")[2])
    field = operator.inputs()[position].name if position < len(operator.inputs()) else ""
    rows = [shape.sizes[field] for shape in operator.shapes if field in shape.sizes]
    return "the tensor has one element" if rows and all(set(row) <= {"*1", "1"} for row in rows) else ""


def _flat(mutant: str, operator: Operator) -> str:
    """Tensors whose sizes are 1 but for the last two."""
    rows = [row for shape in operator.shapes for row in shape.sizes.values()]
    return "all sizes but the last two are 1" if rows and all(_ones_before(row) for row in rows) else ""


def _ones_before(row: tuple[str, ...]) -> bool:
    return "*" not in "".join(row[-2:]) and set(row[:-2]) <= {"*1"}


_LABELS = {
    "binding-size": "binding/{}/size",
    "binding-offset": "binding/{}/offset",
    "total-size": "tensor/{}/total-size",
    "flags": "tensor/{}/flags",
    "alignment": "tensor/{}/alignment",
}


def _accepted_of_tensor(mutant: str, operator: Operator) -> str:
    """A rule about one tensor that DirectML.dll does not enforce."""
    _, rule, place = mutant.split("/")
    role, _, position = place.partition("-")
    fields = operator.inputs() if role == "input" else operator.outputs()
    label = _LABELS.get(rule, "").format(fields[int(position)].name)
    return ACCEPTED if label in not_enforced(operator) else ""


def _accepted_constants(mutant: str, operator: Operator) -> str:
    enums = {f"enum/{field.name}" for field in operator.attributes() if field.enum}
    return ACCEPTED if enums and enums <= {entry.rule for entry in operator.accepts} else ""


def _accepted_size(mutant: str, operator: Operator) -> str:
    tensors = (*operator.inputs(), *operator.outputs())
    return ACCEPTED if all(f"binding/{field.name}/size" in not_enforced(operator) for field in tensors) else ""


RULES: Mapping[str, Callable[[str, Operator], str]] = {
    "operands/exchanged/input-1": _commutative,
    "in-place/twice": _idempotent,
    "in-place/copy/input-0": _input_is_result,
    "in-place/copy/together": _inputs_are_result,
    "strides/*/input-*": _single,
    "memory/gap/input-*": _single,
    "operands/first-for-all/input-*": _single,
    "operands/first-row/input-*": _single,
    "operands/next/input-*": _single,
    "lost/outside-last-*": _flat,
    "strides/outer-gaps-ignored/*": _flat,
    "accepts/*/input-*": _accepted_of_tensor,
    "accepts/*/output-*": _accepted_of_tensor,
    "accepts/binding-short-by-4": _accepted_size,
    "accepts/enum-*": _accepted_constants,
}
"""Name pattern of mutants, and what says why one is no fault in an operator."""


def reason(mutant: str, operator: Operator) -> str:
    """Why a mutant is no fault in an operator; empty where it is one."""
    reasons = EQUIVALENT.get(mutant, {})
    known = reasons.get(operator.name, reasons.get(ANYWHERE, OWN.get(mutant, "")))
    return known or next(_by_rules(mutant, operator), "")


def _by_rules(mutant: str, operator: Operator) -> Iterator[str]:
    for pattern, rule in RULES.items():
        if fnmatchcase(mutant, pattern):
            why = rule(mutant, operator)
            if why:
                yield why
