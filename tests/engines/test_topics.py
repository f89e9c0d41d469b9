"""A fleet between topics, without a broker: what comes twice or is no row is left out and counted."""

import json
from typing import Any

from aioli import AIOLI, Fleet
from aioli.engines.kafka import FleetOnTopics, Topics


class Message:
    """A message of a topic, as a consumer gives it."""

    def __init__(self, topic: str, told: object, offset: int) -> None:
        self._topic, self._value, self._offset = topic, json.dumps(told).encode(), offset

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes:
        return self._value


class Broker:
    """Consumer and producer in one: gives what it was told to, and keeps what is sent."""

    def __init__(self) -> None:
        self.waiting: list[Message] = []
        self.sent: list[dict[str, Any]] = []

    def tell(self, topic: str, *told: object) -> None:
        self.waiting += [Message(topic, each, len(self.waiting)) for each in told]

    def consume(self, messages: int, _timeout: float) -> list[Message]:
        came, self.waiting = self.waiting[:messages], self.waiting[messages:]
        return came

    def produce(self, _topic: str, value: bytes, key: bytes) -> None:
        self.sent.append({**json.loads(value), "under": key.decode()})

    def flush(self, _timeout: float) -> int:
        return 0


def test_a_batch_with_repeated_ids_learns_each_row_and_label_once() -> None:
    broker = Broker()
    engine = FleetOnTopics(broker, broker, Topics("rows", "labels", "said"), Fleet(AIOLI()))
    row, other = {"id": "a", "key": "ann", "x": [1.0]}, {"id": "b", "key": "ann", "x": [2.0]}
    broker.tell(
        "rows", row, row, other, {"id": "c", "key": None, "x": [1.0]}, {"id": "d", "key": "ann", "x": [1.0, 2.0]}
    )
    broker.tell("labels", {"id": "a", "y": 1}, {"id": "a", "y": 0}, {"id": "b", "y": 2}, {"id": "b", "y": 0})
    assert engine.poll() == 9
    assert [said["id"] for said in broker.sent] == ["a", "b"]
    assert engine.fleet.rounds == 2
    broker.tell("labels", {"id": "a", "y": 0})
    broker.tell("rows", row)
    engine.poll()
    assert engine.fleet.rounds == 2
    assert sum(engine.refused.values()) == 7
    assert engine.refused["the id 'a' came before"] == 2
    assert engine.refused["the label of 'a' came before"] == 2
    assert engine.refused["the label of 'b' is 2; give 0 or 1"] == 1
    assert not engine.waiting
    assert not engine.early
