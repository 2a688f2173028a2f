"""What a run requires, and what an implementation declares: unsupported is a failure, no conformance, or excluded."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from dmlcts.conformance.backends.array_backend import ArrayBackend
from dmlcts.conformance.backends.backend import BackendInfo, Unsupported
from dmlcts.conformance.backends.process.protocol import ProtocolError, read_info
from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.execution.execute import execute
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.planning.requirements import read_profile, requirements
from dmlcts.generator.case.case import REJECTION
from dmlcts.generator.suite.suite import find_case, operator_cases
from dmlcts.reports.record.record import read_record
from dmlcts.spec.reading.document import SpecError

BIT_OR, BIT_XOR = "ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_BIT_XOR"
DECLINED, OTHER = f"{BIT_OR}/UINT8/4d", f"{BIT_OR}/UINT32/4d"
SCHEMA = Path(__file__).parents[3] / "conformance" / "runner" / "planning" / "schema" / "profile.schema.json"


@pytest.fixture(autouse=True)
def unruly_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "hosts"))


def run(out: Path, *more: object, backend: str = "python:unruly:Declines") -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in ("run", "-q", "--case", DECLINED, "--case", OTHER, "--backend", backend, "--out", out, *more)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def statuses(out: Path) -> dict[str, str]:
    return {result.case: result.status for result in read_record(out / "results.jsonl").results}


def test_what_a_backend_claims_and_does_not_support_is_no_conformance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 4
    assert "does NOT conform to the documentation at feature level 6.4" in capsys.readouterr().out
    assert statuses(tmp_path) == {DECLINED: "unsupported", OTHER: "pass"}
    claim = json.loads((tmp_path / "claim.json").read_text(encoding="utf-8"))
    assert (claim["claim"], claim["ok"], claim["statements"][0]["share_supported"]) == ("", False, 0.5)


@pytest.mark.parametrize("required", [BIT_OR, "UINT8", f"{BIT_OR}/UINT8"])
def test_what_is_required_and_unsupported_fails(required: str, tmp_path: Path) -> None:
    assert run(tmp_path, "--require", required) == 1
    assert statuses(tmp_path) == {DECLINED: "fail", OTHER: "pass"}
    record = read_record(tmp_path / "results.jsonl")
    assert record.results[0].message.startswith("unsupported, but required (")
    assert len(record.manifest.required) == 1
    claim = json.loads((tmp_path / "claim.json").read_text(encoding="utf-8"))
    assert claim["statements"][0]["share_supported"] == 0.5, "a failure, but not supported either"


def test_what_is_required_elsewhere_does_not_matter(tmp_path: Path) -> None:
    assert run(tmp_path, "--require", "UINT32") == 4


def test_a_requirement_without_a_case_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--require", BIT_XOR, backend="reference") == 1
    assert f"Required, but no case tested it: {BIT_XOR}/*." in capsys.readouterr().out


# ---- Profiles


def profile(folder: Path, text: str) -> Path:
    file = folder / "profile.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_profile_lists_operators_types_and_validation(tmp_path: Path) -> None:
    file = profile(
        tmp_path,
        f"profile: mine\ndescription: for me\noperators:\n  {BIT_OR}: [UINT8, UINT32]\n  GEMM: all\ndata_types: [FLOAT16]\nvalidation: true\n",
    )
    expected = (f"{BIT_OR}/UINT8", f"{BIT_OR}/UINT32", "GEMM/*", "*/FLOAT16", "validation")
    assert read_profile(file) == requirements([str(file)]) == expected
    assert requirements([BIT_OR, str(file), BIT_OR])[0] == f"{BIT_OR}/*"


def test_the_profile_in_the_guide_is_valid(tmp_path: Path) -> None:
    guide = (SCHEMA.parents[4] / "docs" / "claims.md").read_text(encoding="utf-8")
    file = profile(tmp_path, guide.partition("```yaml\n")[2].partition("```")[0])
    assert read_profile(file) == ("CONVOLUTION/FLOAT32", "CONVOLUTION/FLOAT16", "GEMM/*", "*/FLOAT32", "validation")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (
            "profile: mine\noperators:\n  ELEMENT_WISE_BIT_ORR: all\n",
            3,
            "there is no operator 'ELEMENT_WISE_BIT_ORR'; similar: ELEMENT_WISE_BIT_OR",
        ),
        (f"profile: mine\noperators:\n  {BIT_OR}:\n    - UINT8\n    - UINT9\n", 5, "unknown data type 'UINT9'"),
        (f"profile: mine\noperators:\n  {BIT_OR}: some\n", 3, "ELEMENT_WISE_BIT_OR"),
        ("profile: mine\ndata_types: [HALF]\n", 2, "data_types[0]: unknown data type 'HALF'"),
        ("profile: mine\ndata_type: [FLOAT16]\n", 2, "data_type"),
        ("operators: {GEMM: all}\n", 1, "profile"),
        ("profile: mine\n", 1, "operators"),
        ("- 1\n", 1, "mapping"),
    ],
)
def test_a_wrong_profile_is_an_input_error_with_file_line_and_field(
    text: str, line: int, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = profile(tmp_path, text)
    with pytest.raises(SpecError) as error:
        read_profile(file)
    assert f"{file}:{line}" in str(error.value)
    assert problem in str(error.value)
    assert run(tmp_path / "out", "--require", file) == 2
    assert "profile.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["ELEMENT_WISE_BIT_ORR", "FLOAT17", f"{BIT_OR}/FLOAT17", "GEMM2/FLOAT32", "no/such/file", ""])
def test_an_unknown_requirement_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="neither an operator with a spec"):
        requirements([text])


def test_a_profile_that_is_not_there_is_an_input_error() -> None:
    with pytest.raises(SpecError, match=r"nowhere\.yaml: cannot be read"):
        requirements(["nowhere.yaml"])


def test_the_schema_of_profiles_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA.read_text(encoding="utf-8")))


# ---- Declarations


class Declared(ArrayBackend):
    info = BackendInfo("declared", operators=(BIT_OR,))

    def compute(self, desc: object, inputs: object) -> dict[str, object]:  # type: ignore[override]
        raise Unsupported("nothing at all")


def test_cases_beyond_a_declaration_are_not_run_and_say_so() -> None:
    backend = Declared()
    info = backend.describe()
    assert not info.validates, "its refuse is not overridden"
    found = execute(find_case(f"{BIT_XOR}/UINT8/4d"), backend, info)
    assert (found.status, found.undeclared, found.message) == ("unsupported", "operator", f"declared does not claim {BIT_XOR}")
    negative = next(case for case in operator_cases(BIT_OR, "core") if case.expect == REJECTION)
    assert execute(negative, backend, info).undeclared == "validation"
    within = execute(find_case(DECLINED), backend, info)
    assert (within.status, within.undeclared) == ("unsupported", "")


def test_a_process_declares_the_same() -> None:
    info = read_info({"status": "ok", "name": "host", "operators": [BIT_OR], "validates": False})
    assert (info.operators, info.validates) == ((BIT_OR,), False)
    for wrong in ({"operators": ["BIT_OR"]}, {"operators": BIT_OR}, {"validates": 0}):
        with pytest.raises(ProtocolError, match="cannot be"):
            read_info({"status": "ok", "name": "host", **wrong})
