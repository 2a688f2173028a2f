"""What a spec rests on: the published pages, and their flaws."""

from __future__ import annotations

from dataclasses import dataclass

DOCUMENTED, MEASURED, CONTESTED = "documented", "measured", "contested"
"""The bases of a promise: the page, DirectML.dll alone, or the page where DirectML.dll does otherwise."""


@dataclass(frozen=True, slots=True)
class Erratum:
    """A flaw of the documentation, with its evidence; ``differences`` are the keys of ``spec compare`` that it explains.

    ``measured`` is the version of DirectML.dll that it was seen on, if it was, and ``shown_by`` what shows it there. ``effect``, one of
    ``EFFECTS``, is what who relies on the page meets in DirectML.dll; empty where documents contradict each other alone.
    """

    id: str
    text: str
    evidence: str
    severity: str = "erratum"
    differences: tuple[str, ...] = ()
    measured: str = ""
    shown_by: str = ""
    effect: str = ""


EFFECTS = {
    "crash": "ends the process or removes the device",
    "values": "gives other results for usual inputs",
    "edges": "gives other results for extreme inputs: NaN, infinities, integers beyond 32 bits, overflow",
    "scope": "refuses what is documented, or computes more",
}
"""What an erratum does to who relies on the page, the worst first."""


_PUBLISHED = {
    "MicrosoftDocs/sdk-api/sdk-api-src/content/": "https://learn.microsoft.com/windows/win32/api/",
    "MicrosoftDocs/windows-ai-docs/docs/": "https://learn.microsoft.com/windows/ai/",
}
"""The address below which Microsoft publishes the pages of a folder of a repository."""


@dataclass(frozen=True, slots=True)
class Source:
    """A published page: repository, path and commit, or only a title if there is no repository."""

    title: str
    repo: str = ""
    path: str = ""
    commit: str = ""

    @property
    def url(self) -> str:
        """Where Microsoft publishes the page; empty if that is not known."""
        root = next((root for root in _PUBLISHED if f"{self.repo}/{self.path}".startswith(root)), None)
        return f"{_PUBLISHED[root]}{f'{self.repo}/{self.path}'.removeprefix(root).removesuffix('.md')}" if root else ""
