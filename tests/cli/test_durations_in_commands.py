"""Every option that takes a length of time takes ``1h30m``, and refuses in the same words."""

import pytest
from tests.cli.conftest import is_one_line

PROVISION = ("--tau", 25, "--instance", "c3.large")


def commands(workload, out):
    return {
        "horizon": lambda text: (
            *("provision", workload, *PROVISION, "--horizon", text, "--out", out),
        ),
        "horizon of compare": lambda text: (
            *("compare", "provision", workload, *PROVISION, "--algorithms", "gsp+cbp"),
            *("--horizon", text),
        ),
        "horizons": lambda text: (
            *("sweep", "provision", workload, *PROVISION, "--algorithm", "gsp+cbp"),
            *("--horizons", f"2h,{text}"),
        ),
        "time-limit": lambda text: (
            *("select", workload, "--tau", 25, "--capacity", "50%", "--time-limit", text),
            *("--out", out),
        ),
        "time-limit of sweep": lambda text: (
            *("sweep", "select", workload, "--tau", 25, "--capacities", "50%"),
            *("--time-limit", text),
        ),
        "window": lambda text: ("ingest", "--publications", "no", "--subscriptions", "no",
                                "--window", text, "--out", out),
        "period": lambda text: ("ingest", "--publications", "no", "--subscriptions", "no",
                                "--period", text, "--out", out),
    }  # fmt: skip


OPTIONS = list(commands("workload", "out"))


@pytest.mark.parametrize("option", OPTIONS)
def test_the_same_words_everywhere(run, workload, tmp_path, option):
    done = run(*commands(workload, tmp_path / "out")[option]("soon"))
    assert done.status == 2
    assert is_one_line(done.err)
    name = option.split()[0]
    assert f"{name}' parameter must be a duration " in done.err
    assert ", in seconds or as in 90s, 15m, 1h30m or 10d, got 'soon'." in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", [name for name in OPTIONS if name not in ("window", "period")])
@pytest.mark.parametrize("text", ["1h30m", "90m", "5400", "1.5h"])
def test_hours_and_minutes_are_taken(run, workload, tmp_path, option, text):
    done = run(*commands(workload, tmp_path / "out")[option](text), "--json")
    assert done.status == 0, done.err
    if option == "horizon":
        assert done.json["parameters"]["horizon_seconds"] == 5400
    elif option == "horizons":
        assert [point["horizon_seconds"] for point in done.json["points"]] == [7200, 5400]
    elif option == "time-limit":
        assert done.json["limits"]["time_limit"] == 5400
