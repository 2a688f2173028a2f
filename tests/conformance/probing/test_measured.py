"""What a probe found, in the spec files and in the table, and what comes of it."""

from __future__ import annotations

import getpass
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from probing import (
    COUNT,
    LEVEL,
    ROUND,
    SAMPLE,
    SHIFT,
    SOURCES,
    Taught,
    bare_copy,
    probed,
    recorded,
    refuses,
    takes_int8,
    takes_odd_totals,
    takes_other_halves,
    types_of,
)

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.probing.measured import public_backend, table, with_measurement, write_measurement
from dmlcts.conformance.probing.probe import REFUSED, probe
from dmlcts.generator.negatives import negative_cases
from dmlcts.generator.types import type_choices
from dmlcts.spec.abi import feature_level
from dmlcts.spec.document import SpecError
from dmlcts.spec.loader import load, load_file, load_text, operator_names
from dmlcts.spec.model import Difference, Measurement, Operator

# Into the spec, and what comes of it


@pytest.fixture
def spec(tmp_path: Path) -> Callable[[str], Path]:
    return lambda name: bare_copy(name, tmp_path)


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
        cells = {  # tables of different attributes may list the same
            (table.level, name, data_type, count)
            for table in operator.tables(feature_level(measurement.level))
            for name, row in table.tensors.items()
            for data_type in row.data_types
            for count in row.dimension_counts()
        }
        assert measurement.cells == len(cells)


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
