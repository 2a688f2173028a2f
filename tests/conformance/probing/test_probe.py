"""``dmlcts probe``: what is asked, and what the answers say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from probing import (
    COUNT,
    LEVEL,
    ROUND,
    SAMPLE,
    SHIFT,
    Taught,
    broken,
    once,
    probed,
    recorded,
    refuses,
    takes_any_mode,
    takes_int8,
    takes_odd_totals,
    takes_other_halves,
    types_of,
)

from dmlcts.conformance.backends.backend import BackendFault, Dispatch, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.probing.findings import accepted_beyond, ranges, refused_promises, unanswered_promises
from dmlcts.conformance.probing.measured import differs
from dmlcts.conformance.probing.probe import ACCEPTED, REFUSED, Probe, ProbeAnswer, Probed, ask, probe, probes
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.model.measurement import ALL, MeasuredDifference, Measurement
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations

# What is asked


@pytest.mark.parametrize("name", SAMPLE)
def test_every_cell_of_every_table_is_asked(name: str) -> None:
    operator = load(name)
    promised = {label for each in probes(operator, feature_level(LEVEL)) for label in each.promises if label.startswith("support/")}
    assert promised == {
        f"support/{table.level}/{tensor}/{data_type}/{count}d"
        for table in operator.support
        for tensor, row in table.tensors.items()
        for data_type in row.data_types
        for count in row.dimension_counts()
    }


@pytest.mark.parametrize("name", SAMPLE)
def test_a_probe_says_truly_whether_it_is_valid(name: str) -> None:
    operator = load(name)
    for each in probes(operator, feature_level(LEVEL)):
        assert bool(each.promises) != bool(each.rules), each.case.id
        if each.what != "negative" or not each.case.bindings:
            assert {v.label for v in violations(operator, each.case.desc)} == set(each.rules), each.case.id


def test_what_the_tables_do_not_list_is_asked() -> None:
    asked = {(each.what, each.place, each.way) for each in probes(load(SHIFT), feature_level(LEVEL)) if each.rules}
    together = "ATensor+BTensor+OutputTensor"
    signed = ("INT8", "INT16", "INT32", "INT64", "FLOAT16", "FLOAT32", "FLOAT64", "UINT4", "INT4", "UNKNOWN")
    for place in (together, "ATensor", "BTensor", "OutputTensor"):
        assert {("data-type", place, data_type) for data_type in signed} <= asked
        assert {("dimension-count", place, str(count)) for count in (0, 9)} <= asked
    assert ("data-type", together, "UINT8") not in asked
    assert ("dimension-count", together, "8") not in asked
    assert {("data-type", "BTensor", data_type) for data_type in ("UINT8", "UINT16", "UINT32", "UINT64")} <= asked
    assert {("flags", "OutputTensor", "OWNED_BY_DML"), ("flags", "ATensor", "0x2"), ("total-size", "BTensor", "+1")} <= asked
    assert {("alignment", "ATensor", "12"), ("sizes", "OutputTensor", "[3]=1"), ("sizes", "OutputTensor", "reversed")} <= asked


def test_promises_besides_the_tables() -> None:
    found = probed(ROUND).promises()
    others = Counter(label.rpartition("/")[0] for label in found if not label.startswith("support/"))
    assert others == {
        "attribute/RoundingMode": 3,
        "layout/InputTensor": 11,
        "layout/OutputTensor": 6,
        "in-place/OutputTensor": 1,
        "total-size/InputTensor": 2,
        "total-size/OutputTensor": 2,
        "alignment/InputTensor": 9,
        "alignment/OutputTensor": 9,
        "flags/InputTensor": 1,
    }


def test_an_alignment_that_is_guaranteed_is_kept() -> None:
    seen: list[tuple[int, int]] = []

    def look(dispatch: Dispatch) -> bool:
        if not broken(dispatch):
            tensors = dict(dispatch.desc.tensors())
            seen.extend((dispatch.bindings[name].offset, tensor.alignment) for name, tensor in tensors.items() if tensor.alignment)
        return False

    probed(ROUND, look)
    assert {alignment for _, alignment in seen} >= {16, 64, 65536}
    assert all(offset % alignment == 0 for offset, alignment in seen)


def test_a_backend_of_a_lower_level_is_asked_about_that_level() -> None:
    found = probed(SHIFT, level="3_0")
    assert {label.split("/")[1] for label in found.cells()} == {"2_1", "3_0"}
    assert not {each.types for each, _ in found.answers} & {"UINT64"}
    wide = [each for each, _ in found.answers if each.what == "data-type" and each.way == "UINT64" and "+" in each.place]
    assert wide
    assert all("support/ATensor/data-type" in each.rules for each in wide)
    assert not differs(recorded(found))


# What the answers say


@pytest.mark.parametrize(("name", "cells"), [(ROUND, 36), (SHIFT, 177)])
def test_the_reference_confirms_everything_and_accepts_nothing_else(name: str, cells: int) -> None:
    found = probe(load(name), ReferenceBackend(), LEVEL)
    assert set(found.promises().values()) == {"confirmed"}
    measurement = recorded(found)
    refused = sum(bool(each.rules) for each, _ in found.answers)
    at_bind = sum(bool(each.case.bindings) for each, _ in found.answers)
    assert refused > 250
    assert at_bind >= 12
    assert measurement == Measurement(
        by="DirectML 9.9",
        date="2026-11-20",
        level="6_4",
        probes=len(found.answers),
        cells=cells,
        confirmed=cells,
        device="a device",
        suite="0.0",
        command=f"dmlcts probe --backend directml {name}",
        rejections={"create": refused - at_bind, "bind": at_bind},
    )
    assert not differs(measurement)


def test_a_data_type_that_is_not_listed() -> None:
    found = recorded(probed(SHIFT, takes_int8))
    tensors, way = ("ATensor", "BTensor", "OutputTensor"), "data-type/ATensor+BTensor+OutputTensor=INT8"
    assert found.accepts == (
        *(MeasuredDifference(f"support/{tensor}/data-type", ("INT8",)) for tensor in tensors),
        *(MeasuredDifference(f"support/{tensor}/data-type", (way,), ALL, waived=True) for tensor in tensors),
    )
    assert (found.refuses, found.unknown, found.confirmed) == ((), (), 177)
    assert differs(found)


def test_a_rule_that_is_enforced_in_part_is_not_waived() -> None:
    found = recorded(probed(ROUND, takes_odd_totals))
    assert found.accepts == tuple(
        MeasuredDifference(f"tensor/{tensor}/total-size", ("+1", "+2", "+3")) for tensor in ("InputTensor", "OutputTensor")
    )


def test_a_rule_that_is_not_enforced_at_all() -> None:
    ways = "enum/RoundingMode=3", "enum/RoundingMode=4294967295"
    assert accepted_beyond(probed(ROUND, takes_any_mode)) == [
        MeasuredDifference("enum/RoundingMode"),
        MeasuredDifference("enum/RoundingMode", ways, ALL, waived=True),
    ]


def test_a_rule_that_is_not_enforced_for_one_data_type() -> None:
    besides, waived = accepted_beyond(probed(ROUND, takes_other_halves))
    assert {found.what for found in (besides, waived)} == {"constraint/same-sizes"}
    assert (besides.types, besides.waived, waived.types, waived.waived) == (("FLOAT16",), False, ("FLOAT16",), True)
    assert {"InputTensor=[3]+1", "OutputTensor=reversed", "OutputTensor=[1]=1"} <= set(besides.ways)
    assert {"sizes/InputTensor=1,2,3,5", "sizes/OutputTensor=4,3,2,1"} <= set(waived.ways)


def test_data_types_that_were_all_tried_are_not_listed() -> None:
    """BIT_COUNT's negative cases are of one data type a width."""
    found = accepted_beyond(probed(COUNT, lambda dispatch: broken(dispatch) == {"tensor/OutputTensor/alignment"}))
    ways = "alignment/OutputTensor=24", "alignment/OutputTensor-below-size"
    assert found == [
        MeasuredDifference("tensor/OutputTensor/alignment"),
        MeasuredDifference("tensor/OutputTensor/alignment", ways, ALL, waived=True),
    ]


BESIDES, WAIVED = MeasuredDifference("enum/RoundingMode", ("3",)), MeasuredDifference("enum/RoundingMode", ("3",), waived=True)


@pytest.mark.parametrize(
    ("demanded", "first", "second", "found"),
    [
        (False, ACCEPTED, ACCEPTED, replace(BESIDES, ways=())),
        (False, ACCEPTED, REFUSED, BESIDES),
        (False, ACCEPTED, "unknown", BESIDES),
        (True, ACCEPTED, ACCEPTED, replace(WAIVED, ways=("3", "100"))),
        (True, ACCEPTED, REFUSED, WAIVED),
        (True, ACCEPTED, "unknown", WAIVED),
        (True, REFUSED, REFUSED, None),
        (True, "unknown", "unknown", None),
    ],
)
def test_when_a_rule_is_waived(demanded: bool, first: str, second: str, found: MeasuredDifference | None) -> None:
    one, two = (replace(asked(way, "FLOAT32"), demanded=demanded) for way in ("3", "100"))
    differences = accepted_beyond(answered((one, first), (two, second)))
    assert [replace(difference, types=()) for difference in differences] == ([found] if found else [])


def asked(way: str, types: str) -> Probe:
    """The question of ROUND about one number that is no constant."""
    every = probes(load(ROUND), feature_level(LEVEL))
    return next(each for each in every if each.rules == ("enum/RoundingMode",) and (each.way, each.types) == (way, types))


def answered(*answers: tuple[Probe, str]) -> Probed:
    return Probed(load(ROUND), feature_level(LEVEL), tuple((each, ProbeAnswer(status)) for each, status in answers))


@pytest.mark.parametrize(
    ("single", "half", "types"),
    [
        (ACCEPTED, ACCEPTED, ALL),
        (ACCEPTED, REFUSED, ("FLOAT32",)),
        (REFUSED, ACCEPTED, ("FLOAT16",)),
        (ACCEPTED, "unknown", ("FLOAT32",)),
        (REFUSED, REFUSED, None),
    ],
)
def test_a_waiver_has_the_data_types_that_were_accepted(single: str, half: str, types: tuple[str, ...] | None) -> None:
    one, two = (replace(asked("3", name), demanded=True) for name in ("FLOAT32", "FLOAT16"))
    expected = [MeasuredDifference("enum/RoundingMode", ("3",), types, waived=True)] if types else []
    assert accepted_beyond(answered((one, single), (two, half))) == expected


def test_a_listed_data_type_that_is_refused() -> None:
    found = recorded(probed(ROUND, refuses(lambda dispatch: "FLOAT16" in types_of(dispatch))))
    assert found.refuses == tuple(
        MeasuredDifference(f"support/{table}/{tensor}", (f"FLOAT16 {dimensions}d",), message="compile E_NO")
        for table, dimensions in (("3_0", "1-8"), ("2_1", "4"))
        for tensor in ("InputTensor", "OutputTensor")
    )
    assert (found.cells, found.confirmed, found.accepts, found.unknown) == (36, 18, (), ())
    assert found.rejections["compile"] > 50


def test_listed_dimension_counts_that_are_refused() -> None:
    found = probed(ROUND, refuses(lambda d: len(next(d.desc.tensors())[1].sizes) in (1, 6, 7, 8), "create", ""))
    assert refused_promises(found) == [
        MeasuredDifference(f"support/3_0/{tensor}", ("FLOAT32 FLOAT16 1,6-8d",), message="create")
        for tensor in ("InputTensor", "OutputTensor")
    ]


def test_data_types_that_are_taken_singly_and_not_together() -> None:
    found = probed(COUNT, refuses(lambda dispatch: types_of(dispatch) == ["FLOAT64", "UINT8"]))
    assert refused_promises(found) == [MeasuredDifference("support", (), ("FLOAT64-UINT8",), "compile E_NO")]
    assert set(found.cells().values()) == {"confirmed"}


def test_refused_alignments_are_in_order_and_said_once() -> None:
    def coarse(dispatch: Dispatch) -> bool:
        return any(0 < tensor.alignment < 16 for _, tensor in dispatch.desc.tensors())

    assert refused_promises(probed(ROUND, refuses(coarse, "create", "0x80070057"))) == [
        MeasuredDifference(f"alignment/{tensor}", ("2", "4", "8"), message="create 0x80070057")
        for tensor in ("InputTensor", "OutputTensor")
    ]


def test_refused_layouts_attributes_and_places() -> None:
    def narrow(dispatch: Dispatch) -> bool:
        tensors = dict(dispatch.desc.tensors())
        strides = tensors["InputTensor"].strides
        in_place = len(dispatch.resources) == 1
        return dispatch.desc.fields["RoundingMode"] == "TOWARD_ZERO" or in_place or bool(strides and 0 in strides)

    assert refused_promises(probed(ROUND, refuses(narrow))) == [
        MeasuredDifference("attribute/RoundingMode", ("TOWARD_ZERO",), message="compile E_NO"),
        MeasuredDifference(
            "layout/InputTensor",
            ("broadcast-all", "per-channel", "broadcast-first", "broadcast-middle", "broadcast-last"),
            message="compile E_NO",
        ),
        MeasuredDifference("in-place/OutputTensor", ("InputTensor",), message="compile E_NO"),
    ]


def test_a_refusal_that_no_promise_explains() -> None:
    found = probed(ROUND, refuses(lambda d: types_of(d)[0] == "FLOAT16" and d.desc.fields["RoundingMode"] == "TOWARD_ZERO"))
    ways = tuple(f"{count}d/TOWARD_ZERO" for count in range(1, 9))
    assert refused_promises(found) == [MeasuredDifference("table", ways, ("FLOAT16",), "compile E_NO")]
    assert set(found.promises().values()) == {"confirmed"}


def test_a_fault_is_neither_a_refusal_nor_an_acceptance() -> None:
    probes_ = probed(ROUND, once)
    found = recorded(probes_)
    assert found.unknown == (MeasuredDifference("total-size/OutputTensor", ("+64",), ("FLOAT16",), "the host ended"),)
    assert (found.accepts, found.refuses, found.confirmed) == ((), (), 36)
    [message] = [answer.message for _, answer in probes_.answers if answer.status == "unknown"]
    assert message == "the host ended\nexit code 7"
    assert differs(found)


@pytest.mark.parametrize("error", [Unsupported("no such thing"), BackendFault("it hung")])
def test_who_gives_no_answer_confirms_nothing(error: Exception) -> None:
    def silent(dispatch: Dispatch) -> bool:
        raise error

    found = recorded(probed(ROUND, silent))
    assert (found.cells, found.confirmed, found.accepts, found.refuses, found.rejections) == (36, 0, (), (), {})
    assert sum(len(entry.ways) for entry in found.unknown) > 100
    assert all(str(error) in entry.message for entry in found.unknown)


def test_any_other_exception_is_no_answer_either() -> None:
    def clumsy(dispatch: Dispatch) -> bool:
        raise KeyError("x")

    answer = ask(Taught(clumsy), next(probes(load(ROUND), feature_level(LEVEL))).case)
    assert (answer.status, answer.message.splitlines()[0]) == ("unknown", "KeyError: 'x'")


def test_a_promise_is_unknown_where_one_probe_was_refused_and_another_not_answered() -> None:
    [each] = [p for p in probes(load(ROUND), feature_level(LEVEL)) if p.case.id.endswith("FLOAT32/2d/TOWARD_ZERO")]
    answers = ((each, ProbeAnswer(REFUSED, "create", "create")), (each, ProbeAnswer("unknown", "it hung")))
    found = Probed(load(ROUND), feature_level(LEVEL), answers)
    assert set(found.promises().values()) == {"unknown"}
    assert [entry.what for entry in (*refused_promises(found), *unanswered_promises(found))] == ["table", "table"]
    accepted = Probed(load(ROUND), feature_level(LEVEL), ((each, ProbeAnswer(ACCEPTED)), *answers))
    assert set(accepted.promises().values()) == {"confirmed"}


def test_what_is_computed_is_not_looked_at() -> None:
    class Idle(Taught):
        def compute(self, desc: Any, inputs: Any) -> dict[str, Any]:
            return {name: next(iter(inputs.values())) for name in ("OutputTensor",)}

    case = next(probes(load(ROUND), feature_level(LEVEL))).case
    assert ask(Idle(), case) == ProbeAnswer(ACCEPTED)


@pytest.mark.parametrize(
    ("numbers", "text"), [([1, 2, 3, 8], "1-3,8"), ([4], "4"), ([2, 1], "1-2"), ([1, 3, 5], "1,3,5"), ([], "")]
)
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text
