"""The service's loop without Spark: one decision a window, whatever is stopped when."""

from __future__ import annotations

import itertools
import json

import pytest
from tests.service.services import HOUR, close_hour, configuration_in, supervise

import fanwise as fw
from fanwise.errors import InputError
from fanwise.service import supervisor as supervisors
from fanwise.service.checking import check_source
from fanwise.service.monitor.ledger import Batch, TopicCount
from fanwise.service.monitor.subscriptions import SubscriptionChange
from fanwise.service.records import Window
from fanwise.service.state import StateInUseError
from fanwise.service.store.errors import StoreUnavailable
from fanwise.service.store.store import Store
from fanwise.service.supervisor import Supervisor


def commit_hours(service, hours):
    """Let hours pass without deciding them."""
    for hour in hours:
        number = service.ledger.totals()["batch"] + 1
        counts = [TopicCount(hour * HOUR, "news", hour + 1, 0.0, 0)]
        service.ledger.commit(Batch(number, counts, (hour + 1) * HOUR + 120 * 10**6))


def test_every_window_is_decided_once_in_order(tmp_path):
    service = supervise(tmp_path)
    commit_hours(service, range(4))
    service.step()
    service.step()
    rows = service.store.decisions(10).rows
    assert [one.window for one in rows] == [
        Window(hour * HOUR, (hour + 1) * HOUR) for hour in (3, 2, 1, 0)
    ]
    assert [one.state for one in rows] == ["pending"] + ["superseded"] * 3
    service.stop()


@pytest.mark.parametrize("point", ["put_window", "pins", "insert_decision", "set_delivered"])
def test_a_kill_at_any_point_neither_loses_nor_doubles_a_decision(tmp_path, monkeypatch, point):
    service = supervise(tmp_path)
    close_hour(service, 0)
    commit_hours(service, [1, 2])

    class Killed(BaseException):
        pass

    def die(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(type(service.store), point, die)
        with pytest.raises(Killed):
            service.step()
    service.stop()
    service = supervise(tmp_path)
    service.step()
    rows = service.store.decisions(10).rows
    assert [one.window.start // HOUR for one in rows] == [2, 1, 0]
    assert [one.number for one in rows] == [3, 2, 1]
    service.stop()


def test_a_decision_that_was_stored_is_not_made_again_after_a_kill(tmp_path):
    service = supervise(tmp_path)
    close_hour(service, 0)
    before = service.store.newest()
    service.stop()
    service = supervise(tmp_path)
    service.step()
    assert service.store.newest() == before
    close_hour(service, 1)
    assert service.store.newest().number == 2
    service.stop()


def test_plans_can_be_verified_by_anybody(tmp_path):
    service = supervise(tmp_path)
    close_hour(service, 0)
    decision = service.store.newest()
    folder = service.plan_folder(decision)
    workload = fw.read_workload(service.folder.workloads / folder.name)
    plan = fw.read_plan(folder, workload)
    plan.verify()
    assert (plan.id, plan.workload) == (decision.hash, decision.workload)
    service.stop()


def test_a_forecast_is_compared_with_what_came(tmp_path):
    service = supervise(tmp_path)
    close_hour(service, 0)
    first = service.store.newest()
    assert first.delivered is None
    close_hour(service, 1, {"news": 10, "cats": 1})
    found = service.store.decision(first.number)
    served = set(service.store.served_by(first.hash))
    # Of the six, ann, bob and cid want news, eve and fay get one event of cats.
    expected = 3 * ("news" in served) + 2 * ("cats" in served)
    assert found.delivered == expected
    service.stop()


def test_only_so_many_plans_and_workloads_are_kept(tmp_path):
    service = supervise(tmp_path, store={"keep_plans": 3, "keep_workloads": 2})
    for hour in range(6):
        close_hour(service, hour, {"news": hour + 1, "cats": 7 - hour})
    assert len(list(service.folder.plans.iterdir())) == 3
    assert len(list(service.folder.workloads.iterdir())) == 2
    newest = service.store.newest()
    assert service.plan_folder(newest).exists()
    service.stop()


def test_decisions_outlive_their_plans(tmp_path):
    service = supervise(
        tmp_path, store={"keep_plans": 1, "keep_decisions": 4}, execute={"mode": "dry-run"}
    )
    for hour in range(7):
        close_hour(service, hour, {"news": hour + 1, "cats": 7 - hour})
    service._tidy()
    numbers = [one.number for one in service.store.decisions(100).rows]
    assert numbers[:4] == [7, 6, 5, 4]
    assert len(list(service.folder.plans.iterdir())) == 1
    service.stop()


def test_a_second_service_on_the_same_folder_is_refused(tmp_path):
    service = supervise(tmp_path)
    with pytest.raises(StateInUseError, match="runs on this state folder"):
        Supervisor(service.configuration)
    service.stop()
    Supervisor(service.configuration).stop()


def test_mode_auto_applies_and_dry_run_never_does(tmp_path):
    auto = supervise(tmp_path / "auto", execute={"mode": "auto"})
    close_hour(auto, 0)
    epoch = auto.executor.status().epoch
    auto.executor.wait(epoch, 20)
    assert auto.store.current().hash == auto.store.newest().hash
    assert json.loads((tmp_path / "auto" / "served.json").read_text())["epoch"] == epoch
    auto.stop()
    dry = supervise(tmp_path / "dry", execute={"mode": "dry-run"})
    close_hour(dry, 0)
    close_hour(dry, 1)
    assert dry.store.current() is None
    assert dry.store.newest().changes == 0, "against the decision before, though nothing is applied"
    assert not (tmp_path / "dry" / "served.json").exists()
    dry.stop()


def test_old_counts_are_forgotten_and_what_forecasts_need_is_kept(tmp_path):
    forecast = {"kind": "quantile", "windows": 2}
    service = supervise(tmp_path, decide={"tau": 2, "capacity": 20, "forecast": forecast})
    for hour in range(8):
        close_hour(service, hour)
    service._tidy()
    kept = [window.start // HOUR for window in service.ledger.windows_after()]
    assert kept == [5, 6, 7]
    close_hour(service, 8)
    assert service.store.newest().forecast == "quantile"
    service.stop()


def test_trouble_of_one_part_is_said_and_passes(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisors, "RETRY_SECONDS", 0.0)
    service = supervise(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(service.analyzer, "decide", lambda *_, **__: 1 / 0)
        close_hour(service, 0)
    assert "ZeroDivisionError" in service.health.analyzer
    assert service.store.newest() is None
    service.step()
    assert service.health.analyzer == ""
    assert service.store.newest().number == 1
    service.stop()


def test_what_is_missing_is_told_before_anything_starts(tmp_path):
    found = configuration_in(tmp_path)
    check_source(found)
    gone = found.model_copy(
        update={"monitor": found.monitor.model_copy(update={"snapshot": tmp_path / "gone.csv"})}
    )
    with pytest.raises(InputError, match=r"gone\.csv"):
        check_source(gone)
    (tmp_path / "publications").rmdir()
    with pytest.raises(InputError, match="make it first"):
        check_source(found)


def with_snapshot(tmp_path):
    (tmp_path / "pairs.csv").write_text("subscriber,topic\nzoe,cats\n")
    return configuration_in(tmp_path, monitor={"snapshot": str(tmp_path / "pairs.csv")})


def test_a_snapshot_is_needed_once(tmp_path):
    configuration = with_snapshot(tmp_path)
    check_source(configuration)
    service = Supervisor(configuration)
    service._take_snapshot()
    service.stop()
    (tmp_path / "pairs.csv").unlink()
    check_source(configuration)
    service = Supervisor(configuration)
    service._take_snapshot()
    assert service.ledger.totals()["subscriptions"] == 1
    service.stop()


def test_a_snapshot_that_is_added_later_leaves_history_as_it_is(tmp_path):
    service = Supervisor(configuration_in(tmp_path))
    ann = SubscriptionChange(0, "subscribe", "ann", "news")
    service.ledger.commit(Batch(0, [TopicCount(0, "news", 1, 0.0, 0)], 5, changes=[ann]))
    service.ledger.commit(Batch(1, [TopicCount(HOUR, "news", 1, 0.0, 0)], HOUR + 120 * 10**6))
    service.stop()
    service = Supervisor(with_snapshot(tmp_path))
    service._take_snapshot()
    service.ledger.commit(Batch(2, [TopicCount(3 * HOUR, "news", 1, 0.0, 0)], 4 * HOUR))
    who = [
        set(service.ledger.closed_window(window).pairs.column("subscriber").to_pylist())
        for window in service.ledger.windows_after()
    ]
    assert who == [{"ann"}, {"ann", "zoe"}]
    service.stop()


def test_windows_of_another_length_need_another_folder(tmp_path):
    service = supervise(tmp_path)
    service.stop()
    other = configuration_in(tmp_path, windows={"length": "2h"})
    with pytest.raises(InputError, match="another length"):
        Supervisor(other)


def test_a_window_without_a_plan_holds_up_none(tmp_path):
    service = supervise(tmp_path, decide={"capacity": 5, "pin": ["news"]})
    for hour in range(2):
        close_hour(service, hour)
    rows = service.store.decisions(10).rows
    assert [one.state for one in rows] == ["failed", "failed"]
    assert all("pinned topics cost" in one.why for one in rows)
    close_hour(service, 2, {"cats": 2})
    assert service.store.newest().state == "pending"
    assert service.health.troubles == {}
    service.stop()


def test_a_window_that_cannot_be_decided_is_given_up_after_some_attempts(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisors, "RETRY_SECONDS", 0.0)
    service = supervise(tmp_path)
    attempts, decide = [], service.analyzer.decide

    def fail(closed, *more, **fixed):
        if closed.window.start == 0:
            attempts.append(1)
            raise RecursionError("too deep")
        return decide(closed, *more, **fixed)

    service.analyzer.decide = fail
    close_hour(service, 0)
    assert "too deep" in service.health.analyzer
    for _ in range(supervisors.MOST_ATTEMPTS + 2):
        service.step()
    assert len(attempts) == supervisors.MOST_ATTEMPTS
    close_hour(service, 1)
    rows = service.store.decisions(10).rows
    assert [one.state for one in rows] == ["pending", "failed"]
    assert "RecursionError: too deep" in rows[1].why
    assert service.health.troubles == {}
    service.stop()


def test_attempts_to_decide_are_ever_farther_apart(tmp_path, monkeypatch):
    service = supervise(tmp_path)
    attempts = []

    def fail(*_, **__):
        attempts.append(1)
        raise RecursionError

    service.analyzer.decide = fail
    now = [1000.0]
    monkeypatch.setattr(supervisors.time, "monotonic", lambda: now[0])
    close_hour(service, 0)
    for _ in range(40):
        now[0] += 0.2
        service.step()
    assert len(attempts) == 3, "at 0, 2 and 6 seconds"
    service.stop()


def test_silent_topics_stay_and_what_is_approved_is_what_is_applied(tmp_path):
    service = supervise(
        tmp_path, decide={"capacity": 1000, "keep_silent": "2h"}, execute={"mode": "auto"}
    )
    served = []
    for hour in range(4):
        close_hour(service, hour, None if hour == 0 else {"news": 3})
        service.executor.wait(service.executor.status().epoch, 10)
        served.append(json.loads((tmp_path / "served.json").read_text())["served"])
    # Two hours long nothing came but news: then the others leave, and that is told.
    assert served[0] == served[1] == ["cats", "chat/room", "news"]
    assert served[3] == ["news"]
    rows = service.store.decisions(10).rows[::-1]
    told = [one.changes for one in rows]
    assert told == [3, *(len({*one} ^ {*other}) for one, other in itertools.pairwise(served))]
    left = service.store.changes_of(rows[told.index(2)].number)[0]
    assert {one.reason for one in left} == {"nothing came on it for long"}
    service.stop()


def test_sliding_windows_are_compared_with_what_came(tmp_path):
    service = supervise(tmp_path, windows={"length": "1h", "slide": "15m"})
    quarter = HOUR // 4
    for index in range(12):
        counts = [TopicCount(index * quarter, "news", 5, 0.0, 0)]
        service.ledger.commit(Batch(index, counts, (index + 1) * quarter + 120 * 10**6))
        service.step()
    rows = {one.window.end // quarter: one for one in service.store.decisions(100).rows}
    known = {end for end, one in rows.items() if one.delivered is not None}
    # A decision is compared with the first window that begins where its own ended.
    assert known == {end for end in rows if end + 4 in rows}
    service.stop()


def test_in_dry_run_a_decision_that_was_held_back_is_not_taken_for_one_in_force(tmp_path):
    service = supervise(
        tmp_path, execute={"mode": "dry-run"}, decide={"capacity": 30, "least_gain": 0.9}
    )
    close_hour(service, 0)
    first = service.store.newest()
    close_hour(service, 1, {"news": 10, "cats": 4, "dogs": 2})
    held = service.store.newest()
    assert (held.state, held.changes) == ("rejected", 2)
    assert service.in_force().hash == first.hash
    service.stop()


def test_the_store_is_in_trouble_until_it_has_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisors, "TICK_SECONDS", 0.0)
    service = supervise(tmp_path)

    class LiveStream:
        doubt, ahead = "", 3600.0

        def now(self):
            return 0

        def is_alive(self):
            return True

        def close_if_silent(self):
            pass

        renew_if_large = stop = close_if_silent

    service.stream = LiveStream()

    def fail(store):
        raise StoreUnavailable("the store does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "reading", fail)
        patch.setattr(Store, "writing", fail)
        for _ in range(3):
            service.step()
            assert service.health.troubles == {"store": "the store does not answer"}
    service.step()
    assert service.health.troubles == {}
    service.stop()


@pytest.mark.parametrize("restarts", [False, True])
def test_the_price_of_switches_is_carried_on_over_a_restart(tmp_path, restarts):
    decide = {"tau": 2, "capacity": 20, "give_up": 0.05}
    service = supervise(tmp_path, decide=decide, execute={"mode": "auto"})
    for hour in range(4):
        close_hour(service, hour, {"news": 10 - hour, "chat/room": 4 + hour, "cats": 2, "dogs": 2})
        epoch = service.executor.status().epoch
        service.executor.wait(epoch, 30)
        if restarts:
            service.stop()
            service = supervise(tmp_path, decide=decide, execute={"mode": "auto"})
    found = [one.facts.get("stability") for one in service.store.last_decisions(4)]
    service.stop()
    assert found[0] is None
    prices = [(one["price"], one["next_price"]) for one in found[1:]]
    assert [later[0] for later in prices[1:]] == [earlier[1] for earlier in prices[:-1]]
    assert len(set(prices)) == 3


def test_the_day_before_is_kept_for_prices_of_switches(tmp_path):
    plain = supervise(tmp_path / "plain")
    assert plain._span_needed() == 2 * HOUR
    plain.stop()
    steady = supervise(tmp_path / "steady", decide={"give_up": 0.01})
    assert steady._span_needed() == 26 * HOUR
    steady.stop()
