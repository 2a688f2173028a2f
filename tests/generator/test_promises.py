"""Coverage: what a spec promises, and each maker, and each promise, is missed when its cases are gone.

That it is complete for every operator, `dmlcts spec coverage` tells in .ci/run.
"""

from dataclasses import replace

import pytest
from made_up import cases_of

from dmlcts.generator.checks.promises import COLUMNS, Coverage, coverage
from dmlcts.generator.suite.suite import MAKERS, operator_cases
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import Field, Operator
from dmlcts.spec.reading.loader import load

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
    return coverage(operator, cases_of(operator), referenced)


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
    layouts = (7, 4) if name == "ACTIVATION_SOFTMAX" else (11, 6)  # its tensors are matrices, whose first sizes are 1
    assert promised["layouts"] == layouts[0] * inputs + layouts[1] * outputs + 3 * (inputs + outputs) + inputs + 8
    assert promised["reference"] == 1


COLUMN_OF_MAKER = {
    "example_cases": "examples",
    "value_cases": "values",
    "negative_cases": "rejections",
    "property_cases": "relations",
    "sequence_cases": "sequences",
}


@pytest.mark.parametrize("maker", COLUMN_OF_MAKER)
def test_a_maker_that_is_gone_is_missed(maker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.generator.suite.suite.MAKERS", tuple(m for m in MAKERS if m.__name__ != maker))
    found = missing(covered(load("ELEMENT_WISE_ROUND")))
    column = COLUMN_OF_MAKER[maker]
    assert list(found) == [column]
    promised = next(c.promised for c in covered(load("ELEMENT_WISE_ROUND")).columns if c.name == column)
    assert len(found[column]) == promised


def test_combinations_that_are_gone_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    left = tuple(m for m in MAKERS if m.__name__ not in ("combination_cases", "property_cases", "example_cases"))
    monkeypatch.setattr("dmlcts.generator.suite.suite.MAKERS", left)
    found = missing(covered(load("ELEMENT_WISE_ROUND")))
    assert {"support", "layouts", "in-place"} <= found.keys()
    assert found["in-place"] == ("in-place/OutputTensor/InputTensor",)


def owners(name: str) -> dict[str, set[str]]:
    """Every promise but that of a reference, with the ids of the cases that cover it."""
    found: dict[str, set[str]] = {label: set() for promises in COLUMNS.values() for label in promises(load(name))}
    for case in operator_cases(name):
        for label in found.keys() & set(case.covers):
            found[label].add(case.id)
    del found["reference"]
    return found


@pytest.mark.parametrize("name", SAMPLE)
def test_a_promise_whose_cases_are_gone_is_missed_and_nothing_else_is(name: str) -> None:
    promised = owners(name)
    rarest = sorted(promised, key=lambda label: len(promised[label]))
    for label in (*rarest[:6], *rarest[6 :: max(1, len(rarest) // 6)]):
        lost = {promise for labels in without(name, *promised[label]).values() for promise in labels}
        assert lost == {other for other, ids in promised.items() if ids <= promised[label]}, label
        assert label in lost


def test_an_example_that_is_gone() -> None:
    found = without("ELEMENT_WISE_BIT_COUNT", "ELEMENT_WISE_BIT_COUNT/UINT32/example/page-1")
    assert found == {"examples": ("example/page-1",)}


def test_a_table_cell_that_is_gone() -> None:
    name, cell = "ELEMENT_WISE_BIT_COUNT", "support/4_1/InputTensor/INT8/3d"
    found = without(name, *(case.id for case in operator_cases(name) if cell in case.covers))
    assert cell in found["support"]
    assert all(label.endswith("INT8/3d") or "/OutputTensor/" in label for label in found["support"])


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
    from dmlcts.spec.model.measurement import ALL, Acceptance

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
    documented = {label for case in cases_of(operator) if case.basis == "documented" for label in case.covers}
    assert "values/InputTensor/nans" not in documented
    assert covered(operator).complete
