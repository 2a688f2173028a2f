"""What clients dispatch: distinct dispatches with how often and in which models, grouped into kinds.

A kind is the structure of a dispatch without its sizes: operator, data types, which tensors there are, how many dimensions they have and which of those
are 1, broadcast or not packed, constants, small numbers of arrays (strides of a window, axes), and the operators fused into it. Facts alone, no judgement.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dmlcts.conformance.client.capture.records import Capture
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.untrusted.desc_json import write_desc
from dmlcts.spec.writing.yaml_writer import yaml_text

VERSION = 1

SMALL = 7
"""Numbers of an attribute up to this one belong to the structure; larger ones are sizes."""

EXAMPLES = 5
"""The most dispatches of a kind whose sizes the spec's census lists."""

SHOWN = 20
"""The most dispatches of a kind that are listed, the most frequent first."""


@dataclass(slots=True)
class Kind:
    """A kind of dispatch: how often each of its dispatches was executed, by its JSON, and in which models."""

    dispatches: Counter[str] = field(default_factory=Counter)
    models: dict[str, set[str]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Executions of all of its dispatches."""
        return self.dispatches.total()

    @property
    def all_models(self) -> set[str]:
        """The models with any of its dispatches."""
        return set().union(*self.models.values())


@dataclass(slots=True)
class Census:
    """Kinds by operator and by their text. ``unknown`` counts dispatches of operators that this suite does not know, by their number."""

    models: list[Mapping[str, Any]] = field(default_factory=list)
    operators: dict[str, dict[str, Kind]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, capture: Capture, model: str) -> None:
        """Counts what a capture executed, under the name of its model."""
        count = 0
        for _, operator in capture.dispatched_operators():
            count += 1
            if operator.desc is None:
                self.unknown[operator.name] += 1
                continue
            desc = plain(operator.desc)
            text = json.dumps(write_desc(desc))
            kind = self.operators.setdefault(desc.type, {}).setdefault(kind_of(desc), Kind())
            kind.dispatches[text] += 1
            kind.models.setdefault(text, set()).add(model)
        graphs = capture.graphs
        self.models.append(
            {
                "model": model,
                "directml": capture.version,
                "dispatches": count,
                "graphs": len(graphs),
                "nodes": sum(len(g.operators) for g in graphs),
            }
        )

    def to_json(self) -> dict[str, Any]:
        """The census as data: the most frequent first, so that what is cut is rare."""
        return {
            "version": VERSION,
            "models": self.models,
            "operators": {
                name: [_kind_json(text, kind) for text, kind in _frequent(kinds)] for name, kinds in sorted(self.operators.items())
            },
            **({"unknown": dict(self.unknown)} if self.unknown else {}),
        }


def _frequent(kinds: Mapping[str, Kind]) -> list[tuple[str, Kind]]:
    return sorted(kinds.items(), key=lambda entry: (-entry[1].count, entry[0]))


def _kind_json(text: str, kind: Kind) -> dict[str, Any]:
    frequent = sorted(kind.dispatches.items(), key=lambda entry: (-entry[1], entry[0]))
    return {
        "kind": text,
        "count": kind.count,
        "distinct": len(kind.dispatches),
        "models": sorted(kind.all_models),
        "dispatches": [
            {"count": count, "models": sorted(kind.models[desc]), "desc": json.loads(desc)} for desc, count in frequent[:SHOWN]
        ],
    }


def summary(census: Census) -> Iterator[str]:
    """A census in some lines."""
    kinds = {name: len(kinds) for name, kinds in census.operators.items()}
    counts = {name: sum(kind.count for kind in kinds.values()) for name, kinds in census.operators.items()}
    distinct = sum(len(kind.dispatches) for kinds in census.operators.values() for kind in kinds.values())
    yield (
        f"{len(census.models)} models, {sum(counts.values()):,} dispatches, {distinct:,} of them distinct, of {sum(kinds.values()):,} kinds; "
        f"{len(kinds)} of {len(abi().operator_types)} operators"
    )
    for name in sorted(counts, key=lambda name: -counts[name]):
        models = set().union(*(kind.all_models for kind in census.operators[name].values()))
        yield f"  {counts[name]:8,} {name}: {kinds[name]} kinds, {len(models)} models"
    for name, count in census.unknown.items():
        yield f"  {count:8,} {name}, which this suite does not know"


def write_census(census: Census, file: Path) -> None:
    """Writes a census as JSON. Raises OSError."""
    file.write_text(json.dumps(census.to_json(), indent=1) + "\n", encoding="utf-8", newline="\n")


# The spec's census


def spec_census(census: Census) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each operator with what a file of spec/measured/census says of it, in the order of names."""
    by = ", ".join(sorted({f"DirectML {model['directml']}" for model in census.models}))
    for name, kinds in sorted(census.operators.items()):
        yield name, {"operator": name, "by": by, "kinds": [_spec_kind(text, kind) for text, kind in _frequent(kinds)]}


def _spec_kind(text: str, kind: Kind) -> dict[str, Any]:
    frequent = [json.loads(desc) for desc, _ in sorted(kind.dispatches.items(), key=lambda entry: (-entry[1], entry[0]))]
    return {
        "kind": text,
        "count": kind.count,
        "distinct": len(kind.dispatches),
        "networks": sorted(kind.all_models),
        "sizes": list(dict.fromkeys(" ".join(_sizes(desc)) for desc in frequent))[:EXAMPLES],
        "desc": frequent[0],
    }


def _sizes(value: object) -> Iterator[str]:
    """The sizes of each tensor in a desc as JSON."""
    if isinstance(value, dict) and "Sizes" in value:
        yield "x".join(map(str, value["Sizes"]))
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _sizes(inner)


def write_spec_census(census: Census, folder: Path) -> int:
    """Writes a file for each operator, deletes those of others, and says how many there are. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{name.lower()}.yaml": data for name, data in spec_census(census)}
    for file in set(folder.glob("*.yaml")) - files.keys():
        file.unlink()
    for file, data in files.items():
        file.write_text(HEAD + yaml_text(data), encoding="utf-8", newline="\n")
    return len(files)


HEAD = """# yaml-language-server: $schema=../../schema/census.schema.json
# Written by `dmlcts census --spec`, never by hand.
"""


# Kinds


def plain(desc: OperatorDesc) -> OperatorDesc:
    """A desc without what says where its tensors come from: flags, alignments, and total sizes that are the least."""
    return OperatorDesc(desc.type, {name: _plain(value) for name, value in desc.fields.items()})


def _plain(value: object) -> object:
    if isinstance(value, TensorDesc):
        total = None if value.total_size == value.least_bytes else value.total_size
        strides = None if value.strides == replace(value, strides=None).effective_strides else value.strides
        return replace(value, flags=0, alignment=0, total_size=total, strides=strides)
    if isinstance(value, OperatorDesc):
        return plain(value)
    return tuple(map(_plain, value)) if type(value) is tuple else value


def kind_of(desc: OperatorDesc) -> str:
    """A desc's structure: ``A FLOAT32 1nnn, B FLOAT32 1nnn/b, TransB=TRANSPOSE``."""
    return ", ".join(filter(None, (_part(name.removesuffix("Tensor"), value) for name, value in desc.fields.items())))


def _part(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, TensorDesc):
        return f"{name} {value.data_type} {_form(value)}"
    if isinstance(value, OperatorDesc):
        return f"{name} {value.type}"
    if isinstance(value, tuple) and any(isinstance(entry, TensorDesc | OperatorDesc) for entry in value):
        parts = dict.fromkeys(_part("", entry).strip() for entry in value)  # many alike are one
        return f"{name} [{'; '.join(parts)}]" + (f" x{len(value)}" if len(value) <= SMALL else " xn")
    if isinstance(value, tuple):
        return f"{name}={' '.join(map(_number, value))}"
    return f"{name}={_number(value)}"


def _form(tensor: TensorDesc) -> str:
    """The dimensions, 1 or n, with ``b`` behind the slash for each that is broadcast, and ``s`` where they lie otherwise than packed."""
    sizes = "".join("1" if size == 1 else "n" for size in tensor.sizes)
    if tensor.strides is None:
        return sizes
    marks = ["b" if stride == 0 and size > 1 else "." for size, stride in zip(tensor.sizes, tensor.strides, strict=True)]
    steps = [(size, stride) for size, stride in zip(tensor.sizes, tensor.strides, strict=True) if size > 1 and stride]
    expected = replace(tensor, sizes=tuple(size for size, _ in steps), strides=None).effective_strides if steps else ()
    moved = "s" if tuple(stride for _, stride in steps) != expected else ""
    return f"{sizes}/{''.join(marks)}{moved}" if moved or "b" in marks else sizes


def _number(value: object) -> str:
    if isinstance(value, float):
        return str(int(value)) if value in (-1, 0, 1) else "x"
    if isinstance(value, int):
        return str(value) if abs(value) <= SMALL else "n"
    return str(value)


def census_of(captures: Iterable[tuple[Capture, str]]) -> Census:
    """The census of captures, each with the name of its model."""
    found = Census()
    for capture, model in captures:
        found.add(capture, model)
    return found
