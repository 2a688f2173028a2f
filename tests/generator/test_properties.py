"""Property cases: a broken law is found, shrunk to a small example that can be written down and run again, and a crash is no law."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendFault, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.execute import execute
from dmlcts.conformance.properties.law_dispatch import LawTrial
from dmlcts.conformance.properties.laws import relation_of
from dmlcts.conformance.properties.relations import execute_property, first_failure
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.case.case import RELATION, Case, from_json, to_json
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import find_case
from dmlcts.generator.sweeps.properties import property_cases
from dmlcts.reports.record.record import FAIL, Result
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.reading.loader import load, operator_names

Inputs = Mapping[str, np.ndarray]


class Counting(ReferenceBackend):
    """The reference, or what ``value`` computes, and a record of the bytes of every dispatch. ``before`` may raise."""

    def __init__(
        self, value: Callable[[OperatorDesc, Inputs], np.ndarray] | None = None, before: Callable[[int], None] | None = None
    ) -> None:
        super().__init__()
        self.value, self.before = value, before
        self.seen: list[bytes] = []

    def run(self, dispatch: Dispatch) -> None:
        self.seen.append(b"".join(resource.tobytes() for resource in dispatch.resources))
        if self.before is not None:
            self.before(len(self.seen))
        super().run(dispatch)

    def compute(self, desc: OperatorDesc, inputs: Inputs) -> dict[str, np.ndarray]:
        if self.value is None:
            return super().compute(desc, inputs)
        value = self.value(desc, inputs)
        return {"OutputTensor": value.astype(numpy_dtype(desc.tensor("OutputTensor").data_type))}


def tried(case: Case | str, backend: ReferenceBackend, examples: int = 25, run_seed: str = "") -> Result:
    found = find_case(case) if isinstance(case, str) else case
    return execute_property(found, backend, backend.info, examples=examples, run_seed=run_seed)


def example_of(result: Result) -> Case:
    """The shrunken example, as it comes back from a file."""
    return from_json(json.loads(json.dumps(result.evidence["example"], allow_nan=False)), load)


def again(example: Case, backend: ReferenceBackend) -> Result:
    return tried(example, backend) if example.expect == RELATION else execute(example, backend, backend.info)


# What is right


EVERY = operator_names()
"""Laws are an operator's own: whether they hold, and whether they can be broken, is asked of each."""


@pytest.mark.parametrize("name", EVERY)
def test_the_reference_keeps_every_law(name: str) -> None:
    """A few cases of each; a run goes through them all."""
    cases: dict[str, list[Case]] = {}
    for case in property_cases(plan_of(load(name)), "core"):
        cases.setdefault(case.relation, []).append(case)
    for about in cases.values():
        for case in about[:: max(1, len(about) // 2)]:
            result = tried(case, ReferenceBackend(), examples=5)
            assert (result.status, result.message) == ("pass", ""), case.id


def test_as_many_examples_as_asked_for_are_tried() -> None:
    case = "ELEMENT_WISE_BIT_OR/UINT64/property/agreement"
    for examples in (10, 40):
        backend = Counting()
        tried(case, backend, examples)
        assert len(backend.seen) == examples
    assert len({len(resources) for resources in backend.seen}) > 10  # of different sizes and layouts


def test_examples_depend_on_the_case_and_the_seed_alone() -> None:
    case = "ELEMENT_WISE_ROUND/FLOAT32/property/agreement/TOWARD_ZERO"
    first, same, other, another_case = Counting(), Counting(), Counting(), Counting()
    tried(case, first)
    tried(case, same)
    tried(case, other, run_seed="1")
    tried("ELEMENT_WISE_ROUND/FLOAT32/property/agreement/TOWARD_INFINITY", another_case)
    assert first.seen == same.seen
    assert first.seen != other.seen
    assert first.seen != another_case.seen


def test_agreement_goes_through_layouts() -> None:
    seen: set[tuple[int, ...] | None] = set()

    class Looking(ReferenceBackend):
        def run(self, dispatch: Dispatch) -> None:
            seen.update(tensor.strides and tuple(np.sign(tensor.strides)) for _, tensor in dispatch.desc.tensors())
            super().run(dispatch)

    tried("ELEMENT_WISE_BIT_OR/UINT8/property/agreement", Looking())
    assert None in seen
    assert (0, 0, 0, 0) in seen
    assert (1, 1, 1, 1) in seen


# Broken laws


def low_bits(count: int) -> Callable[[OperatorDesc, Inputs], np.ndarray]:
    """XOR of the low bits, OR of the others."""

    def value(desc: OperatorDesc, given: Inputs) -> np.ndarray:
        a, b = given["ATensor"], given["BTensor"]
        mask = a.dtype.type((1 << count) - 1)
        return np.where((a & ~mask) & (b & ~mask) != 0, a | b, a ^ b)

    return value


def shifted(arithmetic: bool) -> Callable[[OperatorDesc, Inputs], np.ndarray]:
    def value(desc: OperatorDesc, given: Inputs) -> np.ndarray:
        a, b = given["ATensor"], given["BTensor"]
        signed = a.view(f"i{a.dtype.itemsize}")
        return (signed >> b.view(signed.dtype)).view(a.dtype) if arithmetic else a >> np.minimum(b, b.dtype.type(3))

    return value


def rounding(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[OperatorDesc, Inputs], np.ndarray]:
    return lambda desc, given: function(given["InputTensor"])


BROKEN: list[tuple[str, Callable[[OperatorDesc, Inputs], np.ndarray]]] = [
    ("ELEMENT_WISE_BIT_XOR/UINT8/property/cancels-itself", lambda d, g: g["ATensor"] | g["BTensor"]),
    ("ELEMENT_WISE_BIT_XOR/UINT8/property/inverts-itself", lambda d, g: g["ATensor"] | g["BTensor"]),
    ("ELEMENT_WISE_BIT_XOR/UINT8/property/commutative", lambda d, g: g["ATensor"] ^ (g["BTensor"] << np.uint8(1))),
    (
        "ELEMENT_WISE_BIT_XOR/UINT32/property/associative",
        lambda d, g: g["ATensor"] ^ ~g["BTensor"] ^ (g["ATensor"] << np.uint32(1)),
    ),
    ("ELEMENT_WISE_BIT_XOR/UINT16/property/agreement", low_bits(8)),
    ("ELEMENT_WISE_BIT_OR/UINT8/property/idempotent", lambda d, g: g["ATensor"] ^ g["BTensor"]),
    ("ELEMENT_WISE_BIT_OR/UINT8/property/commutative", lambda d, g: g["ATensor"]),
    ("ELEMENT_WISE_BIT_OR/UINT8/property/associative", lambda d, g: g["ATensor"] & ~g["BTensor"]),
    ("ELEMENT_WISE_BIT_OR/UINT8/property/absorbs", lambda d, g: g["ATensor"] + g["BTensor"]),
    ("ELEMENT_WISE_BIT_OR/FLOAT64/property/agreement", lambda d, g: (g["ATensor"].view("u8") ^ g["BTensor"].view("u8")).view("f8")),
    ("ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT8/property/halves", shifted(arithmetic=True)),
    ("ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT16/property/adds-amounts", shifted(arithmetic=False)),
    ("ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT8/property/by-zero", lambda d, g: g["ATensor"] >> (g["BTensor"] + 1)),
    (
        "ELEMENT_WISE_BIT_COUNT/UINT16-UINT32/property/complement",
        lambda d, g: np.bitwise_count(g["InputTensor"] & np.uint16(0xFF)),
    ),
    ("ELEMENT_WISE_BIT_COUNT/UINT8-UINT32/property/inclusion-exclusion", lambda d, g: g["InputTensor"] ^ np.uint8(8)),
    ("ELEMENT_WISE_ROUND/FLOAT32/property/idempotent/TOWARD_ZERO", rounding(lambda x: np.floor(x / 2))),
    ("ELEMENT_WISE_ROUND/FLOAT32/property/odd/TOWARD_INFINITY", rounding(np.ceil)),
    ("ELEMENT_WISE_ROUND/FLOAT32/property/monotonic/TOWARD_ZERO", rounding(lambda x: -np.trunc(x))),
    ("ELEMENT_WISE_ROUND/FLOAT32/property/agreement/TOWARD_INFINITY", rounding(np.rint)),
]


@pytest.mark.parametrize(("case", "value"), BROKEN, ids=[case for case, _ in BROKEN])
def test_a_broken_law_is_found_shrunk_and_found_again(case: str, value: Callable[[OperatorDesc, Inputs], np.ndarray]) -> None:
    result = tried(case, Counting(value))
    assert result.status == "fail", result
    assert result.case == case
    label = find_case(case).relation or "agreement"
    assert result.message.endswith(f"(shrunken example of {label})")
    example = example_of(result)
    literals = [data.literal for data in example.data.values()]
    assert all(literal is not None and len(literal.data) <= 2 for literal in literals)
    repeated = again(example, Counting(value))
    assert repeated.status == "fail"
    assert again(example, ReferenceBackend()).status == "pass"


def scrambled(given: Inputs) -> np.ndarray:
    """0 or 1 for each element, by all its inputs: the same for the same, and without any law."""
    found = np.zeros(next(iter(given.values())).shape, np.uint64)
    for array in given.values():
        bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").astype(np.uint64)
        found = (found * np.uint64(0x9E3779B97F4A7C15)) ^ (bits + np.uint64(1)) * np.uint64(0xD1B54A32D192ED03)
    return (found >> np.uint64(40)) & np.uint64(1)


def anything(desc: OperatorDesc, given: Inputs) -> int:
    """A number that changes with whatever changes: attributes, sizes, the order of elements."""
    return 1 + crc32(repr(desc.fields).encode() + b"".join(array.tobytes() for array in given.values())) % 96


WRONG: list[Callable[[OperatorDesc, Inputs, np.ndarray], np.ndarray]] = [
    lambda desc, given, right: scrambled(given).astype(right.dtype),
    lambda desc, given, right: np.where(scrambled(given) == 1, right, -right - right.dtype.type(1)),
    lambda desc, given, right: right + right.dtype.type(1),
    lambda desc, given, right: right * right,
    lambda desc, given, right: np.full_like(right, 3),
    lambda desc, given, right: np.where(np.arange(right.size).reshape(right.shape) % 2 == 0, right, right + right.dtype.type(1)),
    lambda desc, given, right: next(iter(given.values())),
    lambda desc, given, right: right + right.dtype.type(anything(desc, given)),
]
"""Answers that are wrong in ways that any operator can be wrong in."""


class Wrong(ReferenceBackend):
    """The reference, but one operator has the answer that ``change`` makes of its inputs and the right one."""

    def __init__(self, name: str, change: Callable[[OperatorDesc, Inputs, np.ndarray], np.ndarray]) -> None:
        super().__init__()
        self.name, self.change = name, change

    def compute(self, desc: OperatorDesc, inputs: Inputs) -> dict[str, np.ndarray]:
        found = super().compute(desc, inputs)
        if desc.type != self.name:
            return found
        with np.errstate(all="ignore"):
            return {
                name: np.broadcast_to(self.change(desc, inputs, right), right.shape).astype(right.dtype)
                for name, right in found.items()
            }


@pytest.mark.parametrize("name", EVERY)
def test_each_law_can_be_broken(name: str) -> None:
    """A law that no wrong answer breaks says nothing. The examples are not shrunk, which would take ten times as long."""

    def broken(case: Case, change: Callable[[OperatorDesc, Inputs, np.ndarray], np.ndarray]) -> bool:
        backend = Wrong(name, change)
        return first_failure(LawTrial(case, backend, backend.info, None), 25, case.id)[1].status == FAIL

    cases = list(property_cases(plan_of(load(name))))
    for relation in load(name).relations:
        about = [case for case in cases if case.relation == relation.label]
        step = max(1, len(about) // 4)
        # Not every attribute can break every law (padding of 0 says nothing of padding): a few cases far apart first, then those between them.
        in_turn = [case for first in range(step) for case in about[first::step]]
        assert any(broken(case, change) for case in in_turn for change in WRONG), relation.label


def test_a_law_is_reported_with_the_values_that_break_it() -> None:
    result = tried("ELEMENT_WISE_BIT_XOR/UINT8/property/cancels-itself", Counting(lambda d, g: g["ATensor"] | g["BTensor"]))
    assert result.message == "f(a, a) == 0 does not hold for a = 1 (0x1) (shrunken example of cancels-itself)"
    assert result.evidence["law"] == {"text": "f(a, a) == 0", "index": [0], "values": "a = 1 (0x1)"}
    two = tried("ELEMENT_WISE_ROUND/FLOAT32/property/odd/TOWARD_INFINITY", Counting(rounding(np.ceil)))
    assert two.message.startswith("f(-x) == -f(x) does not hold for x = ")


def test_an_example_names_the_case_that_it_is_of_and_keeps_its_data() -> None:
    result = tried("ELEMENT_WISE_BIT_XOR/UINT8/property/inverts-itself", Counting(lambda d, g: g["ATensor"] | g["BTensor"]))
    example = example_of(result)
    assert example.id == "ELEMENT_WISE_BIT_XOR/UINT8/property/inverts-itself/example"
    assert example.data.keys() == {"a", "b"}
    assert (example.relation, example.basis, example.operator.name) == ("inverts-itself", DOCUMENTED, "ELEMENT_WISE_BIT_XOR")
    assert to_json(example) == result.evidence["example"]


def test_conditions_of_a_law_limit_it() -> None:
    """Amounts that add up to the width or more break nothing: the documentation is silent there."""

    def masked(desc: OperatorDesc, given: Inputs) -> np.ndarray:
        return np.where(given["BTensor"] < 8, given["ATensor"] >> (given["BTensor"] & 7), np.uint8(77))

    case = "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT8/property/adds-amounts"
    assert tried(case, Counting(masked), examples=100).status == "pass"
    assert relation_of(load("ELEMENT_WISE_BIT_SHIFT_RIGHT"), "adds-amounts").where is not None


def test_writing_past_the_end_is_found_in_a_law_too() -> None:
    class Overrunning(ReferenceBackend):
        def run(self, dispatch: Dispatch) -> None:
            super().run(dispatch)
            binding = dispatch.bindings["OutputTensor"]
            dispatch.resources[binding.resource][binding.offset + binding.size] = 0

    for label in ("agreement", "cancels-itself"):
        result = tried(f"ELEMENT_WISE_BIT_XOR/UINT8/property/{label}", Overrunning())
        assert result.status == "fail"
        assert "1 bytes past the end of OutputTensor" in result.message


def test_strides_that_are_ignored_are_found_by_agreement() -> None:
    class Flat(ReferenceBackend):
        def run(self, dispatch: Dispatch) -> None:
            tensor = dispatch.desc.tensor("ATensor")
            super().run(
                replace(dispatch, desc=dispatch.desc.with_fields(ATensor=replace(tensor, strides=None)))
                if tensor.strides and 0 not in tensor.strides
                else dispatch
            )

    result = tried("ELEMENT_WISE_BIT_OR/UINT8/property/agreement", Flat())
    assert result.status == "fail"
    example = example_of(result)
    assert example.desc.tensor("ATensor").strides is not None
    assert example.desc.tensor("ATensor").count <= 4  # a permutation or a gap needs no more
    assert example.desc.tensor("OutputTensor").strides is None


# What is no broken law


def raising(at: int, error: Exception) -> Callable[[int], None]:
    def before(count: int) -> None:
        if count >= at:
            raise error

    return before


@pytest.mark.parametrize(("label", "at"), [("agreement", 7), ("inverts-itself", 2)])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BackendFault("exit code 139", "segmentation fault"), "error"),
        (ValueError("oops"), "error"),
        (Unsupported("no more"), "unsupported"),
    ],
)
def test_a_crash_ends_the_search_at_once(label: str, at: int, error: Exception, status: str) -> None:
    backend = Counting(before=raising(at, error))
    result = tried(f"ELEMENT_WISE_BIT_XOR/UINT8/property/{label}", backend)
    assert result.status == status
    assert str(error) in result.message
    assert len(backend.seen) == at
    if status == "error":
        example = example_of(result)
        assert again(example, Counting(before=raising(1, error))).status == "error"
        assert again(example, ReferenceBackend()).status == "pass"


def test_a_crash_while_shrinking_is_an_error() -> None:
    """The backend is wrong from the start, and dies of the fifth wrong answer."""
    backend = Counting(lambda d, g: g["ATensor"] | g["BTensor"], before=raising(12, BackendFault("gone")))
    result = tried("ELEMENT_WISE_BIT_XOR/UINT32/property/agreement", backend)
    assert (result.status, len(backend.seen)) == ("error", 12)


def test_a_refusal_of_what_is_valid_fails_and_is_shrunk() -> None:
    class Picky(ReferenceBackend):
        def run(self, dispatch: Dispatch) -> None:
            if dispatch.desc.tensor("ATensor").count % 2 == 0:
                raise Rejected("even counts", "compile")
            super().run(dispatch)

    result = tried("ELEMENT_WISE_BIT_OR/UINT8/property/agreement", Picky())
    assert result.status == "fail"
    assert result.message.startswith("refused at compile: even counts")
    assert example_of(result).desc.tensor("ATensor").count == 2


@pytest.mark.parametrize("at", [1, 2, 9, 25])
def test_a_backend_that_is_wrong_only_sometimes_fails_and_the_run_goes_on(at: int) -> None:
    class Racing(Counting):
        def compute(self, desc: OperatorDesc, inputs: Inputs) -> dict[str, np.ndarray]:
            right = super().compute(desc, inputs)["OutputTensor"]
            return {"OutputTensor": ~right if len(self.seen) == at else right}

    result = tried("ELEMENT_WISE_BIT_OR/UINT8/property/agreement", Racing())
    assert result.status == "fail"
    assert "does not fail every time: the backend is not deterministic" in result.message
    assert again(example_of(result), ReferenceBackend()).status == "pass"


def test_types_that_are_not_claimed_are_unsupported() -> None:
    backend = Counting()
    backend.info = replace(backend.info, name="narrow", data_types=("UINT8",))
    result = tried("ELEMENT_WISE_BIT_OR/UINT32/property/agreement", backend)
    assert (result.status, result.message) == ("unsupported", "narrow does not claim UINT32")
    assert backend.seen == []


def test_an_unknown_relation_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="ELEMENT_WISE_ROUND has no relation 'even'"):
        relation_of(load("ELEMENT_WISE_ROUND"), "even")


# A session writes the example down


def test_a_session_writes_the_example_to_a_file_that_fails_again(tmp_path: Path) -> None:
    from dmlcts.conformance.runner.planning.options import read_case

    wrong: Any = Counting(lambda d, g: g["ATensor"] | g["BTensor"])
    with Session(RunOptions(backend="python:mine:Mine", out=str(tmp_path)), wrong) as session:
        for label in ("inverts-itself", "agreement"):
            result = session.run(find_case(f"ELEMENT_WISE_BIT_XOR/UINT8/property/{label}"))
            assert result.status == "fail"
            file = tmp_path / "examples" / f"ELEMENT_WISE_BIT_XOR-UINT8-property-{label}.json"
            assert file.as_posix() in result.repro
            repeated = session.run(read_case(file))
            assert repeated.status == "fail"
            assert repeated.message.partition(" (shrunken")[0] == result.message.partition(" (shrunken")[0]
