"""What Spark is asked to do: run a function on many tasks, and bring what belongs together to one of them.

Plans hold functions and packed bytes, and no value in their text. A task that fails says so in words that hold none either.
"""

from __future__ import annotations

import base64
import gc
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from larvatus.core import errors
from larvatus.core.errors import EngineError, LarvatusError
from larvatus.data.contracts import Array
from larvatus.engines._layout.chunks import CHUNK
from larvatus.engines._spark.store import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SparkBlocks = Iterator[dict[str, Array]]
LACKING = re.compile(r"No module named '?(larvatus|numba|numpy|scipy|pandas|pyarrow|pydantic|threadpoolctl|pyspark)\b")
_MARK = re.compile(r"larvatus<([A-Za-z0-9+/=]+)\|([A-Za-z0-9+/=]*)>")
PIECE, MOST_TASKS = 1 << 20, 4096
SMALL_TABLE = 1 << 20  # rows of a table in which a job costs more than the columns that it could take along


@dataclass(frozen=True, slots=True)
class SparkCluster:
    """A session to work in, the one whose frames come and go, the place that all of it shares, how many tasks run at once,
    and how many rows one may hold.
    """

    session: SparkSession
    given: SparkSession
    place: Place
    parallel: int
    memory: int
    rows: int

    @property
    def piece(self) -> int:
        """Rows in a piece of something sorted or scattered."""
        return min(PIECE, self.rows)

    def piece_of(self, width: int) -> int:
        """The same, of rows of so many bytes: a task that receives them holds three times as many."""
        return max(min(self.piece, self.memory // (5 * width)), 1)

    def held(self, columns: int) -> int:
        """How many rows of so many columns a task may sort."""
        return max(self.rows * 12 // (2 * columns + 2), 1)

    def arranges(self, rows: int, columns: int) -> bool:
        """Whether so much may be put in order on the driver, which is to hold all of it."""
        return rows <= max(self.rows, SMALL_TABLE)

    def whole(self, columns: int) -> int:
        """How many records of so many columns a method may be handed at once: it needs several times their size."""
        return max(self.rows, int(self.memory / (2 * 8 * 8 * max(columns, 1))))

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        """What a function makes of each task, in their order."""
        if not tasks:
            return []
        given = [dump_function(task) for task in tasks]

        def work(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            for batch in batches:
                for at in batch.column(0).to_pylist():
                    yield pa.record_batch({"at": pa.array([at]), "out": [dump_function(function(load_function(given[at])))]})

        found = self.asked(in_arrow(self.numbers(len(tasks)), work, "at long, out binary"))
        by_number = {row[0]: row[1] for row in found}
        return [load_function(bytes(by_number[i])) for i in range(len(tasks))]

    def numbers(self, count: int) -> DataFrame:
        """Numbers of tasks, in few partitions where tasks are small: each costs more than thousands of rows do."""
        large = -(-count * self.piece // CHUNK)
        return self.session.range(0, count, 1, max(min(count, max(large, self.parallel), MOST_TASKS), 1))

    def by_key(self, frame: DataFrame, key: str, rows: int) -> DataFrame:
        """Rows of the same key together, in as many partitions as so many rows need."""
        return frame.repartition(max(min(-(-rows // max(self.piece, CHUNK)), MOST_TASKS), self.parallel), key)

    def asked(self, frame: DataFrame) -> list[Any]:
        """The rows of a small answer; what goes wrong on the way as one error in plain words."""
        try:
            return list(frame.collect())
        except LarvatusError:
            raise
        except Exception as error:
            raise explain_error(error) from None


def dump_function(value: Any) -> bytes:
    """Bytes as PySpark itself sends functions: it takes those that were written in a session along."""
    from pyspark import cloudpickle

    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    return dumps(value)


def load_function(value: bytes) -> Any:
    from pyspark import cloudpickle

    return cloudpickle.loads(value)


@contextmanager
def _without_remark() -> Iterator[None]:
    """PySpark remarks on pandas 3 at every call, also where pandas has no part in it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def in_arrow(frame: DataFrame, work: Callable[[Iterator[Any]], Iterator[Any]], schema: str) -> DataFrame:
    """What a function makes of every partition's batches."""
    with _without_remark():
        return frame.mapInArrow(_guarded(work), schema)


def in_arrow_by(frame: DataFrame, key: str, work: Callable[[Any], Any], schema: str) -> DataFrame:
    """What a function makes of all rows with the same key."""
    with _without_remark():
        return frame.groupBy(key).applyInArrow(_guarded_once(work), schema)


def _guarded(work: Callable[[Iterator[Any]], Iterator[Any]]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The work, whose errors leave the executor without a value in them."""

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
            return work(table)
        except Exception as error:
            raise RuntimeError(mark_error(error)) from None
        finally:
            _settled()

    return larvatus


_SETTLED: list[int] = [0]  # how many modules this process had when it last set them aside


def _settled() -> None:
    """Set aside what modules hold, since PySpark looks for garbage after every task: in all that NumPy, SciPy and Numba
    keep, that takes longer than most tasks do.
    """
    if len(sys.modules) > _SETTLED[0]:
        gc.collect()
        gc.freeze()
        _SETTLED[0] = len(sys.modules)


def mark_error(error: Exception) -> str:
    """An error as a text that survives a journey through Java: our own in their words, others by their kind and place."""
    if isinstance(error, LarvatusError):
        name, text = type(error).__name__, str(error)
    else:
        where = traceback.extract_tb(error.__traceback__)
        own = [f for f in where if "pyspark" not in f.filename and not f.filename.endswith("_spark/jobs.py")] or where
        name = "EngineError"
        text = f"a task failed with {type(error).__name__} in {Path(own[-1].filename).name}, line {own[-1].lineno}."
        if isinstance(error, MemoryError):
            text = "a task needs more memory than an executor has. Allow less (memory = …), or give executors more."
    return f"larvatus<{_coded(name)}|{_coded(text)}>"


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def explain_error(error: Exception) -> LarvatusError:
    """What a person can do about it; Spark's own words may hold values, so they are not repeated."""
    said = str(error)
    found = _MARK.search(said)
    if found:
        name, text = (base64.b64decode(part).decode() for part in found.groups())
        kind = getattr(errors, name, EngineError)
        return EngineError(text) if kind is errors.StudyError else kind(text)
    if LACKING.search(said):
        return EngineError(
            "the executors cannot import larvatus. Install the same version of it, with what it needs, in the Python that they "
            "run (spark.pyspark.python), or ship an environment with spark.archives."
        )
    if "PYTHON_VERSION_MISMATCH" in said:
        return EngineError("the executors run another version of Python than the driver. Set spark.pyspark.python to the same.")
    if ("AttributeError" in said and "larvatus" in said) or "ModuleNotFoundError" in said:
        return EngineError(
            "the executors cannot load a function that they were sent: they have another version of larvatus than the driver, "
            "or lack a module that a method of your own comes from. Install both there."
        )
    lost = "ExecutorLostFailure" in said or ("executor" in said.lower() and "lost" in said.lower())
    why = "executors were lost, more often than Spark tries again" if lost else type(error).__name__
    return EngineError(f"Spark could not finish ({why}). Its own logs say where; values are not repeated here.")
