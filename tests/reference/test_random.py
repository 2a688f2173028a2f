"""Philox 4x32-10 against the known answers of Random123, and the counter's carry."""

import numpy as np
import pytest

from dmlcts.reference.operators.random.philox import advance_counter, rounds


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ([0, 0, 0, 0], [0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_known_answers(counter: list[int], key: list[int], words: list[int]) -> None:
    assert rounds(np, np.asarray([counter], np.uint32), key).tolist() == [words]


@pytest.mark.parametrize("start", [0, 2**32 - 2, 2**64 - 1, 2**96 - 3, 2**128 - 1])
def test_counter_carries(start: int) -> None:
    words = np.asarray([start >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)], np.uint32)
    found = advance_counter(np, words, np.arange(5, dtype=np.uint64)).tolist()
    assert [sum(word << 32 * at for at, word in enumerate(row)) for row in found] == [(start + by) % 2**128 for by in range(5)]
