"""PyTorch on the CPU as a second opinion: each case is a call or two of its functions, without gradients (conformance/backends/second_opinions/table)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable, Unsupported
from dmlcts.conformance.backends.second_opinions.opinion import OpinionBackend, exact, packages
from dmlcts.conformance.backends.second_opinions.table import DATA_TYPES, read_table

Array = NDArray[Any]

PLACES = {"F": "nn.functional", "aten": "ops.aten", "linalg": "linalg", "Tensor": "Tensor"}
"""Where a function is, by what stands before the dot in the table; without a dot it is in ``torch`` itself."""


def function(torch: Any, name: str) -> Any:
    """The function that the table calls ``name``. Raises AttributeError if this PyTorch has none."""
    place, _, rest = name.rpartition(".")
    return reduce(getattr, [*(PLACES[place].split(".") if place else ()), rest], torch)


class Eager:
    """A Library that computes immediately."""

    def __init__(self, torch: Any, dtype: np.dtype[Any]) -> None:
        self.torch, self.dtype = torch, dtype

    def tensor(self, name: str, array: Array) -> Any:
        """A tensor that shares the array's memory."""
        return self.torch.from_numpy(array)

    def constant(self, number: float) -> float:
        """A number of Python's: PyTorch rounds a float to where it computes, and must get no float beside a tensor of integers."""
        return number if self.dtype.kind == "f" else int(exact(number, self.dtype))

    def numbers(self, numbers: Sequence[float]) -> Any:
        """The integers as they are, for sizes and axes; else a tensor of one dimension."""
        if all(isinstance(number, int) for number in numbers):
            return numbers
        return self.torch.from_numpy(np.array([exact(number, self.dtype) for number in numbers]))

    def call(self, name: str, arguments: list[Any], keywords: dict[str, Any], result: tuple[int, int] | None) -> Any:
        """The call's tensor, or one of its tensors."""
        named = {
            keyword: getattr(self.torch, value.lower()) if value in DATA_TYPES else value for keyword, value in keywords.items()
        }
        try:
            found = function(self.torch, name)(*arguments, **named)
        except NotImplementedError as error:  # "add_stub" not implemented for 'UInt32'
            raise Unsupported(f"torch has no such {name}: {str(error).splitlines()[0]}") from None
        return found if result is None else found[result[0]]

    def array(self, value: Any) -> Array:
        """The tensor as an array."""
        found: Array = value.numpy()
        return found


class TorchBackend(OpinionBackend):
    """PyTorch on the CPU."""

    def __init__(self) -> None:
        (self.torch,) = packages("torch", "torch")
        self.torch.set_num_threads(1)  # the cases are small, and `dmlcts run -n` has the processors
        self.table = read_table("torch")
        self.info = BackendInfo(
            "torch",
            self.torch.__version__,
            "CPU",
            data_types=DATA_TYPES,
            denormals="any",  # most kernels preserve them; sigmoid flushes some
            nearest=True,
            details={"capability": self.torch.backends.cpu.get_cpu_capability()},
        )

    def library(self, dtype: np.dtype[Any]) -> Eager:
        """PyTorch as it is."""
        return Eager(self.torch, dtype)


def open_torch(argument: str) -> TorchBackend:
    """``torch``.

    Raises:
        BackendUnavailable: an argument, or the package is missing.
    """
    if argument:
        raise BackendUnavailable(f"torch:{argument} is unknown; there is `torch`, on the CPU")
    return TorchBackend()
