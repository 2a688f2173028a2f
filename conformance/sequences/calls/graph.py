"""The call that compiles a graph of operators."""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.conformance.sequences.calls.call import DEVICE, Call


@dataclass(frozen=True, slots=True)
class CompileGraph(Call):
    """IDMLDevice1::CompileGraph: a dispatchable of many nodes, which is initialized, bound and recorded as a compiled operator is.

    ``nodes`` are operators by their numbers, and the bytes of constant nodes. Edges are numbers: ``input_edges`` (input of the graph, node, input of the
    node), ``edges`` (node, output of it, node, input of it), ``output_edges`` (node, output of it, output of the graph). Inputs and outputs of a node are
    counted as a binding table counts them.
    """

    makes: int
    nodes: tuple[int | bytes, ...]
    inputs: int
    outputs: int
    input_edges: tuple[tuple[int, int, int], ...] = ()
    edges: tuple[tuple[int, int, int, int], ...] = ()
    output_edges: tuple[tuple[int, int, int], ...] = ()
    flags: tuple[str, ...] = ()
    device: int = DEVICE
