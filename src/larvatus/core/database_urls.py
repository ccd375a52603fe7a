"""Addresses of databases: `postgresql://user@host:port/name`, and `sqlite:///file.db` or `duckdb:///file.duckdb`.

After three slashes a path is relative, after four it is absolute. An address never contains a password.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from larvatus.core.errors import ReadError

POSTGRESQL, SQLITE, DUCKDB = "postgresql", "sqlite", "duckdb"
_SCHEMES = {"postgresql": POSTGRESQL, "postgres": POSTGRESQL, "sqlite": SQLITE, "duckdb": DUCKDB}
_SUFFIXES = {".duckdb": DUCKDB, ".sqlite": SQLITE, ".sqlite3": SQLITE}
_SECRET = {"password", "sslpassword"}
_OTHERS = re.compile(
    r"(mysql|mariadb|mssql|sqlserver|oracle|odbc|jdbc:\w+|(postgres(ql)?|sqlite|duckdb)\+\w+)(\+\w+)?:", re.IGNORECASE
)


def database_kind(source: Any) -> str:
    """`postgresql`, `sqlite` or `duckdb` for the address or file of a database; empty for anything else."""
    if not isinstance(source, str | os.PathLike):
        return ""
    place = os.fspath(source)
    scheme, mark, _ = place.partition("://")
    return _SCHEMES.get(scheme.lower(), "") if mark else _SUFFIXES.get(Path(place).suffix.lower(), "")


def is_address(source: Any) -> bool:
    """Whether a source is the address of a database, not a path."""
    return isinstance(source, str) and "://" in source and bool(database_kind(source))


def database_file(source: Any) -> str | None:
    """The path of the file of a database; None for a database on a server."""
    if not is_address(source):
        return str(os.fspath(source))
    if database_kind(source) == POSTGRESQL:
        return None
    rest = source.partition("://")[2]
    if not rest.startswith("/") or len(rest) < 2:
        raise ReadError(f"the address of a {database_kind(source)} file has three slashes before a relative path "
                        "and four before an absolute one.", subject="source")
    return unquote(rest[1:])


def address_from(folder: str | Path, source: str) -> str:
    """An address whose path is absolute; a relative path starts at the folder. A server's address stays as it is."""
    file = database_file(source)
    return source if file is None else f"{database_kind(source)}:///{os.path.abspath(os.path.join(folder, file))}"


def check_address(source: Any) -> None:
    """Refuse an address with a password, and one of a database that needs a connection. No message shows the address."""
    if not isinstance(source, str) or "://" not in source:
        return
    if _OTHERS.match(source):
        raise ReadError("databases of this kind are read through a connection. Open one with a driver of yours, and pass it: "
                        "lv.read(connection, query=…). An address may begin with postgresql://, sqlite:/// or duckdb:///.",
                        subject="source")
    if database_kind(source) != POSTGRESQL:
        return
    place, _, settings = source.partition("://")[2].partition("?")
    names = {setting.partition("=")[0].strip().lower() for setting in settings.split("&")}
    if ":" in place.rpartition("@")[0] or names & _SECRET:
        raise ReadError("the address of the database contains a password, which would be stored with the study. Leave it out, "
                        "and set the environment variable PGPASSWORD, write it into ~/.pgpass, or name a file that "
                        "contains it (password_file).", subject="source")
