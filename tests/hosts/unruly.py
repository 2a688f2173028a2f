"""Python backends that misbehave, each in one way: named on the command line as ``python:unruly:CLASS``.

Those that misbehave in a case do so in ELEMENT_WISE_BIT_OR of UINT8 (``chosen``), and are the reference in every other.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendFault, BackendInfo, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.spec.model.desc import OperatorDesc


def chosen(desc: OperatorDesc) -> bool:
    tensors = list(desc.tensors())
    return desc.type == "ELEMENT_WISE_BIT_OR" and tensors[0][1].data_type == "UINT8"


class Slow(ReferenceBackend):
    def run(self, dispatch: Dispatch) -> None:
        time.sleep(0.05)
        super().run(dispatch)


class Plain:
    """No subclass of anything, and silent about data types."""

    def __init__(self) -> None:
        self.reference = ReferenceBackend()

    def describe(self) -> BackendInfo:
        return BackendInfo("plain", "1.0", feature_level="3_0")

    def run(self, dispatch: Dispatch) -> None:
        self.reference.run(dispatch)

    def close(self) -> None:
        pass


# What happens in a case.


class _InACase(ReferenceBackend):
    def run(self, dispatch: Dispatch) -> None:
        if chosen(dispatch.desc):
            self.misbehave()
        super().run(dispatch)

    def misbehave(self) -> None:
        raise NotImplementedError


class Raises(_InACase):
    def misbehave(self) -> None:
        raise ZeroDivisionError("on purpose [/bold]")


class Exits(_InACase):
    def misbehave(self) -> None:
        sys.exit(5)


class Skips(_InACase):
    def misbehave(self) -> None:
        pytest.skip("pytest's own outcome")


class Dies(_InACase):
    def misbehave(self) -> None:
        os._exit(9)


class ExitsWithSuccess(_InACase):
    def misbehave(self) -> None:
        sys.exit(0)


class DiesWithSuccess(_InACase):
    def misbehave(self) -> None:
        os._exit(0)


class LeavesAChild(_InACase):
    """Dies, and a child that holds its streams open does not."""

    def misbehave(self) -> None:
        if os.fork() == 0:
            self.become()
            Path(os.environ["UNRULY_OUT"], "child").write_text(str(os.getpid()), encoding="utf-8")
            time.sleep(60)
        while not Path(os.environ["UNRULY_OUT"], "child").exists():
            time.sleep(0.01)
        os._exit(9)

    def become(self) -> None:
        pass


class LeavesADaemon(LeavesAChild):
    def become(self) -> None:
        os.setsid()


class Forks(_InACase):
    """The child goes on as well as the parent."""

    def misbehave(self) -> None:
        os.fork()


class Crashes(_InACase):
    def misbehave(self) -> None:
        ctypes.string_at(0)


class Hangs(_InACase):
    def misbehave(self) -> None:
        time.sleep(1000)


class WritesToAnInput(ReferenceBackend):
    def run(self, dispatch: Dispatch) -> None:
        super().run(dispatch)
        binding = dispatch.bindings["ATensor"]
        dispatch.resources[binding.resource][binding.offset] ^= 1


class WritesLater(ReferenceBackend):
    """Changes an input of the dispatch before, when it is asked for the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Dispatch | None = None

    def run(self, dispatch: Dispatch) -> None:
        super().run(dispatch)
        if self.before is not None:
            binding = self.before.bindings["ATensor"]
            self.before.resources[binding.resource][binding.offset] ^= 1
        self.before = dispatch


class WritesAndRejects(ReferenceBackend):
    def run(self, dispatch: Dispatch) -> None:
        for resource in dispatch.resources:
            resource[...] = 0
        raise Rejected("no")


class Faults(_InACase):
    def misbehave(self) -> None:
        raise BackendFault("the device was removed", "0x887A0005")


class Refuses(_InACase):
    def misbehave(self) -> None:
        raise Rejected("not today", "compile", "E_FAIL")


class Declines(_InACase):
    def misbehave(self) -> None:
        raise Unsupported("no UINT8 in BIT_OR")


class Prints(ReferenceBackend):
    def run(self, dispatch: Dispatch) -> None:
        print('{"result": "hello"}', flush=True)
        os.write(1, b"from a descriptor\n")
        super().run(dispatch)


class _Returns(ReferenceBackend):
    def compute(self, desc: OperatorDesc, inputs: Mapping[str, Any]) -> Any:
        right = super().compute(desc, inputs)
        return self.instead(right) if chosen(desc) else right

    def instead(self, right: dict[str, Any]) -> Any:
        raise NotImplementedError


class ReturnsNothing(_Returns):
    def instead(self, right: dict[str, Any]) -> Any:
        return None


class ReturnsNoOutput(_Returns):
    def instead(self, right: dict[str, Any]) -> Any:
        return {}


class ReturnsAnotherShape(_Returns):
    def instead(self, right: dict[str, Any]) -> Any:
        return {name: array.ravel() for name, array in right.items()}


class ReturnsAnotherType(_Returns):
    def instead(self, right: dict[str, Any]) -> Any:
        return {name: array.astype(np.int8) for name, array in right.items()}


class ReturnsALesserCount(_Returns):
    def instead(self, right: dict[str, Any]) -> Any:
        return {name: array[..., :-1] for name, array in right.items()}


class ReturnsAList(_Returns):
    def instead(self, right: dict[str, Any]) -> Any:
        return {name: array.tolist() for name, array in right.items()}


class Wrong(_Returns):
    def instead(self, right: dict[str, Any]) -> Any:
        return {name: array ^ 1 for name, array in right.items()}


class AllWrong(ReferenceBackend):
    def compute(self, desc: OperatorDesc, inputs: Mapping[str, Any]) -> Any:
        return {name: np.zeros_like(array) for name, array in super().compute(desc, inputs).items()}


class ReportsLevel50(ReferenceBackend):
    def __init__(self) -> None:
        super().__init__()
        self.info = replace(self.info, feature_level="5_0")


class WrongAndExitsAtClose(Wrong):
    def close(self) -> None:
        sys.exit(0)


class WrongAndDiesAtClose(Wrong):
    def close(self) -> None:
        os._exit(0)


class DiesAtClose(ReferenceBackend):
    def close(self) -> None:
        os._exit(0)


class LeavesAThread(ReferenceBackend):
    """Its process cannot end: Python waits for the thread."""

    def close(self) -> None:
        Thread(target=time.sleep, args=(1000,)).start()


class CrashesAtClose(ReferenceBackend):
    def close(self) -> None:
        os.abort()


class ChangesTheFolder(Wrong):
    def __init__(self) -> None:
        super().__init__()
        os.chdir("/")


class DiesWithSuccessAtExit(Wrong):
    def __init__(self) -> None:
        super().__init__()
        atexit.register(os._exit, 0)


class AllRaise(ReferenceBackend):
    def run(self, dispatch: Dispatch) -> None:
        raise ZeroDivisionError("on purpose")


class Uint32Only(ReferenceBackend):
    def __init__(self) -> None:
        super().__init__()
        self.info = BackendInfo("narrow", data_types=("UINT32",))


class Nothing(ReferenceBackend):
    def __init__(self) -> None:
        super().__init__()
        self.info = BackendInfo("nothing")

    def run(self, dispatch: Dispatch) -> None:
        raise Unsupported("nothing at all")


class ForgesTheJournal(Wrong):
    """Writes to the journal that every case passed; UNRULY_OUT is the output folder."""

    def run(self, dispatch: Dispatch) -> None:
        super().run(dispatch)
        parts = Path(os.environ["UNRULY_OUT"]) / "parts"
        for listed in parts.glob("0-listed-*.jsonl"):
            text = listed.read_text(encoding="utf-8").replace('"status":"not_run"', '"status":"pass"')
            (parts / "9-forged.jsonl").write_text(text, encoding="utf-8")


class StopsTheClock(Wrong):
    """Its process is in the year 2000, as libraries for reproducible tests let it be."""

    def __init__(self) -> None:
        super().__init__()

        class Then(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime(2000, 1, 1, tzinfo=tz)

        for module in list(sys.modules.values()):
            if getattr(module, "datetime", None) is datetime:
                module.datetime = Then  # type: ignore[attr-defined]


class OfAnotherTypeLater(ReferenceBackend):
    """Supports all data types when it is started first, and UINT32 alone afterwards; UNRULY_LOCK is the file that remembers."""

    def __init__(self) -> None:
        super().__init__()
        started = Path(os.environ["UNRULY_LOCK"])
        self.info = BackendInfo("changing", data_types=("UINT32",) if started.exists() else ())
        started.touch()


class DiesAndChanges(OfAnotherTypeLater):
    def run(self, dispatch: Dispatch) -> None:
        if chosen(dispatch.desc):
            os._exit(0)
        super().run(dispatch)


# What happens before and after.


class RaisesWhenMade:
    def __init__(self) -> None:
        raise RuntimeError("no device")


class ExitsWhenMade:
    def __init__(self) -> None:
        sys.exit(0)


class HasNoRun:
    def describe(self) -> BackendInfo:
        return BackendInfo("no run")

    def close(self) -> None:
        pass


class RaisesWhenAsked(ReferenceBackend):
    def describe(self) -> BackendInfo:
        raise OSError("driver does not answer")


class DescribedByADict(ReferenceBackend):
    def describe(self) -> Any:
        return {"name": "a dict"}


class OfNoLevel(ReferenceBackend):
    def describe(self) -> BackendInfo:
        return BackendInfo("described", feature_level="9_9")


class OfNoType(ReferenceBackend):
    def describe(self) -> BackendInfo:
        return BackendInfo("described", data_types=("uint32",))


class OfNoJson(ReferenceBackend):
    def describe(self) -> BackendInfo:
        return BackendInfo("described", details={"handle": object()})


class RaisesWhenClosed(ReferenceBackend):
    def close(self) -> None:
        raise RuntimeError("closed already")


class HangsWhenClosed(Slow):
    def close(self) -> None:
        (Path(os.environ["UNRULY_OUT"]) / "closing").touch()
        time.sleep(1000)


class ForOne(ReferenceBackend):
    """A device that one process can have at a time: UNRULY_LOCK names the file that says who has it."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = Path(os.environ["UNRULY_LOCK"])
        try:
            self.lock.touch(exist_ok=False)
        except FileExistsError:
            raise RuntimeError("the device is taken") from None

    def close(self) -> None:
        self.lock.unlink()
