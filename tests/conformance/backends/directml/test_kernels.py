"""Which kernels a request ran, as the host says it, on a D3D12 that does what a few letters say (fake_directml/d3d12.h), and on the real one."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from directml_host import answers, host_command, on_fake_d3d12, run_frame
from fake_dlls import MODE, built_fake, written

from dmlcts.conformance.backends.backend import BackendUnavailable, Dispatch
from dmlcts.conformance.backends.directml.backend import open_directml
from dmlcts.conformance.backends.process.protocol import DESCRIBE, Header, frame
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.sequences.call_json import read_calls
from dmlcts.conformance.sequences.takes_part.wire import perform_request
from dmlcts.generator.case.inputs import inputs
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.reading.loader import load
from dmlcts.spec.untrusted.desc_json import write_desc

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

    def on_fake(
        letters: str, *options: str, requests: int = 1, asked: list[bytes] | None = None, **members: bool
    ) -> tuple[list[Header], str]:
        dll = folder / f"{sha256(letters.encode()).hexdigest()}.dll"
        dll.write_bytes(written(built, MODE, f"kernels {letters}"))
        given = asked or [run_frame(dispatch(), number + 1, **{"paths": True, **members}) for number in range(requests)]
        with on_fake_d3d12(dll, options) as command:
            return answers(command, [frame(DESCRIBE), *given])

    return on_fake


def perform_frame(calls: list[dict[str, Any]], number: int, with_paths: bool) -> bytes:
    return b"".join(perform_request(read_calls(calls, load), number, with_paths))


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


def test_a_sequence_has_the_paths_of_all_its_lists_and_those_of_an_initializer_are_marked(run: Run) -> None:
    calls = [
        {"call": "create-operator", "makes": 1, "desc": write_desc(dispatch().desc)},
        {"call": "compile", "makes": 2, "operator": 1},
        {"call": "create-initializer", "makes": 3, "over": [2]},
        {"call": "create-table", "makes": 4, "of": 3},
        {"call": "create-table", "makes": 5, "of": 2},
        *({"call": "create-list", "makes": number} for number in (6, 7)),
        {"call": "record", "list": 6, "dispatchable": 3, "table": 4},
        *({"call": "record", "list": number, "dispatchable": 2, "table": 5} for number in (6, 7)),
        *({"call": "close", "list": number} for number in (6, 7)),
        {"call": "submit", "lists": [6, 7]},
        {"call": "wait"},
    ]
    (_, answer, quiet), errors = run("/B./A.", asked=[perform_frame(calls, 1, True), perform_frame(calls, 2, False)])
    assert [reply for reply in answer["replies"] if reply] == []
    assert answer["paths"] == [ran("A"), ran("A"), ran("B", " (initialize)")]
    assert "paths" not in quiet
    assert errors.count(NO_METHODS_LEFT) == 1


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


def test_a_request_without_execution_has_the_paths_and_no_contents(run: Run) -> None:
    (_, *found), _ = run("/B./A.", requests=2, execute=False)
    for answer in found:
        assert (answer["status"], answer["resources"], answer["paths"]) == ("ok", [], [ran("A"), ran("B", " (initialize)")])


def test_a_refusal_and_a_removed_device_have_their_paths_and_the_next_device_is_seen_too(run: Run) -> None:
    (_, refused, later), errors = run("/B./A.x;//B.", requests=2)
    assert (refused["status"], refused["stage"]) == ("rejected", "dispatch")
    assert refused["paths"] == [ran("A"), ran("B", " (initialize)")]
    assert (later["status"], later["paths"]) == ("ok", [ran("B")])
    assert errors.count(NO_METHODS_LEFT) == errors.count("a device ends") == 2


# Dumped and replaced kernels


def replaced(run: Run, folder: Path, letters: str, **bytecode: str) -> tuple[list[Header], str]:
    """A run of one request, with other bytecode for some of the fake's kernels."""
    folder.mkdir(exist_ok=True)
    for kernel, text in bytecode.items():
        (folder / f"{digest(kernel)}.bin").write_text(text, encoding="ascii")
    return run(letters, "--replace-kernels", str(folder))


def made_of(errors: str) -> list[str]:
    return re.findall("made of: (.*)\n", errors.replace("\r", ""))


def test_the_bytecode_of_each_kernel_is_dumped_once(run: Run, tmp_path: Path) -> None:
    run("A//sB.A.", "--dump-kernels", str(tmp_path / "new"))
    found = {file.name: file.read_bytes() for file in (tmp_path / "new").iterdir()}
    assert found == {f"{digest(kernel)}.bin": f"bytecode of {kernel}".encode() for kernel in "AB"}


@pytest.mark.parametrize("way", ["", "s", "n", "t"])
def test_a_kernel_is_replaced_whichever_way_its_pipeline_is_made(way: str, run: Run, tmp_path: Path) -> None:
    (described, answer), errors = replaced(run, tmp_path, f"//{way}A.B.", A="longer than the bytecode it is for")
    assert made_of(errors) == ["longer than the bytecode it is for", "bytecode of B"]
    assert answer["paths"] == [ran("A", " (replaced)"), ran("B")]
    by = sha256(b"longer than the bytecode it is for").hexdigest()[:16]
    assert described["details"]["replaced_kernels"] == {digest("A"): by}


def test_a_description_without_replaced_kernels_names_none(run: Run) -> None:
    (described, _), _ = run("//A.")
    assert "replaced_kernels" not in described["details"]


def test_a_replacement_of_which_no_pipeline_can_be_made_is_named(run: Run, tmp_path: Path) -> None:
    (_, answer), errors = replaced(run, tmp_path, "A//B.", A="!no bytecode")
    assert answer["paths"] == [ran("B"), {"label": f"dxbc {digest('A')} (replaced) (not created)"}]
    assert f"dxbc {digest('A')} (replaced): no pipeline can be made of what replaces it: 0x80070057" in errors


def test_the_bytecode_that_is_dumped_is_the_dlls_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / f"{digest('A')}.bin").write_text("other", encoding="ascii")
    run("//A.", "--replace-kernels", str(tmp_path), "--dump-kernels", str(tmp_path / "out"))
    assert (tmp_path / "out" / f"{digest('A')}.bin").read_bytes() == b"bytecode of A"


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("", b"", "has no file DIGEST.bin"),
        (
            "kernel.bin",
            b"bytecode",
            "kernel.bin is not called by the digest of a kernel: 16 hexadecimal digits in small letters, and .bin",
        ),
        ("0123456789abcdef.bin", b"", "0123456789abcdef.bin is empty"),
    ],
)
def test_a_folder_of_replacements_that_is_wrong_is_no_backend(name: str, content: bytes, problem: str, tmp_path: Path) -> None:
    host_command(None)  # or the test is skipped
    if name:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BackendUnavailable) as caught:
        open_directml(f" --replace-kernels {tmp_path}")
    assert str(tmp_path) in str(caught.value)
    assert problem in str(caught.value)


# The real DLL

XOR, OR = "ELEMENT_WISE_BIT_XOR/UINT32/4d", "ELEMENT_WISE_BIT_OR/UINT32/4d"


def real_paths(*names: str) -> list[list[str]]:
    """The labels of what each case ran on the real DLL."""
    requests = [run_frame(dispatch(name), number + 1, paths=True) for number, name in enumerate(names)]
    found, _ = answers(host_command(None), requests)
    return [[path["label"] for path in answer["paths"]] for answer in found]


def test_equal_descs_run_the_same_kernels_and_other_types_others() -> None:
    half, single, again = real_paths("GEMM/FLOAT16/4d", "GEMM/FLOAT32/4d", "GEMM/FLOAT32/4d")
    assert single == again != half
    assert all(re.fullmatch("dx(bc|il) [0-9a-f]{16}", label) for label in [*half, *single])


def test_what_was_only_recorded_leaves_nothing_to_the_next_request() -> None:
    names = ("GEMM/FLOAT32/4d", XOR)
    alone = [run_frame(dispatch(name), number, paths=True) for number, name in enumerate(names, 1)]
    before = [run_frame(dispatch(name), 10 + number, paths=True, execute=False) for number, name in enumerate(names)]
    found, _ = answers(host_command(None), [*before, *alone])
    assert [answer["resources"] for answer in found[:2]] == [[], []]
    assert [answer["paths"] for answer in found[:2]] == [answer["paths"] for answer in found[2:]]
    assert [answer["status"] for answer in found] == ["ok"] * 4


def test_a_kernel_in_the_place_of_anothers_gives_its_results_and_the_dll_is_no_release(tmp_path: Path) -> None:
    ((xor,), (other,)) = real_paths(XOR, OR)
    with closing(open_directml(f" --dump-kernels {tmp_path / 'all'}")) as backend:
        backend.run(dispatch(XOR))
        backend.run(dispatch(OR))
    assert {file.name for file in (tmp_path / "all").iterdir()} >= {f"{xor[-16:]}.bin", f"{other[-16:]}.bin"}
    (tmp_path / "new").mkdir()
    bytecode = (tmp_path / "all" / f"{other[-16:]}.bin").read_bytes()
    assert sha256(bytecode).hexdigest()[:16] == other[-16:]
    (tmp_path / "new" / f"{xor[-16:]}.bin").write_bytes(bytecode)

    exclusive, inclusive, changed = dispatch(XOR), dispatch(XOR), dispatch(XOR)
    inclusive = replace(inclusive, desc=OperatorDesc("ELEMENT_WISE_BIT_OR", inclusive.desc.fields))
    with closing(open_directml("")) as backend:
        backend.run(exclusive)
        backend.run(inclusive)
        assert backend.describe().version == "1.15.4"
    with closing(open_directml(f" --replace-kernels {tmp_path / 'new'}")) as backend:
        backend.run(changed)
        assert backend.describe().version.endswith(" (1 of its kernels is replaced)")
    output = changed.bindings["OutputTensor"].resource
    assert np.array_equal(changed.resources[output], inclusive.resources[output])
    assert not np.array_equal(changed.resources[output], exclusive.resources[output])
