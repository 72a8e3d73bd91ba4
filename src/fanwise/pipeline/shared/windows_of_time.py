"""Windows of time on arrays, aligned to the epoch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def floors(instants: npt.NDArray[np.int64], window: int) -> npt.NDArray[np.int64]:
    """Return the starts of the windows that instants fall into."""
    starts: npt.NDArray[np.int64] = instants // window * window
    return starts
