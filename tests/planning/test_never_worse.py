"""Whatever the time limit, `best` is never worse than what the paper's algorithms make.

Questions of hundreds to thousands of subscribers, for which all of the paper's algorithms are
starts whatever the clock says, so that nothing here depends on how fast the machine is.
"""

from __future__ import annotations

from itertools import product

import pytest

import fanwise as fw
from fanwise.planning.families import FAMILIES
from fanwise.planning.family import Sense
from fanwise.workload.generators.follow import follow
from fanwise.workload.generators.groups import groups
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.rss import rss
from fanwise.workload.generators.spotify import spotify

LIMITS = (0.0, 1e-3)
PACKINGS = ("ffbp", "group", "expensive-first", "most-free", "cbp")


def select(metric):
    workload = spotify(scale=0.0004, seed=3)
    return fw.Selection(workload, tau=100, capacity="12%", metric=metric)


def provision():
    return fw.Provisioning(spotify(scale=0.0004, seed=5), tau=100, instance="auto")


def connect(**budgets):
    return fw.Connection(follow(400, seed=2), **budgets)


QUESTIONS = {
    "select binary": (
        lambda: select("binary"),
        ("greedy", "popular", "cheapest", "cuckoo", "random"),
    ),
    "select fractional": (
        lambda: select("fractional"),
        ("greedy", "popular", "cheapest", "cuckoo", "random"),
    ),
    "provision": (provision, [f"{one}+{other}" for one in ("gsp", "rsp") for other in PACKINGS]),
    "connect by degree": (
        lambda: connect(max_degree=4),
        ("gpm", "spidercast", "random-maximum"),
    ),
    "connect by links": (lambda: connect(max_edges=500), ("gpa", "random-average")),
    "assign": (
        lambda: fw.Assignment(groups(2000, brokers=10, seed=2)),
        ("gr", "gr-star", "gr-no-latency", "closest", "closest-no-balance", "balance"),
    ),
    "assign few types": (
        lambda: fw.Assignment(rss(300, brokers=5, interests=8, seed=4), alpha=2),
        ("gr", "gr-star", "slp", "closest", "balance"),
    ),
    "wire": (
        lambda: fw.Wiring(quadratic(300, subscribers_per_broker=20, seed=1)),
        ("random", "packing", "clustering", "steiner-mixing", "migration"),
    ),
}


def loss(sense: Sense, value: float, than: float) -> float:
    """Return by which part of it a value is worse than another; below 0 if it is better."""
    return ((than - value) if sense == "max" else (value - than)) / max(abs(than), 1e-12)


def cut_short(plan: fw.Plan) -> set[str]:
    """Return the algorithms that a plan says there was no time for."""
    told = plan.warnings.get("cut-short", "")
    return set(told.partition(": ")[2].partition(". ")[0].split(", ")) - {""}


@pytest.mark.parametrize(("name", "limit"), [*product(QUESTIONS, LIMITS)])
def test_best_is_never_worse_than_the_paper(name, limit):
    pose, algorithms = QUESTIONS[name]
    problem = pose()
    family = FAMILIES[problem.family]
    best = problem.solve(family.default, seed=3, time_limit=limit)
    assert not set(algorithms) & cut_short(best)
    for algorithm in algorithms:
        other = problem.solve(algorithm, seed=3)
        if other.feasible:
            assert best.feasible, algorithm
            assert loss(family.sense, best.objective, other.objective) <= 1e-9, algorithm


def test_a_plan_says_what_there_was_no_time_for(monkeypatch):
    """A connect question above the size whose starts are made in any case, and no time at all."""
    monkeypatch.setattr("fanwise.connect.best.SMALL_WORK", 0)
    monkeypatch.setattr("fanwise.planning.problem.GRACE_SECONDS", 0.0)
    plan = connect(max_degree=4).solve("best", time_limit=0.0)
    assert "gpm" in cut_short(plan)
    monkeypatch.setattr("fanwise.planning.problem.GRACE_SECONDS", 1000.0)
    plan = connect(max_degree=4).solve("best", time_limit=0.0)
    assert not cut_short(plan)
    assert plan.objective >= connect(max_degree=4).solve("gpm").objective


def test_assignments_say_what_there_was_no_time_for(monkeypatch):
    problem = fw.Assignment(groups(500, brokers=10, seed=2))
    monkeypatch.setattr("fanwise.assign.best.QUICK_PAIRS", 0)
    monkeypatch.setattr("fanwise.planning.problem.GRACE_SECONDS", 0.0)
    plan = problem.solve("best", time_limit=0.0)
    assert "balance" in cut_short(plan)
    assert plan.verify().holds
