"""Keyed randomness: every draw is a pure function of (stream key, record id, purpose, lane, attempt).

Nothing here keeps state, so the same secret gives the same release in any order of work and on any engine, and no
draw can be told from another without the secret.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import LarvatusError

SHORTEST_SECRET = 16


def checked_secret(secret: bytes | None) -> bytes:
    """The secret itself, or a fresh one from the operating system; short ones are refused."""
    if secret is None:
        return secrets.token_bytes(32)
    if not isinstance(secret, bytes | bytearray):
        raise LarvatusError(
            f"secret: needs bytes, got {type(secret).__name__}. Pass bytes, or None for a fresh one from the system."
        )
    if len(secret) < SHORTEST_SECRET:
        raise LarvatusError(
            f"secret: {len(secret)} bytes, at least {SHORTEST_SECRET} are needed. "
            "Use secrets.token_bytes(32), or None for a fresh one from the system."
        )
    return bytes(secret)


def stream_key(secret: bytes, *context: str) -> bytes:
    """Sixteen bytes that depend on the secret and on every word of the context (each with its length, so none run together)."""
    digest = hashlib.blake2b(digest_size=16, key=hashlib.blake2b(secret).digest(), person=b"larvatus-stream")
    for word in context:
        raw = word.encode()
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.digest()


def _purpose(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") >> 1


@dataclass(frozen=True, slots=True)
class RecordRandom:
    """Draws for records by id, from one stream key; the keys never show in a representation.

    `common` is the key of what the copies of a release share, where there are several.
    """

    key: bytes = field(repr=False)
    common: bytes | None = field(default=None, repr=False)

    def child(self, *context: str) -> RecordRandom:
        """Another stream, for a use that must not share draws with this one."""
        return RecordRandom(stream_key(self.key, *context))

    def shared(self) -> RecordRandom:
        """The stream that all copies of a release share, for choices that one copy must not give away of another."""
        return RecordRandom(self.common or self.key)

    def normal(
        self, record: NDArray[np.int64], lanes: int = 1, purpose: str = "noise", attempt: int = 0
    ) -> NDArray[np.float64]:
        """Standard normal draws, lanes × records."""
        from larvatus.core import philox

        out = np.empty((lanes, len(record)))
        philox.fill_normal(out, _ids(record), _purpose(purpose), attempt, *self._words())
        return out

    def uniform(
        self, record: NDArray[np.int64], lanes: int = 1, purpose: str = "uniform", attempt: int = 0
    ) -> NDArray[np.float64]:
        """Draws from the open unit interval, lanes × records."""
        from larvatus.core import philox

        out = np.empty((lanes, len(record)))
        philox.fill_uniform(out, _ids(record), _purpose(purpose), attempt, *self._words())
        return out

    def words(
        self, record: NDArray[np.int64], lanes: int = 1, purpose: str = "order", attempt: int = 0
    ) -> NDArray[np.uint64]:
        """Random 64-bit words, lanes × records: what ties, swaps and row order are settled by."""
        from larvatus.core import philox

        out = np.empty((lanes, len(record)), dtype=np.uint64)
        philox.fill_words(out, _ids(record), _purpose(purpose), attempt, *self._words())
        return out

    def _words(self) -> Iterable[np.uint64]:
        return np.frombuffer(self.key, dtype="<u8").astype(np.uint64)


def _ids(record: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.ascontiguousarray(record, dtype=np.int64)

NOT_A_SECRET = b"made-up households have nothing to hide"
