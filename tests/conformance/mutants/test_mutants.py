"""The suite finds every planted fault, on the basis that the mutant names, and nothing that is no fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dmlcts.conformance.backends.backend import Unsupported
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.mutants import catalogue
from dmlcts.conformance.mutants.catalogue import ANYWHERE, EQUIVALENT, find_mutant, mutants, mutated_operators
from dmlcts.conformance.mutants.hunt import chosen_cases, hunt, reference_failure, wanted
from dmlcts.conformance.mutants.mutant import Mutant
from dmlcts.conformance.runner.options import RunOptions
from dmlcts.conformance.runner.session import Session
from dmlcts.generator.case import Case
from dmlcts.generator.suite import find_case
from dmlcts.reports.record import ERROR, FAIL, PASS, UNSUPPORTED
from dmlcts.spec.model import DOCUMENTED, MEASURED

HOLES: dict[str, str] = {}
"""The faults that the suite does not find at level core, and why. Whoever closes a hole takes its line out: the test says so."""

# Operators of every kind: on bits, of one and two inputs, of several output types, with attributes of each sort, with optional tensors, with
# rows, with conditions. Each mutant is hunted in those of them that it concerns; `dmlcts mutants` hunts it in all.
SAMPLE = (
    *(
        f"ELEMENT_WISE_{name}"
        for name in ("BIT_OR", "BIT_SHIFT_RIGHT", "BIT_COUNT", "ROUND", "EXP", "ADD", "CLIP1", "QUANTIZE_LINEAR", "IF")
    ),
    "ACTIVATION_SOFTMAX1",
)
CHOSEN = wanted(mutants(), SAMPLE, MEASURED)
FAULTS = [mutant for mutant in CHOSEN if not mutant.equivalent]
EQUIVALENTS = [mutant for mutant in CHOSEN if mutant.equivalent]

ERRORS = {"refuses/by-crashing", "refuses/by-fault"}
"""The mutants that are found by an error, and not by a failure."""


def not_slow(case: Case) -> bool:
    """Property cases take most of the time, and find little that no other case does."""
    return case.kind != "property"


def marked(mutant: Mutant) -> object:
    marks = [pytest.mark.xfail(reason=HOLES[mutant.name], strict=True)] if mutant.name in HOLES else []
    return pytest.param(mutant, id=mutant.name, marks=marks)


@pytest.mark.parametrize("mutant", [marked(mutant) for mutant in FAULTS])
def test_fault_is_found_on_its_basis(mutant: Mutant) -> None:
    found = hunt(mutant, "core", mutant.basis, not_slow if mutant.name in HOLES else lambda case: True)
    assert not found.survives_in, f"{mutant.name}, which {mutant.does}, survives in {found.survives_in}"
    for kill in found.kills.values():
        # A mutant that fails by an exception of its own was planted wrongly.
        assert kill.status == (ERROR if mutant.name in ERRORS else FAIL), kill.message
        assert kill.message


@pytest.mark.parametrize("mutant", [m for m in FAULTS if m.basis == MEASURED], ids=lambda mutant: mutant.name)
def test_measured_fault_is_none_for_the_documentation(mutant: Mutant) -> None:
    assert hunt(mutant, "core", DOCUMENTED, not_slow).kills == {}


@pytest.mark.parametrize("mutant", EQUIVALENTS, ids=lambda mutant: mutant.name)
def test_what_is_no_fault_is_not_found(mutant: Mutant) -> None:
    assert hunt(mutant, "core", MEASURED, not_slow).kills == {}


def test_holes_are_mutants() -> None:
    assert set(HOLES).issubset(mutant.name for mutant in mutants() if not mutant.equivalent)
    assert ERRORS.issubset(mutant.name for mutant in FAULTS)


def test_every_operator_of_the_sample_has_mutants() -> None:
    assert set(SAMPLE) == {operator for mutant in FAULTS for operator in mutant.operators}


def test_every_operator_has_many_faults_of_every_sort() -> None:
    sorts = {"values": ("ELEMENT_WISE_", "bits/", "wrong-for/", "order/"), "strides": ("strides/",), "memory": ("memory/", "lost/")}
    sorts |= {"validation": ("accepts/",), "refusals": ("refuses/",)}
    for operator in mutated_operators():
        names = [mutant.name for mutant in mutants() if operator.name in mutant.operators and not mutant.equivalent]
        assert len(names) >= 45
        for sort, beginnings in sorts.items():
            assert any(name.startswith(beginnings) for name in names), (operator.name, sort)
        assert any("/in-place" in name or name.startswith("in-place") for name in names) == bool(operator.in_place)


def test_every_operator_has_faults_of_its_own() -> None:
    for operator in mutated_operators():
        own = [mutant for mutant in mutants() if mutant.operators == (operator.name,) and not mutant.equivalent]
        assert len(own) >= 15, operator.name


def test_mutants_say_what_they_do() -> None:
    for mutant in mutants():
        assert mutant.does, mutant.name
        assert mutant.operators, mutant.name
        assert not mutant.does.endswith("."), mutant.name


def test_equivalents_of_the_table_are_used() -> None:
    names = {mutant.name: mutant for mutant in mutants()}
    for name, reasons in EQUIVALENT.items():
        for operator, reason in reasons.items():
            if operator == ANYWHERE:
                assert names[name].equivalent == reason
                continue
            assert names[f"{name}/{operator}"].equivalent == reason
            assert name not in names or operator not in names[name].operators


def test_two_mutants_of_one_name_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = Mutant("twin", ("ELEMENT_WISE_ROUND",), "does nothing")
    monkeypatch.setattr(catalogue, "MAKERS", (lambda operators: iter([twin, twin]),))
    with pytest.raises(AssertionError, match="twin"):
        list(catalogue._made())


def test_unknown_mutant_names_its_neighbours() -> None:
    with pytest.raises(KeyError, match="strides/ignored/input-0"):
        find_mutant("strides/ignored/input0")


# A kill can be seen again


@pytest.mark.parametrize(
    "name",
    [
        "ELEMENT_WISE_ROUND/TOWARD_ZERO-as-floor",
        "ELEMENT_WISE_BIT_SHIFT_RIGHT/uint64-amount-masked-31",
        "strides/broadcast-as-packed/input-0",
        "memory/gaps-zeroed",
        "in-place/blocks-overlap",
        "lost/every-33rd",
        "accepts/same-sizes",
        "refuses/8-dimensions",
        "strides/squeezed/output",  # found by a property case
    ],
)
def test_kill_names_a_case_that_fails_again(name: str, tmp_path: object) -> None:
    (mutant,) = wanted([find_mutant(name)], SAMPLE, MEASURED)
    for operator, kill in hunt(mutant, "core", MEASURED).kills.items():
        case = find_case(kill.case)
        assert case.operator == operator
        with Session(RunOptions(backend=mutant.backend, basis=MEASURED, out=str(tmp_path))) as session:
            result = session.run(case)
        assert (result.status, result.message) == (kill.status, kill.message)
        assert mutant.backend in result.repro
        with Session(RunOptions(basis=MEASURED)) as session:
            assert session.run(case).status == PASS


def test_mutant_is_a_backend_by_name() -> None:
    backend = open_backend("python:dmlcts.conformance.mutants:order/reversed")
    assert backend.describe().name == "mutant order/reversed"


def test_unknown_mutant_is_no_backend() -> None:
    from dmlcts.conformance.backends.backend import BackendUnavailable

    with pytest.raises(BackendUnavailable, match="order/reversed"):
        open_backend("python:dmlcts.conformance.mutants:order/reverse")


# What a hunt counts


def test_unsupported_is_neither_found_nor_passed() -> None:
    (mutant,) = wanted([find_mutant("refuses/as-unsupported")], SAMPLE, MEASURED)
    for operator in mutant.operators:
        with Session(RunOptions(backend=mutant.backend)) as session:
            negative = [session.run(case).status for case in chosen_cases(operator, "core", MEASURED) if case.kind == "negative"]
        assert negative
        assert set(negative) == {UNSUPPORTED}


def test_error_kills() -> None:
    def fail(dispatch: object, run: object) -> None:
        raise RuntimeError("planted")

    mutant = Mutant("planted", ("ELEMENT_WISE_ROUND",), "raises", around=fail)
    assert hunt(mutant, "smoke", DOCUMENTED).kills["ELEMENT_WISE_ROUND"].status == ERROR


def test_unsupported_does_not_kill() -> None:
    def decline(dispatch: object, run: object) -> None:
        raise Unsupported("planted")

    mutant = Mutant("planted", ("ELEMENT_WISE_ROUND",), "declines", around=decline)
    assert hunt(mutant, "smoke", DOCUMENTED).survives_in == ("ELEMENT_WISE_ROUND",)


def test_a_fault_found_in_one_operator_of_two_survives() -> None:
    fault = find_mutant("ELEMENT_WISE_BIT_OR/as-ELEMENT_WISE_BIT_XOR")
    found = hunt(replace(fault, operators=("ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_BIT_XOR")), "smoke", DOCUMENTED)
    assert found.survives_in == ("ELEMENT_WISE_BIT_XOR",)  # XOR computed as XOR
    assert not found.killed
    assert found.surprising


def test_wanted_leaves_out_what_the_basis_does_not_demand() -> None:
    chosen = wanted(mutants(), ["ELEMENT_WISE_ROUND"], DOCUMENTED)
    assert {mutant.basis for mutant in chosen} == {DOCUMENTED}
    assert {mutant.operators for mutant in chosen} == {("ELEMENT_WISE_ROUND",)}
    assert len(wanted(mutants(), ["ELEMENT_WISE_ROUND"], MEASURED)) > len(chosen)


def test_reference_passes() -> None:
    assert reference_failure([operator.name for operator in mutated_operators()], "smoke", MEASURED) is None
