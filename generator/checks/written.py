"""What is wrong with a spec that only the generator and the rules can tell, before any case is made: ``dmlcts spec check`` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.one_factor.resizing import resize_cases
from dmlcts.generator.sweeps.usual import example_desc
from dmlcts.generator.sweeps.workloads import dispatch_cases
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.generator.values.special_sets import SPECIAL
from dmlcts.spec.model.case_data import RandomData, Values
from dmlcts.spec.model.expression import ExpressionError, compile_expression
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.document import Path_
from dmlcts.spec.reading.loader import error_in
from dmlcts.spec.reading.schema import did_you_mean
from dmlcts.spec.rules.rules import violations

Problem = tuple[Path_, str]
"""Where in the file, and what."""


def written_wrong(operator: Operator) -> Iterator[str]:
    """What is wrong with an operator's spec, a sentence each with file, line and field."""
    for path, problem in (
        *_unknown_names(operator),
        *_wrong_dispatches(operator),
        *_wrong_resize(operator),
        *_broken_examples(operator),
    ):
        yield str(error_in(operator, path, problem))


def _unknown_names(operator: Operator) -> Iterator[Problem]:
    """Names that the generator does not know: recipes and their parameters, sets of special values."""
    for tensor, values in operator.values.items():
        where = ("cases", "values", tensor)
        yield from (((*where, "random", *at), problem) for at, problem in _wrong_recipe(operator, values))
        for name, other in values.data.items():
            yield from (((*where, "data", name, *at), problem) for at, problem in _wrong_recipe(operator, other))
        named = {*values.special, *values.measured} - values.sets.keys() - values.parts.keys()
        for name in sorted({*named, *(of for of, _ in values.parts.values())} - SPECIAL.keys()):
            known = [*SPECIAL, *values.sets, *values.parts]
            yield where, f"unknown set of special values {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}"


def _wrong_dispatches(operator: Operator) -> Iterator[Problem]:
    """Recipes of single dispatches, and dispatches of which no valid desc can be made."""
    wrong = False
    for label, single in operator.dispatches.items():
        for tensor, data in single.data.items():
            for at, problem in _wrong_recipe(operator, data):
                wrong = True
                yield ("cases", "dispatches", label, "data", tensor, *at), problem
    if operator.dispatches and not wrong:
        try:
            list(dispatch_cases(plan_of(operator)))
        except NotGenerable as error:
            yield ("cases", "dispatches"), str(error)


def _wrong_resize(operator: Operator) -> Iterator[Problem]:
    """Outputs of other sizes than the input's, of which no valid desc can be made."""
    try:
        list(resize_cases(plan_of(operator)))
    except NotGenerable as error:
        yield ("cases", "resize"), str(error)


def _broken_examples(operator: Operator) -> Iterator[Problem]:
    """Examples whose descs the spec's own rules forbid: of these, one is wrong."""
    plan = plan_of(operator)
    for example in operator.examples:
        try:
            broken = violations(operator, example_desc(plan, example))
        except NotGenerable as error:
            yield ("examples", example.id), f"no desc can be made of it: {error}"
            continue
        for rule in broken:
            yield ("examples", example.id), f"breaks {rule.label}: {rule.message}; the example or the rule is wrong"


def _wrong_recipe(operator: Operator, data: Values | RandomData) -> Iterator[Problem]:
    """What is wrong with a recipe and its parameters."""
    if data.recipe not in RECIPES:
        yield ("recipe",), f"unknown recipe {data.recipe!r}{did_you_mean(data.recipe, RECIPES)}; known: {', '.join(RECIPES)}"
        return
    recipe, given = RECIPES[data.recipe], data.parameters.keys()
    if not recipe.parameters <= given <= recipe.parameters | recipe.optional:
        needed = ", ".join(sorted(recipe.parameters)) or "no parameters"
        more = "".join(f", and may take {name}" for name in sorted(recipe.optional))
        yield (), f"{data.recipe} takes {needed}{more}, not {', '.join(sorted(given)) or 'none'}"
        return
    yield from (((name,), problem) for name, problem in _wrong_expressions(operator, data))


def _wrong_expressions(operator: Operator, data: Values | RandomData) -> Iterator[tuple[str, str]]:
    """The recipe parameters that are not valid expressions over the desc's fields."""
    for name in sorted(RECIPES[data.recipe].computed):
        try:
            unknown = compile_expression(str(data.parameters[name])).names - {field.name for field in operator.fields}
        except ExpressionError as error:
            yield name, str(error)
        else:
            yield from ((name, f"there is no field {field}") for field in sorted(unknown))
