"""``fanwise select`` near a plan in force, with pinned and excluded topics."""

import json

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import is_one_line

import fanwise as fw


@pytest.fixture
def later(workload, tmp_path):
    """The same topics a week later: twice the rate, and one new topic."""
    then = fw.read_workload(workload)
    pairs = [
        (v, t)
        for v in range(then.num_subscribers)
        for t in then.interests.indices[
            then.interests.indptr[v] : then.interests.indptr[v + 1]
        ].tolist()
    ]
    pairs += [(v, then.num_topics) for v in range(then.num_subscribers)]
    now = fw.TopicWorkload.from_arrays(
        [*(2 * then.rates), 40.0],
        [v for v, _ in pairs],
        [t for _, t in pairs],
        topic_names=[*then.topic_names.to_pylist(), "brand new"],
        num_subscribers=then.num_subscribers,
    )
    fw.write_workload(now, tmp_path / "later")
    return tmp_path / "later"


def select(workload, out, *more):
    return ("select", workload, "--tau", 25, "--capacity", "50%", "--out", out, *more)


def test_few_changes_against_a_plan_for_another_workload(run, workload, later, tmp_path):
    assert run(*select(workload, tmp_path / "then")).status == 0
    near = ("--previous", tmp_path / "then", "--previous-workload", workload)
    done = run(*select(later, tmp_path / "now", *near, "--max-changes", 1, "--json"))
    assert done.status == 0, done.err
    assert done.json["metrics"]["changes"] <= 1
    assert done.json["parameters"]["max_changes"] == 1
    before = json.loads((tmp_path / "then" / "plan.json").read_text())
    assert done.json["parameters"]["previous"] == before["id"]
    assert run("verify", later, tmp_path / "now").status == 0
    shown = run(*select(later, tmp_path / "priced", *near, "--change-price", 0.5))
    assert shown.status == 0, shown.err
    assert "given up for stability" in shown.out
    assert "less the price of changes" in shown.out
    assert run("verify", later, tmp_path / "priced").status == 0


def test_topics_in_files_are_pinned_and_excluded(run, workload, tmp_path):
    names = fw.read_workload(workload).topic_names.to_pylist()
    (tmp_path / "pin.txt").write_text(f"{names[1]}\n\n")
    (tmp_path / "exclude.txt").write_text(f"{names[0]}\r\n")
    fixed = ("--pin", tmp_path / "pin.txt", "--exclude", tmp_path / "exclude.txt")
    assert run(*select(workload, tmp_path / "plan", *fixed)).status == 0
    served = pq.read_table(tmp_path / "plan" / "topics.parquet").column("served").to_pylist()
    assert served[1]
    assert not served[0]
    assert run("verify", workload, tmp_path / "plan").status == 0


def test_what_cannot_be_is_said_in_one_line(run, workload, later, tmp_path):
    assert run(*select(workload, tmp_path / "then")).status == 0
    (tmp_path / "pin.txt").write_text("nobody\n")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    previous = ("--previous", tmp_path / "then")
    cases = [
        (workload, ("--pin", tmp_path / "pin.txt"), "nobody"),
        (workload, ("--pin", tmp_path / "none.txt"), "none.txt"),
        (workload, ("--exclude", tmp_path / "latin.txt"), "UTF-8"),
        (workload, ("--max-changes", 3), "previous"),
        (workload, ("--previous-workload", workload), "--previous"),
        (later, (*previous, "--max-changes", 3), "--previous-workload"),
        (workload, (*previous, "--engine", "spark"), "--engine spark"),
    ]
    for folder, options, word in cases:
        done = run(*select(folder, tmp_path / "plan", *options))
        assert done.status == 2, options
        assert is_one_line(done.err)
        assert word in done.err
        assert not (tmp_path / "plan").exists()


def test_pins_beyond_the_capacity_are_infeasible(run, workload, tmp_path):
    names = fw.read_workload(workload).topic_names.to_pylist()
    (tmp_path / "pin.txt").write_text("\n".join(names))
    done = run(*select(workload, tmp_path / "plan", "--pin", tmp_path / "pin.txt"))
    assert done.status == 1
    assert is_one_line(done.err)
    assert "capacity" in done.err
    assert not (tmp_path / "plan").exists()
