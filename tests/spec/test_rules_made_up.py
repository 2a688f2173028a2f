"""Rules of operators that are made up for one rule each: fields, constraints, shapes."""

import pytest

from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load_text
from dmlcts.spec.rules.rules import violations

MADE_UP = """\
operator: ELEMENT_WISE_IDENTITY
type: 1
introduced: "1_0"
summary: Made up for a test.
fields:
  - {{name: X, kind: input, type: TENSOR_DESC}}
  - {{name: Y, kind: output, type: TENSOR_DESC}}
  - {{name: Z, kind: input, type: TENSOR_DESC, optional: true}}
  - {{name: A, kind: attribute, type: {type}, optional: true}}
support:
  - level: "1_0"
    tensors: {{X: &any {{dimensions: 1-8, types: [INT8]}}, Y: *any, Z: *any}}
constraints: {{{constraints}}}
shapes: [{shapes}]
tolerance: {{class: exact}}
sources: [{{title: none}}]
"""


def made_up(type: str = "UINT", constraints: str = "", shapes: str = "") -> Operator:  # noqa: A002
    return load_text(MADE_UP.format(type=type, constraints=constraints, shapes=shapes))


def made_desc(x: tuple[int, ...], y: tuple[int, ...], z: tuple[int, ...] | None = None, a: object = None) -> OperatorDesc:
    tensors = {name: None if sizes is None else TensorDesc("INT8", sizes) for name, sizes in (("X", x), ("Y", y), ("Z", z))}
    return OperatorDesc("ELEMENT_WISE_IDENTITY", {**tensors, "A": a})


@pytest.mark.parametrize(
    ("type_name", "held", "refused"),
    [
        ("UINT", (0, (1 << 32) - 1), (-1, 1 << 32, 1.0, "1")),
        ("UINT64", (0, (1 << 64) - 1), (-1, 1 << 64)),
        ("INT", (-(1 << 31), (1 << 31) - 1), (-(1 << 31) - 1, 1 << 31)),
        ("BOOL", (False, True, 0, 1), (-1, 2)),
        ("FLOAT", (0, -1.5, float("nan")), ("1", (1,))),
        ("INT_ARRAY", ((), (-1, 2)), ((1.5,), 3, [1])),
        ("SIZE_2D", ((2, 3),), ((2,), (2, 3, 4), (2, -3), 2)),
        ("SCALE_BIAS", ((2, -0.5),), ((2, "x"), (1.0,))),
    ],
)
def test_what_a_field_can_hold(type_name: str, held: tuple[object, ...], refused: tuple[object, ...]) -> None:
    spec = made_up(type_name)
    for value in held:
        assert violations(spec, made_desc((1,), (1,), a=value)) == [], value
    for value in refused:
        assert {v.label for v in violations(spec, made_desc((1,), (1,), a=value))} == {"field/A"}, value


def test_a_constraint_says_nothing_of_what_is_absent() -> None:
    spec = made_up(constraints='z-fits: {that: "Z.Sizes[0] == X.Sizes[0]"}, a-fits: {that: A > 3, when: "Z.Sizes[1] > 1"}')
    assert violations(spec, made_desc((2,), (2,))) == []
    assert violations(spec, made_desc((2,), (2,), (2, 1))) == []
    assert [v.label for v in violations(spec, made_desc((2,), (2,), (3, 1)))] == ["constraint/z-fits"]
    assert [v.label for v in violations(spec, made_desc((2,), (2,), (2, 2), a=3))] == ["constraint/a-fits"]
    assert violations(spec, made_desc((2,), (2,), (2, 2), a=4)) == []


def test_a_constraint_that_cannot_be_computed_is_broken() -> None:
    spec = made_up(constraints='second: {that: "X.Sizes[1] == 2"}, divided: {that: X.DimensionCount % A == 0}')
    found = violations(spec, made_desc((2,), (2,), a=0))
    assert [v.label for v in found] == ["constraint/second", "constraint/divided"]
    assert "cannot be true: X.Sizes[1] == 2 (tuple index out of range)" in found[0].message
    assert violations(spec, made_desc((2, 2), (2,), a=2)) == []


@pytest.mark.parametrize(
    ("rows", "x", "y", "a", "expected"),
    [
        # a symbol that stands in expressions only is solved for
        ("{X: [4 * H], Y: [3 * H + 1]}", (8,), (7,), None, []),
        ("{X: [4 * H], Y: [3 * H + 1]}", (4,), (4,), None, []),
        ("{X: [4 * H], Y: [3 * H + 1]}", (8,), (8,), None, ["shape/Y"]),
        ("{X: [4 * H], Y: [3 * H + 1]}", (9,), (7,), None, ["shape/X"]),
        ("{X: [H - 4], Y: [H - 4]}", (3,), (3,), None, []),
        ("{X: [H + 4], Y: [H + 4]}", (4,), (4,), None, ["shape/X", "shape/Y"]),  # as H would be 0
        # nothing is reported where the symbol cannot be determined
        ("{X: [H * H], Y: [H * H + 1]}", (9,), (9,), None, []),
        ("{X: [H // 4], Y: [H // 4 + 1]}", (9,), (9,), None, []),
        ("{X: [H * K], Y: [H + K]}", (9,), (9,), None, []),
        ("{X: [H, K], Y: [H * K]}", (9, 2), (9,), None, ["shape/Y"]),
        # numbers and lengths
        ("{X: [1, N], Y: [N]}", (1, 5), (5,), None, []),
        ("{X: [1, N], Y: [N]}", (2, 5), (5,), None, ["shape/X"]),
        ("{X: [1, N], Y: [N]}", (1, 1, 5), (5,), None, ["shape/X"]),
        ("{X: [1, N], Y: [N]}", (5,), (5,), None, ["shape/X"]),
        ('{X: [N, "*S", M], Y: ["*S"]}', (2, 3, 4, 5), (3, 4), None, []),
        ('{X: [N, "*S", M], Y: ["*S"]}', (2, 3, 4, 5), (3, 4, 5), None, ["shape/Y"]),
        ('{X: [N, "*S", M], Y: ["*S"]}', (2,), (1,), None, ["shape/X"]),
        ('{Y: ["*T"], X: ["*S", "*T"]}', (2, 3, 4), (3, 4), None, []),  # the rows' order counts, not the struct's
        ('{Y: ["*T"], X: ["*S", "*T"]}', (2, 3, 4), (3, 5), None, ["shape/X"]),
        ('{X: ["*1", N], Y: [N, "*1"]}', (1, 1, 5), (5, 1), None, []),
        ('{X: ["*1", N], Y: [N, "*1"]}', (1, 2, 5), (5,), None, ["shape/X"]),
        # attributes
        ("{X: [A, N], Y: [A * N]}", (3, 2), (6,), 3, []),
        ("{X: [A, N], Y: [A * N]}", (4, 2), (8,), 3, ["shape/X", "shape/Y"]),
        ("{X: [N, N // A], Y: [1]}", (4, 2), (1,), 0, ["shape/X"]),
    ],
)
def test_shapes(rows: str, x: tuple[int, ...], y: tuple[int, ...], a: object, expected: list[str]) -> None:
    spec = made_up(shapes=f"{{sizes: {rows}}}")
    assert [v.label for v in violations(spec, made_desc(x, y, a=a))] == expected


@pytest.mark.parametrize(
    ("more", "x", "y", "a", "expected"),
    [
        ("counts: {S: A}", (2, 3, 4), (1, 1, 1), 1, []),
        ("counts: {S: A}", (2, 3, 4), (1, 1, 1), 4, ["shape/X"]),
        ("counts: {S: A}", (2, 3, 4), (1, 1, 1), None, ["shape/X"]),  # nothing says how many there are
        ("counts: {S: A}, domains: {T: {least: 2, most: 4}}", (2, 4, 2), (1, 1, 1), 1, []),
        ("counts: {S: A}, domains: {T: {least: 2, most: 4}}", (2, 5, 2), (1, 1, 1), 1, ["shape/X"]),
        ("counts: {S: A}, domains: {T: {least: 2, most: 4}}", (2, 4, 1), (1, 1, 1), 1, ["shape/X"]),
        ('counts: {S: A}, domains: {T: {most: "[3, 4]"}}', (2, 3, 4), (1, 1, 1), 1, []),
        ('counts: {S: A}, domains: {T: {most: "[3, 4]"}}', (2, 4, 3), (1, 1, 1), 1, ["shape/X"]),
        ('counts: {S: A}, domains: {T: {least: "Z.Sizes[0]"}}', (2, 4, 3), (1, 1, 1), 1, []),  # the bound's tensor is absent
        ("counts: {S: A}, when: A == 2", (2, 3, 4), (1, 1, 1), 1, []),
        ('counts: {S: A}, when: "X.Sizes[9] == 2"', (2, 3, 4), (1, 1, 1), 4, []),
    ],
)
def test_shapes_of_two_lengths(more: str, x: tuple[int, ...], y: tuple[int, ...], a: object, expected: list[str]) -> None:
    spec = made_up(shapes=f'{{sizes: {{X: ["*S", "*T"], Y: ["*1"]}}, {more}}}')
    assert [v.label for v in violations(spec, made_desc(x, y, a=a))] == expected


def test_symbols_that_follow_from_others() -> None:
    spec = made_up(shapes="{sizes: {X: [N, M], Y: [P, Q]}, where: {Q: P + 1, P: N * M}}")
    assert violations(spec, made_desc((2, 3), (6, 7))) == []
    found = violations(spec, made_desc((2, 3), (6, 8)))
    assert [(v.label, v.message) for v in found] == [("shape/Y", "Y has 8 where Q is 7")]
