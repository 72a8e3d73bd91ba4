"""The paper's experiments, at the smallest size; what is compared is what was measured."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

import fanwise as fw
from fanwise.report.reproductions import save_reproduction
from fanwise.wire.reproducing import remarks, reproduce, runs, settings
from fanwise.wire.reproducing.rows import split
from fanwise.wire.reproducing.runs import Case, Effort, Result, Trial
from fanwise.workload.generators.sparse import sparse

SCALE = 1e-4
FEW = {
    "paper, distances": {"few_sizes": (2000, 5000), "few_ratios": (0.5, 2.0), "ratio_users": 3000},
    "paper, independent costs": {
        "few_sizes": (2000, 4000), "few_ratios": (0.5, 2.0), "ratio_users": 2000,
    },
    "sparse": {"few_sizes": (400, 600), "few_ratios": (10.0, 50.0), "ratio_users": 400},
}  # fmt: skip


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The whole course on tiny networks: the folder, the rows, and what was compared."""
    with pytest.MonkeyPatch.context() as patch:
        for name, options in FEW.items():
            patch.setitem(settings.REGIMES, name, replace(settings.REGIMES[name], **options))
        patch.setattr(reproduce, "FEW_AUDIENCES", (1.0, 3.0))
        patch.setattr(runs, "FEW_BEST_EFFORT", 0.001)
        found = reproduce.reproduce(SCALE, seed=1)
        folder = tmp_path_factory.mktemp("reproduce") / "out"
        files = save_reproduction(found, folder)
    with open(folder / "table.csv", newline="", encoding="utf-8") as file:
        return folder, files, list(csv.DictReader(file)), found


def by_point(rows):
    found = {}
    for row in rows:
        at = row["figure"], row["regime"], float(row["x"])
        found.setdefault(at, {})[row["series"], row["quantity"]] = float(row["ours"])
    return found


def test_the_folder_has_every_figure(done):
    folder, files, rows, found = done
    assert {path.name for path in folder.iterdir()} == set(files)
    assert {"fig9-sizes.png", "fig10-ratios.png", "cost-split.png", "audience.png"} <= set(files)
    page = (folder / "report.html").read_text(encoding="utf-8")
    for words in ("Table I", "the other way round", "100 channels", "means of 3 networks"):
        assert words in page
    assert {row["figure"] for row in rows} == {"9", "10", "audience", "I"}
    assert {row["regime"] for row in rows} == set(FEW)
    assert all(comparison.remark for comparison in found.comparisons)
    told = {row["series"]: row["paper"] for row in rows if row["paper"]}
    assert told == settings.PAPER_SECONDS


def test_no_algorithm_beats_the_bound_and_ratios_are_of_random(done):
    _, _, rows, _ = done
    points = by_point(row for row in rows if row["figure"] != "I")
    assert len(points) == 14
    for values in points.values():
        assert values["random", "CRR"] == 1.0
        for name in runs.algorithm_names():
            assert 0 < values[name, "least CRR"] <= values[name, "most CRR"]
        if ("best", "CRR") in values:
            assert values["best", "CRR"] <= values["network", "highest CRR"] * (1 + 1e-9)
            assert values["best", "instances"] == 1.0
        assert values["packing", "instances"] == 3.0


def test_a_trial_is_what_plans_measure():
    problem = fw.Wiring(sparse(40, brokers=4, channels=20, seed=3), core_factor=0.5)
    trial = runs.run_trial(problem, Effort({}, {}, 0.001, 7), 0)
    assert next(iter(trial.results)) == "random"
    for name in ("random", *settings.PAPERS, "migration"):
        plan = problem.solve(name, seed=7)
        result = trial.results[name]
        assert result.cost == pytest.approx(plan.objective, rel=1e-12)
        assert result.access == pytest.approx(plan.metrics["access"])
        assert result.overloaded == plan.metrics["overloaded"]
        assert trial.crr(name) == pytest.approx(trial.results["random"].cost / plan.objective)
        assert trial.highest_crr >= trial.crr(name) * (1 - 1e-9) or result.overloaded
    assert 0.5 <= trial.steiner <= 1 + 1e-12
    later = runs.run_trial(problem, Effort({}, {"best": 1, "migration": 2}, 0.001, 7), 1)
    assert "best" not in later.results
    assert "migration" in later.results
    assert later.bound is None


def test_all_ratios_have_the_same_networks():
    regime = settings.REGIMES["sparse"]
    networks = runs.Networks(lambda seed: regime.make(40, seed), 5, 0.1)
    usual = runs.Networks(lambda seed: regime.make(40, seed), 5)
    assert networks.pose(1).ground.access.tolist() == usual.pose(1).ground.access.tolist()
    cheaper = networks.pose(1).ground.core
    assert cheaper == pytest.approx(usual.pose(1).ground.core * 0.1)


def made_trial(users=100, *, with_best=False, bound=None, **costs):
    found = {"random": users**2, "packing": 50.0, "clustering": 40.0, "steiner_mixing": 25.0}
    found |= {"migration": 20.0} | costs
    if not with_best:
        found.pop("best", None)
    results = {
        name.replace("_", "-"): Result(0.25 * cost, 0.75 * cost, 0.1, 0)
        for name, cost in found.items()
    }
    return Trial(results, 0.9, bound, None if bound is None else 0.95)


def test_what_ran_on_some_networks_is_measured_by_the_yardstick():
    easy = made_trial(random=100.0, packing=10.0, best=5.0, with_best=True, bound=4.0)
    hard = made_trial(random=100.0, packing=50.0)
    case = Case("9", "sparse", 100, 100, 5, [easy, hard])
    assert case.crr("packing") == pytest.approx((10 + 2) / 2)
    assert case.crr("best") == pytest.approx(20 * 6 / 10)
    assert case.highest_crr == pytest.approx(25 * 6 / 10)
    assert case.ahead("best", "packing") == pytest.approx(2.0)
    assert split(case, "packing") == pytest.approx((0.25 * 0.3, 0.75 * 0.3, 0))
    assert split(case, "best") == pytest.approx((0.25 * 0.15, 0.75 * 0.15, 0))
    assert Case("9", "sparse", 100, 100, 5, [hard]).highest_crr is None


def made_cases(**costs):
    cases = []
    for regime in settings.REGIMES:
        for users in (100, 200):
            trials = [made_trial(users, **costs)]
            cases.append(Case("9", regime, users, users, 5, trials))
        for ratio in (0.1, 10.0):
            trials = [made_trial(**costs, bound=10.0)]
            cases.append(Case("10", regime, ratio, 100, 5, trials))
    return cases


def test_comparisons_say_what_was_measured():
    found = {at.quantity: at for at in remarks.compare(made_cases())}
    ranking = "paper, distances: networks with mixing >= clustering >= packing, %"
    assert found[ranking].ours == 100.0
    assert "The paper's order." in found[ranking].remark
    growth = found["exponent of the growth of random's cost with users"]
    assert (growth.ours, growth.paper) == (2.0, "1 (linear)")
    assert "square" in growth.remark
    flat = found["paper, distances: largest CRR of mixing over its smallest"]
    assert (flat.ours, flat.remark) == (1.0, "Flat, as in the paper.")
    near = found["sparse: CRR of greedy packing over mixing's at a ratio of 0.1"]
    assert near.ours == 0.5
    assert "do not meet" in near.remark
    assert found["seconds of clustering"].paper == "100.235"


def test_reversals_are_found_and_explained():
    costs = {"packing": 10.0, "clustering": 40.0, "steiner_mixing": 90_000.0}
    found = {at.quantity: at for at in remarks.compare(made_cases(**costs))}
    ranking = found["paper, distances: networks with mixing >= clustering >= packing, %"]
    assert ranking.ours == 0.0
    assert remarks.WHY_PACKING in ranking.remark
    assert remarks.WHY_MIXING in ranking.remark
    worse = found["networks where Steiner-tree mixing costs more than random, %"]
    assert worse.ours == 100.0


def test_half_of_the_saving_is_fewer_networks():
    assert settings.users_at(1.0, 10_000) == 10_000
    assert settings.users_at(0.01, 10_000) == 3162
    assert settings.users_at(1e-9, 1000) == settings.FEWEST_USERS
    assert settings.users_at(1e-9, 30) == 30
    assert settings.instances_at(1.0, 100) == 100
    assert settings.instances_at(0.01, 100) == 10
    assert settings.instances_at(1e-6, 100, 2) == 2
