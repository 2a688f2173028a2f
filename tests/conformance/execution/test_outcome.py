"""What a backend answers instead of a result: refusals, faults, exceptions, and what it does not claim."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from wrong_backends import NEGATIVE, OR, ROUND, SAMPLE, Good, resource, run

from dmlcts.conformance.backends.backend import BackendFault, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.generator.case.case import REJECTION, from_json, to_json
from dmlcts.generator.suite.suite import find_case, operator_cases, select
from dmlcts.spec.reading.loader import load
from dmlcts.spec.untrusted.desc_json import write_desc

# What a backend answers instead


def raising(error: BaseException) -> Callable[[Dispatch], object]:
    def instead(_: Dispatch) -> object:
        raise error

    return instead


@pytest.mark.parametrize(
    ("error", "status", "message", "evidence"),
    [
        (
            Rejected("no such type", "compile", "0x80070057"),
            "fail",
            "refused at compile with 0x80070057: no such type",
            {"stage": "compile", "code": "0x80070057"},
        ),
        (Rejected("no"), "fail", "refused at create: no", {"stage": "create", "code": ""}),
        (Unsupported("not yet"), "unsupported", "not yet", {}),
        (BackendFault("exit code 3", "last words"), "error", "exit code 3", {"fault": "last words"}),
        (BackendFault("exit code 3"), "error", "exit code 3", {}),
    ],
)
def test_answers_to_a_valid_case(error: Exception, status: str, message: str, evidence: dict[str, str]) -> None:
    result = run(OR, Good(instead=raising(error)))
    assert (result.status, result.message, result.evidence) == (status, message, evidence)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("oops"),
        MemoryError("oops"),
        SystemExit("oops"),
        AssertionError("oops"),
        GeneratorExit("oops"),
        pytest.skip.Exception("oops"),
    ],
)
@pytest.mark.parametrize("case", [OR, NEGATIVE])
def test_whatever_a_python_backend_raises_costs_its_case(error: BaseException, case: str) -> None:
    result = run(case, Good(instead=raising(error)))
    assert result.status == "error"
    assert result.message.endswith(f"{type(error).__name__}: oops")
    assert "instead" in result.evidence["traceback"]


def test_ctrl_c_is_not_caught() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(OR, Good(instead=raising(KeyboardInterrupt())))


REFUSED = "must be rejected (constraint/same-sizes)"


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (Rejected("no", "bind", "E_INVALIDARG"), "pass", ""),
        (Unsupported("does not validate"), "unsupported", "does not validate"),
        (Rejected("no", "bind", "0x887A0005"), "pass", ""),
        (Rejected("no", "create", "0x887A0005"), "error", f"{REFUSED}, but the device is removed (0x887A0005) at create: no"),
        (Rejected("no", "bind", "0x887a0006"), "error", f"{REFUSED}, but the device is hung (0x887a0006) at bind: no"),
        (Rejected("no", "dispatch", "0x887A0007"), "error", f"{REFUSED}, but the device is reset (0x887A0007) at dispatch: no"),
        (BackendFault("exit code 3"), "error", "must be rejected (constraint/same-sizes), but: exit code 3"),
        (ValueError("oops"), "error", "must be rejected (constraint/same-sizes) with Rejected, but raised ValueError: oops"),
    ],
)
def test_answers_to_a_case_that_must_be_refused(error: Exception, status: str, message: str) -> None:
    result = run(NEGATIVE, Good(instead=raising(error)))
    assert (result.status, result.message) == (status, message)


def test_accepting_what_must_be_refused_fails() -> None:
    result = run(NEGATIVE, Good(instead=lambda _: None))
    assert (result.status, result.message) == ("fail", "accepted, but must be rejected: it breaks constraint/same-sizes")


@pytest.mark.parametrize("name", SAMPLE)
def test_one_that_accepts_everything_fails_every_negative_case_and_one_that_refuses_everything_every_other(name: str) -> None:
    accepting, refusing = Good(instead=lambda _: None), Good(instead=raising(Rejected("no")))
    for case in select(operator_cases(name), level="core", basis="measured"):
        if case.kind != "property":
            assert run(case, refusing).status == ("pass" if case.expect == REJECTION else "fail"), case.id
            if case.expect == REJECTION:
                assert run(case, accepting).status == "fail", case.id


def test_negative_cases_can_be_laid_out_and_hold_what_they_say() -> None:
    """Undersized and misaligned bindings reach the backend as such, and what is absent is absent."""
    base = "ELEMENT_WISE_BIT_OR/UINT32/negative/binding"
    seen: list[Dispatch] = []

    def look(dispatch: Dispatch) -> None:
        seen.append(dispatch)
        raise Rejected("no")

    for label in ("size/ATensor-4", "offset/BTensor+4", "unbound/OutputTensor"):
        assert run(f"{base}/{label}", Good(instead=look)).status == "pass"
    short, offset, unbound = seen
    assert short.bindings["ATensor"].size == short.desc.tensor("ATensor").bytes - 4
    assert offset.bindings["BTensor"].offset % 16 == 4
    assert unbound.bindings.keys() == {"ATensor", "BTensor"}
    assert unbound.outputs == ()


# What is not claimed


def test_types_that_are_not_claimed_are_unsupported_and_not_tried() -> None:
    backend = Good(instead=raising(AssertionError("tried")), data_types=("UINT16", "UINT8"), name="narrow")
    result = run("ELEMENT_WISE_BIT_COUNT/FLOAT16-UINT32/4d", backend)
    assert (result.status, result.message) == ("unsupported", "narrow does not claim FLOAT16, UINT32")
    assert run("ELEMENT_WISE_BIT_COUNT/UINT16-UINT8/4d", backend).status == "error"


def test_what_must_be_refused_is_tried_if_the_valid_desc_that_it_changes_has_types_that_are_claimed() -> None:
    assert run(NEGATIVE, Good(data_types=("UINT32",))).status == "pass"
    assert run(NEGATIVE, Good(instead=lambda _: None, data_types=("UINT32",))).status == "fail"
    untried = run(NEGATIVE, Good(instead=raising(AssertionError("tried")), data_types=("INT8",), name="narrow"))
    assert (untried.status, untried.undeclared) == ("unsupported", "data type")
    assert untried.message == "narrow does not claim UINT32"


FOREIGN = "GEMM/FLOAT32/negative/same-data-type/BTensor"


@pytest.mark.parametrize(
    ("instead", "outcome"),
    [
        (Rejected("no"), ("pass", "")),
        (None, ("fail", "")),
        (Unsupported("no FLOAT16"), ("unsupported", "data type")),
        (BackendFault("exit code 3"), ("error", "")),
    ],
)
def test_a_type_beyond_the_claim_that_the_change_brings_in_must_be_refused_or_declined(
    instead: Exception | None, outcome: tuple[str, str]
) -> None:
    """Which types the desc has in the end does not excuse accepting it."""
    case = find_case(FOREIGN)
    assert (case.base_types, {tensor.data_type for _, tensor in case.desc.tensors()}) == (("FLOAT32",), {"FLOAT32", "FLOAT16"})
    result = run(case, Good(instead=raising(instead) if instead else lambda _: None, data_types=("FLOAT32",)))
    assert (result.status, result.undeclared) == outcome


@pytest.mark.parametrize("data_types", [("FLOAT32", "FLOAT16"), ()])
def test_to_decline_what_must_be_refused_is_no_part_of_the_claim_if_all_types_are_claimed(data_types: tuple[str, ...]) -> None:
    result = run(FOREIGN, Good(instead=raising(Unsupported("no")), data_types=data_types))
    assert (result.status, result.undeclared) == ("unsupported", "")


def test_a_type_that_is_none_is_no_reason_to_decline() -> None:
    case = find_case("GEMM/FLOAT32/negative/data-type/ATensor+BTensor+CTensor+OutputTensor=UNKNOWN")
    result = run(case, Good(instead=raising(Unsupported("no")), data_types=("FLOAT32",)))
    assert (result.status, result.undeclared) == ("unsupported", "")


@pytest.mark.parametrize("name", SAMPLE)
def test_every_negative_case_says_what_types_its_valid_desc_has(name: str) -> None:
    for case in select(operator_cases(name), level="full", basis="measured"):
        assert bool(case.base_types) is (case.expect == REJECTION)
        if case.expect == REJECTION:
            assert case.data_type in case.base_types
            assert from_json(json.loads(json.dumps(to_json(case))), load).base_types == case.base_types


def test_a_backend_that_claims_nothing_in_particular_is_tried_on_everything() -> None:
    assert run(OR, Good(data_types=())).status == "pass"


# Backends cannot change the rules


def test_resources_that_are_replaced_instead_of_written_are_unwritten() -> None:
    def replacing(dispatch: Dispatch) -> None:
        whole = resource(dispatch).copy()
        ReferenceBackend().run(replace(dispatch, resources=[*dispatch.resources]))
        right, index = resource(dispatch).copy(), dispatch.bindings["OutputTensor"].resource
        resource(dispatch)[...] = whole
        dispatch.resources[index] = right

    result = run(OR, Good(instead=replacing))
    assert (result.status, result.wrong) == ("fail", 30)
    for nonsense in (np.zeros(1, np.uint8), None):
        assert run(OR, Good(instead=lambda d, n=nonsense: d.resources.__setitem__(2, n))).status == "fail"
    assert run(OR, Good(instead=lambda d: d.resources.clear())).status == "fail"


def test_bindings_cannot_be_changed() -> None:
    result = run(OR, Good(instead=lambda d: d.bindings.pop("OutputTensor")))  # type: ignore[attr-defined]
    assert (result.status, result.message.partition(":")[0]) == ("error", "AttributeError")


def test_descs_cannot_be_changed() -> None:
    def normalizing(dispatch: Dispatch) -> None:
        dispatch.desc.fields["Mode"] = "HALVES_TOWARD_ZERO"  # type: ignore[index]

    case = find_case(ROUND)
    before = write_desc(case.desc)
    result = run(case, Good(instead=normalizing))
    assert (result.status, result.message.partition(":")[0]) == ("error", "TypeError")
    assert write_desc(case.desc) == before


# What a host wrote to standard error


@pytest.mark.parametrize("error", [Rejected("no", "compile", "0x80004005"), BackendFault("device lost", "more")])
@pytest.mark.parametrize("stderr", ["", "E2008: Unhandled global flags"])
def test_what_was_written_before_an_answer_is_evidence_of_a_failure(error: Rejected | BackendFault, stderr: str) -> None:
    error.stderr = stderr
    for case in (OR, NEGATIVE):
        found = run(case, Good(instead=raising(error)))
        wanted = {"stderr": stderr} if stderr and found.status != "pass" else {}
        assert {key: value for key, value in found.evidence.items() if key == "stderr"} == wanted
    assert run(OR, Good(instead=raising(error))).status != "pass"
