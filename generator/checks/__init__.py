"""What must hold of every operator's cases, whoever writes its spec: ids, valid and invalid descs, data, levels.

A check gets an operator with all its cases and yields what is wrong, in sentences that name the case or the rule and say what to do.
``dmlcts spec coverage`` prints them. Checks of bindings, which must lay tensors out, stand in conformance/execution/binding_checks.py.
"""

from __future__ import annotations

from dmlcts.generator.checks import ids, levels, negative, positive
from dmlcts.generator.checks.given import Check

CHECKS: tuple[Check, ...] = (*ids.CHECKS, *positive.CHECKS, *negative.CHECKS, *levels.CHECKS)
"""Every check of cases alone."""
