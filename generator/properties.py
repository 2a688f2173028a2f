"""Property cases: Hypothesis chooses sizes, layouts and data; the outputs must agree with the reference, or keep a law among themselves.

The case says what to try; conformance/relations tries it. Every example that Hypothesis makes is itself a case (``example_case``), so that
a failing one, shrunken, can be written down and run again.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.generator.build import build
from dmlcts.generator.case import AGREEMENT, RELATION, Case
from dmlcts.generator.shapes import attribute_choices, make_desc, representatives, type_choices, usual_dimension_count
from dmlcts.spec.model import Operator


def property_cases(operator: Operator) -> Iterator[Case]:
    """Agreement and every relation of the spec, for each choice of types and attributes; in core for one choice of each width."""
    core = representatives(operator)
    for choice in type_choices(operator):
        run = (1,) * (usual_dimension_count(operator, choice) - 1) + (4,)
        for attributes in attribute_choices(operator):
            desc = make_desc(operator, choice.types, run, attributes)
            level = "core" if choice in core else "full"
            yield build(
                operator,
                "property",
                ("property", "agreement"),
                desc,
                choice,
                level=level,
                expect=AGREEMENT,
                covers=("relation/agreement",),
            )
            for relation in operator.relations:
                yield build(
                    operator,
                    "property",
                    ("property", relation.label),
                    desc,
                    choice,
                    level=level,
                    basis=relation.basis,
                    expect=RELATION,
                    relation=relation.label,
                    covers=(f"relation/{relation.label}",),
                )
