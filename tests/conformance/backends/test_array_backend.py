"""Backends that think in arrays: ten lines are enough, nonsense is an error of the backend, and what is invalid is refused or unsupported."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.array_backend import ArrayBackend, binding_violations, rejection
from dmlcts.conformance.backends.backend import BackendFault, BackendInfo, BufferBinding, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.execute import execute
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.generator.case.case import Binding
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import find_case, operator_cases
from dmlcts.reports.record.paths import CodePath
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.rules.rules import Violation


class Mine(ArrayBackend):
    """The ten lines of the documentation."""

    info = BackendInfo("mine", "1.0", data_types=("UINT32",))

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        if desc.type != "ELEMENT_WISE_BIT_OR":
            raise Unsupported(desc.type)
        return {"OutputTensor": inputs["ATensor"] | inputs["BTensor"]}


class Giving(ArrayBackend):
    """Gives what it was made with."""

    info = BackendInfo("giving")

    def __init__(self, outputs: Any) -> None:
        self.outputs = outputs

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, np.ndarray]) -> Any:
        return self.outputs


def dispatch(data_type: str = "UINT8", sizes: tuple[int, ...] = (4,), strides: tuple[int, ...] | None = None) -> Dispatch:
    """BIT_OR of ones and twos."""
    tensor = TensorDesc(data_type, sizes, strides)
    desc = OperatorDesc("ELEMENT_WISE_BIT_OR", {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor})
    resources = [np.full(tensor.bytes, value, np.uint8) for value in (1, 2, 0)]
    bindings = {name: BufferBinding(i, 0, tensor.bytes) for i, name in enumerate(desc.fields)}
    return Dispatch(desc, resources, bindings, ("OutputTensor",))


def test_ten_lines_pass_every_case_of_their_type_in_every_layout() -> None:
    backend = Mine()
    tried = [
        case
        for case in operator_cases("ELEMENT_WISE_BIT_OR")
        if case.data_type == "UINT32" and case.kind not in ("negative", "property") and case.level != "full"
    ]
    assert {case.kind for case in tried} >= {"table", "combination", "values", "gaps"}
    assert [(case.id, result.message) for case in tried if (result := execute(case, backend, backend.info)).status != "pass"] == []


def test_what_it_does_not_claim_is_unsupported() -> None:
    backend = Mine()
    other_type = execute(find_case("ELEMENT_WISE_BIT_OR/UINT8/4d"), backend, backend.info)
    assert (other_type.status, other_type.message) == ("unsupported", "mine does not claim UINT8")
    other_operator = execute(find_case("ELEMENT_WISE_BIT_XOR/UINT32/4d"), backend, backend.info)
    assert (other_operator.status, other_operator.message) == ("unsupported", "ELEMENT_WISE_BIT_XOR")


def test_inputs_come_packed_and_in_their_type() -> None:
    seen: dict[str, np.ndarray] = {}

    class Looking(ArrayBackend):
        def compute(self, desc: OperatorDesc, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
            seen.update(inputs)
            return {"OutputTensor": np.zeros((2, 3), np.int16)}

    given = dispatch("INT16", (2, 3), (1, 2))
    given.resources[0].view(np.int16)[:] = [1, 2, 3, 4, 5, 6]
    Looking().run(given)
    assert seen.keys() == {"ATensor", "BTensor"}
    assert seen["ATensor"].tolist() == [[1, 3, 5], [2, 4, 6]]
    assert seen["ATensor"].dtype == np.int16
    seen["ATensor"][...] = 0  # a copy
    assert given.resources[0].any()


# What compute must not return


@pytest.mark.parametrize(
    ("outputs", "message", "evidence"),
    [
        (None, "compute did not return the output OutputTensor", "compute returned a NoneType"),
        ({}, "compute did not return the output OutputTensor", "compute returned a mapping of nothing"),
        (
            {"Output": np.zeros(4, np.uint8)},
            "compute must return a mapping with OutputTensor",
            "compute returned a mapping of Output",
        ),
        ({"OutputTensor": None}, "compute did not return the output OutputTensor", "compute returned a mapping of OutputTensor"),
        (np.zeros(4, np.uint8), "compute did not return the output OutputTensor", "compute returned uint8 of sizes [4]"),
        ([np.zeros(4, np.uint8)], "compute did not return the output OutputTensor", "compute returned a list"),
        (
            {"OutputTensor": np.zeros(4, np.uint8), "ATensor": np.zeros(4, np.uint8)},
            "compute must return a mapping with OutputTensor",
            "compute returned a mapping of OutputTensor, ATensor",
        ),
        (
            {"OutputTensor": np.zeros(5, np.uint8)},
            "compute must return OutputTensor as uint8 of sizes [4], not uint8 of sizes [5]",
            "",
        ),
        (
            {"OutputTensor": np.zeros(3, np.uint8)},
            "compute must return OutputTensor as uint8 of sizes [4], not uint8 of sizes [3]",
            "",
        ),
        (
            {"OutputTensor": np.zeros((1, 4), np.uint8)},
            "compute must return OutputTensor as uint8 of sizes [4], not uint8 of sizes [1, 4]",
            "",
        ),
        (
            {"OutputTensor": np.zeros(1, np.uint8)},
            "compute must return OutputTensor as uint8 of sizes [4], not uint8 of sizes [1]",
            "",
        ),
        (
            {"OutputTensor": np.zeros((), np.uint8)},
            "compute must return OutputTensor as uint8 of sizes [4], not uint8 of sizes []",
            "",
        ),
        (
            {"OutputTensor": np.zeros(4, np.int8)},
            "compute must return OutputTensor as uint8 of sizes [4], not int8 of sizes [4]",
            "",
        ),
        (
            {"OutputTensor": np.zeros(4, np.int64)},
            "compute must return OutputTensor as uint8 of sizes [4], not int64 of sizes [4]",
            "",
        ),
        ({"OutputTensor": [0, 0, 0, 0]}, "compute must return OutputTensor as uint8 of sizes [4], not a list", ""),
        ({"OutputTensor": 0}, "compute must return OutputTensor as uint8 of sizes [4], not a int", ""),
    ],
)
def test_nonsense_is_a_fault(outputs: Any, message: str, evidence: str) -> None:
    given = dispatch()
    with pytest.raises(BackendFault) as fault:
        Giving(outputs).run(given)
    assert (str(fault.value), fault.value.evidence) == (message, evidence)
    assert not given.resources[2].any()


def test_bytes_in_another_order_are_another_type() -> None:
    with pytest.raises(BackendFault, match="must return OutputTensor as uint16 of sizes"):
        Giving({"OutputTensor": np.zeros(4, ">u2")}).run(dispatch("UINT16"))


def test_an_array_that_is_not_contiguous_is_fine() -> None:
    given = dispatch("UINT8", (2, 2))
    Giving({"OutputTensor": np.array([[1, 2], [3, 4]], np.uint8).T}).run(given)
    assert given.resources[2].tolist() == [1, 3, 2, 4]


def test_a_class_without_compute_costs_the_case_and_not_the_run() -> None:
    backend = ArrayBackend()
    result = execute(find_case("ELEMENT_WISE_BIT_OR/UINT8/4d"), backend, backend.describe())
    assert result.status == "error"
    assert "NotImplementedError" in result.message


# What is invalid


def test_a_backend_that_does_not_validate_neither_passes_nor_fails_negative_cases() -> None:
    backend = Mine()
    for case_id in ("same-sizes/BTensor-size0", "binding/size/ATensor-4", "missing/ATensor"):
        result = execute(find_case(f"ELEMENT_WISE_BIT_OR/UINT32/negative/{case_id}"), backend, backend.info)
        assert result.status == "unsupported"
        assert result.message.startswith("mine does not validate descs (")


def test_it_validates_at_its_own_feature_level() -> None:
    class Old(ReferenceBackend):
        def __init__(self) -> None:
            super().__init__()
            self.info = BackendInfo("old", feature_level="3_0")

    old = Old()
    result = execute(find_case("ELEMENT_WISE_BIT_OR/INT8/4d"), old, old.info)
    assert (result.status, result.evidence["stage"]) == ("fail", "create")
    assert "feature level 3_0 lists UINT32, UINT16, UINT8" in result.message
    assert execute(find_case("ELEMENT_WISE_BIT_OR/UINT8/4d"), old, old.info).status == "pass"


def laid(**bindings: Binding) -> Dispatch:
    from dataclasses import replace

    case = find_case("ELEMENT_WISE_BIT_OR/UINT8/4d")
    return lay_out(replace(case, bindings=bindings), inputs(case), {}).dispatch


def test_bindings_are_looked_at() -> None:
    assert binding_violations(laid()) == []
    assert [v.label for v in binding_violations(laid(ATensor=Binding(absent=True)))] == ["binding/ATensor"]
    assert [v.label for v in binding_violations(laid(OutputTensor=Binding(short=4)))] == ["binding/OutputTensor/size"]
    assert [v.label for v in binding_violations(laid(BTensor=Binding(offset=4)))] == ["binding/BTensor/offset"]
    assert binding_violations(laid(BTensor=Binding(offset=16))) == []
    both = binding_violations(laid(ATensor=Binding(absent=True), OutputTensor=Binding(short=4)))
    assert [v.label for v in both] == ["binding/ATensor", "binding/OutputTensor/size"]


def test_a_binding_that_reaches_past_its_resource_is_too_small() -> None:
    given = dispatch()
    given.resources[0] = given.resources[0][:2]
    assert [v.label for v in binding_violations(given)] == ["binding/ATensor/size"]


def test_a_rejection_says_where_and_why() -> None:
    error = rejection([Violation("binding/ATensor", "ATensor is not bound"), Violation("x", "y")])
    assert isinstance(error, Rejected)
    assert (str(error), error.stage, error.code) == ("binding/ATensor: ATensor is not bound; x: y", "bind", "E_INVALIDARG")
    assert rejection([Violation("enum/RoundingMode", "3 is none")]).stage == "create"


def test_a_description_may_have_lists() -> None:
    """It is compared with that of another process, which came as JSON."""
    info = BackendInfo("mine", operators=["GEMM"], data_types=["UINT32"])  # type: ignore[arg-type]
    assert (info.operators, info.data_types) == (("GEMM",), ("UINT32",))
    assert BackendInfo.from_json(json.loads(json.dumps(info.to_json()))).change(info) == ""


class Tiled(Giving):
    """Says which of its kernels runs."""

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, np.ndarray]) -> Any:
        self.path("bit or, tile of 4", np.int64(1), 2)
        self.path("copy")
        return super().compute(desc, inputs)


def test_a_backend_names_the_code_paths_that_run() -> None:
    work, unasked = replace(dispatch(), paths=[]), dispatch()
    backend = Tiled({"OutputTensor": np.zeros(4, np.uint8)})
    backend.run(work)
    backend.run(unasked)
    assert work.paths == [CodePath("bit or, tile of 4", (1, 2)), CodePath("copy")]
    assert unasked.paths is None


@pytest.mark.parametrize("given", [("",), (" ",), (7,), ("a", -1), ("a", 1.5), ("a", True), ("a", 2**63), ("a", *range(9))])
def test_a_code_path_that_is_none_is_an_error_whether_somebody_asks_or_not(given: tuple[Any, ...]) -> None:
    for work in (dispatch(), replace(dispatch(), paths=[])):
        with pytest.raises(ValueError, match="code path"):
            work.path(*given)


def test_no_more_code_paths_are_kept_than_a_record_takes() -> None:
    work = replace(dispatch(), paths=[])
    for number in range(2000):
        work.path("a", number)
    assert work.paths is not None
    assert [work.paths[-1].numbers, len(work.paths)] == [(1024,), 1025]
