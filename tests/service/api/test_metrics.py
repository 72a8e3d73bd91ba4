"""What Prometheus is told: states as they become, levels that are not known, bounded labels."""

from __future__ import annotations

import math
import re
import time

import pytest
from tests.service.monitor.test_receiver import wait_until
from tests.service.services import HOUR, close_hour, supervise

from fanwise.service.api.metrics import OTHER, Metrics, name_reason
from fanwise.service.executor.errors import OutputError
from fanwise.service.monitor.ledger import Batch, TopicCount
from fanwise.service.store.decisions import supersede_pending
from fanwise.service.store.errors import StoreUnavailable


@pytest.fixture
def service(tmp_path):
    service = supervise(tmp_path, execute={"retries": {"attempts": 1}})
    service.listener = Metrics(service)
    yield service
    service.stop()


def read(service):
    lines = service.listener.text().decode().splitlines()
    return {
        name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")
        if "_created" not in name
    }


def test_nothing_is_told_of_decisions_before_the_first(service):
    found = read(service)
    for name in ("value", "bound", "gap", "changes", "delivered_ratio"):
        assert math.isnan(found[f"fanwise_decision_{name}"])
    assert math.isnan(found["fanwise_lag_seconds"])


def test_decisions_are_counted_by_every_state_that_they_come_to(service, tmp_path):
    def counted():
        pattern = re.compile(r'fanwise_decisions_total\{state="(.*)"\}')
        return {
            pattern.fullmatch(name)[1]: value
            for name, value in read(service).items()
            if pattern.fullmatch(name) and value
        }

    close_hour(service, 0)
    assert counted() == {"pending": 1}
    hash = service.store.pending().hash
    service.executor.wait(service.executor.approve(hash, "ann").epoch, 30)
    # What is committed is counted a moment later.
    wait_until(lambda: counted() == {"pending": 1, "in-force": 1}, counted)
    close_hour(service, 1, {"cats": 9, "dogs": 9, "news": 1})
    service.executor.reject(service.store.pending().hash, "ann")
    assert counted() == {"pending": 2, "in-force": 1, "rejected": 1}
    close_hour(service, 2, {"dogs": 9, "news": 1})
    close_hour(service, 3, {"cats": 9, "dogs": 9, "news": 1})
    assert counted() == {"pending": 4, "in-force": 1, "rejected": 1, "superseded": 1}
    (tmp_path / "served.json").unlink()
    (tmp_path / "served.json").mkdir()
    service.executor.wait(service.executor.approve(service.store.pending().hash, "ann").epoch, 30)
    wait_until(lambda: counted().get("failed") == 1, counted)
    found = read(service)
    assert found['fanwise_apply_failures_total{output="file",reason="other"}'] >= 1
    assert found["fanwise_dead_letters"] == 1


def test_a_change_that_does_not_hold_is_not_counted(service, monkeypatch):
    close_hour(service, 0)
    before = dict(service.store.happened)
    hash = service.store.pending().hash

    def fail():
        with service.store.writing() as connection:
            supersede_pending(connection, "why")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert service.store.pending().hash == hash
    assert dict(service.store.happened) == before


def test_windows_are_counted_by_what_closed_them(service):
    assert read(service)['fanwise_windows_total{closed_by="watermark"}'] == 0
    close_hour(service, 0)
    close_hour(service, 1)
    assert read(service)['fanwise_windows_total{closed_by="watermark"}'] == 2
    assert read(service)['fanwise_windows_total{closed_by="idle"}'] == 0
    totals = service.store.windows().rows[0]
    service.store.put_window(totals)
    assert read(service)['fanwise_windows_total{closed_by="watermark"}'] == 2, "the same one"


def test_the_lag_is_how_old_the_newest_counted_event_is(service):
    now = time.time_ns() // 1000
    start = now // HOUR * HOUR
    service.ledger.commit(Batch(0, [TopicCount(start, "a", 1, 0.0, 0)], now - 90 * 10**6))
    found = read(service)
    assert 90 <= found["fanwise_lag_seconds"] < 150
    assert 0 <= found["fanwise_idle_seconds"] < 60, "a batch has come meanwhile, or we just started"
    service.ledger.commit(Batch(1, [TopicCount(start, "a", 1, 0.0, 0)], now + 60 * 10**6))
    assert read(service)["fanwise_lag_seconds"] == 0.0, "from the future, by another clock"


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("malformed row", "malformed row"),
        ("timestamp in the future", "timestamp in the future"),
        ("no topic", "no topic"),
        ("action neither subscribe nor unsubscribe", "action neither subscribe nor unsubscribe"),
        ("larger than 256,000 bytes", "larger than"),
        ("no id in 'key'", "no id"),
        ("made up by a publisher 1", OTHER),
        ("", OTHER),
    ],
)
def test_reasons_of_bad_rows_are_few(reason, label):
    assert name_reason(reason) == label


def test_every_reason_that_the_monitor_gives_is_known():
    """They are written where rows are judged; here is a list of them."""
    import inspect

    from fanwise.service.api.metrics import REASONS
    from fanwise.service.monitor import messages, receiver, stream

    text = "".join(map(inspect.getsource, (messages, receiver, stream)))
    written = set(re.findall(r'bad\(\s*"([^"]+)"', text))
    written |= set(re.findall(r'return row\["reason"\] or "([^"]+)"', text))
    written |= set(re.findall(r'return "((?:no|malformed) [^"]+)"', text))
    assert written
    assert written <= REASONS


@pytest.mark.parametrize(
    ("kind", "label"), [("refused", "refused"), ("tls", "tls"), ("bob@10.0.0.1", "other")]
)
def test_failures_have_a_reason_of_a_few(service, kind, label):
    service.listener.note_failure("hook", kind)
    name = f'fanwise_apply_failures_total{{output="hook",reason="{label}"}}'
    assert read(service)[name] == 1
    assert OutputError("why").kind == "other"


def test_metrics_go_on_while_the_store_is_away(service, monkeypatch):
    def away():
        raise StoreUnavailable("away")

    monkeypatch.setattr(service.executor, "status", away)
    assert "fanwise_events_total" in read(service)
