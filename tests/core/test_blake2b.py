"""Keyed BLAKE2b of rows of words, against the standard library."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from larvatus.core import blake2b
from larvatus.core.blake2b import sum_of_digests

KEY = b"0123456789abcdef"


@pytest.fixture(params=["few", "many"], autouse=True)
def way(request, monkeypatch):
    """Few messages are digested by the standard library, many by the compiled loop."""
    if request.param == "many":
        monkeypatch.setattr(blake2b, "_FEW", -1)


@pytest.mark.parametrize("words", [1, 2, 15, 16, 17, 32, 33])
def test_the_sum_is_that_of_the_standard_library(words: int):
    messages = np.random.default_rng(words).integers(0, 2**64, (40, words), dtype=np.uint64)
    digests = [hashlib.blake2b(m.astype("<u8").tobytes(), key=KEY, digest_size=32).digest() for m in messages]
    assert sum_of_digests(messages, KEY) == sum(int.from_bytes(d, "little") for d in digests) % 2**256


def test_two_equal_messages_do_not_cancel():
    row = np.arange(3, dtype=np.uint64)[None]
    assert sum_of_digests(np.repeat(row, 2, axis=0), KEY) == 2 * sum_of_digests(row, KEY) % 2**256


def test_no_message_gives_zero():
    assert sum_of_digests(np.empty((0, 3), dtype=np.uint64), KEY) == 0
