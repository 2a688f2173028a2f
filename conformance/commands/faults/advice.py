"""What to do about planted faults that a hunt leaves, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from dmlcts.conformance.faults.hunt.hunt import Hunt
from dmlcts.conformance.faults.model.mutant import Mutant
from dmlcts.conformance.faults.reviewed import MEASURED, NO_FAULT, OPEN
from dmlcts.generator.case.case import REFERENCE, VALUES
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reference.registry import compute, reference_of
from dmlcts.reference.stage import Instead, replace_stages, stages
from dmlcts.spec.reading.loader import load

_SHOWN_BY = {
    "accepts": "a negative case that breaks this rule alone: sizes belong into `shapes` and `domains`, bounds of an attribute into its `least` "
    "and `most`, what relates fields into `constraints`",
    "refuses": "a valid case with what is refused: is it missing in `support`, `cases.attributes` or `cases.sizes`?",
    "wrong-for": "a case with this type, size, layout or value: `support`, `cases.sizes`, `cases.workloads`, `cases.layouts`, `cases.attributes`",
    "strides": "strided tensors of several dimensions, larger than 1: do `shapes` and `cases.sizes` allow them?",
    "memory": "an output with gaps, an offset or odd sizes: do `shapes` and `cases.sizes` allow them?",
    "lost": "outputs of such sizes: `cases.sizes`, `cases.workloads`",
    "in-place": "`in_place`, and data that the operator changes",
}
"""What finds a fault, by how its name begins; for others it depends on what they are about."""

_NAMED = 3


def advice(hunts: Sequence[Hunt], level: str) -> Iterator[str]:
    """What to do about the faults that are left of a hunt with the cases of a level, a line for each way to find some, and about those that are found and should not be."""
    left = [hunt.mutant for hunt in hunts if hunt.is_surprising and hunt.kill is None]
    if left and level != "full":
        yield f"these are the cases of level {level}; those of level full may find more"
    ways: dict[str, list[Mutant]] = {}
    for mutant in left:
        ways.setdefault(shown_by(mutant), []).append(mutant)
    for way, mutants in ways.items():
        yield f"to find {_names(mutants)}: {way}"
    if left:
        yield (
            f"to try one alone: dmlcts run {left[0].operator} --backend {left[0].backend} --level full --basis measured; "
            "what fails there finds it"
        )
        yield (
            "one that breaks no promise is an entry of conformance/faults/reviewed.yaml, with the reason: "
            f"`{NO_FAULT}` if no case may find it, `{MEASURED}` if only what DirectML.dll does forbids it, `{OPEN}` for a gap that stays"
        )
    if found := [hunt.mutant for hunt in hunts if hunt.is_surprising and hunt.kill is not None]:
        yield (
            f"{_names(found)}: either the reason in conformance/faults/reviewed.yaml is wrong, and the entry must go; "
            "or the case tests what nobody promises, and the spec is wrong"
        )


def shown_by(mutant: Mutant) -> str:
    """What a case must have to find a fault, or what the reference must have for it to show at all."""
    about = mutant.label.partition("/")[0]
    if missing := [name for name in mutant.fault.stages if name in stages() and name not in stages_of(mutant.operator)]:
        function = stages()[missing[0]]
        place = f"{function.__module__.partition('.')[2].replace('.', '/')}.py"
        return (
            f"it replaces the step {missing[0]}, which this reference does not use: compute it by `{function.__name__}` of {place}"
        )
    if about in _SHOWN_BY:
        return _SHOWN_BY[about]
    field = next((field for field in load(mutant.operator).fields if field.name == about), None)
    if field is None:
        return "data, attributes or sizes with which it changes the result: `cases.values` (the schema lists recipes and sets), `cases.attributes`, `cases.sizes`"
    if field.is_tensor:
        return f"data or sizes of {about} with which it changes the result: `cases.values`, `cases.sizes`, or a law in `cases.relations`"
    return f"values of {about} with which it changes the result, beside others: `cases.attributes.{about}`, `cases.configurations`"


@cache
def stages_of(operator: str) -> frozenset[str]:
    """The steps of an operator's reference that its cases of level smoke take."""
    reference_of(operator)
    seen = set[str]()

    def note(name: str) -> Instead:
        def run(right: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            seen.add(name)
            return right(*arguments, **named)

        return run

    with replace_stages({name: note(name) for name in stages()}):
        for case in operator_cases(operator, "smoke"):
            if case.expect in (REFERENCE, VALUES):
                compute(case.desc, inputs(case))
    return frozenset(seen)


def _names(mutants: Sequence[Mutant]) -> str:
    more = len(mutants) - _NAMED
    return ", ".join(mutant.name for mutant in mutants[:_NAMED]) + (f" and {more} more" if more > 0 else "")
