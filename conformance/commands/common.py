"""Shared by several commands. Imports little, so that a command loads only what it needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dmlcts.spec.model import Operator

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
