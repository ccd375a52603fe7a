"""Spark jobs: run a function in many tasks, and bring rows with the same key to one task.

Plans contain functions and packed bytes, and no values as text. Error messages of tasks contain no values either.
"""

from __future__ import annotations

import base64
import gc
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

from larvatus.core import errors
from larvatus.core.errors import EngineError, LarvatusError, MachineError
from larvatus.core.system_errors import LOST_SPARK, has_lost_spark
from larvatus.data.contracts import Array
from larvatus.engines._layout.base_table import most_whole_records
from larvatus.engines._layout.chunks import CHUNK
from larvatus.engines._spark.rows_aside import RowsAside, rows_aside
from larvatus.engines._spark.sheltered import collect_rows
from larvatus.engines._spark.store import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SparkBlocks = Iterator[dict[str, Array]]
LACKING = re.compile(r"No module named '?(larvatus|numba|numpy|scipy|pandas|pyarrow|pydantic|threadpoolctl|pyspark)\b")
_MARK = re.compile(r"larvatus<([A-Za-z0-9+/=]+)\|([A-Za-z0-9+/=]*)>")
PIECE, MOST_TASKS = 1 << 20, 4096
_LARGE = 1 << 20  # bytes; larger functions and results wait in the shared folder: a message of Spark Connect holds 128 MB
_CORES = os.cpu_count() or 1
_TURNS, _ENTRY = BoundedSemaphore(_CORES), Lock()
SMALL_TABLE = 1 << 20  # in tables of up to this many rows, a job costs more than moving further columns


@dataclass(frozen=True, slots=True)
class SparkCluster:
    """The Spark session to use, the user's session, the shared folder, the number of parallel tasks, and the number of rows
    that one task may hold. `aside` says that rows wait in the shared folder while they are exchanged.
    """

    session: SparkSession
    given: SparkSession
    place: Place
    parallel: int
    memory: int
    rows: int
    aside: bool = False

    @property
    def piece(self) -> int:
        """Number of rows in one piece of sorted or scattered data."""
        return min(PIECE, self.rows)

    def piece_of(self, width: int) -> int:
        """The same for rows of `width` bytes: a task that receives them holds three times as many."""
        return max(min(self.piece, self.memory // (5 * width)), 1)

    def held(self, columns: int) -> int:
        """Number of rows of `columns` columns that a task may sort."""
        return max(self.rows * 12 // (2 * columns + 2), 1)

    def arranges(self, rows: int, columns: int) -> bool:
        """Whether this many rows may be sorted on the driver, which must hold all of them."""
        return rows <= max(self.rows, SMALL_TABLE)

    def whole(self, columns: int) -> int:
        """Number of records of `columns` columns that a method may receive at once; it needs several times their size."""
        return most_whole_records(self.memory, self.rows, columns)

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any], alone: bool = False) -> list[Any]:
        """The result of a function for each task, in order."""
        return [load_function(out) for out in self.packed(function, tasks, alone)]

    def packed(self, function: Callable[[Any], Any], tasks: Sequence[Any], alone: bool = False) -> list[bytes]:
        """The same, still packed, which takes a tenth of the memory; `alone`: one task at a time in each process."""
        if not tasks:
            return []
        with rows_aside(self) as aside:
            plan = function, [dump_function(task) for task in tasks]
            waiting, address = _beside(aside, dump_function(plan))
            here, address = (None, address) if waiting else (plan, b"")

            def work(batches: Iterator[Any]) -> Iterator[Any]:
                import pyarrow as pa

                whole, given = here or load_function(_fetched(aside, waiting, address))
                for batch in batches:
                    for at in batch.column(0).to_pylist():
                        with in_turn(alone):
                            waits, out = _beside(aside, dump_function(whole(load_function(given[at]))))
                        yield pa.record_batch({"at": pa.array([at]), "waits": [waits], "out": [out]})

            found = self.asked(in_arrow(self.numbers(len(tasks)), work, "at long, waits boolean, out binary"))
            by_number = {at: _fetched(aside, waits, out) for at, waits, out in found}
        return [by_number[i] for i in range(len(tasks))]

    def numbers(self, count: int) -> DataFrame:
        """Numbers of tasks, in few partitions if tasks are small: a partition costs more than thousands of rows."""
        large = -(-count * self.piece // CHUNK)
        return self.session.range(0, count, 1, max(min(count, max(large, self.parallel), MOST_TASKS), 1))

    def by_key(self, frame: DataFrame, key: str, rows: int) -> DataFrame:
        """Rows with the same key together, in as many partitions as this number of rows needs."""
        return frame.repartition(max(min(-(-rows // max(self.piece, CHUNK)), MOST_TASKS), self.parallel), key)

    def asked(self, frame: DataFrame) -> list[Any]:
        """The rows of a small result; failures are raised as one readable error."""
        try:
            return collect_rows(frame)
        except LarvatusError:
            raise
        except Exception as error:
            raise explain_error(error) from None


def _beside(aside: RowsAside | None, packed: bytes) -> tuple[bool, bytes]:
    """What travels: the bytes, or their address in the shared folder if they are many."""
    waits = aside is not None and len(packed) > _LARGE
    return waits, aside.put([packed])[0] if aside is not None and waits else packed


def _fetched(aside: RowsAside | None, waits: bool, packed: Any) -> bytes:
    return aside.get(packed) if aside is not None and waits else bytes(packed)


@contextmanager
def in_turn(alone: bool = False) -> Iterator[None]:
    """Wait for a core, or for all. Sail starts all tasks of a job at once, in one process, and each would hold its rows."""
    turns = _CORES if alone else 1
    with _ENTRY:  # one task at a time collects turns, so that two that want all of them never hold some each
        for _ in range(turns):
            _TURNS.acquire()
    try:
        yield
    finally:
        for _ in range(turns):
            _TURNS.release()


def dump_function(value: Any) -> bytes:
    """Pickle like PySpark, which includes functions defined in the user's session."""
    from pyspark import cloudpickle

    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    return dumps(value)


def load_function(value: bytes) -> Any:
    from pyspark import cloudpickle

    return cloudpickle.loads(value)


@contextmanager
def _without_remark() -> Iterator[None]:
    """Suppress PySpark's warning on pandas 3, which it gives at every call even if pandas is not used."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def in_arrow(frame: DataFrame, work: Callable[[Iterator[Any]], Iterator[Any]], schema: str) -> DataFrame:
    """Apply a function to the batches of every partition."""
    with _without_remark():
        return frame.mapInArrow(_guarded(work), schema)


def in_arrow_by(frame: DataFrame, key: str, work: Callable[[Any], Any], schema: str) -> DataFrame:
    """Apply a function to all rows with the same key."""
    with _without_remark():
        return frame.groupBy(key).applyInArrow(_guarded_once(work), schema)


def _guarded(work: Callable[[Iterator[Any]], Iterator[Any]]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function, with errors that carry no values out of the executor."""

    def larvatus(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from work(batches)
        except Exception as error:
            raise RuntimeError(mark_error(error)) from None
        _settled()

    return larvatus


def _guarded_once(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def larvatus(table: Any) -> Any:
        try:
            with in_turn():
                return work(table)
        except Exception as error:
            raise RuntimeError(mark_error(error)) from None
        finally:
            _settled()

    return larvatus


_SETTLED: list[int] = [0]  # number of modules when the garbage collector was last frozen


def _settled() -> None:
    """Freeze the objects of loaded modules: PySpark runs the garbage collector after every task, and going through all
    objects of NumPy, SciPy and Numba takes longer than most tasks.
    """
    if len(sys.modules) > _SETTLED[0]:
        gc.collect()
        gc.freeze()
        _SETTLED[0] = len(sys.modules)


def mark_error(error: Exception) -> str:
    """An error as text that survives Java: our own errors with their message, others with their type and line only."""
    if isinstance(error, LarvatusError):
        name, text = type(error).__name__, str(error)
    else:
        where = traceback.extract_tb(error.__traceback__)
        own = [f for f in where if "pyspark" not in f.filename and not f.filename.endswith("_spark/jobs.py")] or where
        name = "EngineError"
        text = f"a task failed with {type(error).__name__} in {Path(own[-1].filename).name}, line {own[-1].lineno}."
        if isinstance(error, MemoryError):
            text = "a task needs more memory than an executor has. Lower the limit (memory = …), or give executors more memory."
    return f"larvatus<{_coded(name)}|{_coded(text)}>"


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def explain_error(error: Exception) -> LarvatusError:
    """An error that tells the user what to do. Spark's own message is not repeated, because it may contain values."""
    said = str(error)
    found = _MARK.search(said)
    if found:
        name, text = (base64.b64decode(part).decode() for part in found.groups())
        kind = getattr(errors, name, EngineError)
        return EngineError(text) if kind is errors.StudyError else kind(text)
    if LACKING.search(said):
        return EngineError(
            "the executors cannot import larvatus. Install the same version of it and its dependencies in the Python of the "
            "executors (spark.pyspark.python), or ship an environment with spark.archives."
        )
    if "PYTHON_VERSION_MISMATCH" in said:
        return EngineError("the executors and the driver run different versions of Python. Set spark.pyspark.python.")
    if ("AttributeError" in said and "larvatus" in said) or "ModuleNotFoundError" in said:
        return EngineError(
            "the executors cannot load a function that was sent to them. They have a different version of larvatus than the "
            "driver, or lack a module of your own method. Install the same on both."
        )
    if has_lost_spark(error) and "Py4JJavaError" not in type(error).__name__:
        return MachineError(LOST_SPARK)
    lost = "ExecutorLostFailure" in said or ("executor" in said.lower() and "lost" in said.lower())
    why = "executors were lost more often than Spark retries" if lost else type(error).__name__
    return MachineError(f"Spark could not finish ({why}). See Spark's logs; details are hidden because they may contain data.")
