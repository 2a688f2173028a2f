"""What a spec says about the data of its cases: recipes and special values of each tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.source import DOCUMENTED


@dataclass(frozen=True, slots=True)
class RandomData:
    """A recipe of generator/values/recipes and its parameters; ``basis`` says whether the documentation defines the result for such data.

    Data that are not ``combined`` are in cases of their own alone: of an operator with many tensors, each further factor of the covering array
    takes minutes to compute.
    """

    recipe: str
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)
    basis: str = DOCUMENTED
    combined: bool = field(default=True, metadata={"later": True})


@dataclass(frozen=True, slots=True)
class Values:
    """The content of an input tensor: a recipe for random data, and named sets of special values by basis.

    An output that the operator reads before it writes it has values too; they apply if ``when`` is true of the desc.

    A set is one of generator/values/special_sets, or the operator's own. From ``sets``, each data type uses the values that it can represent. ``parts``
    are those values ``x`` of a set of generator/values/special_sets for which a condition is true (an array expression: join by ``&`` and ``|``).
    ``where`` is what the documentation requires of every element ``x``; the result for other data is undefined. ``data`` are further
    random data by name, with separate cases.
    """

    recipe: str
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)
    special: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    where: Expression | None = None
    sets: Mapping[str, tuple[float | int | str, ...]] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, Expression]] = field(default_factory=dict)
    data: Mapping[str, RandomData] = field(default_factory=dict)
    when: Expression | None = None
