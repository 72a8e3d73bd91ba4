"""The made day: decisions that are nearly proven best, and that have something to switch."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa

from fanwise.service import demo
from fanwise.service.analyzer.deciding import Analyzer
from fanwise.service.analyzer.silent import InForce
from fanwise.service.demo import MadeDay, Replay, demo_configuration
from fanwise.service.records import ClosedWindow, Window

HOUR = 3600 * 10**6


def closed_hour(day, hour):
    counts = Counter(
        event["topic"] for period in range(hour * 6, hour * 6 + 6) for event in day.events(period)
    )
    topics = sorted(counts)
    whose, wanted = zip(*day.pairs, strict=True)
    return ClosedWindow(
        Window(hour * HOUR, (hour + 1) * HOUR),
        "watermark",
        pa.array(topics),
        np.array([counts[topic] for topic in topics]),
        np.full(len(topics), 200.0),
        pa.table({"subscriber": whose, "topic": wanted}),
    )


def test_every_hour_has_switches_and_a_small_gap(tmp_path):
    # As good as it must be, however long that takes: not as good as it gets in some seconds.
    settings = demo_configuration(tmp_path, "127.0.0.1", 0).decide.model_copy(
        update={"gap": 0.02, "time_limit": 120.0}
    )
    analyzer, day, in_force = Analyzer(settings, lambda windows: []), MadeDay(0), None
    for hour in (6, 7, 8):
        decided = analyzer.decide(closed_hour(day, hour), in_force)
        decision = decided.decision
        assert decision.gap <= 0.02
        assert 0 < decision.facts["satisfied"] < decision.facts["subscribers"]
        if in_force is not None:
            assert 0 < decision.changes <= settings.max_changes
        in_force = InForce(decision.hash, decided.served)


def test_the_day_is_the_same_every_time_and_in_order():
    day, again = MadeDay(86_400), MadeDay(86_400)
    assert day.pairs == again.pairs
    events = day.events(3)
    assert events == again.events(3)
    times = [event["timestamp"] for event in events]
    assert times == sorted(times)
    assert 86_400 + 3 * demo.PERIOD <= times[0] <= times[-1] <= 86_400 + 4 * demo.PERIOD


def test_a_replay_writes_whole_files_and_can_be_stopped(tmp_path):
    demo_configuration(tmp_path, "127.0.0.1", 0)
    replay = Replay(tmp_path, seconds_per_period=0.0)
    replay.day.events = lambda period: [{"topic": "a", "timestamp": period}]
    replay.start()
    replay.join(60)
    assert not replay.is_alive()
    files = sorted((tmp_path / "demo" / "publications").iterdir())
    assert [file.name for file in files] == [f"{number:04d}.jsonl" for number in range(144)]
    assert json.loads(files[-1].read_text()) == {"topic": "a", "timestamp": 143}
    slow = Replay(tmp_path, seconds_per_period=3600.0)
    slow.start()
    slow.stop()
    slow.join(60)
    assert not slow.is_alive()
