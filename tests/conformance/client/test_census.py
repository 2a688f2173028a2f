"""The census of captures: what is the same is counted together, and what is not stays apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import captures
import pytest
from captures import Line, round_client, write

from dmlcts.conformance.client.capture.reading import read_capture
from dmlcts.conformance.client.census import Census, census_of, kind_of, plain, summary, write_census, write_spec_census
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.document import SpecError, read
from dmlcts.spec.reading.loader import load, measured_folder
from dmlcts.spec.reading.measured import checked_census, networks_of
from dmlcts.spec.untrusted.desc_json import read_desc

CENSUS = sorted((measured_folder() / "census").glob("*.yaml"))


def tensor(*sizes: int, **more: Any) -> TensorDesc:
    return TensorDesc("FLOAT32", sizes, **more)


def product(a: TensorDesc, b: TensorDesc, **attributes: Any) -> OperatorDesc:
    return OperatorDesc("GEMM", {"ATensor": a, "BTensor": b, "CTensor": None, **attributes})


USUAL = product(tensor(1, 1, 8, 16), tensor(1, 1, 16, 32), TransA="NONE", Alpha=0.5)


def test_a_kind_reads_like_this() -> None:
    assert kind_of(USUAL) == "A FLOAT32 11nn, B FLOAT32 11nn, TransA=NONE, Alpha=x"
    fused = USUAL.with_fields(
        FusedActivation=OperatorDesc("ACTIVATION_RELU", {}), BTensor=tensor(1, 4, 16, 32, strides=(0, 0, 32, 1))
    )
    assert kind_of(fused) == "A FLOAT32 11nn, B FLOAT32 1nnn/.b.., TransA=NONE, Alpha=x, FusedActivation ACTIVATION_RELU"
    turned = USUAL.with_fields(ATensor=tensor(2, 8, 16, strides=(128, 1, 8)))
    assert kind_of(turned).startswith("A FLOAT32 nnn/...s, ")
    join = OperatorDesc("JOIN", {"InputCount": 3, "InputTensors": (tensor(2), tensor(3), tensor(1)), "Axis": 0})
    assert kind_of(join) == "InputCount=3, InputTensors [FLOAT32 n; FLOAT32 1] x3, Axis=0"


@pytest.mark.parametrize(
    "other",
    [
        USUAL.with_fields(ATensor=tensor(1, 1, 80, 160)),
        USUAL.with_fields(Alpha=0.25),
    ],
)
def test_sizes_make_no_other_kind(other: OperatorDesc) -> None:
    assert kind_of(other) == kind_of(USUAL)


@pytest.mark.parametrize(
    "other",
    [
        USUAL.with_fields(ATensor=tensor(2, 1, 8, 16)),
        USUAL.with_fields(ATensor=tensor(1, 8, 16)),
        USUAL.with_fields(ATensor=TensorDesc("FLOAT16", (1, 1, 8, 16))),
        USUAL.with_fields(TransA="TRANSPOSE"),
        USUAL.with_fields(Alpha=1.0),
        USUAL.with_fields(CTensor=tensor(1, 1, 8, 32)),
    ],
)
def test_structure_does(other: OperatorDesc) -> None:
    assert kind_of(other) != kind_of(USUAL)


def test_where_tensors_come_from_makes_no_other_dispatch() -> None:
    same = USUAL.with_fields(
        ATensor=tensor(1, 1, 8, 16, strides=(128, 128, 16, 1), flags=1, total_size=512, alignment=16),
    )
    assert plain(same) == plain(USUAL)
    assert plain(USUAL.with_fields(ATensor=tensor(1, 1, 8, 16, total_size=1024))) != plain(USUAL)


def counted(folder: Path) -> Census:
    """Two models: one rounds three numbers twice, the other five, with an operator that nobody knows."""
    twice = [*round_client(), {"event": "execute", "queue": 1, "first": 2, "dispatches": [5]}]
    other: list[Line] = round_client()
    other[2]["desc"] |= {"InputTensor": captures.tensor(5), "OutputTensor": captures.tensor(5)}
    unknown = [
        {"event": "operator", "id": 12, "device": 1, "operator_type": 999},
        captures.compiled(13, 12),
        captures.table(14, 13),
    ]
    unknown += [
        {"event": "dispatch", "id": 15, "dispatchable": 13, "table": 14, "list": 1},
        {"event": "execute", "queue": 1, "first": 2, "dispatches": [15]},
    ]
    found = []
    for name, lines in (("one", twice), ("two", [*other, *unknown])):
        (folder / name).mkdir()
        found.append((read_capture(write(folder / name, lines)), name))
    return census_of(found)


def test_dispatches_are_counted_by_kind_and_model(tmp_path: Path) -> None:
    census = counted(tmp_path)
    write_census(census, tmp_path / "census.json")
    data = json.loads((tmp_path / "census.json").read_text(encoding="utf-8"))
    ((name, (kind,)),) = data["operators"].items()
    assert (name, kind["count"], kind["distinct"], kind["models"]) == ("ELEMENT_WISE_ROUND", 3, 2, ["one", "two"])
    assert [(entry["count"], entry["models"], entry["desc"]["InputTensor"]["Sizes"]) for entry in kind["dispatches"]] == [
        (2, ["one"], [3]),
        (1, ["two"], [5]),
    ]
    assert data["unknown"] == {"operator type 999": 1}
    text = list(summary(census))
    assert text[0] == "2 models, 3 dispatches, 2 of them distinct, of 1 kinds; 1 of 177 operators"
    assert text[-1].strip() == "1 operator type 999, which this suite does not know"


# The spec's census


def test_the_spec_gets_a_file_for_each_operator_and_loses_those_of_others(tmp_path: Path) -> None:
    folder = tmp_path / "census"
    folder.mkdir()
    (folder / "gemm.yaml").write_text("of an earlier census", encoding="utf-8")
    assert write_spec_census(counted(tmp_path), folder) == 1
    (file,) = folder.iterdir()
    (kind,) = checked_census(read(file), file).data["kinds"]
    assert (file.name, kind["count"], kind["distinct"], kind["networks"]) == ("element_wise_round.yaml", 3, 2, ["one", "two"])
    assert (kind["sizes"], kind["desc"]["InputTensor"]["Sizes"]) == (["3 3", "5 5"], [3])
    assert networks_of(tmp_path, "ELEMENT_WISE_ROUND") == {"one": 1, "two": 1}
    assert networks_of(tmp_path, "GEMM") == {}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("operator: GEMM\nby: DirectML 1\nkinds: []\n", "kinds"),
        ("operator: GEMM\nby: DirectML 1\nkinds: [{kind: A, count: 0, distinct: 1, networks: [a], sizes: [2x3], desc: {Type: GEMM}}]\n", "count"),
        ("operator: GEMM\nby: DirectML 1\nkinds: [{kind: A, count: 1, distinct: 1, networks: [a], sizes: [2 by 3], desc: {Type: GEMM}}]\n", "sizes"),
        ("operator: GEMMS\nby: DirectML 1\nkinds: [{kind: A, count: 1, distinct: 1, networks: [a], sizes: [2x3], desc: {Type: GEMM}}]\n", "operator"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_the_census_is_said_to_be(tmp_path: Path, wrong: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        checked_census(wrong, tmp_path / "gemm.yaml")


@pytest.mark.parametrize("file", CENSUS, ids=lambda file: file.stem)
def test_each_kind_of_the_census_is_that_of_its_desc(file: Path) -> None:
    for kind in checked_census(read(file), file).data["kinds"]:
        desc = read_desc(kind["desc"], load)
        assert (desc.type, kind_of(desc)) == (file.stem.upper(), kind["kind"])
        assert plain(desc) == desc
        assert kind["sizes"][0] == " ".join("x".join(map(str, tensor.sizes)) for _, tensor in desc.tensors())
