import contextlib
import csv
import io
import json

import numpy as np
import pytest
from tests.strategies import Instance

import fanwise as fw
from fanwise.cli.main import main
from fanwise.papers.case import Case, pick
from fanwise.papers.course import Course
from fanwise.papers.paper import read_paper
from fanwise.papers.provision.comparisons import compare
from fanwise.papers.provision.example import example_problem, example_traffic
from fanwise.papers.provision.reproduce import literal_facts
from fanwise.papers.provision.runs import (
    LITERAL,
    OURS,
    REGIMES,
    SCALED,
    TRACES,
    Sample,
    cost_cases,
    fit_machines,
    make_sample,
    stages,
    weigh,
)
from fanwise.papers.provision.traces import compare_statistics
from fanwise.planning.problem import Run
from fanwise.progress import SILENT
from fanwise.provision.plots import LADDER
from fanwise.workload.generators.spotify import spotify
from fanwise.workload.generators.twitter_degrees import TOPICS
from fanwise.workload.topic.statistics import workload_statistics

TAUS, INSTANCES = (10, 100, 1000), ("c3.large", "c3.xlarge")
COURSE = Course.of("provision", 0.01, seed=5)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The smallest reproduction: the folder, and what it printed."""
    out = tmp_path_factory.mktemp("reproduce") / "out"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit) as stopped:
        main(["reproduce", "provision", "--scale", "0.001", "--out", str(out), "--json"])
    assert stopped.value.code == 0
    return out, json.loads(printed.getvalue())


@pytest.fixture(scope="module")
def rows(done):
    with open(done[0] / "table.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_files_and_figures(done):
    out, printed = done
    names = {path.name for path in out.iterdir()}
    assert names == set(printed["files"])
    for figure in range(2, 13):
        assert any(name.startswith(f"fig{figure}") for name in names), figure
    for trace, letter in (("fig2", "spotify"), ("fig3", "twitter")):
        for panel in "ab":
            for regime in REGIMES:
                assert f"{trace}{panel}-{letter}-{regime}.png" in names
    page = (out / "report.html").read_text(encoding="utf-8")
    for words in ("Where the paper contradicts itself", "638.5 million", "10.7%", "Than RSP",
                  "The workloads are synthetic", "$829"):  # fmt: skip
        assert words in page


def test_the_papers_numbers_stand_beside_ours_in_the_scaled_regime_alone(done, rows):
    _, printed = done
    by_quantity = {row["quantity"]: row for row in printed["comparisons"]}
    told = read_paper("provision").numbers["gsp_saves"]
    for trace, by_instance in told.items():
        for instance, papers in by_instance.items():
            for tau, paper in zip(TAUS, papers, strict=True):
                row = by_quantity[f"{trace}, {instance}, tau {tau}: cost saved by GSP, %"]
                assert row["paper"] == paper
                assert row["remark"]
    assert {row["figure"] for row in printed["comparisons"]} >= {
        "2a", "2b", "3a", "3b", "4", "5", "6", "7", "9", "11",
    }  # fmt: skip
    assert {row["regime"] for row in rows if row["paper"]} == {SCALED}


def test_costs_in_the_table(rows):
    at = {}
    for row in rows:
        if row["quantity"] in ("usd", "machines"):
            key = (row["trace"], row["regime"], row["instance"], row["tau"])
            at.setdefault(key, {})[row["series"], row["quantity"]] = float(row["ours"])
    assert len(at) == len(TRACES) * len(REGIMES) * len(INSTANCES) * len(TAUS)
    for (_, regime, _, _), values in at.items():
        ours, bound = values[OURS, "usd"], values["our bound", "usd"]
        assert values["paper's bound", "usd"] <= bound * (1 + 1e-9)
        assert bound <= ours * (1 + 1e-9)
        for name in LADDER:
            assert ours <= values[name, "usd"] * (1 + 1e-12)
            if regime == LITERAL:
                assert values[name, "machines"] <= 2


def test_saved_shares_are_of_the_costs_beside_them(rows):
    costs = {(row["trace"], row["regime"], row["instance"], row["tau"], row["series"]):
             float(row["ours"]) for row in rows if row["quantity"] == "usd"}  # fmt: skip
    shares = [row for row in rows if row["quantity"] == "saved of naive"]
    assert len(shares) == 24 * len(LADDER)
    for row in shares:
        key = (row["trace"], row["regime"], row["instance"], row["tau"])
        saved = 1 - costs[(*key, row["series"])] / costs[(*key, "rsp+ffbp")]
        assert float(row["ours"]) == pytest.approx(saved, abs=1e-12)


def small_sample(divisor=50.0):
    workload = spotify(scale=0.001, seed=3)
    return Sample("Spotify", workload, workload.num_pairs / TRACES["Spotify"].pairs, divisor)


def costs_of(sample, course=COURSE):
    with SILENT.step("") as step:
        return list(cost_cases(course, sample, step))


def problem_of(sample, case):
    return sample.problem(case.at["regime"], case.at["instance"], case.at["tau"])


def test_rungs_are_what_plans_measure():
    """Costs from packings, pairs chosen once, against plans made and measured one by one."""
    sample = small_sample()
    cases = costs_of(sample)
    assert len(cases) == 12
    for case in cases[3::4]:
        problem = problem_of(sample, case)
        for name in LADDER:
            plan = problem.solve(name, seed=5)
            plan.verify()
            (rung,) = case.results[name]
            assert rung["usd"] == pytest.approx(plan.objective, rel=1e-12)
            assert rung["machines"] == plan.metrics["vms"]
            assert rung["in_bytes"] == pytest.approx(plan.metrics["in_bytes"])
            assert rung["out_bytes"] == pytest.approx(plan.metrics["out_bytes"])
        assert case.mean("paper's bound", "usd") == pytest.approx(plan.metrics["paper_bound"])
        assert case.mean("our bound", "usd") == plan.bound


def test_pairs_are_chosen_anew_where_a_topic_fits_the_larger_type_alone():
    workload = Instance([10.0, 3.0, 3.0, 3.0], [[0, 1, 2, 3], [1], [2], [3]], tau=9.0).workload(
        message_bytes=1.0, period_seconds=864000.0
    )
    # Topic 0 needs 20 bytes on a machine; c3.large has 15, c3.xlarge 30.
    mbps = 15 * 8 / 1e6 / 864000
    sample = Sample("Spotify", workload, 1.0, 64.0 / mbps)
    assert not sample.problem(SCALED, "c3.large", 9).is_usable[0]
    assert sample.problem(SCALED, "c3.xlarge", 9).is_usable[0]
    for case in costs_of(sample, Course.of("provision", 0.01, taus=(9,))):
        for name in ("gsp+cbp", "rsp+ffbp"):
            plan = problem_of(sample, case).solve(name)
            assert case.mean(name, "usd") == pytest.approx(plan.objective)


def test_a_sample_keeps_the_number_of_machines_and_scales_the_money():
    """Machines twice as large at twice the rent for twice the workload: as many of them."""
    once, twice = (
        Instance([9.0, 6.0, 5.0], [[0], [1], [1, 2], [0, 1], [1, 2]] * times, tau=8.0).workload(
            message_bytes=1.0, period_seconds=864000.0
        )
        for times in (40, 80)
    )
    divisor = 64 / (400 * 8 / 1e6 / 864000)
    samples = [Sample("Spotify", once, 1.0, divisor), Sample("Spotify", twice, 2.0, divisor)]
    for name in ("gsp+group", "best+best"):
        small, large = (sample.problem(SCALED, "c3.large", 10).solve(name) for sample in samples)
        assert small.metrics["vms"] > 2
        assert abs(large.metrics["vms"] - small.metrics["vms"]) <= 1
        assert large.objective == pytest.approx(2 * small.objective, rel=0.1)


@pytest.mark.parametrize("trace", TRACES)
def test_the_scaled_regime_has_the_papers_number_of_machines(trace):
    course = Course.of("provision", 0.01, seed=1)
    sample = make_sample(course, trace)
    anchor = course.settings.traces[trace]["anchor"]
    problem = sample.problem(SCALED, anchor["instance"], anchor["tau"])
    choose, pack = stages(anchor["algorithm"])
    packing = pack(problem, choose(problem, Run(seed=1)), Run())
    assert len(packing.machines) == pytest.approx(anchor["machines"], rel=0.02)
    smallest = sample.problem(SCALED, "c3.large", anchor["tau"])
    assert smallest.is_usable.all()


def anchor_of(trace):
    return COURSE.settings.traces[trace]["anchor"]


def test_machines_never_shrink_below_the_largest_topic():
    workload = Instance([1e6, 1.0], [[0], [0], [1]], tau=10.0).workload(message_bytes=200.0)
    for trace in TRACES:
        sample = fit_machines(Sample(trace, workload, 1.0), anchor_of(trace))
        for instance in INSTANCES:
            assert sample.problem(SCALED, instance, 10).is_usable.all()
        assert sample.problem(SCALED, "c3.large", 10).capacity_bytes == pytest.approx(4e8, rel=1e-4)


def test_the_order_of_pairs_matters_to_first_fit_as_remarked():
    sample = fit_machines(small_sample(), anchor_of("Spotify"))
    cases = pick(costs_of(sample), regime=SCALED)
    assert len(cases) == 6
    for case in cases:
        assert case.kept["by_topic"]["usd"] <= case.mean("gsp+ffbp", "usd")


def case_of(instance, tau, costs, bound=50.0):
    results = {
        name: [{"usd": cost, "machines": round(cost), "in_bytes": 0.0, "out_bytes": cost * 1e9}]
        for name, cost in zip(LADDER, costs, strict=True)
    }
    results["our bound"], results["paper's bound"] = [{"usd": bound}], [{"usd": bound / 2}]
    at = {"trace": "Spotify", "regime": SCALED, "instance": instance, "tau": tau}
    figure = "2a" if instance == "c3.large" else "2b"
    return Case(figure, at, results, {"by_topic": results["gsp+group"][0]})


def seconds_of(stage, name, instance, tau, value):
    at = {"trace": "Spotify", "regime": SCALED, "instance": instance, "tau": tau}
    figure = "4" if stage == "select" else "6"
    return Case(figure, at, {name: [{"seconds": value}]}, {"stage": stage})


def compared(costs, cheaper_at_1000=0.0):
    workload = fw.TopicWorkload.from_arrays([1.0], [0], [0])
    cases = [
        case_of(instance, tau, np.multiply(costs, 1 + cheaper_at_1000 * (tau == 1000)))
        for tau in TAUS
        for instance in INSTANCES
    ]
    seconds = [
        seconds_of(stage, name, instance, tau, value)
        for tau in TAUS
        for stage, name, instance, value in (
            ("select", "rsp", "c3.large", 1.0), ("select", "gsp", "c3.large", 3.0),
            ("pack", "ffbp", "c3.large", 8.0), ("pack", "cbp", "c3.large", 2.0),
            ("pack", "ffbp", "c3.xlarge", 9.0), ("pack", "cbp", "c3.xlarge", 1.0),
        )
    ]  # fmt: skip
    course = Course.of("provision", 1.0)
    rows = compare(course, [Sample("Spotify", workload, 0.5)], cases, seconds)
    return {row.quantity: row for row in rows}


def test_comparisons_say_what_the_costs_say():
    found = compared((100.0, 67.0, 65.0, 66.0, 60.0, 59.0, 55.0), 0.1)
    saved = found["Spotify, c3.large, tau 10: cost saved by GSP, %"]
    assert (saved.ours, saved.paper, saved.remark) == (33.0, "33%", "Agrees within three points.")
    assert found["Spotify: (d) + most free, most saved of the rung before, %"].ours == 9.1
    assert found["Spotify: (c) + expensive first, most saved of the rung before, %"].ours == -1.5
    assert found["Spotify: GSP+CBP, most saved of naive, %"].ours == 41.0
    assert found["Spotify: the same in dollars, at full size"].ours == pytest.approx(82, abs=9)
    assert found["Spotify: best+best over our bound, most, %"].ours == 21.0
    assert found["Spotify: FFBP seconds / CBP seconds, most"].ours == 9.0
    assert found["Spotify: seconds that GSP takes longer than RSP, most"].ours == 2.0


def test_remarks_hold_where_their_conditions_do():
    found = compared((100.0, 67.0, 66.0, 65.5, 65.0, 64.5, 62.0))
    few = found["Spotify, c3.large, tau 1000: cost saved by GSP, %"]
    assert (few.ours, few.paper) == (33.0, "10.9%")
    assert few.remark == (
        "Another trace: ours is made up. It saves more. "
        "And it does not fall with tau throughout, as the paper's does."
    )
    told = found["Spotify: (d) + most free, most saved of the rung before, %"].remark
    assert told == "At least 0.8%. Less than in the paper."
    assert (
        "lies between"
        not in found["Spotify: the same, if (a) gets pairs in the order of topics, %"].remark
    )
    saved = found["Spotify: GSP+CBP, most saved of naive, %"]
    assert (saved.ours, saved.remark) == (35.5, "Agrees within three points.")
    less = compared((100.0, 90.0, 65.0, 64.0, 63.5, 63.0, 60.0))
    assert (
        "100% of its subscribers follow one topic"
        in less["Spotify, c3.large, tau 10: cost saved by GSP, %"].remark
    )
    order = less["Spotify: (b) to (e) together, most saved of (a), %"]
    assert (order.ours, "The order of pairs is most of it." in order.remark) == (30.0, True)
    assert (
        "lies between"
        in less["Spotify: the same, if (a) gets pairs in the order of topics, %"].remark
    )


def test_machines_against_bandwidth_at_the_second_rung():
    """In these cases bandwidth is as cost, and so are machines: rounded."""
    where = "(c3.large at tau 10 and c3.xlarge, mean)"
    fewer = compared((100.0, 60.0, 40.0, 39.0, 38.0, 37.0, 30.0))
    machines = fewer[f"Spotify: machines of (b) against (a), % {where}"]
    assert (machines.ours, machines.paper) == (-33.3, "2 to 4% more")
    assert machines.remark.startswith("The other way round: fewer. FFBP takes pairs in any order")
    assert "In the order of topics it is +0.0%." in machines.remark
    more = compared((100.0, 50.0, 51.4, 39.0, 38.0, 37.0, 30.0))
    bandwidth = more[f"Spotify: bandwidth of (b) against (a), % {where}"]
    assert (bandwidth.ours, bandwidth.paper) == (2.8, "about 8 to 10% less")
    assert bandwidth.remark.startswith("The other way round: more.")
    agrees = compared((100.0, 100.0, 91.0, 90.0, 80.0, 79.0, 70.0))
    bandwidth = agrees[f"Spotify: bandwidth of (b) against (a), % {where}"]
    assert (bandwidth.ours, bandwidth.remark) == (-9.0, "Agrees within a point.")
    fewer = agrees["Spotify: machines of (d) against (c), least, %"]
    assert (fewer.ours, fewer.remark[:16]) == (-11.1, "As in the paper:")
    less = agrees["Spotify: bandwidth of (d) against (c), most, %"]
    assert less.remark == "Less in some cases: -11.1%."


def test_the_example_of_the_first_figure():
    """Worked by hand: t1 moves 20 a copy and has two pairs, t2 10 and three.

    By pairs the first machine, with 60 left, takes one of each; the second, with 80 left, the rest:
    two copies of each topic. By topic t1 goes whole to the second, t2 to the first.
    """
    problem = example_problem()
    placed = {}
    for algorithm in ("gsp+ffbp", "gsp+cbp"):
        plan = problem.solve(algorithm)
        plan.verify()
        rows = plan.tables["allocation"].to_pylist()
        placed[algorithm] = {(row["vm"], row["topic"]) for row in rows}
        assert plan.metrics["vms"] == 2
    before = {(0, 0), (1, 1)}
    assert placed["gsp+ffbp"] == before | {(0, 2), (0, 3), (1, 2), (1, 3)}
    assert placed["gsp+cbp"] == before | {(1, 2), (0, 3)}
    assert example_traffic() == {"gsp+ffbp": 70 + 60, "gsp+cbp": 70 + 30}
    row = compared((100.0, 67.0, 66.0, 65.5, 65.0, 64.5, 62.0))[
        "KB a minute that GSP+FFBP moves more than GSP+CBP in the example"
    ]
    assert (row.figure, row.ours, row.paper) == ("1", 30.0, "30 (80 less 50)")
    assert row.remark.startswith("The same. Here 130 and 100")


@pytest.mark.parametrize(
    ("machines", "traffic", "has_little", "words"),
    [(1, 9.0, True, "one machine"), (2, 9.0, True, "two machines"), (2, 1.0, False, "two machines"),
     (7, 9.0, False, "7 machines")],
)  # fmt: skip
def test_what_is_said_of_literal_units_is_measured(machines, traffic, has_little, words):
    case = Case(
        "2a", {"trace": "Spotify", "regime": "literal"},
        {"gsp+cbp": [{"usd": 10.0, "machines": machines}]}, {"traffic_usd": traffic},
    )  # fmt: skip
    facts = literal_facts([case])
    assert facts == {"most_literal": machines, "literal_traffic": traffic / 10}
    told = COURSE.paper.notes(**vars(COURSE.settings), sizes="", anchors="", **facts)[2]
    assert ("nothing to pack" in told) == has_little
    assert f"at most {words} then" in told
    (row,) = (row for row in COURSE.paper.entry("tables", "contradictions")["rows"]
              if row[0] == "how many machines")  # fmt: skip
    assert ("either trace fits" in COURSE.paper.say(row[2], **facts)) == (machines <= 2)


def test_weighing_counts_a_copy_for_each_machine():
    problem = small_sample().problem(SCALED, "c3.large", 100)
    choose, pack = stages("gsp+ffbp")
    packing = pack(problem, choose(problem, Run()), Run())
    rung = weigh(problem, packing)
    parts = list(zip(packing.vm.tolist(), packing.topic.tolist(), strict=True))
    assert len(parts) == len(set(parts))
    assert rung["in_bytes"] == pytest.approx(sum(problem.needs[topic] for _, topic in parts))


def test_statistics_of_the_whole_trace_are_compared_by_count():
    statistics = workload_statistics(make_sample(COURSE, "Twitter").workload)
    some, whole = (
        {at.quantity: at for at in compare_statistics(COURSE, statistics, share)}
        for share in (0.1, 1.0)
    )
    assert set(some) < set(whole)
    received = "Twitter: subscribers that receive more than 7,000, %"
    assert "denser" in some[received].remark
    assert whole[received].remark == (
        "The generator is made to this number and misses it by a factor of 14.6 / 10."
    )
    assert "confirms nothing" in whole["Twitter: events per topic"].remark
    count = whole["Twitter: topics with more than 10,000 followers"].ours
    assert count == round(TOPICS * statistics.followers.ccdf.at(1e4))


def test_nothing_in_the_data_file_is_unused(done, never_asked):
    at_full_size = {"followings", "followers", "most_followers"}
    missing = never_asked(read_paper("provision"))
    assert missing <= {("comparisons", name) for name in at_full_size}
