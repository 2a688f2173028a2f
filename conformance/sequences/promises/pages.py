"""Published pages that promises rest on: which page a text is, and whether it still has what they name.

A page of the API's reference is known by its UID (``NF:directml.IDMLDevice.Evict``), one without by the name of its file. The commit at which it was
read stands in shared.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dmlcts.conformance.sequences.calls import OK
from dmlcts.conformance.sequences.promises.promise import MUST, Promise, promises, shared_data
from dmlcts.spec.pages.compare import PageDifference
from dmlcts.spec.pages.markdown import front_matter

_REFERENCE = re.compile(r"n[efns]-directml-")

_OF_COM = "E_NOINTERFACE"


@dataclass(frozen=True, slots=True)
class PromisingPage:
    """A page, as shared.yaml names it: where it stands, the commit at which it was read, and the promises that name it."""

    name: str
    page: str
    commit: str
    promises: tuple[Promise, ...]


def promising_pages() -> tuple[PromisingPage, ...]:
    """Every page, in the order of shared.yaml. Raises SpecError."""
    pages: Mapping[str, Mapping[str, str]] = shared_data()["pages"]
    return tuple(
        PromisingPage(name, entry["page"], entry["commit"], tuple(each for each in promises() if each.page == entry["page"]))
        for name, entry in pages.items()
    )


def find_promising_page(text: str, file: Path) -> PromisingPage | None:
    """The page that a text is; None if no promise rests on it."""
    entries = {name.lower(): value for name, value in front_matter(text.removeprefix("\ufeff"))[0].items()}
    name = _file_name(entries.get("uid", "")) or file.name.lower()
    return next((each for each in promising_pages() if PurePosixPath(each.page).name == name), None)


def _file_name(uid: str) -> str:
    """``nf-directml-idmldevice-evict.md`` of ``NF:directml.IDMLDevice.Evict``."""
    kind, _, name = uid.lower().partition(":")
    return f"{kind}-{name.replace('.', '-')}.md" if name else ""


def compare_promises(page: PromisingPage, text: str) -> list[PageDifference]:
    """What promises name and their page does not: the API, on a page of the API's reference; a code, where a promise demands one that is no success.

    E_NOINTERFACE is COM's, and on no page.
    """
    text = text.removeprefix("\ufeff")
    words = "\n".join(text.splitlines()[front_matter(text)[1] :]).lower()
    found = []
    for each in page.promises:
        if _is_reference(page) and each.api.rpartition("::")[2].lower() not in words:
            found.append(PageDifference(f"promise/{each.name}/api", f"the page does not name {each.api}", "nothing", each.api))
        for codes in dict.fromkeys(expected.codes for expected in each.expected if each.severity == MUST):
            failures = [code for code in codes if code not in (OK, _OF_COM)]
            if failures and not any(code.lower() in words for code in failures):
                wanted = " or ".join(failures)
                found.append(PageDifference(f"promise/{each.name}/code", f"the page does not name {wanted}", "nothing", wanted))
    return found


def _is_reference(page: PromisingPage) -> bool:
    """Whether it is a page about one function, interface, struct or enumeration; others are articles, which speak of many."""
    return _REFERENCE.match(PurePosixPath(page.page).name) is not None
