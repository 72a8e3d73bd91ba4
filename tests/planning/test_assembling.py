"""Plans are put together in one place: what every engine's plan states, and how."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.planning.test_common_suite import TIE_FREE, solve

import fanwise as fw
from fanwise.errors import ParameterError
from fanwise.planning.assembling import (
    Made,
    assemble,
    jsonable,
    limits_asked_for,
    stated_parameters,
)
from fanwise.planning.plan import Plan
from fanwise.planning.problem import Bound, Measurement, Run


def made(**changes):
    plan = solve("select", "greedy", TIE_FREE)
    usual = Made(
        family="select", algorithm="greedy", parameters=plan.parameters, workload=plan.workload,
        tables=plan.tables, identity=plan.id, measured=Measurement(4.0, True, {"topics": 2}),
        proved=Bound(5.0), emptiness=None, trivial_bound=9.0,
    )  # fmt: skip
    return assemble(replace(usual, **changes), Run(), Plan, source=None)


def test_gap_end_and_metrics_are_stated():
    plan = made()
    assert (plan.objective, plan.bound, plan.gap) == (4.0, 5.0, pytest.approx(0.2))
    assert (plan.stopped, plan.is_interrupted, plan.warnings) == ("exhausted", False, {})
    assert plan.metrics == {"topics": 2}
    assert plan.seconds["total"] >= 0
    assert made(stopped="interrupted").is_interrupted


def test_without_a_bound_there_is_no_gap():
    plan = made(proved=None)
    assert (plan.bound, plan.gap, plan.proof) == (None, None, None)


def test_readers_are_warned_of_nothing_to_decide_and_of_bounds_that_say_nothing():
    assert made(emptiness="nobody wants anything").warnings == {
        "empty-question": "There is nothing to decide: nobody wants anything."
    }
    assert "no-useful-bound" in made(proved=Bound(9.0)).warnings
    assert made(proved=Bound(9.0), trivial_bound=None).warnings == {}
    # A plan that reaches it is proven best, however little the bound says.
    assert made(proved=Bound(9.0), measured=Measurement(9.0, True, {})).warnings == {}


@pytest.mark.parametrize("objective", [math.inf, math.nan])
def test_objectives_beyond_numbers_are_refused(objective):
    with pytest.raises(ParameterError, match="whose products stay below 1e308"):
        made(measured=Measurement(objective, True, {}))


def test_limits_are_stated_where_somebody_gave_them():
    assert limits_asked_for(Run()) == {}
    assert limits_asked_for(Run(time_limit=2.0, gap=0.1)) == {"time_limit": 2.0, "gap": 0.1}
    problem = fw.Selection(TIE_FREE.workload(), tau=97.0, capacity="45%")
    stated = stated_parameters(problem, Run(seed=3, gap=0.1, settings={"rounds": np.int64(2)}))
    assert stated["tau"] == 97.0
    assert (stated["seed"], stated["gap"], stated["rounds"]) == (3, 0.1, 2)
    assert isinstance(stated["rounds"], int)


def test_values_are_those_of_json():
    assert jsonable({1: np.float64(2.5), "a": (np.int32(3), math.inf), "b": [math.nan, "x"]}) == {
        "1": 2.5, "a": [3, None], "b": [None, "x"],
    }  # fmt: skip
