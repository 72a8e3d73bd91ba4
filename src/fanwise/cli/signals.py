"""Ctrl-C and SIGTERM: the exit status that each means, and an end that leaves nothing half-written.

The first signal is raised as an exception in the main thread, so that work in hand is undone, or
kept where a command keeps the best so far. The second ends the process at once. Both can come
while the main thread is inside a kernel, a solver or Spark, where Python hears nothing: a thread
of its own listens too. It ends the process on the second signal, and after SIGTERM also when the
main thread has not come back within a grace.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

GRACE = 5.0
"""Seconds from SIGTERM until the process ends in any case."""
_grace = GRACE
SIGNALS = (signal.SIGINT, signal.SIGTERM)
WORDS: Mapping[int, str] = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Listener:
    """Hears signals while a command runs.

    Attributes
    ----------
    received
        The signal that is on its way up as an exception, None so far; None again for a moment
        where Python dropped that exception.
    heard
        The first signal that came, None so far.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.heard: int | None = None
        self._is_done = False
        self._num_repeats = 0

    @property
    def status(self) -> int | None:
        """The exit status that the signal means."""
        return None if self.heard is None else 128 + self.heard

    @contextmanager
    def listening(self, *, to_the_end: bool) -> Iterator[None]:
        """Listen inside the block, and afterwards too if the process ends there."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        ear, mouth = os.pipe()
        os.set_blocking(mouth, False)
        former = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(ear,), daemon=True, name="signals").start()
        # Who was started with Ctrl-C ignored, as behind nohup, goes on ignoring it.
        heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, self._raise) for number in heard}
        hook, sys.unraisablehook = sys.unraisablehook, self._raise_again
        try:
            yield
        finally:
            self._is_done = True
            if not to_the_end:
                sys.unraisablehook = hook
                signal.set_wakeup_fd(former)
                for number, handler in before.items():
                    signal.signal(number, handler)
                os.close(mouth)  # ends the thread

    def _raise(self, number: int, frame: FrameType | None) -> NoReturn:
        if self._is_done or self.received is not None:
            end_at_once(number)
        self.received = number
        self.heard = self.heard or number
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    def _raise_again(self, lost: sys.UnraisableHookArgs) -> None:
        """Send the signal again where Python dropped what it raised, as it does in finalisers."""
        if self.received is None or not isinstance(lost.exc_value, KeyboardInterrupt | SystemExit):
            sys.__unraisablehook__(lost)
            return
        number, self.received = self.received, None
        self._num_repeats += 1
        main = threading.main_thread().ident
        if main is not None:
            threading.Timer(0.01, signal.pthread_kill, (main, number)).start()

    def _watch(self, ear: int) -> None:
        """End the process where the main thread cannot."""
        heard: list[int] = []
        while True:
            may_wait = _grace if signal.SIGTERM in heard else None
            is_ready, _, _ = select.select([ear], [], [], may_wait)
            if not is_ready:
                end_at_once(signal.SIGTERM)
            numbers = os.read(ear, 64)
            if not numbers:
                os.close(ear)
                return
            for number in numbers:
                if number in SIGNALS and self._num_repeats:
                    self._num_repeats -= 1
                elif number in SIGNALS:
                    heard.append(number)
            if len(heard) > 1:
                end_at_once(heard[-1])


def be_patient(seconds: float) -> None:
    """Let a command that has much to bring to an end take longer than the grace."""
    global _grace
    _grace = seconds


def end_at_once(number: int) -> NoReturn:
    """End the process now, without what is half-written."""
    folders = sys.modules.get("fanwise.workload.folders")
    if folders is not None:  # else nothing was written
        with suppress(Exception):
            folders.remove_unfinished()
    with suppress(OSError):
        os.write(2, f"fanwise: {WORDS[number]}, ended at once\n".encode())
    os._exit(128 + number)
