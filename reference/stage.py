"""Named steps of the references, so that one of them can be computed otherwise.

``@stage("attention.scores")`` names a function of a reference. Within ``with replace_stages({"attention.scores": instead}):`` every call of it
is ``instead(right, *arguments)``, where ``right`` is the function itself; nothing else of the reference changes. That is how an
implementation that gets one step wrong is imitated. The reference knows nothing of what is put in a stage's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

Instead = Callable[..., Any]
"""``f(right, *arguments)``: what is computed in a stage's place. It gets the stage's own function first, and returns what that returns."""

_STAGES: dict[str, Callable[..., Any]] = {}

_INSTEAD: ContextVar[Mapping[str, Instead] | None] = ContextVar("instead", default=None)


def stage(name: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Names the decorated function. Raises ValueError where two have one name."""

    def register(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(function)
        def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            replacements = _INSTEAD.get()
            if replacements is None or name not in replacements:
                return function(*args, **kwargs)
            found: Result = replacements[name](function, *args, **kwargs)
            return found

        if name in _STAGES:
            raise ValueError(f"two stages are called {name}")
        _STAGES[name] = run
        return run

    return register


def stages() -> Mapping[str, Callable[..., Any]]:
    """Every stage by name, of the references that were imported (``registry.references()`` imports all)."""
    return _STAGES


def is_replaced() -> bool:
    """Whether something else is computed in the place of any stage, in this thread."""
    return bool(_INSTEAD.get())


@contextmanager
def replace_stages(instead: Mapping[str, Instead]) -> Iterator[None]:
    """Computes other things in these stages' places, in this thread, until the block ends. An inner block's take an outer's place.

    Raises:
        KeyError: there is no such stage.
    """
    unknown = instead.keys() - _STAGES.keys()
    if unknown:
        raise KeyError(f"no stage is called {', '.join(sorted(unknown))}; there are {', '.join(sorted(_STAGES))}")
    token = _INSTEAD.set({**(_INSTEAD.get() or {}), **instead})
    try:
        yield
    finally:
        _INSTEAD.reset(token)
