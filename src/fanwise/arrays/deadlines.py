"""A flag that is raised when time is over, for kernels that may take longer than there is.

Kernels hold no interpreter lock, so that another thread can raise the flag while one is running.
A kernel that looks at it ends early, with what it has.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

Flag = npt.NDArray[np.bool_]
"""One entry: whether it is raised."""


def lowered_flag() -> Flag:
    """Return a flag that nobody raises."""
    return np.zeros(1, dtype=np.bool_)


@contextmanager
def raised_after(seconds: float) -> Iterator[Flag]:
    """Yield a flag that is raised after so many seconds, if the block has not ended by then."""
    flag = lowered_flag()
    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), flag.fill, [True])
    timer.daemon = True
    timer.start()
    try:
        yield flag
    finally:
        timer.cancel()
