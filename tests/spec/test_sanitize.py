"""Foreign text made safe to show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmlcts.spec.untrusted import sanitize

COMMANDS = ("::error::x", "  ::add-mask::x", "a ::set-output name=x::y", "##[error]x", "a##vso[task.complete]", "##TeamCity[x]")


@pytest.mark.parametrize("text", ["", "plain", "std::vector<int>", "3 > 2 :: never", "C:\\x", "100 % # heading", "größer ≤ ½ 数"])
def test_clean_text_stays_as_it_is(text: str) -> None:
    expected = text.replace(" :: ", " : : ")
    assert sanitize.line(text) == sanitize.block(text) == expected


@pytest.mark.parametrize(
    ("text", "line", "block"),
    [
        ("\x1b[31mred\x07", "\ufffd[31mred\ufffd", "\ufffd[31mred\ufffd"),
        ("a\nb\r\n c\rd", "a b c d", "a\nb\n c\nd"),
        ("a\tb", "a b", "a\tb"),
        ("\x00\ud800\u202e", "\ufffd\ufffd\ufffd", "\ufffd\ufffd\ufffd"),
        ("a\u00a0b\u2028c", "a b c", "a b c"),
    ],
)
def test_control_characters(text: str, line: str, block: str) -> None:
    assert (sanitize.line(text), sanitize.block(text)) == (line, block)


@pytest.mark.parametrize("text", COMMANDS)
def test_no_command_of_a_ci_system_is_left(text: str) -> None:
    for found in (sanitize.line(text), sanitize.block(text), sanitize.block(f"first\n{text}")):
        for line in found.splitlines():
            assert not line.lstrip().startswith("::")
            assert not any(mark in line.lower() for mark in ("##[", "##vso[", "##teamcity["))


def test_long_text_is_cut_and_says_how_much() -> None:
    assert sanitize.line("x" * 5000) == "x" * 1960 + " ... (3,040 more characters)"
    assert len(sanitize.block("x\n" * 50_000)) <= sanitize.LONGEST_BLOCK


@given(
    st.text(alphabet=st.characters(exclude_categories=()))
    | st.lists(st.sampled_from(["::", "##[", ":", "#", " ", "\n", "x", "\x1b"])).map("".join)
)
def test_clean_text_is_printable_and_cleaning_it_again_changes_nothing(text: str) -> None:
    line, block = sanitize.line(text), sanitize.block(text)
    assert line.isprintable()
    assert all(c.isprintable() or c in "\n\t" for c in block)
    assert sanitize.line(line) == line
    assert sanitize.block(block) == block


def test_data_is_clean_in_keys_and_values() -> None:
    given_ = {"\x1b": ["\x07", {"k": float("nan")}, 1, None], "t": ("::x",)}
    assert sanitize.data(given_) == {"\ufffd": ["\ufffd", {"k": "nan"}, 1, None], "t": [": :x"]}


def test_an_exception_whose_text_fails() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert sanitize.error_line(Silent()) == "Silent: a text that cannot be read"
    assert sanitize.error_line(ValueError("a\nb")) == "ValueError: a b"
