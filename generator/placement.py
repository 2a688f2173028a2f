"""Cases about memory: layouts, larger buffers than needed, in-place execution, and the bytes between elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product

from dmlcts.generator.build import build, levelled
from dmlcts.generator.case import Binding, Case, beyond
from dmlcts.generator.layouts import GAPPED, LETTERS, OUTPUT_LAYOUTS, laid_out, layouts_of
from dmlcts.generator.pairwise import pairwise
from dmlcts.generator.plan import Plan
from dmlcts.generator.solver import Sizes
from dmlcts.generator.types import TypeChoice, padded_run
from dmlcts.spec.abi import abi
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model import ABSENT, MEASURED

_SIZES = (2, 3, 4, 5)
"""Sizes of layout cases: all different, so that swapped dimensions show, and a row that is not a multiple of 4 bytes in any type."""

_SINGLE = (1, *_SIZES[1:])
"""The same with a single batch, for which the stride has no effect."""

_MANY, _VERY_MANY = 5, 9
"""With more tensors than the first number, the id of a layout case has only the layouts, in the struct's order; with more than the second, only
two-letter codes. An id must be usable as a file name."""


def layout_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Every pair of layouts of any two tensors; in core for one type of each width, in full for every type."""
    layouts = {field.name: layouts_of(plan.operator, field) for field in plan.operator.fields if field.is_tensor}
    rows = pairwise(layouts)
    core = plan.representatives
    for choice in plan.covering:
        met: set[tuple[str, str]] = set()
        for index, row in enumerate(rows):
            level = "smoke" if (choice, index) == (core[0], 7) else "core" if choice in core else "full"
            if beyond(level, most):
                continue
            single = index % 3 == 2 and not plan.uniform  # uniform operators have leading ones in the cases of each dimension count
            base = _base(choice, index, sizes=_SINGLE if single else _SIZES)
            present = {name: row[name] for name, _ in base.tensors()}
            parts = ("layout", *(("single",) if single else ()), ".".join(_named(present)))
            covers = [f"layout/{name}/{layout}" for name, layout in present.items()]
            desc = _with_layouts(base, row)
            met.update((name, layout) for name, layout in present.items())
            yield build("layout", parts, desc, choice, level=level, covers=covers)
        # A tensor that only few combinations have may have been absent in every case of a layout.
        for name, layout in ((name, layout) for name, those in layouts.items() for layout in those if (name, layout) not in met):
            level = "core" if choice in core else "full"
            if not beyond(level, most):
                desc = _with_layouts(_base(choice, 0, (name,)), {name: layout})
                label = f"{_short(name)}-{layout}"
                yield build("layout", ("layout", label), desc, choice, level=level, covers=(f"layout/{name}/{layout}",))


def _named(layouts: Mapping[str, str]) -> list[str]:
    """The layouts as an id shows them; with many tensors, by two-letter codes."""
    if len(layouts) <= _MANY:
        return [f"{_short(name)}-{layout}" for name, layout in layouts.items()]
    return list(layouts.values()) if len(layouts) <= _VERY_MANY else [LETTERS[layout] for layout in layouts.values()]


def rank_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Strides at every dimension count: each tensor padded. ``layout_cases`` has only the default count."""
    for choice, level in levelled(plan, plan.representatives[:1], most):
        for count in choice.dimension_counts:
            met: set[str] = set()
            for needed in ("", *plan.tensors):  # and again for each tensor that was absent so far
                turns = [each for each in choice.whole if not needed or each.get(needed) != ABSENT]
                if needed in met or not turns:
                    continue
                base = choice.desc(padded_run(_SIZES, count), turns[count % len(turns)])
                met.update(name for name, _ in base.tensors())
                desc = _with_layouts(base, dict.fromkeys(plan.tensors, "padded"))
                label = f"layout/{count}d"
                yield build("layout", (label,), desc, choice, level=level, covers=(label,))


def slack_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """A larger total size or binding than needed, or a guaranteed alignment. One tensor at a time."""
    for choice, level in levelled(plan, plan.representatives[:1], most):
        for base, name, tensor in _each_tensor(choice):
            for label, changed, bindings in (
                ("total-size", replace(tensor, total_size=tensor.bytes + 16), {}),
                ("binding", tensor, {name: Binding(short=-16)}),
                ("alignment", replace(tensor, alignment=16), {}),
            ):
                yield build(
                    "slack",
                    ("slack", f"{_short(name)}-{label}"),
                    base.with_fields(**{name: changed}),
                    choice,
                    level=level,
                    bindings=bindings,
                    covers=(f"slack/{name}/{label}",),
                )


def owned_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """OWNED_BY_DML inputs, bound when the operator is initialized: each alone, packed and padded, and all at once."""
    core = plan.representatives
    owned = abi().tensor_flags["OWNED_BY_DML"]
    names = [field.name for field in plan.operator.inputs() if field.owned_by_dml]
    together = [tuple(names)] if len(names) > 1 else []
    for choice in plan.covering:
        for index, (tensors, layout) in enumerate(product([*((name,) for name in names), *together], ("packed", "padded"))):
            level = "full" if choice not in core else "smoke" if (choice, index) == (core[0], 0) else "core"
            if beyond(level, most):
                continue
            base = _with_layouts(_base(choice, index, tensors), dict.fromkeys(tensors, layout))
            tensors = tuple(name for name in tensors if isinstance(base.fields[name], TensorDesc))
            yield build(
                "owned",
                ("owned", "all" if len(tensors) >= _VERY_MANY else "+".join(_short(name) for name in tensors), layout),
                base.with_fields(**{name: replace(base.tensor(name), flags=owned) for name in tensors}),
                choice,
                level=level,
                covers=[f"owned/{name}" for name in tensors],
            )


def in_place_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each permitted alias, packed and in every layout that both sides may have."""
    core = plan.representatives
    for choice in plan.covering:
        for permission in plan.operator.in_place:
            together = [permission.inputs] if permission.together and len(permission.inputs) > 1 else []
            for aliased in (*((name,) for name in permission.inputs), *together):
                for index, layout in enumerate(OUTPUT_LAYOUTS):
                    level = "full" if choice not in core else "smoke" if choice == core[0] and layout == "packed" else "core"
                    if beyond(level, most):
                        continue
                    base = _base(choice, index, (permission.output, *aliased))
                    desc = _with_layouts(base, dict.fromkeys((permission.output, *aliased), layout))
                    yield build(
                        "in-place",
                        ("in-place", f"{_short(permission.output)}-on-{'+'.join(_short(name) for name in aliased)}", layout),
                        desc,
                        choice,
                        level=level,
                        in_place=dict.fromkeys((permission.output, *aliased[1:]), aliased[0]),
                        basis=permission.basis,
                        covers=(f"in-place/{permission.output}/{'+'.join(aliased)}",),
                    )


def gap_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Strided outputs whose gaps must not change: measured, as the documentation lets an operator overwrite an output's total size."""
    for choice, level in levelled(plan, plan.representatives, most):
        for field in plan.operator.outputs():
            base = _base(choice, 0, (field.name,))
            for layout in GAPPED:
                yield build(
                    "gaps",
                    ("gaps", f"{_short(field.name)}-{layout}"),
                    _with_layouts(base, {field.name: layout}),
                    choice,
                    level=level,
                    basis=MEASURED,
                    checks=("gaps",),
                    covers=(f"gaps/{field.name}/{layout}",),
                )


def _base(choice: TypeChoice, turn: int = 0, needed: Iterable[str] = (), sizes: Sizes = _SIZES) -> OperatorDesc:
    """The base desc of a case. The combinations of attributes take turns, so that each value occurs in some cases.

    If possible, it has all tensors that are ``needed``.
    """
    needed = tuple(needed)
    turns = [attributes for attributes in choice.whole if all(attributes.get(name) != ABSENT for name in needed)] or choice.whole
    return choice.usual_desc(sizes, turns[(turn + turn // len(turns)) % len(turns)])


def _each_tensor(choice: TypeChoice) -> Iterator[tuple[OperatorDesc, str, TensorDesc]]:
    """Every tensor of the operator, in a desc in which it is present."""
    for wanted in choice.plan.tensors:
        base = _base(choice, 0, (wanted,))
        yield from ((base, name, tensor) for field, name, tensor in base.by_field() if field == wanted)


def _with_layouts(desc: OperatorDesc, layouts: Mapping[str, str]) -> OperatorDesc:
    changed: dict[str, object] = {}
    for name, layout in layouts.items():
        tensor = desc.fields[name]
        if isinstance(tensor, TensorDesc):  # an optional one may be absent
            changed[name] = laid_out(tensor, layout)
    return desc.with_fields(**changed)


def _short(name: str) -> str:
    """A tensor's name in an id: ``A`` for ATensor, ``Output`` for OutputTensor."""
    return name.removesuffix("Tensor") or name
