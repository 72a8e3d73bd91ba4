"""``fanwise wire`` and what other commands do with its plans."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import is_one_line
from tests.wire.test_problem import PLAIN

import fanwise as fw


@pytest.fixture
def content(tmp_path):
    fw.write_workload(PLAIN.workload(), tmp_path / "content")
    return tmp_path / "content"


def wire(workload, out, *more):
    return ("wire", workload, "--out", out, *more)


def test_wire_verify_and_look(run, content, tmp_path):
    out = tmp_path / "plan"
    done = run(*wire(content, out, "-a", "packing", "--json"))
    assert (done.status, done.err) == (0, "")
    on_disk = json.loads((out / "plan.json").read_text())
    assert {key: done.json[key] for key in on_disk} == on_disk
    assert on_disk["parameters"]["topology"] == "mesh"
    assert on_disk["metrics"]["access"] + on_disk["metrics"]["core"] == on_disk["objective"]
    assert pq.read_table(out / "attachments.parquet").column_names == ["subscriber", "broker"]
    assert pq.read_table(out / "links.parquet").column_names == ["broker", "other", "traffic"]
    assert run("verify", content, out).status == 0
    assert fw.read_plan(out, fw.read_workload(content)).objective == on_disk["objective"]
    assert run("diff", out, out).status == 0
    done = run("export", out, "--workload", content, "--csv", tmp_path / "csv")
    assert done.status == 0
    assert (tmp_path / "csv" / "links.csv").read_text().splitlines()[1].startswith('"b0","b')
    assert run("plot", content, out, "--out", tmp_path / "pictures").status == 0


def test_people_get_a_table(run, content, tmp_path):
    done = run(*wire(content, tmp_path / "plan", "--topology", "tree"))
    assert done.status == 0
    for words in ("of that access", "of that core", "links between brokers"):
        assert words in done.out
    assert run("verify", content, tmp_path / "plan").status == 0


def test_knobs_are_checked(run, content, tmp_path):
    knobs = ("--set", "per_publisher=true", "--seed", 3)
    done = run(*wire(content, tmp_path / "p", "-a", "steiner-mixing", *knobs, "--json"))
    assert done.json["parameters"]["per_publisher"] is True
    for wrong in (("-a", "migration", "--set", "start=best"), ("--topology", "star")):
        done = run(*wire(content, tmp_path / "q", *wrong))
        assert done.status == 2
        assert is_one_line(done.err)
        assert not (tmp_path / "q").exists()


def test_an_overloaded_plan_is_written_and_says_so(run, tmp_path):
    small = replace(PLAIN, capacity=[1.0, 1.0, 1.0])
    fw.write_workload(small.workload(), tmp_path / "content")
    done = run(*wire(tmp_path / "content", tmp_path / "p", "-a", "packing", "--json"))
    assert done.status == 1
    assert done.json["feasible"] is False
    assert done.json["metrics"]["overloaded"] > 0
    checked = run("verify", tmp_path / "content", tmp_path / "p")  # to admit it does not help
    assert checked.status == 1
    assert "above its capacity" in checked.err
    more = ("--capacity-factor", 100, "-a", "packing")
    assert run(*wire(tmp_path / "content", tmp_path / "q", *more)).status == 0


def test_links_that_are_gone_around_are_told(run, tmp_path):
    around = replace(PLAIN, core=[[0.0, 9.0, 4.0], [9.0, 0.0, 2.0], [4.0, 2.0, 0.0]])
    fw.write_workload(around.workload(), tmp_path / "content")
    done = run(*wire(tmp_path / "content", tmp_path / "p", "-a", "packing"))
    assert done.status == 0
    assert "cost more than a way around" in " ".join(done.out.split())


def test_what_is_missing_is_named(run, workload, tmp_path):
    done = run(*wire(workload, tmp_path / "plan"))
    assert done.status == 2
    assert "content workload" in done.err
    fw.write_workload(PLAIN.workload(channels=None, rates=None), tmp_path / "content")
    done = run(*wire(tmp_path / "content", tmp_path / "plan"))
    assert done.status == 2
    assert is_one_line(done.err)
    assert "channels.parquet" in done.err


def test_compare_and_sweep(run, content, tmp_path):
    done = run("compare", "wire", content, "--topology", "tree", "--json")
    assert done.status == 0
    assert {"packing", "random"} <= {plan["algorithm"] for plan in done.json["plans"]}
    swept = run("sweep", "wire", content, "--core-factors", "0,1,50", "-a", "packing", "--json")
    assert swept.status == 0
    values = [point["value"] for point in swept.json["points"]]
    assert values[0] < values[1] < values[2]
    done = run("sweep", "wire", content, "--capacity-factors", "1,2", "--out", tmp_path / "s")
    assert done.status == 0
    assert "overloaded" in done.out
    done = run("compare", "wire", content, "--alpha", 3)
    assert done.status == 2
    assert "--topology" in done.err


def test_explain_and_report(run, content, tmp_path):
    out = tmp_path / "plan"
    assert run(*wire(content, out, "-a", "packing")).status == 0
    shown = run("explain", out, "--workload", content)
    assert shown.status == 0
    for words in ("Where the cost comes from", "What keeps users", "Brokers with most load"):
        assert words in shown.out
    name = str(fw.read_workload(content).subscriber_names[0])
    printed = run("explain", out, "--workload", content, "--subscriber", name, "--json").json
    assert sum(choice["is_own"] for choice in printed["choices"]) == 1
    refused = run("explain", out, "--workload", content, "--topic", name)
    assert refused.status == 2
    assert "--subscriber" in refused.err
    assert run("report", "--workload", content, out, "--out", tmp_path / "page.html").status == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Where the cost comes from" in page
    assert "Loads of the brokers" in page
