"""Implementations of the API for tests: they give what each promise expects, but for one of them."""

from __future__ import annotations

import os

from dmlcts.conformance import ArrayBackend, BackendInfo, Unsupported
from dmlcts.conformance.sequences.calls import Call, Reply
from dmlcts.conformance.sequences.promises.promise import Promise, promises


class Faithful(ArrayBackend):
    """Every call gives what the first promise with these calls expects. Nothing is computed."""

    info = BackendInfo("faithful", "1.0", operators=("ELEMENT_WISE_ABS",))

    def compute(self, desc, inputs):
        raise Unsupported(desc.type)

    def perform(self, calls: list[Call]) -> list[Reply]:
        promise = next((each for each in promises() if list(each.calls) == calls), None)
        return [Reply(unsupported="no promise")] * len(calls) if promise is None else self.replies(promise)

    def replies(self, promise: Promise) -> list[Reply]:
        supported = {each.refused_unless for each in promise.expected}
        return [
            Reply(each.codes[0], True if number in supported else each.value, each.removes)
            for number, each in enumerate(promise.expected)
        ]


class Refusing(Faithful):
    """Every call gives E_FAIL."""

    def replies(self, promise: Promise) -> list[Reply]:
        return [Reply("E_FAIL") for _ in promise.calls]


class Volatile(Faithful):
    """Breaks what is promised of the flag DESCRIPTORS_VOLATILE."""

    def replies(self, promise: Promise) -> list[Reply]:
        found = super().replies(promise)
        if promise.name in ("REC-3", "REC-4"):
            found[-1] = Reply(value=b"\0" * len(found[-1].value))
        return found


class Ending(Faithful):
    """The process ends at one promise."""

    def replies(self, promise: Promise) -> list[Reply]:
        if promise.name == "REC-4":
            os._exit(3)
        return super().replies(promise)
