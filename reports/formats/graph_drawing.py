"""A graph as SVG: nodes in columns by depth, edges with data type and sizes, the first wrong node marked.

A drawing is a tree: an element is a list of its name, its attributes, and what is in it, elements or text. A page can make it without reading it as markup.
``graph`` is a graph's JSON (generator/suite/graphs/graph_json): nodes with ``desc`` and ``feeds``, and ``outputs``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_WIDTH, _HEIGHT, _ACROSS, _DOWN = 210, 44, 110, 34
"""A node's width and height, and the space between columns and rows, in pixels."""


Element = list[Any]
"""The name of an SVG element, its attributes, and then what is in it."""


def svg_of(graph: Mapping[str, Any], wrong: int | None = None) -> str:
    """The SVG element of a graph as text; ``wrong`` is the number of the node to mark."""
    return _text_of(drawing_of(graph, wrong))


def _text_of(element: Element) -> str:
    name, attributes, *inside = element
    written = "".join(f' {key}="{escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(escape(each) if isinstance(each, str) else _text_of(each) for each in inside)}</{name}>"


def drawing_of(graph: Mapping[str, Any], wrong: int | None = None) -> Element:
    """The SVG element of a graph; ``wrong`` is the number of the node to mark."""
    places = _places(graph)
    width = max(x for x, _ in places.values()) + _WIDTH + _ACROSS
    height = max(y for _, y in places.values()) + _HEIGHT + _DOWN
    parts = [*_edges(graph, places), *_nodes(graph, places, wrong)]
    names = ", ".join(dict.fromkeys(str(node["desc"]["Type"]) for node in graph["nodes"]))
    size = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    return ["svg", {"class": "graph", **size, "role": "img", "aria-label": f"graph of {names}"}, *parts]


def depths(graph: Mapping[str, Any]) -> list[int]:
    """For each node its column: behind all that feed it. A node of a cycle is in the last."""
    nodes = graph["nodes"]
    found = [0] * len(nodes)
    for _ in nodes:
        for index, node in enumerate(nodes):
            before = [found[feed["node"]] + 1 for feed in node["feeds"].values() if "node" in feed]
            found[index] = min(max(before, default=0), len(nodes))
    return found


def _places(graph: Mapping[str, Any]) -> dict[int, tuple[int, int]]:
    rows: dict[int, int] = {}
    found = {}
    for index, depth in enumerate(depths(graph)):
        row = rows.get(depth, 0)
        rows[depth] = row + 1
        found[index] = (_ACROSS // 2 + depth * (_WIDTH + _ACROSS), _DOWN // 2 + row * (_HEIGHT + _DOWN))
    return found


def _edges(graph: Mapping[str, Any], places: Mapping[int, tuple[int, int]]) -> Iterator[Element]:
    for index, node in enumerate(graph["nodes"]):
        x, y = places[index]
        fed = [(name, feed) for name, feed in node["feeds"].items() if "node" in feed]
        for at, (name, feed) in enumerate(fed):
            from_x, from_y = places[feed["node"]]
            from_x, from_y, to_y = from_x + _WIDTH, from_y + _HEIGHT // 2, y + (at + 1) * _HEIGHT // (len(fed) + 1)
            middle = (from_x + x) // 2
            text = tensor_text(tensor_of(node["desc"], name))
            yield ["path", {"d": f"M{from_x} {from_y} C{middle} {from_y} {middle} {to_y} {x} {to_y}"}]
            yield ["text", {"class": "edge", "x": x - 4, "y": to_y - 4, "text-anchor": "end"}, text]


def _nodes(graph: Mapping[str, Any], places: Mapping[int, tuple[int, int]], wrong: int | None) -> Iterator[Element]:
    outputs = {(made["node"], made["tensor"]): number for number, made in enumerate(graph["outputs"])}
    for index, node in enumerate(graph["nodes"]):
        x, y = places[index]
        mark = {"class": "wrong"} if index == wrong else {}
        given = [f"input {feed['given']}" for feed in node["feeds"].values() if "given" in feed]
        given += ["constant" for feed in node["feeds"].values() if "constant" in feed]
        own = [f"output {number}" for (of, _), number in outputs.items() if of == index]
        title = f"{index}: {node['desc']['Type']}"
        small = "; ".join(filter(None, (_list_text(given), _list_text(own))))
        tensors = [f"{name} {tensor_text(tensor)}" for name, tensor in _tensors_of(node["desc"])]
        yield [
            "g",
            mark,
            ["title", {}, "\n".join([title, *tensors])],
            ["rect", {"x": x, "y": y, "width": _WIDTH, "height": _HEIGHT, "rx": 5}],
            ["text", {"x": x + 8, "y": y + 18}, _cut(title, 30)],
            ["text", {"class": "edge", "x": x + 8, "y": y + 35}, _cut(small, 32)],
        ]


def tensor_of(desc: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The JSON of a tensor of a desc: ``ATensor``, or ``InputTensors[0]``."""
    field, _, index = name.removesuffix("]").partition("[")
    found: Any = desc[field][int(index)] if index else desc[field]
    return dict(found)


def tensor_text(tensor: Mapping[str, Any]) -> str:
    """``FLOAT32 2x3``, with strides where it has some."""
    strides = f" strides {','.join(map(str, tensor['Strides']))}" if tensor.get("Strides") else ""
    return f"{tensor['DataType']} {'x'.join(map(str, tensor['Sizes']))}{strides}"


def _list_text(names: list[str]) -> str:
    """All of a few names, of many the number: ``16 inputs``."""
    return ", ".join(names) if len(names) < 4 else f"{len(names)} inputs"


def _tensors_of(desc: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tensors of a desc with their names."""
    for field, value in desc.items():
        for index, each in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(each, dict) and "DataType" in each and "Sizes" in each:
                yield (f"{field}[{index}]" if isinstance(value, list) else field), each


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
