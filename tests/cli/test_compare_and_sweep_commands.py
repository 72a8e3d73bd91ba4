import csv
from dataclasses import replace

import pytest
from tests.cli.conftest import is_one_line

import fanwise as fw
from fanwise.select.description import DESCRIPTION

SELECT = ("--tau", 25, "--capacity", "50%")


def compare(problem, workload, *more):
    return ("compare", problem, workload, *more)


def sweep(problem, workload, *more):
    return ("sweep", problem, workload, *more)


def test_compare_selections(run, workload, tmp_path):
    done = run(*compare("select", workload, *SELECT, "--json"))
    assert done.status == 0
    assert done.err == ""
    found = done.json
    assert set(found) == {"workload", "problem", "parameters", "bound", "plans", "skipped"}
    assert found["workload"] == fw.read_workload(workload).hash
    assert found["parameters"]["capacity_percent"] == 50
    plans = {plan["algorithm"]: plan for plan in found["plans"]}
    assert set(plans) == {
        "best", "greedy", "greedy-naive", "popular", "cheapest", "cuckoo", "exact", "random",
    }  # fmt: skip
    values = [plan["objective"] for plan in found["plans"]]
    assert values == sorted(values, reverse=True)
    assert plans["exact"]["objective"] == found["bound"] == values[0]
    for plan in plans.values():
        assert set(plan) == {
            "algorithm", "objective", "gap", "own_bound", "seconds", "feasible", "metrics", "id",
        }  # fmt: skip
    out = tmp_path / "plan"
    same = run("select", workload, *SELECT, "--algorithm", "greedy", "--out", out, "--json").json
    assert same["id"] == plans["greedy"]["id"]


def test_compare_provisionings_for_people(run, workload):
    done = run(*compare("provision", workload, "--tau", 25, "--instance", "c3.xlarge"))
    assert done.status == 0
    assert "gsp+ffbp" in done.out
    assert "best bound" in done.out
    assert "$" in done.out


def test_compare_some_algorithms_with_a_picture(run, workload, tmp_path):
    some = compare("select", workload, *SELECT, "--algorithms", "random, greedy")
    done = run(*some, "--plots", tmp_path / "pictures", "--json")
    assert done.status == 0
    assert sorted(plan["algorithm"] for plan in done.json["plans"]) == ["greedy", "random"]
    (file,) = done.json["plots"]
    assert (tmp_path / "pictures" / file).read_bytes().startswith(b"\x89PNG")
    refused = run(*some, "--plots", tmp_path / "pictures")
    assert refused.status == 2
    assert "--overwrite" in refused.err
    shown = run(*some, "--plots", tmp_path / "pictures", "--overwrite")
    assert shown.status == 0
    assert "comparison.png" in shown.out.replace("\n", "")


def test_compare_says_what_it_left_out(run, workload, monkeypatch):
    stage = DESCRIPTION.stages["algorithm"]
    monkeypatch.setitem(stage, "exact", replace(stage["exact"], compared_to=1))
    assert "--algorithms" in run(*compare("select", workload, *SELECT)).out
    found = run(*compare("select", workload, *SELECT, "--json")).json
    assert list(found["skipped"]) == ["exact"]


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (("dance", *SELECT), "dance"),
        (("select", "--tau", 25), "--capacity"),
        (("select", "--capacity", "10%"), "--tau"),
        (("select", *SELECT, "--instance", "c3.large"), "--instance"),
        (("provision", "--tau", 25, "--metric", "binary"), "--metric"),
        (("provision", "--tau", 25, "--instance", "huge"), "huge"),
        (("provision", "--tau", 25, "--horizon", "soon"), "soon"),
        (("select", *SELECT, "--metric", "some"), "some"),
        (("select", *SELECT, "--algorithms", "greedy,quantum"), "quantum"),
        (("select", *SELECT, "--algorithms", "greedy,,best"), "--algorithms"),
        (("select", *SELECT, "--time-limit", -1), "--time-limit"),
        (("select", *SELECT, "--nonsense"), "--nonsense"),
    ],
)
def test_bad_comparisons_are_one_line(run, workload, more, word):
    problem, *options = more
    done = run(*compare(problem, workload, *options))
    assert done.status == 2
    assert is_one_line(done.err)
    assert word in done.err
    assert done.out == ""


def test_ctrl_c_shows_what_there_is(run, workload, monkeypatch):
    def interrupted(problem, run):
        raise KeyboardInterrupt

    monkeypatch.setattr("fanwise.select.baselines.popular", interrupted)
    names = ("--algorithms", "greedy,popular")
    done = run(*compare("select", workload, *SELECT, *names, "--json"))
    assert done.status == 130
    assert [plan["algorithm"] for plan in done.json["plans"]] == ["greedy"]


def test_sweep_capacity_from_one_run(run, workload):
    done = run(*sweep("select", workload, "--tau", 25, "--capacities", "10%,50%,100", "--json"))
    assert done.status == 0
    assert done.err == ""
    found = done.json
    assert set(found) == {"problem", "workload", "parameters", "varied", "points"}
    assert found["parameters"] == {"tau": 25.0, "metric": "binary"}
    assert found["varied"] == ["capacity"]
    for point in found["points"]:
        assert {"capacity", "capacity_percent", "used", "value", "bound", "gap", "is_exact"} <= set(
            point
        )
        assert point["algorithm"] == "greedy"
        assert point["value"] <= point["bound"]
    assert [point["capacity_percent"] for point in found["points"]] == [10, 50, None]
    assert found["points"][2]["capacity"] == 100


def test_sweep_exact_points_are_the_plans_of_select(run, workload, tmp_path):
    points = run(
        *sweep("select", workload, "--tau", 25, "--capacities", "30%,60%"),
        *("--exact-points", "--metric", "fractional", "--json"),
    ).json["points"]
    for point in points:
        plan = run(
            *("select", workload, "--tau", 25, "--capacity", f"{point['capacity_percent']}%"),
            *("--metric", "fractional", "--out", tmp_path / "plan", "--overwrite", "--json"),
        ).json
        assert (point["value"], point["bound"]) == (plan["objective"], plan["bound"])
        assert point["algorithm"] == "best"
        assert point["is_exact"] is True


def test_sweep_writes_points_and_a_picture(run, workload, tmp_path):
    out = tmp_path / "curve"
    done = run(*sweep("select", workload, "--tau", 25, "--out", out))
    assert done.status == 0
    assert "100%" in done.out
    assert sorted(file.name for file in out.iterdir()) == ["curve.png", "points.csv"]
    with (out / "points.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16
    values = [float(row["value"]) for row in rows]
    assert values == sorted(values)
    assert values[-1] == 6
    assert run(*sweep("select", workload, "--tau", 25, "--out", out)).status == 2
    again = run(*sweep("select", workload, "--tau", 25, "--out", out, "--overwrite", "--json"))
    assert again.json["out"] == str(out)


def test_sweep_tau(run, workload):
    more = ("--taus", "5,25,60", "--capacity", "50%", "--algorithm", "exact", "--json")
    found = run(*sweep("select", workload, *more)).json
    assert found["varied"] == ["tau"]
    assert found["parameters"]["capacity_percent"] == 50
    assert [point["tau"] for point in found["points"]] == [5, 25, 60]
    values = [point["value"] for point in found["points"]]
    assert values == sorted(values, reverse=True)


def test_sweep_tau_and_capacity(run, workload):
    more = ("--taus", "5,25", "--capacities", "20%,80%", "--json")
    curve = run(*sweep("select", workload, *more)).json["points"]
    own = run(*sweep("select", workload, *more, "--exact-points", "-a", "greedy")).json["points"]
    assert [(point["tau"], point["capacity_percent"]) for point in curve] == [
        (5, 20), (5, 80), (25, 20), (25, 80),
    ]  # fmt: skip
    for point, other in zip(curve, own, strict=True):
        assert point["capacity"] == other["capacity"]
        assert point["value"] <= other["value"]
        assert point["value"] == other["value"] or not point["is_exact"]


def test_sweep_machines(run, workload, tmp_path):
    more = ("--taus", "5,60", "--instances", "c3.large,c3.xlarge", "--out", tmp_path / "curve")
    done = run(*sweep("provision", workload, *more, "--horizon", "10d", "--json"))
    assert done.status == 0
    points = done.json["points"]
    assert [(point["tau"], point["instance"]) for point in points] == [
        (5, "c3.large"), (5, "c3.xlarge"), (60, "c3.large"), (60, "c3.xlarge"),
    ]  # fmt: skip
    assert all(point["bound"] <= point["value"] and point["vms"] >= 1 for point in points)
    assert (tmp_path / "curve" / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "machines" in run(*sweep("provision", workload, "--taus", "5,60")).out


def test_sweep_message_sizes_and_horizons(run, workload, tmp_path):
    more = ("--message-sizes", "100,200", "--horizons", "1d,10d", "--tau", 25, "--reserve", "20%")
    done = run(*sweep("provision", workload, *more, "--json"))
    assert done.status == 0
    assert done.json["varied"] == ["message_bytes", "horizon_seconds"]
    assert done.json["parameters"]["reserve"] == 0.2
    points = done.json["points"]
    assert [(point["message_bytes"], point["horizon_seconds"] / 86400) for point in points] == [
        (100, 1), (100, 10), (200, 1), (200, 10),
    ]  # fmt: skip
    day, ten_days, twice, _ = (point["value"] for point in points)
    assert ten_days == pytest.approx(10 * day)
    assert twice > day
    for point in points:
        plan = run(
            *("provision", workload, "--tau", 25, "--message-bytes", point["message_bytes"]),
            *("--horizon", f"{point['horizon_seconds']}s", "--reserve", "20%"),
            *("--out", tmp_path / "plan", "--overwrite", "--json"),
        ).json
        assert (plan["objective"], plan["bound"]) == (point["value"], point["bound"])
    shown = run(*sweep("provision", workload, *more, "--out", tmp_path / "curve"))
    assert "10 days" in shown.out
    assert (tmp_path / "curve" / "curve.png").read_bytes().startswith(b"\x89PNG")


CATALOGUE = "instance,usd_per_hour,mbps\nslow,1,0.00002\nfast,1.5,0.00004\n"


def test_sweep_machines_of_a_catalogue_with_auto(run, workload, tmp_path):
    (tmp_path / "types.csv").write_text(CATALOGUE)
    more = ("--catalog", tmp_path / "types.csv", "--instances", "slow,fast,auto", "--tau", 25)
    done = run(*sweep("provision", workload, *more, "--json"))
    assert done.status == 0
    slow, fast, auto = (point["value"] for point in done.json["points"])
    assert auto <= min(slow, fast)


def test_cost_against_tau_is_drawn(run, workload, tmp_path, monkeypatch):
    from fanwise.provision import plots

    drawn = []
    draw = plots.plot_cost_against_tau
    monkeypatch.setattr(
        plots, "plot_cost_against_tau", lambda curves: drawn.append(curves) or draw(curves)
    )
    out = tmp_path / "curve"
    assert run(*sweep("provision", workload, "--taus", "5,60", "--out", out)).status == 0
    ((name, points),) = drawn[0].items()
    assert name == "best+best"
    assert [point.parameters["tau"] for point in points] == [5, 60]
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_compare_provisionings_with_a_ladder(run, workload, tmp_path):
    (tmp_path / "types.csv").write_text(CATALOGUE)
    more = ("--tau", 25, "--catalog", tmp_path / "types.csv", "--instance", "auto")
    limits = ("--reserve", "10%", "--message-bytes", 100, "--price-gb", 0.5)
    some = ("--algorithms", "gsp+cbp,rsp+cbp,best+best,rsp+ffbp")
    done = run(*compare("provision", workload, *more, *limits, *some, "--plots", tmp_path / "p"))
    assert done.status == 0
    assert {file.name for file in (tmp_path / "p").iterdir()} == {"comparison.png", "ladder.png"}
    found = run(*compare("provision", workload, *more, *limits, *some, "--json")).json
    assert found["parameters"]["reserve"] == 0.1
    assert found["parameters"]["message_bytes"] == 100
    assert found["parameters"]["price_gb_in"] == found["parameters"]["price_gb_out"] == 0.5
    assert found["plans"][0]["algorithm"] == "best+best"


def test_points_without_a_plan(run, tmp_path):
    workload = fw.TopicWorkload.from_arrays([1e9, 1.0], [0, 1], [0, 1], message_bytes=1e6)
    fw.write_workload(workload, tmp_path / "large")
    done = run(*sweep("provision", tmp_path / "large", "--taus", "1,5"))
    assert done.status == 1
    assert "no plan" in done.out
    assert is_one_line(done.err)
    done = run(*compare("provision", tmp_path / "large", "--tau", 1))
    assert done.status == 1
    assert is_one_line(done.err)


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (("dance", "--tau", 25), "dance"),
        (("select",), "--tau"),
        (("select", *SELECT), "--capacity"),
        (("select", "--tau", 25, "--taus", "1,2"), "--taus"),
        (("select", *SELECT, "--capacities", "1%"), "--capacities"),
        (("select", "--tau", 25, "--capacities", "1%,lots"), "lots"),
        (("select", "--tau", 25, "--capacities", "1%,,2%"), "--capacities"),
        (("select", "--taus", "1,many"), "many"),
        (("select", "--taus", "1,-1"), "-1"),
        (("select", "--taus", "1,2", "--capacity", "9%", "--exact-points"), "--exact-points"),
        (("select", "--tau", 25, "--algorithm", "best"), "--exact-points"),
        (("select", "--tau", 25, "--algorithm", "quantum"), "quantum"),
        (("select", "--tau", 25, "--instances", "c3.large"), "--instances"),
        (("provision", "--tau", 25), "--taus"),
        (("provision", "--tau", 25, "--capacities", "1%"), "--capacities"),
        (("provision", "--taus", "25", "--exact-points"), "--exact-points"),
        (("provision", "--taus", "25", "--algorithm", "gsp"), "gsp"),
        (("provision", "--tau", 25, "--instances", "c3.large,huge"), "huge"),
        (("provision", "--instance", "a", "--instances", "b"), "--instances"),
        (("provision", "--tau", 25, "--message-sizes", "1,big"), "big"),
        (("provision", "--tau", 25, "--message-sizes", "1,0"), "message_bytes"),
        (("provision", "--tau", 25, "--horizons", "1d,soon"), "soon"),
        (("provision", "--message-bytes", 1, "--message-sizes", "1,2"), "--message-sizes"),
        (("provision", "--horizon", "1d", "--horizons", "1d,2d"), "--horizons"),
        (("provision", "--taus", "1,2", "--reserve", "all"), "reserve"),
        (("select", "--tau", 25, "--horizons", "1d"), "--horizons"),
        (("select", "--tau", 25, "--message-bytes", 9), "--message-bytes"),
    ],
)
def test_bad_sweeps_are_one_line_and_write_nothing(run, workload, tmp_path, more, word):
    problem, *options = more
    before = sorted(tmp_path.iterdir())
    done = run(*sweep(problem, workload, *options, "--out", tmp_path / "out"))
    assert done.status == 2
    assert is_one_line(done.err)
    assert word in done.err
    assert done.out == ""
    assert sorted(tmp_path.iterdir()) == before
