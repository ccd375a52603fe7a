"""The engine for data larger than one machine: columns in a folder that a cluster shares, computation on Spark executors."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from larvatus.core.errors import EngineError, ReadError
from larvatus.core.memory_size import bytes_of
from larvatus.data.contracts import RecordTable, Words
from larvatus.data.roles import Roles, SubGroups
from larvatus.engines._disk import writing as _disk_writing
from larvatus.engines._files.sources import column_names, distinct_names, keyed_order_of
from larvatus.engines._spark import reading, writing
from larvatus.engines._spark.jobs import SparkCluster
from larvatus.engines._spark.sail import is_served_here
from larvatus.engines._spark.session import folder_beside, is_spark, parallel_tasks, session_for
from larvatus.engines._spark.store import Place, SharedFolder
from larvatus.engines._spark.table import SparkTable, as_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HOLDING, _PER_ROW = 0.85, 96
_GIVEN_OUT: list[SharedFolder] = []  # folders of data frames returned to the caller, which may be used at any time
_CHECKED: set[tuple[int, str]] = set()  # sessions and folders already checked


class Spark:
    """Reads sources of any size on a cluster.

    `session` is the Spark session to use (default: that of the data frame read, the active one, or a new one at `master`).
    `folder` is a path that the driver and all executors share, or an address that Arrow can open. `memory` limits what one
    task holds. `exchange` says how rows go from task to task: by files in that folder, while only their addresses go through
    Spark ("folder", the default if it is a path), or through Spark's own shuffles ("shuffle").
    """

    name, can_be_sent = "spark", False

    def __init__(
        self, session: SparkSession | None = None, master: str | None = None, folder: str | Path | None = None,
        memory: int | str | None = None, rows: int | None = None, exchange: Literal["folder", "shuffle"] | None = None,
    ) -> None:
        self._session, self._master = session, master
        self._folder = os.environ.get("LARVATUS_TEMP") if folder is None else str(folder)
        self._memory = 10**9 if memory is None else bytes_of(memory)
        self._rows, self._exchange = rows, exchange
        self._shared: SharedFolder | None = None
        self._cluster: SparkCluster | None = None

    def __reduce__(self) -> Any:
        return Spark, ()

    def _on(self, source: Any) -> SparkCluster:
        """The cluster, checked once: its executors must have the package and reach the folder."""
        if self._cluster is None:
            session = session_for(source, self._session, self._master)
            self._shared = SharedFolder(self._folder)
            rows = self._rows or int(self._memory * _HOLDING / _PER_ROW)
            own = folder_beside(session)
            by_folder = self._shared.place.local or is_served_here(session)
            aside = by_folder if self._exchange is None else self._exchange == "folder"
            cluster = SparkCluster(own, session, self._shared.place, parallel_tasks(session), self._memory, rows, aside)
            looked = id(session), self._folder or ""
            if looked not in _CHECKED:
                _check(cluster)
            _CHECKED.add(looked)
            self._cluster = cluster
        return self._cluster

    def names(self, source: Any) -> list[str]:
        """The columns of the source."""
        if is_spark(source):
            return distinct_names([str(c) for c in source.columns])
        if isinstance(source, str) and "://" in source:
            try:
                return distinct_names([str(c) for c in self._on(source).session.read.parquet(source).columns])
            except Exception as error:
                raise ReadError(f"Spark cannot read Parquet files at {source} ({type(error).__name__}).") from None
        return column_names(source)

    def has_random_order(self, source: Any) -> bool:
        """Whether the source states that its rows are in keyed random order."""
        elsewhere = is_spark(source) or (isinstance(source, str) and "://" in source)
        return False if elsewhere else keyed_order_of(source)

    def read(self, source: Any, roles: Roles, sub_groups: SubGroups, pairing: Path | None = None) -> SparkTable:
        """A table of the columns with a role, sorted by sub-group and record id."""
        if roles.missing:
            raise EngineError("engine spark: codes of missing values are not supported. Use engine duckdb, or make these cells "
                              "empty.")
        return reading.read_to_cluster(self._on(source), source, self.names(source), roles, sub_groups, pairing)

    def frame(self, table: RecordTable, names: Sequence[str], like: RecordTable) -> Any:
        """The named columns, as the kind of data frame of the source, or as a Spark data frame."""
        held, source = as_spark(table), as_spark(like).source
        if source.kind in ("pandas", "polars", "pyarrow"):
            small = held.room.arranges(held.rows, len(names))
            batches = None if small else writing.ArrangedColumns(held, names, None).batches(0, held.rows)
            return _disk_writing.disk_frame(held, names, source, batches)
        if self._shared is not None and self._shared not in _GIVEN_OUT:
            _GIVEN_OUT.append(self._shared)
        return writing.spark_frame(held, names)

    def write(
        self, table: RecordTable, names: Sequence[str], path: Path, order: Words | None, pairing: Path | None, overwrite: bool
    ) -> None:
        """Write the named columns to a file or a folder of files, in the order of the random words if `order` is given."""
        _disk_writing.check_targets(path, pairing, overwrite)
        writing.write_from_cluster(as_spark(table), names, path, order, pairing)


def _check(cluster: SparkCluster) -> None:
    """Refuse a cluster that would not work, with an explanation, before anything is read."""
    from larvatus import __version__

    word = secrets.token_hex(8)
    cluster.place.write("probe", word.encode())
    said = cluster.run(partial(_looked, cluster.place), list(range(cluster.parallel)))
    if any(version != __version__ for version, _ in said):
        other = next(version for version, _ in said if version != __version__)
        raise EngineError(f"the executors have larvatus {other} and the driver has {__version__}. Install the same one.")
    if any(found != word for _, found in said):
        raise EngineError("the work folder is a different folder on the executors. Set LARVATUS_TEMP to one that all share.")


def _looked(place: Place, _: int) -> tuple[str, str]:
    from larvatus import __version__

    return __version__, place.read("probe").decode()
