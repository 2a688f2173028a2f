"""Cases of what real networks dispatch: each kind of the census, cut and as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.selection import selected_cases, selection_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import network_dispatches, operator_cases, select
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.networks import cut_desc, label_of, uncovered_kinds
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load, measured_folder, operator_names
from dmlcts.spec.reading.measured import census_networks, kinds_of
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.symbols import symbols_of
from dmlcts.spec.untrusted.desc_json import read_desc

BEYOND_THE_PAGE = "MinMaxDataType=0"
"""What ONNX Runtime's provider gives ELEMENT_WISE_CLIP1, and the page does not allow."""


def of(name: str, level: str = "core") -> list[OperatorDesc]:
    return [case.desc for case in network_dispatches(name, level) if case.level == level]


def test_each_kind_that_the_page_allows_has_a_case_at_level_core() -> None:
    missing = [kind for name in operator_names() for kind in uncovered_kinds(plan_of(load(name)))]
    assert all(BEYOND_THE_PAGE in kind for kind in missing)
    assert len(missing) == 3


def test_they_are_among_the_operators_cases() -> None:
    ids = {case.id for case in operator_cases("ACTIVATION_GELU")}
    assert {case.id for case in network_dispatches("ACTIVATION_GELU")} <= ids
    assert {case.level for case in network_dispatches("ACTIVATION_GELU")} == {"core", "full"}


@pytest.mark.parametrize("name", ["GEMM", "CONVOLUTION", "SLICE1", "JOIN", "MULTIHEAD_ATTENTION1", "REDUCE"])
def test_a_kind_keeps_its_structure_when_it_is_cut(name: str) -> None:
    plan, cut = plan_of(load(name)), {str(desc) for desc in of(name)}
    assert cut
    for kind in kinds_of(measured_folder(), name):
        own = read_desc(kind.desc, load)
        choice = next(
            c for c in plan.choices if {plan.name_of(n): t.data_type for n, t in own.tensors()}.items() <= dict(c.types).items()
        )
        desc = cut_desc(plan, choice, own)
        assert desc is not None
        assert not violations(plan.operator, desc)
        assert str(desc) in cut
        assert [(n, t.data_type, t.DimensionCount) for n, t in desc.tensors()] == [
            (n, t.data_type, t.DimensionCount) for n, t in own.tensors()
        ]
        for tensor_name, tensor in own.tensors():
            assert _zeros(desc.tensor(tensor_name)) == _zeros(tensor)


def _zeros(tensor: TensorDesc) -> list[bool]:
    return [stride == 0 for stride in tensor.strides or ()]


def test_windows_stay_and_other_sizes_are_cut() -> None:
    plan = plan_of(load("CONVOLUTION"))
    for desc in of("CONVOLUTION"):
        sizes = symbols_of(plan.operator, desc)
        assert sizes["N"] <= table.NETWORK_BATCH
        assert sizes["M"] <= table.NETWORK_SIDE  # of each group
    windows = {desc.tensor("FilterTensor").sizes[2:] for desc in of("CONVOLUTION")}
    assert {(1, 1), (3, 3), (7, 7)} <= windows


def test_a_transposed_filter_of_a_linear_layer_stays_transposed() -> None:
    assert any(desc.fields["TransB"] == "TRANSPOSE" or desc.tensor("BTensor").strides for desc in of("GEMM"))


def test_at_full_they_have_their_own_sizes() -> None:
    own = {str(read_desc(kind.desc, load)) for kind in kinds_of(measured_folder(), "ACTIVATION_SOFTMAX1")}
    assert {str(desc) for desc in of("ACTIVATION_SOFTMAX1", "full")} <= own


def test_a_network_selects_what_it_dispatches() -> None:
    cases = operator_cases("GEMM", "core")
    found = select(cases, level="core", network="bert")
    assert 0 < len(found) < len([case for case in cases if case.kind == "network"])
    assert all(label_of("bert") in case.covers for case in found)
    assert "bert" in census_networks(measured_folder())


def test_an_unknown_network_is_an_error_that_names_similar_ones() -> None:
    with pytest.raises(
        UsageError, match=r"no network 'resnet5' in the census, and no profile of the API .*; similar names: resnet50"
    ):
        selection_of(RunOptions(network="resnet5"))


def test_a_run_of_a_network_has_its_operators_and_dispatches_alone() -> None:
    selection = selection_of(RunOptions(network="lstm"))
    assert "LSTM" in selection.operators
    assert "CONVOLUTION" not in selection.operators
    cases = [case for name in selection.operators for case in selection.cases(name)]
    assert {case.kind for case in cases} == {"network"}
    assert [case.id for case in selected_cases(RunOptions(network="lstm", operators=("LSTM",)))] == [
        case.id for case in cases if case.operator.name == "LSTM"
    ]


def test_records_and_case_files_know_the_same_kinds() -> None:
    record, case = (
        json.loads(text_of(f"{folder}.schema.json")) for folder in ("reports/schema/record", "generator/case/schema/case")
    )
    kinds = record["$defs"]["result"]["properties"]["kind"]["enum"]
    beyond = ("promise", "graph")  # a promise of the API and a graph are in no case file
    assert [kind for kind in kinds if kind not in beyond] == case["properties"]["kind"]["enum"]


def text_of(file: str) -> str:
    return (Path(__file__).parents[2] / file).read_text(encoding="utf-8")
