"""The tables of second opinions: how an operator of DirectML maps onto calls of a library.

A table (``onnxruntime.yaml``, ``torch.yaml``) has a line an operator: ``ACTIVATION_ELU: Elu(InputTensor, alpha=Alpha)``. The names are the desc's
fields. What stands in a call's place is a tensor or a number, what is given by keyword is the library's own attribute. Calls nest, but one
function of the library does the work: around it stand only the additions and multiplications that DirectML's formula has, and what changes
no value (a shape, an order, a type), so that the result is the library's and not ours.

In a call's place there may be:

- another call; ``f(...)[1]`` is the second of several results, ``f(...)[0, 3]`` the first of three that are all asked for
- a tensor. One that is absent is left out, and so is what would be made of it: ``Reshape(BiasTensor, [-1])``
- ``ScaleTensor or 1``: the first of several that is not absent
- ``f(...) if Mode == 'CONVOLUTION' else FilterTensor``
- ``[PastKeyTensor, f(...)]``: a list of tensors, without those that are absent, where one of them is a call of the library
- any other expression of the spec files' language: a number, or a list of them. Data types are called by their names
- a name in ``parts``, which stands for any of these; a name in ``names``, which stands for an expression. Of several expressions it is the
  first of which all fields are there

An array of tensors in a call's place, ``InputTensors``, is the list of them, and ``QuantizationTensors[0]`` one of them.

Several outputs have a node each, ``(f(...), f(...)[1])``, in the struct's order. The node of an array of outputs is a call that has a result for each of them.

An operator may have several ways, each with a ``when`` in the expression language of the spec files; the first that holds is taken. ``bits``
hands the tensors over as integers of their width, ``refuses`` names values that the library must not be given (``REFUSALS`` in opinion.py). What is
in ``not_mapped``, and what no ``when`` holds for, is Unsupported for the reason that stands there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import yaml

from dmlcts.conformance.backends.backend import Unsupported
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias
from dmlcts.spec.model.expression import FUNCTIONS, Expression, compile_expression
from dmlcts.spec.reading.loader import load

DATA_TYPES = tuple(name for name, entry in abi().data_types.items() if entry.bits >= 8)
"""What a library is handed: NumPy has no arrays of the 4-bit types that one would take."""

KINDS: dict[str, frozenset[str] | None] = {
    "FLOATS": frozenset(name for name in DATA_TYPES if abi().data_types[name].is_float),
    "INTEGERS": frozenset(name for name in DATA_TYPES if not abi().data_types[name].is_float),
    "NOTHING": None,
}
"""Names for expressions besides the desc's fields. NOTHING is the value of an absent tensor."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the library's functions. ``result`` says which of how many results is meant; it has a single one where None."""

    function: str
    arguments: tuple[Node, ...]
    keywords: tuple[tuple[str, Expression], ...]
    result: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Either:
    """The first that is not absent."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """A list of those that are not absent."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class EitherNode:
    """The first of two nodes where ``test`` holds, else the second."""

    test: Expression
    nodes: tuple[Node, Node]


Node = Call | Either | Several | EitherNode | Expression


@dataclass(frozen=True, slots=True)
class NodeMapping:
    """One way in which an operator maps: a node for each output."""

    nodes: tuple[Node, ...]
    when: Expression | None = None
    bits: str = ""
    refuses: str = ""
    names: Mapping[str, tuple[Expression, ...]] = field(default_factory=dict)

    def parts(self) -> Iterator[Node]:
        """Every node, those that stand in a call's place too."""
        waiting = list(self.nodes)
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.arguments if isinstance(node, Call) else () if isinstance(node, Expression) else node.nodes

    def calls(self) -> Iterator[Call]:
        """The calls of the library in it."""
        return (node for node in self.parts() if isinstance(node, Call))

    def expressions(self) -> Iterator[Expression]:
        """The expressions in it, ``when`` included."""
        yield from () if self.when is None else (self.when,)
        for node in self.parts():
            if isinstance(node, Call):
                yield from (expression for _, expression in node.keywords)
            elif isinstance(node, EitherNode):
                yield node.test
            elif isinstance(node, Expression):
                yield node

    def scope(self, desc: OperatorDesc) -> dict[str, Any]:
        """What its expressions may name: fields of ``desc``, FLOAT attributes as the struct holds them, ``KINDS``, and ``names``."""
        unions = {field.name for field in load(desc.type).fields if field.type == "SCALAR_UNION"}  # of any data type
        fields = {name: value if name in unions else float32(value) for name, value in desc.fields.items()}
        scope: dict[str, Any] = {**KINDS, **fields}
        for name, expressions in self.names.items():
            known = (expression for expression in expressions if all(scope.get(read) is not None for read in expression.names))
            expression = next(known, None)
            if expression is not None:
                scope[name] = expression.evaluate(scope)
        return scope


@dataclass(frozen=True, slots=True)
class Table:
    """A library's table. ``scale_bias`` is what DML_SCALE_BIAS does to ``InputTensor`` before the operator."""

    operators: Mapping[str, tuple[NodeMapping, ...]]
    not_mapped: Mapping[str, str]
    scale_bias: NodeMapping


def float32(value: Any) -> Any:
    """A number, or each of a list, as a FLOAT of a struct holds it; anything else as it is."""
    if isinstance(value, tuple) and not isinstance(value, ScaleBias):
        return tuple(float32(element) for element in value)
    return float(np.float32(value)) if isinstance(value, float) else value


@cache
def read_table(name: str) -> Table:
    """The table ``name``.yaml beside this module."""
    raw = _raw(name)
    operators = {operator: tuple(read_way(name, way) for way in _as_list(ways)) for operator, ways in raw["operators"].items()}
    return Table(operators, raw["not_mapped"], read_way(name, raw["scale_bias"]))


def read_way(table: str, way: str | Mapping[str, str]) -> NodeMapping:
    """A way as it stands in the table of that name, whose ``names`` and ``parts`` it knows."""
    names, parts = _shared_expressions(table)
    fields = {"call": way} if isinstance(way, str) else way
    tree = _parse(fields["call"])
    nodes = tuple(_node(output, parts) for output in (tree.elts if isinstance(tree, ast.Tuple) else [tree]))
    when = compile_expression(fields["when"]) if "when" in fields else None
    found = NodeMapping(nodes, when, fields.get("bits", ""), fields.get("refuses", ""))
    reads = {name for expression in found.expressions() for name in expression.names}
    for name in reversed(tuple(names)):
        if name in reads:
            reads |= {read for expression in names[name] for read in expression.names}
    return replace(found, names={name: expressions for name, expressions in names.items() if name in reads})


@cache
def _raw(table: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath(f"{table}.yaml").read_text(encoding="utf-8")
    raw: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (a safe loader)
    return raw


@cache
def _shared_expressions(table: str) -> tuple[Mapping[str, tuple[Expression, ...]], Mapping[str, Node]]:
    raw = _raw(table)
    names = {name: tuple(compile_expression(text) for text in _as_list(texts)) for name, texts in raw["names"].items()}
    parts: dict[str, Node] = {}
    for part, text in raw["parts"].items():
        parts[part] = _node(_parse(text), parts)
    return names, parts


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _parse(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _node(tree: ast.expr, parts: Mapping[str, Node], result: tuple[int, int] | None = None) -> Node:
    if isinstance(tree, ast.Call):
        keywords = tuple((str(keyword.arg), compile_expression(ast.unparse(keyword.value))) for keyword in tree.keywords)
        return Call(ast.unparse(tree.func), tuple(_node(argument, parts) for argument in tree.args), keywords, result)
    if isinstance(tree, ast.Subscript) and isinstance(called := parts.get(ast.unparse(tree.value)), Call):
        return replace(called, result=_result(tree.slice))
    if isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Call):
        return _node(tree.value, parts, _result(tree.slice))
    if isinstance(tree, ast.IfExp):
        return EitherNode(compile_expression(ast.unparse(tree.test)), (_node(tree.body, parts), _node(tree.orelse, parts)))
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or):
        return Either(tuple(_node(value, parts) for value in tree.values))
    if isinstance(tree, ast.List) and any(
        isinstance(element, ast.Call) and ast.unparse(element.func) not in FUNCTIONS for element in tree.elts
    ):
        return Several(tuple(_node(element, parts) for element in tree.elts))
    text = ast.unparse(tree)
    return parts[text] if text in parts else compile_expression(text)


def _result(tree: ast.expr) -> tuple[int, int]:
    which = ast.literal_eval(tree)
    return which if isinstance(which, tuple) else (which, which + 1)


def choose_mapping(table: Table, desc: OperatorDesc, library: str) -> NodeMapping:
    """The way in which ``desc`` maps. Raises Unsupported where there is none, and says why."""
    for way in table.operators.get(desc.type, ()):
        if way.when is None or way.when.evaluate(way.scope(desc)):
            return way
    raise Unsupported(f"{desc.type} does not map: {table.not_mapped.get(desc.type, f'no call of {library} is known for it')}")
