"""Philox 4x32-10 of Salmon, Moraes, Dror and Shaw (Parallel random numbers: as easy as 1, 2, 3; SC 2011).

Each value of a counter of 128 bits gives four words; the state is the counter's four words, the least significant first, and the key's two.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

_WORD = 0xFFFFFFFF
_FACTORS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


@reference("RANDOM_GENERATOR")
def random_generator(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Four words a counter, of as many counters as the output needs, and the state whose counter is the next one."""
    state = inputs["InputStateTensor"]
    counter, key = xp.reshape(state, (-1,))[:4], [int(word) for word in xp.reshape(state, (-1,))[4:]]
    sizes = desc.tensor("OutputTensor").sizes
    count = prod(sizes)
    blocks = -(-count // 4)
    words = rounds(xp, advance_counter(xp, counter, xp.arange(blocks, dtype=xp.uint64)), key)
    answers = {"OutputTensor": Answer(xp.reshape(xp.reshape(words, (-1,))[:count], sizes))}
    if desc.find("OutputStateTensor"):
        after = advance_counter(xp, counter, xp.asarray([blocks], dtype=xp.uint64))[0]
        answers["OutputStateTensor"] = Answer(xp.reshape(xp.concat([after, xp.reshape(state, (-1,))[4:]]), state.shape))
    return answers


@stage("random.counter")
def advance_counter(xp: Any, counter: Array, by: Array) -> Array:
    """The counter's four words, the least significant first, plus each number of ``by``, modulo 2^128. Shape: (len(by), 4)."""
    words, carry = [], by
    for word in counter.astype(xp.uint64):
        total = word + carry
        words.append(total & _WORD)
        carry = total >> 32
    return xp.stack(words, axis=1).astype(xp.uint32)


@stage("random.rounds")
def rounds(xp: Any, counters: Array, key: list[int]) -> Array:
    """Ten rounds of each counter: two products, whose halves change places and are mixed with the key. Shape: (blocks, 4)."""
    a, b, c, d = (counters[:, i].astype(xp.uint64) for i in range(4))
    for at in range(_ROUNDS):
        low, high = ((start + at * step) & _WORD for start, step in zip(key, _KEY_STEPS, strict=True))
        first, second = a * _FACTORS[0], c * _FACTORS[1]
        a, b, c, d = (second >> 32) ^ b ^ low, second & _WORD, (first >> 32) ^ d ^ high, first & _WORD
    return xp.stack([a, b, c, d], axis=1).astype(xp.uint32)
