"""Emitted modules: Python that people can read, which plain pytest runs through the same code as ``dmlcts run``."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dmlcts.generator.case.case import HUGE, Case
from dmlcts.generator.case.emit import TITLES, module_name, module_text, write_modules
from dmlcts.generator.case.id_filter import matcher
from dmlcts.generator.suite.suite import find_case, operator_cases, select
from dmlcts.spec.reading.loader import load
from dmlcts.spec.reading.promises import spec_version

# The first operators, and one whose ids hold attributes of every kind.
SAMPLE = tuple(f"ELEMENT_WISE_{name}" for name in ("BIT_COUNT", "BIT_OR", "BIT_SHIFT_RIGHT", "BIT_XOR", "ROUND", "CLIP1"))
EVERY = [case for name in SAMPLE for case in operator_cases(name)]
# In place, in a resource of all tensors, from another offset on.
COMBINATION = next(
    case.id for case in EVERY if case.operator.name.endswith("ROUND") and case.in_place and case.resource and case.offset == 48
)
ONE_OF_EACH_KIND = (
    "ELEMENT_WISE_ROUND/FLOAT32/example/toward-zero",
    "ELEMENT_WISE_ROUND/FLOAT16/4d/HALVES_TO_NEAREST_EVEN",
    COMBINATION,
    "ELEMENT_WISE_ROUND/FLOAT16/values/nans/TOWARD_ZERO",
    "ELEMENT_WISE_ROUND/FLOAT32/sizes/1x1x1x65537/HALVES_TO_NEAREST_EVEN",
    "ELEMENT_WISE_ROUND/FLOAT32/gaps/Output-padded-rows/HALVES_TO_NEAREST_EVEN",
    "ELEMENT_WISE_ROUND/FLOAT32/negative/enum/RoundingMode=3",
    "ELEMENT_WISE_ROUND/FLOAT32/property/odd/TOWARD_ZERO",
    "ELEMENT_WISE_ROUND/FLOAT16/1d/110/random-9210/TOWARD_ZERO",
    "ELEMENT_WISE_ROUND/FLOAT32/sequence/again/4d/HALVES_TO_NEAREST_EVEN",
)

FAULTY = '''
from dmlcts.conformance.backends.backend import BackendInfo, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend


class Ceiling(ReferenceBackend):
    """Rounds up, where TOWARD_INFINITY is to the nearest, and knows no FLOAT16."""

    def __init__(self):
        super().__init__()
        self.info = BackendInfo("ceiling", data_types=("FLOAT32",))

    def compute(self, desc, inputs):
        right = super().compute(desc, inputs)
        if desc.fields["RoundingMode"] == "TOWARD_INFINITY":
            right["OutputTensor"] = __import__("numpy").ceil(inputs["InputTensor"])
        return right
'''


def lists(text: str) -> dict[str, list[str]]:
    """The lists of strings that a module has at its top, by name."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            assert isinstance(node.targets[0], ast.Name)
            found[node.targets[0].id] = [ast.literal_eval(element) for element in node.value.elts]
    return found


def plain_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", ".", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def emitted(folder: Path, cases: list[Case]) -> list[Path]:
    return write_modules(cases, folder, "1.2.3")


# The text


@pytest.mark.parametrize("name", SAMPLE)
def test_a_module_has_the_cases_that_were_selected_in_their_order(name: str) -> None:
    for level, basis in (("smoke", "documented"), ("full", "measured")):
        cases = select(operator_cases(name), level=level, basis=basis)
        found = lists(module_text(load(name), cases, "1.2.3"))
        assert [f"{name}/{case}" for entries in found.values() for case in entries] == [case.id for case in cases]
        kinds = dict.fromkeys(case.kind for case in cases)
        assert list(found) == [kind.upper().replace("-", "_") for kind in kinds]


def test_a_module_is_python_with_a_test_for_each_kind() -> None:
    text = module_text(load("ELEMENT_WISE_ROUND"), [find_case(case_id) for case_id in ONE_OF_EACH_KIND], "1.2.3")
    tree = ast.parse(text)
    compile(text, "module", "exec")
    tests = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert tests == [f"test_{kind.replace('-', '_')}" for kind in TITLES if kind not in (HUGE, "network", "typical")]
    assert all(ast.get_docstring(node) for node in tree.body if isinstance(node, ast.FunctionDef))
    docstring = ast.get_docstring(tree)
    assert docstring is not None
    for part in (
        "ELEMENT_WISE_ROUND (DML_OPERATOR_TYPE 99, since feature level 2_1)",
        "1.2.3",
        spec_version(["ELEMENT_WISE_ROUND"]),
        "do not edit",
    ):
        assert part in docstring


def test_every_kind_of_case_has_a_title() -> None:
    with_kernels = operator_cases("ACTIVATION_SOFTMAX1", "core")
    assert {case.kind for case in (*EVERY, *with_kernels)} == set(TITLES) - {HUGE}
    assert HUGE in TITLES  # of a level of its own


def test_what_is_not_documented_is_marked() -> None:
    text = module_text(load("ELEMENT_WISE_ROUND"), list(operator_cases("ELEMENT_WISE_ROUND")), "1.2.3")
    marked = {
        line.split('"')[1]: line.rpartition("# ")[2] for line in text.splitlines() if line.startswith('    "') and "# " in line
    }
    other = {case.id.partition("/")[2]: case.basis for case in operator_cases("ELEMENT_WISE_ROUND") if case.basis != "documented"}
    assert marked == other


def test_modules_are_formatted(tmp_path: Path) -> None:
    emitted(tmp_path, EVERY)
    for arguments in (("format", "--check"), ("check", "--select", "E,F,W,B", "--ignore", "E501")):
        command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--no-cache", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_one_file_an_operator(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    files = emitted(folder, select(EVERY, level="smoke"))
    assert sorted(file.name for file in files) == sorted(module_name(name) for name in SAMPLE)
    assert sorted(folder.iterdir()) == sorted(files)
    assert module_name("ELEMENT_WISE_ROUND") == "test_element_wise_round.py"
    assert all(b"\r" not in file.read_bytes() for file in files)
    again = {file: file.read_bytes() for file in files}
    emitted(folder, select(EVERY, level="smoke"))
    assert {file: file.read_bytes() for file in files} == again


def test_a_folder_that_is_a_file_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(OSError, match="taken"):
        emitted(tmp_path / "taken", select(EVERY, level="smoke"))


# Running


def test_plain_pytest_runs_them_on_the_reference(tmp_path: Path) -> None:
    cases = [find_case(case_id) for case_id in ONE_OF_EACH_KIND]
    cases += [case for case in select(EVERY, level="smoke") if case.id not in ONE_OF_EACH_KIND]
    emitted(tmp_path, cases)
    done = plain_pytest(tmp_path, "--dmlcts-backend", "reference", "-W", "error")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(cases)} passed" in done.stdout


def test_a_wrong_backend_fails_with_the_explanation(tmp_path: Path) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY, encoding="utf-8")
    every = operator_cases("ELEMENT_WISE_ROUND")
    wrong = next(
        case
        for case in every
        if case.kind == "combination"
        and case.data_type == "FLOAT32"
        and case.desc.fields["RoundingMode"] == "TOWARD_INFINITY"
        and case.desc.tensor("InputTensor").DimensionCount == 4
        and case.desc.tensor("OutputTensor").count > 100
        and 0 not in (case.desc.tensor("InputTensor").strides or ())
    )
    cases = [wrong, *select(every, level="full", matching=matcher("4d/halves or property/odd and float32"))]
    cases = [case for case in cases if case is wrong or case.kind not in ("combination", "sequence")]
    emitted(tmp_path, cases)
    done = plain_pytest(tmp_path, "--dmlcts-backend", "python:faulty:Ceiling", "-rs")
    printed = done.stdout
    assert done.returncode == 1, printed
    assert "2 failed, 3 passed, 1 skipped" in printed
    assert "fail: OutputTensor: " in printed
    assert re.search(r"  OutputTensor\[\d+, \d+, \d+, \d+\]: expected -?\d+\.0, is -?\d+\.0\n", printed)
    assert "f(-x) == -f(x) does not hold for x = " in printed
    assert "unsupported: ceiling does not claim FLOAT16" in printed
    assert re.search(rf"again: dmlcts run .*python:faulty:Ceiling.* {re.escape(wrong.id)}", printed.replace('"', " "))
    assert "Traceback" not in printed
    (example,) = (tmp_path / "results" / "examples").iterdir()
    assert re.search(rf"again: dmlcts run .*--case-file .*results/examples/{re.escape(example.name)}", printed)


def test_a_module_of_other_specs_says_so_and_runs_nothing(tmp_path: Path) -> None:
    installed = spec_version(["ELEMENT_WISE_ROUND"])
    (file,) = write_modules([find_case(ONE_OF_EACH_KIND[0])], tmp_path, "1.2.3")
    file.write_text(file.read_text(encoding="utf-8").replace(installed, "000000000000"), encoding="utf-8")
    done = plain_pytest(tmp_path)
    printed = done.stdout + done.stderr
    assert done.returncode != 0
    expected = f"generated from spec 000000000000, but spec {installed} is installed: run `dmlcts generate` again"
    assert expected in " ".join(printed.split())
    assert "passed" not in printed
    assert "Traceback" not in printed
