"""``dmlcts spec new``: begins an operator's spec and its reference function, with all that the ABI and another operator say about it."""

from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from inspect import getsourcefile
from pathlib import Path

import click

from dmlcts.conformance.commands.specs.spec_template import begin_spec, function
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.reference.registry import reference_of
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.document import SpecError, read
from dmlcts.spec.reading.loader import PREFIXES, family_of, load_text, operator_names, operators_folder, profile_names
from dmlcts.spec.writing.files import writing_to


@click.command("new")
@click.argument("name")
@click.option("--like", metavar="OTHER", help="an operator or a profile that it is like; the earlier version of NAME unless given")
@click.option("--family", metavar="FAMILY", help="the folder below spec/operators and reference/operators; OTHER's unless given")
def command(name: str, like: str | None, family: str | None) -> None:
    """Begins the spec of operator NAME, and its reference function.

    It extends an earlier version of the operator or a profile, and is a copy of another operator's promises otherwise, with what is to be
    checked marked so. Works in a checkout only, where it overwrites nothing.
    """
    root = checkout()
    name = known_name(name)
    other = _other(name, like)
    family = family or _family(name, other)
    if family is None or not re.fullmatch(r"[a-z][a-z_]*", family):
        families = ", ".join(sorted(folder.name for folder in operators_folder().iterdir() if folder.is_dir()))
        raise UsageError(f"say with --family in which folder below spec/operators it belongs: {families}, or a new one")
    file = operators_folder() / family / f"{name.lower()}.yaml"
    text = begin_spec(name, other, earlier=other in _earlier(name))
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
      dmlcts spec arrays {name}
      dmlcts spec coverage {name}
      dmlcts run {name} --level full --basis measured
 4. hold it against DirectML.dll, and record what differs; `dmlcts ask {name} FIELD=VALUE... --backend directml` answers single questions
      dmlcts setup
      dmlcts run {name} --backend directml --level full --basis measured
      dmlcts probe --backend directml --write {name}
 5. find all planted faults; plant what implementations of it get wrong besides, in conformance/faults/families
      dmlcts faults hunt {name}
 6. at the end, note which cases there are, and which faults later hunts may skip; commit the files that are new or changed
      dmlcts spec pin {name}
      dmlcts faults subsume {name}
"""


def checkout() -> Path:
    """The folder of the checkout. Raises UsageError where the suite is installed without one."""
    root = operators_folder().parents[1]
    if not (root / "pyproject.toml").is_file() or not (root / "tests").is_dir():
        raise UsageError(
            f"`dmlcts spec new` writes into a checkout, and {root} is none: clone the repository, pip install -e '.[dev]'"
        )
    return root


def known_name(name: str) -> str:
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
    if like in profile_names():
        return like
    raise UsageError(f"--like: there is no spec of {like.upper()!r}, and no profile; profiles: {', '.join(profile_names())}")


def _earlier(name: str) -> list[str]:
    """The operators of which an operator is a later version: MAX_POOLING2 of MAX_POOLING1 and MAX_POOLING."""
    number = abi().operator_types[name]
    stem = name.rstrip("0123456789")
    return [other for other in operator_names() if other.rstrip("0123456789") == stem and abi().operator_types[other] < number]


def _family(name: str, other: str | None) -> str | None:
    """The family that an operator like another belongs to: the other's, or the one that has most operators with that profile and such a name."""
    if other in operator_names():
        return family_of(str(other))
    prefix = next((prefix for prefix in PREFIXES if name.startswith(prefix)), "")
    alike = [each for each in operator_names() if each.startswith(prefix)] if prefix else operator_names()
    families = Counter(family_of(each) for each in alike if prefix or _extends(each, other))
    return families.most_common(1)[0][0] if families else None


def _extends(name: str, other: str | None) -> bool:
    """Whether an operator's file says that it extends another file. None is parsed."""
    file = operators_folder() / str(family_of(name)) / f"{name.lower()}.yaml"
    return other is not None and f"\nextends: {other}\n" in read(file)


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
