"""What a probe found, in the files of spec/measured and in the table, and what comes of it."""

from __future__ import annotations

import getpass
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from probing import (
    COUNT,
    MEASURED,
    ROUND,
    measured_in,
    probed,
    recorded,
    refuses,
    takes_odd_totals,
    types_of,
    write,
)

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.probing.measured import file_text, public_backend, table, write_measurements
from dmlcts.conformance.probing.probe import REFUSED
from dmlcts.generator.plan.plan import plan_of
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.model.measurement import ALL, MeasuredDifference
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.loader import load, measured_folder, operator_names
from dmlcts.spec.reading.promises import promises

# Into the files, and what comes of it

FILE = f"""\
# yaml-language-server: $schema=../schema/measured.schema.json
# Written by `dmlcts probe --write`, never by hand.
by: DirectML 9.9
device: a device
date: "2026-11-20"
level: "6_4"
suite: "0.0"
command: dmlcts probe
operators:
  {ROUND}: {{probes: 500, cells: 36, rejections: {{create: 9, read back: 1}}}}
"""


def test_the_file_of_one_measurement(tmp_path: Path) -> None:
    assert write(tmp_path, MEASURED) == 1
    [file] = tmp_path.iterdir()
    assert file.name == "directml-9.9.yaml"
    assert file.read_text(encoding="utf-8") == FILE
    assert measured_in(tmp_path, ROUND).probe_measurements == (MEASURED,)
    assert measured_in(tmp_path, COUNT).probe_measurements == ()


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    found = recorded(probed(ROUND, takes_odd_totals))
    assert write(tmp_path, found) == 1
    [file] = tmp_path.iterdir()
    before, stat = file.read_bytes(), file.stat()
    assert write(tmp_path, found) == 0
    assert (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) == (before, stat.st_mtime_ns, stat.st_ino)


def test_a_measurement_replaces_its_own_and_no_other(tmp_path: Path) -> None:
    other, later = replace(MEASURED, by="Else 1"), replace(MEASURED, date="2027-01-01", confirmed=35)
    elsewhere = replace(MEASURED, device="another device")
    for measurement in (MEASURED, other, elsewhere, later):
        assert write(tmp_path, measurement) == 1
    assert {file.name for file in tmp_path.iterdir()} == {"directml-9.9.yaml", "directml-9.9-another-device.yaml", "else-1.yaml"}
    assert sorted(measured_in(tmp_path, ROUND).probe_measurements, key=repr) == sorted((later, other, elsewhere), key=repr)


def test_an_operator_says_only_how_it_differs(tmp_path: Path) -> None:
    """What most have is written once; what one has of its own, or lacks, is written with it."""
    usual = (
        MeasuredDifference("tensor/InputTensor/total-size", ("+1",)),
        MeasuredDifference("tensor/OutputTensor/total-size", ("+1",)),
    )
    own = MeasuredDifference("tensor/OutputTensor/total-size", ("+2",))
    names = [ROUND, COUNT, "ELEMENT_WISE_ABS", "ELEMENT_WISE_SIGN", "ELEMENT_WISE_RECIP"]
    lists = [usual, usual, usual, (usual[0], own), ()]
    found = {
        name: replace(MEASURED, command=f"dmlcts probe {name}", accepts=accepts, date=f"2026-11-{20 + (name == COUNT)}")
        for name, accepts in zip(names, lists, strict=True)
    }
    assert write_measurements(tmp_path, [(load(name), measurement) for name, measurement in found.items()]) == 5
    for name, measurement in found.items():
        [read] = measured_in(tmp_path, name).probe_measurements
        assert replace(read, accepts=()) == replace(measurement, accepts=())
        assert set(read.accepts) == set(measurement.accepts)
    [file] = tmp_path.iterdir()
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert data["usual"] == {"accepts": [{"rule": "tensor/*/total-size", "ways": ["+1"]}]}
    assert "accepts" not in data["operators"]["ELEMENT_WISE_ABS"]
    assert data["operators"][COUNT]["date"] == "2026-11-21"
    assert data["operators"]["ELEMENT_WISE_SIGN"]["accepts"] == [{"rule": "tensor/OutputTensor/total-size", "ways": ["+2"]}]
    assert data["operators"]["ELEMENT_WISE_RECIP"]["not"] == [
        f"tensor/{name}/total-size" for name in ("InputTensor", "OutputTensor")
    ]


DIFFERENCES = (
    MeasuredDifference("support/3_0/InputTensor", ("FLOAT16 1-8d",), (), "compile E_NO"),
    MeasuredDifference(
        "alignment/InputTensor", ("1", "2", "on"), ("FLOAT32",), 'he said: "no" # {not, [here]} \\ \t\N{BELL}\N{SNOWMAN}'
    ),
)


def test_every_text_comes_back(tmp_path: Path) -> None:
    found = replace(
        MEASURED,
        by="DirectML: 9.9 #1",
        device='llvm (LLVM 22.1.8, 256 bits) "x" \\',
        rejections={},
        accepts=(
            MeasuredDifference("tensor/InputTensor/total-size", ("+1", "+2")),
            MeasuredDifference("enum/RoundingMode", ("enum/RoundingMode=3",), ("FLOAT16", "FLOAT16-UINT8"), waived=True),
            MeasuredDifference("enum/RoundingMode", ("enum/RoundingMode=4294967295",), ALL, waived=True),
        ),
        refuses=DIFFERENCES,
        unknown=DIFFERENCES[1:],
    )
    write(tmp_path, found)
    assert measured_in(tmp_path, ROUND).probe_measurements == (found,)


def test_what_every_tensor_has_is_written_once_with_its_ways(tmp_path: Path) -> None:
    accepts = tuple(
        MeasuredDifference(f"binding/{name}/size", (f"binding/size/{name}-4",), ALL, waived=True)
        for name in ("InputTensor", "OutputTensor")
    )
    write(tmp_path, replace(MEASURED, accepts=accepts))
    [file] = tmp_path.iterdir()
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    entry = {"rule": "binding/*/size", "ways": ["binding/size/*-4"], "types": "all", "waived": True}
    assert data["operators"][ROUND]["accepts"] == [entry]
    assert measured_in(tmp_path, ROUND).probe_measurements[0].accepts == accepts


def test_what_is_usual_stays_beside_what_is_waived(tmp_path: Path) -> None:
    usual = tuple(MeasuredDifference(f"tensor/{name}/total-size", ("+1",)) for name in ("InputTensor", "OutputTensor"))
    waived = MeasuredDifference("tensor/InputTensor/total-size", ("total-size/InputTensor-4",), ("FLOAT16",), waived=True)
    lists = {ROUND: usual, "ELEMENT_WISE_ABS": usual, "ELEMENT_WISE_SIGN": (*usual, waived)}
    write_measurements(tmp_path, [(load(name), replace(MEASURED, accepts=accepts)) for name, accepts in lists.items()])
    for name, accepts in lists.items():
        assert set(measured_in(tmp_path, name).probe_measurements[0].accepts) == set(accepts)


def test_long_lists_are_cut_short_and_what_waives_is_not(tmp_path: Path) -> None:
    ways = tuple(str(number) for number in range(40))
    types = tuple(choice.label for choice in plan_of(load(COUNT)).choices)
    accepts = (MeasuredDifference("enum/X", ways, types, waived=True),)
    write(tmp_path, replace(MEASURED, cells=144, accepts=accepts, refuses=(MeasuredDifference("x", ways, ways),)), name=COUNT)
    [found] = measured_in(tmp_path, COUNT).probe_measurements
    assert found.refuses == (MeasuredDifference("x", (*ways[:12], "and 28 more"), (*ways[:12], "and 28 more")),)
    assert found.accepts == accepts


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("cells: 36", "cells: 36, confirmed: 37", f"operators.{ROUND}.confirmed: 37 of 36 cells cannot be confirmed"),
        ("cells: 36", "cells: some", f"operators.{ROUND}.cells"),
        ("cells: 36", "cells: 36, more: 1", f"operators.{ROUND}.more"),
        *(
            ("cells: 36", f"cells: 36, accepts: [{{rule: enum/X, {entry}, waived: true}}]", f"operators.{ROUND}.accepts[0]")
            for entry in ("types: all", "ways: [x]", "ways: [x], types: []", "ways: [], types: all", "ways: [x], types: any")
        ),
        (f"  {ROUND}:", "  NO_OPERATOR:", "operators.NO_OPERATOR: the ABI has no operator NO_OPERATOR"),
        ("by: DirectML 9.9\n", "", "by"),
    ],
)
def test_a_file_that_is_wrong_names_the_place_and_is_left_alone(tmp_path: Path, old: str, new: str, problem: str) -> None:
    file = tmp_path / "directml-9.9.yaml"
    file.write_text(FILE.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError) as raised:
        _ = measured_in(tmp_path, ROUND).probe_measurements
    assert problem in str(raised.value)
    assert str(raised.value).startswith(f"{file}:")
    with pytest.raises(SpecError):
        write(tmp_path, MEASURED)
    assert file.read_text(encoding="utf-8") == FILE.replace(old, new)


def test_promises_load_without_the_measurements(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("by: [", encoding="utf-8")
    operator = measured_in(tmp_path, ROUND)
    assert promises(operator) == promises(load(ROUND))
    with pytest.raises(SpecError, match=r"broken\.yaml"):
        _ = operator.accepts


def test_the_packages_files_are_as_they_would_be_written() -> None:
    """So that a probe of one operator changes the lines of that operator alone."""
    for file in measured_folder().glob("*.yaml"):
        names = yaml.safe_load(file.read_text(encoding="utf-8"))["operators"]
        found = [(load(name), measurement) for name in names for measurement in load(name).probe_measurements]
        assert file_text(found) == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", operator_names())
def test_what_was_measured_is_about_the_tables(name: str) -> None:
    """Who changes a table measures anew: `dmlcts probe --write`."""
    operator = load(name)
    for measurement in operator.probe_measurements:
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
    assert {entry.message for entry in found.refuses} == {""}
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
