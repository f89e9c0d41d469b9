"""Runs a service: announces rows by id and learns labels by id; every answer is durable before it is given.

Operations come in groups, each group one transaction of the log. What the log holds is the truth: where it cannot be
written, the models that had moved are restored from it, and nothing has happened.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from aioli.service.group import Group
from aioli.service.model import ServedModel
from aioli.service.names import check_model_name
from aioli.service.operations import Operation, Outcome
from aioli.service.order import order_of
from aioli.service.refusals import ModelExists, ModelUnknown, StoreUnavailable
from aioli.service.replay import replay, row_in
from aioli.service.served import Served
from aioli.service.waiting import Limits, WaitingById
from aioli.snapshots.codec import from_bytes, to_bytes
from aioli.store.event_log import KeptSnapshot, ModelRecord, Store, StoreFailed

__all__ = ["Engine"]

EVERY = 20_000  # entries between two snapshots of a model
KEPT = 3  # snapshots of a model that are kept, besides the first


class Engine:
    """Serves the models of a store; one engine writes to a store at a time.

    Parameters
    ----------
    store
        Where the log is kept.
    limits
        How many rows of a model may wait for their label, and how long, where the model does not say.
    every
        How many entries of the log lie between two snapshots of a model.
    clock
        Returns the time in seconds since 1970; where it goes back, the log's time stands still.
    """

    def __init__(
        self,
        store: Store,
        limits: Limits = Limits(),  # noqa: B008, immutable
        every: int = EVERY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.limits = limits
        self.every = every
        self.failure: StoreFailed | None = None  # of the last group, where it could not be kept
        self.clock_steps_back = 0
        self._clock = clock
        self._stale: set[str] = set()  # names of models that are ahead of the log, which could not be read again
        self._sequence, self._time = store.last
        self._models: dict[str, Served] = {}
        for record in store.models():
            self._models[record.name] = self._load(record)

    @property
    def models(self) -> Mapping[str, Served]:
        """The models in service, by name."""
        return self._models

    @property
    def stale_seconds(self) -> float:
        """How old what is served may be: nothing, where the log is written here."""
        return 0.0

    def served(self, name: str) -> Served:
        """Return the model of a name."""
        if name not in self._models:
            raise ModelUnknown(f"there is no model {name!r}; make it first (POST /models/{name})")
        return self._models[name]

    def now(self) -> float:
        """Return the time of the log: the clock's, but never before that of an entry."""
        now = self._clock()
        if now < self._time:
            self.clock_steps_back += 1
            return self._time
        return now

    def create(self, name: str, model: ServedModel, limits: Limits | None = None) -> Served:
        """Add a model under a new name."""
        check_model_name(name)
        if name in self._models:
            raise ModelExists(f"there is a model {name!r} already; delete it first, or give another name")
        own = self.limits if limits is None else limits
        spec = json.dumps({"most": own.most, "seconds": own.seconds})
        made = self.now()
        with _kept():
            number = self.store.add_model(name, spec, made, to_bytes(model.snapshot()))
        self._models[name] = served = Served(ModelRecord(number, name, spec, made), model, WaitingById(own), 0)
        return served

    def delete(self, name: str) -> None:
        """Remove a model and all that the store holds of it."""
        with _kept():
            self.store.remove_model(self.served(name).record.number)
        del self._models[name]
        self._stale.discard(name)

    def play(self, operations: Sequence[Operation]) -> list[Outcome]:
        """Do the operations in their order and return an outcome for each, all of them durable.

        An operation that is refused changes nothing. Where the store fails, all are refused, and none has happened.
        """
        self._reload(self._stale)
        if self._stale:
            return [StoreUnavailable(str(self.failure)) for _ in operations]
        group = Group(self._models, self.store, self._load, self._sequence, self.now())
        try:
            outcomes = group.play(operations)
            snapshots = self._origins(group.touched)
            if group.entries or snapshots:
                self.store.append(group.entries, snapshots)
        except StoreFailed as error:
            self.failure = error
            self._stale.update(group.touched)
            self._reload(group.touched)
            return [StoreUnavailable(str(error)) for _ in operations]
        except BaseException:
            self._reload(group.touched)
            raise
        self.failure = None
        if group.entries:
            self._sequence, self._time = group.entries[-1].sequence, group.entries[-1].time
        for name in group.touched:
            served = self._models[name]
            served.has_origin |= served.last > 0
            if served.since >= self.every:
                self.keep_snapshot(served)
        return outcomes

    def play_together(self, requests: Sequence[Sequence[Operation]]) -> list[list[Outcome]]:
        """Do what several requests ask that have come together, in the order of `service.order`; see `play`."""
        operations = [operation for request in requests for operation in request]
        order = order_of(requests)
        outcomes = dict(zip(order, self.play([operations[t] for t in order]), strict=True))
        ends = accumulate(map(len, requests), initial=0)
        return [[outcomes[t] for t in range(first, last)] for first, last in pairwise(ends)]

    def keep_snapshot(self, served: Served) -> None:
        """Keep a snapshot of a model as it stands, so that a restart replays less; a failure leaves the ones before."""
        number = served.record.number
        if served.since:
            try:
                self.store.append([], [(number, KeptSnapshot(served.last, to_bytes(served.model.snapshot())))])
                self.store.keep_newest(number, KEPT)
            except StoreFailed as error:
                self.failure = error
                return
            served.since = 0

    def close(self) -> None:
        """Keep a snapshot of every model that has moved, and close the store."""
        for served in self._models.values():
            self.keep_snapshot(served)
        self.store.close()

    def _origins(self, touched: Iterable[str]) -> list[tuple[int, KeptSnapshot]]:
        """Return snapshots of models whose first row has just come: the number of a learner is drawn with that row."""
        new = [served for served in map(self._models.__getitem__, touched) if not served.has_origin and served.since]
        return [(s.record.number, KeptSnapshot(s.last, to_bytes(s.model.snapshot()))) for s in new]

    def _load(self, record: ModelRecord) -> Served:
        number = record.number
        kept = self.store.snapshot(number)
        model = ServedModel.restore(from_bytes(kept.data))
        played = replay(model, self.store.entries(number, after=kept.sequence), row_in(self.store, number))
        spec = json.loads(record.spec)
        waiting = WaitingById(Limits.checked(spec["most"], spec["seconds"]), self.store.waiting(number))
        last = max(kept.sequence, played.last)
        served = Served(record, model, waiting, last, played.entries, has_origin=last > 0)
        served.counts["replayed"] = played.entries
        return served

    def _reload(self, names: Iterable[str]) -> None:
        """Bring models back to what the log says; those for which it cannot be read are stale until it can."""
        for name in list(names):
            before = self._models[name]
            self._stale.add(name)
            try:
                self._sequence, self._time = self.store.last  # a commit whose answer was lost may have been done
                self._models[name] = self._load(before.record)
            except StoreFailed as error:
                self.failure = error
                return
            self._models[name].counts = before.counts
            self._stale.discard(name)


class _kept:
    """A context in which a failure of the store is a `StoreUnavailable`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, StoreFailed):
            raise StoreUnavailable(str(error)) from error
