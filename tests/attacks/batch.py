"""Runs several command lines of ``dmlcts`` in one process, one after another: ``python batch.py``, with a JSON list of argument lists on standard input.

Prints a JSON list: exit code, standard output, standard error and seconds of each. An attack with many commands that read files is so tried in a second.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from traceback import format_exc
from typing import Any

from dmlcts.conformance.commands.cli import main


def one(arguments: list[str]) -> tuple[Any, str, str, float]:
    """The outcome of a command line; an exception is printed as Python would, with exit code 1."""
    began, code = time.monotonic(), 0
    saved = [os.dup(number) for number in (1, 2)]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        for number, stream in ((1, output), (2, errors)):
            os.dup2(stream.fileno(), number)
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:
            sys.stderr.write(format_exc())
            code = 1
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            for number, copy in zip((1, 2), saved, strict=True):
                os.dup2(copy, number)
                os.close(copy)
        texts = []
        for stream in (output, errors):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
    return code, texts[0], texts[1], time.monotonic() - began


if __name__ == "__main__":
    print(json.dumps([one(arguments) for arguments in json.load(sys.stdin)]))
