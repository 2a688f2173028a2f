"""What a host wrote to standard error since a request began: that and nothing else, however the two pipes are scheduled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import FileIO
from threading import Thread

import pytest

from dmlcts.conformance.backends.process.standard_error import KEPT, SHOWN, StandardError

posix = pytest.mark.skipif(os.name != "posix", reason="on Windows it is not known whether all was read")


@pytest.fixture
def pipe() -> Iterator[tuple[int, StandardError]]:
    """Where to write, and what a thread reads of it until the end."""
    reading, writing = os.pipe()
    stream = FileIO(reading)
    found = StandardError(stream)
    thread = Thread(target=found.follow)
    thread.start()
    yield writing, found
    os.close(writing)
    thread.join(10)
    assert not thread.is_alive(), "it reads to the end"
    stream.close()


@posix
def test_each_request_has_its_own_lines(pipe: tuple[int, StandardError]) -> None:
    """Asked at once, before the thread had a chance to read."""
    writing, found = pipe
    for number in range(2000):
        if number % 3:
            os.write(writing, b"of nobody\n")
        mark = found.mark()
        os.write(writing, b"%d\nof this request\n" % number)
        assert found.lines_since(mark) == f"{number}\nof this request"


@posix
def test_a_request_without_a_word_has_none(pipe: tuple[int, StandardError]) -> None:
    writing, found = pipe
    os.write(writing, b"before\n")
    assert found.lines_since(found.mark()) == ""
    assert found.text() == "before\n"


@posix
@pytest.mark.parametrize("lines", [1, 128, 129, 256, 1000])
def test_the_last_whole_lines_are_shown(lines: int, pipe: tuple[int, StandardError]) -> None:
    writing, found = pipe
    mark = found.mark()
    os.write(writing, b"".join(b"line %10d\n" % number for number in range(lines)))
    shown = found.lines_since(mark).splitlines()
    assert shown == [f"line {number:10}" for number in range(lines)][-len(shown) :]
    assert len(shown) == min(lines, SHOWN // 16 - (lines > SHOWN // 16)), "the first of those that fit may be cut off"


@posix
def test_one_long_line_is_cut(pipe: tuple[int, StandardError]) -> None:
    writing, found = pipe
    mark = found.mark()
    os.write(writing, b"x" * (2 * KEPT))
    assert found.lines_since(mark) == "x" * SHOWN
