"""Choose the engine for a source: the one named, the source's own, or one that suits its size."""

from __future__ import annotations

import importlib.util
import inspect
import os
from functools import cache
from typing import Any

from larvatus.core.discovery import file_names, load
from larvatus.core.errors import EngineError, ReadError, nearest_names
from larvatus.core.memory_size import bytes_of, usable_memory
from larvatus.data.contracts import Engine
from larvatus.engines._files.sources import parts_of
from larvatus.engines._files.text_stream import size_up_to

_PACKAGE = "larvatus.engines"
_TIMES, COMFORTABLE = 6, 0.6


def engine_for(
    source: Any, engine: str | Engine, memory: int | str | None, columns: int, master: str | None = None
) -> tuple[Engine, str]:
    """The engine, and the reason for it if it was chosen automatically."""
    if not isinstance(engine, str):
        if not getattr(engine, "name", ""):
            raise EngineError(f"{type(engine).__name__} has no name. Give it a field `name`, which manifests state.",
                              subject="engine")
        return engine, ""
    if engine == "auto" and (master is not None or type(source).__module__.startswith("pyspark.sql")):
        engine = "spark"
    if engine != "auto":
        return _named(engine, memory, master), ""
    if type(source).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        return _named("duckdb", memory), ""
    allowed = usable_memory() if memory is None else bytes_of(memory)
    needed = _TIMES * _size(source, columns, int(allowed))
    if needed <= COMFORTABLE * allowed:
        return _named("memory", None), ""
    why = f"the source would need about {needed / 1e9:.1f} GB of memory, and {allowed / 1e9:.1f} GB may be used"
    if importlib.util.find_spec("duckdb") is None:
        raise EngineError(f"{why}. Install larvatus[duckdb], which works on disk, or set engine = \"memory\" to try it.")
    return _named("duckdb", memory), f"working on disk with engine duckdb: {why}"


def _named(name: str, memory: int | str | None, master: str | None = None) -> Engine:
    known = file_names(_PACKAGE)
    if name not in known:
        raise ReadError(f"no engine {name!r}; {nearest_names(name, known)}")
    kind = load(_PACKAGE, name)
    accepted = _settings_of(kind)
    if memory is not None and "memory" not in accepted:
        raise EngineError(f"memory: engine {name} cannot limit its memory. Use engine duckdb, or leave memory out.")
    if master is not None and "master" not in accepted:
        raise EngineError(f"master: engine {name} runs on this machine. Use engine spark, or leave master out.")
    settings = {"memory": memory, "master": master}
    found: Engine = kind(**{k: v for k, v in settings.items() if v is not None})
    return found


@cache
def _settings_of(kind: type) -> frozenset[str]:
    return frozenset(inspect.signature(kind).parameters)


def _size(source: Any, columns: int, allowed: int) -> int:
    """Bytes that the columns with a role take as numbers; 0 for data frames, which are in memory already."""
    if not isinstance(source, str | os.PathLike):
        return 0
    parts = parts_of(source)
    if parts.text:
        return sum(size_up_to(p, allowed) for p in parts.paths)
    from pyarrow import parquet

    rows = 0
    for path in parts.paths:
        try:
            rows += parquet.read_metadata(path).num_rows
        except Exception:
            raise ReadError(f"{path.name} is not a readable Parquet file.") from None
    return rows * 8 * (columns + 2)
