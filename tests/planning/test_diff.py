"""What changes from one plan to another, row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.test_common_suite import TIE_FREE, solve

from fanwise.errors import ParameterError
from fanwise.planning.diff import _diff_tables, diff_plans

KEYS = ("vm", "topic")
rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 4)), max_size=10)


def table_of(rows):
    columns = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    return pa.table(dict(zip((*KEYS, "pairs"), columns, strict=True)))


def rows_of(table):
    return [tuple(row.values()) for row in table.to_pylist()]


@given(rows, rows)
def test_rows_are_matched_by_their_keys(before, after):
    before, after = (list({row[:2]: row for row in rows}.values()) for rows in (before, after))
    old, new = ({row[:2]: row for row in rows} for rows in (before, after))
    found = _diff_tables("parts", KEYS, table_of(before), table_of(after))
    assert rows_of(found.removed) == sorted(row for key, row in old.items() if key not in new)
    assert rows_of(found.added) == sorted(row for key, row in new.items() if key not in old)
    changed = sorted(key for key in old if key in new and old[key] != new[key])
    assert rows_of(found.changed_before) == [old[key] for key in changed]
    assert rows_of(found.changed_after) == [new[key] for key in changed]
    assert found.num_same == len(old.keys() & new.keys()) - len(changed)
    assert found.is_empty == (old == new)


def test_a_plan_does_not_differ_from_itself():
    plan = solve("select", "greedy", TIE_FREE)
    same = diff_plans(plan, plan)
    assert same.is_empty
    assert same.to_dict()["same"] is True
    other = solve("select", "greedy", replace(TIE_FREE, tau=29.0))
    changed = diff_plans(plan, other)
    assert changed.parameters["tau"] == (97.0, 29.0)
    assert changed.to_dict()["parameters"]["tau"] == [97.0, 29.0]


def test_plans_of_two_families_are_not_compared():
    one = solve("select", "greedy", TIE_FREE)
    with pytest.raises(ParameterError, match="of one problem, here 'select', got 'connect'"):
        diff_plans(one, replace(one, problem="connect"))
