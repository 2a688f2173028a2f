"""Searches for a small example that breaks a law with Hypothesis, which draws sizes, layouts and data, and shrinks failures.

It runs only after an example has failed (conformance/properties/relations), and draws new examples, unrelated to that one.

Drawn cases have a reducer of their own (generator/random/reduce): what those need is asked for by name, factor by factor, and is kept for the next search.
Of a law nothing but a small counterexample is wanted, of any elements, and no reducer of ours would find one as small as Hypothesis does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.properties.examples import (
    MOST_SIZE,
    ROW,
    Draft,
    draft_case,
    draft_desc,
    layouts_of,
    variable_data,
    variable_tensors,
    variable_types,
)
from dmlcts.conformance.properties.law_dispatch import LawTrial, in_rows
from dmlcts.generator.case.case import AGREEMENT, Case, Data
from dmlcts.generator.case.inputs import recipe_array, recipe_bytes, same_where_broadcast
from dmlcts.generator.sweeps.properties import choice_of
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.reports.record.record import FAIL, PASS, UNSUPPORTED
from dmlcts.spec.model.desc import TensorDesc

_SIZES = st.integers(1, MOST_SIZE)

_MOST = 17
"""The number of different elements of a tensor in an agreement example. A prime, so that no row or plane repeats the one before it."""


class _Broken(Exception):
    """An example breaks the law; Hypothesis shrinks it."""

    def __init__(self, example: Case, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.example, self.outcome = example, outcome


class _Stopped(BaseException):
    """The backend failed in another way, which ends the search. Not an Exception, or Hypothesis would shrink a crash."""

    def __init__(self, example: Case, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.example, self.outcome = example, outcome


def search(trial: LawTrial, attempt: Callable[[Case], Outcome], examples: int, seed: str) -> tuple[Case, Outcome, bool] | None:
    """A shrunken example that fails or is an error, its outcome, and whether it failed every time. None if ``examples`` of them pass or are unsupported."""
    failures: list[_Broken] = []

    def check(draft: Draft) -> None:
        example = draft_case(trial, draft)
        outcome = attempt(example)
        if outcome.status == FAIL:
            failures.append(_Broken(example, outcome))
            raise failures[-1]
        if outcome.status not in (PASS, UNSUPPORTED):
            raise _Stopped(example, outcome)

    try:
        _quietly(check, (_agreement_drafts if trial.case.expect == AGREEMENT else _relation_drafts)(trial), examples, seed)
    except (_Stopped, _Broken) as found:
        return found.example, found.outcome, True
    except Flaky:
        return failures[-1].example, failures[-1].outcome, False
    return None


def _quietly(check: Callable[[Draft], None], strategy: st.SearchStrategy[Draft], examples: int, seed: str) -> None:
    """Runs ``check`` on examples of a strategy: reproducible, without a database, a deadline or output."""
    configured = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
    )
    number = int.from_bytes(sha256(seed.encode()).digest()[:8], "big")
    seeded(number)(configured(given(strategy)(check)))()


def _agreement_drafts(trial: LawTrial) -> st.SearchStrategy[Draft]:
    case, layouts = trial.case, layouts_of(trial)
    choice = choice_of(trial.plan, case.desc)
    count = next(case.desc.tensors())[1].DimensionCount

    @st.composite
    def drafts(draw: st.DrawFn) -> Draft:
        run = tuple(draw(_SIZES) for _ in range(count))
        chosen = {name: draw(st.sampled_from(those)) for name, those in layouts.items()}
        desc = draft_desc(trial, choice, run, chosen)
        tensors = {name: desc.tensor(name) for name in case.data}
        elements = _draw_elements(draw, case.data, {name: tensor.data_type for name, tensor in tensors.items()}, _MOST)
        arrays = {}
        for name, recipe in case.data.items():
            tensor, size = tensors[name], recipe_bytes(recipe.recipe, tensors[name])
            raw = (elements[name] * tensor.count)[:size]  # repeated if there are fewer than the tensor has
            arrays[name] = same_where_broadcast(recipe_array(recipe.recipe, recipe.parameters, tensor, raw, desc.fields), tensor)
        return Draft(arrays, run, chosen)

    return drafts()


def _relation_drafts(trial: LawTrial) -> st.SearchStrategy[Draft]:
    types, recipes = variable_types(trial), variable_data(trial)
    if not in_rows(trial.operator):
        return _sized_drafts(trial, types, recipes)

    @st.composite
    def drafts(draw: st.DrawFn) -> Draft:
        arrays = {}
        for variable, raw in _draw_elements(draw, recipes, types, ROW).items():
            recipe, name = recipes[variable], types[variable]
            tensor = TensorDesc(name, (len(raw) // RECIPES[recipe.recipe].width(name),))
            arrays[variable] = recipe_array(recipe.recipe, recipe.parameters, tensor, raw)
        return Draft(arrays)

    return drafts()


def _sized_drafts(trial: LawTrial, types: Mapping[str, str], recipes: Mapping[str, Data]) -> st.SearchStrategy[Draft]:
    """Drafts with variables of their tensors' sizes."""
    count = next(trial.case.desc.tensors())[1].DimensionCount

    @st.composite
    def drafts(draw: st.DrawFn) -> Draft:
        run = tuple(draw(_SIZES) for _ in range(count))
        elements = _draw_elements(draw, recipes, types, _MOST)
        arrays = {}
        fields, tensors = variable_tensors(trial, run)
        for variable, tensor in tensors.items():
            recipe = recipes[variable]
            size = recipe_bytes(recipe.recipe, tensor)
            raw = (elements[variable] * tensor.count)[:size]
            arrays[variable] = recipe_array(recipe.recipe, recipe.parameters, tensor, raw, fields)
        return Draft(arrays, run)

    return drafts()


def _draw_elements(draw: st.DrawFn, recipes: Mapping[str, Data], types: Mapping[str, str], most: int) -> dict[str, bytes]:
    """The raw bytes of 1 to ``most`` elements of each tensor or variable.

    They are drawn element by element, for all tensors together. So Hypothesis can drop irrelevant elements and keep the others. As one string
    of bytes, they would be lost whenever a size shrinks.
    """
    widths = {name: RECIPES[recipe.recipe].width(types[name]) for name, recipe in recipes.items()}
    found = dict.fromkeys(widths, b"")
    for _ in range(draw(st.integers(1, most))):
        for name, width in widths.items():
            found[name] += draw(st.binary(min_size=width, max_size=width))
    return found
