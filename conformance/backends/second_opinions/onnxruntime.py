"""ONNX Runtime's CPU provider as a second opinion: each case is an ONNX model of one node, or a few around one (conformance/backends/second_opinions/table).

A session depends on the nodes, their attributes and the types of their inputs. Sizes, ranks and numbers are inputs at run time, so that few
sessions are made: the numbers of a desc are inputs of the model unless ONNX has an attribute for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable, Unsupported
from dmlcts.conformance.backends.second_opinions.opinion import OpinionBackend, exact, packages
from dmlcts.conformance.backends.second_opinions.table import DATA_TYPES, read_table
from dmlcts.spec.model.dtypes import numpy_dtype

Array = NDArray[Any]
Node = tuple[str, tuple[str, ...], tuple[tuple[str, Any], ...], int]
"""Operator, names of its inputs ("" for none), attributes, how many results. Node i gives the values ``node<i>.0``, ``node<i>.1``..."""

OPSET = 21
"""The newest operator set that every ONNX Runtime of the extra has; it is also the first with quantization by blocks."""

IR_VERSION = 10
"""The file format of that time: the onnx package may write one that the runtime does not read yet."""

DOMAINS = {"microsoft": "com.microsoft"}
"""Domains by what stands before the dot in the table."""


class Graph:
    """A Library that records nodes, and runs them when an array is requested."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.nodes: list[Node] = []
        self.feed: dict[str, Array] = {}

    def tensor(self, name: str, array: Array) -> str:
        """An input of the model."""
        self.feed[name] = array
        return name

    def constant(self, number: float) -> str:
        """An input too, a scalar of the tensors' type."""
        return self.tensor(f"number{len(self.feed)}", exact(number, self.dtype))

    def numbers(self, numbers: Sequence[float]) -> str:
        """An input of one dimension: INT64 if all are integers, which is what sizes and axes are in ONNX, else of the tensors' type."""
        whole = all(isinstance(number, int) for number in numbers)
        array = np.array(numbers, np.int64) if whole else np.array([exact(number, self.dtype) for number in numbers])
        return self.tensor(f"numbers{len(self.feed)}", array)

    def call(self, function: str, arguments: list[Any], keywords: dict[str, Any], result: tuple[int, int] | None) -> str:
        """One more node."""
        inputs = [name for argument in arguments for name in (argument if isinstance(argument, list) else [argument or ""])]
        plain = {name: value if isinstance(value, int | float | str) else tuple(value) for name, value in keywords.items()}
        which, count = result or (0, 1)
        self.nodes.append((function, tuple(inputs), tuple(plain.items()), count))
        return f"node{len(self.nodes) - 1}.{which}"

    def array(self, value: str) -> Array:
        """The result of a session."""
        nodes, types = tuple(self.nodes), tuple((name, array.dtype) for name, array in self.feed.items())
        found: Array = session(nodes, types, value).run([value], self.feed)[0]
        return found


@lru_cache(maxsize=1024)
def session(nodes: tuple[Node, ...], types: tuple[tuple[str, np.dtype[Any]], ...], value: str) -> Any:
    """An inference session for nodes, the types of their inputs, of any rank, and the value that is asked for.

    Raises:
        Unsupported: ONNX has no such types for a node, or ONNX Runtime no kernel.
    """
    onnx, runtime = import_module("onnx"), import_module("onnxruntime")
    helper, numbers = onnx.helper, onnx.helper.np_dtype_to_tensor_dtype
    made = []
    for index, (function, inputs, attributes, count) in enumerate(nodes):
        domain, _, operator = function.rpartition(".")
        given = {name: _typed_value(onnx, domain, operator, name, value) for name, value in attributes}
        results = [f"node{index}.{which}" for which in range(count)]
        made.append(helper.make_node(operator, inputs, results, domain=DOMAINS.get(domain, ""), **given))
    graph = helper.make_graph(
        made,
        "case",
        [helper.make_tensor_value_info(name, numbers(dtype), None) for name, dtype in types],
        [helper.make_empty_tensor_value_info(value)],
    )
    opsets = [helper.make_opsetid("", OPSET), *(helper.make_opsetid(domain, 1) for domain in DOMAINS.values())]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # the cases are small, and `dmlcts run -n` has the processors
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL  # what the table says, and nothing fused
    options.log_severity_level = 4
    state = runtime.capi.onnxruntime_pybind11_state
    try:
        return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except (state.NotImplemented, state.InvalidGraph, state.Fail) as error:
        what = f"{nodes[-1][0]} of {', '.join(str(dtype) for _, dtype in types)}"
        raise Unsupported(f"onnxruntime has no {what}: {str(error).splitlines()[0]}") from None


def _typed_value(onnx: Any, domain: str, operator: str, name: str, value: Any) -> Any:
    """An attribute's value; a desc may have 1 where ONNX requires 1.0, and a data type is a number there."""
    if value in DATA_TYPES:
        return onnx.helper.np_dtype_to_tensor_dtype(numpy_dtype(value))
    if domain:
        return value  # the onnx package knows its own operators
    kinds = onnx.defs.OpSchema.AttrType
    kind = onnx.defs.get_schema(operator, max_inclusive_version=OPSET).attributes[name].type
    return float(value) if kind == kinds.FLOAT else value


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

    def library(self, dtype: np.dtype[Any]) -> Graph:
        """A model yet to be written."""
        return Graph(dtype)


def open_onnxruntime(argument: str) -> OnnxRuntimeBackend:
    """``onnxruntime``.

    Raises:
        BackendUnavailable: an argument, or a package is missing.
    """
    if argument:
        raise BackendUnavailable(f"onnxruntime:{argument} is unknown; there is `onnxruntime`, its CPU provider")
    return OnnxRuntimeBackend()
