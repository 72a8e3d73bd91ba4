"""``fanwise assign`` and what other commands do with its plans."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import is_one_line

import fanwise as fw
from fanwise.errors import ParameterError


@pytest.fixture
def content(tmp_path):
    from fanwise.workload.generators.rss import rss

    fw.write_workload(rss(60, brokers=6, interests=5, seed=1), tmp_path / "content")
    return tmp_path / "content"


def assign(workload, out, *more):
    return ("assign", workload, "--out", out, *more)


def test_assign_verify_and_look(run, content, tmp_path):
    out = tmp_path / "plan"
    done = run(*assign(content, out, "--alpha", 2, "-a", "gr-star", "--json"))
    assert (done.status, done.err) == (0, "")
    on_disk = json.loads((out / "plan.json").read_text())
    assert {key: done.json[key] for key in on_disk} == on_disk
    given = {"alpha": 2, "max_delay": 0.3, "lbf": 2.3, "lbf_max": 2.5, "latency": "path"}
    assert {key: on_disk["parameters"][key] for key in given} == given
    assert pq.read_table(out / "assignment.parquet").column_names == ["subscriber", "broker"]
    assert pq.read_table(out / "filters.parquet").column_names == [
        "broker", "lo_0", "hi_0", "lo_1", "hi_1"
    ]  # fmt: skip
    assert run("verify", content, out).status == 0
    assert fw.read_plan(out, fw.read_workload(content)).objective == on_disk["objective"]
    assert run("diff", out, out).status == 0
    done = run("export", out, "--workload", content, "--csv", tmp_path / "csv")
    assert done.status == 0
    assert (tmp_path / "csv" / "assignment.csv").read_text().splitlines()[1].startswith('"s0","b')
    assert run("plot", content, out, "--out", tmp_path / "pictures").status == 0


def test_people_get_a_table(run, content, tmp_path):
    done = run(*assign(content, tmp_path / "plan", "-a", "balance"))
    assert done.status == 0
    for words in ("total bandwidth", "load-balance factor", "late subscribers"):
        assert words in done.out


def test_knobs_are_checked(run, content, tmp_path):
    done = run(*assign(content, tmp_path / "p", "-a", "gr", "--set", "evict=next", "--json"))
    assert done.json["parameters"]["evict"] == "next"
    done = run(*assign(content, tmp_path / "q", "-a", "gr", "--set", "evict=soon"))
    assert done.status == 2
    assert is_one_line(done.err)
    assert "none, next, later" in done.err


def test_both_ways_to_evict_force_fewer_on_full_brokers(run, content, tmp_path):
    found = {}
    for evict in ("none", "next", "later"):
        tight = ("--lbf", 1.02, "--lbf-max", 1.02, "--set", f"evict={evict}")
        done = run(*assign(content, tmp_path / evict, "-a", "gr", *tight, "--json"))
        metrics = done.json["metrics"]
        assert done.status == (1 if metrics["forced"] else 0)
        assert run("verify", content, tmp_path / evict).status == done.status
        found[evict] = metrics["evicted"], metrics["forced"]
    assert found["none"][0] == 0
    for evict in ("next", "later"):
        assert found[evict][0] > 0
        assert found[evict][1] < found["none"][1]


def test_knobs_of_slp_reach_it(run, content, tmp_path):
    sampled = ("--set", "whole=0", "--set", "epsilon=0.2", "--set", "rounds=2")
    done = run(*assign(content, tmp_path / "p", "-a", "slp", *sampled, "--json"))
    assert done.status == 0
    kept = {"epsilon": 0.2, "gamma": 0.5, "accuracy": 0.02, "whole": 0, "rounds": 2}
    assert {key: done.json["parameters"][key] for key in kept} == kept
    assert done.json["metrics"]["fractional_of"] == "a sample"
    assert 1 <= done.json["metrics"]["relaxations"] <= 2
    assert run("verify", content, tmp_path / "p").status == 0


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        ("epsilon=nan", "a number from 0 to 1"),
        ("epsilon=1.01", "a number from 0 to 1"),
        ("gamma=-0.1", "a number from 0 to 1"),
        ("accuracy=much", "a number from 0 to 1"),
        ("gap=0.1", "a knob"),
        ("whole=-1", "a whole number >= 0"),
        ("whole=1.5", "a whole number >= 0"),
        ("clusters=0", "a whole number >= 1"),
        ("evict=next", "epsilon, gamma"),
    ],
)
def test_wrong_knobs_of_slp_are_refused(run, content, tmp_path, knob, words):
    done = run(*assign(content, tmp_path / "p", "-a", "slp", "--set", knob))
    assert done.status == 2
    assert is_one_line(done.err)
    assert words in done.err
    assert not (tmp_path / "p").exists()


def test_knobs_of_slp_are_checked_in_python(content):
    problem = fw.Assignment(fw.read_workload(content))
    with pytest.raises(ParameterError, match="epsilon"):
        problem.solve("slp", epsilon=True)
    assert problem.solve("slp", epsilon=1, gamma=0.0).parameters["epsilon"] == 1


def test_a_plan_that_breaks_a_limit_is_written_and_says_why(run, content, tmp_path):
    done = run(*assign(content, tmp_path / "p", "--lbf", 0.5, "--lbf-max", 0.5, "-a", "gr-star"))
    assert done.status == 1
    assert "load is too tight" in " ".join(done.out.split())
    assert json.loads((tmp_path / "p" / "plan.json").read_text())["feasible"] is False
    checked = run("verify", content, tmp_path / "p")  # to admit it does not help
    assert checked.status == 1
    assert "above its limit" in checked.err


def test_topic_workloads_are_refused(run, workload, tmp_path):
    done = run(*assign(workload, tmp_path / "plan"))
    assert done.status == 2
    assert is_one_line(done.err)
    assert "content workload" in done.err


def test_compare_and_sweep(run, content, tmp_path):
    done = run("compare", "assign", content, "--alpha", 2, "--json")
    assert done.status == 0
    swept = run("sweep", "assign", content, "--alphas", "1,2", "-a", "gr-star", "--json")
    assert swept.status == 0
    values = [point["value"] for point in swept.json["points"]]
    assert values[0] > values[1]
    done = run("sweep", "assign", content, "--max-delays", "0.3,1", "--out", tmp_path / "s")
    assert "load-balance factor" in done.out
    done = run("compare", "assign", content, "--tau", 3)
    assert done.status == 2
    assert "--alpha" in done.err


def test_explain_and_report(run, content, tmp_path):
    out = tmp_path / "plan"
    assert run(*assign(content, out, "-a", "gr-star")).status == 0
    shown = run("explain", out, "--workload", content)
    assert shown.status == 0
    for words in ("full at the allowed factor", "What keeps subscribers", "wanted by nobody"):
        assert words in shown.out
    printed = run("explain", out, "--workload", content, "--json").json
    assert sum(printed["reasons"].values()) == printed["subscribers"] == 60
    one = run("explain", out, "--workload", content, "--subscriber", "s7", "--json").json
    assert one["subscriber"] == "s7"
    assert sum(choice["is_own"] for choice in one["choices"]) == 1
    assert "s7: on b" in run("explain", out, "--workload", content, "--subscriber", "s7").out
    refused = run("explain", out, "--workload", content, "--topic", "s7")
    assert refused.status == 2
    assert "--subscriber" in refused.err
    assert run("report", "--workload", content, out, "--out", tmp_path / "page.html").status == 0
    assert "What keeps subscribers" in (tmp_path / "page.html").read_text()


def test_exact_says_that_it_is_for_small_instances(run, content, tmp_path):
    done = run(*assign(content, tmp_path / "p", "-a", "exact"))
    assert done.status == 2
    assert is_one_line(done.err)
    assert "above 10 subscribers (here 60)" in done.err
    assert not (tmp_path / "p").exists()
