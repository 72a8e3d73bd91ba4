from __future__ import annotations

import json

import pytest
from tests.cli.conftest import is_one_line

import fanwise as fw

NAMES = ("groups", "rss", "grid", "difficult")


@pytest.fixture
def content(tmp_path):
    from fanwise.workload.generators.rss import rss

    fw.write_workload(rss(60, brokers=6, interests=5, seed=1), tmp_path / "content")
    return tmp_path / "content"


@pytest.mark.parametrize("name", NAMES)
def test_help_has_an_example(run, name):
    done = run("generate", name, "--help")
    assert done.status == 0
    assert f"fanwise generate {name}" in done.out


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("groups", ("--interest-skew", "L", "--broad-interests", "H", "--depth", 3, "--removed", 9,
                    "--branching", 5, "--exponent", 2, "--extent", 50, "--placement", "uniform"),
         {"interest_skew": "L", "broad_interests": "H", "depth": 3, "removed": 9, "branching": 5,
          "exponent": 2.0, "extent": 50.0, "placement": "uniform"}),
        ("rss", ("--interests", 7, "--locations", 4, "--exponent", 1, "--extent", 30, "--lbf", 2,
                 "--lbf-max", 12),
         {"interests": 7, "locations": 4, "exponent": 1.0, "extent": 30.0, "lbf": 2.0,
          "lbf_max": 12.0}),
        ("grid", ("--cells-per-side", 3, "--widths", "1,2", "--width-exponent", 1, "--locations", 9,
                  "--event-dims", 3, "--extent", 9, "--out-degree", 4, "--alpha", 2),
         {"cells_per_side": 3, "widths": [1.0, 2.0], "width_exponent": 1.0, "locations": 9,
          "event_dims": 3, "extent": 9.0, "out_degree": 4, "alpha": 2}),
    ],
)  # fmt: skip
def test_instances_are_written_and_reported(run, tmp_path, name, options, told):
    done = run(
        "generate", name, "--subscribers", 80, "--brokers", 8, "--network-dims", 2,
        "--max-delay", 0.5, *options, "--seed", 3, "--out", tmp_path / "w", "--json",
    )  # fmt: skip
    assert (done.status, done.err) == (0, "")
    common = {"generator": name, "seed": 3, "max_delay": 0.5, "subscribers": 80, "brokers": 8}
    assert {**common, **told}.items() <= done.json.items()
    workload = fw.read_workload(tmp_path / "w")
    assert (workload.num_subscribers, workload.num_brokers) == (80, 8)
    assert workload.network_dims == 2
    assert workload.event_dims == told.get("event_dims", 2)
    assert done.json["leaves"] == len(workload.leaves)
    assert workload.settings["max_delay"] == 0.5


def test_difficult_is_written(run, tmp_path):
    done = run("generate", "difficult", "--brokers", 4, "--alpha", 2, "--out", tmp_path / "w")
    assert (done.status, done.err) == (0, "")
    assert "subscribers per interest" in done.out
    workload = fw.read_workload(tmp_path / "w")
    assert workload.num_subscribers == 1200
    assert workload.candidates is not None


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("grid", "--widths", "1,b"), 2, "'widths' parameter must be numbers"),
        (("groups", "--interest-skew", "M"), 2, "--interest-skew"),
        (("rss", "--coordinates", "nowhere.csv"), 2, "nowhere.csv"),
        (("rss", "--subscribers", "300", "--max-delay", "0", "--lbf-max", "1"), 1, "raise lbf_max"),
        (("difficult", "--subscribers", "3"), 2, "at least 12"),
    ],
)
def test_bad_usage_is_one_line(run, tmp_path, arguments, status, message):
    done = run("generate", *arguments, "--out", tmp_path / "w")
    assert done.status == status
    assert is_one_line(done.err)
    assert message in done.err
    assert list(tmp_path.iterdir()) == []


def test_stats_of_a_content_workload(run, content, tmp_path):
    done = run("stats", content, "--plots", tmp_path / "plots", "--format", "svg")
    assert (done.status, done.err) == (0, "")
    for text in ("different subscriptions", "candidate brokers", "least load-balance factor"):
        assert text in done.out
    files = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert files == ["positions.svg", "subscriptions.svg"]
    found = run("stats", content, "--json").json
    assert (found["subscribers"], found["brokers"], found["different_subscriptions"]) == (60, 6, 5)
    assert found["settings"] == {"lbf": 2.3, "lbf_max": 2.5, "max_delay": 0.3, "alpha": 3}
    assert found["distributions"]["side_0"]["mean"] == pytest.approx(1)
    assert 1 <= found["least_lbf"] <= 2.5


@pytest.mark.parametrize(
    "command",
    [
        ("select", "--tau", "1", "--capacity", "10%"),
        ("provision", "--tau", "1"),
        ("connect", "--max-edges", "3"),
    ],
)
def test_commands_for_topics_say_what_they_need(run, content, tmp_path, command):
    name, *options = command
    done = run(name, content, *options, "--out", tmp_path / "plan")
    assert done.status == 2
    assert is_one_line(done.err)
    assert "not a topic workload" in done.err
    assert "a content workload for assign and wire" in done.err


def test_report_shows_a_content_workload(run, content, tmp_path):
    done = run("report", "--workload", content, "--out", tmp_path / "r.html")
    assert done.status == 0
    page = (tmp_path / "r.html").read_text()
    assert "<img" in page
    for word in ("subscribers", "brokers"):
        assert word in page.lower()


def test_broken_content_is_one_line(run, content):
    header = json.loads((content / "workload.json").read_text())
    (content / "workload.json").write_text(json.dumps({**header, "brokers": 7}))
    done = run("stats", content)
    assert done.status == 2
    assert is_one_line(done.err)
    assert "brokers.parquet has 6 rows" in done.err
