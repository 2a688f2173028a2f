"""Bytes written where none may be, and outputs bound to the resource of an input: each is found and reported."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from wrong_backends import NEGATIVE, OR, Good, after, end, output, put, resource, run, start, swapped, write

from dmlcts.conformance.backends.backend import BackendFault, Dispatch, Rejected
from dmlcts.conformance.backends.buffers import element_bytes
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution import memory
from dmlcts.conformance.execution.execute import execute
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.execution.memory import stray_writes
from dmlcts.generator.case.case import ALL, INPUTS, OFFSETS, REJECTION, Binding, Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.case.places import GUARD
from dmlcts.generator.suite.suite import find_case, operator_cases, select
from dmlcts.reference.registry import compute

# Memory that a case needs

HUGE = replace(find_case(OR), level="huge")


@pytest.mark.parametrize("free", [0, 1 << 40])
def test_a_case_of_level_huge_is_unsupported_where_the_machine_lacks_memory(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=free))
    result = execute(HUGE, Good(), Good().describe())
    assert (result.status, result.undeclared) == (("pass", "") if free else ("unsupported", "memory"))
    assert free or result.message == "needs 0.0 GiB of memory, of which 0.0 GiB are available"
    assert run(OR, Good()).status == "pass"  # of another level: nobody asks


def test_a_process_of_its_own_needs_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=0))
    one, two = (
        memory.missing_memory(find_case("ACTIVATION_RELU/FLOAT32/huge/offset"), backend) for backend in (Good(), _Process())
    )
    assert (one.split()[1], two.split()[1]) == ("8.0", "24.0")


@pytest.mark.parametrize("error", [BackendFault("CreateCommittedResource failed with 0x8007000E"), MemoryError()])
def test_a_device_without_memory_fails_no_case_of_level_huge(error: Exception) -> None:
    results = [execute(case, _Raising(error), Good().describe()) for case in (HUGE, find_case(OR))]
    assert [(result.status, result.undeclared) for result in results] == [("unsupported", "memory"), ("error", "")]
    assert results[0].message.startswith("the backend has too little memory: ")


class _Process(ProcessBackend):
    def __init__(self) -> None:
        """Starts nothing."""


class _Raising(Good):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def run(self, dispatch: Dispatch) -> None:
        raise self.error


# Places where nothing may be written


def test_bytes_are_compared_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for piece in (1, 7, 16):
        monkeypatch.setattr(memory, "_PIECE", piece)
        result = after(OR, lambda d: resource(d)[end(d) + 2 :].fill(0))
        assert result.message == "62 bytes past the end of OutputTensor were overwritten, first 2 bytes after it"
        assert run(OR, Good()).status == "pass"


def test_bindings_are_guarded_on_both_sides_and_aligned() -> None:
    case = find_case(OR)
    layout = lay_out(case, inputs(case), compute(case.desc, inputs(case)))
    for name, binding in layout.dispatch.bindings.items():
        size = case.desc.tensor(name).bytes
        assert (binding.size, binding.offset % 16) == (size, 0)
        assert binding.offset >= GUARD
        assert layout.resources[binding.resource].size >= binding.offset + size + GUARD
    offsets = [binding.offset for binding in layout.dispatch.bindings.values()]
    assert len(set(offsets)) == len(offsets)  # one used in place of another shows
    assert stray_writes(case, layout) == ""


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
    "case",
    ["ELEMENT_WISE_BIT_OR/UINT8/gaps/Output-padded-rows", "ELEMENT_WISE_ROUND/FLOAT16/gaps/Output-spread/HALVES_TO_NEAREST_EVEN"],
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
    case = replace(find_case("ELEMENT_WISE_BIT_OR/UINT8/gaps/Output-padded-rows"), checks=())

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

    plain = find_case(f"{name}/4d")
    output = plain.desc.tensor("OutputTensor")
    larger = plain.desc.with_fields(OutputTensor=replace(output, total_size=output.bytes + 16))
    assert after(replace(plain, desc=larger), next_byte).status == "pass"
    result = after(replace(plain, bindings={"OutputTensor": Binding(short=-16)}), next_byte)
    assert result.message == "1 bytes past the end of OutputTensor were overwritten, first 0 bytes after it"


def test_values_are_not_judged_where_memory_was_overwritten() -> None:
    def both(dispatch: Dispatch) -> None:
        put(dispatch, end(dispatch), 0)
        swapped(dispatch)

    result = after(OR, both)
    assert (result.wrong, result.mismatches) == (0, ())
    assert "past the end" in result.message


# In place


def in_place(shared: str) -> Case:
    return replace(find_case("ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT32/4d"), in_place={"OutputTensor": f"{shared}Tensor"})


@pytest.mark.parametrize("shared", ["A", "B"])
def test_in_place_both_tensors_are_bound_to_one_resource(shared: str) -> None:
    seen: dict[str, Any] = {}
    result = after(in_place(shared), lambda d: seen.update(d.bindings, count=len(d.resources)))
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
    result = run(in_place(shared), Good(instead=clearing))
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
    assert run(in_place(shared), Good(instead=rolling)).status == "fail"


def test_in_place_the_other_input_must_stay_and_guards_too() -> None:
    case = in_place("A")
    assert (
        after(case, lambda d: put(d, start(d, "BTensor"), 99, "BTensor")).message
        == "the input BTensor was changed, first at byte 0"
    )
    assert "past the end of" in after(case, lambda d: put(d, end(d), 0)).message


# Offsets, and parts of one resource


def placed(offset: int = OFFSETS[0], resource: str = "") -> Case:
    return replace(find_case(OR), offset=offset, resource=resource)


@pytest.mark.parametrize("offset", OFFSETS)
def test_each_tensor_begins_at_another_offset_the_first_at_the_cases(offset: int) -> None:
    seen: dict[str, int] = {}
    assert after(placed(offset), lambda d: seen.update({name: b.offset for name, b in d.bindings.items()})).status == "pass"
    assert seen["ATensor"] == offset
    assert len(set(seen.values())) == len(seen)
    assert all(at % 16 == 0 for at in seen.values())


@pytest.mark.parametrize(
    ("resource", "together"), [("", []), (INPUTS, ["ATensor", "BTensor"]), (ALL, ["ATensor", "BTensor", "OutputTensor"])]
)
@pytest.mark.parametrize("offset", OFFSETS)
def test_tensors_share_a_resource_as_the_case_says_and_do_not_overlap(resource: str, together: list[str], offset: int) -> None:
    case = placed(offset, resource)
    layout = lay_out(case, inputs(case), compute(case.desc, inputs(case)))
    bindings = layout.dispatch.bindings
    assert len(layout.resources) == 3 - max(len(together) - 1, 0)
    assert len({bindings[name].resource for name in together}) <= 1
    ends = 0
    for name in together:
        binding = bindings[name]
        assert (binding.offset % 16, binding.offset >= ends) == (0, True)
        ends = binding.offset + binding.size + GUARD
        assert layout.resources[binding.resource].size >= ends
    for name, array in inputs(case).items():
        binding = bindings[name]
        part = layout.resources[binding.resource][binding.offset : binding.offset + binding.size]
        assert part[: array.nbytes].tobytes() == array.tobytes()
    assert after(case, lambda d: None).status == "pass"
    assert stray_writes(case, layout) == ""


@pytest.mark.parametrize(
    ("resource", "change", "message"),
    [
        (ALL, lambda d: put(d, start(d, "ATensor") + 2, 1, "ATensor"), "the input ATensor was changed, first at byte 2"),
        (ALL, lambda d: put(d, start(d, "BTensor"), 99, "BTensor"), "the input BTensor was changed, first at byte 0"),
        (ALL, lambda d: put(d, start(d) - 1, 0), "bytes before the beginning of OutputTensor were overwritten"),
        (ALL, lambda d: put(d, end(d) + 3, 0), "1 bytes past the end of OutputTensor were overwritten, first 3 bytes after it"),
        (INPUTS, lambda d: put(d, start(d, "BTensor"), 99, "BTensor"), "the input BTensor was changed, first at byte 0"),
        (INPUTS, lambda d: put(d, start(d, "BTensor") - 1, 99, "BTensor"), "the input BTensor was changed, first at byte -1"),
        (INPUTS, lambda d: put(d, start(d, "ATensor") + 5, 99, "ATensor"), "the input ATensor was changed, first at byte 5"),
    ],
)
@pytest.mark.parametrize("offset", [64, 16, 65_552])
def test_a_write_to_another_tensors_part_is_found(
    resource: str, change: Callable[[Dispatch], object], message: str, offset: int
) -> None:
    result = after(placed(offset, resource), change)
    assert (result.status, result.message) == ("fail", message)


def test_an_output_at_the_beginning_of_the_resource_is_not_found_at_its_end() -> None:
    """Bindings from the first byte on: what treats the offset of one tensor as another's reads or writes the wrong bytes."""

    def at_the_beginning(dispatch: Dispatch) -> None:
        bindings = {name: replace(binding, offset=0) for name, binding in dispatch.bindings.items()}
        ReferenceBackend().run(replace(dispatch, bindings=bindings))

    assert run(placed(48), Good(instead=at_the_beginning)).status == "fail"
    assert run(placed(48, ALL), Good(instead=at_the_beginning)).status == "fail"


def test_the_same_tensor_bound_twice_is_one_binding() -> None:
    case = replace(find_case(OR), in_place={"BTensor": "ATensor"})
    seen: dict[str, Any] = {}
    assert after(case, lambda d: seen.update(d.bindings)).status == "pass"
    assert seen["ATensor"] == seen["BTensor"] != seen["OutputTensor"]


# Rejected, but written


def rejecting(change: Callable[[Dispatch], object]) -> Good:
    def instead(dispatch: Dispatch) -> None:
        change(dispatch)
        raise Rejected("no", "bind", "E_INVALIDARG")

    return Good(instead=instead)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: put(d, start(d, "ATensor"), 99, "ATensor"), "rejected, but the input ATensor was changed, first at byte 0"),
        (lambda d: put(d, 3, 0), "rejected, but bytes before the beginning of OutputTensor were overwritten"),
        (
            lambda d: put(d, end(d), 0),
            "rejected, but 1 bytes past the end of OutputTensor were overwritten, first 0 bytes after it",
        ),
        (lambda d: [each.fill(0) for each in d.resources], "rejected, but the input ATensor was changed, first at byte -64"),
    ],
)
def test_a_rejection_writes_to_no_more_than_the_outputs(change: Callable[[Dispatch], object], message: str) -> None:
    result = run(NEGATIVE, rejecting(change))
    assert (result.status, result.message) == ("fail", message)
    assert result.evidence.keys() == {"stage", "code", "memory"}


def test_a_rejection_may_leave_the_outputs_half_written() -> None:
    assert run(NEGATIVE, rejecting(lambda d: resource(d)[start(d) : end(d)].fill(0))).status == "pass"


def test_every_rejection_can_be_looked_at() -> None:
    """Whatever is wrong with the desc or the bindings."""
    for case in select(operator_cases("ELEMENT_WISE_BIT_OR"), level="core", basis="measured"):
        if case.expect == REJECTION:
            assert run(case, rejecting(lambda _: None)).status == "pass", case.id
            assert run(case, rejecting(lambda d: [each.fill(0) for each in d.resources])).status == "fail", case.id
