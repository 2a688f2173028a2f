"""Releases out of public wheels: the one that is asked for or none, downloaded once. No network."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from dlls import pe_file

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml import dll as dll_module
from dmlcts.conformance.backends.directml import setup
from dmlcts.conformance.backends.directml.releases import RELEASES
from dmlcts.conformance.backends.directml.wheels import NOT_HERE, WHEELS, fetch_release

pytestmark = pytest.mark.usefixtures("cache")

OLD, NEW = pe_file(version=(1, 9, 1, 0)), pe_file(version=(1, 12, 1, 0))
PLACES = ("onnxruntime/capi/DirectML.dll", "onnxruntime_directml-1.13.1.data/purelib/onnxruntime/capi/DirectML.dll")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dll_module, "release_of", {OLD: "1.9.1", NEW: "1.12.1"}.get)


def fake_pip(data: bytes, place: str, asked: list[list[str]]) -> Callable[..., str]:
    def ran(command: list[str], log: Path, advice: str, *rest: object) -> str:
        asked.append(command)
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "x.whl", "w") as wheel:
            wheel.writestr(place, data)
        return ""

    return ran


@pytest.mark.parametrize("place", PLACES)
def test_a_release_is_downloaded_once_from_its_wheel(place: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(setup, "run_logged", fake_pip(OLD, place, asked))
    messages: list[str] = []
    found = fetch_release("1.9.1", messages.append)
    assert (found.release, found.path) == ("1.9.1", cache / "directml" / "DirectML-1.9.1" / "DirectML.dll")
    assert asked[0][-1] == "onnxruntime-directml==1.13.1"
    assert asked[0][asked[0].index("--python-version") + 1] == "3.10"
    assert fetch_release("1.9.1", messages.append) == found
    assert (len(asked), len(messages)) == (1, 1)
    found.path.write_bytes(NEW)
    assert fetch_release("1.9.1", messages.append) == found, "what has changed is fetched again"


@pytest.mark.parametrize(("data", "place"), [(NEW, PLACES[0]), (OLD, "onnxruntime/capi/another.dll"), (b"no DLL", PLACES[0])])
def test_what_is_not_the_release_is_not_kept(data: bytes, place: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "run_logged", fake_pip(data, place, []))
    with pytest.raises(BackendUnavailable):
        fetch_release("1.9.1", print)
    assert not (cache / "directml" / "DirectML-1.9.1").exists()


def test_every_release_that_is_known_has_a_wheel() -> None:
    assert WHEELS.keys() == set(RELEASES.values())
    assert list(WHEELS) == sorted(WHEELS, key=lambda version: [int(part) for part in version.split(".")])
    assert not NOT_HERE.keys() & WHEELS.keys()
    assert f"onnxruntime-directml=={WHEELS[setup.VERSION][0]}" == setup.WHEEL
