"""Property cases: Hypothesis chooses sizes, layouts and data, the backend runs them, and a law decides.

Two kinds of law: ``agreement`` with the reference, and the relations of the spec, which outputs keep among themselves and which need no
reference. An example that breaks the law is shrunk and becomes a case of its own, with its data written out, so that it can be run again
(``dmlcts run --case-file``). Choices depend on the case's id and the run's seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from time import perf_counter
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from numpy.typing import NDArray

from dmlcts.conformance.backend import Backend, BackendInfo
from dmlcts.conformance.buffers import read_tensor
from dmlcts.conformance.execute import Outcome, attempt, holds_bits, lay_out, outcome_of, result_of, trespasses, unclaimed
from dmlcts.generator.case import AGREEMENT, REFERENCE, RELATION, Case, Data, to_json
from dmlcts.generator.data import recipe_array, recipe_bytes, same_where_broadcast
from dmlcts.generator.layouts import INPUT_LAYOUTS, OUTPUT_LAYOUTS, laid_out
from dmlcts.generator.recipes import RECIPES
from dmlcts.generator.shapes import make_desc
from dmlcts.reports.record import FAIL, PASS, UNSUPPORTED, Mismatch, Result
from dmlcts.spec.abi import data_type
from dmlcts.spec.desc import TensorDesc
from dmlcts.spec.dtypes import array_literal, bits_dtype, literal_array, numpy_dtype
from dmlcts.spec.loader import load
from dmlcts.spec.model import Operator, Relation

Array = NDArray[Any]

EXAMPLES = {"smoke": 5, "core": 10, "full": 100}
"""How many examples Hypothesis makes of a property case, by the run's level."""

_SIZES = st.integers(1, 5)

_MOST = 17
"""How many different elements a tensor has in an example of agreement. A prime: no row or plane repeats the one before it."""


class _Broken(Exception):
    """An example breaks the law; Hypothesis shrinks it."""

    def __init__(self, example: Case, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.example, self.outcome = example, outcome


class _Stopped(BaseException):
    """The backend failed otherwise: no example is looked for further. No Exception, or Hypothesis would shrink a crash."""

    def __init__(self, example: Case, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.example, self.outcome = example, outcome


@dataclass(frozen=True, slots=True)
class Trial:
    """What a property case is tried on."""

    case: Case
    operator: Operator
    backend: Backend
    info: BackendInfo
    timeout: float | None


def execute_property(
    case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None, examples: int = 25, run_seed: str = ""
) -> Result:
    """Tries a property case on ``examples`` examples, or on the one that it carries as literal data."""
    started = perf_counter()
    trial = Trial(case, load(case.operator), backend, info, timeout)
    missing = unclaimed(case, info)
    if missing:
        outcome = Outcome(UNSUPPORTED, missing)
    elif case.expect == RELATION and all(data.literal is not None for data in case.data.values()):
        outcome = _relation_outcome(trial, case)
    else:
        outcome = _searched(trial, examples, run_seed)
    return result_of(case, outcome, perf_counter() - started)


def _searched(trial: Trial, examples: int, run_seed: str) -> Outcome:
    agreement = trial.case.expect == AGREEMENT
    strategy = (_agreement_examples if agreement else _relation_examples)(trial)
    attempt_one = outcome_of_example if agreement else _relation_outcome
    failures: list[_Broken] = []

    def check(example: Case) -> None:
        outcome = attempt_one(trial, example)
        if outcome.status == FAIL:
            failures.append(_Broken(example, outcome))
            raise failures[-1]
        if outcome.status != PASS:
            raise _Stopped(example, outcome)

    law = trial.case.relation or "agreement"
    try:
        _quietly(check, strategy, examples, f"{run_seed}{trial.case.id}")
    except _Stopped as stopped:
        return _with_example(stopped, f"an example of {law}") if stopped.outcome.status != UNSUPPORTED else stopped.outcome
    except _Broken as broken:
        return _with_example(broken, f"shrunken example of {law}")
    except Flaky:
        return _with_example(failures[-1], f"an example of {law} that does not fail every time: the backend is not deterministic")
    return Outcome(PASS)


def _with_example(found: _Broken | _Stopped, remark: str) -> Outcome:
    said = found.outcome
    return replace(said, message=f"{said.message} ({remark})", evidence={**said.evidence, "example": to_json(found.example)})


def _quietly(check: Callable[[Case], None], strategy: st.SearchStrategy[Case], examples: int, seed_text: str) -> None:
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
    number = int.from_bytes(sha256(seed_text.encode()).digest()[:8], "big")
    seed(number)(configured(given(strategy)(check)))()


def outcome_of_example(trial: Trial, example: Case) -> Outcome:
    """What becomes of one example of agreement."""
    return outcome_of(example, trial.backend, trial.info, trial.timeout)


def _agreement_examples(trial: Trial) -> st.SearchStrategy[Case]:
    case, operator = trial.case, trial.operator
    types = tuple((name, tensor.data_type) for name, tensor in case.desc.tensors())
    attributes = {field.name: case.desc.fields[field.name] for field in operator.attributes()}
    count = next(case.desc.tensors())[1].DimensionCount
    inputs = {field.name for field in operator.inputs()}

    @st.composite
    def examples(draw: st.DrawFn) -> Case:
        run = tuple(draw(_SIZES) for _ in range(count))
        desc = make_desc(operator, types, run, attributes)
        layouts = {name: draw(st.sampled_from(INPUT_LAYOUTS if name in inputs else OUTPUT_LAYOUTS)) for name, _ in types}
        desc = desc.with_fields(**{name: laid_out(desc.tensor(name), layout) for name, layout in layouts.items()})
        tensors = {name: desc.tensor(name) for name in case.data}
        elements = _draw_elements(draw, case.data, {name: tensor.data_type for name, tensor in tensors.items()}, _MOST)
        data = {}
        for name, recipe in case.data.items():
            tensor, size = tensors[name], recipe_bytes(recipe.recipe, tensors[name])
            raw = (elements[name] * tensor.count)[:size]  # from the first again, where there are fewer than the tensor has
            values = recipe_array(recipe.recipe, recipe.parameters, tensor, raw)
            data[name] = Data(literal=array_literal(same_where_broadcast(values, tensor), tensor.data_type))
        return replace(case, id=f"{case.id}/example", desc=desc, expect=REFERENCE, data=data, covers=())

    return examples()


def _relation_examples(trial: Trial) -> st.SearchStrategy[Case]:
    case, operator = trial.case, trial.operator
    relation = relation_of(operator, case.relation)

    @st.composite
    def examples(draw: st.DrawFn) -> Case:
        recipes = {variable: case.data[name] for variable, name in relation.given.items()}
        types = {variable: case.desc.tensor(name).data_type for variable, name in relation.given.items()}
        data = {}
        for variable, raw in _draw_elements(draw, recipes, types, 8).items():
            recipe, name = recipes[variable], types[variable]
            tensor = TensorDesc(name, (len(raw) // RECIPES[recipe.recipe].width(name),))
            values = recipe_array(recipe.recipe, recipe.parameters, tensor, raw)
            data[variable] = Data(literal=array_literal(values, name))
        return replace(case, id=f"{case.id}/example", expect=RELATION, data=data, covers=())

    return examples()


def _draw_elements(draw: st.DrawFn, recipes: Mapping[str, Data], types: Mapping[str, str], most: int) -> dict[str, bytes]:
    """The raw bytes of 1 to ``most`` elements of each tensor or variable.

    They are drawn element by element, all tensors' together: so Hypothesis can leave out the elements that do not matter and keep those
    that do. Drawn as one string of bytes they would be lost whenever a size shrinks.
    """
    widths = {name: RECIPES[recipe.recipe].width(types[name]) for name, recipe in recipes.items()}
    found = dict.fromkeys(widths, b"")
    for _ in range(draw(st.integers(1, most))):
        for name, width in widths.items():
            found[name] += draw(st.binary(min_size=width, max_size=width))
    return found


def relation_of(operator: Operator, label: str) -> Relation:
    """The operator's relation of that label. Raises KeyError."""
    for relation in operator.relations:
        if relation.label == label:
            return relation
    raise KeyError(f"{operator.name} has no relation {label!r}")


def _relation_outcome(trial: Trial, example: Case) -> Outcome:
    """Evaluates a law on the example's variables; every ``f(...)`` in it is a dispatch."""
    operator, relation = trial.operator, relation_of(trial.operator, example.relation)
    literals = {variable: data.literal for variable, data in example.data.items() if data.literal is not None}
    variables: dict[str, Any] = {}
    for variable, literal in literals.items():
        array = literal_array(literal)
        as_bits = holds_bits(operator, relation.given[variable])
        variables[variable] = array.view(bits_dtype(literal.data_type)) if as_bits else array
    first = next(iter(literals.values()))
    scope = {**variables, "width": data_type(first.data_type).bits, "implies": lambda p, q: ~p | q}
    with np.errstate(all="ignore"):
        mask = np.ones(first.sizes, np.bool_) if relation.where is None else np.asarray(relation.where.evaluate(scope), np.bool_)
        try:
            holds = relation.law.evaluate({**scope, "f": lambda *arguments: _call(trial, example, first.sizes, arguments)})
        except _Incomplete as error:
            return error.outcome
    broken = np.argwhere(~np.broadcast_to(np.asarray(holds, np.bool_), first.sizes) & mask)
    if not len(broken):
        return Outcome(PASS)
    at = tuple(int(i) for i in broken[0])
    said = ", ".join(f"{name} = {_shown(values[at])}" for name, values in variables.items())
    mismatch = Mismatch("law", at, relation.law.text, said)
    outcome = Outcome(FAIL, f"{relation.law.text} does not hold for {said}")
    outcome.evidence["law"] = {"text": relation.law.text, "index": list(mismatch.index), "values": said}
    return outcome


class _Incomplete(Exception):
    """A dispatch inside a law did not complete."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


def _call(trial: Trial, example: Case, sizes: tuple[int, ...], arguments: tuple[Any, ...]) -> Array:
    """``f`` of a law: one dispatch; arguments are given to the inputs in order, scalars fill a tensor."""
    operator = trial.operator
    types = tuple((name, tensor.data_type) for name, tensor in example.desc.tensors())
    attributes = {field.name: example.desc.fields[field.name] for field in operator.attributes()}
    count = next(example.desc.tensors())[1].DimensionCount
    run = (1,) * (count - len(sizes)) + sizes
    desc = make_desc(operator, types, run, attributes)
    inputs = {}
    for field, argument in zip(operator.inputs(), arguments, strict=True):
        name = desc.tensor(field.name).data_type
        filled = np.ascontiguousarray(np.broadcast_to(np.asarray(argument), sizes))
        as_bits = filled.dtype == bits_dtype(name) and filled.dtype != numpy_dtype(name)
        inputs[field.name] = (filled.view(numpy_dtype(name)) if as_bits else filled.astype(numpy_dtype(name))).reshape(run)
    case = replace(example, desc=desc, expect=REFERENCE, data={})
    layout = lay_out(case, inputs, {}, trial.timeout)
    said = attempt(trial.backend, layout.dispatch)
    if said is not None:
        raise _Incomplete(said)
    trespass = trespasses(case, layout)
    if trespass:
        raise _Incomplete(Outcome(FAIL, trespass))
    name = operator.outputs()[0].name
    tensor, binding = desc.tensor(name), layout.dispatch.bindings[name]
    output = read_tensor(layout.resources[binding.resource], tensor, binding.offset).reshape(sizes)
    if operator.tolerance.compare == "bits":
        return output.view(bits_dtype(tensor.data_type))
    return output.astype(np.int64) if output.dtype.kind in "iu" and output.dtype.itemsize < 8 else output


def _shown(value: Any) -> str:
    return f"{value} ({value:#x})" if isinstance(value, np.unsignedinteger) else repr(value.item())
