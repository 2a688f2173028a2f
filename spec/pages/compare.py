"""Every difference between a reference page and the spec of its operator, and which of them an erratum explains.

| key | what differs |
|---|---|
| ``operator``, ``struct`` | the page describes another operator (then nothing else is compared); the name of its struct |
| ``fields/NAME``, ``fields/order`` | a field of the struct is missing, superfluous, renamed or of another type; the order of the fields |
| ``members/NAME``, ``members/order`` | the same, for the member descriptions on a page that also shows the struct |
| ``availability`` | the feature level that introduced the operator |
| ``support/LEVEL`` | a table that only one of the two has |
| ``support/LEVEL/TENSOR`` | a row that only one of the two has |
| ``support/LEVEL/TENSOR/types``, ``.../dimensions``, ``.../kind`` | the row's content |
| ``support/LEVEL/ATTRIBUTE=VALUE,../..`` | the same, for tables that apply to some values of an attribute |
| ``constraint/LABEL`` | what must be the same: the spec's label, or ``same-data-type`` and so on if only the page says it |
| ``in-place`` | which output may alias which input |
| ``in-place/together`` | whether an output may alias several inputs at once |
| ``example/N`` | the page's Nth example, which is the spec's example ``page-N`` (of a ``page-2-axis-1``, ``example/2-axis-1``) |

The spec's promises with the basis ``measured`` are not expected on a page, but must not be contradicted by one. A page that has
its English text beside a translation is compared in both languages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, zip_longest

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import MEASURED, Example, Field, Operator, Support, TensorSupport
from dmlcts.spec.pages.compare_examples import summary, unknown_names, unlike
from dmlcts.spec.pages.examples import PageExample
from dmlcts.spec.pages.page import Page, PageField
from dmlcts.spec.pages.tables import PageTable, PageTensor


@dataclass(frozen=True, slots=True)
class PageDifference:
    """A difference between page and spec. ``erratum`` is the label of the spec's erratum that explains it, if any.

    ``line`` is the page's, where there is one.
    """

    key: str
    message: str
    page_says: str
    spec_says: str
    erratum: str | None = None
    line: int | None = None


def compare(page: Page, operator: Operator) -> list[PageDifference]:
    """Every difference, each key once, in the order of the table above."""
    explained = {key: erratum.id for erratum in operator.errata for key in erratum.differences}
    found: dict[str, PageDifference] = {}
    for text in (page, page.original):
        for difference in _differences(text, operator) if text else ():
            found.setdefault(difference.key, replace(difference, erratum=explained.get(difference.key)))
    return list(found.values())


def _differences(page: Page, operator: Operator) -> Iterator[PageDifference]:
    if page.operator != operator.name:
        yield _difference("operator", "the page is about another operator", page.operator, operator.name)
        return
    struct = f"DML_{operator.name}_OPERATOR_DESC"
    if page.struct and page.struct != struct:
        yield _difference("struct", "the struct has another name", page.struct, struct)
    yield from _fields("fields", page.fields, operator)
    if page.members:
        yield from _fields("members", page.members, operator)
    level = operator.introduced.name
    if page.availability != level:
        yield _difference("availability", f"{operator.name} was introduced at another level", page.availability or "nothing", level)
    yield from _support(page, operator)
    yield from _constraints(page, operator)
    yield from _in_place(page, operator)
    yield from _examples(page, operator)


def _difference(key: str, message: str, page_says: str, spec_says: str, line: int | None = None) -> PageDifference:
    return PageDifference(key, message, page_says, spec_says, line=line)


# Fields: (C++ type, pointer, with _Field_size_) of what a spec file writes in short.
_DECLARED = {
    **{name: {(name, False, False)} for name in ("UINT64", "INT", "FLOAT", "BOOL")},
    "UINT": {("UINT", False, False), ("BOOL", False, False)},  # the header's schema calls a BOOL a UINT
    **{f"{name}_ARRAY": {(name, True, True)} for name in ("UINT", "INT", "FLOAT")},
    **{name: {(f"DML_{name}", False, False)} for name in ("SIZE_2D", "SCALAR_UNION")},
    **{name: {(f"DML_{name}", True, False)} for name in ("SCALE_BIAS", "TENSOR_DESC", "OPERATOR_DESC")},
    **{f"{name}_ARRAY": {(f"DML_{name}", True, True)} for name in ("TENSOR_DESC", "OPERATOR_DESC")},
}


def _fields(place: str, page_fields: Sequence[PageField], operator: Operator) -> Iterator[PageDifference]:
    on_page, in_spec = [entry.name for entry in page_fields], [field.name for field in operator.fields]
    more = [entry for entry in page_fields if entry.name not in in_spec]
    missing = [field for field in operator.fields if field.name not in on_page]
    if len(more) == len(missing):  # an unknown field is taken as the missing one, renamed
        for entry, field in zip(more, missing, strict=True):
            yield _difference(f"{place}/{field.name}", f"{field.name} has another name", str(entry), _field_text(field), entry.line)
    else:
        for field in missing:
            yield _difference(f"{place}/{field.name}", f"{field.name} is missing", "nothing", _field_text(field))
        for entry in more:
            message = f"{operator.name} has no field {entry.name}"
            yield _difference(f"{place}/{entry.name}", message, str(entry), "nothing", entry.line)
    known = [(entry, operator.field(entry.name)) for entry in page_fields if entry.name in in_spec]
    for entry, field in known:
        if not _declares(entry, field):
            message = f"{entry.name} is declared differently"
            yield _difference(f"{place}/{entry.name}", message, str(entry), _field_text(field), entry.line)
    if [entry.name for entry, _ in known] != [name for name in in_spec if name in on_page]:
        yield _difference(f"{place}/order", "the fields stand in another order", ", ".join(on_page), ", ".join(in_spec))


def _declares(entry: PageField, field: Field) -> bool:
    """Whether a declaration on the page is the spec's field."""
    declared = {(field.enum, False, False)} if field.enum else _DECLARED[field.type]
    counted = field.count in (None, entry.size)
    return (entry.type, entry.pointer, bool(entry.size)) in declared and counted and entry.maybe_null == field.optional


def _field_text(field: Field) -> str:
    counted = f" of {field.count} elements" if field.count else ""
    return f"{'optional ' if field.optional else ''}{field.enum or field.type} {field.name}{counted}"


# Tables. Page and spec may group an attribute's values differently. So they are compared value by value, and equal differences within a
# table of the spec are merged again.
_Finding = tuple[str, str, str, str, int | None]  # the key's end, message, page says, spec says, line


def _support(page: Page, operator: Operator) -> Iterator[PageDifference]:
    in_spec = sorted(operator.support, key=lambda table: table.basis == MEASURED)  # measured tables apply only where no other does
    on_page: list[tuple[PageTable, str, dict[str, tuple[str, ...]]]] = []
    for table in page.support:
        level, limits = table.level or operator.introduced.name, _limits(table.only, operator)
        if limits is None:
            only = ",".join(table.only)
            yield _difference(
                f"support/{level}/{only}", f"no attribute of {operator.name} has these values", only, "nothing", table.line
            )
        else:
            on_page.append((table, level, limits))
    values = _limiting_values([*(table.when for table in in_spec), *(limits for _, _, limits in on_page)], operator)
    for level in sorted({table.level.name for table in in_spec} | {level for _, level, _ in on_page}, reverse=True):
        alike: dict[tuple[int, _Finding], list[dict[str, str]]] = {}
        for combination in product(*values.values()):
            attributes = dict(zip(values, combination, strict=True))
            ours = [table for table in in_spec if table.level.name == level and _applies(table.when, attributes)]
            theirs = [table for table, at, limits in on_page if at == level and _applies(limits, attributes)]
            for difference in _tables(theirs, ours, operator, level):
                alike.setdefault((id(ours[0]) if ours else 0, difference), []).append(attributes)
        for (_, (end, message, page_says, spec_says, line)), where in alike.items():
            which = "".join(f"/{name}={','.join(dict.fromkeys(attributes[name] for attributes in where))}" for name in values)
            yield _difference(f"support/{level}{which}{end}", message, page_says, spec_says, line)


def _limits(only: Sequence[str], operator: Operator) -> dict[str, tuple[str, ...]] | None:
    """The attribute that has all these constants, with them; empty if there are no constants, None if no attribute has them all."""
    if not only:
        return {}
    for field in operator.fields:
        short = tuple(name.removeprefix(f"{field.enum}_") for name in only)
        if field.enum and all(name in abi().enums[field.enum].values for name in short):
            return {field.name: short}
    return None


def _limiting_values(limits: Iterable[Mapping[str, Sequence[str | int]]], operator: Operator) -> dict[str, list[str]]:
    """The attributes that limit tables, each with its values in the enumeration's order."""
    found: dict[str, set[str]] = {}
    for when in limits:
        for name, allowed in when.items():
            found.setdefault(name, set()).update(str(value) for value in allowed)
    enums = {field.name: field.enum for field in operator.fields}
    orders = {name: abi().enums[enum].values if (enum := enums.get(name)) else {} for name in found}
    return {name: sorted(values, key=lambda value: (orders[name].get(value, 0), value)) for name, values in found.items()}


def _applies(when: Mapping[str, Sequence[str | int]], attributes: Mapping[str, str]) -> bool:
    return all(attributes[name] in map(str, allowed) for name, allowed in when.items())


def _tables(theirs: Sequence[PageTable], ours: Sequence[Support], operator: Operator, level: str) -> Iterator[_Finding]:
    if not theirs or not ours:
        if ours and ours[0].basis != MEASURED:
            yield "", f"the page has no table of feature level {level}", "nothing", f"a table of {', '.join(ours[0].tensors)}", None
        if theirs:
            rows = f"a table of {', '.join(row.name for row in theirs[0].tensors)}"
            yield "", f"the spec has no table of feature level {level}", rows, "nothing", theirs[0].line
        return
    if len(theirs) > 1:
        lines = f"tables in the lines {', '.join(str(table.line) for table in theirs)}"
        yield "", f"the page has {len(theirs)} tables of feature level {level}", lines, "one table", theirs[1].line
    for name in ours[0].tensors:
        if not any(row.name == name for row in theirs[0].tensors):
            yield f"/{name}", f"the table has no row for {name}", "nothing", name, theirs[0].line
    for row in theirs[0].tensors:
        if row.name not in ours[0].tensors:
            yield f"/{row.name}", f"{operator.name} has no tensor {row.name}", row.name, "nothing", row.line
        else:
            field = operator.field(row.name)
            optional = field.optional and (field.optional_since is None or field.optional_since <= ours[0].level)
            silent = ours[0].basis == MEASURED and not row.data_types
            yield from _row(row, ours[0].tensors[row.name], _kind(optional, field.kind), silent)


def _row(row: PageTensor, spec: TensorSupport, kind: str, silent: bool) -> Iterator[_Finding]:
    """``silent``: the page gives no data types, and those of the spec were measured."""
    if set(row.data_types) != set(spec.data_types) and not silent:
        both = ", ".join(row.data_types) or "none", ", ".join(spec.data_types) or "none"
        yield f"/{row.name}/types", f"{row.name} has other data types", *both, row.line
    counts = tuple(spec.dimension_counts())
    if row.dimensions != counts:
        both = ", ".join(map(str, row.dimensions)) or "none", ", ".join(map(str, counts))
        yield f"/{row.name}/dimensions", f"{row.name} has other dimension counts", *both, row.line
    if row.kind and _kind(row.optional, row.kind) != kind:
        yield f"/{row.name}/kind", f"{row.name} is of another kind", _kind(row.optional, row.kind), kind, row.line


def _kind(optional: bool, kind: str) -> str:
    return f"{'optional ' if optional else ''}{kind}"


# Constraints. Equality is an equivalence relation: a page may state it for all tensors at once, and a spec in two constraints.
_LABELS = {"DataType": "same-data-type", "DimensionCount": "same-dimension-count", "Sizes": "same-sizes"}


def _constraints(page: Page, operator: Operator) -> Iterator[PageDifference]:
    every = tuple(field.name for field in operator.fields if field.is_tensor)
    binding = (*page.same, *page.member_rules)
    for prop, label in _LABELS.items():
        ours = [c for c in operator.constraints if c.same == prop and c.when is None and c.before is None]
        in_spec = _classes(constraint.tensors for constraint in ours)
        on_page = _classes(rule.tensors or every for rule in binding if rule.property == prop)
        for constraint in ours:
            whole = all(name in every for name in constraint.tensors)  # no sentence mentions an array's elements
            expected = whole and constraint.basis != MEASURED and prop not in page.unread_topics
            if expected and not _is_in_one_class(constraint.tensors, on_page):
                message = f"the page does not say that these have the same {prop}: {', '.join(constraint.tensors)}"
                yield _difference(f"constraint/{constraint.label}", message, _class_list(on_page), constraint.text)
        for rule in (*binding, *page.prose_rules):
            tensors = rule.tensors or every
            if rule.property == prop and not _is_in_one_class(tensors, in_spec):
                key = next((c.label for c in ours if len({*c.tensors} & {*tensors}) > 1), label)
                message = f"the spec does not say that these have the same {prop}: {', '.join(tensors)}"
                yield _difference(f"constraint/{key}", message, ", ".join(tensors), _class_list(in_spec), rule.line)


def _classes(groups: Iterable[Iterable[str]]) -> list[set[str]]:
    """The equivalence classes formed by groups of equal tensors."""
    classes: list[set[str]] = []
    for group in groups:
        whole = set(group).union(*(known for known in classes if known & set(group)))
        classes = [known for known in classes if not known & whole] + [whole]
    return classes


def _is_in_one_class(tensors: Iterable[str], classes: Iterable[set[str]]) -> bool:
    return any(set(tensors) <= known for known in classes)


def _class_list(classes: Iterable[set[str]]) -> str:
    return "; ".join(", ".join(sorted(each)) for each in classes) or "nothing"


def _in_place(page: Page, operator: Operator) -> Iterator[PageDifference]:
    inputs, outputs = ({field.name for field in fields} for fields in (operator.inputs(), operator.outputs()))
    excepted = {name for rule in page.aliases if rule.exception for name in rule.names}
    on_page: set[tuple[str, str]] = set()
    for rule in page.aliases:
        if not rule.exception:
            # An unknown name still shows, as the kind that the name suggests.
            to = {name for name in rule.names if name in outputs or (name not in inputs and name.startswith("Output"))}
            from_ = set(rule.names) - to
            pairs = product(to or (outputs if rule.any_output else ()), from_ or (inputs if rule.any_input else ()))
            on_page |= {(output, name) for output, name in pairs if name not in excepted}
    ours = {(entry.output, name): entry.basis for entry in operator.in_place for name in entry.inputs}
    expected = {pair for pair, basis in ours.items() if basis != MEASURED}
    if not expected <= on_page <= ours.keys():
        if "in-place" not in page.unread_topics:
            line = page.aliases[0].line if page.aliases else None
            yield _difference("in-place", "other outputs may alias inputs", _aliases(on_page), _aliases(expected), line)
        return
    several = any(rule.several for rule in page.aliases if not rule.exception)
    together = any(entry.together for entry in operator.in_place if entry.basis != MEASURED)
    if page.aliases and several != together:
        words = {True: "several inputs at once", False: "one input"}
        yield _difference(
            "in-place/together",
            "the number of inputs that an output may alias differs",
            words[several],
            words[together],
            page.aliases[0].line,
        )


def _aliases(pairs: Iterable[tuple[str, str]]) -> str:
    by_output: dict[str, list[str]] = {}
    for output, name in sorted(pairs):
        by_output.setdefault(output, []).append(name)
    return "; ".join(f"{output} may alias {', '.join(names)}" for output, names in by_output.items()) or "nothing"


def _examples(page: Page, operator: Operator) -> Iterator[PageDifference]:
    ours = {example.id.removeprefix("page-"): example for example in operator.examples if example.basis != MEASURED}
    theirs = {str(shown.number): shown for shown in page.examples}
    for number, shown in list(theirs.items()):
        same = [label for label, example in ours.items() if not (shown.problem or unlike(shown, example, operator))]
        for known in same:
            del ours[known]
        if same:
            del theirs[number]
    # Of the rest, the spec's page-2 is the page's example 2; the others are matched in order.
    left = [label for label, example in ours.items() if example.id != label]
    pairs = {number: number for number in theirs if number in left}
    rest = zip_longest((n for n in theirs if n not in pairs), (label for label in left if label not in pairs))
    for page_label, label in sorted((*pairs.items(), *rest), key=lambda pair: pair[1] or pair[0] or ""):
        yield _example(theirs.get(page_label or ""), ours.get(label or ""), label or page_label or "", operator)


def _example(shown: PageExample | None, ours: Example | None, label: str, operator: Operator) -> PageDifference:
    spec_says = f"example {ours.id}" if ours else "no such example"
    if shown is None:
        return _difference(f"example/{label}", f"the page has no example {label}", "nothing", spec_says)
    why = (
        shown.problem
        or unknown_names(shown, operator)
        or (unlike(shown, ours, operator) if ours else "the spec has no such example")
    )
    return _difference(f"example/{label}", f"example {shown.number}: {why}", summary(shown), spec_says, shown.line)
