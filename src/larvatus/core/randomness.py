"""Keyed randomness: every draw is a pure function of (stream key, record id, purpose, lane, attempt).

There is no state, so the same secret gives the same release in any order of work and on any engine. Without the secret,
no draw can be predicted from others. stream key = BLAKE2b(BLAKE2b(secret); length and text of each part of the context).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import LarvatusError

SHORTEST_SECRET = 16


def secret_or_new(secret: bytes | None) -> bytes:
    """The given secret, or a new one from the operating system; short ones are refused."""
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
    """Sixteen bytes that depend on the secret and every part of the context (each preceded by its length)."""
    digest = hashlib.blake2b(digest_size=16, key=hashlib.blake2b(secret).digest(), person=b"larvatus-stream")
    for word in context:
        raw = word.encode()
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.digest()


def text_number(text: str) -> int:
    """A 63-bit number that stands for a text, such as the id of a person, in place of a record id."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def _purpose(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") >> 1


@dataclass(frozen=True, slots=True)
class RecordRandom:
    """Draws for records by id, from one stream key; keys never appear in the representation.

    `common` is the key that the copies of a release share, if there are several. `panel` depends on the secret alone, for draws
    that must agree between the waves of a panel.

    Examples:
        >>> import larvatus as lv
        >>> import numpy as np
        >>> random = lv.RecordRandom(b"sixteen bytes of")
        >>> draws = random.normal(np.arange(5), lanes=2)
        >>> draws.shape
        (2, 5)
        >>> bool((random.normal(np.array([3]), lanes=2)[:, 0] == draws[:, 3]).all())  # a record has the same draws in any order
        True
    """

    key: bytes = field(repr=False)
    common: bytes | None = field(default=None, repr=False)
    panel: bytes | None = field(default=None, repr=False)

    def child(self, *context: str) -> RecordRandom:
        """Another stream, for a use that must not share draws with this one."""
        return RecordRandom(stream_key(self.key, *context))

    def shared_draws(self) -> RecordRandom:
        """The stream that all copies of a release share, for choices that must be the same in every copy."""
        return RecordRandom(self.common or self.key)

    def panel_draws(self, *context: str) -> RecordRandom:
        """The stream of all releases that were made with the same secret, for draws by person that waves share."""
        return RecordRandom(stream_key(self.panel or self.common or self.key, *context))

    def normal(
        self, record: NDArray[np.int64], lanes: int = 1, purpose: str = "noise", attempt: int = 0
    ) -> NDArray[np.float64]:
        """Standard normal draws, lanes × records."""
        from larvatus.core import few_draws, philox

        at: tuple[Any, ...] = _ids(record), _purpose(purpose), attempt, *self._words()
        if few_draws.are_few(lanes, len(record)):
            return few_draws.few_normal(lanes, *at)
        out = np.empty((lanes, len(record)))
        philox.fill_normal(out, *at)
        return out

    def uniform(
        self, record: NDArray[np.int64], lanes: int = 1, purpose: str = "uniform", attempt: int = 0
    ) -> NDArray[np.float64]:
        """Draws from the open unit interval, lanes × records."""
        from larvatus.core import few_draws, philox

        at: tuple[Any, ...] = _ids(record), _purpose(purpose), attempt, *self._words()
        if few_draws.are_few(lanes, len(record)):
            return few_draws.few_uniform(lanes, *at)
        out = np.empty((lanes, len(record)))
        philox.fill_uniform(out, *at)
        return out

    def words(
        self, record: NDArray[np.int64], lanes: int = 1, purpose: str = "order", attempt: int = 0
    ) -> NDArray[np.uint64]:
        """Random 64-bit words, lanes × records, used for ties, swaps and row order."""
        from larvatus.core import few_draws, philox

        at: tuple[Any, ...] = _ids(record), _purpose(purpose), attempt, *self._words()
        if few_draws.are_few(lanes, len(record)):
            return few_draws.few_words(lanes, *at)
        out = np.empty((lanes, len(record)), dtype=np.uint64)
        philox.fill_words(out, *at)
        return out

    def _words(self) -> Iterable[np.uint64]:
        return np.frombuffer(self.key, dtype="<u8").astype(np.uint64)


def _ids(record: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.ascontiguousarray(record, dtype=np.int64)

NOT_A_SECRET = b"made-up households have nothing to hide"
