"""The tune journal: what was decided before the search and every observation since, in SQLite, so that kill -9 loses one trial at most."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pitstop.errors import WrongUse

__all__ = ["Journal"]

_SCHEMA = 1
_T = TypeVar("_T")


class Journal:
    """An append-only list of observations plus named facts, one SQLite file.

    Observations come back in the order they were added; replaying them rebuilds the search state exactly.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def create(cls, path: Path) -> "Journal":
        """Make a new, empty journal at `path`."""
        journal = cls(path)
        with closing(journal._connect()) as database, database:
            database.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL)")
            database.execute(
                "CREATE TABLE observations (number INTEGER PRIMARY KEY AUTOINCREMENT, value BLOB NOT NULL)"
            )
            database.execute("INSERT INTO meta VALUES ('schema', ?)", (str(_SCHEMA).encode(),))
        return journal

    @classmethod
    def open(cls, path: Path) -> "Journal":
        """Open an existing journal. Raises WrongUse for another schema or a file that is no journal."""
        journal = cls(path)
        try:
            with closing(journal._connect()) as database:
                row = database.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        except sqlite3.DatabaseError as error:
            raise WrongUse("cli.bad_journal", path=str(path), why=str(error)) from error
        schema = None if row is None else row[0].decode() if isinstance(row[0], bytes) else str(row[0])
        if schema != str(_SCHEMA):
            raise WrongUse("cli.bad_journal", path=str(path), why=f"schema {schema}, not {_SCHEMA}")
        return journal

    def put(self, name: str, value: object) -> None:
        """Keep `value` (anything msgspec encodes; MessagePack, which unlike JSON has infinity) under `name`, replacing what was there."""
        with closing(self._connect()) as database, database:
            database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, msgspec.msgpack.encode(value)))

    def get(self, name: str, kind: type[_T]) -> _T | None:
        """Return the value under `name` as `kind`, or None."""
        with closing(self._connect()) as database:
            row = database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else msgspec.msgpack.decode(bytes(row[0]), type=kind)

    def append(self, observation: object) -> None:
        """Add one observation; durable when this returns."""
        with closing(self._connect()) as database, database:
            database.execute("INSERT INTO observations (value) VALUES (?)", (msgspec.msgpack.encode(observation),))

    def observations(self, kind: Any) -> Sequence[Any]:
        """Return all observations, oldest first, decoded as `kind` (a type or a union of tagged types)."""
        with closing(self._connect()) as database:
            rows = database.execute("SELECT value FROM observations ORDER BY number").fetchall()
        decoder = msgspec.msgpack.Decoder(kind)
        return [decoder.decode(bytes(row[0])) for row in rows]

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=30)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        return database
