"""What a Python backend may answer with: arrays of other kinds, and what it does to the dispatch that it is given.

Each is tried on one case, by the function that every run uses, in an ``inprocess:`` backend's harness. A wrong answer never passes; a right one passes, or is
an error with a message.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attack import Attack

from dmlcts.conformance import BackendFault, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.python.in_process import InProcess
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.runner.workers.worker import result_in
from dmlcts.generator.suite.suite import find_case
from dmlcts.spec.model.desc import OperatorDesc

BITS, FLOATS, COPY = "ELEMENT_WISE_BIT_OR/UINT8/4d", "ELEMENT_WISE_ADD1/FLOAT32/4d", "ELEMENT_WISE_IDENTITY/FLOAT32/4d"
PASS, LOUD = ("pass",), ("error", "fail")
EITHER = (*PASS, *LOUD)

Array = np.ndarray


class Equal(np.ndarray):
    """Is equal to everything."""

    def __eq__(self, other: object) -> Any:
        return np.ones(self.shape, bool)

    def __ne__(self, other: object) -> Any:
        return np.zeros(self.shape, bool)

    __hash__ = None


class Lazy:
    """Computes when it is asked, as arrays of other libraries do."""

    def __init__(self, array: Array) -> None:
        self.array, self.dtype, self.shape = array, array.dtype, array.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.array


class Spy(dict):
    """A mapping that says that it has every key."""

    def get(self, key: object, default: object = None) -> object:
        return next(iter(self.values()), default)


def strided(a: Array) -> Array:
    wide = np.empty((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def reversed_view(a: Array) -> Array:
    return np.ascontiguousarray(a[..., ::-1])[..., ::-1]


def read_only(a: Array) -> Array:
    a = a.copy()
    a.flags.writeable = False
    return a


def mapped(a: Array) -> Array:
    with tempfile.TemporaryFile() as file:
        found = np.memmap(file, a.dtype, "w+", shape=a.shape)  # type: ignore[call-overload]
    found[...] = a
    return found


def unaligned(a: Array) -> Array:
    raw = np.empty(a.nbytes + 1, np.uint8)
    found = np.ndarray(a.shape, a.dtype, raw.data, 1)
    found[...] = a
    return found


def one(change: Callable[[Array], Any]) -> Callable[[dict[str, Array]], Any]:
    return lambda outputs: {name: change(array) for name, array in outputs.items()}


RETURNED: dict[str, tuple[Callable[[dict[str, Array]], Any], tuple[str, ...]]] = {
    "strided view": (one(strided), PASS),
    "reversed view": (one(reversed_view), PASS),
    "Fortran order": (one(np.asfortranarray), PASS),
    "read-only": (one(read_only), PASS),
    "memory-mapped": (one(mapped), PASS),
    "unaligned": (one(unaligned), PASS),
    "subclass": (one(lambda a: a.view(np.recarray)), PASS),
    "masked": (one(lambda a: np.ma.MaskedArray(a)), PASS),
    "masked in part": (one(lambda a: np.ma.MaskedArray(a, mask=np.arange(a.size).reshape(a.shape) == 0, fill_value=0)), EITHER),
    "equal to everything": (one(lambda a: a.view(Equal)), PASS),
    "a mapping with all keys": (Spy, PASS),
    "big-endian": (one(lambda a: a.astype(a.dtype.newbyteorder(">"))), EITHER),
    "bytes swapped": (one(lambda a: a.byteswap().view(a.dtype.newbyteorder())), EITHER),
    "read by another sign": (one(lambda a: a.view(f"i{a.itemsize}")), LOUD),
    "wider": (one(lambda a: a.astype(np.float64)), LOUD),
    "bool": (one(lambda a: a.astype(bool)), LOUD),
    "complex": (one(lambda a: a.astype(complex)), LOUD),
    "longdouble": (one(lambda a: a.astype(np.longdouble)), LOUD),
    "objects": (one(lambda a: a.astype(object)), LOUD),
    "strings": (one(lambda a: a.astype(str)), LOUD),
    "bytes as an array of bytes": (one(lambda a: np.frombuffer(a.tobytes(), np.uint8)), LOUD),
    "structured": (one(lambda a: a.view([("x", a.dtype)])), LOUD),
    "no dimensions": (one(lambda a: a.reshape(-1)[0].reshape(())), LOUD),
    "a scalar": (one(lambda a: a.reshape(-1)[0]), LOUD),
    "flat": (one(np.ravel), LOUD),
    "one more dimension": (one(lambda a: a[None]), LOUD),
    "transposed": (one(lambda a: a.T), LOUD),
    "one element less": (one(lambda a: a[..., :-1]), LOUD),
    "one element, broadcast": (one(lambda a: np.broadcast_to(a[..., :1], a.shape)), LOUD),
    "empty": (one(lambda a: a[:0]), LOUD),
    "lazy": (one(Lazy), LOUD),
    "memoryview": (one(memoryview), LOUD),
    "bytes": (one(lambda a: a.tobytes()), LOUD),
    "list": (one(lambda a: a.tolist()), LOUD),
    "generator": (one(lambda a: iter(a)), LOUD),
    "function": (one(lambda a: lambda: a), LOUD),
    "None": (one(lambda a: None), LOUD),
    "nothing": (lambda outputs: None, LOUD),
    "NotImplemented": (lambda outputs: NotImplemented, LOUD),
    "empty mapping": (lambda outputs: {}, LOUD),
    "list of outputs": (lambda outputs: list(outputs.values()), LOUD),
    "the array alone": (lambda outputs: next(iter(outputs.values())), LOUD),
    "items": (lambda outputs: outputs.items(), LOUD),
    "coroutine": (lambda outputs: (x for x in [outputs]), LOUD),
    "other letter case": (lambda outputs: {name.lower(): array for name, array in outputs.items()}, LOUD),
    "one output more": (lambda outputs: {**outputs, "Output2Tensor": np.zeros(3)}, LOUD),
    "keys that are numbers": (lambda outputs: dict(enumerate(outputs.values())), LOUD),
    "keys that cannot be compared": (lambda outputs: {**outputs, object(): 1}, LOUD),
}  # fmt: skip


class Returning(ReferenceBackend):
    def __init__(self, change: Callable[[dict[str, Array]], Any], wrong: bool) -> None:
        super().__init__()
        self.change, self.wrong = change, wrong

    def compute(self, desc: OperatorDesc, inputs: Any) -> Any:
        outputs = super().compute(desc, inputs)
        if self.wrong:
            for array in outputs.values():
                array.reshape(-1)[-1:].view(np.uint8)[-1] ^= 64  # in place, as people do
        return self.change(outputs)


def output(dispatch: Dispatch) -> Array:
    bound = dispatch.bindings["OutputTensor"]
    return dispatch.resources[bound.resource][bound.offset : bound.offset + bound.size]


def replaced_resource(d: Dispatch) -> None:
    d.resources[d.bindings["OutputTensor"].resource] = output(d).copy()


def all_replaced(d: Dispatch) -> None:
    d.resources[:] = [resource.copy() for resource in d.resources]


def protected(d: Dispatch) -> None:
    for resource in d.resources:
        resource.flags.writeable = False


def raising(error: BaseException) -> Callable[[Dispatch], None]:
    def raise_it(d: Dispatch) -> None:
        raise error

    return raise_it


class Odd(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class NoText(Exception):
    def __str__(self) -> Any:
        return None


class Named(Exception):
    pass


Named.__name__ = "\x1b[2J::error::" + "N" * 100_000


class Masked(Exception):
    __class__ = Rejected  # type: ignore[assignment]


def circle() -> Exception:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    return one


def deep() -> BaseException:
    error: BaseException = ValueError("x")
    for _ in range(2000):
        error = ExceptionGroup("x", [error])  # type: ignore[list-item]
    return error


AFTERWARDS: dict[str, tuple[Callable[[Dispatch], object], tuple[str, ...]]] = {
    "the output's resource is replaced by a copy": (replaced_resource, EITHER),
    "all resources are replaced by copies": (all_replaced, EITHER),
    "the list of resources is emptied": (lambda d: d.resources.clear(), EITHER),
    "the list of resources grows": (lambda d: d.resources.append(np.zeros(3, np.uint8)), EITHER),
    "the list of resources is turned round": (lambda d: d.resources.reverse(), EITHER),
    "resources are read-only": (protected, EITHER),
    "a resource has another shape": (lambda d: setattr(d.resources[0], "shape", (2, -1)), EITHER),
    "a resource has another type": (lambda d: setattr(d.resources[0], "dtype", np.dtype(np.int8)), EITHER),
    "a resource is resized": (lambda d: d.resources[-1].resize(3, refcheck=False), EITHER),
    "the output's resource is resized to more": (lambda d: d.resources[-1].resize(d.resources[-1].size + 64, refcheck=False), EITHER),
    "the bindings are cleared": (lambda d: d.bindings.clear(), LOUD),
    "the outputs are none": (lambda d: object.__setattr__(d, "outputs", ()), EITHER),
    "the desc is another": (lambda d: object.__setattr__(d, "desc", OperatorDesc("ELEMENT_WISE_ABS", {})), EITHER),
    "the bindings are others": (lambda d: object.__setattr__(d, "bindings", {}), EITHER),
    "a view of the output is kept": (lambda d: KEPT.append(output(d)), PASS),
    "a byte after the output is written": (lambda d: d.resources[d.bindings["OutputTensor"].resource].__setitem__(d.bindings["OutputTensor"].offset + d.bindings["OutputTensor"].size, 7), LOUD),
    "a byte before the output is written": (lambda d: d.resources[d.bindings["OutputTensor"].resource].__setitem__(d.bindings["OutputTensor"].offset - 1, 7), LOUD),
    "an input is written": (lambda d: d.resources[d.bindings[next(iter(d.bindings))].resource].__setitem__(d.bindings[next(iter(d.bindings))].offset, 7), LOUD),
    "raises with no text": (raising(Odd()), LOUD),
    "raises with a text that is none": (raising(NoText()), LOUD),
    "raises with a name that attacks": (raising(Named("x")), LOUD),
    "raises what calls itself a rejection": (raising(Masked("x")), LOUD),
    "raises a circle of causes": (raising(circle()), LOUD),
    "raises a group": (raising(ExceptionGroup("g", [ValueError(1), SystemExit(0)]) if False else BaseExceptionGroup("g", [SystemExit(0)])), LOUD),
    "raises a group 2,000 deep": (raising(deep()), LOUD),
    "raises a message of 10 MB": (raising(ValueError("x" * 10_000_000)), LOUD),
    "raises surrogates": (raising(ValueError("\ud800")), LOUD),
    "raises bytes": (raising(ValueError(b"\xff")), LOUD),
    "raises notes that are none": (raising((lambda e: (setattr(e, "__notes__", 7), e)[1])(ValueError("x"))), LOUD),
    "rejects at no stage": (raising(Rejected("x", None, None)), LOUD),
    "rejects with numbers": (raising(Rejected(7, 8, 9)), LOUD),
    "faults with bytes": (raising(BackendFault(b"x", b"\xff")), LOUD),
    "is unsupported without a word": (raising(Unsupported()), ("unsupported",)),
    "is unsupported for a reason that is none": (raising(Unsupported(None)), ("unsupported",)),
}  # fmt: skip
KEPT: list[Array] = []


class Doing(ReferenceBackend):
    """Right, but for one bit where it is ``wrong``, and does something besides."""

    def __init__(self, then: Callable[[Dispatch], object], wrong: bool, first: bool) -> None:
        super().__init__()
        self.then, self.wrong, self.first = then, wrong, first

    def run(self, dispatch: Dispatch) -> None:
        if self.first:
            self.then(dispatch)
        super().run(dispatch)
        if self.wrong:
            output(dispatch)[0] ^= 1
        if not self.first:
            self.then(dispatch)


def statuses(case_id: str, backend: ReferenceBackend, allowed: tuple[str, ...]) -> str:
    options = RunOptions(cases=(case_id,))
    result = result_in(Session(options, InProcess(lambda: backend)), find_case(case_id))
    if result.status not in allowed:
        return f"{result.status} instead of {' or '.join(allowed)}: {result.message}"
    if result.status != "pass" and not result.message and result.status != "unsupported":
        return f"{result.status} without a message"
    return "a message of more than a line" if "\n" in result.message or len(result.message) > 2100 else ""


def attacks() -> Iterator[Attack]:
    for name, (change, right) in RETURNED.items():
        for case in (BITS, FLOATS, COPY):
            allowed = right if name != "masked in part" else EITHER
            if name == "read by another sign" and case == BITS:
                allowed = LOUD
            yield Attack(
                f"right, returned as {name}: {case}",
                (lambda _, c=case, h=change, a=allowed: statuses(c, Returning(h, False), a),),
                quick=True,
            )
            yield Attack(
                f"wrong, returned as {name}: {case}",
                (lambda _, c=case, h=change: statuses(c, Returning(h, True), LOUD),),
                quick=True,
            )
    for name, (then, right) in AFTERWARDS.items():
        wrong = right if right == ("unsupported",) else LOUD
        for first in (False, True):
            place = "first" if first else "afterwards"
            allowed = (
                EITHER
                if first and right is PASS
                else right
                if not first
                else (*EITHER, *right)
                if name[:6] not in ("raises", "reject", "faults", "is uns")
                else right
            )
            yield Attack(
                f"right, and {place} {name}",
                (lambda _, h=then, a=allowed, f=first: statuses(BITS, Doing(h, False, f), a),),
                quick=True,
            )
            yield Attack(
                f"wrong, and {place} {name}",
                (lambda _, h=then, a=wrong, f=first: statuses(BITS, Doing(h, True, f), a),),
                quick=True,
            )
    yield Attack(
        "a right answer is no wrong one",
        (lambda _: statuses(BITS, Returning(lambda x: x, False), LOUD),),
        self_check=True,
        quick=True,
    )
    yield Attack(
        "a wrong answer is no right one",
        (lambda _: statuses(BITS, Returning(lambda x: x, True), PASS),),
        self_check=True,
        quick=True,
    )


ATTACKS = tuple(attacks())
