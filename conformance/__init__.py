"""Backends, execution, judgement, the pytest plugin and the command line.

Implementers import everything that they need from here:

    from dmlcts.conformance import ArrayBackend, Backend, BackendInfo, Dispatch, OperatorDesc, TensorDesc, Rejected, Unsupported
"""

from __future__ import annotations

TYPE_CHECKING = False  # conformance/commands/start imports this package before it knows that ``typing`` is Python's own
if TYPE_CHECKING:
    from typing import Any

    from dmlcts.conformance.backends.array_backend import ArrayBackend
    from dmlcts.conformance.backends.backend import (
        Backend,
        BackendFault,
        BackendInfo,
        BufferBinding,
        Dispatch,
        GraphDispatch,
        Rejected,
        Unsupported,
    )
    from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

__all__ = [
    "ArrayBackend",
    "Backend",
    "BackendFault",
    "BackendInfo",
    "BufferBinding",
    "Dispatch",
    "GraphDispatch",
    "OperatorDesc",
    "Rejected",
    "TensorDesc",
    "Unsupported",
]

_MODULES = {
    "ArrayBackend": "dmlcts.conformance.backends.array_backend",
    "OperatorDesc": "dmlcts.spec.model.desc",
    "TensorDesc": "dmlcts.spec.model.desc",
}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use: importing NumPy takes 0.2 s, which ``dmlcts --help`` does not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES.get(name, "dmlcts.conformance.backends.backend")), name)
