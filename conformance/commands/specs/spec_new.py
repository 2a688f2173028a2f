"""``dmlcts spec new``: begins an operator's spec and its reference function, with all that the ABI and another operator say about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from inspect import getsourcefile
from pathlib import Path
from typing import Any

import click

from dmlcts.conformance.runner.work.options import UsageError
from dmlcts.reference.registry import reference_of
from dmlcts.spec.model.abi import abi, feature_level, introduced
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.document import SpecError, parse, read
from dmlcts.spec.reading.file_form import CASES, ORDER, SCHEMA
from dmlcts.spec.reading.loader import family_of, load_document, load_text, operator_names, operators_folder, profiles_folder
from dmlcts.spec.writing.files import writing_to
from dmlcts.spec.writing.yaml_writer import entry

OWN = ("operator", "type", "introduced", "summary", "accepts", "examples", "errata", "sources")
"""The sections that are not copied from another operator: the ABI's facts, and what rests on evidence about that operator."""


@click.command("new")
@click.argument("name")
@click.option("--like", metavar="OTHER", help="an operator or a profile that it is like; the earlier version of NAME unless given")
@click.option("--family", metavar="FAMILY", help="the folder below spec/operators and reference; OTHER's unless given")
def command(name: str, like: str | None, family: str | None) -> None:
    """Begins the spec of operator NAME, and its reference function.

    It extends an earlier version of the operator or a profile, and is a copy of another operator's promises otherwise, with what is to be
    checked marked so. Works in a checkout only, where it overwrites nothing.
    """
    root = checkout()
    name = known(name)
    other = _other(name, like)
    family = family or (family_of(other) if other else None)
    if family is None or not re.fullmatch(r"[a-z][a-z_]*", family):
        families = ", ".join(sorted(folder.name for folder in operators_folder().iterdir() if folder.is_dir()))
        raise UsageError(f"say with --family in which folder below spec/operators it belongs: {families}, or a new one")
    file = operators_folder() / family / f"{name.lower()}.yaml"
    text = begun(name, other)
    _write(file, text)
    click.echo(f"began {file.relative_to(root)}" + (f", from {other}" if other else ""))
    try:
        operator = load_text(text, file)
    except SpecError as error:
        click.echo(f"it is not right yet: {error}")
        operator = None
    click.echo(_reference(root, name, other, family, operator))
    click.echo(NEXT.format(name=name, file=file.relative_to(root).as_posix()), nl=False)


NEXT = """
Next:
 1. fill in and check what is marked in the spec; docs/contributing.md and docs/specs.md say how
      dmlcts spec check {file}
 2. write the reference function
      dmlcts run {name} --level smoke
 3. complete it: every promise has a case, and the reference passes all; hints say what a complete spec may lack
      dmlcts spec coverage {name}
      dmlcts run {name} --level full --basis measured
 4. hold it against DirectML.dll, and record what differs
      dmlcts setup
      dmlcts run {name} --backend directml --level full --basis measured
      dmlcts probe --backend directml --write {name}
 5. find all planted faults; plant what implementations of it get wrong besides, in conformance/faults/families
      dmlcts faults hunt {name}
"""


def checkout() -> Path:
    """The folder of the checkout. Raises UsageError where the suite is installed without one."""
    root = operators_folder().parents[1]
    if not (root / "pyproject.toml").is_file() or not (root / "tests").is_dir():
        raise UsageError(
            f"`dmlcts spec new` writes into a checkout, and {root} is none: clone the repository, pip install -e '.[dev]'"
        )
    return root


def known(name: str) -> str:
    """The operator that is to be begun. Raises UsageError if the ABI has none of that name, or there is a spec of it."""
    name = name.upper().removeprefix("DML_OPERATOR_").removeprefix("DML_").removesuffix("_OPERATOR_DESC")
    if name not in abi().operator_types:
        near = ", ".join(get_close_matches(name, abi().operator_types, n=3)) or "none"
        raise UsageError(f"DirectML has no operator {name!r}; near it: {near}")
    if name in operator_names():
        raise UsageError(f"{name} has a spec already; `dmlcts spec show {name}` prints it")
    return name


def _other(name: str, like: str | None) -> str | None:
    if like is None:
        return max(_earlier(name), key=lambda other: abi().operator_types[other], default=None)
    if like.upper() in operator_names():
        return like.upper()
    if like in _profiles():
        return like
    raise UsageError(f"--like: there is no spec of {like.upper()!r}, and no profile; profiles: {', '.join(_profiles())}")


def _earlier(name: str) -> list[str]:
    """The operators of which an operator is a later version: MAX_POOLING2 of MAX_POOLING1 and MAX_POOLING."""
    number = abi().operator_types[name]
    stem = name.rstrip("0123456789")
    return [other for other in operator_names() if other.rstrip("0123456789") == stem and abi().operator_types[other] < number]


def _profiles() -> list[str]:
    return sorted(file.stem for file in profiles_folder().glob("*.yaml"))


# The spec


def begun(name: str, other: str | None) -> str:
    """The text of a spec file to begin with. ``other``: the operator or profile that it is like."""
    level = introduced(name)
    head = {
        "operator": name,
        "type": abi().operator_types[name],
        "introduced": str(level),
        "summary": "FILL IN, what it computes, in a sentence.",
    }
    start = f"{SCHEMA.format('../../')}\n{_yaml(head)}"
    evidence = _EVIDENCE.format(name=name)
    if other is None:
        return f"{start}{_PLAIN.format(level=level)}{evidence}{_CASES}"
    if other in _profiles():
        return f"{start}extends: {other}\n\n{_PROFILE.format(level=level)}{evidence}"
    if other in _earlier(name):
        return f"{start}extends: {other}\n\n{_EARLIER}{_yaml({'support': _tables(other, name)})}\n{evidence}"
    promises, cases = _copied(other, name)
    return f"{start}\n{promises}{evidence}{cases}"


_PLAIN = """
fields: # CHECK: the struct's fields, in its order
  - {{name: InputTensor, kind: input, type: TENSOR_DESC}}
  - {{name: OutputTensor, kind: output, type: TENSOR_DESC}}

support: # CHECK: every table of the page, the newest level's first
  - {{level: "{level}", dimensions: 1-8, types: [FLOAT32, FLOAT16]}}

constraints: # CHECK: what the page demands of several tensors
  same-data-type: {{same: DataType, of: [InputTensor, OutputTensor]}}
  same-dimension-count: {{same: DimensionCount, of: [InputTensor, OutputTensor]}}
  same-sizes: {{same: Sizes, of: [InputTensor, OutputTensor]}}

shapes: # CHECK: sizes by symbols, so that the constraints hold
  - sizes: {{InputTensor: ["*S"], OutputTensor: ["*S"]}}

tolerance: {{class: exact}} # CHECK: or another class, see the schema

"""

_CASES = """
cases:
  # attributes, configurations, sizes, layouts, relations: docs/contributing.md says what cases do with them
  values: # CHECK: the recipes of random data, and the sets of special values
    InputTensor:
      random: {recipe: numbers, least: -100, most: 100}
      special: [zeros, ones]
"""

_PROFILE = """support: # CHECK: every table of the page, the newest level's first
  - {{level: "{level}", dimensions: 1-8, types: [FLOAT32, FLOAT16]}}

tolerance: {{class: exact}} # CHECK: or another class, see the schema

"""

_EARLIER = """# Say only what differs from it (docs/specs.md, "What a file inherits"): new fields with `after`, `without` for what is gone.
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


def _copied(other: str, name: str) -> tuple[str, str]:
    """The promises of another operator's file as they stand there, but for what is its own, and what cases do with them."""
    sections = _sections(other)
    support = _yaml({"support": _tables(other, name)})
    sections["support"] = f"# CHECK: every table of the page, the newest level's first; those of {other} stand here\n{support}\n"
    for section in sections.keys() - {"extends", "support"}:
        sections[section] = f"# CHECK: as in {other}\n{sections[section]}"
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


def _tables(other: str, name: str) -> list[Mapping[str, Any]]:
    """The tables of another operator from the level of this one on; the oldest has that level."""
    level = introduced(name)
    tables = load_document(read(_file(other)), _file(other)).data["support"]
    newer = [table for table in tables if feature_level(table["level"]) > level]
    rest = [table for table in tables if table not in newer] or tables[-1:]
    first = rest[0]["level"]
    return [*(t for t in newer if t not in rest), *({**t, "level": str(level)} for t in rest if t["level"] == first)]


def _file(other: str) -> Path:
    return operators_folder() / str(family_of(other)) / f"{other.lower()}.yaml"


def _yaml(data: Mapping[str, Any]) -> str:
    return "".join(f"{line}\n" for key, value in data.items() for line in entry(f"{key}:", value, 0))


def _write(file: Path, text: str) -> None:
    """Raises UsageError if there is such a file."""
    if file.exists():
        raise UsageError(f"{file} is there already, and is not overwritten")
    with writing_to(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="\n") as out:
            out.write(text)


# The reference function


def _reference(root: Path, name: str, other: str | None, family: str, operator: Operator | None) -> str:
    """Begins the module of the reference function, or says where the function belongs."""
    if reference_of(name) is not None:
        return f"its reference function is there: {_place(root, name)}"
    if other in _earlier(name) and reference_of(other):
        return f"its reference function belongs beside {other}'s, {_place(root, other)}: a second @reference({name!r}) may do"
    module = root / "reference" / "operators" / family / f"{name.lower()}.py"
    if module.exists():
        return f"{module.relative_to(root)} is there already: put its reference function, with @reference({name!r}), there"
    if not (module.parent / "__init__.py").exists():
        _write(module.parent / "__init__.py", f'"""Reference functions of {family} operators."""\n')
    _write(module, function(name, operator))
    beside = f"; that of {other} is in {_place(root, other)}" if other and reference_of(other) else ""
    return f"began {module.relative_to(root)}, which is found by itself{beside}"


def _place(root: Path, name: str) -> str:
    file = getsourcefile(reference_of(name) or _place)
    return Path(file or "").relative_to(root).as_posix()


def function(name: str, operator: Operator | None) -> str:
    """The text of a module with a reference function to be written."""
    outputs = [field.name for field in operator.outputs()] if operator else ["OutputTensor"]
    inputs = ", ".join(field.name for field in operator.inputs()) if operator else "InputTensor"
    answers = ", ".join(f'"{output}": Answer(...)' for output in outputs)
    return FUNCTION.format(name=name, function=name.lower(), inputs=inputs or "none", answers=answers)


FUNCTION = '''"""FILL IN, what {name} computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.spec.model.desc import OperatorDesc


@reference("{name}")
def {function}(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """FILL IN, what each element of the output is."""
    # inputs: {inputs}, packed, each an array of its tensor's sizes and type. desc.fields has the attributes by name,
    # desc.tensor("...") sizes and data type of a tensor. Class exact wants the values in the output's own type;
    # the other classes want unrounded float64 and what bounds the error (reference/answer.py).
    raise NotImplementedError("the reference function of {name} is to be written")  # return {{{answers}}}
'''
