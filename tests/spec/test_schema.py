"""The schemas of spec files: each property is used by some file, and described."""

import json
import re
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from hard_operators import HARD

from dmlcts.generator.values.recipes import RECIPES
from dmlcts.generator.values.special_sets import SPECIAL
from dmlcts.spec.model.expression import FUNCTIONS
from dmlcts.spec.reading.building.law import RELATION_FUNCTIONS
from dmlcts.spec.reading.document import parse
from dmlcts.spec.reading.loader import (
    measured_folder,
    operators_folder,
    profiles_folder,
)

FILES = sorted([*HARD.glob("*.yaml"), *operators_folder().rglob("*.yaml")], key=lambda file: file.stem)


def _schema(name: str = "operator") -> dict[str, Any]:
    file = operators_folder().parent / "schema" / f"{name}.schema.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


SCHEMAS = {
    "operator": [*FILES, *profiles_folder().glob("*.yaml")],
    "measured": [*measured_folder().glob("*.yaml")],
    "census": [*(measured_folder() / "census").glob("*.yaml")],
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_is_a_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(_schema(name))
    validator = jsonschema.Draft202012Validator(_schema(name))
    for file in SCHEMAS[name]:
        validator.validate(parse(file.read_text(encoding="utf-8"), file).data)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_property_of_the_schema_is_used(name: str) -> None:
    """A property that no file has is dead; the validator that has none of it must then fail on some file."""
    documents = [parse(file.read_text(encoding="utf-8"), file).data for file in SCHEMAS[name]]
    unused = []
    for path in _properties(_schema(name)):
        schema = _schema(name)
        holder = schema
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = False  # no value is valid any more
        validator = jsonschema_rs.validator_for(schema)
        if all(validator.is_valid(document) for document in documents):
            unused.append("/".join(path))
    # Whether most operators share something depends on how many were measured.
    measured = {"properties/usual/properties/refuses", *(f"$defs/operator/properties/{key}" for key in UNUSED)}
    assert set(unused) <= (measured if name == "measured" else set())


UNUSED = ("date", "level", "suite", "confirmed")
"""What the file of an operator has only where it was measured on another day, or not confirmed."""


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_property_and_every_constant_is_described(name: str) -> None:
    schema = _schema(name)
    for path in _properties(schema):
        entry: Any = schema
        for part in path:
            entry = entry[int(part) if isinstance(entry, list) else part]
        assert len(entry.get("description", "")) > 10, "/".join(path)
    for path, entry in _enumerations(schema):
        described = entry.get("enumDescriptions", [])
        assert len(described) == len(entry["enum"]), path
        assert all(len(text) > 3 for text in described), path


def test_every_recipe_set_and_function_is_described_and_no_other() -> None:
    defs = _schema()["$defs"]
    assert set(defs["recipe"]["enum"]) == RECIPES.keys()
    assert set(defs["value_set"]["enum"]) == SPECIAL.keys()
    assert _called(defs["expression"]["description"]) == FUNCTIONS.keys()
    assert _called(defs["law"]["description"]) - {"f"} == RELATION_FUNCTIONS
    for name, text in zip(defs["recipe"]["enum"], defs["recipe"]["enumDescriptions"], strict=True):
        parameters = set(re.findall(r"`([a-z]+)`", text)) - RECIPES.keys()
        recipe = RECIPES[name]
        assert parameters == (recipe.parameters | recipe.optional if "As `numbers`" not in text else set()), name


def _called(text: str) -> set[str]:
    """The functions that a description calls: those in backquotes before a parenthesis."""
    return set(re.findall(r"`(\w+)\(", text))


def _enumerations(schema: object, path: str = "") -> list[tuple[str, dict[str, Any]]]:
    if isinstance(schema, list):
        return [found for index, entry in enumerate(schema) for found in _enumerations(entry, f"{path}/{index}")]
    if not isinstance(schema, dict):
        return []
    own = [(path, schema)] if isinstance(schema.get("enum"), list) else []
    return own + [found for key, entry in schema.items() for found in _enumerations(entry, f"{path}/{key}")]


def _properties(schema: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(schema, dict):
        return []
    found = [(*path, "properties", name) for name in schema.get("properties", {})]
    for key, value in schema.items():
        if key == "properties":
            found += [place for name, entry in value.items() for place in _properties(entry, (*path, key, name))]
        elif isinstance(value, dict):
            found += _properties(value, (*path, key))
    return found
