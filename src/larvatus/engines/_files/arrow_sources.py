"""Arrow files (.arrow, .feather, .ipc) and Arrow streams in Python: written once to a Parquet file that engines read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from larvatus.core.errors import ReadError
from larvatus.engines._layout.parquet_writer import parquet_writer

if TYPE_CHECKING:
    import pyarrow as pa

ARROW = frozenset({".arrow", ".feather", ".ipc", ".arrows"})


def is_arrow_file(source: Any) -> bool:
    """Whether a source is the path of an Arrow or Feather file."""
    return isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in ARROW and Path(source).is_file()


def is_arrow_stream(source: Any) -> bool:
    """Whether a source is a stream of record batches, a dataset, or a table of Delta or Iceberg opened in Python."""
    module = type(source).__module__.partition(".")[0]
    if module in ("deltalake", "pyiceberg"):
        return True
    if module != "pyarrow":
        return False
    import pyarrow as pa

    return isinstance(source, pa.RecordBatchReader | pa.RecordBatch) or type(source).__module__ == "pyarrow._dataset"


def arrow_names(source: Any) -> list[str]:
    """The columns of an Arrow file or stream. A stream is not consumed."""
    if not is_arrow_file(source):
        return [str(n) for n in _schema(source).names]
    with _open_file(Path(source)) as batches:
        return list(batches.schema.names)


def write_as_parquet(source: Any, target: Path) -> None:
    """Write all record batches of an Arrow file or stream to a Parquet file. A stream without records is refused."""
    import pyarrow as pa

    file = Path(source) if is_arrow_file(source) else None
    rows = 0
    try:
        with _open_file(file) if file is not None else _open_stream(source) as reader, \
                parquet_writer(target, reader.schema) as writer:
            for batch in reader:
                batch.validate(full=True)  # offsets of a damaged file may point anywhere, which ends the process
                writer.write_batch(batch)
                rows += batch.num_rows
    except MemoryError:
        raise
    except (pa.ArrowException, OSError):
        name = file.name if file is not None else "the stream"
        raise ReadError(f"{name} cannot be read: it is damaged or incomplete, was read before, or has a column of a type that "
                        "Parquet does not have.") from None
    if not rows:
        raise ReadError("the source has a header but no records.")


@contextmanager
def _open_file(path: Path) -> Iterator[pa.RecordBatchReader]:
    """The record batches of a file in the file format, the stream format or the first format of Feather."""
    import pyarrow as pa
    from pyarrow import feather, ipc

    if path.stat().st_size == 0:
        raise ReadError(f"{path.name} is empty.")
    try:
        with pa.OSFile(str(path)) as opened:  # a mapped file that is damaged ends the process (SIGBUS)
            start = opened.read(6)
            opened.seek(0)
            if start == b"ARROW1":
                with ipc.open_file(opened) as file:
                    batches = (file.get_batch(i) for i in range(file.num_record_batches))
                    yield pa.RecordBatchReader.from_batches(file.schema, batches)
            elif start[:4] == b"FEA1":
                yield feather.read_table(str(path)).to_reader()
            else:
                with ipc.open_stream(opened) as stream:
                    yield stream
    except MemoryError:
        raise
    except (pa.ArrowException, OSError):
        raise ReadError(f"{path.name} is not a readable Arrow file; it may be incomplete.") from None


@contextmanager
def _open_stream(source: Any) -> Iterator[pa.RecordBatchReader]:
    import pyarrow as pa

    if isinstance(source, pa.RecordBatch):
        yield pa.Table.from_batches([source]).to_reader()
    elif isinstance(source, pa.RecordBatchReader):
        yield source
    elif callable(getattr(source, "to_reader", None)):
        yield source.to_reader()
    elif callable(getattr(source, "scanner", None)):
        yield source.scanner().to_reader()
    elif callable(getattr(source, "to_pyarrow_dataset", None)):
        yield source.to_pyarrow_dataset().scanner().to_reader()
    elif callable(getattr(source, "scan", None)):
        yield source.scan().to_arrow_batch_reader()
    else:
        raise ReadError(f"cannot read a {type(source).__name__}. Pass its records as an Arrow table.")


def _schema(source: Any) -> Any:
    for name in ("schema", "dataset_schema"):
        found = getattr(source, name, None)
        found = found() if callable(found) else found
        if found is not None:
            return found.as_arrow() if callable(getattr(found, "as_arrow", None)) else (
                found.to_pyarrow() if callable(getattr(found, "to_pyarrow", None)) else found)
    raise ReadError(f"cannot read a {type(source).__name__}. Pass its records as an Arrow table.")
