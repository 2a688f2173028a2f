"""The mutants in their old form as mutants of one operator each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from dmlcts.conformance.backends.backend import Bytes, Dispatch
from dmlcts.conformance.backends.buffers import write_tensor
from dmlcts.conformance.mutants import mutant as new
from dmlcts.conformance.mutants.fault import Fault
from dmlcts.conformance.mutants.old.bases import OTHER_BASIS
from dmlcts.conformance.mutants.old.equivalent import EQUIVALENT, OWN
from dmlcts.conformance.mutants.old.mutant import Mutant, only_run, read_at, same_desc, same_rules, same_value
from dmlcts.conformance.mutants.old.values import _OWN
from dmlcts.spec.desc import TensorDesc
from dmlcts.spec.loader import load
from dmlcts.spec.model import DOCUMENTED, MEASURED


@cache
def _by_operator() -> Mapping[str, tuple[new.Mutant, ...]]:
    found: dict[str, list[new.Mutant]] = {}
    for old in (mutant for make in _OWN for mutant in make()):
        for operator in old.operators:
            reason = old.equivalent or OWN.get(old.name, "") or EQUIVALENT.get(old.name, {}).get(operator, "")
            basis = old.basis
            if operator in OTHER_BASIS.get(old.name, ()):
                basis = DOCUMENTED if basis == MEASURED else MEASURED
            label = old.name.removeprefix(f"{operator}/")
            found.setdefault(operator, []).append(new.Mutant(operator, label, adapted(old, operator), basis, reason))
    return {operator: tuple(every) for operator, every in found.items()}


def old_mutants(operator: str) -> Iterator[new.Mutant]:
    """The mutants of an operator that are in their old form."""
    yield from _by_operator().get(operator, ())


def adapted(old: Mutant, operator: str) -> Fault:
    """An old mutant's hooks as a fault's."""
    positions = {field.name: position for position, field in enumerate(load(operator).inputs())}

    def read(name: str, buffer: Bytes, tensor: TensorDesc, offset: int) -> Any:
        return old.read(positions[name.partition("[")[0]], buffer, tensor, offset)

    def refuses(dispatch: Dispatch) -> str:
        claimed = old.rules(dispatch, [])
        return claimed[0].message if claimed else ""

    hooks: dict[str, Any] = {}
    if old.rules is not same_rules:
        hooks |= {"accepts": old.rules} if old.rejections else {"refuses": refuses}
    if old.value is not same_value:
        hooks |= {"value": old.value}
    if old.desc is not same_desc:
        hooks["desc"] = old.desc
    if old.read is not read_at:
        hooks["read"] = read
    if old.write is not write_tensor:
        hooks["write"] = old.write
    if old.around is not only_run:
        hooks["around"] = old.around
    return Fault(old.does, when=old.where, kinds=old.first, **hooks)
