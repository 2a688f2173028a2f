"""What a probe's answers say: where a backend and the documentation differ, in few words.

Many probes meet the same difference: a data type that is refused is refused in every layout. Each is listed once, by what explains it best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from dmlcts.conformance.probing.probe import ACCEPTED, CONFIRMED, REFUSED, UNKNOWN, Probe, ProbeAnswer, Probed
from dmlcts.spec.model.measurement import ALL, MeasuredDifference


def accepted_beyond(probed: Probed) -> list[MeasuredDifference]:
    """The rules that the backend does not enforce, each with the ways of breaking it and the combinations of data types that it accepts.

    First what no negative case asks, in few words: no ways where all that breaks the rule is accepted, no types where they are all with
    which the rule was tried. Then the negative cases that were accepted, to the word, as these are not required.
    """
    return [*_further_differences(probed), *_waived_differences(probed)]


def _further_differences(probed: Probed) -> Iterator[MeasuredDifference]:
    enforced = {rule for each, answer in probed.answers if answer.status != ACCEPTED for rule in each.rules}
    tried: dict[tuple[str, str], list[tuple[Probe, ProbeAnswer]]] = {}
    for each, answer in probed.answers:
        for rule in each.rules if not each.demanded else ():
            tried.setdefault((rule, each.types), []).append((each, answer))
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (rule, types), answers in tried.items():
        ways = tuple(dict.fromkeys(_way(each, rule) for each, answer in answers if answer.status == ACCEPTED))
        if ways:
            found.setdefault((rule, ways if rule in enforced else ()), []).append(types)
    for (rule, ways), with_types in found.items():
        every = {types for other, types in tried if other == rule}
        yield MeasuredDifference(rule, ways, () if every == set(with_types) else tuple(with_types))


def _waived_differences(probed: Probed) -> Iterator[MeasuredDifference]:
    tried: dict[tuple[str, str], list[tuple[Probe, ProbeAnswer]]] = {}
    for each, answer in probed.answers:
        for rule in each.rules if each.demanded else ():
            tried.setdefault((rule, each.way), []).append((each, answer))
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (rule, way), answers in tried.items():
        types = tuple(each.types for each, answer in answers if answer.status == ACCEPTED)
        if types:
            found.setdefault((rule, ALL if len(types) == len(answers) else types), []).append(way)
    return (MeasuredDifference(rule, tuple(ways), types, waived=True) for (rule, types), ways in found.items())


def _way(each: Probe, rule: str) -> str:
    """How a probe breaks a rule; with the place, unless the rule names it."""
    named = rule.split("/")[1] in each.place.split("+")
    return each.way if named else f"{each.place}={each.way}"


def refused_promises(probed: Probed) -> list[MeasuredDifference]:
    """What is listed and refused, each refusal listed once: cells; data types that are never accepted together; other promises; what is left."""
    states = probed.promises()
    valid = [(each, answer) for each, answer in probed.answers if each.promises]
    refused = [(each, answer) for each, answer in valid if answer.status == REFUSED]
    cells = dict.fromkeys(label for label, status in probed.cells().items() if status == REFUSED)  # in order
    by_cell = [(each, answer) for each, answer in refused if not cells.keys().isdisjoint(each.promises)]
    others = [(each, answer) for each, answer in refused if cells.keys().isdisjoint(each.promises)]
    taken = {each.types for each, answer in valid if answer.status != REFUSED}
    together = [(each, answer) for each, answer in others if each.types not in taken]
    rest = [(each, answer) for each, answer in others if each.types in taken]

    found = []
    for table, ways in _refused_cells(cells).items():
        messages = (answer.message for each, answer in by_cell if any(_promise_subject(label) == table for label in each.promises))
        found.append(MeasuredDifference(table, ways, message=_most_frequent(messages)))
    if together:
        found.append(replace(_combine("support", together), ways=()))
    promised: dict[str, dict[str, str]] = {}
    combined: dict[str, list[tuple[Probe, ProbeAnswer]]] = {}
    for each, answer in rest:
        labels = [label for label in each.promises if states[label] == REFUSED]
        for label in labels:
            promised.setdefault(_promise_subject(label), {}).setdefault(label.rpartition("/")[2], answer.message)
        if not labels:
            combined.setdefault(f"{each.what}/{each.place}".rstrip("/"), []).append((each, answer))
    found += [
        MeasuredDifference(what, _sort_ways(tuple(ways)), message=_most_frequent(ways.values())) for what, ways in promised.items()
    ]
    return found + [_combine(what, answers) for what, answers in combined.items()]


def unanswered_promises(probed: Probed) -> list[MeasuredDifference]:
    """What the backend gave no answer about, with the first evidence of each."""
    found: dict[tuple[str, str], list[tuple[Probe, ProbeAnswer]]] = {}
    for each, answer in probed.answers:
        if answer.status == UNKNOWN:
            what = f"{each.what}/{each.place}".rstrip("/")
            found.setdefault((what, answer.message.partition("\n")[0]), []).append((each, answer))
    return [_combine(what, answers) for (what, _), answers in found.items()]


def _sort_ways(ways: tuple[str, ...]) -> tuple[str, ...]:
    """Ways that are all whole numbers in their order, others as they came."""
    return tuple(sorted(ways, key=int)) if all(way.isdigit() for way in ways) else ways


def _promise_subject(label: str) -> str:
    """What a promise is about: the table and the tensor of a cell, otherwise everything but the way."""
    return label.rsplit("/", 2 if label.startswith("support/") else 1)[0]


def _refused_cells(cells: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Cells by table and tensor, data types of the same dimension counts together: ``INT64 INT8 1-8d``."""
    tables: dict[str, dict[str, list[int]]] = {}
    for label in cells:
        table, data_type, count = label.rsplit("/", 2)
        tables.setdefault(table, {}).setdefault(data_type, []).append(int(count.removesuffix("d")))
    found = {}
    for table, by_type in tables.items():
        alike: dict[str, list[str]] = {}
        for data_type, dimensions in by_type.items():
            alike.setdefault(ranges(dimensions), []).append(data_type)
        found[table] = tuple(f"{' '.join(types)} {dimensions}d" for dimensions, types in alike.items())
    return found


def ranges(numbers: Iterable[int]) -> str:
    """Whole numbers in short: ``1-4,8``."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def _combine(what: str, answers: list[tuple[Probe, ProbeAnswer]]) -> MeasuredDifference:
    ways, types = (tuple(dict.fromkeys(values)) for values in zip(*((each.way, each.types) for each, _ in answers), strict=True))
    return MeasuredDifference(what, ways, types, _most_frequent(answer.message for _, answer in answers))


def _most_frequent(messages: Iterable[str]) -> str:
    """The first line of the most frequent message."""
    return Counter(messages).most_common(1)[0][0].partition("\n")[0]


def counts(states: Mapping[str, str]) -> dict[str, int]:
    """How many promises there are (``listed``) and what became of them."""
    found = Counter(states.values())
    return {"listed": len(states)} | {status: found[status] for status in (CONFIRMED, REFUSED, UNKNOWN)}
