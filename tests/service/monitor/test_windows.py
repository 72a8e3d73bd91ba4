"""Panes and windows against their definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fanwise.service.monitor.windows import WindowRule
from fanwise.service.records import Window

RULES = st.builds(
    lambda slide, factor, lateness: WindowRule(slide * factor, slide, lateness),
    st.integers(1, 20),
    st.integers(1, 5),
    st.integers(0, 50),
)


@given(rule=RULES, instant=st.integers(-1000, 1000))
def test_an_instant_is_in_the_windows_that_hold_its_pane(rule, instant):
    pane = rule.pane_of(instant)
    assert pane <= instant < pane + rule.slide
    windows = [rule.window_ending(end) for end in rule.ends_over(pane)]
    assert len(windows) == rule.length // rule.slide
    for window in windows:
        assert window.start <= instant < window.end
        assert window.end % rule.slide == 0
        assert pane in rule.panes_in(window)


@given(rule=RULES, instants=st.lists(st.integers(0, 500), min_size=1))
def test_windows_close_once_each_when_the_watermark_passes_their_end(rule, instants):
    closed: list[Window] = []
    panes: set[int] = set()
    through, last = -(10**6), -(10**6)
    for instant in instants:
        panes.add(rule.pane_of(instant))
        last = max(last, instant)
        now = max(through, rule.closed_by_watermark(last))
        closed += rule.closing(panes, through, now)
        through = now
    assert len(closed) == len(set(closed))
    for window in closed:
        assert last - rule.lateness >= window.end
        assert any(window.start <= instant < window.end for instant in instants)


def test_seconds_become_microseconds():
    assert WindowRule.from_seconds(3600, None, 60) == WindowRule(
        3600 * 10**6, 3600 * 10**6, 60 * 10**6
    )
    assert WindowRule.from_seconds(3600, 900, 0).slide == 900 * 10**6
