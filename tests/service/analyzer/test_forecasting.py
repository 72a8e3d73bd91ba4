"""Forecasts against plain arithmetic."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.analyzer.closed_windows import closed_window, window_at

from fanwise.service.analyzer.forecasting import Foretold, foretell, windows_needed
from fanwise.service.analyzer.workloads import traffic_of
from fanwise.service.configuration.model import Forecast

COUNTS = st.dictionaries(st.sampled_from("abc"), st.integers(1, 9))


def as_dict(found: Foretold) -> dict[str, float]:
    traffic = found.traffic
    return dict(zip(traffic.topics.to_pylist(), traffic.events.tolist(), strict=True))


def kept(counts):
    """A history that has the windows of some hours."""
    windows = {
        window_at(hour): traffic_of(closed_window(each, [])) for hour, each in counts.items()
    }
    return lambda needed: [windows[window] for window in needed if window in windows]


def test_the_last_window_is_planned_for_by_default():
    last = traffic_of(closed_window({"a": 3}, []))
    assert foretell(Forecast(), window_at(5), last, kept({})) == Foretold(last, "last")
    assert windows_needed(Forecast(), window_at(5)) == [window_at(5)]


def test_which_windows_are_looked_at():
    same = Forecast(kind="same-hour", days=2)
    # After hour 50 comes hour 51: the same of the two days before are 27 and 3.
    assert windows_needed(same, window_at(50)) == [window_at(27), window_at(3)]
    several = Forecast(kind="quantile", windows=3)
    assert windows_needed(several, window_at(50)) == [window_at(50), window_at(49), window_at(48)]


@given(days=st.lists(COUNTS, min_size=1, max_size=4))
def test_same_hour_is_the_mean_of_the_days_that_are_kept(days):
    forecast = Forecast(kind="same-hour", days=5)
    history = kept({119 + 1 - 24 * (back + 1): each for back, each in enumerate(days)})
    found = as_dict(foretell(forecast, window_at(119), traffic_of(closed_window({}, [])), history))
    for topic in {name for day in days for name in day}:
        assert found[topic] == pytest.approx(sum(day.get(topic, 0) for day in days) / len(days))


@given(hours=st.lists(COUNTS, min_size=1, max_size=6), share=st.floats(0, 1))
def test_quantiles_are_values_that_were_counted(hours, share):
    forecast = Forecast(kind="quantile", windows=6, quantile=share)
    history = kept({20 - back: each for back, each in enumerate(hours)})
    found = as_dict(foretell(forecast, window_at(20), traffic_of(closed_window({}, [])), history))
    for topic in {name for hour in hours for name in hour}:
        ordered = sorted(hour.get(topic, 0) for hour in hours)
        place = share * (len(ordered) - 1)
        assert found[topic] in (ordered[math.ceil(place - 1e-9)], ordered[math.ceil(place)])


def test_without_any_history_the_last_window_is_planned_for():
    last = traffic_of(closed_window({"a": 3}, []))
    forecast = Forecast(kind="same-hour")
    found = foretell(forecast, window_at(1), last, kept({}))
    assert found.traffic is last
    assert found.kind == "last"
    assert found.lacks.startswith("same-hour needs earlier windows")


def test_sizes_are_means_over_events():
    hours = {
        9: closed_window({"a": 1, "b": 1}, [], size={"a": 100.0}),
        10: closed_window({"a": 3}, [], size={"a": 20.0}),
    }
    windows = {window_at(hour): traffic_of(each) for hour, each in hours.items()}
    found = foretell(
        Forecast(kind="quantile", windows=2),
        window_at(10),
        windows[window_at(10)],
        lambda needed: [windows[window] for window in needed],
    )
    traffic = found.traffic
    size = dict(zip(traffic.topics.to_pylist(), traffic.size.tolist(), strict=True))
    assert size["a"] == pytest.approx(40.0)
    assert math.isnan(size["b"])
