"""The pages of operators from their specs and cases, and what runs say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import getdoc
from pathlib import Path

from dmlcts.conformance.commands.specs.site.examples import examples_of
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reference.registry import reference_of
from dmlcts.reports.gate.waivers import Waiver
from dmlcts.reports.kernels.table import coverages, kernels
from dmlcts.reports.kernels.text import coverage_text
from dmlcts.reports.record.files import by_operator
from dmlcts.reports.record.record import Record
from dmlcts.reports.record.verdict import backend_name
from dmlcts.reports.runs.run import Run, condense
from dmlcts.reports.site.content import CaseLine, KernelLine, Kernels, OperatorPage
from dmlcts.reports.site.faults import Example, Fault, known_faults
from dmlcts.spec.model.source import CONTESTED
from dmlcts.spec.reading.loader import load

LEVEL = "core"
"""The level whose cases the pages list: those of level full would be a hundred times the text."""

MOST_KERNELS = 20
"""So many kernels of an operator are listed; `dmlcts kernels` has all."""


@dataclass(frozen=True, slots=True)
class RunRead:
    """A run as others are set beside it, and the kernels of its operators, where its backend names any."""

    run: Run
    kernels: Mapping[str, Kernels]


@dataclass(frozen=True, slots=True)
class OfCases:
    """What an operator's cases say: the lines of its page, for the label of a promise its case, contested data types, known faults with their smallest
    cases, and the texts of its downloads by their paths. It travels between processes, as an operator does not.
    """

    lines: Sequence[CaseLine]
    tested_by: Mapping[str, str]
    contested: frozenset[str]
    faults: Sequence[Fault]
    examples: Mapping[tuple[str, ...], Example]
    texts: Mapping[str, str]


def of_cases(name: str, waivers: Sequence[Waiver]) -> OfCases:
    """What the cases of an operator say."""
    lines, tested_by, contested = list[CaseLine](), dict[str, str](), set[str]()
    cases = [case for case in operator_cases(name, LEVEL) if case.level in ("smoke", LEVEL)]
    for case in cases:
        lines.append(CaseLine(case.id, case.kind, case.basis, case.level, case.feature_level))
        for label in case.covers:
            tested_by.setdefault(label, case.id)
        if case.basis == CONTESTED:
            contested.update(tensor.data_type for _, tensor in case.desc.tensors())
    faults = known_faults(load(name), waivers)
    examples, texts = examples_of(name, cases, faults)
    known = {case.id for case in cases}
    lines += [CaseLine(each.case, "", "", "full", "") for each in examples.values() if each.case not in known]
    return OfCases(lines, tested_by, frozenset(contested), faults, examples, texts)


def page_of(name: str, found: OfCases, ran: Mapping[str, Kernels]) -> OperatorPage:
    """The page of an operator."""
    return OperatorPage(
        load(name),
        _formula(name),
        found.lines,
        found.tested_by,
        found.contested,
        found.faults,
        found.examples,
        ran.get(name),
    )


def _formula(name: str) -> str:
    """What the reference function says that it computes."""
    function = reference_of(name)
    return (getdoc(function) or "") if function else ""


def read_run_of(path: Path) -> RunRead:
    """A run, read once. Raises RecordError."""
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.reports.explain.explanation import FILE, read_texts

    record = read_run(path)
    explained = read_texts((path if path.is_dir() else path.parent) / FILE)
    return RunRead(condense(record, explained), _kernels_of(record))


def _kernels_of(record: Record) -> dict[str, Kernels]:
    results = by_operator(record.results)
    found = {}
    for coverage in coverages(record):
        lines = sorted(kernels(results[coverage.operator]), key=lambda kernel: (-len(kernel.cases), kernel.label))[:MOST_KERNELS]
        found[coverage.operator] = Kernels(
            backend_name(record.manifest),
            coverage_text(coverage),
            [KernelLine(each.label, len(each.cases), len(each.failing), min(each.cases, key=len)) for each in lines],
        )
    return found
