"""``dmlcts spec findings``: the page of what DirectML.dll does otherwise than documented."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from dmlcts.conformance.commands.specs import spec_findings
from dmlcts.conformance.commands.specs.spec_findings import CONTRADICTION, command, findings, page
from dmlcts.reports.gate.waivers import Waiver
from dmlcts.spec.model.source import EFFECTS
from dmlcts.spec.reading.loader import load, operator_names

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_in_docs_is_what_the_command_writes() -> None:
    waivers = [f"--waivers={DOCS / 'waivers' / name}" for name in ("DirectML-1.15.4.yaml", "vkd3d.yaml")]
    done = CliRunner().invoke(command, waivers)
    assert done.exit_code == 0
    assert done.output == (DOCS / "measured" / "directml-1.15.4.md").read_text(encoding="utf-8")


def test_an_erratum_of_two_operators_is_one_line_and_bugs_come_first() -> None:
    operators = [load("MAX_POOLING1"), load("MAX_POOLING2")]
    ((erratum, names),) = [found for found in findings(operators) if found[0].id == "low-words-of-int64"]
    assert (names, erratum.measured) == (("MAX_POOLING1", "MAX_POOLING2"), "1.15.4")
    text = page(operators, [Waiver("MAX_POOLING1/x", "ends the process", "an issue")])
    assert text.index("| MAX\\_POOLING1 | ends the process | MAX\\_POOLING1/x |") < text.index(
        "| MAX\\_POOLING1, MAX\\_POOLING2 | Of two INT64"
    )
    assert text.startswith("# DirectML 1.15.4 and its documentation\n")


def test_bugs_of_other_releases_are_not_on_the_page() -> None:
    versions = {
        "all": {},
        "this": {"DirectML": ("1.8.0 to 1.15.4",)},
        "older": {"DirectML": ("1.8.0 to 1.15.2",)},
        "vkd3d's": {"vkd3d": ("2.1",)},
    }
    text = page(
        [load("MAX_POOLING1")], [Waiver(f"MAX_POOLING1/{name}", name, "an issue", versions=of) for name, of in versions.items()]
    )
    assert "## Bugs that are waived (3)" in text
    assert "MAX\\_POOLING1/older" not in text


def test_the_worst_effects_come_first() -> None:
    text = page([load("ONE_HOT"), load("ROI_ALIGN_GRAD"), load("SLICE1")], [])
    shown = [
        text.index(words)
        for words in ("removes the device (1)", "| SLICE1 | Where the window", "| ONE\\_HOT | DirectML.dll takes the lower 32")
    ]
    assert shown == sorted(shown)
    assert (
        "| ends the process or removes the device | ROI\\_ALIGN\\_GRAD |\n| gives other results for usual inputs | ONE\\_HOT, SLICE1 |"
        in text
    )
    assert "as far as the cases tell | the other 0 |" in text


def test_what_directml_does_otherwise_has_an_effect() -> None:
    errata = [(name, erratum) for name in operator_names() for erratum in load(name).errata]
    assert [f"{name}: {e.id}" for name, e in errata if e.severity == CONTRADICTION and e.measured and not e.effect] == []
    assert {e.effect for _, e in errata} == {"", *EFFECTS}


def test_of_a_contradiction_the_sentences_about_the_dll_are_shown() -> None:
    shortened = spec_findings._of_the_dll("The page says a. DirectML.dll does b: c. It is d.")
    assert shortened == "DirectML.dll does b: c."
    assert spec_findings._of_the_dll("The page says a.") == "The page says a."


def test_a_wrong_waiver_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("waivers: 3\n", encoding="utf-8")
    done = CliRunner().invoke(command, ["--waivers", str(file)])
    assert done.exit_code == 2 or "w.yaml" in str(done.exception)
