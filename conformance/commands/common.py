"""Shared by several commands. Imports little, so that a command loads only what it needs."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dmlcts.spec.model import Operator


class Seconds(click.FloatRange):
    """A time limit in seconds: a number that is neither NaN nor infinite."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(0.1, 1_000_000)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """The limit. Fails for anything that is none; NaN would pass any comparison with a bound."""
        seconds = super().convert(value, parameter, context)
        if not isfinite(seconds):
            self.fail(f"{value!r} is not a number of seconds.", parameter, context)
        return seconds


json_option = click.option("--json", "as_json", is_flag=True, help="print JSON")


def print_json(data: Any) -> None:
    """Prints data as JSON."""
    click.echo(json.dumps(data, indent=1, ensure_ascii=False))


def operator_named(name: str) -> Operator:
    """The operator with a name given by a user, in any letter case. Raises UsageError."""
    from dmlcts.conformance.runner.options import UsageError
    from dmlcts.spec.loader import load

    try:
        return load(name.upper())
    except KeyError as error:
        raise UsageError(error.args[0]) from None
