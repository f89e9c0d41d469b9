"""Queries a log in SQL, alike for every database that speaks it with ? or %s in place of values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from aioli.store.event_log import Entry, Event, KeptSnapshot, ModelRecord

__all__ = ["SCHEMA", "Found", "SqlLog"]

# {number}, {bytes} and {real} are the database's own names of types; ids of models are never used again.
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS models "
    "(number {serial}, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL, made {real} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS log (sequence {number} PRIMARY KEY, model {number} NOT NULL, event {number} NOT NULL, "
    "id TEXT NOT NULL, time {real} NOT NULL, body {bytes} NOT NULL)",
    # No row is announced twice and no label learned twice: the database itself refuses it.
    "CREATE UNIQUE INDEX IF NOT EXISTS log_by_id ON log (model, id, event)",
    "CREATE TABLE IF NOT EXISTS snapshots (model {number} NOT NULL, sequence {number} NOT NULL, data {bytes} NOT NULL, "
    "PRIMARY KEY (model, sequence))",
    "CREATE TABLE IF NOT EXISTS tokens (hash TEXT PRIMARY KEY, rights TEXT NOT NULL, made {real} NOT NULL)",
)
AT_ONCE = 256  # ids looked up, or entries read, at a time
Found: TypeAlias = tuple[Any, ...]  # a row of a query, of which the schema says the types
COLUMNS = "sequence, model, event, id, time, body"


class SqlLog:
    """The log in a database; a subclass says how statements are run, and what a transaction is."""

    mark = "?"

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Found]:
        """Return what a query finds."""
        raise NotImplementedError

    def _write(self, *statements: tuple[str, Sequence[Sequence[object]]]) -> None:
        """Run statements, each with every tuple of values, in one transaction, durable on return."""
        raise NotImplementedError

    def _marks(self, count: int) -> str:
        return ", ".join([self.mark] * count)

    @property
    def last(self) -> tuple[int, float]:
        """See `Store`."""
        found = self._rows("SELECT sequence, time FROM log ORDER BY sequence DESC LIMIT 1")
        return (found[0][0], found[0][1]) if found else (0, 0.0)

    def append(self, entries: Sequence[Entry], snapshots: Sequence[tuple[int, KeptSnapshot]] = ()) -> None:
        """See `Store`."""
        statements: list[tuple[str, Sequence[Sequence[object]]]] = []
        if entries:
            statements.append((f"INSERT INTO log ({COLUMNS}) VALUES ({self._marks(6)})", entries))
        if snapshots:
            kept = [(model, snapshot.sequence, snapshot.data) for model, snapshot in snapshots]
            statements.append((f"INSERT INTO snapshots (model, sequence, data) VALUES ({self._marks(3)})", kept))
        self._write(*statements)

    def find(self, model: int, ids: Iterable[str]) -> dict[str, list[Entry]]:
        """See `Store`."""
        asked = list(ids)
        found: dict[str, list[Entry]] = {}
        for first in range(0, len(asked), AT_ONCE):
            part = asked[first : first + AT_ONCE]
            sql = f"SELECT {COLUMNS} FROM log WHERE model = {self.mark} AND id IN ({self._marks(len(part))})"
            for row in self._rows(sql, (model, *part)):
                entry = _entry(row)
                found.setdefault(entry.id, []).append(entry)
        for entries in found.values():
            entries.sort()
        return found

    def entries(self, model: int, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """See `Store`."""
        m = self.mark
        last = self.last[0] if until is None else until
        while True:
            sql = f"SELECT {COLUMNS} FROM log WHERE sequence > {m} AND sequence <= {m} AND model = {m}"
            rows = self._rows(f"{sql} ORDER BY sequence LIMIT {AT_ONCE}", (after, last, model))
            if not rows:
                return
            yield from map(_entry, rows)
            after = rows[-1][0]

    def waiting(self, model: int, until: int | None = None) -> Iterator[Entry]:
        """See `Store`."""
        m = self.mark
        last = self.last[0] if until is None else until
        same = f"b.model = a.model AND b.id = a.id AND b.event <> {m} AND b.sequence <= {m}"
        settled = f"SELECT 1 FROM log b WHERE {same}"
        sql = f"SELECT {COLUMNS} FROM log a WHERE model = {m} AND event = {m} AND sequence > {m} AND sequence <= {m}"
        after = 0
        while True:
            rows = self._rows(
                f"{sql} AND NOT EXISTS ({settled}) ORDER BY sequence LIMIT {AT_ONCE}",
                (model, int(Event.ROW), after, last, int(Event.ROW), last),
            )
            if not rows:
                return
            yield from map(_entry, rows)
            after = rows[-1][0]

    def sequence_at(self, time: float) -> int:
        """See `Store`."""
        found = self._rows(f"SELECT MAX(sequence) FROM log WHERE time <= {self.mark}", (time,))
        return found[0][0] or 0

    def models(self) -> list[ModelRecord]:
        """See `Store`."""
        return [ModelRecord(*row) for row in self._rows("SELECT number, name, spec, made FROM models ORDER BY number")]

    def add_model(self, name: str, spec: str, time: float, snapshot: bytes) -> int:
        """See `Store`."""
        m = self.mark
        number = f"(SELECT number FROM models WHERE name = {m})"
        self._write(
            (f"INSERT INTO models (name, spec, made) VALUES ({self._marks(3)})", [(name, spec, time)]),
            (f"INSERT INTO snapshots (model, sequence, data) VALUES ({number}, 0, {m})", [(name, snapshot)]),
        )
        found: int = self._rows(f"SELECT number FROM models WHERE name = {m}", (name,))[0][0]
        return found

    def remove_model(self, model: int) -> None:
        """See `Store`."""
        wheres = (("log", "model"), ("snapshots", "model"), ("models", "number"))
        self._write(*((f"DELETE FROM {table} WHERE {key} = {self.mark}", [(model,)]) for table, key in wheres))

    def snapshot(self, model: int, until: int | None = None) -> KeptSnapshot:
        """See `Store`."""
        m, last = self.mark, self.last[0] if until is None else until
        sql = f"SELECT sequence, data FROM snapshots WHERE model = {m} AND sequence <= {m}"
        return _kept(self._rows(f"{sql} ORDER BY sequence DESC LIMIT 1", (model, last))[0])

    def origin(self, model: int) -> KeptSnapshot:
        """See `Store`."""
        sql = f"SELECT sequence, data FROM snapshots WHERE model = {self.mark} ORDER BY sequence LIMIT 2"
        return _kept(self._rows(sql, (model,))[-1])

    def keep_newest(self, model: int, count: int) -> None:
        """See `Store`."""
        sql = f"SELECT sequence FROM snapshots WHERE model = {self.mark} ORDER BY sequence"
        kept = [row[0] for row in self._rows(sql, (model,))]
        old = kept[2 : max(2, len(kept) - count)]
        if old:
            delete = f"DELETE FROM snapshots WHERE model = {self.mark} AND sequence = {self.mark}"
            self._write((delete, [(model, sequence) for sequence in old]))

    def tokens(self) -> Mapping[str, str]:
        """See `Store`."""
        return dict(self._rows("SELECT hash, rights FROM tokens"))

    def add_token(self, hashed: str, rights: str, time: float) -> None:
        """See `Store`."""
        self._write((f"INSERT INTO tokens (hash, rights, made) VALUES ({self._marks(3)})", [(hashed, rights, time)]))


def _entry(row: Found) -> Entry:
    sequence, model, event, name, time, body = row
    return Entry(sequence, model, event, name, time, bytes(body))


def _kept(row: Found) -> KeptSnapshot:
    return KeptSnapshot(row[0], bytes(row[1]))
