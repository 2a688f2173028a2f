"""Cases that combine the values of all factors: in smoke each value, in core every pair of values, in full every triple.

A row of a covering array (generator/covering/search) has a value of each factor (generator/facts/factors). It becomes a desc by the spec's rules; what
no desc can have is not feasible. Sizes are drawn within their classes (generator/covering/sizes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from random import Random

from dmlcts.generator.case.build import build, is_cut, support_cells
from dmlcts.generator.case.case import OFFSETS, Binding, Case
from dmlcts.generator.covering.bindings import bind, data_of, is_allowed, offset_of, owned_inputs
from dmlcts.generator.covering.sizes import drawn_sizes, is_bounded, is_small
from dmlcts.generator.facts.factor_values import structure_of
from dmlcts.generator.facts.factors import CLASSES, RESOURCES, USUAL, Model, model_of, short
from dmlcts.generator.facts.tuples import NONE, Row, Values
from dmlcts.generator.plan.attributes import Combination, NotGenerable, alike, choice_labels, values_within
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.values.layouts import LETTERS
from dmlcts.spec.model.desc import OperatorDesc, field_of
from dmlcts.spec.model.operator import ABSENT, DOCUMENTED, PRESENT
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES
from dmlcts.spec.rules.symbols import symbols_of

_FEW = 4
"""With more tensors, the layouts of two of them occur together in pairs only."""

CASE = 25_000
"""Everything else of a case costs about as much as so many elements."""


@cache
def space_of(plan: Plan) -> Combinations:
    """The operator's factors as a space to cover, made once."""
    return Combinations(model_of(plan))


def _nearest_allowed(values: tuple[object, ...], allowed: tuple[object, ...]) -> tuple[object, ...]:
    """These values; in place of those that are not allowed, the next that are."""
    return tuple(
        value if any(alike(value, other) for other in allowed) else allowed[at % len(allowed)] for at, value in enumerate(values)
    )


@dataclass(frozen=True, slots=True)
class Packed:
    """The structural part of a case: a packed desc, its choices of data types and of attributes, the values it was made from, and those that
    it has.
    """

    key: Row
    row: Row
    choice: TypeChoice
    attributes: Combination
    desc: OperatorDesc


class Combinations:
    """The values of an operator's factors as a space to cover (generator/covering/search), and the cases that rows became."""

    def __init__(self, model: Model) -> None:
        self.model, self.plan, self.operator = model, model.plan, model.plan.operator
        self.counts = [len(factor.values) for factor in model.factors]
        self.usual = [factor.usual for factor in model.factors]
        self.structural = model.structural
        self.pairs_only = frozenset(
            f for f, factor in enumerate(model.factors) if factor.kind == "layout" and len(self.plan.tensors) > _FEW
        )
        self.costly = frozenset(f for f, factor in enumerate(model.factors) if factor.kind == "long")
        self._skeletons: dict[Row, Packed | None] = {}
        self._type_names = [name for name, _ in self.model.type_factors()]
        self._choices: dict[tuple[str, ...], TypeChoice] = {}
        for choice in self.plan.choices:
            types = dict(choice.types)
            key = tuple(types[group[0]] if name in model.place else "" for name, group in model.type_factors())
            self._choices.setdefault(key, choice)
        self._options: dict[str, tuple[int, tuple[object, ...]]] = {}
        for field in self.operator.fields:
            values = self.plan.values(field) if field in self.plan.chosen else (PRESENT, ABSENT)
            if field in self.plan.chosen or (field.type == "TENSOR_DESC" and field.optional):
                self._options[field.name] = (model.place.get(field.name, NONE), values)
        self._limits = {
            label: {
                name: values_within(self.operator.field(name), self._options[name][1], limits)
                for name in limits
                if name in self._options
            }
            for label, limits in model.configurations.items()
        }
        self._kept = {
            label: {name: _nearest_allowed(self._options[name][1], allowed) for name, allowed in limits.items()}
            for label, limits in self._limits.items()
        }

    @cached_property
    def conflicts(self) -> list[Values]:
        """Values that exclude each other by what they are: a configuration and a value that it does not allow, an absent tensor and its layout."""
        factors, place = self.model.factors, self.model.place
        found: list[Values] = []
        for label, limits in self._limits.items() if "configuration" in place else ():
            own = (place["configuration"], factors[place["configuration"]].values.index(label))
            for name, allowed in limits.items():
                at, values = self._options[name]
                excluded = [i for i, value in enumerate(values) if not any(alike(value, other) for other in allowed)]
                found += [tuple(sorted((own, (at, i)))) for i in excluded if at != NONE]
        lengths = factors[place["long"]].values if "long" in place else ()
        long = [(lengths.index(name), symbol, end) for name, (symbol, end) in self.model.long.items()]
        for at, symbol, end in long:
            size = place.get(f"size {symbol} last" if end == -1 else f"size {symbol}" if not end else "", NONE)
            found += [((size, i), (place["long"], at)) for i, of in enumerate(CLASSES) if size != NONE and of != CLASSES[-1]]
        for name, group in self.model.rank_factors():  # the eighth dimension from the end needs a rank of eight
            for at, symbol, end in long if name in place else ():
                beside = [count for tensor, count in self.model.rows_with(symbol) if tensor in group and tensor not in place]
                short = [i for i, rank in enumerate(factors[place[name]].values) if beside and int(rank) - min(beside) < -end]
                found += [((place[name], i), (place["long"], at)) for i in short]
        for f, factor in enumerate(factors):
            if factor.kind == "layout" and factor.of in place:
                found += [((place[factor.of], 1), (f, value)) for value in range(len(factor.values))]
        return [*found, *self._type_conflicts()]

    def _type_conflicts(self) -> Iterator[Values]:
        """Values of two factors that no choice of data types has: types, with them ranks, and attributes on which the tables depend."""
        factors = self.model.factors
        groups = dict(self.model.type_factors())
        ranks = dict(self.model.rank_factors())
        typed = [f for f, factor in enumerate(factors) if factor.name in groups]
        known: dict[int, list[set[str]]] = {
            f: [{dict(c.types)[groups[factors[f].name][0]]} for c in self.plan.choices] for f in typed
        }
        for f, factor in enumerate(factors):
            if factor.name in ranks and self.plan.leading_tensor in ranks[factor.name]:
                known[f] = [set(map(str, choice.dimension_counts)) for choice in self.plan.choices]
            elif factor.kind == "attribute" and any(factor.of in table.when for table in self.operator.support):
                own = self._options[factor.of][1]
                known[f] = [
                    {
                        text
                        for text, value in zip(factor.values, own, strict=True)
                        if any(alike(a[factor.of], value) for a in choice.attributes)
                    }
                    for choice in self.plan.choices
                ]
        for one, other in product(typed, known):
            if one != other and (other not in typed or one < other):
                for (i, value), (j, second) in product(enumerate(factors[one].values), enumerate(factors[other].values)):
                    if not any(value in a and second in b for a, b in zip(known[one], known[other], strict=True)):
                        yield tuple(sorted(((one, i), (other, j))))

    def possible(self, row: Sequence[int], factor: int) -> Sequence[int]:
        """All values of a factor; of sizes, those with which a case does not become too large."""
        own = self.model.factors[factor]
        if own.kind not in ("size", "long"):
            return range(len(own.values))
        values = self.model.values_of(row)
        return [at for at, value in enumerate(own.values) if is_small(self.model, {**values, own.name: value})]

    def needs(self, factor: int, value: int) -> Values:
        """The presence of the optional tensors that a layout, an alias or an owned input is about."""
        own = self.model.factors[factor]
        shown = own.values[value]
        names: Iterable[str] = ()
        if own.kind == "layout":
            names = (own.of,)
        elif own.kind == "in place":
            names = sorted({name for pair in self.model.aliases.get(shown, {}).items() for name in pair})
        elif own.kind == "owned" and shown != "all":
            names = self.model.owned_sets.get(shown, ())
        return tuple((self.model.place[name], 0) for name in sorted(names) if name in self.model.place)

    # The desc

    def skeleton(self, row: Row) -> Packed | None:
        """The packed desc of a row's structural values; None if the spec's rules allow none."""
        key = row[: self.structural]
        if key not in self._skeletons:
            try:
                found = self._skeleton(key)
                valid = found and self.plan.level_of(found.desc) is not None and not violations(self.operator, found.desc)
                self._skeletons[key] = self._measured_values(found) if found and valid else None
            except (NotGenerable, *FAILURES):
                self._skeletons[key] = None
        return self._skeletons[key]

    def _measured_values(self, packed: Packed) -> Packed | None:
        """The same with the values that the desc has; None of a desc that is too large."""
        sizes = symbols_of(self.operator, packed.desc)
        return replace(packed, row=structure_of(self.model, packed.desc, sizes)) if is_bounded(self.model, sizes) else None

    def _skeleton(self, key: Row) -> Packed | None:
        """The desc of these values, whose rules are not checked; None where types, ranks or configurations exclude it."""
        values = self.model.values_of(key)
        choice = self._choices.get(tuple(values.get(name, "") for name in self._type_names))
        if choice is None or ("configuration" in self.model.place and "configuration" not in values):
            return None
        attributes = self._attributes(key, values.get("configuration", ""))
        random = Random(f"{self.operator.name}/{key}")  # noqa: S311 (reproducible, no secret)
        desc = self._desc(choice, attributes, values, random)
        return None if desc is None else Packed(key, key, choice, attributes, desc)

    def _attributes(self, key: Row, label: str) -> Combination:
        """The attributes' values and the optional tensors' presence; of those that a configuration does not allow, the next that it does."""
        kept = self._kept.get(label, {})
        chosen = {
            name: kept.get(name, values)[max(key[at], 0) if at != NONE else 0] for name, (at, values) in self._options.items()
        }
        return Combination(chosen, label)

    def _desc(self, choice: TypeChoice, attributes: Combination, values: Mapping[str, str], random: Random) -> OperatorDesc | None:
        counts: dict[str, int] = {}
        rank = choice.usual_count
        for name, group in self.model.rank_factors():
            if self.plan.leading_tensor in group:
                rank = int(values.get(name, rank))
            elif name in values:
                counts |= dict.fromkeys(group, int(values[name]))
        if rank not in choice.dimension_counts:
            return None
        return self.plan.desc(choice.types, (2,) * rank, attributes, drawn_sizes(self.model, values, random), counts=counts)

    # What is bound

    def allowed_values(self, skeleton: Packed, row: Sequence[int], factor: int) -> Sequence[int]:
        """The values of a factor that make a difference for this desc, and fit to those chosen."""
        own = self.model.factors[factor]
        return [at for at, value in enumerate(own.values) if is_allowed(self.model, skeleton.desc, row, own, value)]

    def finish(self, skeleton: Packed, row: Row) -> bool:
        """Whether the case of a row is valid."""
        row = (*skeleton.key, *row[self.structural :])
        return not violations(self.operator, self._bind(skeleton, row, self.model.values_of(row))[0])

    def final_row(self, row: Row) -> Row:
        """The values that the case of a valid row has."""
        skeleton = self.skeleton(row)
        if skeleton is None:
            raise AssertionError(f"{self.operator.name} has no desc for the row {row}")
        return (*skeleton.row[: self.structural], *row[self.structural :])

    def case(self, row: Row, level: str = "full") -> Case:
        """The case of a valid row, as wanted."""
        skeleton = self._skeleton(row[: self.structural])
        if skeleton is None:
            raise AssertionError(f"{self.operator.name} has no desc for the row {row}")
        values = self.model.values_of(row)
        return self._build_case(skeleton, *self._bind(skeleton, row, values), values, level)

    def cost(self, row: Row) -> int:
        """What the case of a valid row costs, as a number of elements."""
        return CASE + sum(tensor.count for _, tensor in self.case(row).desc.tensors())

    def _bind(self, skeleton: Packed, row: Row, values: Mapping[str, str]) -> tuple[OperatorDesc, dict[str, Binding]]:
        random = Random(f"{self.operator.name}/{row}")  # noqa: S311 (reproducible, no secret)
        return bind(self.model, skeleton.desc, values, random)

    def _build_case(
        self, skeleton: Packed, desc: OperatorDesc, bindings: Mapping[str, Binding], values: Mapping[str, str], level: str
    ) -> Case:
        data, basis = data_of(self.operator, desc, values.get("data", USUAL))
        alias = values.get("in place", "")
        permitted = next(
            (entry.basis for entry in self.operator.in_place if entry.output in self.model.aliases.get(alias, {})), DOCUMENTED
        )
        offset = offset_of(values.get("offset", str(OFFSETS[0])), Random(f"{self.operator.name}/{desc}"))  # noqa: S311 (no secret)
        for named in (True, False):
            found = build(
                "combination",
                self._id_parts(desc, values, named),
                desc,
                skeleton.choice,
                level=level,
                data=data,
                basis=permitted if basis == DOCUMENTED else basis,
                in_place=self.model.aliases.get(alias, {}),
                bindings=bindings,
                offset=offset,
                resource=RESOURCES[values.get("resource", "apart")],
                covers=(*self._labels(desc, values), *choice_labels(skeleton.attributes)),
            )
            if not is_cut(found.id):
                break
        return found

    def _id_parts(self, desc: OperatorDesc, values: Mapping[str, str], named: bool) -> list[str]:
        """What an id has of these values: sizes, and whatever is not usual; two-letter codes of all layouts instead of their names if
        it would be too long.
        """
        leading = desc.tensor(self.plan.leading_tensor)
        layouts = {name: values.get(f"layout {name}", "packed") for name in self.plan.tensors if desc.called(name)}
        strided = [f"{short(name)}-{layout}" for name, layout in layouts.items() if layout != "packed"]
        parts = [f"{leading.DimensionCount}d", "x".join(map(str, leading.sizes))]
        if strided:
            parts.append(".".join(strided if named else [LETTERS[layout] for layout in layouts.values()]))
        for factor in self.model.factors[self.structural :]:
            value = values.get(factor.name)
            if factor.kind != "layout" and value not in (None, factor.values[factor.usual]):
                parts.append(f"{factor.name.replace(' ', '-')}-{value}")
        return parts

    def _labels(self, desc: OperatorDesc, values: Mapping[str, str]) -> list[str]:
        """The promises that a case of these values tests (generator/checks/promises)."""
        names = [name for name in self.plan.tensors if desc.called(name)]
        found = [*support_cells(self.plan, desc), f"layout/{desc.tensor(self.plan.leading_tensor).DimensionCount}d"]
        found += [f"layout/{field_of(name)}/{values.get(f'layout {name}', 'packed')}" for name in names]
        found += [f"slack/{field_of(name)}/{values['slack']}" for name in names if values.get("slack", "none") != "none"]
        found += self.model.alias_labels.get(values.get("in place", ""), ())
        return [*found, *(f"owned/{field_of(name)}" for name in owned_inputs(self.model, desc, values.get("owned", "")))]
