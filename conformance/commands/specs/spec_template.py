"""The texts that ``dmlcts spec new`` begins with: of a spec file, and of the module of a reference function."""

from __future__ import annotations

import builtins
import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dmlcts.spec.model.abi import abi, feature_level, first_level
from dmlcts.spec.model.operator import Field, Operator
from dmlcts.spec.reading.document import parse, read
from dmlcts.spec.reading.file_form import CASES, ORDER, SCHEMA
from dmlcts.spec.reading.inherit import OWN as NEVER_INHERITED
from dmlcts.spec.reading.loader import family_of, load_document, operator_names, operators_folder, profile
from dmlcts.spec.writing.yaml_writer import entry

OWN = ("operator", "type", "introduced", "summary", "accepts", "examples", "errata", "sources")
"""The sections that are not copied from another operator: the ABI's facts, and what rests on evidence about that operator."""

# The spec


def begin_spec(name: str, other: str | None, earlier: bool = False) -> str:
    """The text of a spec file to begin with. ``other``: the operator or profile that it is like, ``earlier`` if it is an earlier version."""
    level = first_level(name)
    head = {
        "operator": name,
        "type": abi().operator_types[name],
        "introduced": str(level),
        "summary": "FILL IN, what it computes, in a sentence.",
    }
    start = f"{SCHEMA.format('../../')}\n{_yaml(head)}"
    evidence = _EVIDENCE.format(name=name)
    plain = {section: text.format(level=level) for section, text in _PLAIN.items()}
    if other is None:
        return f"{start}\n{_join_sections(plain)}\n{evidence}\n{_cases(['InputTensor'])}"
    if other not in operator_names():
        given = dict(profile(other).data)
        if "support" in given:
            plain["support"] = _with_tables(other, given.pop("support"), name)
        missing = {section: text for section, text in plain.items() if section not in given}
        inputs = [field["name"] for field in given.get("fields", ()) if field["kind"] == "input"]
        cases = "" if "values" in given.get("cases", {}) else f"\n{_cases(inputs or ['InputTensor'])}"
        return f"{start}extends: {other}\n\n{_profile_comments(other, given)}\n{_join_sections(missing)}\n{evidence}{cases}"
    if earlier:
        return f"{start}extends: {other}\n\n{_EARLIER}{_yaml({'support': _tables(_support(other), name)})}\n{evidence}"
    promises, cases = _copy_promises(other, name)
    return f"{start}\n{promises}{_found_about(other)}{evidence}{cases}"


_PLAIN = {
    "fields": """\
fields: # CHECK: the struct's fields, in its order
  - {{name: InputTensor, kind: input, type: TENSOR_DESC}}
  - {{name: OutputTensor, kind: output, type: TENSOR_DESC}}
""",
    "support": """\
support: # CHECK: every table of the page, the newest level's first
  - {{level: "{level}", dimensions: 1-8, types: [FLOAT32, FLOAT16]}}
""",
    "constraints": """\
constraints: # CHECK: what the page requires of several tensors
  same-data-type: {{same: DataType, of: [InputTensor, OutputTensor]}}
  same-dimension-count: {{same: DimensionCount, of: [InputTensor, OutputTensor]}}
  same-sizes: {{same: Sizes, of: [InputTensor, OutputTensor]}}
""",
    "shapes": """\
shapes: # CHECK: sizes by symbols, so that the constraints hold
  - sizes: {{InputTensor: ["*S"], OutputTensor: ["*S"]}}
""",
    "tolerance": """\
tolerance: {{class: exact}} # CHECK: or another class: the table in docs/contributing.md
""",
}
"""What a spec must have, where nothing is inherited."""

_CASES = """\
cases:
  # attributes, configurations, sizes, workloads, layouts, relations: docs/contributing.md says what cases do with them
  values: # CHECK: the recipes of random data, and the sets of special values
"""

_VALUES = """\
    {name}:
      random: {{recipe: numbers, least: -100, most: 100}}
      special: [zeros, ones]
"""

_EARLIER = """# Say only what differs from it (docs/specs.md, "Inheritance"): new fields with `after`, `without` for what is gone.
# CHECK: the tables of its own page, the newest level's first
"""

_EVIDENCE = """# Examples of the page, and others with what DirectML.dll gives; cases are made of them:
#
# examples:
#   page-1:
#     inputs: {{InputTensor: {{type: FLOAT32, sizes: [3], data: [1, 2, 3]}}}}
#     outputs: {{OutputTensor: {{type: FLOAT32, sizes: [3], data: [1, 2, 3]}}}}
#     evidence: {{page: Examples}} # or {{measured: 1.15.4}}
#
# errata: # what the page gets wrong or leaves open
#   label: {{text: A sentence., evidence: {{page: true, measured: 1.15.4}}}}

sources: # the page at the commit that was read: {{page: DML_{name}_OPERATOR_DESC, commit: 40 hexadecimal digits}}
  - {{title: "FILL IN, the struct's page"}}
"""

_WIDTH = 140
"""Of a line of names in a comment."""

_FOUND = """# What was found out about {other}, and may hold of this operator too. `dmlcts spec show {other}` prints it, `dmlcts ask` measures it:
"""

_LONG = 12
"""More lines of a section of an inherited ``cases`` are only counted."""


def _join_sections(sections: Mapping[str, str]) -> str:
    return "\n".join(sections.values())


def _found_about(other: str) -> str:
    """The names of another operator's examples and errata, as comments: what to ask about an operator that is like it."""
    data = load_document(read(_file(other)), _file(other)).data
    named = [f"{section}: {', '.join(data[section])}" for section in ("examples", "errata") if data.get(section)]
    lines = [line for text in named for line in textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)]
    return _FOUND.format(other=other) + "".join(f"#   {line}\n" for line in lines) + "#\n" if lines else ""


def _cases(inputs: Sequence[str]) -> str:
    return _CASES + "".join(_VALUES.format(name=name) for name in inputs)


def _profile_comments(name: str, data: Mapping[str, Any]) -> str:
    """What a profile gives, as comments: its fields, constraints, shapes and cases."""
    lines = [
        f"Inherited from the profile {name}. Write a part only where it differs, and name in `without` what does not hold:",
        "",
    ]
    for section, value in data.items():
        if section in NEVER_INHERITED:
            continue
        if section != "cases":
            lines += entry(f"{section}:", value, 0)
            continue
        lines.append("cases:")
        for part, entries in value.items():
            own = list(entry(f"{part}:", entries, 2))
            lines += own if len(own) <= _LONG else [f"  {part}: # {len(entries)} of them, such as {next(iter(entries))}"]
        if symbols := _symbols(value):
            lines += ["", f"These cases name sizes, which `shapes` must have: {', '.join(symbols)}"]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _symbols(cases: Mapping[str, Any]) -> list[str]:
    """The symbols whose sizes cases give."""
    entries = [cases.get("sizes", {}), *(workload["sizes"] for workload in cases.get("workloads", {}).values())]
    return list(dict.fromkeys(symbol for entry in entries for symbol in entry))


def _copy_promises(other: str, name: str) -> tuple[str, str]:
    """The promises of another operator's file as they stand there, but for what is its own, and what cases do with them."""
    sections = _sections(other)
    sections["support"] = f"{_with_tables(other, _support(other), name)}\n"
    for section in sections.keys() - {"extends", "support"}:
        measured = f"; what is measured there was measured of {other} alone" if "measured" in sections[section] else ""
        sections[section] = f"# CHECK: as in {other}{measured}\n{sections[section]}"
    cases = f"\n{sections['cases'].rstrip()}\n" if "cases" in sections else ""
    promises = [sections[section] for section in ORDER if section in sections and section not in OWN and section != "cases"]
    return "".join(promises), cases


def _sections(other: str) -> dict[str, str]:
    """The text of each section of an operator's file, with the comments before it, and an empty line behind it.

    Without comments where the file extends another operator, whose sections belong to the copy.
    """
    text = read(_file(other))
    extended = parse(text, _file(other)).data.get("extends")
    if extended in operator_names():
        data = load_document(text, _file(other)).data
        cases = {section: data["cases"][section] for section in CASES if section in data.get("cases", {})}
        text = "\n".join(_yaml({key: value}) for key, value in {**data, "cases": cases}.items() if value or key != "cases")
    starts = [match.start() for match in re.finditer(r"^(?:#.*\n)*(?=[a-z_]+:)", text, re.MULTILINE)]
    found = {}
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        key = re.search(r"^([a-z_]+):", part, re.MULTILINE)
        if key:
            found[key[1]] = f"{part.strip()}\n\n"
    return found


def _with_tables(other: str, tables: Sequence[Mapping[str, Any]], name: str) -> str:
    support = _yaml({"support": _tables(tables, name)})
    return f"# CHECK: every table of the page, the newest level's first; those of {other} stand here\n{support}"


def _support(other: str) -> Sequence[Mapping[str, Any]]:
    """The tables of another operator."""
    tables: Sequence[Mapping[str, Any]] = load_document(read(_file(other)), _file(other)).data["support"]
    return tables


def _tables(tables: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """Those tables from the level of this operator on; the oldest has that level."""
    level = first_level(name)
    newer = [table for table in tables if feature_level(table["level"]) > level]
    rest = [table for table in tables if table not in newer] or tables[-1:]
    first = rest[0]["level"]
    return [*(t for t in newer if t not in rest), *({**t, "level": str(level)} for t in rest if t["level"] == first)]


def _file(other: str) -> Path:
    return operators_folder() / str(family_of(other)) / f"{other.lower()}.yaml"


def _yaml(data: Mapping[str, Any]) -> str:
    return "".join(f"{line}\n" for key, value in data.items() for line in entry(f"{key}:", value, 0))


# The reference function


def function(name: str, operator: Operator | None) -> str:
    """The text of a module with a reference function to be written, which reads each input and attribute by its type."""
    judge = operator.tolerance.judge if operator else "exact"
    outputs = [field.name for field in operator.outputs()] if operator else ["OutputTensor"]
    lines = _reads(operator) if operator else iter(['x = inputs["InputTensor"]'])
    answers = "\n".join(f'    #     "{output}": {_ANSWERS[judge]},' for output in outputs)
    reads = "\n".join(f"    {line}" for line in lines)
    shared = _SHARED.get(operator.family, "") if operator else ""
    return _FUNCTION.format(name=name, function=name.lower(), reads=reads, answers=answers, judge=judge, shared=shared)


_SHARED = {
    "element_wise": ";\n    # the function itself is called by `applied` of reference/shared/element_wise.py",
    "activation": ";\n    # the function itself is called by `activation` of reference/operators/activation/elementwise.py",
}
"""The step that the operators of a family share."""

_ANSWERS = {
    "exact": "Answer(value)",
    "check": "Answer(value)",
    "ulp": "Answer(value)",
    "mixed": "Answer(value, argument=x)",
    "accumulate": "Answer(value, magnitude=magnitude, terms=terms)",
    "product": "Answer(value, terms=terms)",
    "discrete": "Answer(value, slack=slack, result=result)",
}
"""By the class of the tolerance."""

_READ_BY = {
    **dict.fromkeys(("UINT", "UINT64", "INT"), "integer"),
    **dict.fromkeys(("UINT_ARRAY", "INT_ARRAY"), "integers"),
    **{"FLOAT": "number", "FLOAT_ARRAY": "numbers", "BOOL": "flag", "SIZE_2D": "size_2d", "SCALE_BIAS": "scale_bias"},
    **{"SCALAR_UNION": "scalar", "OPERATOR_DESC": "inner", "OPERATOR_DESC_ARRAY": "inners"},
}
"""The method of a desc (spec/model/desc.py) that gives an attribute of each type."""

_HELP = {"SCALE_BIAS": "reference/shared/scale_bias.py applies it", "OPERATOR_DESC": "reference/shared/fused.py applies it"}


def _reads(operator: Operator) -> Iterator[str]:
    """A line for each input and each attribute that counts nothing."""
    counts = {field.count for field in operator.fields}
    for field in operator.fields:
        if field.kind == "input":
            yield _read_tensor(operator, field)
        elif field.kind == "attribute" and field.name not in counts:
            read = "constant" if field.enum else _READ_BY[field.type]
            note = f"  # {_HELP[field.type]}" if field.type in _HELP else ""
            yield f'{_variable(operator, field)} = desc.{read}("{field.name}"){note}'


def _read_tensor(operator: Operator, field: Field) -> str:
    name = _variable(operator, field)
    if field.is_tensor_array:
        return f'{name} = [inputs[each] for each, _ in desc.called("{field.name}")]'
    if field.optional:
        return f'{name} = inputs.get("{field.name}")  # None where it is absent'
    wide = ".astype(xp.float64)" if operator.tolerance.judge not in ("exact", "check") else ""
    return f'{name} = inputs["{field.name}"]{wide}'


def _variable(operator: Operator, field: Field) -> str:
    """A field's name as a variable: ``x`` of InputTensor, ``a`` of ATensor, ``start_padding`` of StartPadding."""
    if field.name == "InputTensor":
        return "x"
    short = field.name.removesuffix("Tensor")
    taken = field.is_tensor and any(other.name == short for other in operator.fields)
    found = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", field.name if taken else short).lower()
    return f"{found}_" if keyword.iskeyword(found) or hasattr(builtins, found) or found in ("xp", "desc", "inputs", "x") else found


_FUNCTION = '''"""FILL IN, what {name} computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.spec.model.desc import OperatorDesc


@reference("{name}")
def {function}(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """FILL IN, what each element of the output is."""
    # Inputs are packed arrays of their tensors' sizes and types. desc.tensor("OutputTensor") has sizes and data_type; attributes are read
    # by their types: desc.integer, integers, number, numbers, flag, constant, ... (spec/model/desc.py). Steps that an implementation may get
    # wrong are functions with @stage("family.step") (reference/stage.py), which planted faults replace{shared}.
{reads}
    # What the class {judge} of the tolerance wants (docs/contributing.md):
    # return {{
{answers}
    # }}
    raise NotImplementedError("the reference function of {name} is to be written")
'''
