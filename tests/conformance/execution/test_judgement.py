"""Which tolerance an output is judged by: the operator's own, or that of the activation which is fused into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.conformance.execution.judgement import terms_vary, tolerance_of
from dmlcts.generator.case.case import Case
from dmlcts.generator.suite.suite import find_case
from dmlcts.reference.shared.fused import activate_fused
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.expression import compile_expression
from dmlcts.spec.model.operator import Operator, Tolerance, ToleranceException
from dmlcts.spec.reading.loader import load

GEMM: Operator = load("GEMM")
EXP = load("ELEMENT_WISE_EXP")
PLAIN = OperatorDesc("ELEMENT_WISE_EXP", {"InputTensor": None, "OutputTensor": None, "ScaleBias": None})


def gemm(activation: OperatorDesc | None, data_type: str = "FLOAT32") -> OperatorDesc:
    tensor = TensorDesc(data_type, (1, 1, 4, 4))
    fields: dict[str, object] = {"ATensor": tensor, "BTensor": tensor, "CTensor": None, "OutputTensor": tensor}
    return OperatorDesc("GEMM", {**fields, "Alpha": 1.0, "Beta": 0.0, "FusedActivation": activation})


def test_without_an_activation_it_is_the_operators_own() -> None:
    assert GEMM.tolerance.judge != EXP.tolerance.judge
    assert tolerance_of(GEMM, "OutputTensor", gemm(None)) is GEMM.tolerance


def test_with_an_activation_it_is_the_activations() -> None:
    assert tolerance_of(GEMM, "OutputTensor", gemm(PLAIN)) is EXP.tolerance


def fused_with(tolerance: Tolerance) -> Callable[[str], Operator]:
    """Finds the activation with another tolerance."""
    return {"ELEMENT_WISE_EXP": replace(EXP, tolerance=tolerance)}.__getitem__


def test_exceptions_of_the_activation_hold_by_the_data_type_of_the_output() -> None:
    narrow = Tolerance("ulp", parameters={"ulps": 7})
    find = fused_with(replace(EXP.tolerance, exceptions=(ToleranceException(narrow, data_types=("FLOAT16",)),)))
    assert tolerance_of(GEMM, "OutputTensor", gemm(PLAIN, "FLOAT16"), find) is narrow
    assert tolerance_of(GEMM, "OutputTensor", gemm(PLAIN, "FLOAT32"), find).judge == "mixed"


def test_conditions_of_the_activation_read_its_own_attributes() -> None:
    steep = Tolerance("ulp", parameters={"ulps": 9})
    condition = compile_expression("Alpha > 5")
    find = fused_with(replace(EXP.tolerance, exceptions=(ToleranceException(steep, when=condition),)))
    for alpha, expected in ((10.0, "ulp"), (1.0, "mixed")):
        inner = OperatorDesc("ELEMENT_WISE_EXP", {"Alpha": alpha})
        assert tolerance_of(GEMM, "OutputTensor", gemm(inner).with_fields(Alpha=11.0 - alpha), find).judge == expected


def test_exceptions_of_basis_measured_hold_in_such_cases_alone() -> None:
    sharp = Tolerance("ulp", parameters={"ulps": 2})
    measured = (ToleranceException(sharp, basis="measured"),)
    operator = replace(GEMM, tolerance=replace(GEMM.tolerance, exceptions=measured))
    assert tolerance_of(operator, "OutputTensor", gemm(None)).judge == GEMM.tolerance.judge
    for basis, expected in (("documented", GEMM.tolerance.judge), ("contested", GEMM.tolerance.judge), ("measured", "ulp")):
        assert tolerance_of(operator, "OutputTensor", gemm(None), basis=basis).judge == expected
    find = fused_with(replace(EXP.tolerance, exceptions=measured))
    assert tolerance_of(GEMM, "OutputTensor", gemm(PLAIN), find, "documented").judge == "mixed"
    assert tolerance_of(GEMM, "OutputTensor", gemm(PLAIN), find, "measured") is sharp


def test_exceptions_of_the_operator_do_not_reach_the_activation() -> None:
    lax = Tolerance("ulp", parameters={"ulps": 1e6})
    operator = replace(GEMM, tolerance=replace(GEMM.tolerance, exceptions=(ToleranceException(lax),)))
    assert tolerance_of(operator, "OutputTensor", gemm(PLAIN)) is EXP.tolerance
    assert tolerance_of(operator, "OutputTensor", gemm(None)) is lax


def test_exceptions_for_an_output_of_the_activation_are_for_the_one_output() -> None:
    """The operator's output may be called otherwise than the activation's."""
    single = Tolerance("ulp", parameters={"ulps": 3})
    find = fused_with(replace(EXP.tolerance, exceptions=(ToleranceException(single, outputs=("OutputTensor",)),)))
    tensor = TensorDesc("FLOAT32", (4,))
    desc = OperatorDesc("GEMM", {"OutputSingleTensor": tensor, "FusedActivation": PLAIN})
    assert tolerance_of(GEMM, "OutputSingleTensor", desc, find) is single


def test_the_error_of_the_sum_is_allowed_beside_the_activations_own() -> None:
    value, error = np.full((1, 1, 4, 4), 2.0), np.full((1, 1, 4, 4), 1e-4)
    answer = activate_fused(np, gemm(PLAIN).fields, value, error)
    tolerance = tolerance_of(GEMM, "OutputTensor", gemm(PLAIN))
    for off, ok in ((0.0, True), (0.9e-4, True), (-0.9e-4, True), (1.1e-4, False), (-1.1e-4, False)):
        actual = np.exp(value + off).astype(np.float32)
        assert judge(actual, answer, tolerance, "FLOAT32", BackendInfo("any")).ok == ok, off


def test_terms_vary_where_inputs_are_random_and_not_broadcast() -> None:
    plain: Case = find_case("REDUCE/FLOAT32-FLOAT32/4d/SUM/Axes=3")
    assert terms_vary(plain)
    alike = replace(plain.data["InputTensor"], alike=True)
    special = replace(plain.data["InputTensor"], recipe="", special="ends")
    assert not any(terms_vary(replace(plain, data={"InputTensor": data})) for data in (alike, special))
    tensor = plain.desc.tensor("InputTensor")
    broadcast = plain.desc.with_tensors({"InputTensor": replace(tensor, strides=(*tensor.effective_strides[:3], 0))})
    assert not terms_vary(replace(plain, desc=broadcast))
