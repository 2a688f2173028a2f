"""A backend whose texts attack whatever shows them: a terminal, a page, a CI system's log."""

from __future__ import annotations

from dmlcts.conformance import BackendFault, BackendInfo, Dispatch, Rejected, Unsupported

ATTACK = (
    "\x1b]0;owned\x07\x1b[31m\x1b[2J\r\n::error file=x::owned\n##vso[task.complete result=Succeeded]\n##[error]owned\n"
    "<script>alert(1)</script> ]]> </failure> ![x](http://example.org) @everyone `code` \x00\x08\x7f\x9b \ud800 \u202e \u2028 "
)
LONG = ATTACK + "x" * 3_000_000


class Texts:
    """Raises one thing after the other."""

    def __init__(self) -> None:
        self.calls = 0

    def describe(self) -> BackendInfo:
        return BackendInfo(name=f"{ATTACK}name", version=LONG, device=LONG, details={f"{ATTACK}key": [LONG, float("nan")]})

    def run(self, dispatch: Dispatch) -> None:
        self.calls += 1
        raise (
            BackendFault(LONG, LONG),
            Rejected(LONG, code=LONG),
            Unsupported(LONG),
            RuntimeError(LONG),
            type(f"Error{ATTACK.replace(chr(0), '').replace(chr(0xD800), '')}", (Exception,), {})(LONG),
            Unprintable(),
        )[self.calls % 6]

    def close(self) -> None:
        raise RuntimeError(LONG)


class Unprintable(Exception):
    """Its text cannot be read."""

    def __str__(self) -> str:
        raise ValueError(LONG)
