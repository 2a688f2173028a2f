"""The page of ONNX's node tests on a client: it counts what came of them, and says whose each wrong result is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dmlcts.reports.formats.node_tests import node_tests_page, write_node_tests


def row(test: str, status: str, **more: Any) -> dict[str, Any]:
    return {"test": test, "operators": ["Relu"], "status": status, "kind": "", "reason": "", "whose": "", "why": "", **more}


ROWS = [
    row("test_relu", "right"),
    row("test_gemm", "wrong", operators=["Gemm"], reason="1 of 4 elements", whose="DirectML's", why="GEMM is wrong alone"),
    row("test_odd", "not run", operators=["Odd", "Relu"], kind="newer than ONNX Runtime"),
]


def test_it_counts_by_status_and_by_operator() -> None:
    text = node_tests_page(ROWS, "A client on some.dll")
    assert "<h1>A client on some.dll: ONNX" in text
    assert "<td>1</td><td>1</td><td>0</td><td>1</td><td>3</td>" in text
    assert '<th scope="row">Relu</th><td>1</td><td></td><td></td><td>1</td>' in text


def test_a_wrong_result_stands_with_whose_it_is() -> None:
    text = node_tests_page(ROWS, "x")
    assert "<td>DirectML&#39;s</td><td>1 of 4 elements</td><td>GEMM is wrong alone</td>" in text
    assert "newer than ONNX Runtime" in text
    assert "None." in node_tests_page(ROWS[:1], "x")


def test_what_tests_are_called_is_no_markup(tmp_path: Path) -> None:
    write_node_tests([row("<script>x</script>", "wrong", reason="<b>")], "<i>", tmp_path / "index.html")
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<script>x" not in text
    assert "<b>" not in text
    assert "<i>" not in text
