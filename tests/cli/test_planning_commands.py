import csv
import json

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import is_one_line

import fanwise as fw


def select(workload, out, *more):
    return ("select", workload, "--tau", 25, "--capacity", "50%", "--out", out, *more)


def provision(workload, out, *more):
    return ("provision", workload, "--tau", 25, "--out", out, *more)


both = pytest.mark.parametrize("command", [select, provision])


@both
def test_plan_verify_and_look(run, workload, tmp_path, command):
    done = run(*command(workload, tmp_path / "plan", "--json"))
    assert done.status == 0
    assert done.err == ""
    printed = done.json
    assert printed["plan"] == str(tmp_path / "plan")
    on_disk = json.loads((tmp_path / "plan" / "plan.json").read_text())
    assert {key: printed[key] for key in on_disk} == on_disk
    assert on_disk["workload"] == fw.read_workload(workload).hash
    verified = run("verify", workload, tmp_path / "plan", "--json")
    assert verified.status == 0
    assert verified.json["ok"] is True
    assert len(verified.json["checks"]) > 8
    assert "holds what it says" in run("verify", workload, tmp_path / "plan").out


@both
def test_people_get_a_table(run, workload, tmp_path, command):
    done = run(*command(workload, tmp_path / "plan"))
    assert done.status == 0
    assert "certified gap" in done.out
    assert str(tmp_path / "plan") in done.out.replace("\n", "")


@both
def test_an_existing_output_is_refused(run, workload, tmp_path, command):
    (tmp_path / "plan").mkdir()
    done = run(*command(workload, tmp_path / "plan"))
    assert done.status == 2
    assert is_one_line(done.err)
    assert "--overwrite" in done.err
    assert run(*command(workload, tmp_path / "plan", "--overwrite")).status == 0


@both
@pytest.mark.parametrize(
    "more",
    [
        ("--tau", "-3"),
        ("--tau", "many"),
        ("--tau", "column"),
        ("--seed", "x"),
        ("--nonsense",),
        ("--set", "x"),
        ("--set", "x=1"),
        ("--set", "time-limit=1"),
    ],
)
def test_bad_usage_is_one_line_and_writes_nothing(run, workload, tmp_path, command, more):
    before = sorted(tmp_path.iterdir())
    done = run(*command(workload, tmp_path / "plan", *more))
    assert done.status == 2
    assert is_one_line(done.err)
    assert done.out == ""
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "more",
    [
        ("--capacity", "lots"),
        ("--capacity", "-1"),
        ("--metric", "some"),
        ("--algorithm", "quantum"),
    ],
)
def test_bad_selection_options(run, workload, tmp_path, more):
    done = run(*select(workload, tmp_path / "plan", *more))
    assert done.status == 2
    assert is_one_line(done.err)
    assert more[1] in done.err


def test_missing_options_are_named(run, workload, tmp_path):
    assert "--capacity" in run("select", workload, "--tau", 1, "--out", tmp_path / "p").err
    done = run("select", workload, "--capacity", 1, "--out", tmp_path / "p")
    assert done.status == 2
    assert "--tau" in done.err
    assert run("nonsense").status == 2


def test_not_a_workload(run, tmp_path):
    done = run(*select(tmp_path / "nowhere", tmp_path / "plan"))
    assert done.status == 2
    assert is_one_line(done.err)
    assert "nowhere" in done.err


def test_verify_says_no(run, workload, tmp_path):
    run(*select(workload, tmp_path / "plan"))
    file = tmp_path / "plan" / "topics.parquet"
    table = pq.read_table(file)
    everything = [True] * len(table)
    pq.write_table(table.set_column(1, "served", [everything]), file)
    done = run("verify", workload, tmp_path / "plan")
    assert done.status == 1
    assert is_one_line(done.err)
    assert "capacity" in done.err
    done = run("verify", workload, tmp_path / "plan", "--json")
    assert done.status == 1
    assert done.json["ok"] is False


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("format", "x"),
        ("version", 99),
        ("objective", None),
        ("objective", "3"),
        ("problem", "dance"),
        ("feasible", 1),
    ],
)
def test_a_malformed_plan_is_bad_input(run, workload, tmp_path, entry, value):
    run(*select(workload, tmp_path / "plan"))
    file = tmp_path / "plan" / "plan.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), entry: value}))
    done = run("verify", workload, tmp_path / "plan")
    assert done.status == 2
    assert is_one_line(done.err)
    assert "plan.json" in done.err


@pytest.mark.parametrize("missing", ["plan.json", "topics.parquet"])
def test_a_plan_that_lacks_a_file_is_bad_input(run, workload, tmp_path, missing):
    run(*select(workload, tmp_path / "plan"))
    (tmp_path / "plan" / missing).unlink()
    done = run("verify", workload, tmp_path / "plan")
    assert done.status == 2
    assert missing in done.err


@both
def test_diff(run, workload, tmp_path, command):
    run(*command(workload, tmp_path / "a"))
    run(*command(workload, tmp_path / "b", "--tau", "60"))
    same = run("diff", tmp_path / "a", tmp_path / "a", "--json")
    assert same.status == 0
    assert same.json["same"] is True
    other = run("diff", tmp_path / "a", tmp_path / "b", "--json").json
    assert other["same"] is False
    assert other["parameters"]["tau"] == [25.0, 60.0]
    text = run("diff", tmp_path / "a", tmp_path / "b").out
    assert "tau" in text


def test_diff_counts_rows(run, workload, tmp_path):
    run(*select(workload, tmp_path / "a"))
    run(*select(workload, tmp_path / "b", "--capacity", "0"))
    served = pq.read_table(tmp_path / "a" / "topics.parquet").column("served").to_pylist()
    tables = run("diff", tmp_path / "a", tmp_path / "b", "--json").json["tables"]
    assert tables == {
        "topics": {"removed": 0, "added": 0, "changed": sum(served), "same": 4 - sum(served)}
    }


def test_plans_of_two_families_cannot_be_compared(run, workload, tmp_path):
    run(*select(workload, tmp_path / "a"))
    run(*provision(workload, tmp_path / "b"))
    done = run("diff", tmp_path / "a", tmp_path / "b")
    assert done.status == 2
    assert is_one_line(done.err)


@both
def test_export_has_names(run, workload, tmp_path, command):
    run(*command(workload, tmp_path / "plan"))
    done = run(
        "export", tmp_path / "plan", "--workload", workload, "--csv", tmp_path / "csv", "--json"
    )
    assert done.status == 0
    for name, rows in done.json["rows"].items():
        with (tmp_path / "csv" / f"{name}.csv").open(newline="") as file:
            found = list(csv.DictReader(file))
        assert len(found) == rows
        if "topic" in found[0]:
            assert {row["topic"] for row in found} <= {"pop", "jazz", "folk", "ska"}
    refused = run("export", tmp_path / "plan", "--workload", workload, "--csv", tmp_path / "csv")
    assert refused.status == 2


def test_export_refuses_another_workload(run, workload, tmp_path):
    run(*select(workload, tmp_path / "plan"))
    fw.write_workload(fw.TopicWorkload.from_arrays([1.0], [0], [0]), tmp_path / "other")
    done = run(
        "export", tmp_path / "plan", "--workload", tmp_path / "other", "--csv", tmp_path / "csv"
    )
    assert done.status == 2
    assert not (tmp_path / "csv").exists()


@both
def test_plot(run, workload, tmp_path, command):
    run(*command(workload, tmp_path / "plan"))
    done = run("plot", workload, tmp_path / "plan", "--out", tmp_path / "pictures", "--json")
    assert done.status == 0
    for file in done.json["files"]:
        assert (tmp_path / "pictures" / file).read_bytes().startswith(b"\x89PNG")
    assert (
        run("plot", workload, tmp_path / "plan", "-o", tmp_path / "x", "--format", "gif").status
        == 2
    )


@both
def test_the_same_seed_prints_the_same_plan(run, workload, tmp_path, command):
    ids = [
        run(*command(workload, tmp_path / f"plan{i}", "--seed", 4, "--json")).json["id"]
        for i in range(2)
    ]
    assert ids[0] == ids[1]


def test_ctrl_c_is_130_and_leaves_nothing(run, workload, tmp_path, monkeypatch):
    def interrupted(problem, run):
        raise KeyboardInterrupt

    monkeypatch.setattr("fanwise.select.greedy.solve", interrupted)
    before = sorted(tmp_path.iterdir())
    done = run(*select(workload, tmp_path / "plan", "--algorithm", "greedy"))
    assert done.status == 130
    assert sorted(tmp_path.iterdir()) == before
