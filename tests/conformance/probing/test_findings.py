"""Which negative cases a probe's findings leave out: exactly those that were accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from probing import (
    LEVEL,
    MEASURED,
    ROUND,
    SHIFT,
    Taught,
    measured_in,
    probed,
    recorded,
    takes_int8,
    takes_odd_totals,
    takes_other_halves,
    write,
)

from dmlcts.conformance.probing.findings import accepted_beyond
from dmlcts.conformance.probing.probe import ACCEPTED, REFUSED, ProbeAnswer, Probed, probe, probes
from dmlcts.generator.case.case import Case
from dmlcts.generator.negative.cases import negative_cases, negatives, unenforced_rules
from dmlcts.generator.plan.plan import plan_of
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.model.measurement import ALL, MeasuredDifference
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, load_text, operator_names


def rejected_rules(operator: Operator) -> Counter[str]:
    return Counter(label for case in negative_cases(plan_of(operator)) for label in case.covers)


def test_what_directml_accepts_need_not_be_rejected(tmp_path: Path) -> None:
    before = rejected_rules(load(SHIFT).strict())
    write(tmp_path, recorded(probed(SHIFT, takes_int8)), name=SHIFT)
    lenient = measured_in(tmp_path, SHIFT)
    assert [(a.rule, a.evidence, a.ways, a.types, str(a.until)) for a in lenient.accepts] == [
        (
            f"support/{tensor}/data-type",
            "probe of DirectML 9.9 on 2026-11-20",
            ("data-type/ATensor+BTensor+OutputTensor=INT8",),
            ALL,
            LEVEL,
        )
        for tensor in ("ATensor", "BTensor", "OutputTensor")
    ]
    assert before - rejected_rules(lenient) == Counter(
        {f"rejects/support/{tensor}/data-type": 1 for tensor in ("ATensor", "BTensor", "OutputTensor")}
    )


TILE = Path(__file__).parents[2] / "data" / "operators" / "tile.yaml"
POOLING = "MAX_POOLING1"


def tile() -> Operator:
    return load_text(TILE.read_text(encoding="utf-8") + "  attributes: {Repeats: [[1, 2, 1, 3]]}\n", TILE)


def found_in(operator: Operator, accepts: Callable[[Case], bool]) -> list[MeasuredDifference]:
    """What a probe finds of an implementation that, of what the rules forbid, accepts this."""
    at = feature_level(LEVEL)
    answers = ((each, ProbeAnswer(ACCEPTED if not each.rules or accepts(each.case) else REFUSED)) for each in probes(operator, at))
    return accepted_beyond(Probed(operator, at, tuple(answers)))


def left_out(operator: Operator, accepts: Iterable[MeasuredDifference], level: str = LEVEL) -> set[str]:
    """The negative cases that are not demanded once this was measured of DirectML."""
    found = replace(MEASURED, level=level, accepts=tuple(accepts))
    lenient = replace(operator.strict(), measurements=lambda: (found,))
    return ids(operator.strict()) - ids(lenient)


def ids(operator: Operator) -> set[str]:
    return {case.id for case in negative_cases(plan_of(operator))}


def data_types_refused(operator: Operator) -> set[str]:
    return {
        case.desc.tensor("InputTensor").data_type for case in negative_cases(plan_of(operator)) if "/negative/data-type/" in case.id
    }


def test_float64_accepted_in_tile_leaves_the_other_data_types_demanded() -> None:
    operator = tile()
    found = found_in(operator, lambda case: {tensor.data_type for _, tensor in case.desc.tensors()} == {"FLOAT64"})
    expected = {"TILE/FLOAT32/negative/data-type/InputTensor+OutputTensor=FLOAT64"}
    assert left_out(operator, found) == expected
    assert ids(operator.strict()) - ids(operator) == expected  # as its file says
    assert data_types_refused(operator.strict()) == data_types_refused(operator) | {"FLOAT64"}
    assert data_types_refused(operator) >= {"UINT4", "INT4", "UNKNOWN"}


def short_with_wide_indices(case: Case) -> bool:
    return (
        any(bound.short == 4 for bound in case.bindings.values()) and case.desc.tensor("OutputIndicesTensor").data_type == "UINT64"
    )


def test_a_leniency_with_uint64_indices_leaves_uint32_demanded() -> None:
    operator = load(POOLING)
    gone = left_out(operator, found_in(operator, short_with_wide_indices))
    sizes = {case_id for case_id in ids(operator.strict()) if "/binding/size/" in case_id}
    assert gone == {case_id for case_id in sizes if case_id.split("/")[1].endswith("-UINT64")}
    assert {case_id.split("/")[1] for case_id in sizes - gone} >= {"FLOAT32-UINT32", "FLOAT16-UINT32"}
    assert f"{POOLING}/FLOAT32-UINT64/negative/binding/size/InputTensor-4" in gone


WRONG = {
    "another value": lambda found: replace(found, ways=tuple(way.replace("-4", "-8") for way in found.ways)),
    "another tensor": lambda found: replace(found, ways=tuple(way.replace("InputTensor", "OutputTensor") for way in found.ways)),
    "another rule": lambda found: replace(found, what=found.what.replace("size", "offset")),
    "the first tensor's type alone": lambda found: replace(found, types=tuple(types.partition("-")[0] for types in found.types)),
    "the types exchanged": lambda found: replace(found, types=tuple("-".join(reversed(types.split("-"))) for types in found.types)),
    "no types": lambda found: replace(found, types=()),
    "no ways": lambda found: replace(found, ways=()),
    "not waived": lambda found: replace(found, waived=False),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_finding_that_is_subtly_wrong_leaves_out_nothing(wrong: str) -> None:
    operator = load(POOLING)
    right = MeasuredDifference("binding/InputTensor/size", ("binding/size/InputTensor-4",), ("FLOAT32-UINT64",), waived=True)
    assert left_out(operator, [right]) == {f"{POOLING}/FLOAT32-UINT64/negative/binding/size/InputTensor-4"}
    assert left_out(operator, [WRONG[wrong](right)]) == set()


def test_one_of_two_broken_rules_is_not_enough() -> None:
    operator = tile()
    found = [each for each in found_in(operator, lambda case: "+OutputTensor=FLOAT64" in case.id) if each.waived]
    assert len(found) == 2
    assert left_out(operator, found)
    assert left_out(operator, found[:1]) == left_out(operator, found[1:]) == set()


def test_all_data_types_are_those_up_to_the_level_that_was_measured() -> None:
    operator = tile()
    found = [MeasuredDifference("binding/InputTensor/size", ("binding/size/InputTensor-4",), ALL, waived=True)]
    every = {case.id: feature_level(case.feature_level) for case in negative_cases(plan_of(operator.strict()))}
    sizes = {case_id: level for case_id, level in every.items() if "binding/size/InputTensor-4" in case_id}
    assert len(set(sizes.values())) > 1
    for measured in ("1_0", "2_1", "6_4"):
        expected = {case_id for case_id, level in sizes.items() if level <= feature_level(measured)}
        assert left_out(operator, found, measured) == expected


def test_a_desc_that_was_accepted_is_demanded_with_no_other_data_types() -> None:
    """A data type that all tensors change to makes the same desc of every choice: it is asked for once, and left out once."""
    operator = tile()
    found = [
        MeasuredDifference(
            f"support/{tensor}/data-type", ("data-type/InputTensor+OutputTensor=FLOAT64",), ("FLOAT32",), waived=True
        )
        for tensor in ("InputTensor", "OutputTensor")
    ]
    assert left_out(operator, found) == {"TILE/FLOAT32/negative/data-type/InputTensor+OutputTensor=FLOAT64"}
    lenient = replace(operator.strict(), measurements=lambda: (replace(MEASURED, accepts=tuple(found)),))
    assert ids(lenient) < ids(operator.strict())


def test_a_rule_is_unenforced_once_every_case_that_breaks_it_was_accepted() -> None:
    operator = load(POOLING)
    some, every = (
        replace(operator.strict(), measurements=lambda found=found: (replace(MEASURED, accepts=tuple(found)),))
        for found in (
            found_in(operator, short_with_wide_indices),
            found_in(operator, lambda case: any(bound.short == 4 for bound in case.bindings.values())),
        )
    )
    assert unenforced_rules(operator.strict()) == unenforced_rules(some) == set()
    assert unenforced_rules(every) == {f"binding/{name}/size" for name in ("InputTensor", "OutputTensor", "OutputIndicesTensor")}


@pytest.mark.parametrize("name", operator_names())
def test_every_waiver_is_about_cases_that_there_are(name: str) -> None:
    """Who changes what cases put in measures anew: `dmlcts probe --write`."""
    operator = load(name)
    seen: dict[str, dict[str, set[str]]] = {}
    for case, way in negatives(plan_of(operator.strict())) if operator.accepts else ():
        for label in case.covers:
            seen.setdefault(label.removeprefix("rejects/"), {}).setdefault(way, set()).add(case.id.split("/")[1])
    for known in operator.accepts:
        for way in known.ways:
            with_types = seen[known.rule][way]
            assert known.types == ALL or set(known.types) < with_types, (known.rule, way)


def test_what_directml_accepts_for_one_data_type(tmp_path: Path) -> None:
    write(tmp_path, recorded(probed(ROUND, takes_other_halves)))
    about = {
        case.data_type for case in negative_cases(plan_of(measured_in(tmp_path, ROUND))) if case.rule == "constraint/same-sizes"
    }
    assert about == {"FLOAT32"}


def test_a_rule_enforced_in_part_stays_demanded(tmp_path: Path) -> None:
    before = rejected_rules(load(ROUND).strict())
    write(tmp_path, recorded(probed(ROUND, takes_odd_totals)))
    after = measured_in(tmp_path, ROUND)
    assert [entry.what for entry in after.probe_measurements[0].accepts] == [
        "tensor/InputTensor/total-size",
        "tensor/OutputTensor/total-size",
    ]
    assert after.accepts == ()
    assert rejected_rules(after) == before


def test_what_another_implementation_accepts_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, replace(recorded(probed(SHIFT, takes_int8)), by="DirectMLike 1"), name=SHIFT)
    assert measured_in(tmp_path, SHIFT).probe_measurements[0].accepts
    assert measured_in(tmp_path, SHIFT).accepts == ()


def test_probing_what_is_waived_finds_it_again(tmp_path: Path) -> None:
    found = recorded(probed(SHIFT, takes_int8))
    write(tmp_path, found, name=SHIFT)
    assert recorded(probe(measured_in(tmp_path, SHIFT), Taught(takes_int8), LEVEL)) == found
