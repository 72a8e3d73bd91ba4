import csv
import json

import numpy as np
import pytest

import fanwise as fw
from fanwise.cli.main import main
from fanwise.papers.case import Case
from fanwise.papers.course import Course
from fanwise.papers.paper import read_paper
from fanwise.papers.reproduce import reproduce
from fanwise.papers.select import runs
from fanwise.papers.select.hours import simulated_hours
from fanwise.papers.select.reproduce import bound_share, compare_hours, compare_ratios
from fanwise.select.greedy import greedy_binary, greedy_fractional
from fanwise.select.greedy_naive import order_binary, order_fractional
from fanwise.workload.generators.spotify import spotify

PICTURES = ("fig2-coverage-binary", "fig3-coverage-fractional", "fig4-ratios", "fig5-seconds",
            "fig6-hourly-seconds", "fig7-hourly-ratios")  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduce") / "out"
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "select", "--scale", "0.001", "--out", str(out), "--json"])
    assert stopped.value.code == 0
    return out


@pytest.fixture(scope="module")
def rows(folder):
    with open(folder / "table.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_files(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {"report.html", "table.csv", *(f"{name}.png" for name in PICTURES)}
    for name in PICTURES:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "The workload is synthetic" in page
    assert "0.87 (figure), 0.83 (text)" in page


def test_columns_and_figures(rows):
    assert list(rows[0]) == ["figure", "metric", "tau", "capacity_percent", "window", "series",
                             "quantity", "ours", "paper"]  # fmt: skip
    assert {row["figure"] for row in rows} == {"2", "3", "4", "5", "6", "7"}
    papers = {(row["metric"], row["tau"]): row["paper"] for row in rows
              if row["series"] == "greedy / paper bound" and row["figure"] == "4"}  # fmt: skip
    assert papers["binary", "276.0"] == "0.75"
    assert papers["fractional", "2763.0"] == "0.9"


def test_ratios_are_ratios(rows):
    ratios = [float(row["ours"]) for row in rows if row["quantity"] == "ratio"]
    assert len(ratios) > 150
    assert all(0 < ratio <= 1 for ratio in ratios)
    windows = {row["window"] for row in rows if row["figure"] == "7"}
    assert windows == {str(window) for window in range(10)}


def test_greedy_stays_below_both_bounds_and_ours_is_the_tighter(rows):
    at = {(row["metric"], row["tau"], row["series"]): float(row["ours"]) for row in rows
          if row["quantity"] == "value" and row["capacity_percent"] == "10.0"}  # fmt: skip
    problems = {key[:2] for key in at}
    assert len(problems) == 10
    for key in problems:
        assert at[(*key, "greedy")] <= at[(*key, "our bound")] <= at[(*key, "paper bound")]


def test_the_result_as_json(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--scale", "0.0005", "--out", str(tmp_path / "r"), "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["scale"] == 0.0005
    assert {row["figure"] for row in printed["comparisons"]} == {"2", "4", "5", "6", "7"}
    assert all(row["remark"] for row in printed["comparisons"])


@pytest.mark.parametrize("tau", [27, 276, 2763])
def test_slow_makes_the_choices_of_lazy_in_the_same_order(tau):
    workload = spotify(scale=0.001, seed=4)
    problem = fw.Selection(workload, tau=tau, capacity="10%", metric="fractional")
    for by_cost in (False, True):
        lazy = greedy_fractional(problem, by_cost=by_cost).order
        assert order_fractional(problem, by_cost=by_cost).tolist() == lazy.tolist()
    problem = fw.Selection(workload, tau=tau, capacity="10%")
    assert order_binary(problem).tolist() == greedy_binary(problem).order.tolist()


def test_above_some_size_slow_and_lazy_run_on_a_smaller_workload():
    course = Course.of("select", 0.001, taus=(27, 276))
    workload, smaller = spotify(scale=0.001), spotify(scale=0.0005)
    cases = list(runs.seconds_cases(course, workload, smaller))
    assert [(case.kept["algorithm"], case.at["tau"], case.kept["pairs"]) for case in cases] == [
        (name, tau, at.num_pairs)
        for tau in (27, 276)
        for name, at in (
            ("GreedyB3M", workload),
            ("ModifiedGreedyFB3M", workload),
            ("ModifiedGreedyFB3M", smaller),
            ("ModifiedGreedyFB3MSlow", smaller),
        )
    ]
    assert len({series for case in cases for series in case.results}) == 4
    same = runs.seconds_cases(course, smaller, smaller)
    assert [series for case in same for series in case.results] == 2 * [
        "GreedyB3M", "ModifiedGreedyFB3M", "ModifiedGreedyFB3MSlow",
    ]  # fmt: skip


def test_a_reproduction_above_that_size_says_so():
    result = reproduce("select", 0.0005, slow_scale=0.0003)
    assert "3,600 interests" in result.notes[-1]
    series = {row[5] for row in result.rows if row[0] == "5"}
    assert series == {
        "GreedyB3M", "ModifiedGreedyFB3M", "ModifiedGreedyFB3M, 3,600 pairs",
        "ModifiedGreedyFB3MSlow, 3,600 pairs",
    }  # fmt: skip
    (ratio,) = (at for at in result.comparisons if at.paper == "> 1.65")
    assert ratio.ours > 0


def made_hours(binary, fractional):
    """Single hours whose ratios and seconds are given by metric."""
    for metric, (ratio, seconds) in (("binary", binary), ("fractional", fractional)):
        for capacity in (1, 50):
            at = runs.setting_of(metric, 20, capacity, 0)
            yield Case("6", at, {"greedy": [{"seconds": seconds}]})
            yield Case("7", at, {"greedy / paper bound": [{"ratio": ratio + capacity / 1000}],
                                 "greedy / our bound": [{"ratio": 0.99}]})  # fmt: skip


def made_ratios(course, **by_metric):
    """Fig. 4 with these ratios to the paper's bound at the taus that the paper names."""
    return [
        Case("4", runs.setting_of(metric, tau, 10.0), {
            "greedy / paper bound": [{"ratio": ratio}], "greedy / our bound": [{"ratio": 0.99}],
        })
        for metric, ratios in by_metric.items()
        for tau, ratio in zip(course.settings.named_taus, ratios, strict=True)
    ]  # fmt: skip


def test_remarks_on_ratios_say_what_was_measured():
    course = Course.of("select", 1.0)
    as_told = made_ratios(course, binary=(0.85, 0.74, 0.82), fractional=(0.9, 0.8, 0.9))
    found = {at.quantity: at for at in compare_ratios(course, as_told)}
    ratio = found["binary: greedy / paper's bound at tau 276"]
    assert (ratio.ours, ratio.paper, ratio.remark[:12]) == (0.74, "0.75", "Within 0.03.")
    fall = found["binary: greedy / paper's bound, tau 276 less tau 27"]
    assert (fall.ours, fall.remark) == (-0.11, "The same trend.")
    assert found["lowest ratio (binary, tau 276)"].remark == "Holds."
    ahead = found["fractional ratio - binary ratio at tau 2763"]
    assert (ahead.ours, ahead.paper) == (0.08, "0.08 (0.9 less 0.82)")
    assert ahead.remark == "As in the paper, fractional is nearer."

    turned = made_ratios(course, binary=(0.6, 0.75, 0.752), fractional=(0.6, 0.7, 0.7))
    found = {at.quantity: at for at in compare_ratios(course, turned)}
    assert found["binary: greedy / paper's bound at tau 27"].remark.startswith("Off by 0.23,")
    rise = found["binary: greedy / paper's bound, tau 276 less tau 27"]
    assert (rise.ours, rise.remark[:18]) == (0.15, "The other way roun")
    flat = found["binary: greedy / paper's bound, tau 2763 less tau 276"]
    assert flat.remark == "Nearly flat here."
    assert found["lowest ratio (binary, tau 27)"].remark == "It does not hold here."
    assert found["fractional ratio - binary ratio at tau 276"].remark == "Not as in the paper."


def test_remarks_on_hours_say_what_was_measured():
    course = Course.of("select", 1.0)
    found = {
        at.quantity: at for at in compare_hours(course, list(made_hours((0.7, 3.0), (0.8, 1.0))))
    }
    assert found["binary seconds / fractional seconds, mean"].ours == 3.0
    assert "As in the paper" in found["binary seconds / fractional seconds, mean"].remark
    lowest = found["lowest ratio on an hour (binary, capacity 1%)"]
    assert lowest.ours == 0.701
    assert "loosest where capacity is scarcest" in lowest.remark
    elsewhere = Course.of("select", 1.0, hour_capacities=[0.5, 1, 50])
    others = compare_hours(elsewhere, [
        *made_hours((0.7, 3.0), (0.8, 1.0)),
        Case(
            "7", runs.setting_of("binary", 20, 0.5, 0), {"greedy / paper bound": [{"ratio": 0.9}]}
        ),
    ])  # fmt: skip
    (told,) = (at for at in others if at.quantity.startswith("lowest"))
    assert "scarcest" not in told.remark
    ahead = found["fractional ratio - binary ratio, mean"]
    assert (ahead.ours, ahead.remark[:12]) == (0.1, "As in the pa")
    assert found["ratio at 50% - ratio at 1% of capacity, mean"].ours == 0.049
    assert found["longest run on an hour, seconds"].remark == "Other machine and code."
    turned = {
        at.quantity: at for at in compare_hours(course, list(made_hours((0.8, 1.0), (0.7, 1.0))))
    }
    behind = turned["fractional ratio - binary ratio, mean"].remark
    assert "Not as in the paper" in behind
    assert "ahead in 0% of the cases" in behind
    assert "of the cases" not in found["fractional ratio - binary ratio, mean"].remark
    assert "queue" in turned["binary seconds / fractional seconds, mean"].remark


@pytest.mark.parametrize(("ours", "says"), [(110.0, True), (190.0, False)])
def test_whose_the_gap_is_is_measured(ours, says):
    values = {"greedy": 100.0, "paper bound": 200.0, "our bound": ours}
    case = Case("2", {}, {name: [{"value": value}] for name, value in values.items()})
    share = bound_share([case])
    assert share == pytest.approx((200 - ours) / 100)
    course = Course.of("select", 1.0)
    told = course.paper.notes(
        **vars(course.settings), topics=1, subscribers=1, pairs=1, scale=1.0, lazy="", slow="",
        is_smaller=False, smaller_pairs=1, bound_share=share,
    )  # fmt: skip
    assert any("its bound's, not greedy's" in note for note in told) == says


def test_hours_hold_what_is_active_and_repeat():
    workload = spotify(scale=0.001, seed=2)
    first, second = (
        list(simulated_hours(workload, first_hour=12, count=3, seed=5)) for _ in range(2)
    )
    assert [hour.hash for hour in first] == [hour.hash for hour in second]
    assert len({hour.hash for hour in first}) == 3
    for hour in first:
        assert hour.period_seconds == 3600
        assert np.all(hour.rates >= 1)
        assert hour.num_topics < workload.num_topics
        assert np.all(np.diff(hour.interests.indptr) >= 1)
    expected = workload.rates.sum() / 240
    assert expected < first[0].rates.sum() * 4
    assert first[0].rates.sum() < 4 * expected


def test_nothing_in_the_data_file_is_unused(folder, never_asked):
    assert not never_asked(read_paper("select"))
