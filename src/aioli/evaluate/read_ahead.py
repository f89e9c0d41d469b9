"""Reading ahead: a thread of its own takes items from an iterator a few steps before they are used."""

import queue
import threading
import time
from collections.abc import Generator, Iterator
from typing import Generic, TypeVar

__all__ = ["READER", "ReadAhead"]

READER = "aioli-reader"  # the name of the thread
AHEAD = 2  # items that wait to be used
LONGEST_WAIT = 1.0  # seconds, for the reader to notice that it is no longer needed

Item = TypeVar("Item")


class ReadAhead(Generic[Item]):
    """Iterates over items that a thread reads ahead, within a `with` block; leaving the block stops the thread."""

    def __init__(self, items: Generator[Item, None, None]) -> None:
        self._items = items
        self._queue: queue.Queue[tuple[Item] | BaseException | None] = queue.Queue(AHEAD)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read, name=READER, daemon=True)

    def __enter__(self) -> Iterator[Item]:
        self._thread.start()
        return self._given()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        until = time.monotonic() + LONGEST_WAIT  # it may be waiting for input that never comes
        while self._thread.is_alive() and time.monotonic() < until:
            while not self._queue.empty():
                self._queue.get_nowait()
            self._thread.join(0.01)

    def _given(self) -> Iterator[Item]:
        while (came := self._queue.get()) is not None:
            if isinstance(came, BaseException):
                raise came
            yield came[0]

    def _read(self) -> None:
        try:
            for item in self._items:
                self._queue.put((item,))
                if self._stopped.is_set():
                    self._items.close()
                    return
            self._queue.put(None)
        except BaseException as error:
            self._queue.put(error)
