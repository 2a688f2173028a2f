"""``--help`` reads like a manual page: what a command does, its options, its exit codes, and examples that work."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest

from dmlcts.conformance.commands import cli
from dmlcts.conformance.commands.examples import EPILOGS


def leaves(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its words."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, f"{path} {name}".strip())


LEAVES = dict(leaves(cli.dmlcts))


@pytest.mark.parametrize("path", LEAVES)
def test_help_has_text_exit_codes_and_examples(path: str) -> None:
    command = LEAVES[path]
    text = command.get_help(click.Context(command, info_name=f"dmlcts {path}", max_content_width=110))
    assert (command.help or "").strip()
    assert "Exit code" in text
    assert "\n  Examples:\n    dmlcts " in text
    assert all(option.help for option in command.params if isinstance(option, click.Option))


@pytest.mark.parametrize("line", [line for epilog in EPILOGS.values() for line in epilog.examples])
def test_an_example_can_be_parsed(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Path, "convert", lambda self, value, *_: value)
    words = shlex.split(line)[1:]
    path = max((path for path in LEAVES if words[: len(path.split())] == path.split()), key=len)
    assert line in EPILOGS[path].examples
    LEAVES[path].make_context(path, words[len(path.split()) :])


def test_every_epilog_is_of_a_command() -> None:
    assert EPILOGS.keys() == LEAVES.keys()
