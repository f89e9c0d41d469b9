"""A group of operations: done in order in memory, and then one transaction of the log."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aioli.errors import AioliError
from aioli.outcomes.class_labels import Label
from aioli.service.keyed import require_room
from aioli.service.model import ServedModel
from aioli.service.names import check_id, is_id
from aioli.service.operations import Learn, Learned, Operation, Outcome, Predict, Predicted
from aioli.service.refusals import (
    IdUnknown,
    LabelConflict,
    ModelUnknown,
    RowConflict,
    RowExpired,
    ServiceRefused,
    Unprocessable,
)
from aioli.service.replay import replay, row_in
from aioli.service.waiting import Waiting, WaitingById
from aioli.store.event_log import Entry, Event, ModelRecord, Store
from aioli.store.row_codec import AnnouncedRow, row_from_bytes, row_to_bytes

__all__ = ["Group", "Served"]


@dataclass
class Served:
    """A model in service.

    Attributes
    ----------
    record
        Its number and name in the store.
    model, waiting
        The learner with all around it, and the rows whose labels are out.
    last
        The number of its last entry in the log.
    since
        How many entries have come since its last snapshot.
    has_origin
        Whether the snapshot after its first row is kept.
    counts
        What has happened since the service started, by name.
    """

    record: ModelRecord
    model: ServedModel
    waiting: WaitingById
    last: int
    since: int = 0
    has_origin: bool = False
    counts: Counter[str] = field(default_factory=Counter)


class Group:
    """Operations that become one transaction; what they do to models is in memory until then."""

    def __init__(
        self,
        models: Mapping[str, Served],
        store: Store,
        load: Callable[[ModelRecord], Served],
        sequence: int,
        now: float,
    ) -> None:
        self._models, self._store, self._load = models, store, load
        self._next, self._now = sequence + 1, now
        self.entries: list[Entry] = []
        self.touched: dict[str, None] = {}  # names of models that have moved, in order
        self._known: dict[str, dict[str, list[Entry]]] = {}  # what the log holds of ids, by model

    def play(self, operations: Sequence[Operation]) -> list[Outcome]:
        """Do the operations in their order; rows that have waited too long expire before, surplus ones behind."""
        named = [name for name in dict.fromkeys(operation.model for operation in operations) if name in self._models]
        for name in named:
            self._expire(self._models[name])
        self._look_up(operations)
        outcomes = [self._do(operation) for operation in operations]
        for name in named:
            self._expire(self._models[name])
        return outcomes

    def _look_up(self, operations: Sequence[Operation]) -> None:
        """Ask the log for the ids that do not wait: in one query a model."""
        asked: dict[str, dict[str, None]] = {}
        for operation in operations:
            served = self._models.get(operation.model)
            if served is not None and operation.id not in served.waiting and is_id(operation.id):
                asked.setdefault(operation.model, {})[operation.id] = None
        for name, ids in asked.items():
            known = self._known.setdefault(name, {})  # of rows that have just expired
            for found, entries in self._store.find(self._models[name].record.number, ids).items():
                known[found] = [*entries, *known.get(found, [])]

    def _do(self, operation: Operation) -> Outcome:
        """Return the outcome of one operation; a refusal has changed nothing."""
        served = self._models.get(operation.model)
        if served is None:
            return ModelUnknown(f"there is no model {operation.model!r}; make it first")
        outcome: Outcome
        try:
            check_id(operation.id)
            if isinstance(operation, Predict):
                outcome = self._predict(served, operation)
            else:
                outcome = self._learn(served, operation)
        except ServiceRefused as refused:
            outcome = refused
        except AioliError as error:
            outcome = Unprocessable(str(error))
        served.counts[_name_of(outcome)] += 1
        return outcome

    def _predict(self, served: Served, operation: Predict) -> Outcome:
        name, waiting = operation.id, served.waiting.get(operation.id)
        known = self._entries_of(operation)
        row = waiting.row if waiting is not None else row_from_bytes(known[0].body) if known else None
        if row is not None:
            if not _is_row(row, operation):
                raise RowConflict(f"id {name!r} was predicted before, with another row; give each row an id of its own")
            return Predicted(name, served.model.answer_of(row.announced), repeated=True)
        require_room(served.model.learner, operation.key)
        self._touch(served)
        encoded = isinstance(operation.row, Mapping)
        before = served.model.snapshot() if encoded and not served.has_origin else None
        try:
            row = served.model.announce(operation.row, operation.key)
        except AioliError:
            if encoded:  # the encoder may have moved
                served.model = self._model_before(served) if before is None else ServedModel.restore(before)
            raise
        body = row_to_bytes(row)
        served.waiting.add(name, Waiting(self._now, body))
        self._add(served, Event.ROW, name, body)
        return Predicted(name, served.model.answer_of(row.announced))

    def _learn(self, served: Served, operation: Learn) -> Outcome:
        name, waiting = operation.id, served.waiting.get(operation.id)
        label = served.model.label_of(operation.label)
        if waiting is None:
            return self._settled(operation, label)
        self._touch(served)
        served.model.learn(waiting.row, label, operation.weight)
        served.waiting.drop(name)
        body = {"label": label} if operation.weight == 1.0 else {"label": label, "weight": operation.weight}
        self._add(served, Event.LABEL, name, json.dumps(body).encode())
        return Learned(name, label)

    def _settled(self, operation: Learn, label: Label) -> Outcome:
        """Return the outcome of a label whose row does not wait: repeated, in conflict, expired or unknown."""
        name, before = operation.id, self._entries_of(operation)
        if not before:
            raise IdUnknown(f"no row of id {name!r} was predicted; predict it first, then send its label")
        last = before[-1]
        if last.event == Event.EXPIRED:
            raise RowExpired(f"the row of id {name!r} waited too long for its label; raise the limit of waiting rows")
        first = json.loads(last.body)
        if first["label"] != label or first.get("weight", 1.0) != operation.weight:
            raise LabelConflict(
                f"id {name!r} was learned with the label {first['label']!r} and weight {first.get('weight', 1.0):g}; "
                "a label cannot be changed: predict the row under a new id"
            )
        return Learned(name, label, repeated=True)

    def _expire(self, served: Served) -> None:
        """Let rows go that have waited too long, or are too many."""
        for name in served.waiting.overdue(self._now):
            self._touch(served)
            served.waiting.drop(name)
            served.counts["expired"] += 1
            self._add(served, Event.EXPIRED, name, b"")

    def _entries_of(self, operation: Operation) -> list[Entry]:
        """Return the entries of an id, those of this group behind those of the log."""
        return self._known.setdefault(operation.model, {}).get(operation.id, [])

    def _add(self, served: Served, event: Event, name: str, body: bytes) -> None:
        entry = Entry(self._next, served.record.number, int(event), name, self._now, body)
        self._next += 1
        served.last = entry.sequence
        served.since += 1
        self.entries.append(entry)
        self._known.setdefault(served.record.name, {}).setdefault(name, []).append(entry)

    def _touch(self, served: Served) -> None:
        self.touched[served.record.name] = None

    def _model_before(self, served: Served) -> ServedModel:
        """Return the model as it stood before a row that was refused on its way in: by the log, and this group."""
        number = served.record.number
        own = [entry for entry in self.entries if entry.model == number]
        rows = {entry.id: row_from_bytes(entry.body) for entry in own if entry.event == Event.ROW}
        found, model = row_in(self._store, number), self._load(served.record).model
        replay(model, own, lambda name: rows[name] if name in rows else found(name))
        return model


def _is_row(row: AnnouncedRow, operation: Predict) -> bool:
    """Return whether a request brings the row that was announced."""
    if row.key != operation.key:
        return False
    if row.given:
        return bool(json.loads(row.given) == operation.row)
    return isinstance(operation.row, Sequence) and row.numbers == list(operation.row)


def _name_of(outcome: Outcome) -> str:
    if isinstance(outcome, ServiceRefused):
        return outcome.code
    kind = "predicted" if isinstance(outcome, Predicted) else "learned"
    return f"{kind}_again" if outcome.repeated else kind
