"""For the tests of models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exec_models import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(model: Any) -> Path:
        file = tmp_path / "model.json"
        file.write_text(model if isinstance(model, str) else json.dumps(model), encoding="utf-8")
        return file

    return written
