"""Drawn cases: a number decides one completely, new combinations are preferred, and a simpler case still has what it was made simpler for."""

from __future__ import annotations

import json
import sys
from itertools import islice
from math import prod
from pathlib import Path

import numpy as np
import pytest

from dmlcts.generator.case.case import DOCUMENTED, Case, from_json, to_json
from dmlcts.generator.case.case_file import parse_case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import RESOURCES, SLACK, model_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.fuzz_cases import (
    MOST_CHANGES,
    Place,
    SeenTriples,
    case_of,
    find_numbered,
    fuzz_case,
    fuzz_genes,
    genes_of,
    number_in,
)
from dmlcts.generator.random.random_dispatch import LARGEST, SizeRule, number_of, size_of
from dmlcts.generator.random.reduce import Reducer, SearchEnds
from dmlcts.generator.suite.suite import find_case
from dmlcts.generator.values.layouts import layout_of
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations

ADD, GEMM, CONVOLUTION = "ELEMENT_WISE_ADD", "GEMM", "CONVOLUTION"


def any_case(case: Case) -> bool:
    return True


def drawn(operator: str, seed: int, count: int) -> list[Case]:
    return list(SeenTriples(operator).draw(seed, count, any_case))


@pytest.mark.parametrize("operator", [ADD, GEMM, CONVOLUTION])
def test_a_number_decides_a_case_completely(operator: str) -> None:
    cases = drawn(operator, 3, 15)
    assert len({case.id for case in cases}) == 15
    for case in cases:
        place = number_in(case.id)
        assert place is not None
        assert (place.operator, place.seed, place.changes) == (operator, 3, ())
        assert fuzz_case(*place) == find_numbered(case.id) == find_case(case.id) == case
        assert not violations(case.operator, case.desc)
        assert parse_case(json.dumps(to_json(case))) == case
    assert [case.id for case in drawn(operator, 3, 15)] == [case.id for case in cases]
    assert not any(case.desc == other.desc for case in drawn(operator, 4, 15) for other in cases)


def test_a_size_with_which_others_grow_counts_twice() -> None:
    """From an image of one element and a window of 300 x 300, a transposed convolution makes 90,000 sums of 90,000 products."""
    model, work = model_of(plan_of(load(CONVOLUTION))), 1 << 12
    cases = [case_of(model, genes_of(CONVOLUTION, 3, number), "any", SizeRule(work=(work,))) for number in range(300)]
    windows = [prod(case.desc.tensor("FilterTensor").sizes[2:]) for case in cases if case is not None]
    assert 16 <= max(windows) <= 64  # 64 * 64 is all there may be


def test_what_no_shape_of_a_choice_uses_takes_nothing_of_the_work() -> None:
    model = model_of(plan_of(load("MULTIHEAD_ATTENTION1")))
    bare = {field.name: "absent" for field in model.plan.operator.fields if field.optional and field.is_tensor}
    separate = bare | dict.fromkeys(("QueryTensor", "KeyTensor", "ValueTensor"), "present") | {"MaskType": "NONE"}
    assert model.free & model.used_names(separate) == {"Batch", "L", "T", "D", "V"}
    assert model.free & model.used_names(separate | {"PastKeyTensor": "present"}) == {"Batch", "L", "T", "D", "V", "P"}
    assert model.used_names(separate | {"MaskType": "BOOLEAN"}) >= {"Width"}


def test_an_id_that_is_not_of_a_number_is_not_found() -> None:
    case = drawn(ADD, 3, 1)[0]
    assert find_numbered(case.id.replace("/fuzz-3-", "/fuzz-4-")) is None
    assert find_numbered(f"{case.id}-simpler") is None
    assert find_numbered(f"{ADD}/FLOAT32/4d") is None
    assert find_numbered(case.id.replace(ADD, "NONE")) is None


def test_a_search_goes_on_where_its_state_was_saved(tmp_path: Path) -> None:
    whole = [case.id for case in drawn(ADD, 7, 12)]
    first, second = SeenTriples(ADD), SeenTriples(ADD)
    before = [case.id for case in first.draw(7, 5, any_case)]
    first.save(tmp_path / "state")
    second.restore(tmp_path / "state")
    assert before + [case.id for case in second.draw(7, 7, any_case)] == whole
    second.reset()
    assert [case.id for case in second.draw(7, 12, any_case)] == whole


def test_combinations_that_were_not_seen_are_preferred() -> None:
    chosen, plain = SeenTriples(ADD), SeenTriples(ADD)
    cases = list(chosen.draw(1, 60, any_case))
    every = (fuzz_case(ADD, 1, number) for number in range(10_000))
    for case in islice(filter(None, every), 60):
        plain.tuples.open[plain.tuples.places_of(np.array(row_of(plain.model, case)))] = False
    assert (~chosen.tuples.open).sum() > 1.1 * (~plain.tuples.open).sum()
    assert len(cases) == 60


def test_only_what_is_wanted_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    documented = list(SeenTriples(ADD).draw(1, 20, lambda case: case.basis == DOCUMENTED and case.data_type == "FLOAT16"))
    assert {case.data_type for case in documented} == {"FLOAT16"}
    monkeypatch.setattr("dmlcts.generator.random.fuzz_cases._TRIES", 50)
    assert not list(SeenTriples(ADD).draw(1, 20, lambda case: False))


def test_every_kind_of_factor_is_drawn() -> None:
    model = model_of(plan_of(load(GEMM)))
    rows = [row_of(model, case) for case in drawn(GEMM, 2, 120)]
    values = {factor.name: {factor.values[row[at]] for row in rows if row[at] >= 0} for at, factor in enumerate(model.factors)}
    assert values["resource"] == set(RESOURCES)
    assert values["slack"] == set(SLACK)
    assert values["owned"] == {"none", *model.owned_sets}
    assert values["in place"] == {"no", *model.aliases}
    for factor in model.factors:
        assert len(values[factor.name]) > 1, factor.name


def test_now_and_then_all_elements_of_an_input_are_alike() -> None:
    cases = [case for number in range(200) if (case := fuzz_case("ELEMENT_WISE_MULTIPLY", 3, number)) is not None]
    alike = [(case, name) for case in cases for name, data in case.data.items() if data.alike]
    assert 0.03 * len(cases) < len(alike) < 0.5 * len(cases)
    for case, name in alike[:10]:
        found = inputs(case)[name]
        assert found.tobytes() == found.reshape(-1)[:1].tobytes() * found.size, case.id
        assert from_json(to_json(case), load).data == case.data
    several = [case for case, name in alike if case.desc.tensor(name).count > 1]
    assert several, "of one element all are"


@pytest.mark.parametrize("operator", ["SCATTER", "SCATTER_ND"])
def test_indices_that_must_differ_are_never_alike(operator: str) -> None:
    cases = [case for number in range(300) if (case := fuzz_case(operator, 3, number)) is not None]
    data = [each for case in cases for name, each in case.data.items()]
    assert sum(each.recipe.startswith("distinct-") for each in data) > 20
    assert {each.recipe for each in data if each.alike}
    assert not [each for each in data if each.alike and each.recipe.startswith("distinct-")]


@pytest.mark.parametrize("size", [1, 2, 3, 17, 1025, 4097, LARGEST])
def test_a_number_stands_for_a_size(size: int) -> None:
    assert size_of(number_of(size)) == size


def test_a_case_is_made_as_simple_as_what_holds_of_it_allows() -> None:
    """Sizes above a threshold, a stride and an offset are kept; everything else becomes usual."""

    def holds(case: Case) -> bool:
        sizes = case.desc.tensor("ATensor").sizes
        return sizes[-1] > 37 and layout_of(case.desc.tensor("BTensor")) != "packed" and case.offset == 256

    number, case = next(
        (number, case)
        for number in range(100_000)
        if (case := fuzz_case(ADD, 1, number)) is not None and holds(case) and not case.in_place
    )
    model, genes = model_of(plan_of(case.operator)), fuzz_genes(ADD, 1, number)
    assert case_of(model, genes, f"fuzz-1-{number}") == case
    simple = Reducer(model, genes, case, f"fuzz-1-{number}-simpler", holds).run()
    assert holds(simple)
    *outer, last = simple.desc.tensor("ATensor").sizes
    assert last == 38
    assert prod(outer) <= 2
    assert simple.desc.tensor("ATensor").strides is None
    assert simple.desc.tensor("OutputTensor").strides is None
    assert (simple.in_place, simple.resource, simple.bindings) == ({}, "", {})
    assert not any(tensor.flags or tensor.alignment or tensor.total_size for _, tensor in simple.desc.tensors())


def test_a_search_for_a_simpler_case_can_be_ended() -> None:
    case = drawn(ADD, 3, 1)[0]
    genes = fuzz_genes(*number_in(case.id) or Place("", 0, 0))
    model = model_of(plan_of(case.operator))
    case_of(model, genes, "x")

    def ended(other: Case) -> bool:
        raise SearchEnds

    assert Reducer(model, genes, case, "x", ended).run() == case


@pytest.mark.parametrize("tries", [1, 10, 48, 58, 66])
def test_a_search_for_a_simpler_case_can_be_ended_anywhere(tries: int) -> None:
    """Also while it asks for one size after the other, in a generator."""
    case = drawn(ADD, 3, 1)[0]
    genes = fuzz_genes(*number_in(case.id) or Place("", 0, 0))
    model = model_of(plan_of(case.operator))
    case_of(model, genes, "x")
    left, where = [tries], set[str]()

    def refused(other: Case) -> bool:
        left[0] -= 1
        where.add(sys._getframe(2).f_code.co_name)
        if left[0] <= 0:
            raise SearchEnds
        return False

    assert Reducer(model, genes, case, "x", refused).run() == case
    assert tries < 58 or "<genexpr>" in where, "this is not tested any more"


def test_every_second_case_is_tile_sized_and_plain_but_for_a_few_things() -> None:
    cases = [case for number in range(1, 400, 2) if (case := fuzz_case("GEMM", 5, number)) is not None]
    sizes = [case.desc.tensor("ATensor").sizes for case in cases]
    assert sum(min(row[-2:]) >= 8 for row in sizes) > 0.6 * len(cases)
    assert sum(len(row) > 2 and row[0] > 1 for row in sizes) > 0.3 * len(cases)
    assert sum(case.desc.fields["FusedActivation"] is None for case in cases) > 0.8 * len(cases)
    assert sum(case.desc.fields["CTensor"] is None for case in cases) > 0.8 * len(cases)
    padded = [case for case in cases if all(layout_of(tensor) != "packed" for _, tensor in case.desc.tensors())]
    assert 0.1 * len(cases) < len(padded) < 0.5 * len(cases)


def test_the_other_cases_are_drawn_as_before() -> None:
    case = next(case for number in range(0, 100, 2) if (case := fuzz_case(ADD, 5, number)) is not None)
    _, seed, number, _ = number_in(case.id) or Place("", 0, 0)
    assert case_of(model_of(plan_of(load(ADD))), genes_of(ADD, seed, number), f"fuzz-{seed}-{number}") == case


# Changed cases


def changed_cases(operator: str, count: int, seed: int = 3) -> list[tuple[Case, Case]]:
    """Drawn cases, each with one that was made by changing it."""
    found = []
    for case in drawn(operator, seed, count):
        place = number_in(case.id)
        assert place is not None
        found += [(case, other) for change in range(6) if (other := fuzz_case(*place.with_change(change))) is not None]
    return found


@pytest.mark.parametrize("operator", [ADD, GEMM, CONVOLUTION])
def test_the_numbers_of_changes_decide_a_case_completely(operator: str) -> None:
    pairs = changed_cases(operator, 8)
    assert len(pairs) > 20
    for case, other in pairs:
        place = number_in(other.id)
        assert place is not None
        assert len(place.changes) == 1
        assert find_numbered(other.id) == find_case(other.id) == other
        assert other.id != case.id
        assert not violations(other.operator, other.desc)
        assert parse_case(json.dumps(to_json(other))) == other


def test_a_changed_case_is_like_the_one_it_was_made_of() -> None:
    """A case drawn anew has hardly a size of another."""

    def alike(case: Case, other: Case) -> int:
        return sum(a == b for a, b in zip(dict(case.desc.tensors()).values(), dict(other.desc.tensors()).values(), strict=False))

    pairs = changed_cases(GEMM, 12)
    near = sum(alike(case, other) for case, other in pairs)
    far = sum(alike(case, other) for (case, _), (_, other) in zip(pairs, pairs[7:], strict=False))
    assert near > 5 * far
    assert sum(case.desc != other.desc for case, other in pairs) > 0.5 * len(pairs)


def test_changes_follow_one_another_up_to_some() -> None:
    place = Place(ADD, 3, 0)
    for change in range(20):
        place = place.with_change(change)
    assert place.changes == (*range(MOST_CHANGES - 1), 19)
    case = next(found for number in range(200) if (found := fuzz_case(ADD, 3, number, (1, 2))) is not None)
    assert "/fuzz-3-" in case.id
    assert ".1.2/" in f"{case.id}/"
    assert find_case(case.id) == case


def test_changes_of_what_is_no_case_are_none() -> None:
    none = next(number for number in range(200) if fuzz_case(ADD, 3, number) is None)
    assert fuzz_case(ADD, 3, none, (1,)) is None
    assert fuzz_case(ADD, 3, none, (1, 2)) is None
    with pytest.raises(KeyError, match="no case"):
        fuzz_genes(ADD, 3, none, (1,))
    assert find_numbered(f"{ADD}/FLOAT32/1d/1/fuzz-3-{none}.1") is None
    assert number_in(f"{ADD}/fuzz-3-1{'.1' * 9}") is None
