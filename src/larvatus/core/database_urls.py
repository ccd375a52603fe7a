"""Addresses of databases (`postgresql://user@host:port/name`, `sqlite:///file.db`), object stores (`s3://bucket/x`) and files.

In `sqlite:///` and `duckdb:///`, a path is relative after three slashes and absolute after four; after `file://` it is always
absolute. An address never contains a password or a key.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from larvatus.core.errors import ReadError

POSTGRESQL, SQLITE, DUCKDB = "postgresql", "sqlite", "duckdb"
_SCHEMES = {"postgresql": POSTGRESQL, "postgres": POSTGRESQL, "sqlite": SQLITE, "duckdb": DUCKDB}
_SUFFIXES = {".duckdb": DUCKDB, ".sqlite": SQLITE, ".sqlite3": SQLITE}
_EITHER = {".db", ".db3", ".ddb"}
_DUCKDB_PLACE, _DUCKDB_MARK = 8, b"DUCK"
_SECRET = {"password", "sslpassword"}
_FILE = "file://"
_STORE = re.compile(r"s3://", re.IGNORECASE)
_SCHEME = re.compile(r"(s3|file)://", re.IGNORECASE)
_OTHER_STORES = re.compile(r"(s3a|s3n|gs|gcs|abfss?|wasbs?|az|hdfs|https?|ftp|sftp)://", re.IGNORECASE)
_STORE_SETTINGS = {"region", "endpoint"}
_OTHERS = re.compile(
    r"(mysql|mariadb|mssql|sqlserver|oracle|odbc|jdbc:\w+|(postgres(ql)?|sqlite|duckdb)\+\w+)(\+\w+)?:", re.IGNORECASE
)


def database_kind(source: Any) -> str:
    """`postgresql`, `sqlite` or `duckdb` for the address or file of a database; empty for anything else."""
    if not isinstance(source, str | os.PathLike):
        return ""
    place = os.fspath(source)
    scheme, mark, _ = place.partition("://")
    if mark:
        return _SCHEMES.get(scheme.lower(), "")
    suffix = Path(place).suffix.lower()
    return _kind_of_file(place) if suffix in _EITHER else _SUFFIXES.get(suffix, "")


def _kind_of_file(path: str) -> str:
    """SQLite and DuckDB share some suffixes: the first bytes of the file decide."""
    try:
        with open(path, "rb") as file:
            start = file.read(_DUCKDB_PLACE + len(_DUCKDB_MARK))
    except (OSError, ValueError):
        return SQLITE
    return DUCKDB if start[_DUCKDB_PLACE:] == _DUCKDB_MARK else SQLITE


def is_address(source: Any) -> bool:
    """Whether a source is the address of a database, an object store or a file, not a path."""
    return isinstance(source, str) and "://" in source and bool(database_kind(source) or _SCHEME.match(source))


def is_store(source: Any) -> bool:
    """Whether a source is an address in an object store."""
    return isinstance(source, str | os.PathLike) and bool(_STORE.match(os.fspath(source)))


def file_of_url(source: Any) -> Any:
    """The path of a source that begins with file://; any other source as it is."""
    if not isinstance(source, str) or not source.lower().startswith(_FILE):
        return source
    rest = source[len(_FILE):]
    if not rest.removeprefix("localhost").startswith("/"):
        raise ReadError("the address of a file has three slashes before its absolute path: file:///data/people.csv.",
                        subject="source")
    return unquote(rest.removeprefix("localhost"))


def database_file(source: Any) -> str | None:
    """The path of the file of a database; None for a database on a server."""
    if not is_address(source):
        return str(os.fspath(source))
    if database_kind(source) == POSTGRESQL or is_store(source):
        return None
    if not database_kind(source):
        return str(file_of_url(source))
    rest = source.partition("://")[2]
    if not rest.startswith("/") or len(rest) < 2:
        raise ReadError(f"the address of a {database_kind(source)} file has three slashes before a relative path "
                        "and four before an absolute one.", subject="source")
    return unquote(rest[1:])


def address_from(folder: str | Path, source: str) -> str:
    """An address whose path is absolute; a relative path starts at the folder. A server's address stays as it is."""
    file = database_file(source)
    if file is None or not database_kind(source):
        return source if file is None else file
    return f"{database_kind(source)}:///{os.path.abspath(os.path.join(folder, file))}"


def check_address(source: Any) -> None:
    """Refuse an address with a password, one of a database that needs a connection, and a path that no file can have.

    No message shows the address.
    """
    if isinstance(source, str | os.PathLike) and "://" not in os.fspath(source):
        _check_path(os.fspath(source))
    if not isinstance(source, str) or "://" not in source:
        return
    if _OTHERS.match(source):
        raise ReadError("databases of this kind are read through a connection. Open one with a driver of yours, and pass it: "
                        "lv.read(connection, query=…). An address may begin with postgresql://, sqlite:/// or duckdb:///.",
                        subject="source")
    if _OTHER_STORES.match(source):
        raise ReadError("files at an address of this kind cannot be read. Copy them to this machine, or to a store that "
                        "speaks S3 (s3://bucket/folder).", subject="source")
    if is_store(source):
        _check_store(source)
    if database_kind(source) != POSTGRESQL:
        return
    place, _, settings = source.partition("://")[2].partition("?")
    names = {setting.partition("=")[0].strip().lower() for setting in settings.split("&")}
    if ":" in place.rpartition("@")[0] or names & _SECRET:
        raise ReadError("the address of the database contains a password, which would be stored with the study. Leave it out, "
                        "and set the environment variable PGPASSWORD, write it into ~/.pgpass, or name a file that "
                        "contains it (password_file).", subject="source")


def _check_path(path: str) -> None:
    try:
        os.stat(path)
    except ValueError:
        raise ReadError("the path contains characters that no file name can have. Check it.", subject="source") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise ReadError("the path is longer than the system allows. Check it.", subject="source") from None


def store_settings(source: str) -> tuple[str, dict[str, str]]:
    """Bucket and path of an address in a store, and what it states after a question mark: region and endpoint."""
    place, _, stated = source.partition("://")[2].partition("?")
    pairs = (part.partition("=") for part in stated.split("&") if part)
    return place.rstrip("/"), {name.lower(): unquote(value) for name, _, value in pairs}


def _check_store(source: str) -> None:
    place, stated = store_settings(source)
    if "@" in place.partition("/")[0]:
        raise ReadError("the address of the store contains a key, which would be stored with the study. Leave it out, and set "
                        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws.", subject="source")
    if set(stated) - _STORE_SETTINGS:
        raise ReadError("the address of a store may state region and endpoint after the question mark, and nothing else: "
                        "s3://bucket/folder?region=eu-west-1&endpoint=https://store.example.org.", subject="source")
    if "@" in stated.get("endpoint", ""):
        raise ReadError("the endpoint of the store contains a key or a password. Leave it out.", subject="source")
    if not place.partition("/")[0]:
        raise ReadError("the address of a store begins with s3:// and the name of a bucket.", subject="source")
