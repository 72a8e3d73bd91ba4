"""A workload and a plan of it, opened together."""

from __future__ import annotations

import pytest
from tests.families import CASES
from tests.planning.test_common_suite import TIE_FREE, solve

import fanwise as fw
from fanwise.errors import PlanError, WorkloadError
from fanwise.planning.families import FAMILIES
from fanwise.planning.inputs import open_both, read_for


@pytest.mark.parametrize("family", FAMILIES)
def test_both_are_read_as_they_were_written(family, tmp_path):
    workload = CASES[family].workload(TIE_FREE)
    plan = solve(family, FAMILIES[family].default, TIE_FREE)
    fw.write_workload(workload, tmp_path / "w")
    plan.save(tmp_path / "p")
    assert read_for(FAMILIES[family], tmp_path / "w").hash == workload.hash
    with open_both(tmp_path / "w", tmp_path / "p") as (loaded, read):
        assert loaded.hash == workload.hash
        assert read.id == plan.id
        read.verify(loaded)


def test_what_is_no_plan_or_no_workload_is_named(tmp_path):
    workload = TIE_FREE.workload()
    fw.write_workload(workload, tmp_path / "w")
    solve("select", "greedy", TIE_FREE).save(tmp_path / "p")
    with pytest.raises(PlanError, match="w"), open_both(tmp_path / "w", tmp_path / "w"):
        pass
    with pytest.raises(WorkloadError, match="p"), open_both(tmp_path / "p", tmp_path / "p"):
        pass
