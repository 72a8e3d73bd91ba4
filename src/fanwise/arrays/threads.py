"""Kernels on threads: they hold no interpreter lock, so plain threads use every core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt


def num_threads() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def in_threads(function: Callable[[Any], Any], jobs: Iterable[Any]) -> list[Any]:
    """Call ``function`` on every job, on as many threads as there are cores; keep the order."""
    with ThreadPoolExecutor(num_threads()) as pool:
        return list(pool.map(function, jobs))


def cut_rows(indptr: npt.NDArray[np.int64], pieces: int) -> list[tuple[int, int]]:
    """Cut the rows of a CSR into pieces of about equally many entries."""
    wanted = np.linspace(0, indptr[-1], pieces + 1).astype(np.int64)
    cuts = np.searchsorted(indptr, wanted, side="left")
    cuts[0], cuts[-1] = 0, len(indptr) - 1
    return [(int(first), int(last)) for first, last in pairwise(cuts)]
