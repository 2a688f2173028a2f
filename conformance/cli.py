"""``dmlcts``: the command line. One module a subcommand, in conformance/commands; each is imported when it is called.

Exit codes: 0 all passed, 1 something failed (or differs, or survives), 2 usage or input error, 3 a backend could not be started,
130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from dmlcts.conformance.backend import BackendUnavailable
from dmlcts.conformance.options import UsageError
from dmlcts.generator.shapes import NotGenerable
from dmlcts.reports.record import RecordError
from dmlcts.reports.waivers import WaiverError
from dmlcts.spec.document import SpecError

COMMANDS = {
    "backends": "what is usable here, and why not",
    "exec": "run a DxDispatch model",
    "generate": "write pytest modules",
    "merge": "put the results of several shards together",
    "mutants": "how many planted faults the suite finds",
    "report": "write the reports of a results file",
    "repro": "write a case out: its model and its arrays",
    "run": "execute cases on a backend and report",
    "show": "print a case, or list cases",
    "spec": "list, show, check, cover and compare the specs",
}
"""Each subcommand and its help in a line; its module is ``commands/NAME.py`` (``execute`` and ``report`` have another name)."""

_MODULES = {"exec": "exec_model"}


class _Lazy(click.Group):
    """A group that imports a subcommand's module only when it is needed, so that ``--help`` is quick."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"dmlcts.conformance.commands.{_MODULES.get(name, name)}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=__doc__.partition("\n\n")[2],
)
@click.version_option(package_name="directml-conformance", prog_name="dmlcts")
def dmlcts() -> None:
    """A conformance suite for implementations of Microsoft's DirectML operators."""


_ERRORS = (
    (BackendUnavailable, 3),
    (UsageError, 2),
    (SpecError, 2),
    (RecordError, 2),
    (WaiverError, 2),
    (NotGenerable, 2),
    (OSError, 2),
)


def main(arguments: list[str] | None = None) -> Any:
    """Runs the command line and exits. What a user can mend is said in a line and never shown as a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")  # Windows' consoles and pipes have other defaults
    try:
        dmlcts.main(args=arguments, prog_name="dmlcts", standalone_mode=False)
    except click.exceptions.Exit as exit_:
        sys.exit(exit_.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    except tuple(kind for kind, _ in _ERRORS) as error:
        click.echo(f"dmlcts: {error}", err=True)
        sys.exit(next(code for kind, code in _ERRORS if isinstance(error, kind)))
