import json

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import is_one_line

import fanwise as fw


def connect(workload, out, *more):
    return ("connect", workload, "--out", out, *more)


def test_connect_verify_and_look(run, workload, tmp_path):
    out = tmp_path / "plan"
    done = run(*connect(workload, out, "--max-degree", 2, "-a", "gpm", "--json"))
    assert done.status == 0
    assert done.err == ""
    on_disk = json.loads((out / "plan.json").read_text())
    assert {key: done.json[key] for key in on_disk} == on_disk
    assert on_disk["parameters"]["max_degree"] == 2
    assert pq.read_table(out / "edges.parquet").column_names == ["u", "v"]
    assert run("verify", workload, out).status == 0
    again = fw.read_plan(out, fw.read_workload(workload))
    assert again.metrics["support"] == on_disk["metrics"]["support"]


@pytest.mark.parametrize(
    "more",
    [
        ("-a", "gm"),
        ("-a", "minmax-oda", "--topic-weight", "rate"),
        ("-a", "gpa", "--avg-degree", 1),
        ("-a", "gpa", "--budget-ratio", 0.5),
        (),
    ],
)
def test_people_get_a_table(run, workload, tmp_path, more):
    done = run(*connect(workload, tmp_path / "plan", *more))
    assert done.status == 0
    for word in ("support", "links", "largest degree", "certified gap"):
        assert word in done.out


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (("--max-degree", "many"), "max_degree"),
        (("--max-degree", "column"), "max_degree"),
        (("--max-degree", -1), "max_degree"),
        (("--budget-ratio", 0.5, "--max-edges", 3), "max_edges"),
        (("--link-cost", "distance"), "net_0"),
        (("--max-link-cost", 1), "link_cost"),
        (("--topic-weight", "two"), "topic_weight"),
        (("-a", "gpa"), "max_edges"),
        (("-a", "gpm"), "max_degree"),
        (("-a", "gm", "--max-edges", 3), "connects every topic"),
        (("-a", "other"), "minmax-oda"),
    ],
)
def test_bad_usage_is_one_line(run, workload, tmp_path, more, word):
    done = run(*connect(workload, tmp_path / "plan", *more))
    assert done.status == 2
    assert is_one_line(done.err)
    assert word in done.err
    assert not (tmp_path / "plan").exists()


def test_compare_and_sweep(run, workload, tmp_path):
    done = run("compare", "connect", workload, "--max-degree", 2, "--algorithms", "gpm,best")
    assert done.status == 0
    assert "joined components" in done.out
    ratios = run(
        *("compare", "connect", workload, "--budget-ratio", 0.5, "--json"),
        *("--algorithms", "gpa,gpm"),
    )
    assert ratios.json["bound"] is None
    limits = ("--max-degrees", "1,2", "-a", "gpm")
    swept = run("sweep", "connect", workload, *limits, "--json")
    assert [point["max_degree"] for point in swept.json["points"]] == [1, 2]
    assert "support" in run("sweep", "connect", workload, *limits, "--out", tmp_path / "s").out
    assert (tmp_path / "s" / "points.csv").is_file()
    by_ratio = run("sweep", "connect", workload, "--budget-ratios", "0.5,1", "-a", "gpa", "--json")
    assert [point["budget_ratio"] for point in by_ratio.json["points"]] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("sweep", "connect"), "--max-degrees"),
        (("sweep", "connect", "--taus", "1,2"), "--taus"),
        (("sweep", "connect", "--max-degrees", "1,two"), "two"),
        (("sweep", "connect", "--edge-limits", "1", "--capacities", "1%"), "--capacities"),
        (("sweep", "connect", "--edge-limits", "1", "--horizons", "1d"), "--horizons"),
        (("sweep", "connect", "--max-degree", "1", "--max-degrees", "1,2"), "--max-degrees"),
        (("sweep", "select", "--tau", 5, "--max-degrees", "1,2"), "--max-degrees"),
        (("compare", "connect", "--tau", 5, "--max-degree", 2), "--tau"),
        (("compare", "connect", "--capacity", "5%"), "--capacity"),
    ],
)
def test_options_of_others_are_refused(run, workload, arguments, word):
    command, problem, *more = arguments
    done = run(command, problem, workload, *more)
    assert done.status == 2
    assert is_one_line(done.err)
    assert word in done.err
