"""Runs a fleet between topics of Kafka: joins rows and labels of two topics by id, and writes predictions to a third.

A row is a JSON object `{"id": …, "key": …, "x": […]}`, a label `{"id": …, "y": 0 or 1}`, a prediction
`{"id": …, "key": …, "p": …}`. A row is announced when it comes and waits for its label, which is learned where it was
announced; a label that comes before its row waits for it.

What has been learned, the rows that wait and the place in every partition are one snapshot (`save`): a process that was
killed goes on from there, and every label is learned once. Predictions since then are sent again, under the same ids.

Needs confluent-kafka (`pip install 'aioli-online[kafka]'`).
"""

import importlib
import json
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from aioli.errors import AioliError, FileRefused, ParameterRefused, SnapshotRefused
from aioli.fleet.fleet import Fleet
from aioli.fleet.keys import Key, as_key
from aioli.numerics.logistic import sigmoid
from aioli.snapshots.codec import read_snapshot, write_snapshot
from aioli.snapshots.tree import Plain, Snapshot

__all__ = ["FleetOnTopics", "Topics"]

Client: TypeAlias = Any  # a consumer or producer of confluent-kafka, which has no types
REMEMBERED = 100_000  # ids whose labels were learned, by which a repeated one is known
SHOWN = 200  # characters of a message in a refusal


@dataclass(frozen=True)
class Topics:
    """The names of the topics."""

    rows: str
    labels: str
    predictions: str


class Waiting(NamedTuple):
    """A row that was announced and has no label yet."""

    key: Key
    x: list[float]
    logit: float


class FleetOnTopics:
    """Predicts rows of one topic, learns labels of another, and sends predictions to a third.

    Attributes
    ----------
    fleet
        The models.
    waiting, early
        Rows that wait for their labels, and labels that wait for their rows, by id.
    refused
        How many messages were left out, and the first words on why: no JSON, an id that came before, a row of another
        width, a label that is none.
    """

    def __init__(self, consumer: Client, producer: Client, topics: Topics, fleet: Fleet) -> None:
        self.fleet, self.topics = fleet, topics
        self.waiting: dict[str, Waiting] = {}
        self.early: dict[str, float] = {}
        self.refused: dict[str, int] = {}
        self.offsets: dict[tuple[str, int], int] = {}
        self._settled: OrderedDict[str, None] = OrderedDict()
        self._consumer, self._producer = consumer, producer

    def assign(self) -> None:
        """Read every partition of rows and labels from where this object stands: from the beginning if it is new."""
        partition_at = importlib.import_module("confluent_kafka").TopicPartition
        for topic in (self.topics.rows, self.topics.labels):
            known = self._consumer.list_topics(topic, timeout=10.0).topics[topic]
            if known.error is not None:
                raise FileRefused(f"{topic}: {known.error}; make the topic first", path=topic)
            for partition in known.partitions:
                self.offsets.setdefault((topic, partition), 0)
        self._consumer.assign([partition_at(topic, part, offset) for (topic, part), offset in self.offsets.items()])

    def poll(self, messages: int = 1000, timeout: float = 1.0) -> int:
        """Play up to so many messages that come within `timeout` seconds; return how many came."""
        came = [message for message in self._consumer.consume(messages, timeout) if message.error() is None]
        for is_row, part in groupby(came, lambda message: message.topic() == self.topics.rows):
            run = list(part)
            (self._play_rows if is_row else self._play_labels)(list(self._parsed(run)))
            for message in run:
                self.offsets[message.topic(), message.partition()] = message.offset() + 1
        self._producer.flush(timeout)
        return len(came)

    def _parsed(self, messages: Sequence[Any]) -> Iterator[dict[str, Any]]:
        for message in messages:
            try:
                told = json.loads(message.value())
                if not isinstance(told, dict) or not isinstance(told.get("id"), str):
                    raise ValueError("there is no id, a text")
                yield told
            except ValueError as error:
                self._refuse(f"a message of {message.topic()} is no JSON object with an id ({error})"[:SHOWN])

    def _play_rows(self, rows: Sequence[dict[str, Any]]) -> None:
        """Announce rows, then learn the labels that had come before them."""
        width = self.fleet.n_features_
        checked: dict[str, tuple[Key, list[float]]] = {}
        for row in rows:
            name = row["id"]
            try:
                if name in checked or name in self.waiting or name in self._settled:
                    raise ParameterRefused(f"the id {name!r} came before", parameter="id", value=name)
                x = [float(value) for value in row["x"]]
                width = width or len(x)
                if len(x) != width or not np.isfinite(x).all():
                    raise ParameterRefused(
                        f"row {name!r} has {len(x)} numbers, not {width} finite ones", parameter="x", value=x
                    )
                checked[name] = as_key(row.get("key")), x
            except (AioliError, KeyError, TypeError, ValueError) as error:
                self._refuse(str(error))
        if not checked:
            return
        keys, X = [key for key, _ in checked.values()], np.array([x for _, x in checked.values()])
        for (name, (key, x)), z in zip(checked.items(), self.fleet.predict_logit_many(keys, X).tolist(), strict=True):
            self.waiting[name] = Waiting(key, x, z)
            told = json.dumps({"id": name, "key": key, "p": sigmoid(z)})
            self._producer.produce(self.topics.predictions, told.encode(), key=name.encode())
        self._learn({name: self.early.pop(name) for name in checked if name in self.early})

    def _play_labels(self, labels: Sequence[dict[str, Any]]) -> None:
        """Learn labels of rows that wait; keep the others until their rows come."""
        known: dict[str, float] = {}
        for label in labels:
            name, y = label["id"], label.get("y")
            if name in known or name in self.early or name in self._settled:
                self._refuse(f"the label of {name!r} came before")
            elif y not in (0, 1):
                self._refuse(f"the label of {name!r} is {y!r}; give 0 or 1")
            elif name in self.waiting:
                known[name] = float(y)
            else:
                self.early[name] = float(y)
        self._learn(known)

    def _learn(self, labels: dict[str, float]) -> None:
        if not labels:
            return
        rows = [self.waiting[name] for name in labels]
        logits = np.array([row.logit for row in rows])
        self.fleet.learn_many([row.key for row in rows], [row.x for row in rows], list(labels.values()), None, logits)
        for name in labels:
            del self.waiting[name]
            self._settled[name] = None
        while len(self._settled) > REMEMBERED:
            self._settled.popitem(last=False)

    def _refuse(self, why: str) -> None:
        self.refused[why] = self.refused.get(why, 0) + 1

    # ---- its life

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write models, waiting rows and places in the topics to a file, whole or not at all."""
        write_snapshot(path, self.snapshot())

    def snapshot(self) -> Snapshot:
        """Return models, waiting rows and places in the topics, all of the same moment."""
        rows: list[Plain] = [[name, json.dumps(row.key), row.x, row.logit] for name, row in self.waiting.items()]
        places: list[Plain] = [[topic, part, offset] for (topic, part), offset in sorted(self.offsets.items())]
        values: dict[str, Plain] = {
            "waiting": rows,
            "early": dict(self.early),
            "settled": list(self._settled),
            "places": places,
        }
        return Snapshot("FleetOnTopics", values, parts={"fleet": self.fleet.snapshot()})

    @classmethod
    def load(cls, path: str | os.PathLike[str], consumer: Client, producer: Client, topics: Topics) -> "FleetOnTopics":
        """Go on from what `save` wrote: call `assign`, then `poll`."""
        given = read_snapshot(path).of("FleetOnTopics")
        made = cls(consumer, producer, topics, Fleet.restore(given.part("fleet")))
        try:
            for name, key, x, logit in given.values["waiting"]:  # type: ignore[misc, union-attr]  # other types are refused below
                made.waiting[str(name)] = Waiting(_key_of(json.loads(str(key))), list(x), float(logit))  # type: ignore[arg-type]  # other types are refused below
            made.early = {name: float(y) for name, y in given.mapping("early").items()}  # type: ignore[arg-type]  # other types are refused below
            made._settled = OrderedDict.fromkeys(given.texts("settled") or [])
            made.offsets = {(str(t), int(p)): int(o) for t, p, o in given.values["places"]}  # type: ignore[misc, union-attr, arg-type]  # other types are refused below
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotRefused(f"{path}: what waits in it is not right ({error}); save it again") from error
        return made


def _key_of(value: object) -> Key:
    return tuple(_key_of(part) for part in value) if isinstance(value, list) else as_key(value)
