"""Backends of attacks, as source text: the reference with one mischief, and wrong in one bit of one element of one case, or right."""

from __future__ import annotations

from textwrap import indent

HEAD = """\
import ctypes, gc, json, os, random, signal, sys, threading, time, warnings
from dataclasses import replace
import numpy as np
from dmlcts.conformance import ArrayBackend, Backend, BackendFault, BackendInfo, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend

def chosen(dispatch):
    return dispatch.desc.type == "ELEMENT_WISE_BIT_OR" and list(dispatch.desc.tensors())[0][1].data_type == "UINT8"

def spoil(dispatch):
    if chosen(dispatch) and "OutputTensor" in dispatch.bindings:
        bound = dispatch.bindings["OutputTensor"]
        dispatch.resources[bound.resource][bound.offset] ^= 1
"""

NAMES = ("BIT_OR", "--level", "smoke", "-k", "4d and not negative and not property")
"""Eleven plain cases, and a few more."""


def suspect(
    wrong: bool = True, module: str = "", made: str = "", describe: str = "", before: str = "", after: str = "", close: str = ""
) -> str:
    """A module with the class ``Mine``. Each text is Python that runs at that place."""
    spoil = "spoil(dispatch)" if wrong else ""
    places = {
        "__init__(self)": ("super().__init__()", made),
        "describe(self)": (describe, "return super().describe()"),
        "run(self, dispatch)": (before, "super().run(dispatch)", spoil, after),
        "close(self)": (close, "super().close()"),
    }
    methods = [f"    def {head}:\n{indent(chr(10).join(filter(None, body)), ' ' * 8)}\n" for head, body in places.items()]
    return f"{HEAD}\n{module}\n\nclass Mine(ReferenceBackend):\n" + "\n".join(methods)


def run_of(kind: str, *more: str, out: str = "out", names: tuple[str, ...] = NAMES) -> tuple[str, ...]:
    """The arguments that run the module ``mine.py`` as a backend of this kind."""
    return ("run", *names, "-q", "--backend", f"{kind}:mine:Mine", "--out", out, *more)
