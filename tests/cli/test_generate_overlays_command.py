from __future__ import annotations

import pytest

import fanwise as fw

NAMES = ("expo", "zipf", "unif", "follow")


@pytest.mark.parametrize("name", NAMES)
def test_help_has_an_example(run, name):
    done = run("generate", name, "--help")
    assert done.status == 0
    assert f"fanwise generate {name}" in done.out


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("expo", ("--decay", 3), {"decay": 3.0}),
        ("zipf", ("--alpha", 1.5), {"alpha": 1.5}),
        ("unif", (), {}),
    ],
)
def test_overlays_are_written_and_reported(run, tmp_path, name, options, told):
    sizes = ("--nodes", 50, "--topics", 30, "--size-law", "uniform", "--min-size", 4)
    done = run(
        "generate", name, *sizes, "--max-size", 9, *options, "--net-dims", 2, "--seed", 3,
        "--message-bytes", 50, "--out", tmp_path / "w", "--json",
    )  # fmt: skip
    assert (done.status, done.err) == (0, "")
    law = {"generator": name, "seed": 3, "size_law": "uniform", "min_size": 4, "max_size": 9}
    assert {**law, **told}.items() <= done.json.items()
    workload = fw.read_workload(tmp_path / "w")
    assert (workload.num_subscribers, workload.num_topics) == (50, 30)
    assert workload.positions.shape == (50, 2)
    assert set(workload.message_bytes) == {50.0}
    assert done.json["pairs"] == workload.num_pairs
    assert workload.num_pairs == pytest.approx(50 * 6.5, rel=0.05)


def test_power_law_of_sizes_by_exponent(run, tmp_path):
    for exponent in (0, 5):
        done = run(
            "generate", "unif", "--nodes", 200, "--topics", 60, "--min-size", 2, "--max-size", 40,
            "--size-exponent", exponent, "--out", tmp_path / str(exponent),
        )  # fmt: skip
        assert done.status == 0
    flat, steep = (fw.read_workload(tmp_path / name).num_pairs / 200 for name in ("0", "5"))
    assert flat == pytest.approx(21, rel=0.02)
    assert steep < 3


def test_follow_is_written_and_reported(run, tmp_path):
    done = run(
        "generate", "follow", "--nodes", 200, "--mean-followings", 6, "--mutual",
        "--clustering", 0.5, "--net-dims", 1, "--seed", 2, "--out", tmp_path / "w", "--json",
    )  # fmt: skip
    assert (done.status, done.err) == (0, "")
    told = {"mutual": True, "mean_followings": 6.0, "reciprocity": 1.0, "clustering": 0.5}
    assert told.items() <= done.json.items()
    workload = fw.read_workload(tmp_path / "w")
    assert workload.num_pairs == pytest.approx(1200, rel=0.05)
    assert workload.positions.shape == (200, 1)
    assert workload.topic_names.equals(workload.subscriber_names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("expo", "--decay", "0"), "'decay' parameter must be"),
        (("unif", "--size-law", "normal"), "--size-law"),
        (("zipf", "--topics", "5", "--max-size", "6"), "from 0 to 5"),
        (("follow", "--mutual", "--reciprocity", "0.5"), "left out where links are mutual"),
        (("follow", "--nodes", "3", "--mean-followings", "3"), "from 0 to 1.22 for 3 users"),
    ],
)
def test_bad_usage_is_one_line(run, tmp_path, arguments, message):
    done = run("generate", *arguments, "--out", tmp_path / "w")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert message in done.err
    assert list(tmp_path.iterdir()) == []
