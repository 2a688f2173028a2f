"""Processes beside others multiply with one thread, unless the user says otherwise."""

import os

import pytest

from dmlcts.conformance.runner.workers.threads import VARIABLES, one_thread, starting_with_one_thread


def test_what_is_set_stays() -> None:
    assert one_thread({}) == dict.fromkeys(VARIABLES, "1")
    assert one_thread({VARIABLES[0]: "4", "HOME": "here"}) == {**dict.fromkeys(VARIABLES, "1"), VARIABLES[0]: "4", "HOME": "here"}


def test_the_environment_is_as_before_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLES[0], "4")
    for name in VARIABLES[1:]:
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    with starting_with_one_thread():
        assert [os.environ[name] for name in VARIABLES] == ["4", "1", "1"]
    assert dict(os.environ) == before
