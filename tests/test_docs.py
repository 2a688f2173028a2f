"""What the guides show is run: a sample that does not work is worse than none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dmlcts.conformance.commands.cli import main
from dmlcts.reports.record import read_record

ROOT = Path(__file__).parents[1]


def samples(file: str, language: str) -> list[str]:
    """The code blocks of a language in a guide."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("guide", ["README.md", "docs/python-backend.md"])
def test_the_class_in_a_guide_passes_what_it_claims(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = next(text for text in samples(guide, "python") if "class Mine" in text)
    module = f"mine_{re.sub(r'[^a-z]', '_', guide.lower())}"
    (tmp_path / f"{module}.py").write_text(sample, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "run",
                "--backend",
                f"python:{module}:Mine",
                "-k",
                "BIT_OR or ELEMENT_WISE_ADD/ or LEAKY_RELU",
                "--level",
                "smoke",
                "--out",
                "out",
            ]
        )
    statuses = [result.status for result in read_record(tmp_path / "out" / "results.jsonl").results]
    assert ended.value.code == 0
    assert statuses.count("pass") >= 5
    assert set(statuses) == {"pass", "unsupported"}
