"""Models of ONNX as they are recorded a call at a time, and their sessions in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Unsupported
from dmlcts.conformance.backends.second_opinions.opinion import exact
from dmlcts.conformance.backends.second_opinions.table import DATA_TYPES
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


class Recorded:
    """A Library that records nodes, and runs them when an array is requested. ``types`` are those of results that are known to have one."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.nodes: list[Node] = []
        self.feed: dict[str, Array] = {}
        self.types: dict[str, np.dtype[Any]] = {}

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

    def is_truth(self, value: str) -> bool:
        """Whether a value is a result of true and false, as its node's definition says."""
        node, dot, _ = value.partition(".")
        if not dot:
            return False  # an input
        function = self.nodes[int(node.removeprefix("node"))][0]
        if "." in function:
            return False  # ONNX Runtime's own functions give numbers
        schema = import_module("onnx").defs.get_schema(function, max_inclusive_version=OPSET)
        return set(schema.outputs[0].types) == {"tensor(bool)"}


@lru_cache(maxsize=1024)
def session(nodes: tuple[Node, ...], types: tuple[tuple[str, np.dtype[Any]], ...], value: str) -> Any:
    """An inference session for nodes, the types of their inputs, of any rank, and the value that is asked for, which runs what the table says and fuses nothing.

    Raises:
        Unsupported: as ``make_session``.
    """
    recorded = Recorded(np.dtype(np.float32))
    recorded.nodes = list(nodes)
    return make_session(recorded, dict(types), [value], optimized=False)


def make_session(recorded: Recorded, inputs: Mapping[str, np.dtype[Any]], values: Sequence[str], *, optimized: bool) -> Any:
    """An inference session for what was recorded, with these inputs; what else is fed are constants. ``optimized`` as ONNX Runtime does by default, which fuses nodes.

    Raises:
        Unsupported: ONNX has no such types for a node, or ONNX Runtime no kernel.
    """
    onnx, runtime = import_module("onnx"), import_module("onnxruntime")
    helper, numbers = onnx.helper, onnx.helper.np_dtype_to_tensor_dtype
    made = []
    for index, (function, arguments, attributes, count) in enumerate(recorded.nodes):
        domain, _, operator = function.rpartition(".")
        given = {name: _typed_value(onnx, domain, operator, name, value) for name, value in attributes}
        results = [f"node{index}.{which}" for which in range(count)]
        made.append(helper.make_node(operator, arguments, results, domain=DOMAINS.get(domain, ""), **given))

    def describe_value(name: str, dtype: np.dtype[Any] | None) -> Any:
        return (
            helper.make_empty_tensor_value_info(name)
            if dtype is None
            else helper.make_tensor_value_info(name, numbers(dtype), None)
        )

    graph = helper.make_graph(
        made,
        "case",
        [describe_value(name, dtype) for name, dtype in inputs.items()],
        [describe_value(name, recorded.types.get(name)) for name in values],
        [onnx.numpy_helper.from_array(array, name) for name, array in recorded.feed.items() if name not in inputs],
        value_info=[describe_value(name, dtype) for name, dtype in recorded.types.items() if name not in values and "." in name],
    )
    opsets = [helper.make_opsetid("", OPSET), *(helper.make_opsetid(domain, 1) for domain in DOMAINS.values())]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # the cases are small, and `dmlcts run -n` has the processors
    if not optimized:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    state = runtime.capi.onnxruntime_pybind11_state
    try:
        return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except (state.NotImplemented, state.InvalidGraph, state.Fail) as error:
        last = recorded.nodes[-1][0] if len(values) == 1 else f"model of {len(made)} nodes"
        what = f"{last} of {', '.join(str(dtype) for dtype in inputs.values())}"
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
