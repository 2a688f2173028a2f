"""Writes the random graphs that runs have: drawn once, judged on the reference, and stored (generator/suite/graph_cases).

    python -m dmlcts.conformance.sequences.graphs.choose

adds what is lacking since specs have grown; where no file is, it chooses anew. It takes minutes. `dmlcts spec pin` then pins what was added.
"""

from __future__ import annotations

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.sequences.graphs.execute import graph_outcome
from dmlcts.generator.suite.graph_cases.choose import choose
from dmlcts.generator.suite.graph_cases.graph_case import STORED, stored_cases, stored_file
from dmlcts.generator.suite.graphs.graph import Graph
from dmlcts.reports.record.record import PASS


def main() -> None:
    """Adds graphs to the file of each level, and says how many."""
    backend = ReferenceBackend()
    info, before = backend.describe(), list[Graph]()

    def judged_share(graph: Graph) -> float:
        outcome = graph_outcome(graph, backend, info)
        return float(outcome.evidence["judged"]) / len(graph.nodes) if outcome.status == PASS else 0.0

    for level in STORED:
        added = [case.graph() for case in stored_cases(level)]
        lines = list(choose(level, before, added, judged_share))
        with stored_file(level).open("a", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{line}\n" for line in lines)
        stored_cases.cache_clear()
        before += [case.graph() for case in stored_cases(level)]
        print(f"level {level}: {len(added)} graphs before, {len(lines)} new")


if __name__ == "__main__":
    main()
