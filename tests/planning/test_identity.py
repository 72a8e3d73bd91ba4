"""The fingerprint of a plan: what counts for it, and what does not."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.planning.identity import add_column, plain, plan_id, sort_rows

KEYS = ("topic", "subscriber")
TABLES = {
    "selected_topics": pa.table({"topic": pa.array([0, 2], pa.int32())}),
    "satisfied_subscribers": pa.table({"subscriber": pa.array([1, 3], pa.int32())}),
}
PARAMETERS = {"tau": 27.0, "capacity": 5.0, "seed": 0}


def identify(parameters=PARAMETERS, tables=TABLES, algorithm="greedy"):
    return plan_id("select", algorithm, parameters, tables)


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """A family of two tables, whatever select's are called."""
    known = {"selected_topics": ("topic",), "satisfied_subscribers": ("subscriber",)}
    monkeypatch.setattr(
        "fanwise.planning.identity.find_family", lambda name: SimpleNamespace(keys=known)
    )


def test_order_and_the_way_of_writing_do_not_count():
    turned = {name: table.take(list(range(len(table)))[::-1]) for name, table in TABLES.items()}
    chunked = {name: pa.concat_tables([table[:1], table[1:]]) for name, table in TABLES.items()}
    assert identify() == identify(tables=turned) == identify(tables=chunked)
    assert identify() == identify({"seed": 0.0, "capacity": 5, "tau": 27})


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": "best"},
        {"parameters": PARAMETERS | {"tau": 28}},
        {"tables": TABLES | {"selected_topics": TABLES["selected_topics"][:1]}},
        {"tables": TABLES | {"selected_topics": pa.table({"topic": [0, 2]})}},  # 64 bits
    ],
    ids=["algorithm", "parameter", "row", "type"],
)
def test_everything_that_makes_the_plan_counts(change):
    assert identify(**change) != identify()


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), max_size=12)


@given(rows, st.randoms())
def test_rows_are_sorted_whatever_their_order(rows, random):
    def table(rows):
        columns = np.array(rows, dtype=np.int32).reshape(-1, 3).T
        return pa.table(dict(zip((*KEYS, "value"), columns, strict=True)))

    shuffled = random.sample(rows, len(rows))
    ordered = sort_rows(table(shuffled), KEYS)
    assert [tuple(row.values()) for row in ordered.to_pylist()] == sorted(rows)


def test_sorted_rows_are_left_alone():
    table = pa.table({"topic": [0, 0, 1], "subscriber": [1, 2, 0]})
    assert sort_rows(table, KEYS) is table


def test_texts_count_by_their_letters_and_where_they_end():
    def digest(*chunks):
        found = hashlib.sha256()
        add_column(found, pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks]))
        return found.hexdigest()

    assert digest(["ab", "c"]) == digest(["ab"], ["c"])
    assert digest(["ab", "c"]) != digest(["a", "bc"])


def test_whole_numbers_are_written_alike():
    assert plain({"a": (1.0, 2.5), "b": [3]}) == {"a": [1, 2.5], "b": [3]}
    assert isinstance(plain(27.0), int)
