"""What is in a capture, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dmlcts.conformance.client.capture.records import Capture, Compiled, Graph

_MOST = 40
"""The most operators that are named."""


def summary(capture: Capture) -> Iterator[str]:
    """A capture in some lines: objects, executions, and which operators were executed how often."""
    graphs = [compiled.content for compiled in capture.compiled if isinstance(compiled.content, Graph)]
    nodes = ", ".join(str(len(graph.nodes)) for graph in graphs[:10])
    initializations = sum(not isinstance(execution.dispatchable, Compiled) for execution in capture.executions)
    with_data = sum(bool(execution.inputs or execution.outputs) for execution in capture.executions)
    counts = Counter(operator.name for _, operator in capture.dispatched_operators())
    if capture.directml:
        yield f"DirectML: {capture.directml} {capture.version}".rstrip()
    yield f"created: {len(capture.operators)} operators, {len(graphs)} graphs" + (f" (of {nodes} nodes)" if graphs else "")
    executed = f"executed: {len(capture.executions)} dispatches, {initializations} of them initializations"
    yield executed + (f"; {with_data} with data" if with_data else "")
    yield f"operators executed: {sum(counts.values())} of {len(counts)} types"
    for name, count in counts.most_common(_MOST):
        yield f"  {count:6} {name}"
    if capture.refusals:
        codes = Counter((refusal.what, refusal.code) for refusal in capture.refusals)
        yield "failed: " + ", ".join(f"{count} {what} with {code}" for (what, code), count in codes.most_common(10))
    for remark in capture.remarks:
        yield f"note: {remark}"
