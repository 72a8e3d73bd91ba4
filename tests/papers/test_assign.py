"""The paper's experiments, at the smallest size; what is compared is what was measured."""

from __future__ import annotations

import csv
from functools import partial

import numpy as np
import pytest

import fanwise as fw
from fanwise.papers import page as papers_page
from fanwise.papers.assign import instances, runs
from fanwise.papers.assign.comparisons import compare, told_candidates
from fanwise.papers.assign.runs import Details
from fanwise.papers.case import Case
from fanwise.papers.course import Course
from fanwise.papers.page import save_reproduction
from fanwise.papers.paper import read_paper
from fanwise.papers.reproduce import reproduce
from fanwise.report import page
from fanwise.workload.generators.groups import groups
from fanwise.workload.plot_style import encode

PAPER = read_paper("assign")
TABLES = PAPER.numbers["tables"]
FIRST = ("(IS:L, BI:L)", "(IS:H, BI:L)", "(IS:L, BI:H)", "(IS:H, BI:H)")
TINY = {
    "runs": 2, "alphas": (1, 3), "sizes": (0.5, 1.0), "loads": (2, 4), "clusters": (1, 2),
    "gammas": (0.1, 1.0), "difficult": ((3, 3), (2, 1), (3, 1)), "difficult_each": 2,
    "best_effort": 0.05, "fewest_subscribers": 90, "fewest_brokers": 5, "out_degree": 2,
}  # fmt: skip


def coarsely(figure, image_format, **_):
    """Fine pictures would take most of the time."""
    return encode(figure, image_format, dpi=40)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The whole course on tiny instances: the folder, the rows, and what was compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instances, "groups", partial(groups, depth=3, branching=5, removed=5))
        for module in (page, papers_page):
            patch.setattr(module, "encode", coarsely)
        found = reproduce("assign", 1e-5, seed=1, **TINY)
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
    for panel, values in TABLES.items():
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
        if name in PAPER.series:
            is_repeated = PAPER.series[name].is_random and figure != "13"
            assert len(values) == (TINY["runs"] if is_repeated else 1), (figure, name)


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
    instance = instances.difficult_instance(3, 2, 4)
    course = Course.of("assign", 1.0, seed=5, best_effort=0.05)
    names = ("gr-star", "gr-next", "slp")
    case = runs.run_case(course, "x", instance, names, runs=2, with_bound=True)
    for name, seed, knobs in (
        ("gr-star", 5, {}), ("gr-next", 6, {"evict": "next"}), ("slp", 6, {}),
    ):  # fmt: skip
        plan = instance.problem.solve(PAPER.series[name].algorithm, seed=seed, **knobs)
        result, detail = case.results[name][-1], case.kept["details"][name][-1]
        assert result["bandwidth"] == plan.objective
        assert result["feasible"] == plan.feasible
        assert result["lbf"] == plan.metrics["lbf"]
        assert detail.loads.max() == pytest.approx(plan.metrics["lbf"])
    assert [len(case.results[name]) for name in names] == [1, 2, 2]
    assert case.mean("proven bound", "bandwidth") == instance.problem.bound()
    means = np.mean([result["bandwidth"] for result in case.results["slp"]])
    assert case.mean("slp", "bandwidth") == means


def test_knobs_reach_slp(monkeypatch):
    seen = []

    def note(course, problem, name, seed, **knobs):
        seen.append((name, knobs))
        return {}, None

    monkeypatch.setattr(runs, "solve", note)
    course = Course.of("assign", 1.0)
    instance = instances.difficult_instance(2, 1, 2)
    with course.progress.step("") as step:
        list(runs.run_knob(course, "15", instance, "balance", (2, 4), step, rounds=1))
    assert seen == [("slp", {"rounds": 1, "balance": 2}), ("slp", {"rounds": 1, "balance": 4})]


def test_table_three_is_the_papers():
    found = instances.candidates_table(3, 3)
    assert found == told_candidates(Course.of("assign", 1.0))


def smallest(name="(IS:H, BI:H)"):
    return instances.tree_workload(Course.of("assign", 0.0, seed=3), name)


def test_regions_are_where_subscribers_live():
    workload = smallest()
    found = instances.regions_of(workload)
    counts = {name: len(members) for name, members in found.items()}
    assert sum(counts.values()) == workload.num_subscribers
    assert counts["Asia"] > 3 * counts["North America"]
    assert counts["Europe"] > 3 * counts["North America"]


def test_candidates_are_more_with_more_super_subscriptions():
    problem = fw.Assignment(smallest("(IS:L, BI:H)"))
    found = runs.count_candidates(problem, (1, 8), 0)
    assert 0 < found[1] < found[8]


def made(figure, panel, x=None, problem=None, **lbf):
    """A case with one result for each algorithm, whose bandwidth tells its place."""
    details = Details(np.array([0.5, 1.0]), np.array([[10.0, 0.1], [20.0, 0.3]]), "a sample")
    results = {"proven bound": [{"bandwidth": 1.0}]}
    for k, name in enumerate(PAPER.series):
        factor = lbf.get(name.replace("-", "_"), 1.0)
        is_over = factor > problem.lbf_max
        results[name] = [{
            "bandwidth": 10.0 + k, "rms_delay": 0.1, "load_stdev": 1.0, "lbf": factor, "late": 0,
            "overloaded": int(is_over), "seconds": 2.0, "feasible": not is_over,
            "fractional": 2.0, "repairs": 1,
        }]  # fmt: skip
    kept = {"problem": problem, "details": {name: [details] for name in PAPER.series}}
    return Case(figure, {"panel": panel, "x": x}, results, kept)


def made_cases(problem, **lbf):
    yield from (made("7", panel, problem=problem, **lbf) for panel in FIRST)
    yield made("8", "#2", problem=problem, gr=2 * problem.lbf_max)
    yield made("9", "#3", problem=problem)
    for setting in (instances.TIGHT, instances.LOOSE, instances.TIGHTER):
        yield from (made(f"11{setting}", panel, problem=problem) for panel in FIRST)
    yield from (made("13", "", x, problem) for x in (1.0, 3.0))
    yield from (made("14", "", x, problem) for x in (100.0, 200.0))
    for figure in ("15", "16", "18"):
        yield from (made(figure, "tree", x, problem) for x in (1.0, 2.0))
    for x, count in ((1.0, 5), (5.0, 20)):
        yield Case("17", {"panel": "tree", "x": x}, {"slp": [{"candidates": count}]})
    yield made("placement", "like", problem=problem)
    yield made("difficult", "", problem=problem)


def test_comparisons_say_what_was_measured():
    problem = fw.Assignment(smallest())
    cases = list(made_cases(problem, gr=9.0, slp=problem.lbf_max))
    found = {at.quantity: at for at in compare(Course.of("assign", 1.0), cases)}
    assert found["(IS:L, BI:L): SLP / Gr*"].ours == pytest.approx(10 / 11, abs=1e-3)
    assert found["(IS:L, BI:L): SLP / fractional value"].ours == 5.0
    assert found["workloads of set #1 on which Gr keeps all limits"].ours == 0
    assert found["workloads of set #1 on which Gr* keeps all limits"].ours == 4
    assert "evict" in found["workloads of set #1 on which Gr, evicted next keeps all limits"].remark
    beyond = found["#2: largest load of Gr beyond the maximum, %"]
    assert (beyond.ours, beyond.remark[:23]) == (100, "Further beyond it here.")
    assert "Within the maximum" in found["#3: largest load of Gr beyond the maximum, %"].remark
    delay = found["largest delay of SLP"]
    assert delay.remark == "Within the limit, among the subscribers drawn."
    late = compare(
        Course.of("assign", 1.0), list(made_cases(fw.Assignment(smallest(), max_delay=0.1)))
    )
    (told,) = (at for at in late if at.quantity == "largest delay of SLP")
    assert told.remark.startswith("Beyond the limit")
    assert found["tree: candidates at 5 / at 1 super-subscriptions per broker"].ours == 4
    behind = found["trees on which SLP needs more than Gr*, of 8"]
    assert (behind.ours, behind.paper) == (0, "7")
    assert behind.remark.startswith("On half of them at most, unlike in the paper.")
    assert found["interests with the paper's candidate brokers"].ours == 12
    assert "The same table." in found["interests with the paper's candidate brokers"].remark
    assert found["brokers that Gr overloads, %"].remark == "Agrees."
    assert "Gr breaks limits here." in found["(IS:L, BI:L): Gr"].remark
    assert "breaks" not in found["(IS:L, BI:L): Gr*"].remark
    assert "with its number" in found["#3: Gr-l"].remark  # 13 beside the 11 of Gr*
    alike = found["(IS:L, BI:L): Gr / Gr*"]
    assert (alike.ours, alike.paper) == (1.09, "1.45")
    assert alike.remark == "Less than in the paper, on the same side of 1."


def test_sizes_follow_the_scale():
    whole, some, least = (Course.of("assign", scale) for scale in (1.0, 0.01, 1e-6))
    assert instances.subscribers_at(whole) == 100_000
    assert instances.subscribers_at(least) == least.settings.fewest_subscribers
    assert instances.brokers_at(whole, 200) == 200
    assert instances.brokers_at(some, 200) == 20
    assert instances.brokers_at(least, 200) == least.settings.fewest_brokers


@pytest.mark.parametrize(
    ("scale", "words"), [(1.0, "3 times"), (1.0, "instead of the paper's 5"), (0.01, "once on")]
)
def test_notes_say_how_often_was_run(scale, words):
    course = Course.of("assign", scale)
    finished = course.finish(notes={"brokers_share": 0.1, "least": 1.0}, rows=(), comparisons=(),
                             tables=(), figures={})  # fmt: skip
    assert words in " ".join(finished.notes)


def test_nothing_in_the_data_file_is_unused(done, never_asked):
    assert not never_asked(read_paper("assign"))
