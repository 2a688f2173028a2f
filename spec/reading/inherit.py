"""Inheritance of spec files: ``extends`` names an operator, or a profile in ``spec/profiles``, and the file states the differences.

- ``operator``, ``type``, ``introduced``, ``summary`` and ``sources`` are a file's own and never inherited.
- ``constraints``, ``examples``, ``errata`` and each section of ``cases`` are merged by entry: an entry with the same name replaces the
  inherited one, a new one comes after the inherited ones.
- ``fields`` likewise, by name; a new one comes last, or after the field that its ``after`` names.
- Everything else (``support``, ``shapes``, ``tolerance``, a list in ``cases``) is replaced as a whole.
- ``without`` lists what is not inherited: ``examples.padding``, ``fields.Axis``, ``cases.relations.copy``, ``in_place``.
- ``renamed`` gives fields other names in what is inherited (spec/reading/renaming).
- In configurations and relations, ``like: NAME`` begins an entry with what the inherited entry NAME has, or one that stands before; its
  other keys replace. ``like`` with an entry's own name changes the inherited one. The keys of the entry ``*`` replace those of each
  inherited entry.

An error about an inherited part names the file that it stands in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dmlcts.spec.reading.document import Document, Path_
from dmlcts.spec.reading.renaming import renamed_document
from dmlcts.spec.reading.schema import did_you_mean

OWN = ("operator", "profile", "type", "introduced", "summary", "sources", "extends", "without", "renamed")
"""What no file inherits."""

BY_ENTRY = ("constraints", "examples", "errata", "cases")
"""The sections that are merged by entry; so are those of ``cases``."""

CHANGED = (("cases", "configurations"), ("cases", "relations"))
"""The sections whose entries may be ``like`` others."""

LIKE, EVERY = "like", "*"

_NOTHING = object()


def merged_document(own: Document, base: Document) -> Document:
    """The resolved document: ``base`` with the differences in ``own``. Raises SpecError."""
    names = _new_names(own, [entry["name"] for entry in base.data.get("fields", ())])
    return _Inheritance(own, renamed_document(base, names) if names else base).document()


def _new_names(own: Document, fields: Sequence[str]) -> dict[str, list[str]]:
    """The new names of inherited fields. Raises SpecError."""
    found = {}
    for old, new in _mapping(own, ("renamed",)).items():
        names = new if isinstance(new, list) else [new]
        if old not in fields:
            raise own.error(("renamed", old), f"no field {old!r}{did_you_mean(old, fields)} is inherited")
        if not names or not all(isinstance(name, str) for name in names):
            raise own.error(("renamed", old), "must be the new name, or a list of new names")
        found[old] = names
    return found


def check_alone(document: Document) -> None:
    """Raises SpecError if a file that extends nothing says what only inheritance gives a meaning."""
    for key in ("without", "renamed"):
        if key in document.data:
            raise document.error((key,), "this file inherits nothing: it has no `extends`")
    for section in CHANGED:
        for label, entry in _mapping(document, section).items():
            if label == EVERY or (isinstance(entry, Mapping) and LIKE in entry):
                raise document.error(
                    (*section, label), f"`{LIKE}` and `{EVERY}` need what is inherited: this file has no `extends`"
                )


def _mapping(document: Document, path: Path_) -> Mapping[str, Any]:
    """The mapping at a path; an empty one where there is none."""
    found: Any = document.data
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


class _Inheritance:
    def __init__(self, own: Document, base: Document) -> None:
        self.own, self.base = own, base
        self.parts: dict[Path_, tuple[Document, Path_]] = {}
        self.without = {tuple(text.split(".")): index for index, text in enumerate(own.data.get("without", ()))}

    def document(self) -> Document:
        own = {key: value for key, value in self.own.data.items() if key not in ("extends", "without", "renamed")}
        base = {key: value for key, value in self.base.data.items() if key not in OWN}
        data = self.entries((), base, own)
        for path, index in self.without.items():
            if not _has(base, path):
                problem = f"nothing called {'.'.join(map(str, path))} is inherited from {self.own.data['extends']}"
                raise self.own.error(("without", index), problem)
        return Document(data, {}, self.own.file, self.parts)

    def entries(self, at: Path_, base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """A mapping of both: the inherited entries in their order, then the new ones."""
        found: dict[str, Any] = {}
        if at in CHANGED:
            base, own = self.with_every(base, own), {key: entry for key, entry in own.items() if key != EVERY}
            own = {key: self.entry_like(at, key, entry, base, own) for key, entry in own.items()}
        for key in dict.fromkeys((*base, *own)):
            value = self.value((*at, key), base.get(key, _NOTHING), own.get(key, _NOTHING))
            if value is not _NOTHING:
                found[key] = value
        return found

    def with_every(self, base: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
        """The inherited entries with the keys that all of them are to have. A new field's key stands behind that of the field it is ``after``."""
        every = own.get(EVERY)
        if not isinstance(every, Mapping):
            return base
        fields = (entry for entry in self.own.data.get("fields", ()) if isinstance(entry, Mapping))
        after = {str(entry["name"]): str(entry["after"]) for entry in fields if {"name", "after"} <= entry.keys()}
        return {label: _with_keys(entry, every, after) if isinstance(entry, Mapping) else entry for label, entry in base.items()}

    def entry_like(self, at: Path_, key: str, entry: Any, base: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
        """An entry of the file, with what it is like. Raises SpecError."""
        if not isinstance(entry, Mapping) or not isinstance(entry.get(LIKE), str):
            return entry
        name, before = entry[LIKE], list(own)[: list(own).index(key)]
        changes = {inner: value for inner, value in entry.items() if inner != LIKE}
        if name in before:
            return {**self.entry_like(at, name, own[name], base, own), **changes}
        if isinstance(base.get(name), Mapping):
            return {**base[name], **changes}
        known = [*base, *before]
        raise self.own.error((*at, key, LIKE), f"no entry {name!r}{did_you_mean(name, known)} is inherited or stands before")

    def value(self, at: Path_, base: Any, own: Any) -> Any:
        if at in self.without:
            base = _NOTHING
        if base is not _NOTHING and at == ("fields",):
            return list(self.fields(base, [] if own is _NOTHING else own))
        by_entry = at[0] in BY_ENTRY and len(at) < (3 if at[0] == "cases" else 2)
        if by_entry and isinstance(base, Mapping) and (own is _NOTHING or isinstance(own, Mapping)):
            return self.entries(at, base, own if isinstance(own, Mapping) else {})
        if own is not _NOTHING:
            self.parts[at] = (self.own, at)
            return own
        if base is not _NOTHING:
            self.parts[at] = (self.base, at)
        return base

    def fields(self, base: list[Any], own: Any) -> Iterator[Any]:
        """The inherited fields, with replaced and new ones in their places."""
        if not isinstance(own, list) or not all(isinstance(e, Mapping) and isinstance(e.get("name"), str) for e in own):
            raise self.own.error(("fields",), "must be a list of fields, each with a name")
        again = {entry["name"]: index for index, entry in enumerate(own)}
        places = {entry["name"]: index for index, entry in enumerate(base) if ("fields", entry["name"]) not in self.without}
        order = list(places)
        for name, index in again.items():
            after = own[index].get("after")
            if after is not None and after not in order:
                raise self.own.error(("fields", index, "after"), f"there is no field {after!r}")
            if name not in order:
                order.insert(len(order) if after is None else order.index(after) + 1, name)
        for position, name in enumerate(order):
            document, index = (self.own, again[name]) if name in again else (self.base, places[name])
            self.parts[("fields", position)] = (document, ("fields", index))
            yield {key: value for key, value in document.data["fields"][index].items() if key != "after"}


def _with_keys(entry: Mapping[str, Any], more: Mapping[str, Any], after: Mapping[str, str]) -> dict[str, Any]:
    """An entry with more keys, those of new fields behind the ones that they are ``after``."""
    keys = list(entry)
    for key in (key for key in more if key not in entry):
        place = after.get(key)
        keys.insert(keys.index(place) + 1 if place in keys else len(keys), key)
    return {key: more.get(key, entry.get(key)) for key in keys}


def _has(data: Mapping[str, Any], path: Path_) -> bool:
    """Whether a document has an entry; a field is found by its name."""
    found: Any = data
    for key in path:
        if isinstance(found, list):
            found = {entry["name"]: entry for entry in found if isinstance(entry, Mapping) and "name" in entry}
        if not isinstance(found, Mapping) or key not in found:
            return False
        found = found[key]
    return True
