"""The protocol under faults: nothing lost or doubled, one home, room kept, peace in the end."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from tests.brokers.simulation.planted import PLANTED
from tests.oracles.broker_oracle import violations

from fanwise.brokers.protocol.broker import BrokerMachine
from fanwise.brokers.protocol.ports import PlainMatcher
from fanwise.brokers.protocol.state import State
from fanwise.brokers.simulation.run import simulate
from fanwise.brokers.simulation.world import World

IN_CI = 400
IN_SOAK = 10_000


def wrong_with(seed, *made_of) -> list[str]:
    outcome = simulate(seed, *made_of)
    return violations(outcome.trace, outcome.remains)


@pytest.mark.parametrize("first", range(0, IN_CI, 50))
def test_nothing_is_wrong_in_any_run(first):
    wrong = {seed: wrong_with(seed) for seed in range(first, first + 50)}
    assert not any(wrong.values()), {seed: what[:5] for seed, what in wrong.items() if what}


@pytest.mark.parametrize("seed", [243, 1625, 4950])
def test_runs_that_have_shown_a_bug(seed):
    assert not wrong_with(seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_nothing_is_wrong_in_thousands_of_runs(keep_counts):
    wrong = {}
    counts: Counter[str] = Counter()
    for seed in range(IN_CI, IN_CI + IN_SOAK):
        outcome = simulate(seed)
        what = violations(outcome.trace, outcome.remains)
        if what:
            wrong[seed] = what[:5]
        counts.update(count_of(outcome.trace))
    keep_counts(runs=IN_SOAK, violations=len(wrong), **counts)
    assert not wrong, f"{len(wrong)} of {IN_SOAK}: {dict(list(wrong.items())[:5])}"


def count_of(trace) -> Counter[str]:
    counts: Counter[str] = Counter()
    for _, what, _, *rest in trace:
        if what == "kill":
            counts["kills"] += 1
        elif what == "handed":
            counts["deliveries"] += 1
        elif what == "home":
            counts[f"homes, {rest[0]['how']}"] += 1
        elif what == "undone":
            counts["moves undone"] += 1
        elif what == "left":
            counts["brokers that left"] += 1
    return counts


def test_runs_have_what_they_are_for():
    counts: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for seed in range(60):
        trace = simulate(seed).trace
        counts += count_of(trace)
        outcomes.update(row[3]["outcome"] for row in trace if row[1] == "move")
    for what in ("kills", "homes, moved", "homes, takeover", "moves undone", "brokers that left"):
        assert counts[what], what
    for outcome in ("moved", "came back", "refused: no room", "declined: does not want to"):
        assert outcomes[outcome], outcome


def test_the_same_seed_is_the_same_run():
    one, other = simulate(7), simulate(7)
    assert one == other
    assert simulate(8).trace != one.trace


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug):
    assert any(wrong_with(seed, *PLANTED[bug]) for seed in range(IN_CI))


class Remembering(World):
    """Keeps the last world that was made."""

    last: Remembering

    def __init__(self, seed):
        super().__init__(seed)
        Remembering.last = self


@pytest.mark.parametrize("seed", range(20))
def test_a_log_and_its_snapshot_make_the_state_that_wrote_them(seed):
    simulate(seed, None, Remembering)
    for node in Remembering.last.nodes.values():
        if isinstance(node.machine, BrokerMachine):
            now = node.machine.core.state
            from_log, from_snapshot = State(PlainMatcher), State(PlainMatcher)
            for entry, _ in node.log:
                from_log.apply(entry)
            for entry in now.snapshot():
                from_snapshot.apply(entry)
            assert from_snapshot.snapshot() == now.snapshot()
            assert from_log.version == now.version
            assert _of_clients(from_log) == _of_clients(now)
            assert from_snapshot.load == pytest.approx(now.load)
            assert from_log.load == pytest.approx(now.load)


def _of_clients(state: State) -> list:
    return [entry for entry in state.snapshot() if entry[0] == "client"]


def run_command(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "fanwise.brokers.simulation", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_seed_is_printed_by_the_command():
    done = run_command("3")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == len(simulate(3).trace) + 1
    assert run_command("x").returncode == 2
