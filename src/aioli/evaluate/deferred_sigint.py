"""Defers Ctrl-C until the rows that are being learned have been learned, so that no state is torn."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

__all__ = ["DeferredSigint"]


class DeferredSigint:
    """Defers a `KeyboardInterrupt` that comes within `busy` to the end of that block; a second one is raised at once.

    Off the main thread, or where the program has set its own SIGINT handler, nothing is deferred.
    """

    def __init__(self) -> None:
        self._busy = self._asked = False
        self._before: Callable[[int, FrameType | None], object] | int | None = None

    def __enter__(self) -> Self:
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Return a context in which Ctrl-C is deferred; `KeyboardInterrupt` is raised when the block ends."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._asked:
            raise KeyboardInterrupt

    def _heard(self, *_: object) -> None:
        if not self._busy or self._asked:
            raise KeyboardInterrupt
        self._asked = True
