import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.arrays.csr import (
    build_csr,
    find_duplicate,
    list_ranges,
    row_of_entries,
    sum_rows,
    take_ranges,
    take_rows,
    transpose,
)

pytestmark = pytest.mark.kernels

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), max_size=40)


def columns_of(found):
    rows = np.array([row for row, _ in found], dtype=np.int32)
    columns = np.array([column for _, column in found], dtype=np.int32)
    return rows, columns


@given(pairs)
def test_rows_hold_their_columns_ascending(found):
    csr = build_csr(*columns_of(found), 6)
    for row in range(6):
        expected = sorted(column for other, column in found if other == row)
        assert csr.indices[csr.indptr[row] : csr.indptr[row + 1]].tolist() == expected
    assert csr.num_rows == 6


@given(pairs)
def test_sorted_input_gives_the_same(found):
    shuffled = build_csr(*columns_of(found), 6)
    ordered = build_csr(*columns_of(sorted(found)), 6)
    assert np.array_equal(shuffled.indices, ordered.indices)
    assert np.array_equal(shuffled.indptr, ordered.indptr)


@given(pairs.map(lambda found: list(dict.fromkeys(found))))
def test_transpose_twice_is_the_same(found):
    csr = build_csr(*columns_of(found), 6)
    back = transpose(transpose(csr, 7), 6)
    assert np.array_equal(back.indices, csr.indices)
    assert np.array_equal(back.indptr, csr.indptr)


@given(pairs)
def test_find_duplicate(found):
    repeated = find_duplicate(build_csr(*columns_of(found), 6))
    duplicates = sorted({pair for pair in found if found.count(pair) > 1})
    assert repeated == (duplicates[0] if duplicates else None)


def test_arrays_refuse_writes():
    csr = build_csr(*columns_of([(1, 2), (0, 1)]), 2)
    for array in (*csr, *transpose(csr, 3)):
        assert not array.flags.writeable


def test_sum_rows():
    csr = build_csr(*columns_of([(1, 2), (0, 1), (1, 0)]), 3)
    assert sum_rows(*csr, np.array([1.0, 10.0, 100.0])).tolist() == [10.0, 101.0, 0.0]


@given(st.integers(1, 5000), st.integers(0, 3000), st.integers(0, 2**32 - 1))
def test_many_buckets_sort_like_numpy(num_rows, num_pairs, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, num_rows, num_pairs, dtype=np.int32)
    columns = rng.integers(0, 2**31 - 1, num_pairs, dtype=np.int32)
    rows[: num_pairs // 3] = 0  # one row too long for sorting by insertion
    csr = build_csr(rows, columns, num_rows)
    order = np.lexsort((columns, rows))
    assert np.array_equal(csr.indices, columns[order])
    assert np.array_equal(csr.indptr, np.searchsorted(rows[order], np.arange(num_rows + 1)))


@given(pairs, st.lists(st.integers(0, 5), max_size=9))
def test_rows_are_taken_in_any_order(found, rows):
    csr = build_csr(*columns_of(found), 6)
    taken = take_rows(csr, np.array(rows, dtype=np.int64))
    assert taken.num_rows == len(rows)
    for place, row in enumerate(rows):
        expected = csr.indices[csr.indptr[row] : csr.indptr[row + 1]].tolist()
        assert taken.indices[taken.indptr[place] : taken.indptr[place + 1]].tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)).map(sorted), max_size=9))
def test_ranges_may_overlap(ranges):
    values = np.arange(10, 17, dtype=np.int32)
    first, end = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
    taken = take_ranges(values, first, end)
    rows = [taken.indices[taken.indptr[r] : taken.indptr[r + 1]].tolist() for r in range(len(end))]
    assert rows == [values[a:b].tolist() for a, b in ranges]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=8))
def test_ranges_follow_each_other(ranges):
    first, lengths = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
    wanted = [number for start, many in ranges for number in range(start, start + many)]
    assert list_ranges(first, lengths).tolist() == wanted


@given(pairs)
def test_every_entry_knows_its_row(pairs):
    rows, columns = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    csr = build_csr(np.ascontiguousarray(rows), np.ascontiguousarray(columns), 6)
    found = row_of_entries(csr.indptr)
    assert list(zip(found.tolist(), csr.indices.tolist(), strict=True)) == sorted(pairs)
