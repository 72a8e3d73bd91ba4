"""``fanwise ingest --content``: its options, what it prints, and what other commands make of it."""

import json

import pytest
from tests.pipeline import content_traces, traces

import fanwise as fw


@pytest.fixture
def run(capsys):
    """Run a command inside this process and its Spark session."""
    from fanwise.cli.main import main

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([*map(str, arguments)])
        printed = capsys.readouterr()
        return stopped.value.code, printed.out, printed.err

    return run


@pytest.fixture
def files(tmp_path):
    publications, subscriptions, positions = content_traces.random_traces(5)
    return {
        "--publications": traces.write_csv(tmp_path / "events.csv", publications),
        "--subscriptions": traces.write_csv(tmp_path / "ranges.csv", subscriptions),
        "--positions": traces.write_csv(tmp_path / "places.csv", positions),
        "--brokers": traces.write_csv(tmp_path / "brokers.csv", content_traces.BROKERS),
    }


def flat(options):
    return [part for pair in options.items() for part in pair]


def test_usage_errors_are_one_line_and_need_no_spark(run, files, tmp_path):
    new = ("--out", tmp_path / "new")
    content = ("--content", "--attributes", "price,size")

    def refused(*arguments, says):
        status, out, err = run("ingest", *arguments, *new)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert says in err

    def without(name):
        return flat({option: path for option, path in files.items() if option != name})

    topics = flat({option: files[option] for option in ("--publications", "--subscriptions")})
    for option, value in (
        ("--attributes", "a"), ("--positions", "p.csv"), ("--brokers", "b.csv"),
        ("--positions-format", "csv"), ("--positions-columns", "a"), ("--brokers-format", "csv"),
        ("--brokers-columns", "a"), ("--channels", "5"), ("--channels-by", "width"),
        ("--cells", "9"), ("--cells-by", "depth"), ("--space", "0:1"), ("--publisher", "0"),
        ("--root", "r"),
    ):  # fmt: skip
        refused(*topics, option, value, says=f"'{option[2:]}' parameter must be left out, or --con")
    for name in ("--subscriptions", "--positions", "--brokers"):
        refused(*without(name), *content, says=f"'{name[2:]}' parameter must be given with --cont")
    refused(*flat(files), "--content", says="'attributes' parameter must be given with --content")
    for option in (("--edges", "e.txt"), ("--mutual",), ("--keep-empty",)):
        refused(*flat(files), *content, *option, says="left out with --content")
    for option, value, says in (
        ("--attributes", "price,,size", "different columns"),
        ("--channels-by", "depth", "left out without --channels"),
        ("--cells-by", "colour", "one of width, depth"),
        ("--space", "0:1", "one pair lo:hi"),
        ("--space", "0-1,2:3", "LO:HI for each attribute"),
        ("--publisher", "north", "numbers, as in 0.5,0.5"),
        ("--window", "soon", "a duration > 0"),
        ("--max-bad-rows", "some", "max-bad-rows"),
        ("--brokers-format", "xml", "csv, json, parquet, edges"),
    ):
        refused(*flat(files), *content, option, value, says=says)
    assert "new" not in traces.remains(tmp_path)


@pytest.mark.spark
def test_from_traces_to_a_verified_plan(spark, run, files, tmp_path):
    brokers = [list(row.values()) for row in content_traces.BROKERS]
    bare = "".join(";".join(map(str, row)) + "\n" for row in brokers)
    for name in ("events", "ranges", "places"):
        path = tmp_path / f"{name}.csv"
        text = path.read_text().replace(",", ";").replace("x;y", "x,y")
        path.write_text(text.replace(";bytes", ";note", 1))
    files["--brokers"] = traces.write_text(tmp_path / "brokers.txt", bare)
    status, out, err = run(
        "ingest", "--content", *flat(files), "--attributes", "price, size", "--channels", "8",
        "--cells", "16", "--publisher", "0,0", "--delimiter", ";", "--brokers-format", "csv",
        "--brokers-columns", ",".join(content_traces.BROKERS[0]), "--rename", "note=bytes",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert (status, err) == (0, "")
    for words in ("who publish", "cells with events", "channels", f"written to {tmp_path}"):
        assert words in out
    workload = fw.read_workload(tmp_path / "out")
    assert workload.publisher.tolist() == [0, 0]
    assert len(workload.channels.lo) == 8
    content_traces.check_brokers(workload)
    status, out, _ = run("stats", tmp_path / "out", "--json")
    assert status == 0
    assert json.loads(out)["brokers"] == len(content_traces.BROKERS)
    status, out, err = run(
        "assign", tmp_path / "out", "--algorithm", "gr-star", "--lbf", "3", "--lbf-max", "4",
        "--max-delay", "9", "--out", tmp_path / "plan", "--json",
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert json.loads(out)["objective"] > 0
    assert run("verify", tmp_path / "out", tmp_path / "plan")[0] == 0
