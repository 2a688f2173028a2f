"""The smallest cases that show a fault, each as a file to download: a model in DxDispatch's form, or the case where a model cannot express it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from math import prod

from dmlcts.conformance.dxdispatch.write import model_text
from dmlcts.generator.case.case import REFERENCE, VALUES, Case, to_json
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.site.faults import Example, Fault
from dmlcts.reports.site.site import DOWNLOADS

MOST_ELEMENTS = 10_000
"""The most elements of a case's tensors for which a model is made; of a larger one, the file is the case, whose data follow from its id."""


def examples_of(
    operator: str, cases: Sequence[Case], faults: Iterable[Fault]
) -> tuple[dict[tuple[str, ...], Example], dict[str, str]]:
    """For the patterns of each fault the smallest case, and the texts of the files by their paths.

    Where no case of ``cases`` fits, those of level full are looked through, which takes seconds.
    """
    found: dict[tuple[str, ...], Example] = {}
    texts: dict[str, str] = {}
    for fault in faults:
        smallest = smallest_case(cases, fault.patterns) if fault.patterns else None
        if smallest is None and fault.patterns:
            smallest = smallest_case(operator_cases(operator), fault.patterns)
        if smallest is not None and fault.patterns not in found:
            file, text = download_of(smallest, len(texts) + 1)
            found[fault.patterns], texts[file] = Example(smallest.id, file), text
    return found, texts


def smallest_case(cases: Iterable[Case], patterns: Sequence[str]) -> Case | None:
    """The case with the fewest elements that one of the patterns matches, those first that expect values; None if there is none."""
    wanted = re.compile("|".join(translate(pattern.replace("[", "[[]")) for pattern in patterns))
    return min((case for case in cases if wanted.match(case.id)), key=_size, default=None)


def _size(case: Case) -> tuple[bool, int, int, str]:
    return (
        case.expect not in (REFERENCE, VALUES),
        sum(prod(tensor.sizes) for _, tensor in case.desc.tensors()),
        len(case.id),
        case.id,
    )


def download_of(case: Case, number: int) -> tuple[str, str]:
    """The path of the file that has a case, and its text."""
    name = f"{DOWNLOADS}/{case.operator.name}-{number}"
    if case.expect in (REFERENCE, VALUES) and sum(prod(tensor.sizes) for _, tensor in case.desc.tensors()) <= MOST_ELEMENTS:
        return f"{name}.model.json", model_text(case, inputs(case))
    return f"{name}.case.json", json.dumps(to_json(case), indent=1)
