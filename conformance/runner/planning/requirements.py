"""What a run requires (``--require``): operators, data types, or a profile file. A required case that is unsupported is a failure.

A requirement is text, so that it fits into a manifest: ``OPERATOR/TYPE`` with ``*`` for all, ``api/PROMISE``, ``graphs/*``, or ``validation``.
A profile is a YAML file in the form of schema/profile.schema.json:

    profile: image-models
    operators:
      CONVOLUTION: [FLOAT32, FLOAT16]
      GEMM: all
    data_types: [FLOAT32]
    api: [DEV-1]
    graphs: true
    validation: true
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path

from dmlcts.conformance.runner.planning.graphs import is_about_graphs
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.planning.promises import promises_named
from dmlcts.conformance.sequences.promises.promise import promise_areas
from dmlcts.reports.claim.claim import VALIDATION
from dmlcts.reports.record.record import API, GRAPHS
from dmlcts.spec.model.abi import abi
from dmlcts.spec.reading.document import Document, parse, read
from dmlcts.spec.reading.loader import operator_names
from dmlcts.spec.reading.schema import validate


def requirements(given: Iterable[str]) -> tuple[str, ...]:
    """The requirements that the values of ``--require`` name, each once.

    Raises:
        UsageError: neither an operator, a data type, OPERATOR/TYPE, ``api``, a promise or an area, ``graphs``, ``validation``, nor a file. SpecError: a profile is wrong, with line and field.
    """
    return tuple(dict.fromkeys(requirement for text in given for requirement in _named_types(text)))


def read_profile(file: Path) -> tuple[str, ...]:
    """The requirements of a profile. Raises SpecError, which names file, line and field."""
    document = parse(read(file), file)
    validate(document, "dmlcts.conformance.runner.planning", "profile")
    return tuple(_in_profile(document))


def _named_types(text: str) -> Iterable[str]:
    if text == VALIDATION:
        return (VALIDATION,)
    if text in operator_names():
        return (f"{text}/*",)
    if text == API:
        return (f"{API}/*",)
    if is_about_graphs(text):
        return (f"{GRAPHS}/*",)
    if "*" not in text and (names := promises_named(text)):
        return [f"{API}/{name}" for name in names]
    if text in abi().data_types:
        return (f"*/{text}",)
    operator, slash, data_type = text.partition("/")
    if slash and operator in operator_names() and data_type in abi().data_types:
        return (text,)
    if Path(text).suffix in (".yaml", ".yml") or Path(text).is_file():
        return read_profile(Path(text))
    raise UsageError(
        f"--require {text}: neither an operator with a spec, a data type, OPERATOR/TYPE, `{API}`, a promise, `{GRAPHS}`, `{VALIDATION}`, nor a file{_near_types(text)}"
    )


def _in_profile(document: Document) -> Iterator[str]:
    data = document.data
    for name, types in data.get("operators", {}).items():
        if name not in operator_names():
            raise document.error(
                ("operators", name),
                f"there is no operator {name!r}{_near_types(name)}; `dmlcts spec list` shows the available ones",
            )
        if types == "all":
            yield f"{name}/*"
            continue
        for index, data_type in enumerate(types):
            yield f"{name}/{_check_type(document, ('operators', name, index), data_type)}"
    for index, data_type in enumerate(data.get("data_types", [])):
        yield f"*/{_check_type(document, ('data_types', index), data_type)}"
    for index, name in enumerate(data.get(API, [])):
        if name not in promise_areas():
            raise document.error((API, index), f"there is no promise {name!r}; `dmlcts spec list` shows them")
        yield f"{API}/{name}"
    if data.get(GRAPHS):
        yield f"{GRAPHS}/*"
    if data.get("validation"):
        yield VALIDATION


def _check_type(document: Document, path: tuple[str | int, ...], data_type: str) -> str:
    if data_type not in abi().data_types:
        raise document.error(path, f"unknown data type {data_type!r}; known: {', '.join(abi().data_types)}")
    return data_type


def _near_types(text: str) -> str:
    near = get_close_matches(text.upper(), (*operator_names(), *abi().data_types), n=3)
    return f"; similar: {', '.join(near)}" if near else ""
