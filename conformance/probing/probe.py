"""What a backend accepts and what it refuses, asked desc by desc: the documentation's claims, measured.

A probe is a dispatch of which only one thing matters: whether it is refused. Those that a spec allows carry the promises that they stand
for (a cell of a table, a layout, an alignment); those that it forbids carry the rules that they break, as ``spec.rules`` says.

| what | valid probes | invalid ones |
|---|---|---|
| data types, dimension counts | every cell of every table | each other type and count, alone and with the tensors tied to it |
| sizes | | one more, one, and exchanged, in one tensor |
| layouts, in place | each alone | outputs whose elements lie in one place |
| total size | larger, by a multiple of 4 | too small, or no multiple of 4 |
| alignment | powers of two from the element's size on | anything else |
| flags | OWNED_BY_DML on an input | on an output; unknown flags |
| enumerations | every constant | numbers beyond |

The generator's negative cases are asked besides, whatever the spec says is not required. Neither answer is inferred: a backend that
does not claim something, crashes or hangs leaves its probe unknown, with its message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dmlcts.conformance.backends.backend import Backend, BufferBinding, Dispatch
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.execution.outcome import attempt
from dmlcts.conformance.probing.listed import listed_cases
from dmlcts.generator.case.build import support_cells
from dmlcts.generator.case.case import REJECTION, Case
from dmlcts.generator.negative.cases import negatives
from dmlcts.generator.negative.descs import resize_tensors
from dmlcts.generator.plan.desc_plan import DescPlan
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.type_choices import TypeChoice, padded_run
from dmlcts.reports.record.record import FAIL
from dmlcts.spec.model.abi import FeatureLevel, abi, feature_level
from dmlcts.spec.model.desc import UNKNOWN as NO_TYPE
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.rules.rules import violations

CONFIRMED, REFUSED, UNKNOWN = "confirmed", "refused", "unknown"
"""What becomes of a promise. An answer is one of the last two, or ACCEPTED."""

ACCEPTED = "accepted"

_KIND = "probe"
_RUN = (1, 2, 3, 4)
_TOTALS = (-4, -1, 1, 2, 3, 4, 64)
_ALIGNMENTS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 256, 4096, 65536)

_FLAGS = (2, 4, 1 << 31)
_BEYOND = (100, 0x7FFFFFFF, 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Probe:
    """One question. ``promises`` are what acceptance confirms, ``rules`` what the desc or the bindings break: one of the two is empty.

    ``place`` and ``way`` say what was changed and how: ``ATensor`` and ``+1``. ``types`` is the whole combination of the tensors' data types.
    ``demanded`` marks a negative case of the generator, whose way says the place too.
    """

    case: Case
    what: str
    place: str
    way: str
    types: str
    promises: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    demanded: bool = False


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What a backend made of a probe: ACCEPTED, REFUSED (``message`` is stage and code) or UNKNOWN (``message`` is the evidence)."""

    status: str
    message: str = ""
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Probed:
    """An operator's probes with a backend's answers at a feature level."""

    operator: Operator
    level: FeatureLevel
    answers: tuple[tuple[Probe, ProbeAnswer], ...]

    def promises(self) -> dict[str, str]:
        """What became of each promise: CONFIRMED if a probe of it was accepted, REFUSED if all were refused, UNKNOWN otherwise."""
        found: dict[str, set[str]] = {}
        for probe, answer in self.answers:
            for label in probe.promises:
                found.setdefault(label, set()).add(answer.status)
        return {
            label: CONFIRMED if ACCEPTED in statuses else REFUSED if statuses == {REFUSED} else UNKNOWN
            for label, statuses in found.items()
        }

    def cells(self) -> dict[str, str]:
        """The promises that are cells of tables: ``support/4_1/ATensor/UINT8/4d``."""
        return {label: status for label, status in self.promises().items() if label.startswith("support/")}

    def rejections(self) -> dict[str, int]:
        """How many probes were refused, by stage."""
        return dict(Counter(answer.stage for _, answer in self.answers if answer.status == REFUSED))


def probe(operator: Operator, backend: Backend, level: str, timeout: float | None = None) -> Probed:
    """Asks a backend of a feature level everything about an operator. ``timeout`` limits each probe, in seconds.

    Raises:
        NotGenerable: the spec says something that no desc can be made of.
    """
    at = feature_level(level)
    return Probed(operator, at, tuple((each, ask(backend, each.case, timeout)) for each in probes(operator, at)))


def ask(backend: Backend, case: Case, timeout: float | None = None) -> ProbeAnswer:
    """Whether a backend runs a case's dispatch; what it computes is not looked at."""
    dispatch = lay_out(case, {}, {}, timeout).dispatch
    outcome = attempt(backend, _from_the_start(dispatch) if case.kind == _KIND else dispatch)
    if outcome is None:
        return ProbeAnswer(ACCEPTED)
    if outcome.status == FAIL:
        stage, code = outcome.evidence["stage"], outcome.evidence["code"]
        return ProbeAnswer(REFUSED, f"{stage} {code}".strip(), stage)
    evidence = str(outcome.evidence.get("fault", ""))
    return ProbeAnswer(UNKNOWN, f"{outcome.message}\n{evidence}".strip())


def _from_the_start(dispatch: Dispatch) -> Dispatch:
    """The dispatch with each tensor bound from a resource's first byte on, which keeps whatever alignment it guarantees."""
    resources = [np.zeros(binding.size, np.uint8) for binding in dispatch.bindings.values()]
    bindings = {name: BufferBinding(index, 0, binding.size) for index, (name, binding) in enumerate(dispatch.bindings.items())}
    return replace(dispatch, resources=resources, bindings=bindings)


# What is asked


def probes(operator: Operator, level: FeatureLevel) -> Iterator[Probe]:
    """Every probe of an operator for a backend of a feature level, which later levels' tables promise nothing."""
    plan = plan_of(operator)
    for case in listed_cases(plan):
        if feature_level(case.feature_level) <= level:
            promises = dict.fromkeys((*support_cells(plan, case.desc), *case.covers))
            types, *way = case.id.split("/")[1:]
            yield Probe(case, case.kind, "", "/".join(way).removeprefix(f"{case.kind}/"), types, _promises_until(level, promises))
    for choice in plan.choices:
        if choice.level <= level:
            yield from _changed_probes(choice, level)
    for case, change in negatives(plan_of(operator.strict())):
        if feature_level(case.feature_level) <= level:
            rules = tuple(label.removeprefix("rejects/") for label in case.covers)
            yield Probe(case, "negative", "", change, case.id.split("/")[1], rules=rules, demanded=True)


def _promises_until(level: FeatureLevel, promises: Iterable[str]) -> tuple[str, ...]:
    """The promises without the cells of later levels' tables."""
    return tuple(label for label in promises if not label.startswith("support/") or feature_level(label.split("/")[1]) <= level)


def _changed_probes(choice: TypeChoice, level: FeatureLevel) -> Iterator[Probe]:
    plan, operator, usual = choice.plan, choice.plan.operator, choice.attributes[0]
    base = choice.usual_desc(_RUN, usual)
    lowest = plan.level_of(base) or choice.level
    for what, place, way, changed in _changes(plan, base, usual):
        desc = plan.recompute(changed, usual) if what in _ASKED_BY_CELLS else changed
        rules = tuple(sorted({v.label for v in violations(operator, desc, level)}))
        if not rules and what in _ASKED_BY_CELLS:
            continue
        case = Case(
            id=f"{operator.name}/{choice.label}/probe/{what}/{place}={way}",
            kind=_KIND,
            level="full",
            desc=desc,
            operator=operator,
            feature_level=str(lowest),
            data_type=choice.main,
            expect=REJECTION,
        )
        promises = () if rules else (*support_cells(plan, desc), f"{what}/{place}/{way}")
        yield Probe(case, what, place, way, choice.label, _promises_until(level, promises), rules)


_ASKED_BY_CELLS = ("data-type", "dimension-count", "sizes")


def _changes(plan: DescPlan, base: OperatorDesc, usual: Mapping[str, object]) -> Iterator[tuple[str, str, str, OperatorDesc]]:
    """A desc changed in one place: what was changed, where, how, and what became of it."""
    for names in _together_and_alone(plan, "DataType"):
        for data_type in (*abi().data_types, NO_TYPE):
            yield "data-type", "+".join(names), data_type, _replace_fields(base, names, data_type=data_type)
    for names in _together_and_alone(plan, "DimensionCount"):
        for count in range(abi().limits["dimension_count"] + 2):
            desc = resize_tensors(plan, base, names, padded_run(_RUN, count) if count else (), usual)
            yield "dimension-count", "+".join(names), str(count), desc
    for name, tensor in base.tensors():
        for what, way, changes in _tensor_changes(tensor):
            yield what, name, way, _replace_fields(base, (name,), **changes)
    for field in plan.operator.attributes():
        if field.enum and field.enum != "DML_TENSOR_DATA_TYPE":
            for value in (len(abi().enums[field.enum].values), *_BEYOND):
                yield "enum", field.name, str(value), base.with_fields(**{field.name: value})


def _tensor_changes(tensor: TensorDesc) -> Iterator[tuple[str, str, dict[str, object]]]:
    sizes = tensor.sizes
    for index, size in enumerate(sizes):
        for way, other in ((f"[{index}]+1", size + 1), (f"[{index}]=1", 1)):
            yield "sizes", way, {"sizes": (*sizes[:index], other, *sizes[index + 1 :])}
    yield "sizes", "reversed", {"sizes": tuple(reversed(sizes))}
    for more in _TOTALS:
        yield "total-size", f"{more:+}", {"total_size": tensor.bytes + more}
    for alignment in _ALIGNMENTS:
        yield "alignment", str(alignment), {"alignment": alignment}
    flags = {name: bit for name, bit in abi().tensor_flags.items() if bit} | {f"{bit:#x}": bit for bit in _FLAGS}
    for name, bit in flags.items():
        yield "flags", name, {"flags": bit}


def _together_and_alone(plan: DescPlan, what: str) -> list[tuple[str, ...]]:
    groups = plan.tied_groups(what)
    return [*groups, *((name,) for group in groups if len(group) > 1 for name in group)]


def _replace_fields(desc: OperatorDesc, names: Collection[str], **changes: object) -> OperatorDesc:
    present = {name: tensor for of in names for name, tensor in desc.called(of)}  # an optional one may be absent
    return desc.with_tensors({name: replace(tensor, **changes) for name, tensor in present.items()})  # type: ignore[arg-type]
