"""Faults in the values of any operator: right everywhere, but for tensors of a certain kind; and results put in the wrong order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dmlcts.conformance.mutants.old.activations import line_mutants
from dmlcts.conformance.mutants.old.arithmetic import arithmetic_mutants
from dmlcts.conformance.mutants.old.bitwise import bitwise_mutants
from dmlcts.conformance.mutants.old.comparison import comparison_mutants
from dmlcts.conformance.mutants.old.count import count_mutants
from dmlcts.conformance.mutants.old.curves import curve_mutants
from dmlcts.conformance.mutants.old.dense import dense_mutants
from dmlcts.conformance.mutants.old.functions import function_mutants
from dmlcts.conformance.mutants.old.limits import limit_mutants
from dmlcts.conformance.mutants.old.logic import logic_mutants
from dmlcts.conformance.mutants.old.mutant import Mutant
from dmlcts.conformance.mutants.old.powers import power_mutants
from dmlcts.conformance.mutants.old.quantization import quantization_mutants
from dmlcts.conformance.mutants.old.quotients import quotient_mutants
from dmlcts.conformance.mutants.old.rounding import rounding_mutants
from dmlcts.conformance.mutants.old.shift import shift_mutants
from dmlcts.conformance.mutants.old.softmax import softmax_mutants

_OWN: tuple[Callable[[], Iterator[Mutant]], ...] = (
    count_mutants,
    logic_mutants,
    shift_mutants,
    bitwise_mutants,
    rounding_mutants,
    arithmetic_mutants,
    quotient_mutants,
    function_mutants,
    power_mutants,
    comparison_mutants,
    limit_mutants,
    quantization_mutants,
    line_mutants,
    curve_mutants,
    softmax_mutants,
    dense_mutants,
)
"""What makes the faults of operators' own, by family."""
