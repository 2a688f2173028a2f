"""The reference as a backend: its answers, rounded to the output's type. On NumPy, or on a GPU with CuPy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.array_backend import ArrayBackend, rejection
from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable, Dispatch, Unsupported
from dmlcts.reference.answer import Answer, host, on_device
from dmlcts.reference.answer_cache import recent
from dmlcts.reference.registry import reference_of
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.rules.rules import Violation

Array = NDArray[Any]


@cache
def _version() -> str:
    """The suite's version. Reading it takes milliseconds, and every mutant is a backend."""
    return metadata.version("directml-conformance")


class ReferenceBackend(ArrayBackend):
    """The reference as an implementation under test: it validates, computes and rounds to nearest."""

    def __init__(self, xp: Any = np, device: str = "NumPy") -> None:
        self.xp = xp
        device = f"{device} {getattr(xp, '__version__', '')}".strip()
        types = tuple(abi().data_types)
        self.info = BackendInfo(
            "reference", _version(), device, data_types=types, denormals="preserve", accumulator=52, nearest=True
        )

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The reference's values in the outputs' types: the caller's own arrays, as the answers may judge this very case."""
        if reference_of(desc.type) is None:
            raise Unsupported(f"{desc.type} has no reference")
        answers = self.answers(desc, {name: on_device(self.xp, array) for name, array in inputs.items()})
        with np.errstate(all="ignore"):
            return {
                name: host(answer.stored_value).astype(numpy_dtype(desc.tensor(name).data_type)) for name, answer in answers.items()
            }

    def answers(self, desc: OperatorDesc, inputs: Mapping[str, Array]) -> Mapping[str, Answer]:
        """What is computed, by output: where answers are contested, the first."""
        return recent(desc, inputs)

    def refuse(self, broken: list[Violation], dispatch: Dispatch) -> None:
        """Rejects, as DirectML does."""
        raise rejection(broken)


def open_reference(argument: str) -> ReferenceBackend:
    """``reference`` or ``reference:cuda``.

    Raises:
        BackendUnavailable: another argument, no CuPy, or no device that it can use.
    """
    if not argument:
        return ReferenceBackend()
    if argument != "cuda":
        raise BackendUnavailable(f"reference:{argument} is unknown; there are `reference` (NumPy) and `reference:cuda` (CuPy)")
    try:
        import cupy
    except ImportError as error:
        raise BackendUnavailable(f"reference:cuda needs CuPy: pip install 'directml-conformance[cuda]' ({error})") from None
    try:
        name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except Exception as error:  # CuPy's own exceptions: no driver, no device
        raise BackendUnavailable(f"reference:cuda found no usable GPU: {error}") from None
    return ReferenceBackend(cupy, f"CuPy on {name}")
