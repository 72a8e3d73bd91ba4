"""Which boxes of a matrix sum up to the most.

A row of the matrix is a place of the first axis of a lattice, a column one of the second; an entry
is what is paid there less what it costs to let it through.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel


@kernel
def largest_boxes(net: FloatArray) -> tuple[FloatArray, LongArray]:
    """Return the most that a box with its first row in each row sums up to, and that box.

    A box is its first and last row, first and last column. 0 for none. Changes nothing.
    """
    rows, columns = net.shape
    best = np.zeros(rows)
    boxes = np.zeros((rows, 4), dtype=np.int64)
    for first in range(rows):
        total = np.zeros(columns)
        for last in range(first, rows):
            # The best run of columns in one pass (Kadane): one that sums up to less than nothing
            # is dropped.
            run, begin = 0.0, 0
            for i in range(columns):
                total[i] += net[last, i]
                if run <= 0.0:
                    run, begin = 0.0, i
                run += total[i]
                if run > best[first]:
                    best[first] = run
                    boxes[first, 0], boxes[first, 1] = first, last
                    boxes[first, 2], boxes[first, 3] = begin, i
    return best, boxes
