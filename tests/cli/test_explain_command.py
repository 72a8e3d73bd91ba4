import pytest
from tests.cli.conftest import is_one_line


@pytest.fixture
def plan(run, workload, tmp_path):
    folder = tmp_path / "plan"
    done = run("select", workload, "--tau", 25, "--capacity", "50%", "-o", folder, "-a", "greedy")
    assert done.status == 0
    return folder


def test_the_plan_for_people_and_programs(run, workload, plan):
    done = run("explain", plan, "--workload", workload)
    assert done.status == 0
    for words in ("What capacity buys", "the next 1%", "Who stays unsatisfied", "per cost"):
        assert words in done.out
    printed = run("explain", plan, "--workload", workload, "--json").json
    assert printed["unsatisfied"] <= printed["subscribers"] == 6
    assert {"next_percent", "last_percent", "candidates", "weakest", "plan"} <= set(printed)


def test_every_topic_has_a_case(run, workload, plan):
    seen = set()
    for name in ("pop", "jazz", "folk", "ska"):
        printed = run("explain", plan, "--workload", workload, "--topic", name, "--json").json
        assert printed["topic"] == name
        seen.add(printed["served"])
        shown = run("explain", plan, "--workload", workload, "--topic", name)
        assert shown.status == 0
        assert f"{name}: {'served' if printed['served'] else 'offloaded'}" in shown.out
    assert seen == {True, False}


def test_an_unknown_topic_is_bad_usage(run, workload, plan):
    done = run("explain", plan, "--workload", workload, "--topic", "jaz")
    assert done.status == 2
    assert is_one_line(done.err)
    assert "'jazz'" in done.err


@pytest.fixture
def machines(run, workload, tmp_path):
    folder = tmp_path / "machines"
    assert run("provision", workload, "--tau", 25, "-o", folder).status == 0
    return folder


def test_machines_are_explained(run, workload, machines):
    shown = run("explain", machines, "--workload", workload)
    assert shown.status == 0
    for words in (
        "Where the money goes",
        "The fleet",
        "One machine more or less",
        "Dearest topics",
    ):
        assert words in shown.out
    printed = run("explain", machines, "--workload", workload, "--json").json
    assert printed["cost"]["total"] >= printed["bound"] > 0
    for item, name in (("--topic", "pop"), ("--subscriber", "s0"), ("--machine", "0")):
        shown = run("explain", machines, "--workload", workload, item, name)
        assert shown.status == 0
        assert f"{name}: " in shown.out
        printed = run("explain", machines, "--workload", workload, item, name, "--json").json
        assert str(printed[item[2:]]) == name


def test_one_item_of_a_kind_that_the_plan_has(run, workload, plan, machines):
    for folder, arguments, says in (
        (plan, ("--machine", 0), "--machine is not for select plans; use --topic"),
        (machines, ("--machine", 7), "machine 7 is not in the plan"),
        (machines, ("--machine", 0, "--topic", "pop"), "one item is explained at a time"),
    ):
        done = run("explain", folder, "--workload", workload, *arguments)
        assert done.status == 2
        assert is_one_line(done.err)
        assert says in done.err


def test_reproduce_refuses_what_it_cannot(run, tmp_path):
    for arguments in (("dance",), ("select", "--scale", "huge"), ("provision", "--scale", "0")):
        done = run("reproduce", *arguments, "--out", tmp_path / "r")
        assert done.status == 2
        assert is_one_line(done.err)
        assert not (tmp_path / "r").exists()
    (tmp_path / "r").mkdir()
    assert run("reproduce", "select", "--out", tmp_path / "r").status == 2
