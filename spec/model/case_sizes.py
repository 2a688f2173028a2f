"""What a spec says about the sizes of its cases, besides lists of values: the axes that have turning sizes, sizes that differ in some dimensions, workloads, single dispatches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dmlcts.spec.model.case_data import RandomData


@dataclass(frozen=True, slots=True)
class Turning:
    """Sizes on which kernels turn (generator/sweeps/critical_sizes), each along each of the ``axes`` that this attribute names.

    ``each`` are attributes, every combination of whose values meets every such size.
    """

    axes: str
    each: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resize:
    """Two symbols of which each stands for all sizes of a tensor, an input's and an output's: cases have each choice of dimensions in which they differ.

    They have these data types of the first tensor, and these attributes where they are not the usual ones.
    """

    origin: str
    result: str
    types: tuple[str, ...]
    attributes: Mapping[str, object] = field(default_factory=dict)
    level: str = "full"


@dataclass(frozen=True, slots=True)
class Workload:
    """A single case of these sizes of symbols, and of attributes where they are not the usual ones.

    It has the data type, of the first tensor; without one it is a case for one choice of types of each format. It is documented unless it
    has another ``basis``, and of level full unless it says ``core``. ``dimensions``
    is the first tensor's dimension count where that is not the usual one.
    """

    sizes: Mapping[str, int | tuple[int, ...]]
    attributes: Mapping[str, object] = field(default_factory=dict)
    data_type: str | None = None
    basis: str | None = field(default=None, metadata={"later": True})
    level: str = field(default="full", metadata={"later": True})
    dimensions: int | None = field(default=None, metadata={"later": True})


@dataclass(frozen=True, slots=True)
class SingleDispatch:
    """A workload around which nothing else lies, with what some of its tensors hold, and which inputs share the place of another.

    ``of_each`` "type": a case for each data type of the first tensor with which it is valid, "choice" for each choice of all data types, empty
    for one of each format.
    """

    workload: Workload
    data: Mapping[str, RandomData]
    of_each: str = ""
    shared: Mapping[str, str] = field(default_factory=dict)
