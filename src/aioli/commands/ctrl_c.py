"""Hears Ctrl-C whatever becomes of the `KeyboardInterrupt` that it raises."""

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["CtrlC"]

AGAIN_SECONDS = 0.05


class CtrlC:
    """Knows whether Ctrl-C was pressed, and sends it again where Python has dropped its exception.

    What a signal's handler raises can be lost in two ways. A library in C may put an exception of its own in its place:
    NumPy says that records cannot be compared if Ctrl-C comes while it compares them. `pressed` tells such an error
    from a real one: the byte that Python writes at every signal is there whatever was raised. And Python drops what is
    raised while a weak reference calls back, as importing a module lets it do: then the signal is sent once more.
    Off the main thread, and on systems without the signals of POSIX, nothing is done and nothing known.
    """

    def __init__(self) -> None:
        self._signals = self._wakeup = self._wakeup_before = -1
        self._hook = sys.unraisablehook
        self._again: threading.Timer | None = None

    def __enter__(self) -> Self:
        if os.name == "posix" and threading.current_thread() is threading.main_thread():
            self._signals, self._wakeup = os.pipe()
            os.set_blocking(self._signals, False)
            os.set_blocking(self._wakeup, False)
            self._wakeup_before = signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
            self._hook, sys.unraisablehook = sys.unraisablehook, self._dropped
        return self

    def __exit__(self, *_: object) -> None:
        if self._wakeup >= 0:
            signal.set_wakeup_fd(self._wakeup_before)
            sys.unraisablehook = self._hook
            if self._again is not None:
                self._again.cancel()
            os.close(self._signals)
            os.close(self._wakeup)
            self._signals = self._wakeup = -1

    def pressed(self) -> bool:
        """Return whether Ctrl-C was pressed since the last call."""
        try:
            return self._signals >= 0 and signal.SIGINT in os.read(self._signals, 4096)
        except BlockingIOError:  # no signal came
            return False

    def _dropped(self, dropped: "UnraisableHookArgs") -> None:
        """Send Ctrl-C once more, a little later: one that is raised here would be dropped as well."""
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            main = threading.main_thread().ident or 0
            self._again = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (main, signal.SIGINT))
            self._again.daemon = True
            self._again.start()
        else:
            self._hook(dropped)
