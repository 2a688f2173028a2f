"""``dmlcts probe``: what is asked, what the answers say, the section in the spec files, the table, and the command."""

from __future__ import annotations

import getpass
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from dmlcts.conformance.backend import Backend, BackendFault, BackendInfo, BackendUnavailable, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.cli import main
from dmlcts.conformance.commands import probe as command_module
from dmlcts.conformance.findings import accepted_beyond, ranges, refused_promises, unanswered
from dmlcts.conformance.measured import differs, measurement_of, public_backend, table, with_measurement, write_measurement
from dmlcts.conformance.probe import ACCEPTED, REFUSED, Answer, Probed, ask, probe, probes
from dmlcts.generator.negatives import negative_cases
from dmlcts.generator.shapes import type_choices
from dmlcts.spec.abi import feature_level
from dmlcts.spec.document import SpecError
from dmlcts.spec.loader import load, load_file, load_text, operator_names
from dmlcts.spec.model import Difference, Measurement, Operator
from dmlcts.spec.rules import violations

ROUND, SHIFT, COUNT = "ELEMENT_WISE_ROUND", "ELEMENT_WISE_BIT_SHIFT_RIGHT", "ELEMENT_WISE_BIT_COUNT"
# The first operators; then attributes of every kind, and tensors of several types, one of which may be absent.
SAMPLE = (
    *(COUNT, "ELEMENT_WISE_BIT_OR", SHIFT, "ELEMENT_WISE_BIT_XOR", ROUND),
    *("ELEMENT_WISE_CLIP1", "ELEMENT_WISE_QUANTIZE_LINEAR"),
)
LEVEL = "6_4"
SOURCES = "\nsources:"


class Taught(ReferenceBackend):
    """The reference as DirectML, with another mind about some dispatches: ``mind`` raises, or says True for "accepted"."""

    def __init__(self, mind: Callable[[Dispatch], bool] = lambda dispatch: False, **changes: Any) -> None:
        super().__init__()
        self.mind = mind
        self.info = replace(self.info, name="DirectML", version="9.9", device="a device", **changes)

    def run(self, dispatch: Dispatch) -> None:
        if not self.mind(dispatch):
            super().run(dispatch)


def broken(dispatch: Dispatch) -> set[str]:
    return {violation.label for violation in violations(load(dispatch.desc.type), dispatch.desc)}


def types_of(dispatch: Dispatch) -> list[str]:
    return [tensor.data_type for _, tensor in dispatch.desc.tensors()]


def takes_int8(dispatch: Dispatch) -> bool:
    return set(types_of(dispatch)) == {"INT8"} and all(label.endswith("/data-type") for label in broken(dispatch))


def takes_odd_totals(dispatch: Dispatch) -> bool:
    """As DirectML.dll: a total that is no multiple of 4 is taken, and one that is too small is not."""
    enough = all(tensor.bytes >= tensor.least_bytes for _, tensor in dispatch.desc.tensors() if tensor.data_type != "UNKNOWN")
    return enough and bool(broken(dispatch)) and all(label.endswith("/total-size") for label in broken(dispatch))


def takes_any_mode(dispatch: Dispatch) -> bool:
    return broken(dispatch) == {"enum/RoundingMode"}


def takes_other_halves(dispatch: Dispatch) -> bool:
    return broken(dispatch) == {"constraint/same-sizes"} and types_of(dispatch)[0] == "FLOAT16"


def refuses(test: Callable[[Dispatch], bool], stage: str = "compile", code: str = "E_NO") -> Callable[[Dispatch], bool]:
    def mind(dispatch: Dispatch) -> bool:
        if test(dispatch) and not broken(dispatch):
            raise Rejected("not here", stage, code)
        return False

    return mind


def probed(name: str, mind: Callable[[Dispatch], bool] = lambda dispatch: False, level: str = LEVEL) -> Probed:
    return probe(load(name), Taught(mind, feature_level=level), level)


def recorded(found: Probed, backend: str = "directml", **info: Any) -> Measurement:
    """The measurement, as if it had been made on one fixed day by one version."""
    measurement = measurement_of(found, BackendInfo("DirectML", "9.9", **{"device": "a device", **info}), backend)
    assert (measurement.suite, len(measurement.date)) == (metadata.version("directml-conformance"), len("2026-11-20"))
    return replace(measurement, date="2026-11-20", suite="0.0")


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
        "layout/InputTensor": 8,
        "layout/OutputTensor": 5,
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
    assert found.accepts == tuple(
        Difference(f"support/{tensor}/data-type", ("INT8",), waived=True) for tensor in ("ATensor", "BTensor", "OutputTensor")
    )
    assert (found.refuses, found.unknown, found.confirmed) == ((), (), 177)
    assert differs(found)


def test_a_rule_that_is_enforced_in_part_is_not_waived() -> None:
    found = recorded(probed(ROUND, takes_odd_totals))
    assert found.accepts == tuple(
        Difference(f"tensor/{tensor}/total-size", ("+1", "+2", "+3")) for tensor in ("InputTensor", "OutputTensor")
    )


def test_a_rule_that_is_not_enforced_at_all() -> None:
    assert accepted_beyond(probed(ROUND, takes_any_mode)) == [Difference("enum/RoundingMode", waived=True)]


def test_a_rule_that_is_not_enforced_for_one_data_type() -> None:
    [found] = accepted_beyond(probed(ROUND, takes_other_halves))
    assert (found.what, found.types, found.waived) == ("constraint/same-sizes", ("FLOAT16",), True)
    assert {"InputTensor=[3]+1", "OutputTensor=reversed", "OutputTensor=[1]=1"} <= set(found.ways)


def test_a_data_type_without_negative_cases_shares_the_waiver() -> None:
    """BIT_COUNT's negative cases are of one data type a width."""
    [found] = accepted_beyond(probed(COUNT, lambda dispatch: broken(dispatch) == {"tensor/OutputTensor/alignment"}))
    assert found == Difference("tensor/OutputTensor/alignment", waived=True)


@pytest.mark.parametrize(
    ("demanded", "first", "second", "found"),
    [
        (False, ACCEPTED, ACCEPTED, Difference("enum/RoundingMode", waived=True)),
        (False, ACCEPTED, REFUSED, Difference("enum/RoundingMode", ("3",))),
        (False, ACCEPTED, "unknown", Difference("enum/RoundingMode", ("3",))),
        (True, ACCEPTED, REFUSED, Difference("enum/RoundingMode", ("3",), waived=True)),
        (True, REFUSED, REFUSED, None),
        (True, "unknown", "unknown", None),
    ],
)
def test_when_a_rule_is_waived(demanded: bool, first: str, second: str, found: Difference | None) -> None:
    asked = [
        each for each in probes(load(ROUND), feature_level(LEVEL)) if each.rules == ("enum/RoundingMode",) and not each.demanded
    ]
    one, two = (next(each for each in asked if each.way == way) for way in ("3", "100"))
    answers = tuple((replace(each, demanded=demanded), Answer(said)) for each, said in ((one, first), (two, second)))
    differences = accepted_beyond(Probed(load(ROUND), feature_level(LEVEL), answers))
    assert [replace(difference, types=()) for difference in differences] == ([found] if found else [])


def test_a_listed_data_type_that_is_refused() -> None:
    found = recorded(probed(ROUND, refuses(lambda dispatch: "FLOAT16" in types_of(dispatch))))
    assert found.refuses == tuple(
        Difference(f"support/{table}/{tensor}", (f"FLOAT16 {dimensions}d",), said="compile E_NO")
        for table, dimensions in (("3_0", "1-8"), ("2_1", "4"))
        for tensor in ("InputTensor", "OutputTensor")
    )
    assert (found.cells, found.confirmed, found.accepts, found.unknown) == (36, 18, (), ())
    assert found.rejections["compile"] > 50


def test_listed_dimension_counts_that_are_refused() -> None:
    found = probed(ROUND, refuses(lambda d: len(next(d.desc.tensors())[1].sizes) in (1, 6, 7, 8), "create", ""))
    assert refused_promises(found) == [
        Difference(f"support/3_0/{tensor}", ("FLOAT32 FLOAT16 1,6-8d",), said="create")
        for tensor in ("InputTensor", "OutputTensor")
    ]


def test_data_types_that_are_taken_singly_and_not_together() -> None:
    found = probed(COUNT, refuses(lambda dispatch: types_of(dispatch) == ["FLOAT64", "UINT8"]))
    assert refused_promises(found) == [Difference("support", (), ("FLOAT64-UINT8",), "compile E_NO")]
    assert set(found.cells().values()) == {"confirmed"}


def test_refused_alignments_are_in_order_and_said_once() -> None:
    def coarse(dispatch: Dispatch) -> bool:
        return any(0 < tensor.alignment < 16 for _, tensor in dispatch.desc.tensors())

    assert refused_promises(probed(ROUND, refuses(coarse, "create", "0x80070057"))) == [
        Difference(f"alignment/{tensor}", ("2", "4", "8"), said="create 0x80070057") for tensor in ("InputTensor", "OutputTensor")
    ]


def test_refused_layouts_attributes_and_places() -> None:
    def narrow(dispatch: Dispatch) -> bool:
        tensors = dict(dispatch.desc.tensors())
        strides = tensors["InputTensor"].strides
        in_place = len(dispatch.resources) == 1
        return dispatch.desc.fields["RoundingMode"] == "TOWARD_ZERO" or in_place or bool(strides and 0 in strides)

    assert refused_promises(probed(ROUND, refuses(narrow))) == [
        Difference("attribute/RoundingMode", ("TOWARD_ZERO",), said="compile E_NO"),
        Difference("layout/InputTensor", ("broadcast", "broadcast-first", "broadcast-all"), said="compile E_NO"),
        Difference("in-place/OutputTensor", ("InputTensor",), said="compile E_NO"),
    ]


def test_a_refusal_that_no_promise_explains() -> None:
    found = probed(ROUND, refuses(lambda d: types_of(d)[0] == "FLOAT16" and d.desc.fields["RoundingMode"] == "TOWARD_ZERO"))
    ways = tuple(f"{count}d/TOWARD_ZERO" for count in range(1, 9))
    table, *others = refused_promises(found)
    assert table == Difference("table", ways, ("FLOAT16",), "compile E_NO")
    assert [(other.what, other.types) for other in others] == [
        ("layout", ("FLOAT16",)),
        ("in-place", ("FLOAT16",)),
    ]  # they take turns
    assert all(way.endswith("/TOWARD_ZERO") for other in others for way in other.ways)
    assert set(found.promises().values()) == {"confirmed"}


def once(dispatch: Dispatch) -> bool:
    """Crashes on one probe of all."""
    output = dispatch.desc.tensor("OutputTensor") if "OutputTensor" in dict(dispatch.desc.tensors()) else None
    if output and output.data_type == "FLOAT16" and output.total_size == output.least_bytes + 64 and not broken(dispatch):
        raise BackendFault("the host ended", "exit code 7")
    return False


def test_a_fault_is_neither_a_refusal_nor_an_acceptance() -> None:
    probes_ = probed(ROUND, once)
    found = recorded(probes_)
    assert found.unknown == (Difference("total-size/OutputTensor", ("+64",), ("FLOAT16",), "the host ended"),)
    assert (found.accepts, found.refuses, found.confirmed) == ((), (), 36)
    [said] = [answer.said for _, answer in probes_.answers if answer.status == "unknown"]
    assert said == "the host ended\nexit code 7"
    assert differs(found)


@pytest.mark.parametrize("error", [Unsupported("no such thing"), BackendFault("it hung")])
def test_who_gives_no_answer_confirms_nothing(error: Exception) -> None:
    def silent(dispatch: Dispatch) -> bool:
        raise error

    found = recorded(probed(ROUND, silent))
    assert (found.cells, found.confirmed, found.accepts, found.refuses, found.rejections) == (36, 0, (), (), {})
    assert sum(len(entry.ways) for entry in found.unknown) > 100
    assert all(str(error) in entry.said for entry in found.unknown)


def test_any_other_exception_is_no_answer_either() -> None:
    def clumsy(dispatch: Dispatch) -> bool:
        raise KeyError("x")

    answer = ask(Taught(clumsy), next(probes(load(ROUND), feature_level(LEVEL))).case)
    assert (answer.status, answer.said.splitlines()[0]) == ("unknown", "KeyError: 'x'")


def test_a_promise_is_unknown_where_one_probe_was_refused_and_another_not_answered() -> None:
    [each] = [p for p in probes(load(ROUND), feature_level(LEVEL)) if p.case.id.endswith("FLOAT32/2d/TOWARD_ZERO")]
    answers = ((each, Answer(REFUSED, "create", "create")), (each, Answer("unknown", "it hung")))
    found = Probed(load(ROUND), feature_level(LEVEL), answers)
    assert set(found.promises().values()) == {"unknown"}
    assert [entry.what for entry in (*refused_promises(found), *unanswered(found))] == ["table", "table"]
    accepted = Probed(load(ROUND), feature_level(LEVEL), ((each, Answer(ACCEPTED)), *answers))
    assert set(accepted.promises().values()) == {"confirmed"}


def test_what_is_computed_is_not_looked_at() -> None:
    class Idle(Taught):
        def compute(self, desc: Any, inputs: Any) -> dict[str, Any]:
            return {name: next(iter(inputs.values())) for name in ("OutputTensor",)}

    case = next(probes(load(ROUND), feature_level(LEVEL))).case
    assert ask(Idle(), case) == Answer(ACCEPTED)


@pytest.mark.parametrize(
    ("numbers", "text"), [([1, 2, 3, 8], "1-3,8"), ([4], "4"), ([2, 1], "1-2"), ([1, 3, 5], "1,3,5"), ([], "")]
)
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text


# Into the spec, and what comes of it


@pytest.fixture
def spec(tmp_path: Path) -> Callable[[str], Path]:
    def copied(name: str) -> Path:
        original = load(name).file
        assert original is not None
        text = original.read_text(encoding="utf-8")
        begin, end = text.find("\nmeasured:"), text.find(SOURCES)
        file = tmp_path / original.name
        bare = text if begin < 0 else text[:begin] + text[end:]
        file.write_bytes(bare.encode("utf-8"))
        assert load_file(file).measured == ()
        return file

    return copied


MEASURED = Measurement(
    "DirectML 9.9", "2026-11-20", "6_4", 500, 36, 36, "a device", "0.0", "dmlcts probe", {"create": 9, "read back": 1}
)
SECTION = """\
measured: # written by `dmlcts probe --write`, never by hand
  - by: DirectML 9.9
    device: a device
    date: "2026-11-20"
    level: "6_4"
    suite: "0.0"
    command: dmlcts probe
    probes: 500
    cells: 36
    confirmed: 36
    rejections: {create: 9, read back: 1}
    accepts: []
    refuses: []
"""


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_but_the_section_is_written(name: str, spec: Callable[[str], Path]) -> None:
    file = spec(name)
    before = file.read_text(encoding="utf-8")
    assert write_measurement(file, MEASURED)
    after = file.read_text(encoding="utf-8")
    assert after.replace(f"{SECTION}\n", "") == before
    assert after[after.index(SECTION) + len(SECTION) :].startswith(SOURCES)
    assert load_file(file).measured == (MEASURED,)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_writing_again_changes_nothing(spec: Callable[[str], Path]) -> None:
    file = spec(ROUND)
    found = recorded(probed(ROUND, takes_odd_totals))
    assert write_measurement(file, found)
    before, stat = file.read_bytes(), file.stat()
    assert not write_measurement(file, found)
    assert (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) == (before, stat.st_mtime_ns, stat.st_ino)


def test_a_measurement_replaces_its_own_and_no_other(spec: Callable[[str], Path]) -> None:
    file = spec(ROUND)
    bare = file.read_text(encoding="utf-8")
    other, later = replace(MEASURED, by="Else 1"), replace(MEASURED, date="2027-01-01", confirmed=35)
    elsewhere = replace(MEASURED, device="another device")
    for measurement in (MEASURED, other, elsewhere, later):
        assert write_measurement(file, measurement)
    assert load_file(file).measured == (later, other, elsewhere)
    text = file.read_text(encoding="utf-8")
    begin, end = text.index("\nmeasured:"), text.index(SOURCES)
    assert text[:begin] + text[end:] == bare


DIFFERENCES = (
    Difference("support/3_0/InputTensor", ("FLOAT16 1-8d",), (), "compile E_NO"),
    Difference("alignment/InputTensor", ("1", "2", "on"), ("FLOAT32",), 'he said: "no" # {not, [here]} \\ \t\N{BELL}\N{SNOWMAN}'),
)


def test_every_text_comes_back(spec: Callable[[str], Path]) -> None:
    file = spec(ROUND)
    found = replace(
        MEASURED,
        by="DirectML: 9.9 #1",
        device='llvm (LLVM 22.1.8, 256 bits) "x" \\',
        command="no",
        rejections={},
        accepts=(
            Difference("tensor/InputTensor/total-size", ("+1", "+2")),
            Difference("enum/RoundingMode", types=("FLOAT16",), waived=True),
        ),
        refuses=DIFFERENCES,
        unknown=DIFFERENCES[1:],
    )
    write_measurement(file, found)
    assert load_file(file).measured == (found,)


def test_long_lists_are_cut_short_and_data_types_that_waive_are_not(spec: Callable[[str], Path]) -> None:
    file = spec(COUNT)
    ways = tuple(str(number) for number in range(40))
    types = tuple(dict.fromkeys(choice.main for choice in type_choices(load(COUNT))))
    accepts = (Difference("enum/X", ways, types * 2, waived=True),)
    write_measurement(file, replace(MEASURED, cells=144, accepts=accepts, refuses=(Difference("x", ways, ways),)))
    [found] = load_file(file).measured
    assert found.refuses == (Difference("x", (*ways[:12], "and 28 more"), (*ways[:12], "and 28 more")),)
    assert found.accepts == (Difference("enum/X", (*ways[:12], "and 28 more"), types * 2, waived=True),)


MINIMAL = """\
operator: ELEMENT_WISE_ROUND
type: 99
introduced: "2_1"
summary: x
fields: [{name: InputTensor, kind: input, type: TENSOR_DESC}]
support: []
constraints: {}
tolerance: {class: exact}
"""
KEPT = "sources: [{title: none}]\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (MINIMAL + KEPT, f"{MINIMAL}\n{SECTION}\n{KEPT}"),
        (f"{MINIMAL}# why\n# it is\n{KEPT}", f"{MINIMAL}\n{SECTION}\n# why\n# it is\n{KEPT}"),
        (f"{MINIMAL}\n{KEPT}# the end", f"{MINIMAL}\n{SECTION}\n{KEPT}# the end"),
        (KEPT + MINIMAL, f"{SECTION}\n{KEPT}{MINIMAL}"),
        (f"{MINIMAL}{KEPT}measured: []", f"{MINIMAL}{KEPT}{SECTION}"),
        (f"{MINIMAL}measured:\n  []\n  # ours\n\n# theirs\n\n{KEPT}", f"{MINIMAL}{SECTION}\n# theirs\n\n{KEPT}"),
        (f"{MINIMAL}measured: []\n{KEPT}", f"{MINIMAL}{SECTION}{KEPT}"),
        (f"{KEPT}{MINIMAL.replace('summary: x', 'summary: |' + chr(10) + '  measured: []')}", None),
    ],
    ids=["between", "comments stay", "empty line", "first", "last, no newline", "own comments go", "empty", "in a text"],
)
def test_where_the_section_stands(before: str, after: str | None) -> None:
    found = with_measurement(before, MEASURED)
    assert found == (after or f"{SECTION}\n{before}")
    assert with_measurement(found, MEASURED) == found


def test_line_ends_stay() -> None:
    found = with_measurement((MINIMAL + KEPT).replace("\n", "\r\n"), MEASURED)
    assert found == f"{MINIMAL}\n{SECTION}\n{KEPT}".replace("\n", "\r\n")


@pytest.mark.parametrize("text", ["{" + ", ".join((MINIMAL + KEPT).splitlines()) + "}", MINIMAL, "measured: ["])
def test_a_file_that_cannot_be_edited_is_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "element_wise_round.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError):
        write_measurement(file, MEASURED)
    assert file.read_text(encoding="utf-8") == text
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("confirmed: 37", "measured[0].confirmed: 37 of 36 cells cannot be confirmed"),
        ("confirmed: some", "measured[0].confirmed"),
        ("confirmed: 36\n    more: 1", "measured[0].more"),
    ],
)
def test_a_section_that_is_wrong(change: str, problem: str) -> None:
    with pytest.raises(SpecError) as raised:
        load_text(MINIMAL + SECTION.replace("confirmed: 36", change) + KEPT)
    assert problem in str(raised.value)


def rejected_rules(operator: Operator) -> Counter[str]:
    return Counter(label for case in negative_cases(operator) for label in case.covers)


def test_what_directml_accepts_is_demanded_of_nobody(spec: Callable[[str], Path]) -> None:
    file = spec(SHIFT)
    before = rejected_rules(load_file(file))
    write_measurement(file, recorded(probed(SHIFT, takes_int8)))
    lenient = load_file(file)
    assert [(a.rule, a.evidence, a.data_types) for a in lenient.accepts] == [
        (f"support/{tensor}/data-type", "probe of DirectML 9.9 on 2026-11-20", ())
        for tensor in ("ATensor", "BTensor", "OutputTensor")
    ]
    after = rejected_rules(lenient)
    gone = {label for label in before if not after[label]}
    assert gone == {f"rejects/support/{tensor}/data-type" for tensor in ("ATensor", "BTensor", "OutputTensor")}


def test_what_directml_accepts_for_one_data_type(spec: Callable[[str], Path]) -> None:
    file = spec(ROUND)
    write_measurement(file, recorded(probed(ROUND, takes_other_halves)))
    about = {case.data_type for case in negative_cases(load_file(file)) if case.rule == "constraint/same-sizes"}
    assert about == {"FLOAT32"}


def test_a_rule_enforced_in_part_stays_demanded(spec: Callable[[str], Path]) -> None:
    file = spec(ROUND)
    before = rejected_rules(load_file(file))
    write_measurement(file, recorded(probed(ROUND, takes_odd_totals)))
    after = load_file(file)
    assert [entry.what for entry in after.measured[0].accepts] == [
        "tensor/InputTensor/total-size",
        "tensor/OutputTensor/total-size",
    ]
    assert after.accepts == ()
    assert rejected_rules(after) == before


def test_what_another_implementation_accepts_changes_nothing(spec: Callable[[str], Path]) -> None:
    file = spec(SHIFT)
    write_measurement(file, replace(recorded(probed(SHIFT, takes_int8)), by="DirectMLike 1"))
    assert load_file(file).measured[0].accepts
    assert load_file(file).accepts == ()


def test_probing_what_is_waived_finds_it_again(spec: Callable[[str], Path]) -> None:
    file = spec(SHIFT)
    found = recorded(probed(SHIFT, takes_int8))
    write_measurement(file, found)
    assert recorded(probe(load_file(file), Taught(takes_int8), LEVEL)) == found


@pytest.mark.parametrize("name", operator_names())
def test_what_stands_in_the_spec_is_about_its_tables(name: str) -> None:
    """Who changes a table measures anew: `dmlcts probe --write`."""
    operator = load(name)
    for measurement in operator.measured:
        rows = [row for table in operator.tables(feature_level(measurement.level)) for row in table.tensors.values()]
        assert measurement.cells == sum(len(row.data_types) * len(row.dimension_counts()) for row in rows)


# Nothing of the machine


@pytest.mark.parametrize(
    ("backend", "written"),
    [
        ("directml", "directml"),
        ("directml:DirectML.dll", "directml:DirectML.dll"),
        ("python:mine.backend:Mine", "python:mine.backend:Mine"),
        ("process:host --quiet", "process:host --quiet"),
        ("process:/opt/x/host.sh", "process:..."),
        ("process:wine C:\\x\\host.exe", "process:..."),
        ("process:host --dll=/opt/x", "process:..."),
        ("process:~/host", "process:..."),
        ("process:python \\\\server\\host", "process:..."),
        ("process:host --as somebody", "process:..."),
    ],
)
def test_paths_and_users_are_left_out(monkeypatch: pytest.MonkeyPatch, backend: str, written: str) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "somebody")
    assert public_backend(backend) == written


def test_a_device_or_a_refusal_with_a_path_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "somebody")
    found = recorded(probed(ROUND, refuses(lambda d: "FLOAT16" in types_of(d), "create", "/opt/x.cpp")), "process:/x/y")
    assert found.command == f"dmlcts probe --backend process:... {ROUND}"
    assert {entry.said for entry in found.refuses} == {""}
    for device, kept in (("GPU of somebody", ""), ("GPU (/dev/x)", ""), ("GPU 1/2 w/o x, AMD/ATI", None), ("somebodys GPU", None)):
        assert recorded(probed(ROUND), device=device).device == (device if kept is None else kept)


def test_an_account_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise OSError

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert public_backend("process:host") == "process:host"


# The table


def test_table() -> None:
    operator = load(ROUND)
    found = probed(ROUND, lambda dispatch: takes_odd_totals(dispatch) or refuses(lambda d: "FLOAT16" in types_of(d))(dispatch))
    text = table([(found, recorded(found, device="a|b"))])
    assert text.endswith("\n")
    lines = text.splitlines()
    number = sum(answer.status == REFUSED and answer.stage == "create" for _, answer in found.answers)
    bind, at_compile = (found.rejections()[stage] for stage in ("bind", "compile"))
    assert lines[0] == "# Documentation against reality"
    assert lines[7:] == [
        "| operator | measured by | cells listed | confirmed | refused | unknown | accepted beyond | refused besides |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        f"| {operator.name} | DirectML 9.9 | 36 | 18 | 18 | 0 | tensor/InputTensor+OutputTensor/total-size: +1, +2, +3 | nothing |",
        "",
        f"## {operator.name}",
        "",
        f"DirectML 9.9 on a|b, feature level 6_4, 2026-11-20. {len(found.answers)} probes; "
        f"refused: {at_compile} at compile, {number} at create, {bind} at bind.",
        "",
        "| table | tensor | data types | dimensions | cells | confirmed |",
        "| --- | --- | --- | --- | --- | --- |",
        "| 3_0 | InputTensor | FLOAT32 FLOAT16 | 1-8 | 16 | 8 |",
        "| 3_0 | OutputTensor | FLOAT32 FLOAT16 | 1-8 | 16 | 8 |",
        "| 2_1 | InputTensor | FLOAT32 FLOAT16 | 4 | 2 | 1 |",
        "| 2_1 | OutputTensor | FLOAT32 FLOAT16 | 4 | 2 | 1 |",
        "",
        "- Not listed, and accepted: tensor/InputTensor+OutputTensor/total-size: +1, +2, +3",
        "- Listed, and refused: support/3_0/InputTensor+OutputTensor: FLOAT16 1-8d (compile E_NO)",
        "- Listed, and refused: support/2_1/InputTensor+OutputTensor: FLOAT16 4d (compile E_NO)",
    ]


def test_table_without_differences() -> None:
    found = probed(ROUND)
    lines = table([(found, replace(recorded(found), by="a|b"))]).splitlines()
    assert lines[-1] == "No difference."
    assert lines[9] == f"| {ROUND} | a\\|b | 36 | 36 | 0 | 0 | nothing | nothing |"


def test_table_says_what_is_refused_besides_cells() -> None:
    def coarse(dispatch: Dispatch) -> bool:
        return any(0 < tensor.alignment < 16 for _, tensor in dispatch.desc.tensors())

    found = probed(ROUND, refuses(coarse, "create", ""))
    assert (
        table([(found, recorded(found))])
        .splitlines()[9]
        .endswith("| nothing | alignment/InputTensor+OutputTensor: 2, 4, 8 (create) |")
    )


# The command


def invoke(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["probe", *map(str, arguments)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Backend], None]:
    """Makes every backend that the command opens this one."""
    return lambda backend: monkeypatch.setattr(command_module, "open_backend", lambda spec: backend)


def test_exit_0_where_the_documentation_is_confirmed(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(ROUND.lower(), SHIFT) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.search(r"on NumPy \S+, feature level 6_4$", lines[0])
    assert [line.split()[::2] for line in lines[2:4]] == [[ROUND, "36", "0"], [SHIFT, "177", "0"]]
    assert lines[4:] == ["the documentation of 2 of 2 operators is confirmed"]


@pytest.mark.parametrize(
    ("mind", "said"),
    [
        (takes_any_mode, f"not listed, and accepted: {ROUND} enum/RoundingMode: in every way that was tried"),
        (
            refuses(lambda d: "FLOAT16" in types_of(d)),
            "listed, and refused: " + ROUND + " support/2_1/InputTensor+OutputTensor: FLOAT16 4d",
        ),
        (once, f"not known: {ROUND} total-size/OutputTensor: +64, with FLOAT16 (the host ended)"),
    ],
)
def test_exit_1_where_it_is_not(
    use: Callable[[Backend], None], capsys: pytest.CaptureFixture[str], mind: Callable[[Dispatch], bool], said: str
) -> None:
    use(Taught(mind))
    assert invoke(ROUND) == 1
    out = capsys.readouterr().out
    assert said in out
    assert "the documentation of 0 of 1 operator is confirmed" in out


def test_exit_2_for_what_there_is_not(capsys: pytest.CaptureFixture[str], use: Callable[[Backend], None]) -> None:
    assert invoke("NO_SUCH") == 2
    assert "no spec for operator 'NO_SUCH'" in capsys.readouterr().err
    use(Taught(feature_level="2_0"))
    assert invoke(ROUND) == 2
    assert "DirectML has feature level 2_0" in capsys.readouterr().err


def test_exit_3_where_the_backend_cannot_start(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke("--backend", "process:no-such-program-anywhere", ROUND) == 3
    assert "no-such-program-anywhere" in capsys.readouterr().err

    def missing(spec: str) -> Backend:
        raise BackendUnavailable(f"{spec}: nothing here")

    monkeypatch.setattr(command_module, "open_backend", missing)
    assert invoke("-b", "directml") == 3
    assert "directml: nothing here" in capsys.readouterr().err


def test_operators_that_are_newer_are_left_out(use: Callable[[Backend], None], capsys: pytest.CaptureFixture[str]) -> None:
    use(Taught(feature_level="2_1"))
    assert invoke("--json", ROUND, COUNT) == 0
    assert [(row["operator"], row["cells"]) for row in json.loads(capsys.readouterr().out)] == [(ROUND, 4)]


def test_json(use: Callable[[Backend], None], capsys: pytest.CaptureFixture[str]) -> None:
    use(Taught(lambda dispatch: once(dispatch) or takes_any_mode(dispatch)))
    assert invoke("--json", ROUND) == 1
    [row] = json.loads(capsys.readouterr().out)
    assert (row["operator"], row["by"], row["cells"], row["confirmed"]) == (ROUND, "DirectML 9.9", 36, 36)
    assert row["accepts"] == [{"what": "enum/RoundingMode", "ways": [], "types": [], "said": "", "waived": True}]
    assert row["promises"]["support/3_0/InputTensor/FLOAT16/8d"] == "confirmed"
    assert row["unanswered"] == [
        {"probe": f"{ROUND}/FLOAT16/probe/total-size/OutputTensor=+64", "said": "the host ended\nexit code 7"}
    ]


def test_write_and_table(
    tmp_path: Path,
    spec: Callable[[str], Path],
    use: Callable[[Backend], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {name: spec(name) for name in (ROUND, SHIFT)}
    monkeypatch.setattr(command_module, "operator_named", lambda name: load_file(files[name]))
    use(Taught(takes_odd_totals))
    out = tmp_path / "measured.md"
    for changed in ("2 spec files changed", "0 spec files changed"):
        assert invoke(*files, "--write", "--table", out) == 1
        assert changed in capsys.readouterr().out
    for name, file in files.items():
        [found] = load_file(file).measured
        assert (found.by, found.command) == ("DirectML 9.9", f"dmlcts probe --backend reference {name}")
    assert out.read_bytes().count(b"\n## ELEMENT_WISE_") == 2
    assert b"\r" not in out.read_bytes()


def test_nothing_is_written_unasked(
    spec: Callable[[str], Path], use: Callable[[Backend], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = spec(ROUND)
    before = file.read_bytes()
    monkeypatch.setattr(command_module, "operator_named", lambda name: load_file(file))
    use(Taught(takes_int8))
    invoke(ROUND)
    assert file.read_bytes() == before


def test_the_backend_is_closed_whatever_it_does(use: Callable[[Backend], None], capsys: pytest.CaptureFixture[str]) -> None:
    class Rude(Taught):
        def close(self) -> None:
            raise RuntimeError("not yet")

    use(Rude())
    assert invoke(ROUND) == 0
    assert "close() raised RuntimeError: not yet" in capsys.readouterr().err
