"""Legal variations: what an implementation may do otherwise than the reference, and no case may call a fault.

Sums in FLOAT32 in another order, rounded products or none, a factor in place of a division, FLOAT32 in between, a result rounded toward zero. Each is for
descs with some sizes alone (``_odd``), as an implementation chooses its code by the desc: so a law between two dispatches meets
both kinds. ``dmlcts faults legal`` runs all cases on them, property cases included, and names what fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dmlcts.conformance.execution.judgement import tolerance_of
from dmlcts.conformance.faults.families import convolution, matrix
from dmlcts.conformance.faults.families.sums import Products, Stages, one_by_one
from dmlcts.conformance.faults.hunt.hunt import Hunter, Kill
from dmlcts.conformance.faults.legal.winograd import by_transforms
from dmlcts.conformance.faults.model.fault import HALF, SINGLE, Array, Fault, Faults, Inputs
from dmlcts.conformance.faults.model.mutant import Mutant
from dmlcts.generator.case.case import REJECTION
from dmlcts.generator.case.id_filter import matcher
from dmlcts.reference.registry import compute
from dmlcts.reference.shared.scale_bias import SMALLEST
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED, Operator
from dmlcts.spec.reading.loader import load

PREFIX = "legal/"

REALS = (*SINGLE, *HALF)
"""The types of which sums are in FLOAT32. The reference is no more precise than FLOAT64 itself."""


def _odd(desc: OperatorDesc) -> bool:
    """Whether another kernel is chosen for a desc: by a number that depends on the order of the sizes of its last tensor, an output."""
    *_, (_, tensor) = desc.tensors()
    return sum(at * size for at, size in enumerate(tensor.sizes, 1)) % 2 == 1


def _single(x: Any) -> Array:
    return np.asarray(x, np.float32)


# Sums of the last dimension, in FLOAT32


def _in_turn(terms: Array) -> Array:
    total: Array = np.cumsum(terms, axis=-1, dtype=np.float32)[..., -1]
    return total


def _pairwise(terms: Array) -> Array:
    while terms.shape[-1] > 1:
        even = _pad_terms(terms, 2)
        terms = even[..., ::2] + even[..., 1::2]
    return terms[..., 0]


def _in_blocks(terms: Array) -> Array:
    whole = _pad_terms(terms, 32)
    return _in_turn(_in_turn(whole.reshape(*whole.shape[:-1], -1, 32)))


def _pad_terms(terms: Array, multiple: int) -> Array:
    return np.pad(terms, [(0, 0)] * (terms.ndim - 1) + [(0, -terms.shape[-1] % multiple)])


_ORDERS: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "one-by-one": ("adds up one by one", _in_turn),
    "reversed": ("adds up from the last to the first", lambda terms: _in_turn(terms[..., ::-1])),
    "pairwise": ("adds up pairs, and pairs of these", _pairwise),
    "blocks-of-32": ("adds up blocks of 32, and then their sums", _in_blocks),
}

Sum = Callable[[Array], Array]


def _orders(stages: Callable[[Sum], Stages]) -> Faults:
    """The sums of a stage in each order: ``stages`` says how it adds up, given a function that sums the last dimension."""

    def single(order: Sum) -> Sum:
        return lambda terms: order(terms.astype(np.float32)).astype(np.float64)

    return {
        f"sums-{name}": Fault(f"{does} in FLOAT32", types=REALS, stages=stages(single(order)), when=_odd)
        for name, (does, order) in _ORDERS.items()
    }


def _sum_along(axes: Sequence[int], terms: Array, order: Sum) -> Array:
    """The sum over axes, which stay as ones."""
    rest = [axis for axis in range(terms.ndim) if axis not in axes]
    rows = np.transpose(terms, (*rest, *axes)).reshape(*(terms.shape[axis] for axis in rest), -1)
    return order(rows).reshape(tuple(1 if axis in axes else size for axis, size in enumerate(terms.shape)))


def _of_products(stage: str, products: Products) -> Faults:
    """Sums of products, each rounded to FLOAT32 first, in any order; and with fused multiply-add, which rounds none."""

    def stages(order: Sum) -> Stages:
        return {stage: lambda right, *args: order(np.stack(list(products(right, *args)), axis=-1))}

    fused = one_by_one(stage, products, lambda total, product: _single(total + product).astype(np.float64))
    return {
        **_orders(stages),
        "fused-multiply-add": Fault("adds up with fused multiply-add in FLOAT32", types=REALS, stages=fused, when=_odd),
    }


def _by_reciprocal(total: Array, count: Any) -> Array:
    """A division by a count as a product with its reciprocal."""
    with np.errstate(all="ignore"):
        return (_single(total) * (np.float32(1) / _single(count))).astype(np.float64)


def _reciprocal(stages: Stages) -> Faults:
    does = "multiplies with the reciprocal of the count in an average"
    return {"reciprocal-of-count": Fault(does, types=REALS, stages=stages, when=_odd)}


def _finish_total(right: Callable[..., Array], xp: Any, total: Array, count: int, function: str) -> Array:
    return _by_reciprocal(total, count) if function == "AVERAGE" else right(xp, total, count, function)


def _reciprocal_divisor(right: Callable[..., Array], *args: Any) -> Array:
    """The divisor by which a division gives what the product with the rounded reciprocal does."""
    with np.errstate(all="ignore"):
        return 1 / (np.float32(1) / right(*args).astype(np.float32)).astype(np.float64)


# A result rounded toward zero


def _toward_zero(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    answers = compute(desc, inputs)
    exact = next(
        np.asarray(a.stored_value)
        for a in answers.values()
        if not callable(a.stored_value) and np.shape(a.stored_value) == right.shape
    )
    beyond = np.isfinite(right) & (np.abs(right.astype(np.float64)) > np.abs(exact.astype(np.float64)))
    return np.where(beyond, np.nextafter(right, right.dtype.type(0)), right)


def _round_results(operator: Operator) -> Iterator[tuple[str, Fault]]:
    """Of operators with one output, whose tolerance allows a whole ULP."""
    (output, *others) = operator.outputs()

    def when(desc: OperatorDesc) -> bool:
        tolerance, data_type = tolerance_of(operator, output.name, desc), desc.tensor(output.name).data_type
        graded = tolerance.judge in ("ulp", "mixed", "accumulate") and tolerance.compare != "bits"
        return _odd(desc) and graded and data_type in REALS and tolerance.parameter("ulps", data_type, 1) >= 1

    if not others and operator.tolerance.judge in ("ulp", "mixed", "accumulate"):
        yield "toward-zero", Fault("rounds results toward zero", _toward_zero, when=when)


# What lies in between, in FLOAT32


def _in_between(*stages: str) -> Faults:
    """What these stages of the reference give, in FLOAT32, as an implementation that computes in it has it."""

    def round_single(right: Callable[..., Any], *args: Any) -> Any:
        with np.errstate(all="ignore"):
            return _of_single(right(*args))

    does = "rounds to FLOAT32 in between"
    return {"in-between": Fault(does, types=REALS, stages=dict.fromkeys(stages, round_single), when=_odd)}


def _of_single(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(map(_of_single, found))
    if hasattr(found, "value"):  # beside its error, or other measures
        return replace(found, value=_of_single(found.value))
    is_real = isinstance(found, float) or (isinstance(found, np.ndarray) and found.dtype == np.float64)
    return _single(found).astype(np.float64) if is_real else found


def _scale_bias_orders(operator: Operator) -> Iterator[tuple[str, Fault]]:
    """Of operators with a ScaleBias."""

    def rounded_twice(right: Callable[..., Any], xp: Any, desc: OperatorDesc, x: Array) -> tuple[Array, Array | None]:
        argument, error = right(xp, desc, x)
        pair: Any = desc.fields["ScaleBias"]
        with np.errstate(all="ignore"):
            return argument if error is None else (_single(x) * _single(pair[0]) + _single(pair[1])).astype(np.float64), error

    def flush_scaled(right: Callable[..., Any], xp: Any, desc: OperatorDesc, x: Array) -> tuple[Array, Array | None]:
        argument, error = right(xp, desc, x)
        return np.where(np.abs(argument) < SMALLEST, np.copysign(0.0, argument), argument), error

    if any(field.type == "SCALE_BIAS" for field in operator.fields):
        does = "rounds the product with Scale to FLOAT32 before it adds Bias"
        yield "scale-then-bias", Fault(does, types=REALS, stages={"scale_bias.argument": rounded_twice}, when=_odd)
        does = "flushes what it has scaled, where that is a denormal"
        yield "scaled-denormals-flushed", Fault(does, types=REALS, stages={"scale_bias.argument": flush_scaled}, when=_is_scaled)


def _is_scaled(desc: OperatorDesc) -> bool:
    return desc.fields.get("ScaleBias") is not None


def _run_in_single(right: Callable[..., Array], xp: Any, x: Array, operation: str) -> Array:
    return right(xp, x.astype(np.float32), operation).astype(np.float64) if x.dtype.kind == "f" else right(xp, x, operation)


VARIATIONS: Mapping[str, Faults] = {
    "REDUCE": {
        **_orders(
            lambda order: {
                "reduction.total": lambda right, xp, terms: order(terms) if terms.dtype.kind == "f" else right(xp, terms)
            }
        ),
        **_reciprocal({"reduction.finish": _finish_total}),
    },
    "AVERAGE_POOLING* LP_POOLING*": {
        "sums-one-by-one": Fault(
            "adds up in FLOAT32",
            types=REALS,
            stages={"pooling.sum": lambda right, xp, desc, x: right(xp, desc, x.astype(np.float32)).astype(np.float64)},
            when=_odd,
        )
    },
    "AVERAGE_POOLING*": _reciprocal({"pooling.divisor": _reciprocal_divisor}),
    "GEMM": {**_of_products("matrix.product", matrix.products), **_in_between("matrix.product", "matrix.alpha", "matrix.beta")},
    "CONVOLUTION": {
        **_of_products("convolution.accumulate", convolution.products),
        **_in_between("convolution.bias"),
        "winograd": Fault(
            "multiplies Winograd's transforms", types=REALS, stages={"convolution.accumulate": by_transforms}, when=_odd
        ),
    },
    "MEAN_VARIANCE_NORMALIZATION* LP_NORMALIZATION": _orders(
        lambda order: {
            "normalization.sum": lambda right, xp, x, axes: (
                (_sum_along(axes, x, order), right(xp, x, axes)[1]) if axes else right(xp, x, axes)
            )
        }
    ),
    "MEAN_VARIANCE_NORMALIZATION*": _reciprocal({"normalization.mean": lambda right, total, count: _by_reciprocal(total, count)}),
    "ACTIVATION_SOFTMAX* ACTIVATION_LOG_SOFTMAX*": _orders(
        lambda order: {"activation.sum": lambda right, xp, terms, axes: _sum_along(axes, terms, order)}
    ),
    "CUMULATIVE_*": {
        "running-in-float32": Fault(
            "adds up or multiplies in FLOAT32", types=REALS, stages={"reduction.running": _run_in_single}, when=_odd
        )
    },
    "LSTM GRU": _in_between("recurrent.argument", "recurrent.cells", "recurrent.mixed", "recurrent.candidate"),
    "ROI_ALIGN*": _in_between("region.spans", "region.moved", "region.coordinates", "region.linear", "region.weights"),
    "LP_POOLING*": _in_between("pooling.power", "pooling.sum"),
    "RESAMPLE* UPSAMPLE_2D": _in_between("resampling.coordinates", "resampling.weights", "resampling.linear"),
    "*NORMALIZATION*": _in_between(
        *(
            f"normalization.{name}"
            for name in ("neighborhood", "mean", "center", "square", "variance", "inverse-root", "product", "power")
        )
    ),
    "ADAM_OPTIMIZER": _in_between("training.moment", "training.step_length"),
    "ACTIVATION_*SOFTMAX* ACTIVATION_*SOFTPLUS ACTIVATION_SCALED_* ACTIVATION_*SWISH ACTIVATION_CELU ACTIVATION_HARD_SIGMOID": _in_between(
        *(
            f"activation.{name}"
            for name in ("line", "exponential_less_one", "sigmoid", "tanh", "softplus", "below_largest", "exponentials")
        )
    ),
    "MULTIHEAD_ATTENTION*": {
        "products-in-float32": Fault(
            "adds up products in FLOAT32",
            types=REALS,
            stages={"attention.product": lambda right, xp, query, key: right(xp, _of_singles(query), _of_singles(key))},
            when=_odd,
        ),
        **_in_between("attention.score", "attention.softmax"),
    },
}
"""By operators, names or globs; besides these, results of any operator are rounded toward zero where its tolerance allows that, and what a
ScaleBias gives is rounded to FLOAT32."""

MEASURED_OTHERWISE = ("winograd",)
"""What the documentation allows, but DirectML.dll does otherwise: measured cases may tell."""


def _of_singles(estimate: Any) -> Any:
    return replace(estimate, value=_single(estimate.value))


@cache
def legal_of(name: str) -> Mapping[str, Mutant]:
    """The legal variations of an operator by label: mutants that no case may find."""
    faults = {
        label: fault
        for globs, variations in VARIATIONS.items()
        if any(fnmatchcase(name, glob) for glob in globs.split())
        for label, fault in variations.items()
    }
    every = {**faults, **dict(_round_results(load(name))), **dict(_scale_bias_orders(load(name)))}
    return {
        f"{PREFIX}{label}": Mutant(name, f"{PREFIX}{label}", fault, _basis(label), "it is legal") for label, fault in every.items()
    }


def _basis(label: str) -> str:
    return MEASURED if label in MEASURED_OTHERWISE else DOCUMENTED


@dataclass(frozen=True, slots=True)
class FalseAlarm:
    """A case that fails on a legal variation; ``relation`` is its law, if it has one."""

    name: str
    does: str
    kill: Kill
    relation: str = ""


def false_alarms(operator: str, level: str, basis: str, expression: str = "") -> tuple[int, list[FalseAlarm]]:
    """How many legal variations an operator has whose labels match, and every case that fails on one and should not. Raises ReferenceFails."""
    matching = matcher(expression)
    mutants = {label: mutant for label, mutant in legal_of(operator).items() if matching(mutant.label)}
    if not mutants:
        return 0, []
    found = []
    with TemporaryDirectory() as folder:
        hunter = Hunter(operator, level, basis, folder)
        for mutant, trial in product(mutants.values(), hunter.trials):
            if trial.case.expect == REJECTION or mutant.basis == trial.case.basis == MEASURED:
                continue
            kill = hunter.try_one(mutant, trial)
            if kill is not None:
                found.append(FalseAlarm(mutant.name, mutant.fault.does, kill, trial.case.relation))
    return len(mutants), found
