from __future__ import annotations

import json

import pytest

import fanwise as fw


def test_generate_alone_lists_the_generators(run):
    done = run("generate")
    assert done.status == 0
    assert "spotify" in done.out
    assert "music-trace" in done.out


@pytest.mark.parametrize("name", ["spotify", "twitter", "music-trace"])
def test_help_has_an_example(run, name):
    done = run("generate", name, "--help")
    assert done.status == 0
    assert f"fanwise generate {name}" in done.out


def test_spotify_is_written_and_reported(run, tmp_path):
    out = tmp_path / "w"
    done = run("generate", "spotify", "--scale", "0.001", "--seed", "3", "--out", out, "--json")
    assert done.status == 0
    assert done.err == ""
    found = done.json
    assert found["out"] == str(out)
    assert (found["generator"], found["seed"], found["communities"]) == ("spotify", 3, 0.5)
    workload = fw.read_workload(out)
    sizes = (workload.num_topics, workload.num_subscribers, workload.num_pairs)
    assert sizes == (found["topics"], found["subscribers"], found["pairs"]) == (1100, 4900, 12000)
    assert workload.origin["generator"] == "spotify"
    assert workload.rates.mean() == found["mean_rate"]


def test_spotify_for_people(run, tmp_path):
    sizes = ("--topics", 30, "--subscribers", 100, "--pairs", 250, "--communities", 0.2)
    done = run("generate", "spotify", *sizes, "--out", tmp_path / "w")
    assert done.status == 0
    assert "subscribers" in done.out
    assert "250" in done.out


def test_music_trace_is_written_and_reported(run, tmp_path):
    out = tmp_path / "t"
    arguments = ("--events", 5000, "--days", 3, "--start", "2026-05-01", "--bad-rows", 3)
    done = run("generate", "music-trace", *arguments, "--format", "parquet", "--out", out, "--json")
    assert done.status == 0
    written = json.loads((out / "trace.json").read_text())
    assert written.items() <= done.json.items()
    assert written["end"] == "2026-05-04T00:00:00Z"
    assert (out / "publications.parquet").is_file()


def test_music_trace_says_what_comes_next(run, tmp_path):
    done = run("generate", "music-trace", "--bad-rows", 4, "--out", tmp_path / "t")
    assert done.status == 0
    assert "fanwise ingest --publications" in done.out
    assert "--max-bad-rows 4" in done.out


@pytest.mark.parametrize("name", ["spotify", "twitter", "music-trace"])
def test_existing_output_is_refused(run, tmp_path, name):
    done = run("generate", name, "--out", tmp_path)
    assert done.status == 2
    assert done.err.count("\n") == 1
    assert "--overwrite" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("spotify", "--scale", "0"), "'scale' parameter must be"),
        (("spotify", "--communities", "2"), "--communities"),
        (("spotify", "--topics", "5", "--subscribers", "9", "--pairs", "8"), "from 9 to 22"),
        (("music-trace", "--start", "soon"), "ISO 8601"),
        (("music-trace", "--format", "xml"), "--format"),
        (("nonsense",), "nonsense"),
    ],
)
def test_bad_usage_is_one_line(run, tmp_path, arguments, message):
    done = run("generate", *arguments, "--out", tmp_path / "w")
    assert done.status == 2
    assert done.err.count("\n") == 1
    assert message in done.err
    assert list(tmp_path.iterdir()) == []
