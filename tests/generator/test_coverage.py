"""Coverage: what a spec promises, and each maker, and each single case that alone covers a promise, is missed when it is gone.

That it is complete for every operator, `dmlcts spec coverage` tells in .ci/run.
"""

from collections import Counter
from dataclasses import replace

import pytest

from dmlcts.generator.case import Case
from dmlcts.generator.coverage import COLUMNS, Coverage, coverage
from dmlcts.generator.suite import MAKERS, make_cases, operator_cases
from dmlcts.spec.abi import abi
from dmlcts.spec.loader import load
from dmlcts.spec.model import Field, Operator

# The first operators; then attributes of every kind, an optional tensor beside types that differ, and sizes with symbols.
SAMPLE = (
    *(
        f"ELEMENT_WISE_{name}"
        for name in ("BIT_COUNT", "BIT_OR", "BIT_SHIFT_RIGHT", "BIT_XOR", "ROUND", "CLIP1", "QUANTIZE_LINEAR")
    ),
    "ACTIVATION_SOFTMAX",
)


def missing(found: Coverage) -> dict[str, tuple[str, ...]]:
    return {column.name: column.missing for column in found.columns if column.missing}


def covered(operator: Operator, referenced: bool = True) -> Coverage:
    return coverage(operator, make_cases(operator), referenced)


def without(name: str, *gone: str) -> dict[str, tuple[str, ...]]:
    """What is missing when the cases with these ids are."""
    left = tuple(case for case in operator_cases(name) if case.id not in gone)
    assert len(left) == len(operator_cases(name)) - len(gone)
    return missing(coverage(load(name), left, True))


def choices(field: Field) -> int:
    """How many promises an attribute makes, or a tensor that may be absent."""
    if field.is_tensor:
        return 2 if field.optional else 0
    return len(field.values) or len(abi().enums[field.enum or ""].values)


@pytest.mark.parametrize("name", SAMPLE)
def test_columns_promise_what_the_spec_says(name: str) -> None:
    operator = load(name)
    promised = {column.name: column.promised for column in covered(operator).columns}
    cells = sum(len(row.data_types) * len(row.dimension_counts()) for table in operator.support for row in table.tensors.values())
    assert promised["support"] == cells
    assert promised["examples"] == len(operator.examples)
    assert promised["relations"] == 1 + len(operator.relations)
    assert promised["attributes"] == sum(map(choices, operator.fields))
    assert name != "ELEMENT_WISE_ROUND" or promised["attributes"] == 3
    inputs, outputs = len(operator.inputs()), len(operator.outputs())
    # Layouts, slack, inputs owned by DirectML, dimension counts.
    assert promised["layouts"] == 8 * inputs + 5 * outputs + 3 * (inputs + outputs) + inputs + 8
    assert promised["reference"] == 1


COLUMN_OF_MAKER = {
    "example_cases": "examples",
    "cell_cases": "support",
    "value_cases": "values",
    "layout_cases": "layouts",
    "in_place_cases": "in-place",
    "negative_cases": "rejections",
    "property_cases": "relations",
}


@pytest.mark.parametrize("maker", COLUMN_OF_MAKER)
def test_a_maker_that_is_gone_is_missed(maker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.generator.suite.MAKERS", tuple(m for m in MAKERS if m.__name__ != maker))
    found = missing(covered(load("ELEMENT_WISE_ROUND")))
    column = COLUMN_OF_MAKER[maker]
    assert list(found) == [column]
    if column != "layouts":  # other makers have a part in it
        promised = next(c.promised for c in covered(load("ELEMENT_WISE_ROUND")).columns if c.name == column)
        assert len(found[column]) == promised


def only_cover(name: str) -> dict[str, Case]:
    """Promises that one case alone covers, with it."""
    cases = operator_cases(name)
    promised = {label for promises in COLUMNS.values() for label in promises(load(name))}
    counts = Counter(label for case in cases for label in case.covers)
    return {label: case for case in cases for label in case.covers if counts[label] == 1 and label in promised}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_case_that_is_gone_is_missed_and_nothing_else_is(name: str) -> None:
    alone = only_cover(name)
    assert alone
    for label, case in list(alone.items())[:: max(1, len(alone) // 12)]:
        lost = {promise for labels in without(name, case.id).values() for promise in labels}
        assert lost == {other for other, owner in alone.items() if owner is case}, label
        assert label in lost


def test_an_example_that_is_gone() -> None:
    found = without("ELEMENT_WISE_BIT_COUNT", "ELEMENT_WISE_BIT_COUNT/UINT32/example/page-1")
    assert found == {"examples": ("example/page-1",)}


def test_a_table_cell_that_is_gone() -> None:
    found = without("ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_BIT_OR/INT8/3d")
    assert found == {"support": tuple(f"support/4_1/{tensor}/INT8/3d" for tensor in ("ATensor", "BTensor", "OutputTensor"))}


def test_a_promise_that_no_maker_knows_is_missing() -> None:
    """A spec that promises more than its cases can cover: a table of a level with types that only one of tied tensors has."""
    operator = load("ELEMENT_WISE_ROUND")
    newest = operator.support[0]
    row = newest.tensors["InputTensor"]
    wider = replace(newest, tensors={**newest.tensors, "InputTensor": replace(row, data_types=(*row.data_types, "INT8"))})
    found = missing(covered(replace(operator, support=(wider, *operator.support[1:]))))
    assert found["support"] == tuple(f"support/3_0/InputTensor/INT8/{count}d" for count in range(1, 9))


def test_an_operator_without_a_reference_is_not_complete() -> None:
    found = covered(load("ELEMENT_WISE_BIT_OR"), False)
    assert missing(found) == {"reference": ("reference",)}
    assert not found.complete


def test_what_directml_accepts_is_no_promise() -> None:
    from dmlcts.spec.measurement import ALL, Acceptance

    operator = load("ELEMENT_WISE_BIT_COUNT")

    def rejections(of: Operator) -> int:
        return next(column.promised for column in covered(of).columns if column.name == "rejections")

    rule = "tensor/OutputTensor/alignment"
    every = ("alignment/OutputTensor=24", "alignment/OutputTensor-below-size")
    for ways, types, fewer in ((every, ALL, 1), (every[:1], ALL, 0), (every, ("UINT8-UINT8",), 0)):
        lenient = replace(operator, lenient=(Acceptance(rule, "a probe", ways, types),))
        assert rejections(operator) - rejections(lenient) == fewer
        assert covered(lenient).complete


def test_cases_of_all_levels_and_bases_count() -> None:
    operator = load("ELEMENT_WISE_ROUND")
    documented = {label for case in make_cases(operator) if case.basis == "documented" for label in case.covers}
    assert "values/InputTensor/nans" not in documented
    assert covered(operator).complete
