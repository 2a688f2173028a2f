"""A spec grows, and its cases stay: ids, contents and levels, whatever is added. What is new is combined with all else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dmlcts.generator.case.case import Case, to_json
from dmlcts.generator.covering import stored as stored_arrays
from dmlcts.generator.covering.cases import array_of, editions, empty_array, is_stale, row_values
from dmlcts.generator.covering.grow import compute_rows
from dmlcts.generator.covering.space import space_of
from dmlcts.generator.covering.stored import read_arrays, write_arrays
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.editions import as_of, lists_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.grown import grow
from dmlcts.generator.suite.suite import make_cases
from dmlcts.spec.model.expression import compile_expression
from dmlcts.spec.model.operator import Constraint, Operator, RandomData
from dmlcts.spec.reading.loader import load

Change = Callable[[Operator], Operator]


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of stored rows, of which a test may change a copy."""
    shutil.copytree(stored_arrays.FOLDER, tmp_path / "rows")
    monkeypatch.setattr(stored_arrays, "FOLDER", tmp_path / "rows")
    return tmp_path / "rows"


def with_value(operator: Operator, name: str, value: object) -> Operator:
    fields = (replace(field, values=(*field.values, value)) if field.name == name else field for field in operator.fields)
    return replace(operator, fields=tuple(fields))


def with_data(operator: Operator, tensor: str) -> Operator:
    own = operator.values[tensor]
    data = {"tiny": RandomData("uniform", {"least": -1e-3, "most": 1e-3}), **own.data}
    return replace(operator, values={**operator.values, tensor: replace(own, data=data)})


def with_workload(operator: Operator) -> Operator:
    """A workload that stands before all others."""
    label, first = next(iter(operator.workloads.items()))
    return replace(operator, workloads={f"before-{label}": replace(first), **operator.workloads})


def with_special(operator: Operator, tensor: str) -> Operator:
    own = operator.values[tensor]
    return replace(operator, values={**operator.values, tensor: replace(own, special=("every-half", *own.special))})


def without(operator: Operator, name: str) -> Operator:
    """The operator as if it had no such field."""
    lists = {key: [each for each in names if each != name] for key, names in lists_of(operator).items() if name not in key}
    return replace(as_of(operator, lists, 0), edition=None)


def content(case: Case) -> str:
    found = {key: value for key, value in to_json(case).items() if key not in ("covers", "note")}
    return json.dumps(found, sort_keys=True)


def contents(operator: Operator, level: str) -> dict[str, str]:
    return {case.id: content(case) for case in make_cases(operator, level)}


GROWN: list[Any] = [
    pytest.param("ELEMENT_WISE_CLIP", partial(with_value, name="Max", value=50), "full", id="value of an attribute"),
    pytest.param("GEMM", partial(with_value, name="Beta", value=3.0), "core", id="value of an attribute of several"),
    pytest.param("ONE_HOT", lambda operator: replace(operator, layouts=("channels-last",)), "full", id="layout"),
    pytest.param("UPSAMPLE_2D", with_workload, "full", id="workload"),
    pytest.param("REDUCE", partial(with_data, tensor="InputTensor"), "core", id="kind of random data"),
    pytest.param("ELEMENT_WISE_ADD1", partial(with_special, tensor="ATensor"), "core", id="special set"),
]


@pytest.mark.parametrize(("name", "change", "level"), GROWN)
def test_every_case_stays_where_a_spec_grows(name: str, change: Change, level: str) -> None:
    before, now = contents(load(name), level), change(load(name))
    after = contents(now, level)
    assert before.items() <= after.items()
    assert is_stale(now)
    assert [edition.edition for edition in editions(now)] == [0]


def test_every_case_stays_where_an_optional_field_is_added() -> None:
    name, field = "ELEMENT_WISE_QUANTIZE_LINEAR", "ZeroPointTensor"
    bare = without(load(name), field)
    write_arrays(name, compute_rows(plan_of(bare), "core", empty_array(plan_of(bare))))
    before, after = contents(bare, "core"), make_cases(replace(load(name)), "core")
    kept = {case.id: case for case in after if case.id in before}
    assert kept.keys() == before.keys()
    assert all(case.desc.fields[field] is None for case in kept.values())
    assert any(case.desc.fields[field] is not None for case in after)


def test_an_edition_is_the_spec_as_it_was() -> None:
    for name in ("GEMM", "CONVOLUTION", "QUANTIZED_LINEAR_CONVOLUTION", "MULTIHEAD_ATTENTION1", "JOIN"):
        operator = load(name)
        again = as_of(operator, read_arrays(name)[0].lists, 0)
        assert lists_of(again) == lists_of(operator) == read_arrays(name)[0].lists
        assert model_of(plan_of(again)).factors == model_of(plan_of(operator)).factors


def test_a_spec_that_was_written_anew_has_no_earlier_editions() -> None:
    other = replace(load("ELEMENT_WISE_ROUND"), name="GEMM")
    assert is_stale(other)
    assert editions(other) == ()
    assert {case.id.split("/")[0] for case in make_cases(other, "smoke")} == {"GEMM"}


def test_a_case_that_the_rules_no_longer_allow_is_gone_and_the_others_stay() -> None:
    name, rule = "ELEMENT_WISE_CLIP", Constraint("no-column", that=compile_expression("InputTensor.Sizes[-1] != 1"))
    before = {case.id: case for case in make_cases(load(name), "core") if case.kind == "combination"}
    now = replace(with_value(load(name), "Max", 50), constraints=(*load(name).constraints, rule))
    after = {case.id: case for case in make_cases(now, "core")}
    columns = {case.id for case in before.values() if case.desc.tensor("InputTensor").sizes[-1] == 1}
    assert columns
    assert before.keys() - after.keys() == columns
    assert all(content(after[each]) == content(before[each]) for each in before.keys() - columns)


def test_what_is_new_is_in_rows_with_each_other_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are added for pairs with the new value; no row is given up; the file only grows."""
    monkeypatch.setattr("dmlcts.generator.suite.grown._MOST", "core")
    monkeypatch.setattr("dmlcts.generator.random.choose._PAIRS", 300)
    monkeypatch.setattr("dmlcts.generator.random.choose._TRIES", 300)
    name, file = "ELEMENT_WISE_CLIP", stored_arrays.FOLDER / "ELEMENT_WISE_CLIP.txt"
    text, before = file.read_text(encoding="utf-8"), contents(load(name), "core")
    now = with_value(load(name), "Max", 50)
    array = grow(now)
    write_arrays(name, *read_arrays(name), array)
    assert file.read_text(encoding="utf-8").startswith(text)
    now = with_value(load(name), "Max", 50)
    assert not is_stale(now)
    assert before.items() <= contents(now, "core").items()
    space = space_of(plan_of(now))
    place = space.model.place["Max"]
    rows = [row_of(space.model, space.case(row)) for row in array_of(plan_of(now), "core").rows]
    assert {row[place] for row in rows} == {2}
    known = [row_of(space.model, case) for case in make_cases(load(name), "core") if case.kind == "combination"]
    values, met = ({(at, value) for row in every for at, value in enumerate(row) if at != place} for every in (known, rows))
    costly = {at for at, factor in enumerate(space.model.factors) if factor.kind == "long"}
    assert {(at, value) for at, value in values if at not in costly} <= met
    assert len(rows) <= len(read_arrays(name)[0].rows) // 10


def test_what_rows_want_is_known_of_all_editions() -> None:
    now = with_value(load("ELEMENT_WISE_CLIP"), "Max", 50)
    before = [*row_values(load("ELEMENT_WISE_CLIP"))]
    assert len(before) == len(read_arrays("ELEMENT_WISE_CLIP")[0].rows)
    assert [*row_values(now)] == before


def test_lists_that_no_row_depends_on_are_stored_without_rows() -> None:
    now = with_workload(load("UPSAMPLE_2D"))
    array = grow(now)
    assert (array.rows, array.random, set(array.ends.values())) == ((), (), {0})
    write_arrays("UPSAMPLE_2D", *read_arrays("UPSAMPLE_2D"), array)
    assert not is_stale(with_workload(load("UPSAMPLE_2D")))
