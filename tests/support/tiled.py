"""A backend that has kernels: the reference, whose code paths follow from the output's type and size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.spec.model.desc import OperatorDesc

Inputs = Mapping[str, Any]


class Tiled(ReferenceBackend):
    """Right, and says which kernel it runs: small tiles for up to 64 elements, large ones beyond."""

    def compute(self, desc: OperatorDesc, inputs: Inputs) -> dict[str, Any]:
        output = next(tensor for name, tensor in desc.tensors() if name.startswith("Output"))
        tile = 4 if output.count <= 64 else 32
        self.path(f"{desc.type}, {output.data_type}, tile of {tile}", -(-output.count // tile), 1, 1)
        return super().compute(desc, inputs)


class WrongInLargeTiles(Tiled):
    """Has one wrong kernel: the large tiles of FLOAT16 write one element too much of what the first has."""

    def compute(self, desc: OperatorDesc, inputs: Inputs) -> dict[str, Any]:
        found = super().compute(desc, inputs)
        output = found["OutputTensor"]
        if output.dtype == "float16" and output.size > 64:
            output = output.copy()
            output.reshape(-1)[-1] = output.reshape(-1)[0] + 1
        return {**found, "OutputTensor": output}


class Newer(Tiled):
    """Has a kernel more, for halves in large tiles, and a wrong one of another type: nobody asks for results of what has not changed."""

    def compute(self, desc: OperatorDesc, inputs: Inputs) -> dict[str, Any]:
        output = next(tensor for name, tensor in desc.tensors() if name.startswith("Output"))
        if output.data_type == "FLOAT16" and output.count > 64:
            self.path("a new kernel")
        found = super().compute(desc, inputs)
        return {name: array + 1 if array.dtype == "uint32" else array for name, array in found.items()}
