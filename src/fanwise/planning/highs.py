"""HiGHS in a thread of its own, so that Ctrl-C is heard while it runs."""

from __future__ import annotations

import threading
from typing import Any

_GRACE = 2.0  # seconds for a run to stop that nobody waits for


def run_highs(solver: Any) -> bool:
    """Run a ``highspy.Highs``; return whether Ctrl-C ended it.

    Then the solver's model status says so too, and what it had found by then is in it.
    """
    if threading.current_thread() is not threading.main_thread():
        solver.run()  # signals go to the main thread, which waits for this one
        return False
    solver.HandleUserInterrupt = True
    is_done = threading.Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            solver.run()
        except BaseException as error:
            errors.append(error)
        finally:
            is_done.set()

    threading.Thread(target=run, name="highs", daemon=True).start()
    is_interrupted = False
    try:
        is_done.wait()
    except KeyboardInterrupt:
        is_interrupted = True
        solver.cancelSolve()
        is_done.wait()
    except BaseException:  # SIGTERM: nothing is kept
        solver.cancelSolve()
        is_done.wait(_GRACE)
        raise
    if errors:
        raise errors[0]
    return is_interrupted
