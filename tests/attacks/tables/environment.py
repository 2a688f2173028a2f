"""Environment variables, the folder that a command starts in, and limits of resources: a wrong backend is never green by them, and where nothing is lacking the result is the same.

``HARMLESS`` must change nothing. With ``LACKING`` a command may end with an error in a line, but not in a traceback.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator

from attack import Attack, Run
from expect import WRONG, costs_only, exits, never_green, prints, prints_no
from suspects import run_of, suspect

HARMLESS: dict[str, dict[str, str | None]] = {
    "a hash seed of 0": {"PYTHONHASHSEED": "0"},
    "a hash seed of 4294967295": {"PYTHONHASHSEED": "4294967295"},
    "no asserts": {"PYTHONOPTIMIZE": "1"},
    "neither asserts nor docstrings": {"PYTHONOPTIMIZE": "2"},
    "warnings as errors": {"PYTHONWARNINGS": "error"},
    "every warning": {"PYTHONWARNINGS": "always"},
    "development mode": {"PYTHONDEVMODE": "1"},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
    "no writing of bytecode": {"PYTHONDONTWRITEBYTECODE": "1"},
    "bytecode elsewhere": {"PYTHONPYCACHEPREFIX": "/nonexistent/x"},
    "UTF-8 mode off": {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
    "ASCII streams": {"PYTHONIOENCODING": "ascii"},
    "UTF-16 streams": {"PYTHONIOENCODING": "utf-16"},
    "streams of an unknown error handler": {"PYTHONIOENCODING": "utf-8:strict"},
    "language C": {"LANG": "C", "LC_ALL": "C"},
    "language POSIX": {"LANG": "POSIX", "LC_ALL": None},
    "Turkish": {"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
    "an unknown language": {"LANG": "xx_YY", "LC_ALL": "xx_YY.nonsense"},
    "one column": {"COLUMNS": "1"},
    "no columns": {"COLUMNS": "0", "LINES": "0"},
    "columns that are no number": {"COLUMNS": "wide", "LINES": "-1"},
    "a million columns": {"COLUMNS": "1000000"},
    "no colours": {"NO_COLOR": "1"},
    "colours": {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"},
    "a dumb terminal": {"TERM": "dumb"},
    "an unknown terminal": {"TERM": "nonsense"},
    "no terminal": {"TERM": None},
    "a notebook's variable": {"JPY_PARENT_PID": "1"},
    "CI": {"CI": "true", "GITHUB_ACTIONS": "true", "TF_BUILD": "True"},
    "no HOME": {"HOME": None},
    "a HOME that is not there": {"HOME": "/nonexistent/home"},
    "a HOME that is a file": {"HOME": "/etc/passwd"},
    "no USER": {"USER": None, "LOGNAME": None},
    "no PATH": {"PATH": None},
    "an empty PATH": {"PATH": ""},
    "a temporary folder that is not there": {"TMPDIR": "/nonexistent/tmp", "TEMP": "/nonexistent", "TMP": "/nonexistent"},
    "a temporary folder that is a file": {"TMPDIR": "/etc/passwd"},
    "a cache folder that is not there": {"XDG_CACHE_HOME": "/nonexistent/cache"},
    "a cache folder that is a file": {"XDG_CACHE_HOME": "/etc/passwd"},
    "no threads": {"OMP_NUM_THREADS": "0", "OPENBLAS_NUM_THREADS": "0"},
    "threads that are no number": {"OMP_NUM_THREADS": "many", "OPENBLAS_NUM_THREADS": "-3"},
    "a thousand threads": {"OPENBLAS_NUM_THREADS": "1000", "OMP_NUM_THREADS": "1000"},
    "an old processor": {"NPY_DISABLE_CPU_FEATURES": "AVX2 AVX512F"},
    "a zone far east": {"TZ": "Pacific/Kiritimati"},
    "a zone far west": {"TZ": "Etc/GMT+12"},
    "a zone that is none": {"TZ": "Nowhere/At_All"},
    "a time of the source": {"SOURCE_DATE_EPOCH": "0"},
    "a memory allocator for debugging": {"PYTHONMALLOC": "debug"},
    "perturbed memory": {"MALLOC_PERTURB_": "165", "MALLOC_CHECK_": "3"},
    "pytest's options": {"PYTEST_ADDOPTS": "--collect-only -p nonsense", "PYTEST_PLUGINS": "nonsense", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    "Hypothesis' folder": {"HYPOTHESIS_STORAGE_DIRECTORY": "/nonexistent"},
    "a profile of imports": {"PYTHONPROFILEIMPORTTIME": "0", "PYTHONTRACEMALLOC": "1"},
    "a startup file": {"PYTHONSTARTUP": "exiting.py"},
    "an interactive end": {"PYTHONINSPECT": ""},
    "safe paths": {"PYTHONSAFEPATH": "1"},
    "click's completion": {"_DMLCTS_COMPLETE": ""},
    "variables of the command line": {"DMLCTS_RUN_LEVEL": "smoke", "DMLCTS_BACKEND": "reference", "DMLCTS_WAIVERS": "*", "DMLCTS_FUZZ": "1"},
    "jinja's and yaml's": {"JINJA2_DEBUG": "1"},
    "rich's": {"RICH_TRACEBACK": "1", "TTY_COMPATIBLE": "1", "TTY_INTERACTIVE": "1"},
    "an array API": {"SCIPY_ARRAY_API": "1"},
}  # fmt: skip

LACKING: dict[str, dict[str, str | None]] = {
    "a folder of cases": {"DMLCTS_CASES": "cases"},
    "a Python home that is none": {"PYTHONHOME": "/nonexistent"},
    "completion": {"_DMLCTS_COMPLETE": "bash_source"},
    "a hash seed that is none": {"PYTHONHASHSEED": "many"},
    "streams of no encoding": {"PYTHONIOENCODING": "nonsense"},
    "a wrong int limit": {"PYTHONINTMAXSTRDIGITS": "3"},
    "a debugger at exceptions": {"PYTHONBREAKPOINT": "os._exit"},
    "a module for sys.path": {"PYTHONPATH": "/nonexistent:\x01"},
}  # fmt: skip

SHADOWS = (
    "numpy",
    "json",
    "yaml",
    "jinja2",
    "rich",
    "pytest",
    "hypothesis",
    "psutil",
    "ml_dtypes",
    "jsonschema_rs",
    "array_api_compat",
    "sitecustomize",
    "usercustomize",
    "dmlcts",
    "logging",
    "queue",
)
"""Modules that a folder on PYTHONPATH replaces by one that exits with 0."""


def at_most(what: int, soft: int) -> Callable[[], None]:
    """Sets a limit in the new process."""
    return lambda: resource.setrlimit(what, (soft, soft))


LIMITS: dict[str, tuple[int, int]] = {
    "8 MB of memory": (resource.RLIMIT_AS, 8 << 20),
    "64 MB of memory": (resource.RLIMIT_AS, 64 << 20),
    "200 MB of memory": (resource.RLIMIT_AS, 200 << 20),
    "400 MB of memory": (resource.RLIMIT_AS, 400 << 20),
    "4 open files": (resource.RLIMIT_NOFILE, 4),
    "8 open files": (resource.RLIMIT_NOFILE, 8),
    "16 open files": (resource.RLIMIT_NOFILE, 16),
    "files of 0 bytes": (resource.RLIMIT_FSIZE, 0),
    "files of 1 KB": (resource.RLIMIT_FSIZE, 1 << 10),
    "files of 8 KB": (resource.RLIMIT_FSIZE, 8 << 10),
    "files of 40 KB": (resource.RLIMIT_FSIZE, 40 << 10),
    "files of 300 KB": (resource.RLIMIT_FSIZE, 300 << 10),
    "a second of the processor": (resource.RLIMIT_CPU, 1),
    "a stack of 64 KB": (resource.RLIMIT_STACK, 64 << 10),
    "no locked memory": (resource.RLIMIT_MEMLOCK, 0),
}  # fmt: skip


def attacks() -> Iterator[Attack]:
    wrong = {"mine.py": suspect(True), "exiting.py": "raise SystemExit(0)\n"}
    for name, changes in HARMLESS.items():
        must = (never_green, costs_only(WRONG), exits(1))
        yield Attack(
            f"wrong with {name}", (Run(run_of("python"), must, changes),), wrong, quick=name == "neither asserts nor docstrings"
        )
    for name in ("neither asserts nor docstrings", "warnings as errors", "language C", "no HOME", "a hash seed of 0"):
        yield Attack(
            f"wrong in process with {name}",
            (Run(run_of("inprocess", "-n", "2"), (never_green, costs_only(WRONG)), HARMLESS[name]),),
            wrong,
        )
    for name, changes in LACKING.items():
        must = (never_green,)
        yield Attack(f"wrong with {name}", (Run(run_of("python"), must, changes),), {**wrong, "cases/x": ""})
    for name in SHADOWS:
        files = {**wrong, f"lib/{name}.py": "import os; os._exit(0) if False else None\nraise SystemExit(0)\n"}
        yield Attack(f"{name} on PYTHONPATH exits with 0", (Run(run_of("python"), (never_green,), {"PYTHONPATH": "lib"}),), files)
    for name, (what, most) in LIMITS.items():
        for kind in ("python", "inprocess"):
            yield Attack(f"wrong with {name}, {kind}", (Run(run_of(kind), (never_green,), at_start=at_most(what, most)),), wrong)
    yield Attack(
        "without asserts, results and exit codes are the same",
        (Run(run_of("python"), (prints("of "), prints_no("AssertionError")), {"PYTHONOPTIMIZE": "2"}),),
        wrong,
    )
    yield Attack(
        "a variable that must change something and changes nothing",
        (Run(run_of("python"), (exits(0),), {"PYTHONOPTIMIZE": "2"}),),
        wrong,
        self_check=True,
    )


ATTACKS = tuple(attacks()) if os.name == "posix" else ()
