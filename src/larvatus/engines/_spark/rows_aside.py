"""Rows that wait in the shared folder while they are exchanged: only their addresses travel from task to task.

Sail exchanges rows in memory, so that a file of a hundred million rows would have to fit there several times. A task writes its
packed rows to one file for each batch, and sends the name of the file, the place in it and the size. The receiving task reads
them. The name is a digest of the bytes, so that two attempts at a task write the same file and send the same addresses: Spark
gives up if a repeated task sends something else. The folder is removed after the exchange.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from larvatus.engines._spark.store import Place, new_folder

if TYPE_CHECKING:
    from larvatus.engines._spark.jobs import SparkCluster


@dataclass(frozen=True, slots=True)
class RowsAside:
    """The folder of one exchange."""

    place: Place
    folder: str

    def put(self, values: Sequence[bytes]) -> list[bytes]:
        """The addresses of packed rows, which are written to one file."""
        content, at, out = b"".join(values), 0, []
        name = f"{self.folder}/{hashlib.blake2b(content, digest_size=16).hexdigest()}"
        self.place.write(name, content)
        for value in values:
            out.append(f"{name} {at} {len(value)}".encode())
            at += len(value)
        return out

    def get(self, address: Any) -> bytes:
        """The packed rows at an address."""
        name, at, size = bytes(address).decode().split(" ")
        return self.place.read(name, int(at), int(size))


@contextmanager
def rows_aside(cluster: SparkCluster) -> Iterator[RowsAside | None]:
    """A folder for one exchange; None if the cluster moves rows itself."""
    if not cluster.aside:
        yield None
        return
    aside = RowsAside(cluster.place, new_folder())
    try:
        yield aside
    finally:
        cluster.place.remove(aside.folder)
