"""Answers Vowpal Wabbit's text over TCP: a line of features in, a line with the probability out, as its daemon does.

    1 |home rooms:3 near          predicts the row, then learns its label
    |home rooms:3 near            predicts, and forgets the row
    'visit-7|home rooms:3 near    predicts, and keeps the row under its tag
    1 'visit-7|                   learns the label of the row of this tag

An answer is the probability of the label 1, as with `--link logistic`, and the tag behind a space. A line that cannot
be read is answered by `error: ` and a sentence, and the connection stays. The protocol knows no passwords: only this
machine can reach the port.
"""

import asyncio
import secrets

from aioli.errors import AioliError
from aioli.service.http.grouping import Grouping
from aioli.service.model import Answer
from aioli.service.operations import Learn, Learned, Operation, Predict, Predicted
from aioli.service.refusals import ServiceRefused
from aioli.streams.files.vowpal import VowpalRow, parse_line

__all__ = ["answer_line", "listen_for_vowpal"]

LONGEST_LINE = 1 << 20  # bytes
IDLE_SECONDS = 600.0


async def listen_for_vowpal(grouping: Grouping, model: str, port: int, host: str = "127.0.0.1") -> int:
    """Listen on a port of this machine, 0 for one that is free; return it."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _talk(grouping, model, reader, writer)
        except (TimeoutError, OSError, ValueError):  # silent, gone, or with a line that never ends
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, host, port, limit=LONGEST_LINE)
    bound: int = server.sockets[0].getsockname()[1]
    return bound


async def _talk(grouping: Grouping, model: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        line = await asyncio.wait_for(reader.readline(), IDLE_SECONDS)
        if not line:
            return
        if line.strip():
            writer.write(await answer_line(grouping, model, line))
            await writer.drain()


async def answer_line(grouping: Grouping, model: str, line: bytes) -> bytes:
    """Return the answer to one line."""
    try:
        row = parse_line(line.rstrip(b"\r\n"))
        answer = await _answer(grouping, model, row)
    except AioliError as error:
        return f"error: {error}\n".replace("\n", " ").encode()[:-1] + b"\n"
    probability = max(answer.probabilities, default=0.0) if answer.probability is None else answer.probability
    return f"{probability:.6f}{f' {row.tag}' if row.tag else ''}\n".encode()


async def _answer(grouping: Grouping, model: str, row: VowpalRow) -> Answer:
    served = grouping.engine.served(model)
    if row.label is None and not row.tag:
        return served.model.predict(row.features)
    if row.label is not None:
        served.model.label_of(row.label)  # else the row would wait for a label that cannot be learned
    name = row.tag or f"vw-{secrets.token_hex(12)}"
    waiting = served.waiting.get(name)
    operations: list[Operation] = []
    if waiting is None or row.features:
        operations.append(Predict(model, name, row.features))
    if row.label is not None:
        operations.append(Learn(model, name, row.label, row.weight))
    first: Answer | None = None if waiting is None else served.model.answer_of(waiting.row.announced)
    for outcome in await grouping.play(operations):
        if isinstance(outcome, ServiceRefused):
            raise outcome
        if isinstance(outcome, Predicted):
            first = outcome.answer
        else:
            assert isinstance(outcome, Learned)
    assert first is not None
    return first
