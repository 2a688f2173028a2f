"""A whole capture: every step judged, what is wrong first, and the record that reports are written of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from dmlcts.conformance.client.capture.data import CapturedData
from dmlcts.conformance.client.capture.records import Capture, Execution
from dmlcts.conformance.client.replay.flow import Flow, Step, Whole
from dmlcts.conformance.client.replay.judging import Judged, Rules, judge
from dmlcts.conformance.client.replay.whole import WholeVerdict, judge_whole
from dmlcts.generator.case.places import output_names
from dmlcts.reports.gate.waivers import Waiver, apply_waivers
from dmlcts.reports.record.record import FAILURES, NOT_RUN, UNSUPPORTED, Result
from dmlcts.reports.record.text import mismatch_text
from dmlcts.reports.record.versions import what_ran
from dmlcts.spec.reading.loader import load


@dataclass(slots=True)
class Replayed:
    """What came of a capture. ``steps`` are those that were judged, in order, without their arrays; ``unseen`` counts those whose outputs were not captured."""

    steps: list[tuple[Step, Result, tuple[str, ...]]] = field(default_factory=list)
    graphs: list[WholeVerdict] = field(default_factory=list)
    repeated: int = 0
    unseen: int = 0

    def wrong(self) -> list[tuple[int, Step, Result]]:
        """The steps that decide, each with its number from 1."""
        return [(number, step, result) for number, (step, result, _) in enumerate(self.steps, 1) if result.status in FAILURES]


def replay(
    capture: Capture,
    rules: Rules,
    waivers: Sequence[Waiver],
    today: date,
    wanted: Callable[[Execution], bool],
    report: Callable[[int, Judged], None],
) -> Replayed:
    """Runs and judges every step; ``report`` gets each with its number. Raises CaptureError."""
    found, ran = Replayed(), what_ran(rules.info.to_json())

    def run(step: Step) -> dict[str, object]:
        judged = judge(step, rules)
        if rules.backend is None and judged.case is not None and judged.result.status == NOT_RUN:
            found.unseen += 1
            return dict(judged.outputs)
        judged = replace(judged, result=apply_waivers(judged.result, waivers, today, ran))
        light = replace(step, inputs={}, captured={})
        found.steps.append((light, judged.result, judged.notes))
        report(len(found.steps), judged)
        return dict(judged.outputs)

    def whole(graph: Whole) -> None:
        found.graphs += judge_whole(graph)

    with CapturedData(capture) as data:
        flow = Flow(capture, data)
        flow.run(run, whole, wanted)  # type: ignore[arg-type]
        found.repeated = flow.repeated
    return found


def in_words(step: Step) -> str:
    """A step in words: ``GEMM, node /encoder/3/ffn, FLOAT16 512x768, 768x3072 to 512x3072``."""
    words = [step.operator.name]
    if step.name:
        words.append(f"node {step.name}")
    if step.desc is not None:
        outputs = output_names(load(step.desc.type), step.desc)
        tensors = [(tensor.data_type, "x".join(map(str, tensor.sizes)), name in outputs) for name, tensor in step.desc.tensors()]
        sizes = [", ".join(text for _, text, is_output in tensors if is_output is wanted) for wanted in (False, True)]
        words.append(f"{tensors[0][0] if tensors else ''} {' to '.join(filter(None, sizes))}")
    return ", ".join(words)


def verdict_lines(found: Replayed) -> Iterator[str]:
    """What came of it, the first wrong dispatch above all."""
    total, wrong = len(found.steps), found.wrong()
    unjudged = sum(result.status in (NOT_RUN, UNSUPPORTED) for _, result, _ in found.steps)
    more = [f"{unjudged:,} not judged"] if unjudged else []
    more += [f"{found.unseen:,} without captured outputs"] if found.unseen else []
    more += [f"{found.repeated:,} executions that repeat earlier ones left out"] if found.repeated else []
    yield f"{total:,} dispatches: {total - len(wrong) - unjudged:,} right, {len(wrong):,} wrong" + "".join(
        f", {text}" for text in more
    )
    if wrong:
        number, step, result = wrong[0]
        yield f"The first wrong dispatch is {number:,} of {total:,}: {in_words(step)}"
        yield f"  {result.case}: {result.message}"
        yield from (f"  {mismatch_text(mismatch)}" for mismatch in result.mismatches[:5])
    for verdict in found.graphs:
        state = "" if verdict.ok else "wrong: "
        yield f"graph of execution {verdict.execution}, output {verdict.place}, as it was captured: {state}{verdict.message}"
    counts: dict[str, int] = {}
    for _, _, notes in found.steps:
        for note in notes:
            counts[note] = counts.get(note, 0) + 1
    for note, count in list(counts.items())[:10]:
        yield f"note: {note}" + (f" ({count:,} dispatches)" if count > 1 else "")
