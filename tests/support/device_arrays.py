"""A strict stand-in for CuPy: NumPy's computations behind arrays that refuse what arrays on a GPU refuse.

What a test of this stand-in passes may still differ on a GPU; what it refuses cannot run there. It refuses

- NumPy's own functions on a device array, and a host array anywhere but in ``asarray``: nothing is copied between host and device unasked;
- data types that CuPy does not have (``ml_dtypes``, longer floats, objects);
- functions and methods that CuPy 14 does not have.

Where NumPy gives a scalar, as a sum over all axes does, it gives an array without dimensions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_TYPES = "?bBhHiIlLqQefdFD"
"""The data types that CuPy has, by NumPy's characters."""

_LACKS = frozenset(
    [
        "longdouble",
        "clongdouble",
        "float96",
        "float128",
        "object_",
        "str_",
        "bytes_",
        "void",
        "datetime64",
        "timedelta64",
        "emath",
        "rec",
        "char",
        "ma",
        "strings",
        "matrix",
        "asmatrix",
        "block",
        "bmat",
        "einsum_path",
        "frompyfunc",
        "geomspace",
        "histogram_bin_edges",
        "insert",
        "isnat",
        "matvec",
        "nanpercentile",
        "nanquantile",
        "nested_iters",
        "nditer",
        "ndenumerate",
        "polyder",
        "polydiv",
        "polyint",
        "seterr",
        "seterrcall",
        "geterr",
        "geterrcall",
        "spacing",
        "vecmat",
    ]
)
"""What NumPy has and CuPy 14.2 does not, by ``dir``."""

_SCATTERED = frozenset(["add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"])
"""The functions that have ``at``."""

_MAKES = frozenset(["zeros", "ones", "full", "empty", "arange", "linspace", "eye", "identity", "tri", "indices"])
"""Functions that need no array to begin with."""

_METHODS = frozenset(
    [
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "astype",
        "choose",
        "clip",
        "compress",
        "conj",
        "copy",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "fill",
        "flatten",
        "item",
        "max",
        "mean",
        "min",
        "nonzero",
        "partition",
        "prod",
        "ptp",
        "put",
        "ravel",
        "repeat",
        "reshape",
        "round",
        "searchsorted",
        "sort",
        "squeeze",
        "std",
        "sum",
        "swapaxes",
        "take",
        "tolist",
        "trace",
        "transpose",
        "var",
        "view",
    ]
)


class NotOnDevice(TypeError):
    """What CuPy refuses."""


class DeviceArray:
    """An array on a device. ``get`` copies it to the host."""

    __array_ufunc__ = None
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, on_host: Any) -> None:
        array = np.asarray(on_host)
        if array.dtype.char not in _TYPES:
            raise NotOnDevice(f"CuPy has no data type {array.dtype}")
        self._on_host = array

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotOnDevice("implicit conversion to a NumPy array is not allowed: use get()")

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise NotOnDevice(f"numpy.{function.__name__} is called with a device array")

    def __array_namespace__(self, api_version: str | None = None) -> Namespace:
        return NAMESPACE

    def get(self) -> Any:
        """A copy on the host."""
        return self._on_host.copy()

    @property
    def dtype(self) -> Any:
        return self._on_host.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._on_host.shape

    @property
    def ndim(self) -> int:
        return self._on_host.ndim

    @property
    def size(self) -> int:
        return self._on_host.size

    @property
    def nbytes(self) -> int:
        return self._on_host.nbytes

    @property
    def itemsize(self) -> int:
        return self._on_host.itemsize

    @property
    def T(self) -> DeviceArray:  # noqa: N802 (NumPy's name)
        return DeviceArray(self._on_host.T)

    @property
    def mT(self) -> DeviceArray:  # noqa: N802 (the array API's name)
        return DeviceArray(self._on_host.mT)

    @property
    def real(self) -> DeviceArray:
        return DeviceArray(self._on_host.real)

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")
        method = getattr(self._on_host, name)

        def called(*arguments: Any, **named: Any) -> Any:
            found = method(*_unwrapped(arguments), **_unwrapped(named))
            return found if name in ("item", "tolist") else _wrapped(found)

        return called

    def __len__(self) -> int:
        return len(self._on_host)

    def __iter__(self) -> Iterator[DeviceArray]:
        return (DeviceArray(row) for row in self._on_host)

    def __bool__(self) -> bool:
        return bool(self._on_host)

    def __int__(self) -> int:
        return int(self._on_host)

    def __float__(self) -> float:
        return float(self._on_host)

    def __getitem__(self, key: Any) -> DeviceArray:
        return DeviceArray(self._on_host[_unwrapped(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._on_host[_unwrapped(key)] = _unwrapped(value)

    def __repr__(self) -> str:
        return f"DeviceArray({self._on_host!r})"


def _binary(name: str) -> Callable[[DeviceArray, Any], Any]:
    function = getattr(operator, name)

    def forward(self: DeviceArray, other: Any) -> Any:
        return _wrapped(function(self._on_host, _operand(other)))

    return forward


def _reflected(name: str) -> Callable[[DeviceArray, Any], Any]:
    function = getattr(operator, name)

    def backward(self: DeviceArray, other: Any) -> Any:
        return _wrapped(function(_operand(other), self._on_host))

    return backward


def _unary(name: str) -> Callable[[DeviceArray], Any]:
    function = getattr(operator, name)
    return lambda self: _wrapped(function(self._on_host))


def _in_place(name: str) -> Callable[[DeviceArray, Any], Any]:
    function = getattr(operator, f"i{name}")

    def change(self: DeviceArray, other: Any) -> Any:
        self._on_host = function(self._on_host, _operand(other))
        return self

    return change


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift"):
    _short = _name.rstrip("_")
    setattr(DeviceArray, f"__{_short}__", _binary(_name))
    setattr(DeviceArray, f"__r{_short}__", _reflected(_name))
    setattr(DeviceArray, f"__i{_short}__", _in_place(_short))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(DeviceArray, f"__{_name}__", _binary(_name))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(DeviceArray, f"__{_name}__", _unary(_name))


def _operand(value: Any) -> Any:
    """What may stand beside a device array: another one, or a number."""
    if isinstance(value, DeviceArray):
        return value._on_host
    if isinstance(value, np.ndarray):
        raise NotOnDevice("unsupported type numpy.ndarray: host and device arrays do not mix")
    return value


def _unwrapped(value: Any) -> Any:
    """Arguments with what lies behind device arrays; a host array among them is refused."""
    if isinstance(value, DeviceArray | np.ndarray):
        return _operand(value)
    if isinstance(value, tuple | list):
        return type(value)(map(_unwrapped, value))
    if isinstance(value, dict):
        return {name: _unwrapped(each) for name, each in value.items()}
    return value


def _has_array(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_has_array, value))
    return any(map(_has_array, value.values())) if isinstance(value, dict) else isinstance(value, DeviceArray)


def _wrapped(value: Any) -> Any:
    """A result with its arrays on the device, scalars as arrays without dimensions."""
    if isinstance(value, np.ndarray | np.generic):
        return DeviceArray(value)
    if isinstance(value, tuple | list):
        return tuple(map(_wrapped, value))
    return value


class Namespace:
    """The module as array-api-compat gives it: NumPy's functions on device arrays alone."""

    __name__ = "device arrays"
    __version__ = "14.2"

    def asarray(self, value: Any, dtype: Any = None, copy: bool | None = None) -> DeviceArray:
        """A device array; the only function that takes a host array."""
        array = np.array(value._on_host if isinstance(value, DeviceArray) else value, dtype=dtype, copy=True if copy else None)
        return DeviceArray(array)

    array = asarray

    def __getattr__(self, name: str) -> Any:
        if name in _LACKS or name.startswith("_"):
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found

        def function(*arguments: Any, **named: Any) -> Any:
            result = found(*_unwrapped(arguments), **_unwrapped(named))
            if isinstance(result, np.ndarray | np.generic) and name not in _MAKES and not _has_array((arguments, named)):
                raise NotOnDevice(f"cupy.{name} is called without a device array")
            return _wrapped(result)

        if isinstance(found, np.ufunc) and name in _SCATTERED:
            function.at = lambda target, places, values: found.at(target._on_host, _unwrapped(places), _unwrapped(values))  # type: ignore[attr-defined]
        return function


NAMESPACE = Namespace()
