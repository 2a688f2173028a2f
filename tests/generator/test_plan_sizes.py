"""Sizes solved from symbolic shapes: what is wanted, what follows, and what cannot be."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.desc_plan import MOST_BYTES
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.sizes import Ends, solve_sizes
from dmlcts.generator.suite.suite import make_cases
from dmlcts.generator.sweeps.usual import symbol_cases
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.expression import compile_expression
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, load_text
from dmlcts.spec.rules.rules import violations

TENSORS = ("InputTensor", "FilterTensor", "OutputTensor")


def operator_with(shapes: list[dict[str, Any]], attributes: dict[str, str] | None = None, optional: str = "") -> Operator:
    """An operator of up to three tensors with these shapes, and attributes of these types."""
    used = [name for name in TENSORS if any(name in shape["sizes"] for shape in shapes)]
    kinds = {name: "output" if name == "OutputTensor" else "input" for name in used}
    fields: list[dict[str, Any]] = [{"name": name, "kind": kinds[name], "type": "TENSOR_DESC"} for name in used]
    for field in fields:
        if field["name"] == optional:
            field["optional"] = True
    fields += [{"name": name, "kind": "attribute", "type": of} for name, of in (attributes or {}).items()]
    row = {"dimensions": "1-8", "types": ["FLOAT32"]}
    spec = {
        "operator": "ELEMENT_WISE_IDENTITY",
        "type": 1,
        "introduced": "1_0",
        "summary": "For a test.",
        "fields": fields,
        "support": [{"level": "1_0", "tensors": dict.fromkeys(used, row)}],
        "constraints": {},
        "shapes": shapes,
        "tolerance": {"class": "exact"},
        "sources": [{"title": "none"}],
        "cases": {"attributes": {name: [1] for name in attributes or {}}},
    }
    return load_text(yaml.safe_dump(spec, sort_keys=False))


def sizes_of(operator: Operator, run: tuple[int, ...], ranks: dict[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """What is solved when the tensors in ``ranks`` (all, with as many dimensions as the run has, if None) are present."""
    names = [field.name for field in operator.fields if field.is_tensor]
    wanted = dict.fromkeys(names, len(run)) if ranks is None else ranks
    fields: dict[str, object] = {name: TensorDesc("FLOAT32", (1,) * wanted[name]) if name in wanted else None for name in names}
    attributes = {name: value for name, value in more.items() if name[0].isupper()}
    return solve_sizes(operator, OperatorDesc(operator.name, fields | attributes), run, more.get("symbols"), more.get("known"))


CONVOLUTION = [
    {
        "sizes": {
            "InputTensor": ["N", "Groups * C", "*Spatial"],
            "FilterTensor": ["Groups * M", "C", "*Window"],
            "OutputTensor": ["N", "Groups * M", "*Out"],
        },
        "counts": {"Window": "len([1, 1])"},
        "where": {"Out": "[s - w + 1 for s, w in zip(Spatial, Window)]"},
        "domains": {"Spatial": {"least": "[w for w in Window]"}},
    }
]


def test_the_leading_row_takes_the_run_and_other_symbols_its_numbers_in_turn() -> None:
    found = sizes_of(operator_with(CONVOLUTION, {"Groups": "UINT"}), (2, 3, 4, 5), Groups=2)
    assert found == {"InputTensor": (2, 6, 4, 5), "FilterTensor": (4, 3, 3, 4), "OutputTensor": (2, 4, 2, 2)}


def test_a_size_that_is_wanted_too_small_becomes_the_least_of_its_domain() -> None:
    found = sizes_of(operator_with(CONVOLUTION, {"Groups": "UINT"}), (1, 1, 1, 2), Groups=1, symbols={"Window": (3, 4)})
    assert found["InputTensor"] == (1, 1, 3, 4)
    assert found["OutputTensor"] == (1, 1, 1, 1)


def test_a_size_that_is_wanted_too_large_becomes_the_most_of_its_domain() -> None:
    shapes = [{"sizes": {"InputTensor": ["N"], "OutputTensor": ["M"]}, "domains": {"M": {"least": 1, "most": "N"}}}]
    assert sizes_of(operator_with(shapes), (5,), symbols={"M": 9}) == {"InputTensor": (5,), "OutputTensor": (5,)}
    assert sizes_of(operator_with(shapes), (5,), symbols={"M": 2}) == {"InputTensor": (5,), "OutputTensor": (2,)}


@pytest.mark.parametrize(
    ("wanted", "spatial"), [(7, (3, 7)), ((7,), (7, 7)), ((8, 9), (8, 9)), ((6, 8, 9), (8, 9)), ((9, 6), (9, 6))]
)
def test_what_is_wanted_of_a_run_is_cut_or_repeated_in_front(wanted: Any, spatial: tuple[int, ...]) -> None:
    found = sizes_of(operator_with(CONVOLUTION, {"Groups": "UINT"}), (2, 3, 4, 5), Groups=1, symbols={"Spatial": wanted})
    assert found["InputTensor"] == (2, 3, *spatial)


def test_outputs_follow_from_inputs_that_are_known() -> None:
    known = {"InputTensor": (7, 6, 9, 8), "FilterTensor": (10, 3, 2, 3)}
    found = sizes_of(operator_with(CONVOLUTION, {"Groups": "UINT"}), (1, 1, 1, 1), Groups=2, known=known)
    assert found == {**known, "OutputTensor": (7, 10, 8, 6)}


def test_inputs_that_contradict_each_other_have_no_output() -> None:
    known = {"InputTensor": (7, 6, 9, 8), "FilterTensor": (10, 4, 2, 3)}
    with pytest.raises(NotGenerable, match="InputTensor has 6 where Groups \\* C is 8"):
        sizes_of(operator_with(CONVOLUTION, {"Groups": "UINT"}), (1, 1, 1, 1), Groups=2, known=known)


def test_ones_fill_a_row_and_a_short_row_multiplies_what_is_left() -> None:
    shapes = [{"sizes": {"InputTensor": ["*1", "N", "C"], "OutputTensor": ["*1", "C"]}}]
    operator = operator_with(shapes)
    assert sizes_of(operator, (2, 3, 4, 5)) == {"InputTensor": (1, 1, 24, 5), "OutputTensor": (1, 1, 1, 5)}
    assert sizes_of(operator, (4, 5), {"InputTensor": 2, "OutputTensor": 1}) == {"InputTensor": (4, 5), "OutputTensor": (5,)}


def test_a_tensor_that_is_absent_has_no_sizes_and_its_symbols_no_turn() -> None:
    shapes = [{"sizes": {"InputTensor": ["N"], "FilterTensor": ["K"], "OutputTensor": ["N"]}}]
    operator = operator_with(shapes, optional="FilterTensor")
    assert sizes_of(operator, (5,), {"InputTensor": 1, "OutputTensor": 1}) == {"InputTensor": (5,), "OutputTensor": (5,)}


def test_shapes_hold_one_after_another_when_their_conditions_do() -> None:
    shapes = [
        {"sizes": {"InputTensor": ["*Batch", "M", "K"], "FilterTensor": ["*Batch", "K", "N"]}, "when": "Swapped == 0"},
        {"sizes": {"InputTensor": ["*Batch", "K", "M"], "FilterTensor": ["*Batch", "K", "N"]}, "when": "Swapped == 1"},
        {"sizes": {"FilterTensor": ["*Batch", "K", "N"], "OutputTensor": ["*Batch", "N", "1"]}},
    ]
    operator = operator_with(shapes, {"Swapped": "UINT"})
    straight, swapped = (sizes_of(operator, (2, 3, 4, 5), Swapped=value) for value in (0, 1))
    assert straight == {"InputTensor": (2, 3, 4, 5), "FilterTensor": (2, 3, 5, 2), "OutputTensor": (2, 3, 2, 1)}
    assert swapped == {"InputTensor": (2, 3, 4, 5), "FilterTensor": (2, 3, 4, 2), "OutputTensor": (2, 3, 2, 1)}


def test_what_cannot_be_solved_is_reported() -> None:
    circle = [
        {
            "sizes": {"InputTensor": ["N"], "OutputTensor": ["M"]},
            "domains": {"N": {"least": "M"}, "M": {"least": "N"}},
        }
    ]
    with pytest.raises(NotGenerable, match="the bounds of N, M depend on each other"):
        sizes_of(operator_with(circle), (5,))
    negative = [{"sizes": {"InputTensor": ["N"], "OutputTensor": ["N - 5"]}}]
    with pytest.raises(NotGenerable, match=r"OutputTensor has invalid sizes \[0\]: N - 5 needs domains"):
        sizes_of(operator_with(negative), (5,))
    short = [{"sizes": {"InputTensor": ["N", "C", "*S"]}}]
    with pytest.raises(NotGenerable, match="no shape of 1 sizes for InputTensor"):
        sizes_of(operator_with(short), (5,))


def test_only_tensors_of_one_size_make_an_operator_uniform() -> None:
    assert plan_of(load("ELEMENT_WISE_ADD")).uniform
    assert plan_of(load("ELEMENT_WISE_QUANTIZED_LINEAR_ADD")).uniform
    assert not plan_of(operator_with(CONVOLUTION, {"Groups": "UINT"})).uniform


def test_the_leading_tensor_is_the_first_that_must_be_there() -> None:
    shapes = [{"sizes": {"InputTensor": ["N"], "FilterTensor": ["N"], "OutputTensor": ["N"]}}]
    assert plan_of(operator_with(shapes)).leading_tensor == "InputTensor"
    assert plan_of(operator_with(shapes, optional="InputTensor")).leading_tensor == "FilterTensor"


def test_a_desc_whose_attributes_follow_its_sizes_is_valid() -> None:
    operator = load("ACTIVATION_SOFTMAX1")
    for choice in plan_of(operator).choices:
        axes = operator.field("Axes").values[-1]
        desc = plan_of(operator).desc(choice.types, (2, 3, 4), {"Axes": axes})
        assert isinstance(desc, OperatorDesc)
        assert not violations(operator, desc)
        assert desc.fields["Axes"] == (1,)


# How large a case may be


def test_a_number_for_several_sizes_is_one_of_them() -> None:
    operator = operator_with([{"sizes": {"InputTensor": ["*Before", "C"], "OutputTensor": ["*Before", "C"]}}])
    found = sizes_of(operator, (2, 3, 4, 5), symbols={"Before": 257})["InputTensor"]
    assert found == (1, 1, 257, 5)
    assert sizes_of(operator, (2, 3, 4, 5), symbols={"Before": (7, 9)})["InputTensor"] == (7, 7, 9, 5)


def test_ends_are_the_first_the_last_and_the_largest_of_those_between() -> None:
    ends = Ends(5, 9, 6, at=1, others=(1, 2, 11))
    assert [ends.to_length(count) for count in range(5)] == [(), (6,), (5, 6), (5, 9, 6), (5, 2, 9, 6)]
    assert ends.to_length(6) == (5, 2, 9, 1, 2, 6)  # others are no larger than the one that is meant


@pytest.mark.parametrize(
    ("place", "sizes"),
    [(-1, (2, 3, 1, 4097)), (-2, (2, 3, 4097, 4)), (-4, (4097, 3, 1, 4)), (-5, (2, 3, 1, 4))],
)
def test_a_long_size_is_at_its_place_from_the_end_if_there_is_such(place: int, sizes: tuple[int, ...]) -> None:
    assert Ends(2, 3, 4, others=(1,), long=(place, 4097)).to_length(4) == sizes
    operator = operator_with([{"sizes": {"InputTensor": ["N", "*S"], "OutputTensor": ["N", "*S"]}}])
    wanted = {"N": 7, "S": Ends(2, 3, 4, others=(1,), long=(place, 4097))}
    assert sizes_of(operator, (1,) * 5, symbols=wanted)["OutputTensor"] == (7, *sizes)


def test_a_tensor_that_is_too_large_for_a_case_is_named_with_what_made_it() -> None:
    shapes = [{"sizes": {"InputTensor": ["N", "K"], "FilterTensor": ["K", "M"], "OutputTensor": ["N", "M"]}}]
    plan = plan_of(replace(operator_with(shapes), sizes={"N": (3, 65537), "M": (1, 20001)}))
    with pytest.raises(NotGenerable) as error:
        list(symbol_cases(plan))
    assert str(error.value) == (
        "ELEMENT_WISE_IDENTITY: OutputTensor is 65537x20001 with N: 65537, M: 20001, 5000 MiB of FLOAT32; "
        "a tensor of a case may have at most 64 MiB: give smaller sizes"
    )
    (choice,) = plan.choices
    most = choice.desc((4096, 4096), {}, {"N": 4096, "K": 1, "M": 4096})
    assert most.tensor("OutputTensor").bytes == MOST_BYTES
    with pytest.raises(NotGenerable, match="4096x4097"):
        choice.desc((4096, 4096), {}, {"N": 4096, "K": 1, "M": 4097})


def test_an_attribute_may_be_nan() -> None:
    operator = operator_with([{"sizes": {"InputTensor": ["*S"], "OutputTensor": ["*S"]}}], {"Alpha": "FLOAT"})
    nan = replace(
        operator, fields=tuple(replace(f, values=(float("nan"), 2.0)) if f.name == "Alpha" else f for f in operator.fields)
    )
    (choice,) = plan_of(nan).choices
    desc = plan_of(nan).desc(choice.types, (2, 3), choice.attributes[0], known={"InputTensor": (2, 3)})
    assert str(desc.fields["Alpha"]) == "nan"
    cases = make_cases(nan, "smoke")
    assert {case.id.rsplit("/", 1)[-1] for case in cases if case.kind == "table"} == {"Alpha=nan"}  # the usual value is the first
    assert {case.id.rsplit("/", 1)[-1] for case in cases if case.kind == "combination"} == {"Alpha=nan", "Alpha=2"}


def test_attributes_and_sizes_that_chase_each_other_are_named() -> None:
    shapes = [{"sizes": {"InputTensor": ["N"], "OutputTensor": ["Groups"]}}]
    operator = operator_with(shapes, {"Groups": "UINT", "Alpha": "FLOAT"})
    chasing = compile_expression("OutputTensor.Sizes[0] + 1")
    operator = replace(operator, fields=tuple(replace(f, values=(chasing,)) if f.name == "Groups" else f for f in operator.fields))
    with pytest.raises(NotGenerable, match="its sizes depend on Groups, and these depend on its sizes"):
        plan_of(operator).choices[0].desc((3,), plan_of(operator).usual)
