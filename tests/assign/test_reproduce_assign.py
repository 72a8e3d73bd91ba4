"""The paper's experiments, at the smallest size; what is compared is what was measured."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import fanwise as fw
from fanwise.assign.reproducing import instances, reproduce, runs, settings
from fanwise.assign.reproducing.counting import count_candidates
from fanwise.assign.reproducing.notes import notes
from fanwise.assign.reproducing.remarks import compare
from fanwise.assign.reproducing.runs import Case, Effort, Result
from fanwise.report import page, reproductions
from fanwise.report.reproductions import save_reproduction
from fanwise.workload.generators.groups import groups
from fanwise.workload.look import encode

TINY = replace(
    settings.FEW, runs=2, alphas=(1, 3), sizes=(0.5, 1.0), loads=(2, 4), clusters=(1, 2),
    gammas=(0.1, 1.0), hard=((3, 3), (2, 1), (3, 1)), hard_each=2, best_effort=0.05,
)  # fmt: skip


def coarsely(figure, image_format, **_):
    """Fine pictures would take most of the time."""
    return encode(figure, image_format, dpi=40)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The whole course on tiny instances: the folder, the rows, and what was compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "FEWEST_SUBSCRIBERS", 90)
        patch.setattr(settings, "FEWEST_BROKERS", 5)
        patch.setattr(instances, "OUT_DEGREE", 2)
        patch.setattr(instances, "groups", partial(groups, depth=3, branching=5, removed=5))
        patch.setattr(reproduce, "FEW", TINY)
        for module in (page, reproductions):
            patch.setattr(module, "encode", coarsely)
        found = reproduce.reproduce(1e-5, seed=1)
        folder = tmp_path_factory.mktemp("reproduce") / "out"
        files = save_reproduction(found, folder)
    with open(folder / "table.csv", newline="", encoding="utf-8") as file:
        return folder, files, list(csv.DictReader(file)), found


def numbers(rows, quantity, *figures):
    found = {}
    for row in rows:
        if row["quantity"] == quantity and row["figure"] in figures:
            at = row["figure"], row["panel"], row["x"], row["series"]
            found.setdefault(at, []).append(float(row["ours"]))
    return found


def test_the_folder_has_every_figure(done):
    folder, files, rows, found = done
    assert {path.name for path in folder.iterdir()} == set(files)
    for figure in range(6, 19):
        assert any(name.startswith(f"fig{figure}") for name in files), figure
    assert {"fig10a-bandwidth.png", "fig10d-loads.png", "fig12b-loads.png", "difficult.png"} <= set(
        files
    )
    html = (folder / "report.html").read_text(encoding="utf-8")
    for words in ("Table I:", "Table II:", "Table III:", "Figs. 19 to 21", "minimum cut"):
        assert words in html
    drawn = {row["figure"] for row in rows}
    assert drawn >= {"7", "8", "9", "13", "14", "15", "16", "17", "18", "placement", "difficult"}
    assert all(comparison.remark for comparison in found.comparisons)


def test_the_papers_tables_stand_beside_ours(done):
    _, _, rows, found = done
    told = {(row["panel"], row["series"], row["quantity"]): row["paper"]
            for row in rows if row["paper"]}  # fmt: skip
    for panel, values in {**settings.PAPER_TABLE_1, **settings.PAPER_TABLE_2}.items():
        for name, value in values.items():
            at = ("slp", "fractional") if name == "fractional" else (name, "bandwidth")
            assert told.pop((panel, *at)) == f"{value:g}"
    assert not told
    by_quantity = {at.quantity: at for at in found.comparisons}
    measured = numbers(rows, "bandwidth", "7")["7", "(IS:L, BI:H)", "", "gr"]
    assert by_quantity["(IS:L, BI:H): Gr"].paper == "1.05e+10"
    assert by_quantity["(IS:L, BI:H): Gr"].ours == pytest.approx(measured[0], rel=0.01)


def test_random_algorithms_run_as_often_as_asked(done):
    _, _, rows, _ = done
    for (figure, _, _, name), values in numbers(rows, "bandwidth", "7", "8", "9", "13").items():
        if name in settings.SERIES:
            is_repeated = settings.SERIES[name].is_random and figure != "13"
            assert len(values) == (TINY.runs if is_repeated else 1), (figure, name)


def test_who_ignores_nothing_is_in_time_and_best_is_never_above_gr_star(done):
    _, _, rows, _ = done
    figures = ("7", "8", "9", "11tight", "11loose", "difficult")
    late = numbers(rows, "late", *figures)
    over = numbers(rows, "overloaded", *figures)
    bandwidth = numbers(rows, "bandwidth", *figures)
    assert {name for *_, name in late} >= {"slp", "gr-star", "gr", "balance", "best"}
    for (*at, name), values in late.items():
        if name in ("slp", "gr-star", "gr", "balance", "best"):
            assert not any(values), (at, name)
        if name in ("slp", "balance"):
            assert not any(over[(*at, name)]), (at, name)
        if name == "gr-star" and not any(over[(*at, name)]):
            assert max(bandwidth[(*at, "best")]) <= bandwidth[(*at, name)][0] * (1 + 1e-9)


def test_a_case_is_what_plans_measure():
    instance = instances.hard_instance(3, 2, 4)
    effort = Effort(0.05, 2, 5)
    case = runs.run_case("x", instance, ("gr-star", "gr-next", "slp"), effort, with_bound=True)
    for name, seed, knobs in (
        ("gr-star", 5, {}), ("gr-next", 6, {"evict": "next"}), ("slp", 6, {}),
    ):  # fmt: skip
        plan = instance.problem.solve(settings.SERIES[name].algorithm, seed=seed, **knobs)
        result = case.results[name][-1]
        assert result.bandwidth == plan.objective
        assert result.is_feasible == plan.feasible
        assert result.lbf == plan.metrics["lbf"]
        assert result.loads.max() == pytest.approx(plan.metrics["lbf"])
    assert [len(case.results[name]) for name in ("gr-star", "gr-next", "slp")] == [1, 2, 2]
    assert case.bound == instance.problem.bound()
    assert case.mean("slp") == np.mean([result.bandwidth for result in case.results["slp"]])


def test_knobs_reach_slp(monkeypatch):
    seen = []
    monkeypatch.setattr(runs, "solve", lambda *args, **knobs: seen.append((args[1], knobs)))

    class Silent:
        def note(self, words): ...
        def advance(self): ...

    instance = instances.hard_instance(2, 1, 2)
    list(runs.run_knob("15", instance, "balance", (2, 4), Effort(1, 1, 0), Silent(), rounds=1))
    assert seen == [("slp", {"rounds": 1, "balance": 2}), ("slp", {"rounds": 1, "balance": 4})]


def test_table_three_is_the_papers():
    assert instances.candidates_table(3, 3) == settings.PAPER_TABLE_3


def test_regions_are_where_subscribers_live():
    workload = instances.tree_workload(0.0, ("H", "H"), 3)
    found = instances.regions_of(workload)
    counts = {name: len(members) for name, members in found.items()}
    assert sum(counts.values()) == workload.num_subscribers
    assert counts["Asia"] > 3 * counts["North America"]
    assert counts["Europe"] > 3 * counts["North America"]


def test_candidates_are_more_with_more_super_subscriptions():
    problem = fw.Assignment(instances.tree_workload(0.0, ("L", "H"), 3))
    found = count_candidates(problem, (1, 8), 0)
    assert 0 < found[1] < found[8]


def made(figure, panel, x=None, problem=None, **lbf):
    """A case with one result for each algorithm, whose bandwidth tells its place."""
    loads = np.array([0.5, 1.0])
    marks = np.array([[10.0, 0.1], [20.0, 0.3]])
    results = {}
    for k, name in enumerate(settings.SERIES):
        factor = lbf.get(name.replace("-", "_"), 1.0)
        over = int(factor > problem.lbf_max)
        facts = {"fractional": 2.0, "fractional_of": "a sample", "repairs": 1}
        results[name] = [
            Result(10.0 + k, 0.1, 1.0, factor, 0, over, not over, 2.0, loads, marks, facts)
        ]
    return Case(figure, panel, x, problem, results, bound=1.0)


def test_comparisons_say_what_was_measured():
    problem = fw.Assignment(instances.tree_workload(0.0, ("H", "H"), 0))
    cases = [made("7", panel, problem=problem, gr=9.0) for panel in settings.SKEWS]
    cases += [made("8", "#2", problem=problem, gr=2 * problem.lbf_max),
              made("9", "#3", problem=problem)]  # fmt: skip
    for setting in (settings.TIGHT, settings.LOOSE, settings.TIGHTER):
        cases += [made(f"11{setting}", panel, problem=problem) for panel in settings.SKEWS]
    cases += [made("13", "", x, problem) for x in (1.0, 3.0)]
    cases += [made("14", "", x, problem) for x in (100.0, 200.0)]
    for figure in ("15", "16", "18"):
        cases += [made(figure, "tree", x, problem) for x in (1.0, 2.0)]
    cases += [made("placement", "like", problem=problem), made("difficult", "", problem=problem)]
    found = {at.quantity: at for at in compare(cases, {"tree": {1: 5, 5: 20}}, 1.0)}
    assert found["(IS:L, BI:L): SLP / Gr*"].ours == pytest.approx(10 / 11, abs=1e-3)
    assert found["(IS:L, BI:L): SLP / fractional value"].ours == 5.0
    assert found["workloads of set #1 on which Gr keeps all limits"].ours == 0
    assert found["workloads of set #1 on which Gr* keeps all limits"].ours == 4
    assert found["#2: largest load of Gr beyond the maximum, %"].ours == 100
    assert found["tree: candidates at 5 / at 1 super-subscriptions per broker"].ours == 4
    assert found["trees on which SLP needs more than Gr*, of 8"].ours == 0
    assert found["interests with the paper's candidate brokers"].ours == 12


def test_sizes_follow_the_scale():
    assert settings.subscribers_at(1.0) == 100_000
    assert settings.subscribers_at(1e-6) == settings.FEWEST_SUBSCRIBERS
    assert settings.brokers_at(1.0, 200) == 200
    assert settings.brokers_at(0.01, 200) == 20
    assert settings.brokers_at(1e-6, 200) == settings.FEWEST_BROKERS


def test_notes_say_how_often_was_run():
    assert "3 times" in " ".join(notes(1.0, settings.WHOLE))
    assert "instead of the paper's 5" in " ".join(notes(1.0, settings.WHOLE))
    assert "once" in " ".join(notes(0.01, settings.FEW))
