"""Why some bounds are vacuous: the reasons in ``vacuous.yaml``, by operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import resources

import yaml


@cache
def vacuous_reasons() -> Mapping[str, tuple[str, ...]]:
    """The reasons, for each operator with elements that have a bound of more than half the largest magnitude of their output."""
    text = resources.files("dmlcts.spec").joinpath("vacuous.yaml").read_text(encoding="utf-8")
    found: defaultdict[str, list[str]] = defaultdict(list)
    for entry in yaml.safe_load(text):
        for operator in entry["operators"]:
            found[operator].append(entry["why"])
    return {operator: tuple(reasons) for operator, reasons in found.items()}
