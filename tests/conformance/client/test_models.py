"""ONNX models are read and cut, and the smallest part that is wrong is found; what is damaged ends in an error that says where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dmlcts.conformance.client.models.bisecting import Part, nodes_around, part_of, place_of, smallest_wrong, write_part
from dmlcts.conformance.client.models.reading import Model, ModelError, read_model, read_tensor_file
from dmlcts.conformance.client.models.writing import Node, node_proto, onnx_model, proto_bytes, proto_text, tensor_proto

Array = NDArray[Any]
SHAPE = ("float32", (2, 3))


def written(folder: Path, data: bytes) -> Path:
    file = folder / "a.onnx"
    file.write_bytes(data)
    return file


def chain(folder: Path, count: int = 60) -> Model:
    """Sums in a row, each with a weight of its own; every third reads the result of two before it, too."""
    nodes = [
        Node("Add", [f"v{at - 1}" if at else "x", f"v{at - 3}" if at % 3 == 0 and at > 2 else f"w{at}"], [f"v{at}"], name=f"n{at}")
        for at in range(count)
    ]
    weights = {f"w{at}": np.full((2, 3), at, np.float32) for at in range(count)}
    return read_model(written(folder, onnx_model(nodes, {"x": SHAPE}, {f"v{count - 1}": SHAPE}, weights)))


def values(names: Sequence[str]) -> Mapping[str, Array]:
    return {name: np.ones((2, 3), np.float32) for name in names}


# Reading


def test_a_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    model = chain(tmp_path, 4)
    assert [(node.op, node.name, node.reads, node.makes) for node in model.nodes[2:]] == [
        ("Add", "n2", ("v1", "w2"), ("v2",)),
        ("Add", "n3", ("v2", "v0"), ("v3",)),
    ]
    assert (list(model.weights), model.given_inputs, model.outputs) == (["w0", "w1", "w2", "w3"], ("x",), ("v3",))


def test_what_a_graph_within_a_node_reads_counts(tmp_path: Path) -> None:
    """A branch reads ``a`` of the graph around it, and ``b``, which it makes itself."""
    branch = proto_bytes(1, node_proto(Node("Neg", ["a"], ["b"]))) + proto_bytes(1, node_proto(Node("Neg", ["b"], ["c"])))
    node = node_proto(Node("If", ["x"], ["y"])) + proto_bytes(5, proto_text(1, "then_branch") + proto_bytes(6, branch))
    model = read_model(written(tmp_path, proto_bytes(7, proto_bytes(1, node))))
    assert model.nodes[0].reads == ("x", "a")


def test_every_model_that_is_cut_ends_in_an_error_or_in_a_model(tmp_path: Path) -> None:
    data = onnx_model([Node("Relu", ["x"], ["y"], {"axis": 1}, "relu")], {"x": SHAPE}, {"y": SHAPE}, {"w": np.ones(3, np.float32)})
    said = []
    for length in range(len(data)):
        try:
            read_model(written(tmp_path, data[:length]))
        except ModelError as error:
            said.append(str(error))
    assert len(said) > len(data) * 0.9
    assert all(text.startswith(f"{tmp_path / 'a.onnx'}: not an ONNX model: ") for text in said)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it has no graph"),
        (b"no model at all", "the model: byte 0: field 13 is cut, or of an unknown kind"),
        (b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "the model: byte 1: a number is cut"),
        (b"\x38\x01", "the graph: a number in place of a message"),
        (proto_bytes(7, proto_bytes(1, proto_bytes(1, b"\xff"))), "node 0: a name is not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_model_is_said(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as error:
        read_model(written(tmp_path, data))
    assert message in str(error.value)


def test_graphs_within_graphs_have_an_end(tmp_path: Path) -> None:
    node = node_proto(Node("Neg", ["a"], ["b"]))
    for _ in range(40):
        node = proto_bytes(5, proto_bytes(6, proto_bytes(1, node)))
    with pytest.raises(ModelError, match="deeper than 16"):
        read_model(written(tmp_path, proto_bytes(7, proto_bytes(1, node))))


def test_a_tensor_file_is_read_back(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    (tmp_path / "input_0.pb").write_bytes(tensor_proto("x", array))
    found = read_tensor_file(tmp_path / "input_0.pb")
    assert (found.dtype, found.tolist()) == (array.dtype, array.tolist())
    (tmp_path / "input_0.pb").write_bytes(tensor_proto("x", array)[:-2])
    with pytest.raises(ModelError, match="is cut"):
        read_tensor_file(tmp_path / "input_0.pb")


# Parts


def test_steps_back_count_along_the_longest_way_of_reading(tmp_path: Path) -> None:
    model = chain(tmp_path, 10)
    assert [nodes_around(model, 9, steps) for steps in range(3)] == [(9,), (6, 8, 9), (3, 5, 6, 7, 8, 9)]


def test_a_part_has_what_it_reads_as_inputs_and_its_own_weights(tmp_path: Path) -> None:
    part = part_of(chain(tmp_path, 10), (7, 8), values)
    found = read_model(written(tmp_path, part.data))
    assert (found.given_inputs, list(found.weights), found.outputs) == (("v6",), ["w7", "w8"], ("v8",))


def test_a_value_that_is_read_outside_a_part_is_an_output(tmp_path: Path) -> None:
    assert part_of(chain(tmp_path, 10), (5, 6, 7, 8), values).outputs == ("v6", "v8")


def test_small_integers_become_weights_but_not_the_last_input(tmp_path: Path) -> None:
    nodes = [Node("Relu", ["x"], ["r"]), Node("Shape", ["x"], ["s"]), Node("Reshape", ["r", "s"], ["y"])]
    model = read_model(written(tmp_path, onnx_model(nodes, {"x": SHAPE}, {"y": SHAPE})))
    given = {"r": np.ones((2, 3), np.float32), "s": np.array([3, 2], np.int64)}
    found = read_model(written(tmp_path, part_of(model, (2,), lambda names: {name: given[name] for name in names}).data))
    assert (found.given_inputs, list(found.weights)) == (("r",), ["s"])
    alone = part_of(model, (2,), lambda names: dict.fromkeys(names, given["s"]))
    assert list(alone.inputs) == ["r", "s"]


@pytest.mark.parametrize("wrong", range(0, 60, 7))
def test_a_node_that_is_wrong_by_itself_is_the_smallest_part(wrong: int, tmp_path: Path) -> None:
    model = chain(tmp_path)
    for place in (wrong, None):
        part = smallest_wrong(model, place, values, lambda part: wrong in part.places)
        assert part is not None
        assert part.places == (wrong,)


def test_nodes_that_are_wrong_only_together_are_found(tmp_path: Path) -> None:
    part = smallest_wrong(chain(tmp_path), 31, values, lambda part: {29, 30, 31} <= set(part.places))
    assert part is not None
    assert part.places == nodes_around(chain(tmp_path), 31, 2)
    assert len(part.places) < 8


def test_nothing_is_found_where_no_part_is_wrong(tmp_path: Path) -> None:
    for place in (31, None):
        assert smallest_wrong(chain(tmp_path), place, values, lambda part: False) is None


def test_the_node_of_a_directml_graph_is_known_by_what_it_makes(tmp_path: Path) -> None:
    model = chain(tmp_path, 5)
    assert place_of(model, "v3_dmlEp_0") == place_of(model, "v3_dmlEp_12") == 3
    assert place_of(model, "v3") is place_of(model, "v30_dmlEp_0") is place_of(model, "") is None


def test_a_part_is_written_as_onnx_keeps_its_tests(tmp_path: Path) -> None:
    part: Part = part_of(chain(tmp_path, 10), (7, 8), values)
    file = write_part(part, values(part.outputs), tmp_path / "smallest")
    assert read_model(file).outputs == ("v8",)
    assert read_tensor_file(file.parent / "test_data_set_0" / "input_0.pb").shape == (2, 3)
    assert (file.parent / "test_data_set_0" / "output_0.pb").is_file()
