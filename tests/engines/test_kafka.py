"""A fleet between topics, on librdkafka's own mock cluster: joined by id, resumed, with messages that are none."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from code_blocks import ROOT, blocks_for
from patience import PATIENCE

from aioli import AIOLI, Fleet
from aioli.engines.kafka import FleetOnTopics, Topics
from aioli.snapshots.codec import to_bytes

kafka = pytest.importorskip("confluent_kafka")
TOPICS = Topics("rows", "labels", "said")
ROWS = 60
TRIES = 1200  # of half a second


@pytest.fixture
def cluster() -> tuple[Any, str]:
    """A producer with a mock cluster of its own, and where others find the cluster."""
    producer = kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    for topic in ("rows", "labels", "said"):
        producer.produce(topic, b"{}")  # makes the topic; a message without an id
    assert producer.flush(PATIENCE) == 0
    brokers = ",".join(
        str(broker).partition("/")[0] for broker in producer.list_topics(timeout=PATIENCE).brokers.values()
    )
    return producer, brokers


def consumer_of(brokers: str) -> Any:
    return kafka.Consumer(
        {"bootstrap.servers": brokers, "group.id": "aioli", "enable.auto.commit": False, "log_level": 0}
    )


def poll_until(engine: FleetOnTopics, rounds: int) -> None:
    for _ in range(TRIES):
        engine.poll(1000, 0.5)
        if engine.fleet.rounds >= rounds:
            return
    raise AssertionError(f"{engine.fleet.rounds} labels came, not {rounds}")


def send(producer: Any, topic: str, *messages: object) -> None:
    for message in messages:
        producer.produce(topic, message if isinstance(message, bytes) else json.dumps(message).encode(), partition=0)
    assert producer.flush(PATIENCE) == 0


def test_rows_and_labels_of_two_topics_are_joined_by_id(cluster: tuple[Any, str], tmp_path: Path) -> None:
    producer, brokers = cluster
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(ROWS, 2)), rng.integers(0, 2, ROWS)
    rows = [{"id": f"r{t}", "key": f"u{t % 5}", "x": X[t].tolist()} for t in range(ROWS)]
    labels = [{"id": f"r{t}", "y": int(y[t])} for t in range(ROWS)]
    alone = Fleet(AIOLI())
    half = ROWS // 2
    for part in (slice(0, half), slice(half, ROWS)):  # rows of a part are announced before the first of their labels
        keys = [str(row["key"]) for row in rows[part]]
        alone.learn_many(keys, X[part], y[part], None, alone.predict_logit_many(keys, X[part]))
    consumer = consumer_of(brokers)
    engine = FleetOnTopics(consumer, producer, TOPICS, Fleet(AIOLI()))
    engine.assign()
    send(producer, "rows", *rows[:half], rows[3], b"no JSON", {"id": "wide", "key": "u", "x": [1, 2, 3]})
    for _ in range(TRIES):
        engine.poll(1000, 0.5)
        if len(engine.waiting) == half and len(engine.refused) >= 3:
            break
    send(producer, "labels", *labels[:half], labels[0], {"id": "r1", "y": 7})
    poll_until(engine, half)
    assert sum("came before" in why for why in engine.refused) >= 1
    assert any("not 2 finite ones" in why for why in engine.refused)
    send(producer, "rows", *rows[half:])
    for _ in range(TRIES):
        engine.poll(1000, 0.5)
        if len(engine.waiting) == ROWS - half:
            break
    engine.save(tmp_path / "engine.aioli")
    consumer.close()
    del engine  # killed: the next process reads the file and the topics
    second = consumer_of(brokers)
    resumed = FleetOnTopics.load(tmp_path / "engine.aioli", second, producer, TOPICS)
    resumed.assign()
    send(producer, "labels", *labels[half:])
    poll_until(resumed, ROWS)
    assert not resumed.waiting
    assert to_bytes(resumed.fleet.snapshot()) == to_bytes(alone.snapshot())
    second.close()
    third = consumer_of(brokers)
    partitions = third.list_topics("said", timeout=PATIENCE).topics["said"].partitions
    third.assign([kafka.TopicPartition("said", part, 0) for part in partitions])
    said: dict[str, float] = {}
    for _ in range(TRIES):
        told = [json.loads(message.value()) for message in third.consume(1000, 0.5) if message.error() is None]
        said |= {each["id"]: each["p"] for each in told if "id" in each}
        if len(said) == ROWS:
            break
    third.close()
    assert len(said) == ROWS
    assert said["r0"] == 0.5


def test_a_label_that_comes_before_its_row_waits_for_it(cluster: tuple[Any, str]) -> None:
    producer, brokers = cluster
    consumer = consumer_of(brokers)
    engine = FleetOnTopics(consumer, producer, TOPICS, Fleet(AIOLI()))
    engine.assign()
    send(producer, "labels", {"id": "a", "y": 1})
    for _ in range(TRIES):
        engine.poll(1000, 0.5)
        if engine.early:
            break
    assert engine.early == {"a": 1.0}
    send(producer, "rows", {"id": "a", "key": 7, "x": [1.0]})
    poll_until(engine, 1)
    assert not engine.early
    assert 7 in engine.fleet
    consumer.close()


def test_what_the_page_shows_of_kafka_runs(
    cluster: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = blocks_for("tests/engines/test_kafka.py", ROOT / "docs" / "fleet.md")
    monkeypatch.chdir(tmp_path)
    producer, brokers = cluster
    consumer = consumer_of(brokers)
    send(producer, "predictions", b"{}")
    send(producer, "rows", {"id": "r", "key": "u", "x": [1.0, 2.0]})
    send(producer, "labels", {"id": "r", "y": 1})
    names: dict[str, Any] = {"consumer": consumer, "producer": producer}
    exec(compile(block.text, "fleet.md", "exec"), names)
    poll_until(names["engine"], 1)  # where a busy broker kept the page's loop waiting for more than a second
    consumer.close()
