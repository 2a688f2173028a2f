"""Ids are unique, become names of files, say what the case is, and are found by ``-k``; a case survives being written and read."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from dmlcts.generator.case.case import LONGEST_ID, Case, from_json, to_json
from dmlcts.generator.case.id_filter import may_match
from dmlcts.generator.checks.given import Check, OperatorCases, some_cases
from dmlcts.spec.reading.loader import load

PART = r"[A-Za-z0-9_.+=,\[\]-]+"
ID = re.compile(rf"[A-Z0-9_]+/[A-Z0-9]+(-[A-Z0-9]+)*/{PART}(/{PART})*")

_NUMBER = re.compile(r"(?:FLOAT|U?INT)\d+|\d+")
"""A number in an id, or a data type, which is a name."""


def short_and_unique(given: OperatorCases) -> Iterator[str]:
    """An id becomes the name of a file, on file systems too for which upper and lower case are one."""
    for case in given.cases:
        if not ID.fullmatch(case.id):
            yield f"{case.id}: parts of an id have letters, digits and _.+=,[]- alone; rename what it is made of in the spec"
        if len(case.id) > LONGEST_ID:
            yield f"{case.id}: an id has at most {LONGEST_ID} characters; give configurations, sets and symbols shorter names"
    counts = Counter(case.id.lower() for case in given.cases)
    for case_id, count in counts.items():
        if count > 1:
            yield f"{case_id}: {count} cases have this id; names in a spec must differ in more than upper and lower case"


def true_to_the_case(given: OperatorCases) -> Iterator[str]:
    """An id begins with operator, types of data and kind."""
    for case in given.cases:
        operator, types, kind, *_ = (*case.id.split("/"), "", "")
        if not operator == case.operator.name == case.desc.type == given.operator.name:
            yield f"{case.id}: is of {case.desc.type}, and {given.operator.name} was to be tested"
        if types.split("-")[0] != case.data_type:
            yield f"{case.id}: is called {types} and is of {case.data_type}"
        if kind != case.kind and not (case.kind in ("table", "combination", "random") and re.fullmatch(r"[1-8]d", kind)):
            yield f"{case.id}: is called {kind} and is a case of kind {case.kind}"


def found_by_words(given: OperatorCases) -> Iterator[str]:
    """``-k`` reads specs' texts: a part of an id that none has would lose the case. Of parts that differ in numbers alone, one is tried."""
    parts = {_NUMBER.sub(_any_number, part): part for case in given.cases for part in case.id.split("/")}
    for part in sorted(parts.values()):
        for word in re.split(r"[()]+", part):
            if not may_match(word, given.operator.name):
                yield f"-k {word} does not find the cases of {given.operator.name} with {part}; add the word to generator/case/id_filter.py"


def _any_number(found: re.Match[str]) -> str:
    return "0" if found[0].isdecimal() else found[0]


def survive_json(given: OperatorCases) -> Iterator[str]:
    """A case goes to other processes, and into emitted tests, as JSON."""
    for case in some_cases(given.cases):
        text = json.dumps(to_json(case), allow_nan=False)
        back = from_json(json.loads(text), lambda name: given.operator if name == given.operator.name else load(name))
        if back != case and not (_holds_nan(case) and json.dumps(to_json(back)) == text):
            yield f"{case.id}: is another case once written as JSON and read again"


def _holds_nan(case: Case) -> bool:
    """A NaN among the attributes is not equal to itself."""
    return any(value != value for value in case.desc.fields.values())


CHECKS: tuple[Check, ...] = (short_and_unique, true_to_the_case, found_by_words, survive_json)
