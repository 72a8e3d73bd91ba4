import json

import pytest
from tests.strategies import Instance

import fanwise as fw
from fanwise.cli.main import main

INSTANCE = Instance([13.0, 29.0, 53.0], [[0, 2], [1], [0, 1, 2], [2]], tau=40.0)


@pytest.fixture
def folder(tmp_path):
    fw.write_workload(INSTANCE.workload(), tmp_path / "workload")
    return tmp_path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


def test_a_plan_for_programs(folder, capsys):
    out = folder / "plan"
    status, text, errors = run(
        capsys, "provision", folder / "workload", "--tau", 40, "--horizon", "10d",
        "--price-gb", 0.5, "--price-gb-in", 0, "--message-bytes", 111, "--seed", 3,
        "--json", "--out", out,
    )  # fmt: skip
    assert (status, errors) == (0, "")
    result = json.loads(text)
    assert result["algorithm"] == "best+best"
    assert result["parameters"] == {
        "tau": 40.0,
        "instance": "c3.large",
        "catalog": None,
        "price_gb_in": 0.0,
        "price_gb_out": 0.5,
        "message_bytes": 111.0,
        "horizon_seconds": 864000.0,
        "reserve": 0.0,
        "max_cost": None,
        "seed": 3,
    }
    assert result["objective"] == pytest.approx(36, rel=1e-3)
    plan = fw.read_plan(out, fw.read_workload(folder / "workload"))
    plan.verify()
    assert plan.id == result["id"]
    assert run(capsys, "verify", folder / "workload", out)[0] == 0


def test_a_plan_for_people(folder, capsys):
    status, text, _ = run(
        capsys, "provision", folder / "workload", "--tau", 40, "--out", folder / "plan"
    )
    assert status == 0
    for words in ("1 x c3.large", "$3.60", "for 1 day", "certified gap", "utilisation"):
        assert words in text


def test_nothing_to_provide_is_shown_too(folder, capsys):
    arguments = ("provision", folder / "workload", "--tau", 0, "--out", folder / "plan")
    status, text, _ = run(capsys, *arguments)
    assert status == 0
    assert "There is nothing to decide: no subscriber needs anything." in text


def test_a_catalogue_and_an_instance_of_it(folder, capsys):
    catalogue = folder / "machines.csv"
    catalogue.write_text("instance,usd_per_hour,mbps\nlarge,2,1\nsmall,1,0.000003\n")
    status, text, _ = run(
        capsys, "provision", folder / "workload", "--tau", 40, "--catalog", catalogue,
        "--instance", "small", "--json", "--out", folder / "plan",
    )  # fmt: skip
    result = json.loads(text)
    assert status == 0
    assert result["parameters"]["catalog"] == {
        "large": {"usd_per_hour": 2.0, "mbps": 1.0},
        "small": {"usd_per_hour": 1.0, "mbps": 0.000003},
    }
    assert result["metrics"]["vms"] > 1


CATALOGUE = "instance,usd_per_hour,mbps\nlarge,2,1\nsmall,1,0.000003\n"


def test_every_pair_of_algorithms_runs(folder, capsys):
    for select in ("gsp", "rsp", "exact", "best"):
        for pack in ("ffbp", "group", "expensive-first", "most-free", "cbp", "exact", "best"):
            status, text, _ = run(
                capsys, "provision", folder / "workload", "--tau", 40, "--select", select,
                "--pack", pack, "--json", "--overwrite", "--out", folder / "plan",
            )  # fmt: skip
            assert status == 0
            assert json.loads(text)["algorithm"] == f"{select}+{pack}"


def test_the_cheapest_types_with_a_reserve(folder, capsys):
    (folder / "machines.csv").write_text(CATALOGUE)
    options = ("--tau", 40, "--catalog", folder / "machines.csv", "--instance", "auto")
    status, text, _ = run(
        capsys, "provision", folder / "workload", *options, "--reserve", "10%", "--json",
        "--out", folder / "plan",
    )  # fmt: skip
    result = json.loads(text)
    assert status == 0
    assert result["parameters"]["instance"] == "auto"
    assert result["parameters"]["reserve"] == 0.1
    assert result["metrics"]["paper_bound"] is None
    assert run(capsys, "verify", folder / "workload", folder / "plan")[0] == 0
    status, text, _ = run(
        capsys, "provision", folder / "workload", *options, "--out", folder / "other"
    )
    assert status == 0
    assert "1 x large" in text


def test_what_is_saved_against_the_naive_plan(folder, capsys):
    (folder / "machines.csv").write_text(CATALOGUE)
    options = ("--tau", 40, "--catalog", folder / "machines.csv", "--instance", "small")
    arguments = ("provision", folder / "workload", *options, "--baseline", "--seed", 2)
    status, text, _ = run(capsys, *arguments, "--json", "--out", folder / "plan")
    result = json.loads(text)
    assert status == 0
    naive = run(
        capsys, "provision", folder / "workload", *options, "--select", "rsp", "--pack", "ffbp",
        "--seed", 2, "--json", "--out", folder / "naive",
    )  # fmt: skip
    cost = json.loads(naive[1])["objective"]
    assert result["metrics"]["cost_naive"] == pytest.approx(cost)
    assert result["metrics"]["savings"] == pytest.approx(cost - result["objective"])
    assert run(capsys, "verify", folder / "workload", folder / "plan")[0] == 0
    _, text, _ = run(capsys, *arguments, "--out", folder / "again")
    assert "of the naive plan's" in text


def test_the_decision_question(folder, capsys):
    def ask(limit, *options):
        status, text, _ = run(
            capsys, "provision", folder / "workload", "--tau", 40, "--max-cost", limit, *options,
            "--overwrite", "--out", folder / "plan",
        )  # fmt: skip
        return status, text

    status, text = ask(100, "--json")
    result = json.loads(text)
    assert (status, result["metrics"]["decision"]) == (0, "yes")
    status, text = ask(result["bound"] / 2, "--json")
    assert (status, json.loads(text)["metrics"]["decision"]) == (1, "no")
    assert run(capsys, "verify", folder / "workload", folder / "plan")[0] == 0
    status, text = ask(0.5 * result["bound"])
    assert status == 1
    assert "no: the bound is higher" in text
    assert "above the bound" in text


def test_infeasible_is_1_and_writes_nothing(folder, capsys):
    catalogue = folder / "machines.csv"
    catalogue.write_text("instance,usd_per_hour,mbps\nlarge,2,1\nsmall,1,0.000001\n")
    status, text, errors = run(
        capsys, "provision", folder / "workload", "--tau", 40, "--catalog", catalogue,
        "--instance", "small", "--out", folder / "plan",
    )  # fmt: skip
    assert (status, text) == (1, "")
    assert "t2" in errors
    assert "the smallest instance that works is large" in errors
    assert errors.count("\n") == 1
    assert not (folder / "plan").exists()


def test_without_tau_the_column_is_used(folder, capsys):
    own = Instance(INSTANCE.rates, INSTANCE.interests, tau=[0.0, 10.0, 20.0, 30.0])
    fw.write_workload(own.workload(), folder / "own")
    status, text, _ = run(capsys, "provision", folder / "own", "--json", "--out", folder / "plan")
    assert status == 0
    assert json.loads(text)["parameters"]["tau"] == "column"
    status, _, errors = run(capsys, "provision", folder / "workload", "--out", folder / "other")
    assert status == 2
    assert "--tau is missing" in errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--instance", "m5.large"], "one of c3.large, c3.xlarge"),
        (["--catalog", "none.csv"], "none.csv: cannot be read"),
        (["--select", "magic"], "'select' parameter must be one of best"),
        (["--pack", "magic"], "'pack' parameter must be one of"),
        (["--horizon", "soon"], "'horizon' parameter must be a duration"),
        (["--price-gb", "-1"], "'price_gb_in' parameter"),
        (["--message-bytes", "0"], "'message_bytes' parameter"),
        (["--tau", "many"], "'tau' parameter"),
        (["--reserve", "lots"], "'reserve' parameter"),
        (["--reserve", "100%"], "'reserve' parameter"),
        (["--max-cost", "-1"], "'max_cost' parameter"),
    ],
)
def test_bad_options_are_2_and_write_nothing(folder, capsys, options, words):
    status, text, errors = run(
        capsys, "provision", folder / "workload", "--tau", 40, *options, "--out", folder / "plan"
    )
    assert (status, text) == (2, "")
    assert words in errors
    assert errors.count("\n") == 1
    assert not (folder / "plan").exists()


def test_an_existing_plan_is_kept_unless_told(folder, capsys):
    arguments = ("provision", folder / "workload", "--tau", 40, "--out", folder / "plan")
    assert run(capsys, *arguments)[0] == 0
    status, _, errors = run(capsys, *arguments)
    assert status == 2
    assert "exists already" in errors
    assert run(capsys, *arguments, "--overwrite")[0] == 0
