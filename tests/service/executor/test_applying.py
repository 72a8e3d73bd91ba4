"""The state machine: modes, approvals, rejections, roll back, failures."""

from __future__ import annotations

import threading

import pytest
from tests.service.decisions import make_hash
from tests.service.executor.receivers import Recorder, drain, submit

from fanwise.service.executor.applying import Assessment, Executor
from fanwise.service.executor.errors import ConflictError, OutputError, UnknownDecisionError
from fanwise.service.executor.settings import Execute, Guardrails, Retries
from fanwise.service.store.retention import Retention, remove_old

NAMES = ("first", "second")
QUICK = Retries(first_wait=1, longest_wait=8, jitter=0, attempts=3, give_up_after=3600)


@pytest.fixture
def outputs():
    return [Recorder(name) for name in NAMES]


@pytest.fixture
def make_executor(store, clock, outputs):
    def make(mode="approve", **more):
        settings = Execute(mode=mode, retries=QUICK, **more)
        executor = Executor(
            store, settings, outputs=outputs, now=clock.now, monotonic=clock.monotonic
        )
        executor.prepare()
        return executor

    return make


def apply(executor, index, *served):
    """Have a decision in force, by a person."""
    decision = submit(executor, index, *served)
    application = executor.approve(decision.hash, "ann")
    drain(executor, NAMES)
    assert executor.wait(application.epoch, 0).state == "done"
    return decision


def fail_until_given_up(executor, clock):
    for _ in range(QUICK.attempts):
        drain(executor, NAMES)
        clock.seconds += 10
    drain(executor, NAMES)


def test_dry_run_applies_nothing(store, make_executor, outputs):
    executor = make_executor("dry-run")
    first, second = submit(executor, 1, "a"), submit(executor, 2, "b")
    assert (store.decision(first.number).state, second.state) == ("superseded", "pending")
    for act in (executor.approve, executor.roll_back):
        with pytest.raises(ConflictError, match="mode dry-run and applies nothing"):
            act(second.hash, "ann")
    executor.tick()
    assert store.last_epoch() == 0
    assert executor.reject(second.hash, "ann", "no").state == "rejected"


def test_a_person_approves_by_hash(store, make_executor, outputs):
    executor = make_executor()
    decision = submit(executor, 1, "a", "b")
    executor.tick()
    assert decision.state == "pending"
    application = executor.approve(decision.hash, "ann")
    assert (application.epoch, application.state, application.who) == (1, "open", "ann")
    assert store.pending().number == decision.number, "not in force before outputs confirm"
    drain(executor, ["first"])
    assert store.current() is None
    drain(executor, ["second"])
    assert store.current().hash == decision.hash
    for output in outputs:
        (told,) = output.told
        assert told.served == ("a", "b")
        assert (told.hash, told.epoch, told.offloaded) == (decision.hash, 1, 8)
        assert told.key == f"{decision.hash}-1-{output.name}"
    assert [(one.who, one.what) for one in store.audit().rows] == [
        ("service", "apply"),
        ("ann", "approve"),
    ]
    status = executor.status()
    assert (status.in_force, status.epoch, status.unaware) == (decision.hash, 1, ())


def test_without_outputs_a_decision_is_in_force_at_once(sqlite, clock):
    closed = []
    executor = Executor(sqlite, Execute(mode="approve"), now=clock.now, on_closed=closed.append)
    executor.start()
    decision = submit(executor, 1, "a")
    assert executor.approve(decision.hash, "ann").state == "done"
    assert sqlite.current().number == decision.number
    assert [one.epoch for one in closed] == [1]
    executor.stop()


def test_only_the_newest_pending_decision_can_be_approved(store, make_executor):
    executor = make_executor()
    first, second = submit(executor, 1, "a"), submit(executor, 2, "b")
    with pytest.raises(ConflictError, match=rf"is superseded; {second.hash} is pending"):
        executor.approve(first.hash, "ann")
    with pytest.raises(UnknownDecisionError):
        executor.approve(make_hash("nothing"), "ann")
    executor.reject(second.hash, "ann", "too risky")
    assert store.find(second.hash).why == "rejected by ann: too risky"
    with pytest.raises(ConflictError, match="is rejected; nothing is pending"):
        executor.approve(second.hash, "ann")
    with pytest.raises(ConflictError, match="is rejected, no longer pending"):
        executor.reject(second.hash, "bob")


def test_of_two_approvals_at_once_one_wins(store, make_executor):
    executor = make_executor()
    decision = submit(executor, 1, "a")
    barrier, results = threading.Barrier(6), []

    def approve(index):
        barrier.wait()
        try:
            results.append(executor.approve(decision.hash, f"person {index}"))
        except ConflictError as error:
            results.append(error)

    threads = [threading.Thread(target=approve, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [one for one in results if not isinstance(one, ConflictError)]
    assert len(results) == 6
    assert len(won) == 1
    assert store.last_epoch() == 1
    assert [one.who for one in store.audit().rows] == [won[0].who]


def test_a_decision_that_changes_nothing_is_in_force_by_itself(store, make_executor, outputs):
    executor = make_executor()
    apply(executor, 1, "a", "b")
    same = submit(executor, 2, "b", "a", assessment=Assessment(100, "gains 0%"))
    assert same.state == "in-force"
    drain(executor, NAMES)
    assert [one.told[-1].hash for one in outputs] == [same.hash] * 2
    assert outputs[0].told[-1].kind == "restate"
    assert [one.state for one in store.decisions().rows] == ["in-force", "superseded"]


def test_hysteresis_rejects_with_its_numbers(store, make_executor):
    executor = make_executor("auto")
    first = submit(executor, 1, "a")
    drain(executor, NAMES)
    held = submit(executor, 2, "b", assessment=Assessment(101.9, "Gains 0.1%, least is 1%."))
    assert (held.state, held.why) == ("rejected", "Gains 0.1%, least is 1%.")
    assert store.current().number == first.number
    (entry,) = store.audit(about=held.hash).rows
    assert (entry.who, entry.what) == ("policy", "reject")


def test_auto_applies_what_the_guardrails_allow(store, make_executor, outputs):
    executor = make_executor("auto", guardrails=Guardrails(most_changes=2))
    first = submit(executor, 1, "a", "b")
    assert [one.epoch for one in executor.status().applying] == [1]
    drain(executor, NAMES)
    assert store.current().number == first.number
    refused = submit(executor, 2, "c")
    assert refused.state == "pending"
    assert refused.why == "It switches 3 topics, most_changes is 2."
    executor.approve(refused.hash, "ann")  # a person may
    drain(executor, NAMES)
    assert store.current().number == refused.number
    assert store.current().why == ""
    assert [one.held for one in outputs] == [("c",)] * 2


def test_auto_applies_when_quiet_hours_end(store, make_executor, clock):
    executor = make_executor("auto", guardrails=Guardrails(quiet_hours=["11:00-13:00"]))
    decision = submit(executor, 1, "a")
    assert decision.why == "It is 12:00 in UTC, within quiet_hours 11:00-13:00."
    clock.seconds += 3599
    executor.tick()
    assert store.pending().why == "It is 12:59 in UTC, within quiet_hours 11:00-13:00."
    clock.seconds += 1
    executor.tick()
    drain(executor, NAMES)
    assert store.current().number == decision.number
    assert store.audit(about=decision.hash).rows[-1].who == "policy"


def test_what_comes_while_another_is_applied_waits_its_turn(store, make_executor, outputs):
    executor = make_executor("auto")
    first = submit(executor, 1, "a")
    second = submit(executor, 2, "b")
    assert (store.find(first.hash).state, second.state) == ("pending", "pending")
    with pytest.raises(ConflictError, match=f"{first.hash} is being applied"):
        executor.approve(second.hash, "ann")
    drain(executor, NAMES)
    executor.tick()
    drain(executor, NAMES)
    assert store.current().number == second.number
    assert [one.epoch for one in outputs[0].told] == [1, 2]


def test_roll_back_is_one_call(store, make_executor, outputs):
    executor = make_executor()
    first, second = apply(executor, 1, "a"), apply(executor, 2, "b")
    third = submit(executor, 3, "c")
    application = executor.roll_back(first.hash, "bob")
    assert (application.kind, application.epoch) == ("roll-back", 3)
    assert store.current().number == second.number
    drain(executor, NAMES)
    assert store.current().number == first.number
    assert store.current().why == "rolled back to by bob"
    assert store.decision(second.number).state == "superseded"
    assert store.decision(third.number).state == "superseded", "its diff is no longer true"
    assert outputs[0].told[-1].before == ("b",)
    assert [one.epoch for one in outputs[0].told] == [1, 2, 3]
    assert ("bob", "roll-back") in [(one.who, one.what) for one in store.audit().rows]
    with pytest.raises(ConflictError, match="in force already"):
        executor.roll_back(first.hash, "bob")
    with pytest.raises(ConflictError, match="never in force"):
        executor.roll_back(third.hash, "bob")
    with pytest.raises(UnknownDecisionError):
        executor.roll_back("' OR 1=1", "bob")


def test_a_failed_application_leaves_the_old_one_in_force(store, make_executor, outputs, clock):
    executor = make_executor()
    first = apply(executor, 1, "a")
    second = submit(executor, 2, "b")
    outputs[1].failure = OutputError("the disk is full")
    application = executor.approve(second.hash, "ann")
    drain(executor, NAMES)
    assert outputs[0].held == ("b",)
    (waiting,) = executor.status().waiting
    assert (waiting.output, waiting.error, waiting.attempts) == ("second", "the disk is full", 1)
    assert waiting.next_attempt == clock.now() + 1_000_000
    fail_until_given_up(executor, clock)
    failed = store.decision(second.number)
    assert failed.state == "failed"
    assert failed.why == (
        f"Output second failed after 3 attempts: the disk is full; {first.hash} stays in force."
    )
    assert executor.wait(application.epoch, 0).why == failed.why
    assert store.current().number == first.number
    assert outputs[0].held == ("a",), "put back"
    assert outputs[0].told[-1].epoch == 3
    (letter,) = store.dead_letters().rows[-1:]
    assert (letter.output, letter.epoch, letter.attempts) == ("second", 2, 3)
    assert store.audit(about=second.hash).rows[0].what == "fail"


def test_an_output_that_changed_although_it_failed_is_put_back(
    store, make_executor, outputs, clock
):
    executor = make_executor()
    apply(executor, 1, "a")
    second = submit(executor, 2, "b")
    outputs[1].failure = OutputError("did not answer", may_pass=False)
    outputs[1].changes_when_failing = True
    executor.approve(second.hash, "ann")
    executor.outbox.attempt_due("second")
    outputs[1].failure = None
    drain(executor, NAMES)
    assert store.decision(second.number).state == "failed"
    assert [one.served for one in outputs[1].told] == [("a",), ("b",), ("a",)]
    assert outputs[0].held == ("a",)
    assert executor.status().unaware == ()


def test_the_first_application_that_fails_leaves_nothing_in_force(store, make_executor, outputs):
    executor = make_executor()
    decision = submit(executor, 1, "a")
    outputs[1].failure = OutputError("no", may_pass=False)
    executor.approve(decision.hash, "ann")
    executor.outbox.attempt_due("first")
    executor.outbox.attempt_due("second")
    assert store.find(decision.hash).why.endswith("; nothing is in force.")
    outputs[1].failure = None
    drain(executor, NAMES)
    assert [one.hash for one in outputs[0].told] == [decision.hash, None]
    assert outputs[0].held is None
    assert executor.status().unaware == ()


def test_an_output_that_stays_away_is_told_again_later(store, make_executor, outputs, clock):
    executor = make_executor(resend=600)
    apply(executor, 1, "a")
    executor.tick()
    second = submit(executor, 2, "b")
    outputs[1].failure = OutputError("down")
    executor.approve(second.hash, "ann")
    for _ in range(2):  # the application, then putting back
        fail_until_given_up(executor, clock)
    assert executor.status().unaware == ("second",)
    assert len(store.dead_letters().rows) == 2
    outputs[1].failure = None
    executor.tick()
    drain(executor, NAMES)
    assert executor.status().unaware == ("second",), "not before its time"
    clock.seconds += 600
    executor.tick()
    drain(executor, NAMES)
    assert executor.status().unaware == ()
    assert outputs[1].held == ("a",)
    assert len(outputs[0].told) == 3, "who knows is not told again"


def test_who_rejects_what_is_being_applied_gives_it_up(store, make_executor, outputs):
    executor = make_executor()
    first = apply(executor, 1, "a")
    second = submit(executor, 2, "b")
    outputs[1].failure = OutputError("down")
    executor.approve(second.hash, "ann")
    drain(executor, NAMES)
    rejected = executor.reject(second.hash, "bob", "enough")
    assert rejected.state == "rejected"
    assert rejected.why == f"rejected by bob: enough; {first.hash} stays in force."
    outputs[1].failure = None
    drain(executor, NAMES)
    assert [one.held for one in outputs] == [("a",), ("a",)]
    assert store.current().number == first.number


def test_a_failed_roll_back_changes_no_state(store, make_executor, outputs):
    executor = make_executor()
    first, second = apply(executor, 1, "a"), apply(executor, 2, "b")
    outputs[0].failure = OutputError("no", may_pass=False)
    application = executor.roll_back(first.hash, "bob")
    executor.outbox.attempt_due("first")
    outputs[0].failure = None
    drain(executor, NAMES)
    assert executor.wait(application.epoch, 0).state == "failed"
    assert store.current().number == second.number
    assert store.decision(first.number).state == "superseded"
    assert [one.held for one in outputs] == [("b",)] * 2


def test_a_window_is_decided_once_even_after_a_kill(store, make_executor):
    executor = make_executor("auto", guardrails=Guardrails(most_changes=0))
    first = submit(executor, 1, "a")
    again = submit(executor, 1, "b")
    assert again == first
    assert len(store.decisions().rows) == 1


def test_outputs_come_and_go_with_the_configuration(store, make_executor, outputs, clock):
    executor = make_executor()
    first = apply(executor, 1, "a")
    second = submit(executor, 2, "b")
    outputs[1].failure = OutputError("gone for good")
    executor.approve(second.hash, "ann")
    drain(executor, NAMES)
    # Restarted without the second output, and with a third one.
    third = Recorder("third")
    changed = Executor(
        store, Execute(mode="approve", retries=QUICK), outputs=[outputs[0], third],
        now=clock.now, monotonic=clock.monotonic,
    )  # fmt: skip
    changed.prepare()
    assert store.current().number == second.number, "nobody else has to confirm"
    changed.tick()
    drain(changed, ["first", "third"])
    assert third.held == ("b",)
    assert len(outputs[0].told) == 2
    # An output of the same name that leads elsewhere knows nothing.
    outputs[0].target = "elsewhere"
    moved = Executor(
        store, Execute(mode="approve"), outputs=[outputs[0], third],
        now=clock.now, monotonic=clock.monotonic,
    )  # fmt: skip
    moved.prepare()
    moved.tick()
    drain(moved, ["first", "third"])
    assert len(outputs[0].told) == 3
    assert outputs[0].told[-1].before is None
    assert first.number == 1


def test_dry_run_gives_up_what_was_being_applied(store, make_executor, outputs):
    executor = make_executor()
    decision = submit(executor, 1, "a")
    executor.approve(decision.hash, "ann")
    dry = make_executor("dry-run")
    assert "mode became dry-run" in store.find(decision.hash).why
    assert store.find(decision.hash).state == "failed"
    dry.start()
    dry.stop()
    assert outputs[0].told == []


def test_after_a_roll_back_by_hand_auto_waits_for_a_person(store, make_executor, clock):
    executor = make_executor("auto")
    first = submit(executor, 1, "a")
    drain(executor, NAMES)
    submit(executor, 2, "b")
    drain(executor, NAMES)
    executor.roll_back(first.hash, "ann")
    drain(executor, NAMES)
    assert store.current().hash == first.hash
    waiting = submit(executor, 3, "c")
    drain(executor, NAMES)
    executor.tick()
    assert store.current().hash == first.hash
    assert "ann went back" in store.find(waiting.hash).why
    same = submit(executor, 31, "a")
    drain(executor, NAMES)
    assert store.current().hash == same.hash, "it changes nothing"
    waiting = submit(executor, 32, "c")
    remove_old(store, Retention(0.0, 1), clock.now() + 10**15)
    executor.tick()
    drain(executor, NAMES)
    assert store.current().hash == same.hash, "and ends nothing"
    executor.approve(waiting.hash, "bob")
    drain(executor, NAMES)
    assert store.current().hash == waiting.hash
    submit(executor, 40, "d")
    drain(executor, NAMES)
    assert store.served_by(store.current().hash) == ("d",), "and is in charge again"
