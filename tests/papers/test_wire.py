"""The paper's experiments, at the smallest size; what is compared is what was measured."""

from __future__ import annotations

import csv

import pytest

import fanwise as fw
from fanwise.papers.course import Course
from fanwise.papers.page import save_reproduction
from fanwise.papers.paper import read_paper
from fanwise.papers.reproduce import reproduce
from fanwise.papers.wire import runs
from fanwise.papers.wire.reproduce import compare
from fanwise.papers.wire.runs import PAPERS, Trial, summarise
from fanwise.workload.generators.sparse import sparse

SCALE = 1e-4
DISTANCES, INDEPENDENT, SPARSE = "paper, distances", "paper, independent costs", "sparse"
FEW = {
    "sizes": {DISTANCES: (2000, 5000), INDEPENDENT: (2000, 4000), SPARSE: (400, 600)},
    "ratios": {DISTANCES: (0.5, 2.0), INDEPENDENT: (0.5, 2.0), SPARSE: (10.0, 50.0)},
    "audiences": (1.0, 3.0),
    "best_effort": 0.001,
}


def few_regimes():
    regimes = Course.of("wire", SCALE).settings.regimes
    users = {DISTANCES: 3000, INDEPENDENT: 2000, SPARSE: 400}
    return {name: {**at, "ratio_users": users[name]} for name, at in regimes.items()}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The whole course on tiny networks: the folder, the rows, and what was compared."""
    found = reproduce("wire", SCALE, seed=1, regimes=few_regimes(), **FEW)
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
    assert {row["regime"] for row in rows} == {DISTANCES, INDEPENDENT, SPARSE}
    assert all(comparison.remark for comparison in found.comparisons)
    told = {row["series"]: row["paper"] for row in rows if row["paper"]}
    assert told == Course.of("wire", 1.0).paper.numbers["seconds"]


def test_no_algorithm_beats_the_bound_and_ratios_are_of_random(done):
    _, _, rows, _ = done
    points = by_point(row for row in rows if row["figure"] != "I")
    assert len(points) == 14
    for values in points.values():
        assert values["random", "CRR"] == 1.0
        for name in ("random", *PAPERS, "migration"):
            assert 0 < values[name, "least CRR"] <= values[name, "most CRR"]
        if ("best", "CRR") in values:
            assert values["best", "CRR"] <= values["network", "highest CRR"] * (1 + 1e-9)
            assert values["best", "instances"] == 1.0
        assert values["packing", "instances"] == 3.0


def test_a_trial_is_what_plans_measure():
    problem = fw.Wiring(sparse(40, brokers=4, channels=20, seed=3), core_factor=0.5)
    course = Course.of("wire", 1.0, seed=7, best_effort=0.001, most_instances={})
    trial = runs.run_trial(course, problem, 0)
    assert next(iter(trial.results)) == "random"
    for name in ("random", *PAPERS, "migration"):
        plan = problem.solve(name, seed=7)
        result = trial.results[name]
        assert trial.cost(name) == pytest.approx(plan.objective, rel=1e-12)
        assert result["access"] == pytest.approx(plan.metrics["access"])
        assert result["overloaded"] == plan.metrics["overloaded"]
        assert trial.crr(name) == pytest.approx(trial.cost("random") / plan.objective)
        assert trial.bound <= trial.cost(name) * (1 + 1e-9) or result["overloaded"]
    assert 0.5 <= trial.steiner <= 1 + 1e-12
    course = Course.of("wire", 1.0, seed=7, best_effort=0.001,
                       most_instances={"best": 1, "migration": 2})  # fmt: skip
    later = runs.run_trial(course, problem, 1)
    assert "best" not in later.results
    assert "migration" in later.results
    assert later.bound is None


def test_all_ratios_have_the_same_networks(monkeypatch):
    posed = []

    def note(course, problem, number):
        posed.append(problem)
        return made_trial()

    monkeypatch.setattr(runs, "run_trial", note)
    course = Course.of("wire", SCALE, ratios={SPARSE: (5.0, 50.0)}, sizes={SPARSE: ()},
                       fewest_instances=2)  # fmt: skip
    with course.progress.step("") as step:
        cheap, usual = runs.run_regime(course, SPARSE, step)
    assert (cheap.x, usual.x) == (5.0, 50.0)
    assert len(posed) == 4
    for one, other in zip(posed[:2], posed[2:], strict=True):
        assert one.workload.hash == other.workload.hash
        assert (one.core_factor, other.core_factor) == (0.1, 1.0)
    assert posed[0].workload.hash != posed[1].workload.hash


def made_trial(users=100, *, with_best=False, bound=None, **costs):
    found = {"random": users**2, "packing": 50.0, "clustering": 40.0, "steiner_mixing": 25.0}
    found |= {"migration": 20.0} | costs
    if not with_best:
        found.pop("best", None)
    results = {
        name.replace("_", "-"): {
            "access": 0.25 * cost, "core": 0.75 * cost, "seconds": 0.1, "overloaded": 0.0,
        }
        for name, cost in found.items()
    }  # fmt: skip
    return Trial(results, 0.95, bound, None if bound is None else 0.95)


def made_case(figure, regime, x, trials, users=100):
    return summarise(figure, regime, x, fw.Wiring(sparse(users, brokers=5)), trials)


def test_what_ran_on_some_networks_is_measured_by_the_yardstick():
    easy = made_trial(random=100.0, packing=10.0, best=5.0, with_best=True, bound=4.0)
    hard = made_trial(random=100.0, packing=50.0)
    case = made_case("9", "sparse", 100, [easy, hard])
    assert case.mean("packing", "CRR") == pytest.approx((10 + 2) / 2)
    assert case.mean("best", "CRR") == pytest.approx(20 * 6 / 10)
    assert case.mean("network", "highest CRR") == pytest.approx(25 * 6 / 10)
    assert runs.ahead(case, "best", "packing") == pytest.approx(2.0)
    assert case.kept["split"]["packing"] == pytest.approx((0.25 * 0.3, 0.75 * 0.3))
    assert case.kept["split"]["best"] == pytest.approx((0.25 * 0.15, 0.75 * 0.15))
    alone = made_case("9", "sparse", 100, [hard])
    assert "highest CRR" not in alone.results["network"][0]


def made_cases(**costs):
    for regime in (DISTANCES, INDEPENDENT, SPARSE):
        for users in (100, 200):
            yield made_case("9", regime, users, [made_trial(users, **costs)], users)
        for ratio in (0.1, 10.0):
            yield made_case("10", regime, ratio, [made_trial(**costs, bound=10.0)])


def compared(**costs):
    course = Course.of("wire", 1.0)
    return {at.quantity: at for at in compare(course, list(made_cases(**costs)))}


def test_comparisons_say_what_was_measured():
    found = compared()
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
    assert found["seconds of migration"].paper == "not measured"


def test_reversals_are_found_and_explained():
    found = compared(packing=10.0, clustering=40.0, steiner_mixing=90_000.0)
    ranking = found["paper, distances: networks with mixing >= clustering >= packing, %"]
    assert ranking.ours == 0.0
    assert "Access is 25% of what packing costs" in ranking.remark
    assert "(95%) the core costs the same" in ranking.remark
    assert "a channel's tree has one broker" in ranking.remark
    assert (
        "a channel's tree"
        not in found[
            "paper, independent costs: networks with mixing >= clustering >= packing, %"
        ].remark
    )
    worse = found["networks where Steiner-tree mixing costs more than random, %"]
    assert worse.ours == 100.0


def test_half_of_the_saving_is_fewer_networks():
    whole, some, least = (Course.of("wire", scale) for scale in (1.0, 0.01, 1e-9))
    assert runs.users_at(whole, 10_000) == 10_000
    assert runs.users_at(some, 10_000) == 3162
    assert runs.users_at(least, 1000) == least.settings.fewest_users
    assert runs.users_at(least, 30) == 30
    assert runs.counts_at(whole)[0]["9"] == 100
    assert runs.counts_at(some)[0]["9"] == 10
    assert runs.counts_at(least) == (
        {"9": 3, "10": 3, "audience": 3}, {"migration": 3, "best": 1},
    )  # fmt: skip


def test_nothing_in_the_data_file_is_unused(done, never_asked):
    assert not never_asked(read_paper("wire"))
