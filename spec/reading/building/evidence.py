"""Evidence in a spec file, and its sentence for readers.

| in the file | the sentence |
|---|---|
| ``{page: WindowSize}`` | the operator's reference page, WindowSize |
| ``{page: true}`` | the operator's reference page |
| ``{source: the reference page of DML_CONVOLUTION_MODE}`` | as it stands there |
| ``{measured: 1.15.4}`` of the example ``nan`` of ROUND | DirectML.dll 1.15.4 on a software adapter (dmlcts run ROUND ... -k example/nan) |
| ``{measured: 1.15.4, which: adds in FLOAT32}`` | DirectML.dll 1.15.4 ..., which adds in FLOAT32 |
| ``{measured: 1.15.4, shown_by: values nans}`` | DirectML.dll 1.15.4 on a software adapter (values nans) |
| a text | the text |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dmlcts.spec.model.operator import CONTESTED, DOCUMENTED, MEASURED

_PAGE = "the operator's reference page"


def wrong_commit(evidence: str | Mapping[str, Any]) -> str:
    """What the evidence calls a commit and is none: 8 to 40 hexadecimal digits; empty if all are."""
    text = evidence if isinstance(evidence, str) else str(evidence.get("source", ""))
    named = re.findall(r"\b(?:at|against) commits? ([^\s,;:.)]+)(?: and (\w+))?", text)
    return next((word for words in named for word in words if word and not re.fullmatch("[0-9a-f]{8,40}", word)), "")


def basis_of(entry: Mapping[str, Any]) -> str:
    """The basis of an example: as given, or as it follows from its answers and its evidence."""
    if "basis" in entry:
        return str(entry["basis"])
    if "answers" in entry:
        return CONTESTED
    evidence = entry["evidence"]
    return MEASURED if isinstance(evidence, Mapping) and not {"page", "source"} & evidence.keys() else DOCUMENTED


def sentence(evidence: str | Mapping[str, Any], operator: str = "", example: str = "") -> str:
    """Evidence in words; a measured example of an operator includes the command that measures it again."""
    if isinstance(evidence, str):
        return evidence
    found = []
    if "page" in evidence:
        found.append(_PAGE if evidence["page"] is True else f"{_PAGE}, {evidence['page']}")
    if "source" in evidence:
        found.append(evidence["source"])
    if "measured" in evidence:
        command = f"dmlcts run {operator} --backend directml --basis measured -k example/{example}" if example else ""
        shown_by = evidence.get("shown_by", command)
        text = f"DirectML.dll {evidence['measured']} on a software adapter"
        text += f" ({shown_by})" if shown_by else ""
        found.append(text + (f", which {evidence['which']}" if "which" in evidence else ""))
    return "; ".join(found)
