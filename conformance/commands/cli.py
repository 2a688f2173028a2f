"""``dmlcts``: the command line. One module a subcommand; each is imported when it is called."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any

import click

from dmlcts.conformance.commands.examples import add_epilogs
from dmlcts.conformance.runner.screen.terminal import open_streams, set_encoding, silence

COMMANDS = {
    "ask": ("backends.ask", "run an operator once on given inputs and attributes"),
    "backends": ("backends.backends", "list usable backends, and what the others lack"),
    "bounds": ("results.bounds", "compare the specs' tolerances with the errors of runs"),
    "capture": ("clients.capture", "capture what a program dispatches, on Windows"),
    "census": ("clients.census", "count what clients dispatch"),
    "client": ("clients.client", "run a client such as ONNX Runtime, and capture it"),
    "exec": ("cases.exec_model", "run a DxDispatch model"),
    "exhaustive": ("backends.exhaustive", "try every value of a data type as an operator's input"),
    "explain": ("results.explain", "say what separates the cases that fail from those that pass"),
    "faults": ("faults.faults", "count the planted faults that the suite finds"),
    "fuzz": ("cases.fuzz", "search for failing cases without end"),
    "gate": ("results.gate", "compare a run with an older one, for CI"),
    "generate": ("cases.generate", "write pytest modules"),
    "judge": ("cases.judge", "judge given outputs of a model"),
    "kernels": ("results.kernels", "list which kernels of a backend the cases of a run reach"),
    "merge": ("results.merge", "merge the results of several shards"),
    "probe": ("backends.probe", "compare what a backend accepts with the documentation"),
    "releases": ("backends.releases", "run on Microsoft's releases of DirectML.dll, side by side"),
    "replay": ("clients.replay", "run the dispatches of a capture again, and judge each"),
    "report": ("results.report", "write the reports of a run, or set several side by side"),
    "repro": ("cases.repro", "write a case as a model, with its arrays"),
    "run": ("cases.run", "run cases on a backend and write reports"),
    "setup": ("backends.setup", "prepare DirectML.dll and its host"),
    "show": ("cases.show", "print a case, what is tested of an operator, or list cases"),
    "spec": ("specs.spec", "begin, list, show and check specs, their coverage, and pages"),
    "submit": ("results.submit", "put a run into a file that somebody else can check"),
    "verify": ("results.verify", "check a run that somebody submitted"),
}
"""Each subcommand: its module below ``commands``, and one line of help."""

_COMPLETION = "_DMLCTS_COMPLETE"
"""The variable of the environment by which a shell asks how a line goes on."""

_EXIT_CODES = """Exit codes: 0 all passed, 1 something failed (or differs, or survives, or nothing passed), 2 usage or input error,
3 a backend could not be started, 4 nothing failed, but something that the backend claims is unsupported, 130 stopped by Ctrl-C,
128 + N stopped by signal N."""


class _Lazy(click.Group):
    """A group that imports a subcommand's module only when it is needed, so that ``--help`` is quick."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"dmlcts.conformance.commands.{COMMANDS[name][0]}").command
        add_epilogs(command, name)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=_EXIT_CODES,
)
@click.version_option(package_name="directml-conformance", prog_name="dmlcts")
def dmlcts() -> None:
    """A conformance suite for implementations of Microsoft's DirectML operators."""


def main(arguments: list[str] | None = None) -> Any:
    """Runs the command line and exits. Errors that a user can fix are printed as one line, never as a traceback."""
    open_streams()
    set_encoding()
    try:
        _check_text(sys.argv[1:] if arguments is None else arguments)
        code = dmlcts.main(args=arguments, prog_name="dmlcts", complete_var=_COMPLETION, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        silence()
        sys.exit(1)  # as click does, and similar to programs that SIGPIPE ends
    except SystemExit as error:
        place = Path(extract_tb(error.__traceback__)[-1].filename)
        if (error.code or _COMPLETION in os.environ) and Path(click.__file__).parent in place.parents:
            raise  # a pipe that nobody reads; or a shell asked how a line goes on
        # No command ends so: a module in place of a library's did, and nothing may have run.
        click.echo(f"dmlcts: ended by {place}, which raised SystemExit", err=True)
        sys.exit(2)
    except Exception as error:
        known = exit_code_of(error)
        if known is None:
            raise
        from dmlcts.spec.untrusted import sanitize

        click.echo(f"dmlcts: {sanitize.block(_message(error))}", err=True)  # it may show a piece of a foreign file
        sys.exit(known)
    sys.exit(code if isinstance(code, int) else 0)  # click returns the code of an Exit


def _message(error: Exception) -> str:
    """An error in words. Where no space is left, each file that is written is named (spec/writing/files): one without a name is standard output."""
    from dmlcts.spec.writing.files import FULL, WriteError

    if not isinstance(error, OSError) or isinstance(error, WriteError) or error.filename or error.errno not in FULL:
        return str(error)
    silence()  # what is left to print fails again
    return f"standard output cannot be written: {error.strerror}; free some space, or print to another place"


def _check_text(arguments: list[str]) -> None:
    """Raises click.UsageError for an argument with a NUL or a lone surrogate, which no name of a file or a case has.

    The surrogates from U+DC80 to U+DCFF stand for bytes of a file's name that are not in the system's encoding.
    """
    for argument in arguments:
        if re.search("[\0\ud800-\udc7f\udd00-\udfff]", argument):
            raise click.UsageError(f"{argument[:200]!a} holds a character that no name can have; give it in UTF-8")


def exit_code_of(error: Exception) -> int | None:
    """The exit code for an exception, None if it is a defect of the suite. The classes are imported here, so that ``--help`` is quick."""
    from dmlcts.conformance.backends.backend import BackendUnavailable
    from dmlcts.conformance.dxdispatch.model_json import ModelError
    from dmlcts.conformance.runner.planning.options import UsageError
    from dmlcts.generator.plan.attributes import NotGenerable
    from dmlcts.reports.claim.submission import SubmissionError
    from dmlcts.reports.gate.waivers import WaiverError
    from dmlcts.reports.record.record import RecordError
    from dmlcts.reports.runs.history import HistoryError
    from dmlcts.spec.reading.document import SpecError

    if isinstance(error, BackendUnavailable):
        return 3
    known = (UsageError, ModelError, SpecError, RecordError, WaiverError, HistoryError, SubmissionError, NotGenerable, OSError)
    return 2 if isinstance(error, known) else None
