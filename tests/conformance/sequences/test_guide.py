"""docs/sequences.md says what the table of forms says, lists every call, and its sequence works."""

import json
import re
from pathlib import Path

import numpy as np

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.faults.beyond.sequences import FAULTS, LEGAL
from dmlcts.conformance.sequences.call_json import BY_NAME, read_calls
from dmlcts.conformance.sequences.perform import Performer
from dmlcts.generator.plan.forms import forms
from dmlcts.spec.reading.loader import load

GUIDE = (Path(__file__).parents[3] / "docs" / "sequences.md").read_text(encoding="utf-8")


def test_the_guide_has_the_table_of_forms() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*) \| (.*) \|$", GUIDE, re.MULTILINE)
    assert [(label, repeats.replace("`", ""), reason) for label, repeats, reason in rows] == [
        (form.label, form.repeats, form.reason) for form in forms().values()
    ]


def test_the_guide_lists_every_call() -> None:
    listed = GUIDE.split("| about | calls |")[1].split("\n\n")[0]
    assert re.findall(r"`([a-z-]+)`", listed) == list(BY_NAME)


def test_the_sequence_of_the_guide_computes_what_it_says() -> None:
    (sample,) = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    replies = Performer(ReferenceBackend()).perform(read_calls(json.loads(sample), load))
    assert all(reply.is_ok for reply in replies)
    found = np.frombuffer(replies[-1].value, np.float32)
    np.testing.assert_array_equal(found, [1, 2.5, np.nan, np.inf])


def test_the_guide_counts_the_faults() -> None:
    assert f"It plants {len(FAULTS)} faults" in GUIDE
    assert f"and {len(LEGAL)} legal variations" in GUIDE
