"""ONNX Runtime's CPU provider as a second opinion: each case is an ONNX model of one node, or a few around one (conformance/backends/second_opinions/table).

A session depends on the nodes, their attributes and the types of their inputs. Sizes, ranks and numbers are inputs at run time, so that few
sessions are made: the numbers of a desc are inputs of the model unless ONNX has an attribute for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable, GraphDispatch
from dmlcts.conformance.backends.second_opinions.onnx_graph import run_as_model
from dmlcts.conformance.backends.second_opinions.onnx_session import OPSET, Recorded
from dmlcts.conformance.backends.second_opinions.opinion import OpinionBackend, packages
from dmlcts.conformance.backends.second_opinions.table import DATA_TYPES, read_table


class OnnxRuntimeBackend(OpinionBackend):
    """ONNX Runtime on the CPU."""

    def __init__(self) -> None:
        runtime, onnx = packages("onnxruntime", "onnxruntime", "onnx")
        self.table = read_table("onnxruntime")
        self.info = BackendInfo(
            "onnxruntime",
            runtime.__version__,
            "CPU",
            data_types=DATA_TYPES,
            denormals="any",  # most kernels preserve them; Tanh and Elu flush some
            nearest=True,
            details={"onnx": onnx.__version__, "opset": OPSET, "provider": "CPUExecutionProvider"},
        )

    def library(self, dtype: np.dtype[Any]) -> Recorded:
        """A model yet to be written."""
        return Recorded(dtype)

    def run_graph(self, dispatch: GraphDispatch) -> None:
        """Executes a graph as one model (conformance/backends/second_opinions/onnx_graph). Raises Unsupported where it is not one."""
        run_as_model(self, dispatch)


def open_onnxruntime(argument: str) -> OnnxRuntimeBackend:
    """``onnxruntime``.

    Raises:
        BackendUnavailable: an argument, or a package is missing.
    """
    if argument:
        raise BackendUnavailable(f"onnxruntime:{argument} is unknown; there is `onnxruntime`, its CPU provider")
    return OnnxRuntimeBackend()
