"""Runs the suite's cases on mutants until one fails: which does it find, and which survive?

What makes a hunt fast: the cases of an operator are made once for all its mutants; those that find most in a second come first, and property
cases last; a case for which a mutant computes what is right, bit for bit, is not run, for it passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from time import process_time

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.faults.model.fault import Array
from dmlcts.conformance.faults.model.mutant import Mutant, MutantBackend
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.case.case import REJECTION, Case, is_beyond
from dmlcts.generator.case.inputs import inputs as case_inputs
from dmlcts.generator.suite.suite import operator_cases, select
from dmlcts.reports.record.record import ERROR, FAIL, PASS, Result
from dmlcts.spec.model.operator import DOCUMENTED

PROPERTY = "property"
"""The kind of the cases that take most of the time."""

_KEPT = 2**16
"""Elements of a case whose inputs and right outputs are kept for the next mutant; those of all large cases fill the memory."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The first case that found a mutant, whether as a failure or as an error, and its message."""

    case: str
    kind: str
    status: str
    message: str


@dataclass(frozen=True, slots=True)
class Hunt:
    """What became of a mutant."""

    mutant: Mutant
    kill: Kill | None

    @property
    def is_surprising(self) -> bool:
        """Whether a fault survives that is no known gap, or what was reviewed to be no fault, or to be a gap, is found."""
        return (self.kill is None) != bool(self.mutant.no_fault or self.mutant.open)


@dataclass(slots=True)
class Cost:
    """What cases of a kind cost, in seconds of one CPU, and how often one of them found a mutant; ``only``: what no other kind finds."""

    cases: int = 0
    finds: int = 0
    seconds: float = 0.0
    only: int = 0


@dataclass(slots=True)
class HuntedCase:
    """A case, and what a hunt knows of it: its inputs and right outputs (None before they are needed, or where they are large), what it found,
    what that took, and the elements of its tensors.
    """

    case: Case
    inputs: Mapping[str, Array] | None = None
    right: Mapping[str, Array] | None = None
    finds: int = 0
    tries: int = 0
    seconds: float = 0.0
    elements: int = field(init=False)

    def __post_init__(self) -> None:
        self.elements = sum(tensor.count for _, tensor in self.case.desc.tensors())

    @property
    def promise(self) -> float:
        """Finds by what it costs, which its elements tell well enough; so the order is the same on every machine."""
        return (self.finds + 0.5) / (self.tries + 1) / (1 + self.elements / 2000)


class ReferenceFails(Exception):
    """A case that finds a mutant finds the reference too: then it proves nothing. The message says which and why."""


@dataclass(slots=True)
class Hunter:
    """Runs an operator's cases on its mutants, one mutant after another. ``folder`` takes what failing property cases write."""

    operator: str
    level: str
    basis: str
    folder: str
    trials: list[HuntedCase] = field(default_factory=list)

    def __post_init__(self) -> None:
        cases = select(operator_cases(self.operator, self.level), level=self.level, basis=self.basis)
        self.trials = [HuntedCase(case) for case in cases]

    @property
    def kinds(self) -> list[str]:
        """The kinds that its cases are of."""
        return list(dict.fromkeys(trial.case.kind for trial in self.trials))

    def hunt(self, mutant: Mutant, *kinds: str, meets: Callable[[HuntedCase], bool] = lambda trial: True) -> Kill | None:
        """The first case, of these kinds or of any, that fails or ends in an error on the mutant; None if there is none.

        ``meets`` says in which cases the fault may show. What is unsupported neither finds a mutant nor clears it. Raises ReferenceFails.
        """
        chosen = (trial for trial in self._in_order(mutant) if (not kinds or trial.case.kind in kinds) and meets(trial))
        return next((kill for trial in chosen if (kill := self.try_one(mutant, trial)) is not None), None)

    def try_one(self, mutant: Mutant, trial: HuntedCase) -> Kill | None:
        """What one case finds; None if it passes, or if the mutant cannot show in it. Raises ReferenceFails."""
        if not mutant.fault.may_show(trial.case):
            return None
        started = process_time()
        backend = MutantBackend(mutant)
        kill = None
        if not self._computes_right(trial, backend):
            kill = _kill(self._run(trial.case, backend, mutant.backend))
            if kill is not None and not trial.finds:
                result = self._run(trial.case, ReferenceBackend(), "reference")
                if result.status != PASS:
                    raise ReferenceFails(f"the reference itself does not pass {result.case} ({result.status}): {result.message}")
        trial.seconds += process_time() - started
        trial.tries += 1
        trial.finds += kill is not None
        return kill

    def _run(self, case: Case, backend: ReferenceBackend, name: str) -> Result:
        options = RunOptions(backend=name, level=self.level, basis=self.basis, out=self.folder)
        with Session(options, backend) as session:
            return session.run(case)

    def costs(self) -> dict[str, Cost]:
        """What each kind of case cost and found until now."""
        found: dict[str, Cost] = {}
        for trial in self.trials:
            cost = found.setdefault(trial.case.kind, Cost())
            cost.cases += 1
            cost.finds += trial.finds
            cost.seconds += trial.seconds
        return found

    def _in_order(self, mutant: Mutant) -> Iterator[HuntedCase]:
        """The most promising first; those of level full only where the few of core find nothing."""
        kinds = mutant.fault.kinds
        rejections = mutant.fault.accepts is not None
        for last in (False, True):
            fitting = (
                t for t in self.trials if (t.case.expect == REJECTION) == rejections and is_beyond(t.case.level, "core") == last
            )
            yield from sorted(
                fitting, key=lambda trial: (trial.case.kind == PROPERTY, trial.case.kind not in kinds, -trial.promise)
            )

    def _computes_right(self, trial: HuntedCase, backend: MutantBackend) -> bool:
        """Whether the mutant, whose fault is in what it computes alone, gives the right outputs bit for bit."""
        fault, case = backend.mutant.fault, trial.case
        elsewhere = (fault.read, fault.write, fault.around, fault.accepts, fault.refuses)
        if case.kind == PROPERTY or any(hook is not None for hook in elsewhere):
            return False
        inputs = case_inputs(case) if trial.inputs is None else trial.inputs
        right = backend.compute(case.desc, inputs) if trial.right is None else trial.right
        if trial.elements <= _KEPT:
            trial.inputs, trial.right = inputs, right
        try:
            found = backend.wrong(case.desc, inputs)
        except Exception:  # a fault planted wrongly, which the run will show
            return False
        return all(name in found and _bits(found[name]) == _bits(value) for name, value in right.items())


def _bits(array: Array) -> tuple[object, ...]:
    return array.shape, array.dtype, array.tobytes()


def _kill(result: Result) -> Kill | None:
    return Kill(result.case, result.kind, result.status, result.message) if result.status in (FAIL, ERROR) else None


def wanted_mutants(mutants: Iterable[Mutant], basis: str) -> list[Mutant]:
    """The mutants that cases of a basis should find. What no document says is required on the basis ``measured`` alone."""
    return [mutant for mutant in mutants if basis != DOCUMENTED or mutant.basis == DOCUMENTED]


def hunt(operator: str, mutants: Sequence[Mutant], level: str, basis: str) -> tuple[list[Kill | None], dict[str, Cost]]:
    """What finds each of the operator's mutants, and what the kinds of cases cost. Raises ReferenceFails.

    Property cases are not run on what is no fault: they would take most of the time.
    """
    with TemporaryDirectory() as folder:
        hunter = Hunter(operator, level, basis, folder)
        cheap = [kind for kind in hunter.kinds if kind != PROPERTY]
        kills = [hunter.hunt(mutant, *(cheap if mutant.no_fault else ())) for mutant in mutants]
        return kills, hunter.costs()


def hunt_by_kind(operator: str, mutants: Sequence[Mutant], level: str, basis: str) -> dict[str, Cost]:
    """What the cases of each kind cost and find by themselves: each mutant is hunted with every kind alone. Raises ReferenceFails."""
    with TemporaryDirectory() as folder:
        hunter = Hunter(operator, level, basis, folder)
        only: Counter[str] = Counter()
        for mutant in mutants:
            finders = [kind for kind in hunter.kinds if hunter.hunt(mutant, kind) is not None]
            only.update(finders if len(finders) == 1 else [])
        costs = hunter.costs()
    for kind, cost in costs.items():
        cost.only = only[kind]
    return costs
