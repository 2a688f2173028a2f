"""What the subcommands of ``dmlcts faults`` share: which operators, which cases, progress, costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import click
from rich.console import Console
from rich.progress import track

from dmlcts.conformance.commands.common import Mapper, names_given
from dmlcts.conformance.faults.catalogue import TableError, check_review, mutants_of, mutated_operators
from dmlcts.conformance.faults.hunt.hunt import Cost, ReferenceFails
from dmlcts.conformance.faults.model.mutant import Mutant
from dmlcts.conformance.faults.reviewed import ReviewError
from dmlcts.conformance.runner.planning.options import UsageError, shard_of
from dmlcts.generator.case.case import LEVELS
from dmlcts.generator.case.id_filter import matcher
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED

SEED = 10
"""The seed of what is drawn, unless another is given."""

operators_argument = click.argument("operators", nargs=-1)
expression_option = click.option(
    "-k", "expression", default="", metavar="EXPR", help="only faults whose name has these: 'strides and not output'"
)
level_option = click.option("--level", "-l", type=click.Choice(LEVELS), default="full", show_default=True, help="which cases")
basis_option = click.option(
    "--basis",
    type=click.Choice([DOCUMENTED, MEASURED]),
    default=MEASURED,
    show_default=True,
    help="which cases; for documented ones, what measured ones alone find is not planted",
)
shard_option = click.option(
    "--shard", default="1/1", metavar="I/N", help="only every N-th operator, from the I-th on, for several machines"
)


def operators_of(given: Sequence[str], shard: str = "1/1") -> list[str]:
    """The names of the operators given, of all with a reference if none are; those of a shard. Raises UsageError."""
    part, parts = shard_of(shard)
    known = mutated_operators()
    names = names_given(given)
    for name in names:
        if name not in known:
            raise UsageError(f"{name} has no reference, so no fault can be planted in it")
    found = [name for name in known if name in (names or known)][part - 1 :: parts]
    if not found:
        raise UsageError(f"--shard {shard}: there are fewer operators than parts")
    return found


def matching_labels(expression: str) -> Callable[[str], bool]:
    """The filter of ``-k``. Raises UsageError where it is no expression."""
    try:
        return matcher(expression)
    except ValueError as error:
        raise UsageError(str(error)) from None


def check_reviewed() -> None:
    """Checks that the reviewed faults are still planted, and that tables name operators. Raises UsageError."""
    try:
        check_review()
    except (ReviewError, TableError) as error:
        raise UsageError(str(error)) from None


def planted_in(operator: str) -> list[Mutant]:
    """Every mutant of an operator. Raises UsageError where a table of faults names an operator that there is not."""
    try:
        return list(mutants_of(operator).values())
    except TableError as error:
        raise UsageError(str(error)) from None


def add_costs(costs: dict[str, Cost], more: Mapping[str, Cost]) -> None:
    """Adds costs by kind of case to others."""
    for kind, cost in more.items():
        known = costs.get(kind, Cost())
        costs[kind] = Cost(*(one + other for one, other in zip(astuple(known), astuple(cost), strict=True)))


def track_work(mapped: Mapper, function: Callable[[Any], Any], work: Sequence[Any]) -> Iterator[Any]:
    """The results, with progress on a terminal. Raises UsageError where the reference itself does not pass."""
    console = Console(stderr=True)
    try:
        yield from track(
            mapped(function, work), "operators", len(work), console=console, transient=True, disable=not console.is_terminal
        )
    except ReferenceFails as error:
        raise UsageError(f"{error}; as long as it does not, mutants prove nothing") from None
