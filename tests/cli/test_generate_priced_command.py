from __future__ import annotations

import pytest
from tests.cli.conftest import is_one_line

import fanwise as fw


@pytest.mark.parametrize("name", ["quadratic", "sparse"])
def test_help_has_an_example(run, name):
    done = run("generate", name, "--help")
    assert done.status == 0
    assert f"fanwise generate {name}" in done.out


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("quadratic", (), {}),
        ("sparse", ("--audience", 3, "--publishers", 0.5), {"audience": 3.0, "publishers": 0.5}),
    ],
)
def test_instances_are_written_and_measured(run, tmp_path, name, options, told):
    done = run(
        "generate", name, "--subscribers", 80, "--subscribers-per-broker", 10, "--channels", 12,
        "--dims", 2, "--cost-law", "uniform", "--core-ratio", 7, "--capacity-factor", 3,
        *options, "--seed", 3, "--out", tmp_path / "w", "--json",
    )  # fmt: skip
    assert (done.status, done.err) == (0, "")
    common = {"generator": name, "seed": 3, "cost_law": "uniform", "core_ratio": 7.0,
              "capacity_factor": 3.0, "subscribers": 80, "brokers": 8, "event_dims": 2,
              "channels": 12}  # fmt: skip
    assert {**common, **told}.items() <= done.json.items()
    workload = fw.read_workload(tmp_path / "w")
    assert workload.access_costs.shape == (80, 8)
    found = run("stats", tmp_path / "w", "--json").json
    assert found["channels"] == 12
    assert found["capacity_over_demand"] == pytest.approx(3)
    means = {key: value["mean"] for key, value in found["channel_distributions"].items()}
    assert means["subscribers"] == pytest.approx(8 * means["subscribers_per_broker"])


def test_stats_tell_and_draw_channels(run, tmp_path):
    run("generate", "quadratic", "--subscribers", 50, "--brokers", 5, "--out", tmp_path / "w")
    done = run("stats", tmp_path / "w", "--plots", tmp_path / "plots", "--format", "svg")
    assert (done.status, done.err) == (0, "")
    for text in ("Distributions over channels", "capacity over demand", "channels nobody wants"):
        assert text in done.out
    files = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert files == ["channels.svg", "positions.svg", "subscriptions.svg"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("quadratic", "--cost-law", "hops"), 2, "--cost-law"),
        (("sparse", "--audience", "99"), 2, "'audience' parameter must be from 0.2 to 20"),
        (("quadratic", "--subscribers", "10", "--brokers", "9", "--capacity-factor", "1"), 1,
         "raise it"),
    ],
)  # fmt: skip
def test_bad_usage_is_one_line(run, tmp_path, arguments, status, message):
    done = run("generate", *arguments, "--out", tmp_path / "w")
    assert done.status == status
    assert is_one_line(done.err)
    assert message in done.err
    assert list(tmp_path.iterdir()) == []
