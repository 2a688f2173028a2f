"""Execution against backends that misbehave, each in one way: what is wrong gets its status and a message that says what it was."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dmlcts.conformance.backend import BackendFault, BackendInfo, Bytes, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.buffers import element_bytes, read_tensor, write_tensor
from dmlcts.conformance.execute import GUARD, execute, flush_denormals, holds_bits, lay_out, poison, trespasses
from dmlcts.conformance.judge import judge
from dmlcts.generator.case import REJECTION, Case, Data
from dmlcts.generator.data import inputs
from dmlcts.generator.special import special_values
from dmlcts.generator.suite import find_case, operator_cases, select
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.reports.record import Result
from dmlcts.spec.abi import abi, data_type
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.dtypes import literal_array, literal_defined, numpy_dtype
from dmlcts.spec.loader import load
from dmlcts.spec.model import Literal, Tolerance

OR = "ELEMENT_WISE_BIT_OR/UINT8/4d"
XOR = "ELEMENT_WISE_BIT_XOR/UINT32/4d"
ROUND = "ELEMENT_WISE_ROUND/FLOAT32/4d/TOWARD_ZERO"
NEGATIVE = "ELEMENT_WISE_BIT_OR/UINT32/negative/same-sizes/BTensor-size2"
# The first operators; then attributes of every kind, tensors of several types of which one may be absent, and sizes with symbols.
SAMPLE = (
    *(
        f"ELEMENT_WISE_{name}"
        for name in ("BIT_COUNT", "BIT_OR", "BIT_SHIFT_RIGHT", "BIT_XOR", "ROUND", "CLIP1", "QUANTIZE_LINEAR")
    ),
    "ACTIVATION_SOFTMAX",
)


class Good(ReferenceBackend):
    """The reference, which a test lets do something besides: ``after`` a dispatch that it has executed rightly, or ``instead`` of it."""

    def __init__(
        self, after: Callable[[Dispatch], object] | None = None, instead: Callable[[Dispatch], object] | None = None, **info: Any
    ) -> None:
        super().__init__()
        self.after, self.instead = after, instead
        self.info = replace(self.info, **info)

    def run(self, dispatch: Dispatch) -> None:
        if self.instead is not None:
            self.instead(dispatch)
            return
        super().run(dispatch)
        if self.after is not None:
            self.after(dispatch)


class Computing(ReferenceBackend):
    """The reference but for what it computes."""

    def __init__(self, value: Callable[[Mapping[str, np.ndarray]], np.ndarray], **info: Any) -> None:
        super().__init__()
        self.value = value
        self.info = replace(self.info, **info)

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"OutputTensor": self.value(inputs)}


def run(case: Case | str, backend: ReferenceBackend) -> Result:
    return execute(find_case(case) if isinstance(case, str) else case, backend, backend.info)


def after(case: Case | str, change: Callable[[Dispatch], object]) -> Result:
    return run(case, Good(after=change))


def resource(dispatch: Dispatch, name: str = "OutputTensor") -> Bytes:
    return dispatch.resources[dispatch.bindings[name].resource]


def start(dispatch: Dispatch, name: str = "OutputTensor") -> int:
    return dispatch.bindings[name].offset


def end(dispatch: Dispatch, name: str = "OutputTensor") -> int:
    return start(dispatch, name) + dispatch.bindings[name].size


def put(dispatch: Dispatch, at: int, value: int, name: str = "OutputTensor") -> None:
    resource(dispatch, name)[at] = value


def output(dispatch: Dispatch) -> np.ndarray:
    return read_tensor(resource(dispatch), dispatch.desc.tensor("OutputTensor"), start(dispatch))


def write(dispatch: Dispatch, values: np.ndarray) -> None:
    write_tensor(resource(dispatch), dispatch.desc.tensor("OutputTensor"), values, start(dispatch))


# What is right


@pytest.mark.parametrize("case", [OR, XOR, ROUND, NEGATIVE, "ELEMENT_WISE_ROUND/FLOAT32/example/adding-a-half-rounds"])
def test_the_reference_passes(case: str) -> None:
    result = run(case, Good())
    assert (result.status, result.message, result.mismatches, result.wrong, result.desc) == ("pass", "", (), 0, None)
    assert (result.case, result.operator, result.kind) == (case, case.partition("/")[0], find_case(case).kind)
    assert result.seconds > 0


@pytest.mark.parametrize("name", SAMPLE)
def test_the_reference_passes_smoke(name: str) -> None:
    backend = Good()
    for case in select(operator_cases(name), level="smoke", basis="measured"):
        result = run(case, backend)
        assert result.status == "pass", result


def test_any_answer_of_a_contested_example_passes_and_the_result_says_whose_it_was() -> None:
    case = find_case("ELEMENT_WISE_ROUND/FLOAT32/example/adding-a-half-rounds")

    def like_the_dll(given: Mapping[str, np.ndarray]) -> np.ndarray:
        x = given["InputTensor"]
        return np.trunc(x + np.copysign(np.float32(0.5), x))

    def half_and_half(given: Mapping[str, np.ndarray]) -> np.ndarray:
        x = given["InputTensor"]
        return np.where(np.arange(x.size) % 2 == 0, like_the_dll(given), np.rint(x)).astype(np.float32)

    assert run(case, Good()).whose == "documented"
    assert run("ELEMENT_WISE_ROUND/FLOAT32/example/toward-zero", Good()).whose == ""
    dll = run(case, Computing(like_the_dll))
    assert (dll.status, dll.whose) == ("pass", "measured")
    mixed = run(case, Computing(half_and_half))
    assert (mixed.status, mixed.whose) == ("fail", "")
    assert mixed.wrong == 5


# Values


def test_one_wrong_element_fails_and_is_named() -> None:
    result = after(OR, lambda d: put(d, start(d) + 7, resource(d)[start(d) + 7] ^ 4))
    assert (result.status, result.wrong, result.elements) == ("fail", 1, 30)
    assert result.mismatches[0].index == (1, 0, 0, 1)
    assert result.message.startswith("OutputTensor: 1 of 30 elements wrong (3.33 %), worst at [1, 0, 0, 1]: expected ")
    assert result.desc is not None


def last_is_old(dispatch: Dispatch) -> None:
    before = output(dispatch)
    ReferenceBackend().run(dispatch)
    values = output(dispatch)
    values[(-1,) * values.ndim] = before[(-1,) * values.ndim]
    write(dispatch, values)


def swapped(dispatch: Dispatch) -> None:
    values = output(dispatch)
    flat = values.reshape(-1).copy()
    flat[[0, 1]] = flat[[1, 0]]
    write(dispatch, flat.reshape(values.shape))


@pytest.mark.parametrize(
    "case", [OR, XOR, ROUND, "ELEMENT_WISE_BIT_COUNT/INT16-UINT8/4d", "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT64/8d"]
)
def test_an_element_left_unwritten_is_wrong_and_no_other_is(case: str) -> None:
    result = run(case, Good(instead=last_is_old))
    sizes = find_case(case).desc.tensor("OutputTensor").sizes
    assert (result.status, result.wrong) == ("fail", 1)
    assert result.mismatches[0].index == tuple(size - 1 for size in sizes)


@pytest.mark.parametrize("case", [OR, XOR, ROUND])
def test_two_elements_exchanged_are_both_wrong(case: str) -> None:
    result = after(case, swapped)
    assert (result.status, result.wrong) == ("fail", 2)


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_written_is_wrong_in_every_element(name: str) -> None:
    idle = Good(instead=lambda _: None)
    for case in select(operator_cases(name), level="core", basis="measured"):
        if case.kind in ("table", "values", "example", "layout", "gaps"):
            result = run(case, idle)
            assert result.status == "fail", case.id
            # The complement of 127 is 128, which is right where a tolerance lets a byte be off by one.
            few = result.elements // 100 if load(name).tolerance.judge == "discrete" else 0
            assert result.elements - few <= result.wrong > 0, case.id


# Poison


@pytest.mark.parametrize("name", abi().data_types)
def test_poison_is_never_the_answer(name: str) -> None:
    """Not as a number, not in bits, and not by any tolerance that knows flushed denormals."""
    if data_type(name).bits < 8:
        right = np.arange(-8, 8).astype(ml_dtypes.int4) if name == "INT4" else np.arange(16).astype(ml_dtypes.uint4)
    else:
        patterns = np.frombuffer(np.random.default_rng(8).bytes(2000 * numpy_dtype(name).itemsize), numpy_dtype(name))
        sets = ("bit-patterns", "single-bits", "zeros", "infinities", "nans", "denormals", "large-integers")
        right = np.concatenate([patterns, *(special_values(set_name, name) for set_name in sets)])
    found = poison(Answer(right), TensorDesc(name, right.shape))
    assert found is not None
    assert (found.dtype, found.shape) == (right.dtype, right.shape)
    flushing = BackendInfo("any", denormals="any")
    for compare in ("value", "bits") if data_type(name).bits >= 8 else ("value",):
        verdict = judge(found, Answer(right), Tolerance("exact", compare), name, flushing)
        assert verdict.wrong == right.size, compare


def test_poison_of_an_unrounded_answer_is_that_of_what_it_rounds_to() -> None:
    found = poison(Answer(np.array([1.0, 1e300])), TensorDesc("FLOAT32", (2,)))
    assert found is not None
    assert found.view(np.uint32).tolist() == [0x3F800000 ^ 0xFFFFFFFF, 0x7F800000 ^ 0xFFFFFFFF]
    assert poison(None, TensorDesc("FLOAT32", (2,))) is None


# Places where nothing may be written


def test_bindings_are_guarded_on_both_sides_and_aligned() -> None:
    case = find_case(OR)
    layout = lay_out(case, inputs(case), compute(case.desc, inputs(case)))
    for name, binding in layout.dispatch.bindings.items():
        size = case.desc.tensor(name).bytes
        assert (binding.size, binding.offset % 16) == (size, 0)
        assert binding.offset >= GUARD
        assert layout.resources[binding.resource].size >= binding.offset + size + GUARD
    offsets = [binding.offset for binding in layout.dispatch.bindings.values()]
    assert len(set(offsets)) == len(offsets)  # one taken for another's shows
    assert trespasses(case, layout) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: put(d, end(d), 0), "1 bytes past the end of OutputTensor were overwritten, first 0 bytes after it"),
        (lambda d: put(d, end(d) + 63, 0), "1 bytes past the end of OutputTensor were overwritten, first 63 bytes after it"),
        (lambda d: resource(d)[end(d) :].fill(0), "64 bytes past the end of OutputTensor were overwritten, first 0 bytes after it"),
        (lambda d: put(d, start(d) - 1, 0), "bytes before the beginning of OutputTensor were overwritten"),
        (lambda d: put(d, 0, 0), "bytes before the beginning of OutputTensor were overwritten"),
        (
            lambda d: put(d, start(d, "ATensor") + 2, 1, "ATensor"),
            "the input ATensor was changed, first at byte 2",
        ),
        (
            lambda d: put(d, end(d, "BTensor") + 5, 1, "BTensor"),
            "the input BTensor was changed, first at byte 37",
        ),
        (
            lambda d: put(d, start(d, "BTensor") - 3, 1, "BTensor"),
            "the input BTensor was changed, first at byte -3",
        ),
    ],
)
def test_a_write_where_nothing_may_be_written(change: Callable[[Dispatch], object], message: str) -> None:
    result = after(OR, change)
    assert (result.status, result.message, result.evidence) == ("fail", message, {"memory": message})


@pytest.mark.parametrize("at", [0, -1])
def test_the_first_and_the_last_guard_byte_of_an_input_count(at: int) -> None:
    for name in ("ATensor", "BTensor"):
        result = after(OR, lambda d, name=name: put(d, at, 0, name))
        assert result.message.startswith(f"the input {name} was changed"), result


@pytest.mark.parametrize(
    "name", ["ELEMENT_WISE_BIT_OR/UINT8/4d", "ELEMENT_WISE_BIT_XOR/UINT8/4d", "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT8/4d"]
)
@pytest.mark.parametrize("too_far", [1, 4, 16])
def test_an_operator_that_goes_on_past_the_end_is_seen_whatever_it_computes_there(name: str, too_far: int) -> None:
    """What it reads past the end of its inputs must not give what stands past the end of its output."""

    def longer(dispatch: Dispatch) -> None:
        a, b = (resource(dispatch, tensor)[end(dispatch, tensor) :][:too_far] for tensor in ("ATensor", "BTensor"))
        size = slice(end(dispatch), end(dispatch) + too_far)
        operation = {"OR": np.bitwise_or, "XOR": np.bitwise_xor, "RIGHT": lambda x, y: x >> (y & 7)}[
            name.split("/")[0].split("_")[-1]
        ]
        resource(dispatch)[size] = operation(a, b)

    result = after(name, longer)
    assert result.message == f"{too_far} bytes past the end of OutputTensor were overwritten, first 0 bytes after it"


@pytest.mark.parametrize("operation", [np.bitwise_or, np.bitwise_and, np.minimum, np.maximum, lambda a, b: a, lambda a, b: ~a])
def test_guards_of_inputs_do_not_make_the_guard_of_an_output(operation: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
    layout = lay_out(find_case(OR), inputs(find_case(OR)), {})
    a, b, out = (resource(layout.dispatch, name)[:GUARD] for name in ("ATensor", "BTensor", "OutputTensor"))
    assert (operation(a, b) != out).all()


@pytest.mark.parametrize(
    "case", ["ELEMENT_WISE_BIT_OR/UINT8/gaps/Output-padded", "ELEMENT_WISE_ROUND/FLOAT16/gaps/Output-spread/HALVES_TO_NEAREST_EVEN"]
)
def test_every_byte_of_every_gap_is_looked_at(case: str) -> None:
    tensor = find_case(case).desc.tensor("OutputTensor")
    gaps = np.flatnonzero(~element_bytes(tensor))
    assert gaps.size
    for at in {int(gaps[0]), int(gaps[-1]), int(gaps[gaps.size // 2])}:
        result = after(case, lambda d, at=at: put(d, start(d) + at, 0))
        assert (result.status, result.message) == (
            "fail",
            f"1 bytes between elements of OutputTensor were overwritten, first at byte {at}",
        )


def test_gaps_may_be_overwritten_where_the_case_does_not_ask() -> None:
    """The documentation lets an output overwrite its total size."""
    case = replace(find_case("ELEMENT_WISE_BIT_OR/UINT8/gaps/Output-padded"), checks=())

    def overwritten(dispatch: Dispatch) -> None:
        values = output(dispatch)
        resource(dispatch)[start(dispatch) : end(dispatch)] = 0
        write(dispatch, values)

    assert after(case, overwritten).status == "pass"
    assert after(replace(case, checks=("gaps",)), overwritten).status == "fail"


@pytest.mark.parametrize("name", ["ELEMENT_WISE_BIT_XOR/UINT8", "ELEMENT_WISE_BIT_OR/UINT64"])
def test_more_room_in_a_binding_is_not_the_tensors_and_in_its_total_size_it_is(name: str) -> None:
    def next_byte(dispatch: Dispatch) -> None:
        tensor = dispatch.desc.tensor("OutputTensor")
        put(dispatch, start(dispatch) + tensor.least_bytes, 0)

    assert after(f"{name}/slack/Output-total-size", next_byte).status == "pass"
    result = after(f"{name}/slack/Output-binding", next_byte)
    assert result.message == "1 bytes past the end of OutputTensor were overwritten, first 0 bytes after it"


def test_values_are_not_judged_where_memory_was_overwritten() -> None:
    def both(dispatch: Dispatch) -> None:
        put(dispatch, end(dispatch), 0)
        swapped(dispatch)

    result = after(OR, both)
    assert (result.wrong, result.mismatches) == (0, ())
    assert "past the end" in result.message


# In place


IN_PLACE = "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT32/in-place/Output-on-{}/packed"


@pytest.mark.parametrize("shared", ["A", "B"])
def test_in_place_both_tensors_are_bound_to_one_resource(shared: str) -> None:
    seen: dict[str, Any] = {}
    result = after(IN_PLACE.format(shared), lambda d: seen.update(d.bindings, count=len(d.resources)))
    assert result.status == "pass"
    assert seen["OutputTensor"] == seen[f"{shared}Tensor"]
    assert seen["count"] == 2


@pytest.mark.parametrize("shared", ["A", "B"])
def test_a_hazard_shows_only_in_place(shared: str) -> None:
    """One that clears the output first, as a tiled implementation might."""

    def clearing(dispatch: Dispatch) -> None:
        resource(dispatch)[start(dispatch) : end(dispatch)] = 0
        ReferenceBackend().run(dispatch)

    assert run("ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT32/4d", Good(instead=clearing)).status == "pass"
    result = run(IN_PLACE.format(shared), Good(instead=clearing))
    assert (result.status, result.message.partition(":")[0]) == ("fail", "OutputTensor")


@pytest.mark.parametrize("shared", ["A", "B"])
def test_element_after_element_in_the_wrong_order_is_a_hazard(shared: str) -> None:
    """Writes each element before it reads the next one's inputs, one place too early."""

    def rolling(dispatch: Dispatch) -> None:
        a = resource(dispatch, "ATensor")[start(dispatch, "ATensor") : end(dispatch, "ATensor")].view(np.uint32)
        b = resource(dispatch, "BTensor")[start(dispatch, "BTensor") : end(dispatch, "BTensor")].view(np.uint32)
        out = resource(dispatch)[start(dispatch) : end(dispatch)].view(np.uint32)
        for i in range(a.size):
            out[i] = a[i] >> (b[i] & 31)
            if i + 1 < a.size:
                out[i + 1] = 0  # scratch

    assert run("ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT32/4d", Good(instead=rolling)).status == "pass"
    assert run(IN_PLACE.format(shared), Good(instead=rolling)).status == "fail"


def test_in_place_the_other_input_must_stay_and_guards_too() -> None:
    case = IN_PLACE.format("A")
    assert (
        after(case, lambda d: put(d, start(d, "BTensor"), 99, "BTensor")).message
        == "the input BTensor was changed, first at byte 0"
    )
    assert "past the end of" in after(case, lambda d: put(d, end(d), 0)).message


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


@pytest.mark.parametrize("error", [ValueError("oops"), MemoryError("oops"), SystemExit("oops"), AssertionError("oops")])
@pytest.mark.parametrize("case", [OR, NEGATIVE])
def test_whatever_a_python_backend_raises_costs_its_case(error: BaseException, case: str) -> None:
    result = run(case, Good(instead=raising(error)))
    assert result.status == "error"
    assert result.message.endswith(f"{type(error).__name__}: oops")
    assert "instead" in result.evidence["traceback"]


def test_ctrl_c_is_not_caught() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(OR, Good(instead=raising(KeyboardInterrupt())))


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (Rejected("no", "bind", "E_INVALIDARG"), "pass", ""),
        (Unsupported("does not validate"), "unsupported", "does not validate"),
        (BackendFault("exit code 3"), "error", "must be refused (constraint/same-sizes), and: exit code 3"),
        (ValueError("oops"), "error", "must be refused (constraint/same-sizes) with Rejected, and raised ValueError: oops"),
    ],
)
def test_answers_to_a_case_that_must_be_refused(error: Exception, status: str, message: str) -> None:
    result = run(NEGATIVE, Good(instead=raising(error)))
    assert (result.status, result.message) == (status, message)


def test_accepting_what_must_be_refused_fails() -> None:
    result = run(NEGATIVE, Good(instead=lambda _: None))
    assert (result.status, result.message) == ("fail", "accepted what must be refused: constraint/same-sizes")


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


def test_what_must_be_refused_is_tried_whatever_is_claimed() -> None:
    assert run(NEGATIVE, Good(data_types=("UINT8",))).status == "pass"
    assert run(NEGATIVE, Good(instead=lambda _: None, data_types=("UINT8",))).status == "fail"


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


# NaN, the sign of zero, denormals


def rounded(case: str, value: Callable[[np.ndarray], np.ndarray], **info: Any) -> Result:
    return run(case, Computing(lambda given: value(given["InputTensor"]), **info))


NANS = "ELEMENT_WISE_ROUND/FLOAT32/values/nans/TOWARD_ZERO"


def test_any_nan_is_right_and_a_number_is_not() -> None:
    with np.errstate(invalid="ignore"):
        assert rounded(NANS, lambda x: np.full_like(x, np.nan)).status == "pass"
        assert rounded(NANS, lambda x: np.full_like(x, -np.nan)).status == "pass"
        zero = rounded(NANS, lambda x: np.zeros_like(x))
        assert (zero.status, zero.wrong) == ("fail", 8)
        numbers = rounded(ROUND, lambda x: np.where(x == x.flat[0], np.nan, np.trunc(x)).astype(x.dtype))
        assert (numbers.status, numbers.wrong) == ("fail", 1)


def test_infinities_keep_their_sign() -> None:
    case = "ELEMENT_WISE_ROUND/FLOAT16/values/infinities/TOWARD_ZERO"
    assert rounded(case, np.trunc).status == "pass"
    assert rounded(case, np.abs).wrong == 1
    assert rounded(case, lambda x: np.clip(x, -65504, 65504)).wrong == 2


def test_the_sign_of_zero_is_looked_at_on_the_measured_basis_alone() -> None:
    def unsigned(x: np.ndarray) -> np.ndarray:
        return (np.trunc(x) + np.zeros_like(x)).astype(x.dtype)  # -0 + 0 is 0

    measured = rounded("ELEMENT_WISE_ROUND/FLOAT32/example/sign-of-zero-toward-zero-float32", unsigned)
    assert (measured.status, measured.wrong) == ("fail", 4)
    assert "a zero of the expected sign" in measured.message
    assert rounded("ELEMENT_WISE_ROUND/FLOAT32/values/zeros/TOWARD_ZERO", unsigned).status == "pass"
    case = find_case("ELEMENT_WISE_ROUND/FLOAT32/values/zeros/TOWARD_ZERO")
    assert run(replace(case, checks=("zero-sign",)), Computing(lambda given: unsigned(given["InputTensor"]))).wrong == 1


def flushing(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < np.finfo(x.dtype).smallest_normal, np.copysign(x.dtype.type(0), x), x).astype(x.dtype)


def test_flush_denormals() -> None:
    x = np.array([1e-40, -1e-40, 0.0, -0.0, np.finfo(np.float32).smallest_normal, 1.5, np.inf, np.nan], np.float32)
    found = flush_denormals(x)
    assert found.dtype == np.float32
    assert found.view(np.uint32).tolist() == [0, 0x80000000, *x.view(np.uint32).tolist()[2:]]
    assert x[0] > 0  # the input is left alone
    for without in (x[2:], np.array([1, 2], np.uint8)):
        assert flush_denormals(without) is without


REAL = Tolerance("exact")


@pytest.fixture
def real_copy(monkeypatch: pytest.MonkeyPatch) -> Case:
    """A case of an operator on real numbers whose result depends on denormals: ROUND's desc, and 2^100 times the input as its answer."""
    case = find_case("ELEMENT_WISE_ROUND/FLOAT32/values/denormals/TOWARD_ZERO")

    def scaled(desc: OperatorDesc, given: Mapping[str, np.ndarray]) -> dict[str, Answer]:
        return {"OutputTensor": Answer(given["InputTensor"].astype(np.float64) * 2.0**100)}

    monkeypatch.setattr("dmlcts.conformance.execute.compute", scaled)
    return case


def test_a_backend_may_flush_denormal_inputs_unless_it_says_that_it_preserves_them(real_copy: Case) -> None:
    scale = np.float32(2.0**100)
    right = Computing(lambda given: given["InputTensor"] * scale, denormals="any")
    flushed = Computing(lambda given: flushing(given["InputTensor"]) * scale, denormals="any")
    assert run(real_copy, right).status == "pass"
    assert run(real_copy, flushed).status == "pass"
    flushed.info = replace(flushed.info, denormals="flush")
    assert run(real_copy, flushed).status == "pass"
    flushed.info = replace(flushed.info, denormals="preserve")
    result = run(real_copy, flushed)
    assert (result.status, result.wrong) == ("fail", 8)


def test_a_retry_with_flushed_inputs_passes_nothing_that_is_wrong(real_copy: Case) -> None:
    scale = np.float32(2.0**100)

    def first_wrong(given: Mapping[str, np.ndarray]) -> np.ndarray:
        found = flushing(given["InputTensor"]) * scale
        found.flat[0] = 1.0
        return found

    def halfway(given: Mapping[str, np.ndarray]) -> np.ndarray:
        x = given["InputTensor"]
        return np.where(np.arange(x.size).reshape(x.shape) % 2 == 0, flushing(x), x).astype(np.float32) * scale

    for value in (first_wrong, halfway):
        result = run(real_copy, Computing(value, denormals="flush"))
        assert result.status == "fail"
        # What is said is about the inputs as they are, not about the flushed ones.
        assert result.wrong == (8 if value is first_wrong else 4)


@pytest.mark.parametrize(
    "name",
    ["ELEMENT_WISE_BIT_COUNT/FLOAT32-UINT8", "ELEMENT_WISE_BIT_COUNT/FLOAT64-UINT32", "ELEMENT_WISE_BIT_COUNT/FLOAT16-UINT32"],
)
def test_bits_of_a_denormal_are_never_flushed(name: str) -> None:
    case = find_case(f"{name}/values/bit-patterns")

    def counted(given: Mapping[str, np.ndarray]) -> np.ndarray:
        return compute(case.desc, {"InputTensor": flushing(given["InputTensor"])})["OutputTensor"].value.astype(
            numpy_dtype(case.desc.tensor("OutputTensor").data_type)
        )

    result = run(case, Computing(counted, denormals="flush"))
    assert result.status == "fail"


def test_which_inputs_hold_bits() -> None:
    assert holds_bits(load("ELEMENT_WISE_BIT_COUNT"), "InputTensor")
    assert holds_bits(load("ELEMENT_WISE_BIT_SHIFT_RIGHT"), "BTensor")
    assert not holds_bits(load("ELEMENT_WISE_ROUND"), "InputTensor")


# Examples with elements that are not defined


def test_literals_say_which_elements_are_defined() -> None:
    literal = Literal("FLOAT32", (2, 2), (1.5, "_", "nan", 0))
    found = literal_array(literal)
    assert found.ravel()[[0, 1, 3]].tolist() == [1.5, 0, 0]
    defined = literal_defined(literal)
    assert defined is not None
    assert defined.tolist() == [[True, False], [True, True]]
    assert literal_defined(Literal("UINT8", (2,), (1, 2))) is None


def test_elements_that_are_not_defined_are_not_judged() -> None:
    tensor = TensorDesc("UINT8", (3,))
    case = replace(
        find_case(OR),
        desc=OperatorDesc("ELEMENT_WISE_BIT_OR", {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}),
        expect="values",
        data={
            "ATensor": Data(literal=Literal("UINT8", (3,), (1, 2, 3))),
            "BTensor": Data(literal=Literal("UINT8", (3,), (4, 4, 4))),
        },
        answers={"documented": {"OutputTensor": Literal("UINT8", (3,), (5, "_", 7))}},
    )
    for values, status, wrong in (([5, 6, 7], "pass", 0), ([5, 99, 7], "pass", 0), ([5, 6, 8], "fail", 1), ([4, 99, 7], "fail", 1)):
        result = run(case, Computing(lambda given, values=values: np.array(values, np.uint8)))
        assert (result.status, result.wrong, result.elements) == (status, wrong, 2)
