"""The families of cases: what each tests, and why. One maker a family, in the order in which cases run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dmlcts.generator.case.case import Case
from dmlcts.generator.covering.cases import combination_cases, editions, unfused_cases
from dmlcts.generator.negative.cases import negative_cases
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.random.cases import random_cases
from dmlcts.generator.suite.repetition import sequence_cases
from dmlcts.generator.sweeps.critical_sizes import critical_size_cases
from dmlcts.generator.sweeps.memory import gap_cases, huge_cases
from dmlcts.generator.sweeps.networks import network_cases
from dmlcts.generator.sweeps.one_factor.data import one_factor_data_cases
from dmlcts.generator.sweeps.one_factor.layouts import one_factor_layout_cases
from dmlcts.generator.sweeps.one_factor.on_networks import on_network_cases
from dmlcts.generator.sweeps.one_factor.reductions import reduction_cases, row_cases
from dmlcts.generator.sweeps.one_factor.resizing import resize_cases
from dmlcts.generator.sweeps.one_factor.sizes import one_factor_size_cases
from dmlcts.generator.sweeps.one_factor.typical import typical_cases
from dmlcts.generator.sweeps.one_factor.unjoined import unjoined_cases
from dmlcts.generator.sweeps.properties import property_cases
from dmlcts.generator.sweeps.special_values import data_cases, scalar_operand_cases, value_cases
from dmlcts.generator.sweeps.usual import example_cases, size_cases, usual_cases
from dmlcts.generator.sweeps.workloads import dispatch_cases, workload_cases, workload_data_cases
from dmlcts.spec.model.operator import Operator

Maker = Callable[[Plan, str], Iterator[Case]]


@dataclass(frozen=True, slots=True)
class Family:
    """A family of cases: its maker, what its cases have, and what is found by it."""

    maker: Maker
    has: str
    why: str


FAMILIES = (
    Family(example_cases, "examples with literal inputs and outputs", "what the documentation or DirectML.dll says, as numbers"),
    Family(usual_cases, "each choice of data types, all else usual", "a data type that does not work at all"),
    Family(
        combination_cases,
        "combinations of types, ranks, sizes, layouts, attributes, bindings",
        "what two or three conditions break",
    ),
    Family(
        unfused_cases,
        "the combinations of level core without their fused operators",
        "what an unfused dispatch breaks, or a host without any",
    ),
    Family(value_cases, "special values: infinities, NaN, zeros, the ends of a range", "wrong results at the edges of a type"),
    Family(scalar_operand_cases, "each special value as a broadcast operand", "separate code for an operand that is a number"),
    Family(data_cases, "further random data of the spec", "a range or a pattern that usual data do not have"),
    Family(
        one_factor_data_cases, "each kind of data in long rows, planes and other layouts", "rows taken in parts, and partial blocks"
    ),
    Family(
        reduction_cases, "types, functions and data along each axis, short and long", "counts beyond 16 bits, padding that counts"
    ),
    Family(
        row_cases,
        "rows of each length, few and many, of each type and function",
        "the kernel of a thread, a wave, a group, several groups",
    ),
    Family(workload_data_cases, "each kind of data at the spec's workloads", "the code path of a network, with unusual data"),
    Family(dispatch_cases, "the spec's single dispatches", "what one choice of sizes and data shows, and no other"),
    Family(size_cases, "the sizes that the spec lists, and 65,537 elements and rows", "a 16-bit index"),
    Family(
        critical_size_cases, "one less than a power of two, the power, one more, in each dimension", "the last vector, wave or tile"
    ),
    Family(
        one_factor_size_cases, "one or two unusual sizes beside even ones, in each configuration", "bugs of the fast path alone"
    ),
    Family(
        resize_cases,
        "outputs that differ from the input in each choice of dimensions",
        "kernels for the dimensions that are scaled",
    ),
    Family(one_factor_layout_cases, "one tensor in each layout, all others packed", "a tensor read by the strides of another"),
    Family(unjoined_cases, "five dimensions of which no two can be joined", "kernels for more dimensions than most tensors have"),
    Family(workload_cases, "the spec's workloads, and others around them", "kernels made for one size, stride or activation"),
    Family(
        network_cases,
        "what real networks dispatch, small and at its own sizes",
        "a kernel that every client runs, and no author thinks of",
    ),
    Family(
        typical_cases,
        "a plain, batched, tile-sized dispatch with one, two or three things unusual",
        "the way out of a kernel's fast path",
    ),
    Family(
        on_network_cases,
        "what networks dispatch, small, with one or two things unusual",
        "the way out of a kernel that is made for a network",
    ),
    Family(gap_cases, "strided outputs whose gaps must not change", "writes beyond the elements"),
    Family(negative_cases, "descs and bindings that break one rule each", "what is accepted and must be rejected"),
    Family(property_cases, "laws, and agreement for data that a search draws", "errors that no listed value shows"),
    Family(random_cases, "random valid dispatches, chosen to meet rare conditions", "conditions that nobody thought of"),
    Family(
        sequence_cases,
        "sequences: initialized, bound, dispatched and submitted again",
        "what one dispatch leaves that shows in the next",
    ),
    Family(huge_cases, "offsets and strides beyond 2^32 bytes", "byte offsets in 32 bits"),
)


def by_family(operator: Operator, cases: Sequence[Case], most: str) -> Iterator[tuple[Family, list[Case]]]:
    """An operator's cases up to a level by the first family that makes them; those of earlier editions are made once more for it."""
    plans = [plan_of(each) for each in (*editions(operator), operator)]
    left = {case.id: case for case in cases}
    for family in FAMILIES:
        ids = {case.id for plan in plans for case in family.maker(plan, most)}
        yield family, [left.pop(case_id) for case_id in list(left) if case_id in ids]
