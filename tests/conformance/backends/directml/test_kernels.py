"""Which kernels a request ran, as the host says it, on a D3D12 that does what a few letters say (fake_directml/d3d12.h), and on the real one."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from directml_host import answers, host_command, on_fake_d3d12, run_frame
from fake_dlls import MODE, built_fake, written

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.backends.process.protocol import DESCRIBE, Header, frame
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.generator.case.inputs import inputs

GROUPS = [3, 2, 1]
METACOMMAND = "metacommand {01234567-89ab-cdef-0123-456789abcdef} Convolution of some driver"
NO_METHODS_LEFT = "a device ends with 0 methods of others"

Run = Callable[..., tuple[list[Header], str]]


def digest(kernel: str) -> str:
    """The digest of one of the fake's kernels."""
    return sha256(f"bytecode of {kernel}".encode()).hexdigest()[:16]


def ran(kernel: str, mark: str = "", numbers: list[int] = GROUPS) -> dict[str, Any]:
    """The code path of a dispatch of one of them."""
    return {"label": f"dxbc {digest(kernel)}{mark}", "numbers": numbers}


def dispatch(name: str = "ELEMENT_WISE_BIT_XOR/UINT32/4d") -> Dispatch:
    (case,) = selected_cases(RunOptions(cases=(name,)))
    return lay_out(case, inputs(case), {}).dispatch


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs so many requests on a fake that does what the letters say; gives the answers, and standard error."""
    host_command(None)  # or the test is skipped
    folder = tmp_path_factory.mktemp("fake_kernels")
    built = built_fake(folder, "")

    def on_fake(letters: str, *options: str, requests: int = 1, paths: bool = True) -> tuple[list[Header], str]:
        dll = folder / f"{sha256(letters.encode()).hexdigest()}.dll"
        dll.write_bytes(written(built, MODE, f"kernels {letters}"))
        asked = [run_frame(dispatch(), number + 1, paths) for number in range(requests)]
        return answers(on_fake_d3d12(dll, options), [frame(DESCRIBE), *asked])

    return on_fake


def paths(run: Run, letters: str, requests: int = 1) -> list[list[dict[str, Any]]]:
    """The code paths of each request, where all succeed. No host leaves a method behind."""
    (_, *found), errors = run(letters, requests=requests)
    assert [answer["status"] for answer in found] == ["ok"] * requests
    assert errors.count("a device ends") == errors.count(NO_METHODS_LEFT) == 1
    return [answer["paths"] for answer in found]


def test_each_dispatch_has_the_pipeline_that_was_set_before_it(run: Run) -> None:
    assert paths(run, "//A..BA.B") == [[ran("A"), ran("A"), ran("A")]]


def test_execution_comes_first_and_what_initialization_ran_is_marked(run: Run) -> None:
    assert paths(run, "/B./A.") == [[ran("A"), ran("B", " (initialize)")]]


def test_a_pipeline_stays_set_from_initialization_to_execution(run: Run) -> None:
    assert paths(run, "/A/.") == [[ran("A")]]


def test_a_pipeline_is_not_set_any_more_in_the_next_request(run: Run) -> None:
    assert paths(run, "//A.;//.", requests=2) == [[ran("A")], [{"label": "unknown", "numbers": GROUPS}]]


def test_a_kernel_of_an_earlier_request_counts_again(run: Run) -> None:
    assert paths(run, "A//A.;//BA.", requests=3) == [[ran("A")], [ran("A")], [ran("A")]]


def test_a_state_that_is_cleared_has_no_pipeline(run: Run) -> None:
    assert paths(run, "//A.0.") == [[ran("A"), {"label": "unknown", "numbers": GROUPS}]]


def test_every_way_to_make_a_pipeline_is_seen(run: Run) -> None:
    """A stream, the newest interface of the device, another thread."""
    assert paths(run, "//sA.nB.tC.") == [[ran("A"), ran("B"), ran("C")]]


def test_a_dispatch_by_the_newest_interface_of_the_list_counts_once(run: Run) -> None:
    assert paths(run, "//A:") == [[ran("A")]]


def test_indirect_dispatches_and_metacommands_have_no_numbers(run: Run) -> None:
    assert paths(run, "/m/A*m.") == [
        [{"label": f"dxbc {digest('A')}"}, {"label": METACOMMAND}, ran("A"), {"label": f"{METACOMMAND} (initialize)"}]
    ]


def test_an_address_that_is_used_again_has_no_kernel_of_before(run: Run) -> None:
    assert paths(run, "//A.rAsB.rBlC.") == [[ran("A"), ran("B"), {"label": "unknown", "numbers": GROUPS}]]


def test_what_a_second_device_runs_does_not_count(run: Run) -> None:
    assert paths(run, "2B/2C/A2B.") == [[ran("A")]]


def test_a_kernel_that_cannot_be_made_is_named(run: Run) -> None:
    failed = sha256(b"!bytecode of B").hexdigest()[:16]
    assert paths(run, "!B//A.") == [[ran("A"), {"label": f"dxbc {failed} (not created)"}]]


def test_beyond_1024_dispatches_the_last_entry_says_how_many_more(run: Run) -> None:
    (found,) = paths(run, "/B./#A#")
    assert len(found) == 1025
    assert found[:1024] == [ran("B")] * 1024
    assert found[1024] == {"label": "more", "numbers": [6001 - 1024]}


def test_a_request_that_does_not_ask_gets_none(run: Run) -> None:
    (_, answer), _ = run("//A.", paths=False)
    assert answer["status"] == "ok"
    assert "paths" not in answer


def test_a_refusal_and_a_removed_device_have_their_paths_and_the_next_device_is_seen_too(run: Run) -> None:
    (_, refused, later), errors = run("/B./A.x;//B.", requests=2)
    assert (refused["status"], refused["stage"]) == ("rejected", "dispatch")
    assert refused["paths"] == [ran("A"), ran("B", " (initialize)")]
    assert (later["status"], later["paths"]) == ("ok", [ran("B")])
    assert errors.count(NO_METHODS_LEFT) == errors.count("a device ends") == 2


# Dumped and replaced kernels


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that the tests and the host call by the same name, if there is one."""
    pytest.skip("not yet")
    return tmp_path
