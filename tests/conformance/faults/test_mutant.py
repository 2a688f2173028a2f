"""A mutant does what its fault says, where it says so, and what is right elsewhere."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.faults.model.fault import (
    FLOATS,
    PRECISIONS,
    Fault,
    as_bfloat16,
    as_float16,
    as_tf32,
    change_result,
    change_values,
    roundings,
    skip_stage,
    with_attributes,
    with_input,
)
from dmlcts.conformance.faults.model.mutant import Mutant, MutantBackend, fit_to_sizes, store_like
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.case.case import REJECTION, Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import find_case, operator_cases
from dmlcts.reference.answer import Answer
from dmlcts.reports.record.record import ERROR, FAIL, PASS, Result
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

ADD, CLIP, GEMM, POOL = "ELEMENT_WISE_ADD", "ELEMENT_WISE_CLIP", "GEMM", "MAX_POOLING2"
A, B = np.array([[1.0, -2.0]], np.float32), np.array([[10.0, 20.0]], np.float32)


def adding(data_type: str = "FLOAT32") -> OperatorDesc:
    tensor = TensorDesc(data_type, (1, 2))
    return OperatorDesc(ADD, {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor})


def wrong(fault: Fault, desc: OperatorDesc | None = None, **inputs: Any) -> dict[str, Any]:
    desc = desc or adding()
    return MutantBackend(Mutant(desc.type, "planted", fault)).wrong(desc, inputs or {"ATensor": A, "BTensor": B})


def run(fault: Fault, case: Case) -> Result:
    mutant = Mutant(case.operator.name, "planted", fault)
    with Session(RunOptions(), MutantBackend(mutant)) as session:
        return session.run(case)


def first(operator: str, kind: str) -> Case:
    return next(case for case in operator_cases(operator, "core") if case.kind == kind)


# What is computed


def test_a_value_stands_in_the_output() -> None:
    found = wrong(Fault("subtracts", lambda desc, inputs, right: inputs["ATensor"].astype("f8") - inputs["BTensor"]))
    assert found["OutputTensor"].tolist() == [[-9.0, -22.0]]
    assert found["OutputTensor"].dtype == np.float32


def test_a_value_concerns_one_output() -> None:
    case = next(c for c in operator_cases(POOL, "core") if c.expect == "reference" and c.desc.fields["OutputIndicesTensor"])
    right = wrong(Fault("nothing"), case.desc, **inputs(case))
    found = wrong(Fault("zeros", lambda desc, given, r: 0, output="OutputIndicesTensor"), case.desc, **inputs(case))
    assert not found["OutputIndicesTensor"].any()
    assert (found["OutputTensor"] == right["OutputTensor"]).all()
    assert not any(array.any() for array in wrong(Fault("zeros", lambda desc, given, r: 0), case.desc, **inputs(case)).values())


def test_a_misread_desc_is_computed() -> None:
    as_other = Fault("multiplies", desc=lambda desc: OperatorDesc("ELEMENT_WISE_MULTIPLY", desc.fields))
    assert wrong(as_other)["OutputTensor"].tolist() == [[10.0, -40.0]]
    clip = OperatorDesc(
        CLIP,
        {
            "InputTensor": TensorDesc("FLOAT32", (1, 2)),
            "OutputTensor": TensorDesc("FLOAT32", (1, 2)),
            "ScaleBias": None,
            "Min": 0.0,
            "Max": 9.0,
        },
    )
    lower = Fault("lowers", desc=with_attributes(lambda fields: {"Min": fields["Min"] - 1}))
    assert wrong(lower, clip, InputTensor=A)["OutputTensor"].tolist() == [[1.0, -1.0]]


def test_changed_inputs_are_computed_with() -> None:
    assert wrong(Fault("doubles A", inputs=with_input("ATensor", lambda x: 2 * x)))["OutputTensor"].tolist() == [[12.0, 16.0]]


def test_the_desc_follows_inputs_of_another_type_and_size() -> None:
    seen = []

    def spied(desc: OperatorDesc, inputs: Any) -> Any:
        return {name: array[:, :1].view(np.uint32) for name, array in inputs.items()}

    class Spy(MutantBackend):
        def compute(self, desc: OperatorDesc, inputs: Any) -> dict[str, Any]:
            seen.append(desc)
            return super().compute(desc, inputs)

    Spy(Mutant(ADD, "planted", Fault("cuts", inputs=spied))).wrong(adding(), {"ATensor": A, "BTensor": B})
    assert seen[0].tensor("ATensor") == TensorDesc("UINT32", (1, 1))
    assert seen[0].tensor("OutputTensor") == TensorDesc("FLOAT32", (1, 2))


def test_an_input_that_is_left_out_is_absent() -> None:
    case = next(c for c in operator_cases(GEMM, "core") if c.expect == "reference" and c.desc.fields["CTensor"])
    fault = Fault("ignores C", inputs=lambda desc, inputs: {n: x for n, x in inputs.items() if n != "CTensor"})
    assert run(fault, case).status == FAIL
    assert run(Fault("nothing", inputs=lambda desc, inputs: dict(inputs)), case).status == PASS


def test_where_a_misreading_makes_no_sense_it_does_what_is_right() -> None:
    def impossible(desc: OperatorDesc) -> OperatorDesc:
        raise ValueError

    assert wrong(Fault("fails", desc=impossible))["OutputTensor"].tolist() == [[11.0, 18.0]]


def test_a_stage_that_is_replaced_wrongly_is_an_error() -> None:
    with pytest.raises(KeyError, match=r"no stage is called none\.such"):
        wrong(Fault("fails", stages={"none.such": lambda right: right()}))


# Where


def test_it_goes_wrong_for_its_types_and_where_its_condition_holds_alone() -> None:
    zeros = Fault(
        "gives 0", lambda desc, inputs, right: 0, types=("FLOAT16",), when=lambda desc: desc.tensor("ATensor").sizes[0] == 1
    )
    assert not zeros.applies(adding())
    assert zeros.applies(adding("FLOAT16"))
    case = find_case(f"{ADD}/FLOAT32/4d")
    assert run(zeros, case).status == PASS
    assert run(Fault("gives 0", zeros.value), case).status == FAIL


def test_other_operators_are_computed_rightly() -> None:
    case = find_case("ELEMENT_WISE_MULTIPLY/FLOAT32/4d")
    mutant = Mutant(ADD, "planted", Fault("gives 0", lambda desc, inputs, right: 0))
    with Session(RunOptions(), MutantBackend(mutant)) as session:
        assert session.run(case).status == PASS


# Around the computation


def test_how_tensors_are_read_and_written() -> None:
    case = find_case(f"{ADD}/FLOAT32/4d")
    negated = Fault("negates A", read=lambda name, *where: (-1 if name == "ATensor" else 1) * read_tensor(*where))
    assert run(negated, case).status == FAIL
    unwritten = Fault("writes nothing", write=lambda buffer, tensor, array, offset: None)
    assert run(unwritten, case).status == FAIL
    assert run(Fault("nothing", read=lambda name, *where: read_tensor(*where), write=write_tensor), case).status == PASS


def test_what_happens_around_a_dispatch() -> None:
    def spoiled(dispatch: Dispatch, execute: Any) -> None:
        execute(dispatch)
        for resource in dispatch.resources:
            resource[0] ^= 1

    assert run(Fault("spoils", around=spoiled), find_case(f"{ADD}/FLOAT32/4d")).status == FAIL
    assert run(Fault("spoils", around=spoiled, types=("INT8",)), find_case(f"{ADD}/FLOAT32/4d")).status == PASS


def test_rules_that_it_does_not_enforce_and_what_it_refuses() -> None:
    negative, usual = first(ADD, "negative"), find_case(f"{ADD}/FLOAT32/4d")
    assert run(Fault("accepts all", accepts=lambda dispatch, broken: []), negative).status == FAIL
    assert run(Fault("accepts all", accepts=lambda dispatch, broken: []), usual).status == PASS
    assert run(Fault("refuses all", refuses=lambda dispatch: True), usual).status == FAIL
    assert run(Fault("refuses all", refuses=lambda dispatch: True), negative).status == PASS


def test_an_exception_of_its_own_is_an_error() -> None:
    def raised(dispatch: Dispatch, broken: Any) -> Any:
        raise ZeroDivisionError("planted")

    assert run(Fault("crashes", accepts=raised), first(ADD, "negative")).status == ERROR


@pytest.mark.parametrize(
    ("fault", "in_rejections", "elsewhere"),
    [
        (Fault("", lambda desc, inputs, right: 0), False, True),
        (Fault("", lambda desc, inputs, right: 0, types=("INT8",)), False, False),
        (Fault("", accepts=lambda dispatch, broken: []), True, False),
        (Fault("", refuses=lambda dispatch: True), False, True),
    ],
)
def test_cases_in_which_it_cannot_show(fault: Fault, in_rejections: bool, elsewhere: bool) -> None:
    assert fault.may_show(next(c for c in operator_cases(ADD, "core") if c.expect == REJECTION)) == in_rejections
    assert fault.may_show(find_case(f"{ADD}/FLOAT32/4d")) == elsewhere
    assert fault.may_show(first(ADD, "property")) == (not in_rejections)


# What rows are made of


def test_stages_are_changed_and_left_out() -> None:
    answer = Answer(np.array([1.0]), slack=0.5)
    assert change_values(answer, lambda x: 2 * x).value.tolist() == [2.0]
    assert change_values(answer, lambda x: 2 * x).slack == 0.5
    assert change_result("a.b", lambda x: x + 1)["a.b"](lambda x, y: x * y, 3, y=4) == 13
    assert skip_stage("a.b", 1)["a.b"](lambda x, y: x * y, 3, 4) == 4


@pytest.mark.parametrize(
    ("rounded", "number", "expected"),
    [
        (as_float16, 1 + 2.0**-11, 1.0),
        (as_float16, 1 + 3 * 2.0**-11, 1 + 2.0**-9),
        (as_float16, 70000.0, np.inf),
        (as_bfloat16, 1 + 2.0**-8, 1.0),
        (as_bfloat16, 1 + 3 * 2.0**-8, 1 + 2.0**-6),
        (as_bfloat16, 1e38, 9.969209968386869e37),
        (as_tf32, 1 + 2.0**-11, 1.0),
        (as_tf32, -(1 + 3 * 2.0**-11), -(1 + 2.0**-9)),
        (as_tf32, 70000.0, 70016.0),
        (as_tf32, -np.inf, -np.inf),
    ],
)
def test_less_precision(rounded: Any, number: float, expected: float) -> None:
    for dtype in ("f4", "f8"):
        found = rounded(np.array([number], dtype))
        assert found.dtype == dtype
        assert found.tolist() == [expected]
    assert np.isnan(rounded(np.array([np.nan], "f4")))


def test_roundings_of_a_stage() -> None:
    found = roundings("sums", "a.sum")
    assert list(found) == [f"sums-{name}" for name in PRECISIONS]
    assert found["sums-in-bfloat16"].types == FLOATS
    assert found["sums-in-bfloat16"].does == "computes sums in bfloat16"


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1.5, -1.5, np.nan, 1e9, -1e9], "i1", [1, -1, 0, 127, -128]),
        ([300, -1], "u1", [44, 255]),
        ([1e39], "f4", [np.inf]),
        (7, "i4", [7]),
    ],
)
def test_values_become_an_output(values: Any, dtype: str, expected: list[float]) -> None:
    with np.errstate(all="ignore"):
        found = store_like(np.array(values), np.zeros(len(expected), dtype))
    assert found.tolist() == expected


def test_arrays_of_other_sizes_are_cut_or_filled() -> None:
    array = np.arange(1, 7).reshape(2, 3)
    assert fit_to_sizes(array, (2, 2)).tolist() == [[1, 2], [4, 5]]
    assert fit_to_sizes(array, (3, 3)).tolist() == [[1, 2, 3], [4, 5, 6], [0, 0, 0]]
    assert fit_to_sizes(array, (1, 2, 3)).tolist() == [array.tolist()]
    assert fit_to_sizes(array[None], (2, 3)).tolist() == array.tolist()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="this system has no such limit")
def test_a_fault_that_asks_for_more_memory_than_there_is_fails_its_case_and_no_more() -> None:
    """A fault that reads an index as a size: without a bound, the system ends the process."""
    import resource  # not on Windows

    before = resource.getrlimit(resource.RLIMIT_AS)
    fault = Fault("huge", value=lambda *_: np.ones(3 << 30, np.float32))
    with pytest.raises(MemoryError):
        wrong(fault)
    assert run(fault, next(case for case in operator_cases(ADD) if case.kind != REJECTION)).status == ERROR
    assert resource.getrlimit(resource.RLIMIT_AS) == before
