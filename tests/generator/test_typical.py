"""Typical dispatches: tile-sized, batched and plain, with one thing unusual, two, three; and those of networks with one or two."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import pytest

from dmlcts.generator.case.case import Case
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.one_factor.on_networks import in_turn, on_network_cases
from dmlcts.generator.sweeps.one_factor.typical import has_kernels, typical_cases, unusual
from dmlcts.generator.sweeps.one_factor.unusual import Unusual, fit_together, pairs_of, triples_with
from dmlcts.generator.values.layouts import layout_of
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import violations


def cases_of(name: str, most: str = "core") -> list[Case]:
    return list(typical_cases(plan_of(load(name)), most))


def of_kernels() -> list[Plan]:
    return [plan for name in operator_names() if has_kernels(plan := plan_of(load(name)))]


def labels_of(cases: Iterable[Case]) -> set[str]:
    return {case.id.split("/")[3] for case in cases}


def test_an_operator_without_kernels_has_few_at_core() -> None:
    """Those that compute each element from its own place."""
    plan = plan_of(load("ELEMENT_WISE_SIN"))
    assert not has_kernels(plan)
    few = {each.label for each in unusual(plan) if each.has_pairs_at_core}
    assert labels_of(cases_of("ELEMENT_WISE_SIN")) <= {"plain"} | few
    assert {"S[-1]=29", "FLOAT16", "Input-transposed"} <= labels_of(cases_of("ELEMENT_WISE_SIN"))
    full = labels_of(cases_of("ELEMENT_WISE_SIN", "full"))
    assert {"offset-any", "FLOAT16.S[-1]=29"} <= full


def test_most_operators_that_have_kernels_are_known() -> None:
    assert not has_kernels(plan_of(load("ACTIVATION_RELU")))
    assert len(of_kernels()) > 70


def test_each_operator_with_kernels_has_its_plain_dispatch() -> None:
    for plan in of_kernels():
        plain = next(typical_cases(plan, "core"))
        assert "/typical/plain" in plain.id
        assert not violations(plan.operator, plain.desc)


def test_the_plain_product_is_batched_unfused_and_of_whole_tiles() -> None:
    desc = cases_of("GEMM")[0].desc
    assert desc.tensor("ATensor").sizes == (2, 2, 32, 32)
    assert desc.fields["CTensor"] is None
    assert desc.fields["FusedActivation"] is None


@pytest.mark.parametrize("name", ["GEMM", "CONVOLUTION", "MEAN_VARIANCE_NORMALIZATION1"])
def test_a_fused_activation_comes_alone_at_core(name: str) -> None:
    """So a host without any runs all pairs."""
    fused = [
        case for case in cases_of(name) if any(f.type == "OPERATOR_DESC" and case.desc.fields[f.name] for f in case.operator.fields)
    ]
    assert len(fused) > 10
    assert labels_of(fused) == {"FusedActivation"}


def test_full_has_each_pair_that_goes_together_alone_or_in_a_triple() -> None:
    plan = plan_of(load("ACTIVATION_SOFTMAX1"))
    met = {pair for label in labels_of(cases_of(plan.operator.name, "full")) for pair in combinations(sorted(label.split(".")), 2)}
    known = [each for each in unusual(plan) if "." not in each.label]
    alone = labels_of(cases_of(plan.operator.name))
    wanted = {
        tuple(sorted((one.label, other.label)))
        for one, other in pairs_of([each for each in known if each.label in alone and each.factor != "type"])
    }
    assert len(wanted) > 100
    left = wanted - met
    assert len(left) < 0.2 * len(wanted), left  # a transposed row, a vector in padded rows: what makes no difference


def test_triples_have_every_pair_that_is_asked_for() -> None:
    things = [Unusual(f"factor {at // 2}", f"thing-{at}") for at in range(12)]
    pairs = list(pairs_of(things))
    rows = list(triples_with(things, pairs))
    met = {pair for row in rows for pair in combinations([each.label for each in row], 2)}
    assert {(one.label, other.label) for one, other in pairs} <= met
    assert all(fit_together(*row) for row in rows)
    assert len(rows) < 0.6 * len(pairs)


def test_a_pair_that_goes_with_nothing_else_stands_alone() -> None:
    things = [Unusual("one", "a"), Unusual("other", "b"), Unusual("one", "c")]
    assert [[each.label for each in row] for row in triples_with(things, [(things[0], things[1])])] == [["a", "b"]]


def test_core_has_each_thing_alone_and_full_has_pairs_of_it() -> None:
    plan = plan_of(load("GEMM"))
    labels = {case.id.split("/")[3] for case in cases_of("GEMM")}
    valid = {each.label for each in unusual(plan)} & labels
    assert len(valid) > 0.75 * len({each.label for each in unusual(plan)})
    assert {"with-C", "A-transposed", "N=29", "N=1", "Alpha", "FusedActivation", "offset-any", "all-padded-rows"} <= labels
    assert "N=29.A-permuted" not in labels
    assert {"N=29.B-transposed", "A[-1]=29.N=29", "FLOAT16.N=1"} <= labels
    full = {case.id.split("/")[3] for case in cases_of("GEMM", "full")}
    assert "N=29.offset-any" in full - labels


def test_a_thing_alone_leaves_all_else_as_it_is() -> None:
    cases = {case.id.split("/")[3]: case for case in cases_of("GEMM")}
    desc = cases["B-transposed"].desc
    assert layout_of(desc.tensor("BTensor")) == "transposed"
    assert all(layout_of(desc.tensor(name)) == "packed" for name in ("ATensor", "OutputTensor"))
    assert desc.tensor("ATensor").sizes == cases["plain"].desc.tensor("ATensor").sizes


def test_two_things_come_in_a_larger_batch() -> None:
    cases = {case.id.split("/")[3]: case for case in cases_of("GEMM")}
    assert cases["N=29.B-transposed"].desc.tensor("ATensor").sizes[0] == table.TILE_BATCHES[2]


def test_they_are_no_larger_than_a_tile() -> None:
    for plan in of_kernels():
        for case in typical_cases(plan, "core"):
            assert sum(tensor.count for _, tensor in case.desc.tensors()) <= 4 * table.TILE_CAP, case.id


# What networks dispatch, with something unusual


def test_each_kind_of_a_network_has_two_unusual_things_at_core_in_turn() -> None:
    cases = list(on_network_cases(plan_of(load("GEMM")), "core"))
    things = labels_of_networks(cases)
    assert len(cases) > 100
    assert {"B-transposed", "offset-any", "all-padded-rows"} <= things
    assert all("." not in label for label in things)


def test_at_full_each_kind_has_all_of_them_and_pairs() -> None:
    plan = plan_of(load("ACTIVATION_SOFTMAX1"))
    kinds: dict[str, set[str]] = {}
    for case in on_network_cases(plan, "full"):
        kinds.setdefault(case.id.split("/")[3], set()).add(case.id.split("/")[4])
    assert all(any("." in label for label in labels) for labels in kinds.values())
    assert all({"offset-any", "Input-padded-rows"} <= labels for kind, labels in kinds.items() if kind.endswith("16x16"))


def test_what_a_network_dispatches_with_strides_keeps_them_beside_the_unusual() -> None:
    cases = [
        case for case in on_network_cases(plan_of(load("ELEMENT_WISE_IDENTITY")), "full") if case.id.endswith("/Output-padded-rows")
    ]
    inputs = [case.desc.tensor("InputTensor") for case in cases]
    assert any(layout_of(tensor) not in ("packed", "padded-rows") for tensor in inputs if tensor.strides)


def test_no_two_turns_begin_with_the_same() -> None:
    assert [in_turn("abcde", turn, 2) for turn in range(3)] == [["a", "b"], ["c", "d"], ["e", "a"]]
    assert in_turn("", 3, 2) == []
    assert in_turn("a", 3, 2) == ["a"]


def labels_of_networks(cases: Iterable[Case]) -> set[str]:
    return {case.id.split("/")[4] for case in cases}
