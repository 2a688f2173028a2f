"""The bytecode of kernels beside the smallest case that runs each: a reproduction of one shader, for who compiles or debugs it.

The host for DirectML.dll writes the bytecode of all pipelines that it creates (``--dump-kernels``). A kernel that the DLL took from a cache of its own while the
host was running has been created before, in the same run: the folder has it.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.dxdispatch.case_folder import write_case
from dmlcts.conformance.execution.execute import execute
from dmlcts.conformance.execution.traced import Traced
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.generator.case.case import REFERENCE, VALUES, Case
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.kernels.table import Kernel
from dmlcts.spec.writing.files import writing_to

OPTION = "--dump-kernels"
"""The option of the host for DirectML.dll."""

_MOST_CASES = 400
"""Of so many cases of a kernel, spread evenly, the smallest is taken."""


def smallest_case(kernel: Kernel) -> Case | None:
    """The smallest case that runs a kernel and that a model can express; None if this version of the suite has none."""
    ids = kernel.cases[:: -(-len(kernel.cases) // _MOST_CASES)]
    cases = [case for case in map(_find_case, ids) if case is not None and case.expect in (REFERENCE, VALUES)]
    return min(cases, key=_size, default=None)


def _find_case(case_id: str) -> Case | None:
    try:
        return find_case(case_id)
    except KeyError:
        return None


def _size(case: Case) -> tuple[int, int, str]:
    tensors = [tensor for _, tensor in case.desc.tensors()]
    return sum(tensor.count for tensor in tensors), sum(tensor.strides is not None for tensor in tensors), case.id


def with_dump(spec: str, folder: Path) -> str:
    """The backend whose host writes bytecode to a folder. Raises UsageError for a backend that is not DirectML.dll."""
    kind, colon, argument = spec.partition(":")
    if kind != "directml":
        raise UsageError(f"--dump needs the host for DirectML.dll, and this is {spec}: give --backend directml or directml:PATH")
    return f"{kind}:{f'{argument} ' if colon and argument else ''}{OPTION} {shlex.quote(str(folder))}"


def dump_kernels(kernels: Sequence[Kernel], out: Path, spec: str) -> Iterator[str]:
    """Runs the smallest case of each kernel, and writes to a folder in ``out``, called as the kernel, its bytecode and the case. Yields a line for each.

    Raises:
        UsageError: the backend has no bytecode. BackendUnavailable: it cannot be started. WriteError: the folder cannot be written.
    """
    with TemporaryDirectory() as temporary, writing_to(out):
        backend = Traced(open_backend(with_dump(spec, Path(temporary))))
        try:
            info = backend.describe()
            for kernel in kernels:
                case = smallest_case(kernel)
                if case is None:
                    yield f"{kernel.label}: no case that a model can express runs it (laws draw their data)"
                    continue
                backend.begin()
                result = execute(case, backend, info)
                runs = kernel.label in {path.label for path in backend.first()}
                folder = out / re.sub(r"[^A-Za-z0-9_.-]+", "-", kernel.label).strip("-")
                write_case(case, folder)
                files = _take(kernel, Path(temporary), folder)
                what = ", ".join(files) or "no bytecode"
                remark = "" if runs else "; the backend runs other kernels now"
                yield f"{kernel.label}: {what} and {case.id} ({result.status}{remark}) in {folder}"
        finally:
            backend.close()


def _take(kernel: Kernel, temporary: Path, folder: Path) -> list[str]:
    """Copies the files that are named as a kernel's digest. Returns their names."""
    words = set(re.split(r"[^0-9a-f]+", kernel.label.lower()))
    files = [file for file in sorted(temporary.glob("*.bin")) if file.stem.lower() in words]
    for file in files:
        shutil.copyfile(file, folder / file.name)
    return [file.name for file in files]
