"""Plays a group of operations in order in memory, and makes it one transaction of the log."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from aioli.errors import AioliError, RowRefused
from aioli.outcomes.class_labels import Label
from aioli.service.given_rows import is_object
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
from aioli.service.served import Served
from aioli.service.waiting import Waiting, WaitingLabel
from aioli.store.event_log import Entry, Event, ModelRecord, Store
from aioli.store.label_codec import LearnedLabel, label_from_bytes, label_to_bytes
from aioli.store.row_codec import AnnouncedRow, row_from_bytes, row_to_bytes

__all__ = ["Group"]

Asked = TypeVar("Asked")


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
        """Do the operations in their order; rows that have waited too long expire before, surplus ones behind.

        Operations of one kind and one model that follow each other are a run: what they ask is looked at first, and
        what is new in them is then announced, or learned, in as few calls of the learner as can be.
        """
        named = [name for name in dict.fromkeys(operation.model for operation in operations) if name in self._models]
        for name in named:
            self._expire(self._models[name])
        self._look_up(operations)
        outcomes: list[Outcome] = []
        for first, last in _runs(operations):
            outcomes.extend(self._do(operations[first:last]))
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

    def _do(self, run: Sequence[Operation]) -> list[Outcome]:
        """Return the outcomes of a run; a refusal has changed nothing."""
        served = self._models.get(run[0].model)
        if served is None:
            return [ModelUnknown(f"there is no model {run[0].model!r}; make it first") for _ in run]
        outcomes: list[Outcome | None] = []
        rows: list[Predict] = []
        labels: list[WaitingLabel] = []
        for operation in run:
            known: Outcome | None = None
            try:
                check_id(operation.id)
                if isinstance(operation, Predict):
                    known = self._predicted_before(served, operation)
                    if known is None:
                        require_room(served.model.learner, operation.key)
                        rows.append(operation)
                else:
                    known = self._label_to_learn(served, operation, labels)
            except AioliError as error:
                known = _refusal(error)
            outcomes.append(known)
            if known is not None:
                served.counts[_name_of(known)] += 1
        if rows or labels:
            self.touched[served.record.name] = None
        new = iter(self._announce(served, rows) if rows else self._learn(served, labels))
        return [next(new) if outcome is None else outcome for outcome in outcomes]

    def _predicted_before(self, served: Served, operation: Predict) -> Predicted | None:
        """Return the answer that the row of an id has had; None where the id is new."""
        name, waiting = operation.id, served.waiting.get(operation.id)
        known = self._entries_of(operation)
        if waiting is not None:
            row = waiting.row
        elif not known:
            return None
        elif known[0].event == Event.ROW:
            row = row_from_bytes(known[0].body)
        else:  # it waited when the group began, and its label came within the group: the log was not asked for the row
            row = row_in(self._store, served.record.number)(name)
        if not _is_row(row, operation):
            raise RowConflict(f"id {name!r} was predicted before, with another row; give each row an id of its own")
        return Predicted(name, served.model.answer_of(row.announced), repeated=True)

    def _announce(self, served: Served, operations: Sequence[Predict]) -> list[Outcome]:
        """Announce rows of new ids; one that is refused does not harm the others, announced without it."""
        told: list[Outcome] = []
        while len(told) < len(operations):
            part = operations[len(told) : len(told) + served.model.longest_run]
            encoded = any(is_object(operation.row) for operation in part)
            before = served.model.snapshot() if encoded and not served.has_origin else None
            try:
                rows = served.model.announce_many([one.row for one in part], [one.key for one in part])
            except AioliError as error:
                if encoded:  # the encoder may have moved
                    served.model = self._model_before(served) if before is None else ServedModel.restore(before)
                told.extend(_without(error, part, served, lambda some: self._announce(served, some)))
                continue
            served.counts["predicted"] += len(part)
            for operation, row in zip(part, rows, strict=True):
                body = row_to_bytes(row)
                served.waiting.add(operation.id, Waiting(self._now, body))
                self._add(served, Event.ROW, operation.id, body)
                told.append(Predicted(operation.id, served.model.answer_of(row.announced)))
        return told

    def _label_to_learn(self, served: Served, operation: Learn, labels: list[WaitingLabel]) -> Outcome | None:
        """Put a label whose row waits behind the others of the run; return the outcome of any other."""
        name, waiting = operation.id, served.waiting.get(operation.id)
        label = served.model.label_of(operation.label)
        if waiting is None:
            return self._settled(operation, label)
        labels.append(WaitingLabel(name, waiting.row, LearnedLabel(label, operation.weight)))
        return None

    def _learn(self, served: Served, labels: Sequence[WaitingLabel]) -> list[Outcome]:
        """Learn labels of rows that wait; one that is refused does not harm the others, learned without it."""
        told: list[Outcome] = []
        while len(told) < len(labels):
            part = labels[len(told) : len(told) + served.model.longest_run_of_labels]
            unlike = [isinstance(one.row.x, np.ndarray) != isinstance(part[0].row.x, np.ndarray) for one in part]
            part = part[: unlike.index(True)] if True in unlike else part
            try:
                served.model.learn_many([one.row for one in part], [one.label for one in part])
            except AioliError as error:
                told.extend(_without(error, part, served, lambda some: self._learn(served, some)))
                continue
            served.counts["learned"] += len(part)
            for t, (name, _, label) in enumerate(part):
                served.waiting.drop(name)
                self._add(served, Event.LABEL, name, label_to_bytes(label._replace(joined=t > 0)))
                told.append(Learned(name, label.label))
        return told

    def _settled(self, operation: Learn, label: Label) -> Outcome:
        """Return the outcome of a label whose row does not wait: repeated, in conflict, expired or unknown."""
        name, before = operation.id, self._entries_of(operation)
        if not before:
            raise IdUnknown(f"no row of id {name!r} was predicted; predict it first, then send its label")
        last = before[-1]
        if last.event == Event.EXPIRED:
            raise RowExpired(f"the row of id {name!r} waited too long for its label; raise the limit of waiting rows")
        first = label_from_bytes(last.body)
        if first.label != label or first.weight != operation.weight:
            raise LabelConflict(
                f"id {name!r} was learned with the label {first.label!r} and weight {first.weight:g}; "
                "a label cannot be changed: predict the row under a new id"
            )
        return Learned(name, label, repeated=True)

    def _expire(self, served: Served) -> None:
        """Let rows go that have waited too long, or are too many."""
        for name in served.waiting.overdue(self._now):
            self.touched[served.record.name] = None
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

    def _model_before(self, served: Served) -> ServedModel:
        """Return the model as it stood before a row that was refused on its way in: by the log, and this group."""
        number = served.record.number
        own = [entry for entry in self.entries if entry.model == number]
        rows = {entry.id: row_from_bytes(entry.body) for entry in own if entry.event == Event.ROW}
        found, model = row_in(self._store, number), self._load(served.record).model
        replay(model, own, lambda name: rows[name] if name in rows else found(name))
        return model


def _runs(operations: Sequence[Operation]) -> Iterator[tuple[int, int]]:
    """Yield where runs begin and end: operations of one kind, one model, and different ids, one after the other."""
    first, ids = 0, set[str]()
    for t, operation in enumerate(operations):
        before = operations[first]
        if operation.id in ids or type(operation) is not type(before) or operation.model != before.model:
            yield first, t
            first, ids = t, set()
        ids.add(operation.id)
    if operations:
        yield first, len(operations)


def _without(
    error: AioliError, part: Sequence[Asked], served: Served, do: Callable[[Sequence[Asked]], list[Outcome]]
) -> list[Outcome]:
    """Return the outcomes of a run of which one was refused, up to that one, which is done alone: the caller goes on.

    Where the refusal does not tell which one it was, each of the run is done by itself.
    """
    if len(part) == 1:
        refused = _refusal(error)
        served.counts[refused.code] += 1
        return [refused]
    wrong = error.row if isinstance(error, RowRefused) else None
    if wrong is None or not 0 <= wrong < len(part):
        pieces = [[one] for one in part]
    else:
        pieces = [list(part[:wrong]), [part[wrong]]]
    return [outcome for piece in pieces if piece for outcome in do(piece)]


def _refusal(error: AioliError) -> ServiceRefused:
    return error if isinstance(error, ServiceRefused) else Unprocessable(str(error))


def _is_row(row: AnnouncedRow, operation: Predict) -> bool:
    """Return whether a request brings the row that was announced."""
    if row.key != operation.key:
        return False
    if row.given:
        return bool(json.loads(row.given) == operation.row)
    return isinstance(operation.row, Sequence) and row.numbers == list(operation.row)


def _name_of(outcome: Outcome) -> str:
    """Return how an outcome is counted that has changed nothing."""
    if isinstance(outcome, ServiceRefused):
        return outcome.code
    return "predicted_again" if isinstance(outcome, Predicted) else "learned_again"
