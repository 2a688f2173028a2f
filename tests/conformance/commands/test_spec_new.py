"""``dmlcts spec new``: what it begins is right as far as it goes, marked where nobody has looked, and overwrites nothing."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.commands.specs import spec_new
from dmlcts.conformance.commands.specs.spec_new import known_name
from dmlcts.conformance.commands.specs.spec_template import begin_spec, function
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.generator.case.case import REJECTION, Case
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.spec.model.abi import abi, first_level
from dmlcts.spec.model.desc import Size2D
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.file_form import OPEN, problems
from dmlcts.spec.reading.loader import load, load_text, operator_names, operators_folder

ROOT = Path(__file__).parents[3]
BEGUN = ("ELEMENT_WISE_IDENTITY", "ELEMENT_WISE_QUANTIZED_LINEAR_ADD")
"""Of the oldest feature level, and of a newer one; as if there were no specs of them yet."""

PROFILES = ("unary", "unary-scaled", "binary", "comparison", "indexed", "moving")
"""Those with fields. The others give workloads alone, for shapes that are still to be written."""


@pytest.mark.parametrize("other", [None, *PROFILES, *operator_names()])
def test_a_spec_can_be_begun_from_any(other: str | None) -> None:
    """At the oldest and the newest level, with its own tables at its own level, and none of another's evidence."""
    for name in BEGUN:
        text = begin_spec(name, other, earlier=other in spec_new._earlier(name))
        operator = load_text(text)
        assert (operator.name, operator.type, operator.introduced) == (name, abi().operator_types[name], first_level(name))
        assert min(table.level for table in operator.support) == operator.introduced
        assert (operator.examples, operator.errata, operator.accepts) == ((), (), ())
        ast.parse(function(name, operator))
        file = operators_folder() / "data" / f"{name.lower()}.yaml"
        found = [problem for problem in problems(text, file) if "characters, at most" not in problem]  # long laws, copied
        assert all("still to be done" in problem for problem in found), found
        assert len(found) == sum(mark in line for line in text.splitlines() for mark in OPEN) > 2
    if other in operator_names():
        assert [field.name for field in operator.fields] == [field.name for field in load(str(other)).fields]


def test_a_later_version_extends_the_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_new, "operator_names", lambda: tuple(name for name in operator_names() if name != "MAX_POOLING2"))
    assert spec_new._other("MAX_POOLING2", None) == "MAX_POOLING1"
    text = begin_spec("MAX_POOLING2", "MAX_POOLING1", earlier=True)
    assert "\nextends: MAX_POOLING1\n" in text
    assert "\nfields:" not in text
    assert [str(table.level) for table in load_text(text).support] == ["5_0", "3_0", "2_1"]


def test_what_was_found_out_about_the_other_is_named_and_not_taken_over() -> None:
    text = begin_spec("LSTM", "RNN")
    assert "#   examples: forward, backward, biases, early-ends, " in text
    assert "#   errata: nan-becomes-a-number, an-output-at-least, " in text
    assert "# CHECK: as in RNN; what is measured there was measured of RNN alone\nconstraints:" in text
    assert "# CHECK: as in RNN\nshapes:" in text
    assert "What was found out" not in begin_spec("LSTM", "unary")


def test_what_a_profile_gives_is_shown() -> None:
    text = begin_spec("ELEMENT_WISE_IDENTITY", "binary")
    for line in (
        "# fields:",
        "#   - {name: ATensor, kind: input, type: TENSOR_DESC}",
        "#   same-sizes: {same: Sizes, of: [ATensor, BTensor, OutputTensor]}",
        '# shapes: [{sizes: {ATensor: ["*S"], BTensor: ["*S"], OutputTensor: ["*S"]}}]',
        "    BTensor:",
    ):
        assert f"\n{line}\n" in text, line
    assert "\nfields:" not in text


def test_cases_of_a_profile_name_the_sizes_that_they_want() -> None:
    text = begin_spec("ELEMENT_WISE_IDENTITY", "convolving")
    assert "#   workloads: # 27 of them, such as patches\n" in text
    assert "# These cases name sizes, which `shapes` must have: N, C, M, Spatial, Window\n" in text
    with pytest.raises(SpecError, match="no shape has a free size called N"):
        load_text(text)


@pytest.mark.parametrize(
    ("name", "other", "family"),
    [
        ("ELEMENT_WISE_IDENTITY", "unary", "element_wise"),
        ("ACTIVATION_RELU", "unary", "activation"),
        ("PADDING", "moving", "data_movement"),
        ("PADDING", "GEMM", "matrix"),
        ("PADDING", None, None),
    ],
)
def test_the_family_follows_from_what_it_is_like(name: str, other: str | None, family: str | None) -> None:
    assert spec_new._family(name, other) == family


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("GEMM", {"trans_a": "NONE", "alpha": np.float32(0.1)}),
        ("ELEMENT_WISE_CLIP1", {"min_max_data_type": "FLOAT32"}),
        ("LSTM", {"use_clip_threshold": False, "direction": "FORWARD"}),
        ("ROI_POOLING", {"pooled_size": Size2D(4, 2)}),
        ("TOP_K1", {"k": 1, "axis": 3}),
        ("JOIN", {"input_tensors": 2}),
        ("VALUE_SCALE_2D", {"scale": 1.0}),
    ],
)
def test_the_begun_function_reads_every_field_by_its_type(name: str, read: dict[str, object]) -> None:
    """With the desc of a case, and arrays that stand for any."""
    text = function(name, load(name)).replace(f'@reference("{name}")\n', "")
    text, _, end = text.partition("    raise NotImplementedError")
    assert name in end
    space: dict[str, Any] = {}
    exec(compile(f"{text}    return locals()\n", "<begun>", "exec", dont_inherit=True), space)
    found = [space[name.lower()](np, case.desc, dict.fromkeys(dict(case.desc.tensors()), np.ones(1))) for case in read_by(name)]
    for variable, value in read.items():
        values = [len(each[variable]) if isinstance(each[variable], list) else each[variable] for each in found]
        assert value in values, (variable, values)


def read_by(name: str) -> list[Case]:
    """Cases with valid descs."""
    return [case for case in operator_cases(name, "smoke") if case.expect != REJECTION]


@pytest.mark.parametrize("name", operator_names())
def test_a_begun_function_is_a_module(name: str) -> None:
    tree = ast.parse(function(name, load(name)))
    names = [
        node.targets[0].id for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    ]
    assert len(names) == len(set(names))
    assert not {"xp", "desc", "inputs"} & set(names)


@pytest.mark.parametrize("name", operator_names())
def test_the_abi_knows_the_level_that_introduced_each(name: str) -> None:
    assert first_level(name) == load(name).introduced


@pytest.mark.parametrize(
    ("name", "problem"),
    [("ELEMENT_WISE_ROUND", "has a spec already"), ("ADAM_OPTIMIZERS", "near it: ADAM_OPTIMIZER"), ("QQQ", "near it: none")],
)
def test_what_cannot_be_begun(name: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        known_name(name)


def test_names_of_header_and_page_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_new, "operator_names", lambda: tuple(name for name in operator_names() if name != "ADAM_OPTIMIZER"))
    assert (
        known_name("DML_OPERATOR_ADAM_OPTIMIZER")
        == known_name("DML_ADAM_OPTIMIZER_OPERATOR_DESC")
        == known_name("adam_optimizer")
        == "ADAM_OPTIMIZER"
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, in which ``dmlcts`` is what the copy says, and one operator is still to be written."""
    root = tmp_path_factory.mktemp("checkout")
    for room in ("spec", "generator", "reference", "conformance", "reports"):
        shutil.copytree(ROOT / room, root / "dmlcts" / room, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "dmlcts" / "spec" / "operators" / "training" / "adam_optimizer.yaml").unlink()
    (root / "dmlcts" / "reference" / "operators" / "training" / "adam.py").unlink()
    return root


def dmlcts(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); sys.meta_path[:] = [f for f in sys.meta_path if 'ditable' not in str(f)]; "
    program += "from dmlcts.conformance.commands.cli import main; main()"
    command = (sys.executable, "-c", program, str(root), *arguments)
    environment = {**os.environ, "PYTHONUTF8": "1"}
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, env=environment)


def test_begun_found_and_not_overwritten(checkout: Path) -> None:
    package = checkout / "dmlcts"
    refused = dmlcts(checkout, "spec", "new", "ADAM_OPTIMIZER", "--like", "ELEMENT_WISE_ROUND", "--family", "data")
    assert (refused.returncode, "writes into a checkout" in refused.stderr) == (2, True), refused.stderr
    assert not (package / "spec" / "operators" / "data").exists()

    (package / "pyproject.toml").touch()
    (package / "tests").mkdir()
    for more, problem in (((), "say with --family"), (("--like", "NO_SUCH"), "there is no spec of 'NO_SUCH'")):
        refused = dmlcts(checkout, "spec", "new", "ADAM_OPTIMIZER", *more)
        assert (refused.returncode, problem in refused.stderr) == (2, True), refused.stderr
    done = dmlcts(checkout, "spec", "new", "adam_optimizer", "--like", "ELEMENT_WISE_ROUND", "--family", "data")
    assert done.returncode == 0, done.stderr
    assert "dmlcts spec coverage ADAM_OPTIMIZER" in done.stdout
    file, module = (
        package / "spec" / "operators" / "data" / "adam_optimizer.yaml",
        package / "reference" / "operators" / "data" / "adam_optimizer.py",
    )
    assert file.read_text(encoding="utf-8").startswith(
        "# yaml-language-server: $schema=../../schema/operator.schema.json\noperator: ADAM_OPTIMIZER\n"
    )
    assert (module.parent / "__init__.py").exists()

    checked = dmlcts(checkout, "spec", "check", str(file))
    assert (checked.returncode, "adam_optimizer.yaml:5: still to be done" in checked.stderr) == (1, True), checked.stderr
    listed = dmlcts(checkout, "show", "ADAM_OPTIMIZER/FLOAT32/4d/HALVES_TO_NEAREST_EVEN")
    assert listed.returncode == 0, listed.stderr
    again = dmlcts(checkout, "spec", "new", "ADAM_OPTIMIZER", "--like", "ELEMENT_WISE_ROUND")
    assert (again.returncode, "ADAM_OPTIMIZER has a spec already" in again.stderr) == (2, True), again.stderr
    file.unlink()
    module.write_text("# mine\n", encoding="utf-8")
    again = dmlcts(checkout, "spec", "new", "ADAM_OPTIMIZER", "--like", "ELEMENT_WISE_ROUND", "--family", "data")
    assert (again.returncode, "is there already: put its reference function" in again.stdout) == (0, True), again.stderr
    assert module.read_text(encoding="utf-8") == "# mine\n"
