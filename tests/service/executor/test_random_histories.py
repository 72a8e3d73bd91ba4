"""Random histories of people, outputs that fail and kills: what must hold whatever happens."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

import pytest
from tests.service.executor.receivers import Clock, Recorder, drain, submit

from fanwise.service.executor.applying import Assessment, Executor
from fanwise.service.executor.errors import ConflictError, OutputError
from fanwise.service.executor.settings import Execute, Guardrails, Retries
from fanwise.service.store.retention import Retention, remove_old
from fanwise.service.store.store import Store

NAMES = ("first", "second")
STEPS = 160


class History:
    """An executor, two outputs, and all that may happen to them."""

    def __init__(self, path, seed: int) -> None:
        self.path, self.random = path, random.Random(seed)
        self.clock = Clock()
        self.outputs = [Recorder(name) for name in NAMES]
        self.hashes: list[str] = []
        self.windows = 0
        self.mode = "approve"
        self.open()

    def open(self) -> None:
        self.store = Store(self.path)
        settings = Execute(
            mode=self.mode,
            guardrails=Guardrails(most_changes=2),
            retries=Retries(first_wait=1, longest_wait=2, attempts=3, jitter=0),
            resend=60,
        )
        self.executor = Executor(
            self.store,
            settings,
            outputs=self.outputs,
            now=self.clock.now,
            monotonic=self.clock.monotonic,
        )
        self.executor.prepare()

    def decide(self) -> None:
        served = self.random.sample("abcd", self.random.randint(1, 3))
        hold = "gains too little" if self.random.random() < 0.2 else None
        self.windows += 1
        assessment = Assessment(kept=90.0, hold=hold)
        decision = submit(self.executor, self.windows, *sorted(served), assessment=assessment)
        self.hashes.append(decision.hash)

    def approve(self) -> None:
        self._act(self.executor.approve, self.hashes[-1:])

    def reject(self) -> None:
        self._act(self.executor.reject, self.hashes[-3:])

    def roll_back(self) -> None:
        self._act(self.executor.roll_back, self.hashes[-5:])

    def _act(self, act, hashes) -> None:
        if hashes:
            with suppress(ConflictError):
                act(self.random.choice(hashes), "ann")

    def break_output(self) -> None:
        output = self.random.choice(self.outputs)
        output.failure = OutputError("down", may_pass=self.random.random() < 0.7)
        output.changes_when_failing = self.random.random() < 0.5

    def mend_output(self) -> None:
        self.random.choice(self.outputs).failure = None

    def attempt(self) -> None:
        self.executor.outbox.attempt_due(self.random.choice(NAMES))

    def pass_time(self) -> None:
        self.clock.seconds += self.random.choice([1, 5, 100])
        self.executor.tick()

    def kill_in_delivery(self) -> None:
        """Killed before it could say whether the output was told."""
        index = self.random.randrange(2)
        waiting = self.store.waiting(NAMES[index])
        if waiting is not None and self.store.begin_attempt(waiting.id):
            self.outputs[index].told.append(self.store.announcement(waiting))
        self.kill()

    def kill(self) -> None:
        self.store.close()
        self.mode = self.random.choice(["approve", "auto"])
        self.open()

    def clean_up(self) -> None:
        remove_old(self.store, Retention(1e9, 6, roll_back=2), self.clock.now())

    def step(self) -> None:
        weights = {
            self.decide: 5,
            self.approve: 6,
            self.reject: 1,
            self.roll_back: 2,
            self.break_output: 1,
            self.mend_output: 3,
            self.attempt: 10,
            self.pass_time: 4,
            self.kill_in_delivery: 1,
            self.kill: 1,
            self.clean_up: 1,
        }
        (act,) = self.random.choices([*weights], [*weights.values()])
        act()

    def check(self) -> None:
        """One decision is in force, one is applied, and outputs that are sure are right."""
        counts = Counter(one.state for one in self.store.decisions(1000).rows)
        opened = self.store.open_applications()
        applying = [one for one in opened if one.kind != "restate"]
        assert counts["in-force"] <= 1
        assert len(applying) <= 1
        assert counts["pending"] <= 1 + len(applying)
        deliveries = [one for item in opened for one in self.store.deliveries(item.epoch)]
        for name in NAMES:
            waiting = [one for one in deliveries if (one.output, one.state) == (name, "waiting")]
            assert len(waiting) <= 1
            assert self.store.waiting(name) == (waiting[0] if waiting else None)
        for state, output in zip(self.store.outputs(), self.outputs, strict=True):
            if state.is_sure and output.told:
                last = output.told[-1]
                assert (last.hash, last.epoch) == (state.hash, state.epoch)
            epochs = [one.epoch for one in output.told]
            assert epochs == sorted(epochs)
            meanings = {(one.key, one.hash, one.served) for one in output.told}
            assert len(meanings) == len({one.key for one in output.told})

    def recover(self) -> None:
        """When nothing fails any more, outputs follow what is in force, without help."""
        for output in self.outputs:
            output.failure = None
        for _ in range(4):
            self.clock.seconds += 100
            self.executor.tick()
            drain(self.executor, NAMES)
            self.check()
        current = self.store.current()
        assert self.executor.status().unaware == ()
        assert self.store.open_applications() == ()
        served = None if current is None else self.store.served_by(current.hash)
        assert [output.held for output in self.outputs] == [served] * 2


@pytest.mark.parametrize("seed", range(8))
def test_histories(tmp_path, seed):
    history = History(tmp_path / "store.sqlite", seed)
    try:
        for _ in range(STEPS):
            history.step()
            history.check()
        history.recover()
        assert history.store.last_epoch() > 3, "a history without applications shows nothing"
    finally:
        history.store.close()
