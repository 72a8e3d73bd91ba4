"""Rows of a CSR in pieces for threads: each row once, and none much longer than the others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fanwise.arrays.threads import cut_rows, in_threads, num_threads


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(1, 8))
def test_pieces_cover_all_rows_in_order(lengths, pieces):
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    cuts = cut_rows(indptr, pieces)
    assert len(cuts) == pieces
    assert [row for first, end in cuts for row in range(first, end)] == list(range(len(lengths)))
    share = indptr[-1] / pieces
    for first, end in cuts:
        assert indptr[end] - indptr[first] <= share + max(lengths, default=0)


def test_answers_keep_the_order_of_the_jobs():
    assert num_threads() >= 1
    assert in_threads(lambda job: job * job, range(20)) == [job * job for job in range(20)]
