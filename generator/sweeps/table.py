"""The table of sweeps: in which sizes, layouts and data every operator's dispatches differ from typical ones, and why.

A sweep begins with a base, a dispatch that is typical in everything, and makes one or two things of it unusual. The engine
(generator/sweeps/engine) makes the desc, asks the rules once, keeps to a cap and names the case. To test another size, layout or kind of data, add a
row here, with the reason for its numbers: what some kernel does there.

A ``way`` is a choice of data types and attributes. ``ways`` is how many of them each row is tried with, in turn; ``cap`` limits the elements of
all tensors together. New rows stand at the end of a table: those before them keep their ways, and so their ids.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.generator.values.critical_sizes import BETWEEN_POWERS, beside_powers
from dmlcts.generator.values.layouts import BROADCAST, CHANNELS_LAST

# Where kernels change their ways

BEYOND_16_BITS = 65_537
"""More than a dimension of a dispatch has groups of threads, more than a counter of 16 bits holds, and more than FLOAT16."""

BEYOND_1024_GROUPS = (1 << 20) + 7
"""More than 1,024 groups of 1,024 threads."""

BEYOND_A_GROUP = 1025
"""More than a group has threads."""

BEYOND_32_BITS = 1 << 32
"""As many bytes as an offset of 32 bits reaches."""

PLANE_BEYOND_16_BITS = (257, 256)
"""A plane of more elements than 16 bits count, by neither of its sizes."""

CRITICAL_SIZES = (1, 2, *dict.fromkeys(beside_powers(4, 1024)), *BETWEEN_POWERS)
"""The sizes that each dimension has in turn, beside small ones: a kernel takes so many elements, rows or channels at a time, and treats the rest
apart. Nobody outside knows which dimension it cuts, and into parts of which size."""

# What is typical

EVEN_UNITS = (32, 16, 8, 4)
"""Even sizes: all that is no batch and no window has the largest of these with which the product of all sizes keeps to ``EVEN_WORK``."""

EVEN_WORK = 1 << 17
WINDOW = 3
BATCHES_OF_VECTORS = 3
TYPICAL_CAP = 1 << 22

EVEN, FEW, ONES = "even", "few", "ones"
"""What stands beside an unusual size: even sizes; 1 of a batch and 2 of all else; 1 throughout. A number: so many, where ``few`` has 2."""

# One and two unusual sizes, beside even ones


@dataclass(frozen=True, slots=True)
class OneSize:
    """A size of one dimension; of ``where`` "last" the last of each symbol, "rows" the last two of one that stands for several."""

    size: int | tuple[int, int]
    beside: str | int
    ways: int
    reason: str
    where: str = ""
    is_summed: bool = False
    """Whether the operator must sum along the dimension: no output has as many elements."""
    with_point: bool = False
    """Whether it comes once more beside a window of a single element, which is a product of matrices."""


_NOT_WHOLE = "no multiple of a vector, a wave or a tile: the last one is partial"
_EIGHTS = "whole vectors of 8, but not of 16"

ONE_SIZE = (
    OneSize(13, EVEN, 2, _NOT_WHOLE, with_point=True),
    OneSize(31, EVEN, 2, _NOT_WHOLE, with_point=True),
    OneSize(33, EVEN, 2, _NOT_WHOLE, with_point=True),
    OneSize(47, EVEN, 2, _NOT_WHOLE, with_point=True),
    OneSize(65, EVEN, 2, _NOT_WHOLE, with_point=True),
    OneSize(24, EVEN, 1, _EIGHTS, with_point=True),
    OneSize(40, EVEN, 1, _EIGHTS, with_point=True),
    OneSize(BEYOND_16_BITS, FEW, 2, "groups of threads, or a counter of 16 bits, end before it"),
    OneSize(BEYOND_16_BITS, 1, 2, "a single sum of so many: partial sums in several passes", is_summed=True),
    OneSize(BEYOND_16_BITS, 16, 2, "a tile of such sums", is_summed=True),
    OneSize(BEYOND_1024_GROUPS, ONES, 1, "a second pass over the partial results of 1,024 groups", where="last"),
    OneSize(PLANE_BEYOND_16_BITS, FEW, 2, "rows times columns do not fit 16 bits", where="rows"),
)


@dataclass(frozen=True, slots=True)
class TwoSizes:
    """Sizes of any two dimensions at once, batches and windows left out; of ``in_batches`` in several batches, and either way round."""

    sizes: tuple[int, int]
    ways: int
    reason: str
    in_batches: bool = False


TWO_SIZES = (
    TwoSizes((80, 96), 4, "two dimensions beyond a tile of 64, and whole by 16"),
    TwoSizes((1, 40), 4, "a product by a vector is a kernel of its own", in_batches=True),
)


@dataclass(frozen=True, slots=True)
class AllSizes:
    """Sizes that all dimensions but batches and windows have in turn, from the last one on; ``with_third`` that before the last two, too."""

    sizes: tuple[int, ...]
    ways: int
    reason: str
    cap: int = 1 << 18
    with_third: bool = False


ALL_SIZES = (
    AllSizes((80, 96, 72), 2, "several tiles in each dimension, the last ones partial"),
    AllSizes((40, 48, 56), 2, "one tile in each dimension, partial"),
    AllSizes((64, 64, 128), 2, "whole tiles alone"),
    AllSizes((36, 40, 34), 2, "a solid block: planes, rows and columns, each with a rest", with_third=True),
)

FURTHER_CONFIGURATIONS_LARGEST = 65
"""The largest size beyond the first configuration, in one way each: what is far larger shows in the first."""

# Critical sizes, each dimension alone and two at once


SMALL, SMALLER, LINE = (5, 1, 3, 2), (1, 2), (1,)
"""What the other dimensions have in turn: beside one large dimension, beside two, and where no other dimension counts."""

LARGEST_WINDOW = 65
"""The largest size of a window-like dimension, with which others grow: no output is smaller than what a window reaches."""

TWO_CRITICAL_CAP = 1 << 17
"""The product of all sizes of a case with two large ones."""

CRITICAL_CASES, CRITICAL_CASES_OF_TWO = 200, 10
"""How many cases an operator should have, and how many any two dimensions have at least."""

CRITICAL_TRIES, CRITICAL_TRIES_OF_TWO = 24, 3
"""How many choices of data types and attributes are tried for sizes that not all of them can have; with two large ones, other sizes are tried."""

LARGE_WITH_CHOICE, LARGE = (33, 17, 65, 31), 17
"""What a dimension has that meets a choice of attributes for the first time, one of these, and the least that counts as such."""

LINE_WITH_CHOICE = (5, 2, 33, 3)
"""What the only dimension with more than one element has, one of these."""

# One unusual layout


@dataclass(frozen=True, slots=True)
class LayoutSweep:
    """Each layout of each tensor, all others packed, at these sizes (generator/sweeps/one_factor/layouts).

    ``apart`` says which ways have each case by themselves, while others take turns: those along each axis, or also those of each of
    ``LAYOUT_TYPES``. ``layouts`` are all that a tensor may have where empty.
    """

    sizes: str
    reason: str
    layouts: tuple[str, ...] = ()
    apart: str = ""
    cap: int = 1 << 18
    in_every_configuration: bool = False


SQUARE_SIDES = {"whole": (16, 8), "rest": (19, 11)}
"""All sizes but the batch: such as kernels take whole, and such as leave a rest; the second where the first gives more elements than ``SQUARE_CAP``."""

SQUARE_CAP, SQUARE_BATCH = 1 << 17, 2
ROWS, VECTORS = 4, 128
"""So many rows of whole vectors: a kernel may take them as one row, or the tensor as one of fewer dimensions."""

COLUMNS_OF_MANY_ROWS = 3
LAYOUT_TYPES, FEW_AXES = ("FLOAT32", "FLOAT16", "INT8"), 2
"""The data types of networks have kernels of their own, and so have bytes. Where an operator has more choices of axes, types take turns."""

_WITH_LARGE_SIZES = ("transposed", "padded-rows", "broadcast-all", "broadcast-first", "broadcast-last")
_OF_SIZE_1 = (CHANNELS_LAST, "transposed", "permuted")
_ROWS_APART = ("padded-rows", "transposed", "broadcast-first", "broadcast-last")

LAYOUT_SWEEPS = (
    LayoutSweep("whole", "a kernel reads a tensor by the strides of another, or by none", apart="axes and types"),
    LayoutSweep("rest", "the same where the last vector is partial", apart="axes", in_every_configuration=True),
    LayoutSweep("rest with a 1", "a stride of a dimension of size 1 is never used, whatever it is", _OF_SIZE_1, apart="axes"),
    LayoutSweep("rows", "whole vectors: the kernel may join rows, or dimensions"),
    LayoutSweep(
        "all large", "tiles have loads of their own: transposed, padded, of a scalar, a row and a column", _WITH_LARGE_SIZES
    ),
    LayoutSweep("many rows", "more rows than groups of threads, which the layout keeps apart", _ROWS_APART, cap=1 << 20),
)

ALIGNED_ROWS_SIZES = "rest"
"""Sizes at which rows are aligned, of one tensor and of all."""

FIVE_DIMENSIONS = (2, 3, 2, 3, 2)
"""More dimensions than a kernel for joined ones has, and none of them 1, so that none can be left out."""

# Data at typical sizes, and at one unusual size


@dataclass(frozen=True, slots=True)
class DataSweep:
    """Each kind of data at these sizes (generator/sweeps/one_factor/data). ``data`` is all of it, the further random data, or that of indices alone."""

    sizes: str
    reason: str
    data: str = "all"
    layout: str = ""
    with_each_type: bool = False
    """Whether each choice of data types has each case by itself, while others take turns."""
    in_a_row: int = 1
    """How many ways each kind of data has, one after the other."""
    in_every_configuration: bool = False


UNEVEN_ENDS, LAYOUT_SIDE = 95, 19
"""Rows and columns of which a kernel that takes them in blocks of 16 or 32 leaves the last block partial; and all sizes in another layout."""

DATA_SWEEPS = (
    DataSweep("even", "a row of one sign, or with an infinity, beside whole vectors", in_every_configuration=True),
    DataSweep("long", "the same in a row of more elements than a group has threads", in_every_configuration=True),
    DataSweep("far", "indices of which a kernel keeps 16 bits", data="indices"),
    DataSweep("plane", "counts and sums of a plane beyond 16 bits", data="further", in_a_row=3),
    DataSweep(
        "uneven ends", "the last block of rows and columns is partial, and what pads it must count for nothing", with_each_type=True
    ),
    DataSweep("square", "elements are read one by one", layout="transposed", with_each_type=True, in_every_configuration=True),
    DataSweep("square", "the same along channels", layout=CHANNELS_LAST, in_every_configuration=True),
    DataSweep("square", "the same in rows with a gap", layout="padded-rows", in_every_configuration=True),
)

DATA_TRIES, MOST_SETS = 12, 16
"""How many choices of types and attributes are tried for each kind of data, and how many combinations of special sets are chosen of very many."""

# Axes: data types, functions and kinds of data meet along one dimension or several


SHORT_SIDE = 7
"""All sizes, with each choice of axes."""

SEVERAL_LONG = (31, 65, 33)
"""The last dimensions, which together have more than 16 bits count: none by itself, and none even."""

COLUMN = 4099
"""Columns of more elements than a block has, and no multiple of 4, with each kind of data."""

ODD_ROUNDS = (384, 640)
"""Rows of 3 and of 5 times 128 elements, which threads take in an odd number of rounds."""

MANY_LINES = ((-1, {-2: BEYOND_16_BITS, -1: 33}), (-2, {-3: BEYOND_16_BITS, -2: 2, -1: 4}))
"""A dimension to work along, and sizes by the place from the end: more rows, or planes, than a dimension of a dispatch has groups of threads, each
the work of a group."""

# Around the spec's workloads


WORKLOAD_SIDE = 8
"""The largest size of a workload that is cut, so that another of its sizes may be larger: it keeps what is 1, and its window."""

WORKLOAD_SIZES = (6, 13, 24, 33, 65)
"""What one dimension of a cut workload has: less than a vector of 8, and what leaves a rest by 16, by 8 or by 4."""

WORKLOAD_CAP, WORKLOAD_WORK = 1 << 18, 1 << 24
"""The elements of all tensors of what is run around a workload, and the product of all its sizes, at most."""

FUSED_WORK, CUT_WORK = 1 << 22, 1 << 18
"""The product of all sizes of a workload that is run with each fused operator; and of one that is cut, for anything to lie around it."""

WORKLOAD_LAYOUTS = (
    *BROADCAST,
    "broadcast-first",
    "broadcast-second",
    "broadcast-middle",
    "permuted",
    "transposed",
    "padded-rows",
    "padded-planes",
    "spread",
    "channels-last",
    "middle-exchanged",
    "channels-slice",
    "channels-part",
)
"""What people pass on from other operators, by transposing, cutting or broadcasting."""

# A tile-sized dispatch with one or two things unusual

TILE_BATCHES = (2, 2, 4, 4)
"""A tile-sized dispatch has even sizes, no optional tensor, no fused operator, usual attributes, and a batch: with nothing unusual, one thing, two, three.
That is what kernels take fastest.
"""

TILE_TRIPLES = 256
"""How many triples of rests, vectors, some layouts and a type an operator has at full."""

TILE_REST, VECTOR = 29, 1
"""What one dimension has in turn: no multiple of anything, and nothing to walk along."""

TILE_PLANES = 8
"""The third dimension from the end of what works along axes."""

TILE_CAP = 3 << 12
"""The elements of all tensors of the plain dispatch, at most: three matrices of 32 x 32 in a batch of four."""

TILE_TYPE = "FLOAT16"
"""The data type that occurs in pairs at core beside the first: networks run in it, and kernels take two elements at a time."""

TILE_LAYOUTS = ("transposed", "padded-rows")
"""Layouts that occur together in pairs at core: read along another axis, and by a row stride. At full all do."""


# Output sizes that differ from the input's in some dimensions

RESULT_SIZES = ((2, 3, 5, 3), (4, 5, 2, 3), (8, 2, 3, 5), (2, 4, 3, 5), (2, 8, 3, 5), (2, 3, 4, 8), (2, 3, 8, 8))
"""Sizes of outputs: no multiple of 4; or the first or second dimension 4 or 8; or the third, beside 8 in the last. A group of threads that takes so many
along one dimension meets no end there, and may be a kernel of its own beside each choice of dimensions in which the input differs."""


# Dispatches of real networks


ROW_LENGTHS, ROW_COUNTS = (2, 8, 32, 128, 512, 2048), (1, 16, 256)
"""How long rows are along which an operator works, and how many there are: a length in each band of a thread, a wave, a group and several groups."""

NETWORK_SIDE, NETWORK_OUTER_SIDE, NETWORK_BATCH = 16, 4, 2
"""The largest sizes of a network's dispatch that is cut: of the last two dimensions and of channels, of those before them, of a batch."""

NETWORK_REST = 13
"""What one size of a network's dispatch has in turn."""

NETWORK_THINGS, NETWORK_PAIRS = 2, 3
"""How many unusual things each kind of dispatch of a network has at core, one at a time, and how many pairs at full: they take turns."""

NETWORK_CAP, NETWORK_WORK = 1 << 18, 1 << 22
"""The elements of all tensors, and the product of all sizes, of a network's dispatch at its own sizes, at most: about 50 ms."""

STRUCTURAL_NUMBER = 7
"""Numbers of an attribute up to this one belong to a dispatch's structure, such as strides of a window; larger ones are cut like sizes."""


# Usual cases, and those of gaps and of resources beyond 32 bits


USUAL_SIZES = (2, 3, 1, 5, 1, 2, 3, 1)
"""Sizes of usual cases, from the last dimension on: small, odd, with some ones, and no two equal neighbors."""

MOST_IN_CORE = 10_000
"""Sets with more values, and tensors with more elements, are only in level full."""

ONE_TYPE_BEYOND = 16 * BEYOND_16_BITS
"""Tensors with more elements are large in two sizes at once; one choice of data types is enough for them."""

GAP_SIZES = (2, 3, 4, 5)
HUGE_SIZES = (3, 2, 4, 5)
"""The first is 3 or more: the strides of 8-bit elements must fit 32 bits."""

BEHIND_32_BITS = 4_112
"""How far behind a multiple of 2^32 bytes tensors and elements lie: a wrapped offset is none of another tensor's."""
