"""What a probe's answers say: where a backend and the documentation differ, in few words.

Many probes meet the same difference: a data type that is refused is refused in every layout. Each is said once, by what explains it best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from dmlcts.conformance.probing.probe import ACCEPTED, CONFIRMED, REFUSED, UNKNOWN, Answer, Probe, Probed
from dmlcts.generator.plan import plan_of
from dmlcts.spec.measurement import Difference


def accepted_beyond(probed: Probed) -> list[Difference]:
    """The rules that the backend does not enforce, each with the data types (of the first tensor) and the ways that it accepts.

    A difference has no ways where every way that was tried is accepted, and no data types where it is in all with which the rule was tried, if
    these are those of negative cases or more. It waives the negative cases about its rule, with its data types,
    where one of them is accepted or nothing that breaks the rule is refused: not all data types have negative cases of their own.
    """
    tried: dict[tuple[str, str], list[tuple[Probe, Answer]]] = {}
    for each, answer in probed.answers:
        for rule in each.rules:
            tried.setdefault((rule, each.case.data_type), []).append((each, answer))
    found: dict[tuple[str, tuple[str, ...]], list[tuple[str, bool]]] = {}
    for (rule, data_type), answers in tried.items():
        accepted = [each for each, answer in answers if answer.status == ACCEPTED]
        if accepted:
            own = [each for each in accepted if not each.demanded] or accepted
            everything = len(accepted) == len(answers)
            ways = () if everything else tuple(dict.fromkeys(_way(each, rule) for each in own))
            found.setdefault((rule, ways), []).append((data_type, everything or any(each.demanded for each in accepted)))
    usual = {choice.main for choice in plan_of(probed.operator).representatives if choice.level <= probed.level}
    differences = []
    for (rule, ways), entries in found.items():
        types = tuple(data_type for data_type, _ in entries)
        waived = any(waives for _, waives in entries)
        every = {data_type for other, data_type in tried if other == rule}
        differences.append(Difference(rule, ways, () if usual <= set(types) == every else types, waived=waived))
    return differences


def _way(each: Probe, rule: str) -> str:
    """How a probe breaks a rule; the place is said where the rule does not say it."""
    said = not each.place or rule.split("/")[1] in each.place.split("+")
    return each.way if said else f"{each.place}={each.way}"


def refused_promises(probed: Probed) -> list[Difference]:
    """What is listed and refused, each refusal said once: cells; data types that are never taken together; other promises; what is left."""
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
        said = (answer.said for each, answer in by_cell if any(_promised(label) == table for label in each.promises))
        found.append(Difference(table, ways, said=_most(said)))
    if together:
        found.append(replace(_combined("support", together), ways=()))
    promised: dict[str, dict[str, str]] = {}
    combined: dict[str, list[tuple[Probe, Answer]]] = {}
    for each, answer in rest:
        labels = [label for label in each.promises if states[label] == REFUSED]
        for label in labels:
            promised.setdefault(_promised(label), {}).setdefault(label.rpartition("/")[2], answer.said)
        if not labels:
            combined.setdefault(f"{each.what}/{each.place}".rstrip("/"), []).append((each, answer))
    found += [Difference(what, _sorted(tuple(ways)), said=_most(ways.values())) for what, ways in promised.items()]
    return found + [_combined(what, answers) for what, answers in combined.items()]


def unanswered(probed: Probed) -> list[Difference]:
    """What the backend gave no answer about, with the first evidence of each."""
    found: dict[tuple[str, str], list[tuple[Probe, Answer]]] = {}
    for each, answer in probed.answers:
        if answer.status == UNKNOWN:
            what = f"{each.what}/{each.place}".rstrip("/")
            found.setdefault((what, answer.said.partition("\n")[0]), []).append((each, answer))
    return [_combined(what, answers) for (what, _), answers in found.items()]


def _sorted(ways: tuple[str, ...]) -> tuple[str, ...]:
    """Ways that are all whole numbers in their order, others as they came."""
    return tuple(sorted(ways, key=int)) if all(way.isdigit() for way in ways) else ways


def _promised(label: str) -> str:
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


def _combined(what: str, answers: list[tuple[Probe, Answer]]) -> Difference:
    ways, types = (tuple(dict.fromkeys(values)) for values in zip(*((each.way, each.types) for each, _ in answers), strict=True))
    return Difference(what, ways, types, _most(answer.said for _, answer in answers))


def _most(said: Iterable[str]) -> str:
    """What was said most often, first line."""
    return Counter(said).most_common(1)[0][0].partition("\n")[0]


def counts(states: Mapping[str, str]) -> dict[str, int]:
    """How many promises there are (``listed``) and what became of them."""
    found = Counter(states.values())
    return {"listed": len(states)} | {status: found[status] for status in (CONFIRMED, REFUSED, UNKNOWN)}
