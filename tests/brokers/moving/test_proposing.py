"""Brokers that propose moves, round after round, without a network."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fanwise.arrays.tolerance import fits
from fanwise.brokers.moving.proposing import Proposer
from fanwise.brokers.moving.rounds import Rounds
from fanwise.brokers.moving.settings import MovingSettings
from fanwise.brokers.moving.summaries import Rearrangement
from fanwise.brokers.moving.view import Scene, summaries_of
from fanwise.errors import ParameterError
from fanwise.wire.arrays import build_arrays
from fanwise.wire.move_costs import changes_by_moving
from fanwise.wire.problem import Wiring
from fanwise.workload.generators.sparse import sparse

PAPER = MovingSettings(changes=0)


def spread(workload, seed=0):
    """Clients at any broker, none above its capacity."""
    arrays = build_arrays(workload)[0]
    random, load = np.random.default_rng(seed), np.zeros(arrays.num_brokers)
    homes = np.zeros(arrays.num_users, dtype=np.int32)
    for client in np.argsort(-arrays.demand, kind="stable"):
        room = np.flatnonzero(fits(load + arrays.demand[client], arrays.capacity))
        homes[client] = random.choice(room)
        load[homes[client]] += arrays.demand[client]
    return homes


def loads(rounds):
    arrays = rounds.view().arrays
    return np.bincount(rounds.view().broker_of_client, weights=arrays.demand,
                       minlength=arrays.num_brokers), arrays.capacity  # fmt: skip


def test_one_after_the_other_every_single_move_lowers_the_cost():
    workload = sparse(40, brokers=4, channels=12, seed=2)
    rounds = Rounds(workload, spread(workload), PAPER, is_simultaneous=False)
    cost = rounds.view().state().cost
    for found in rounds.run(40):
        assert found.num_refused == 0
        assert found.cost <= cost
        assert (found.cost < cost) == bool(found.moves)
        cost = found.cost
        assert np.all(fits(*loads(rounds)))
    assert found.is_settled
    # As in the paper, nobody with room elsewhere would still save enough by moving alone.
    arrays, state = rounds.view().arrays, rounds.view().state()
    enough = PAPER.least_gain * state.cost / arrays.num_users
    for client in range(arrays.num_users):
        changes = changes_by_moving(arrays, state, client)
        room = fits(state.load + arrays.demand[client], arrays.capacity)
        assert not (changes[room] < -enough * (1 + 1e-9)).any()


@pytest.mark.parametrize("seed", range(3))
def test_all_at_once_they_settle_and_nobody_swaps_for_ever(seed):
    workload = sparse(40, brokers=4, channels=12, seed=seed)
    settings = MovingSettings(changes=0, rest_seconds=0.0)  # damped by gains and turns alone
    rounds = Rounds(workload, spread(workload, seed), settings, seed=seed)
    moves = Counter()
    for found in rounds.run(80):
        moves.update(move.client for move in found.moves)
        assert np.all(fits(*loads(rounds)))
    assert not found.moves
    assert max(moves.values()) <= 10


def test_rearrangements_come_near_the_best_plan():
    workload = sparse(40, brokers=4, channels=12, seed=1)
    best = Wiring(workload).solve("best", seed=1).objective
    costs = {}
    for name, settings in (("paper", PAPER), ("ours", MovingSettings())):
        rounds = Rounds(workload, spread(workload), settings)
        for found in rounds.run(80):
            costs[name] = found.cost
            if found.is_settled:
                break
        assert found.is_settled
    assert costs["ours"] <= 1.1 * best
    assert costs["ours"] < costs["paper"]


def test_the_same_seed_makes_the_same_moves():
    workload = sparse(30, brokers=3, channels=9, seed=4)
    runs = []
    for _ in range(2):
        rounds = Rounds(workload, spread(workload), MovingSettings(), seed=5)
        runs.append([found.moves for found in rounds.run(9)])
    assert runs[0] == runs[1]


def view_of(workload, homes, **rearrangements):
    from dataclasses import replace

    told = summaries_of(workload, homes)
    return Scene(workload).view(
        replace(one, rearrangement=rearrangements.get(one.broker)) for one in told
    )


def test_so_many_a_minute_and_whoever_was_asked_rests():
    workload = sparse(40, brokers=4, channels=12, seed=2)
    view = view_of(workload, spread(workload))
    settings = MovingSettings(changes=0, moves_per_minute=12, turn_seconds=10, rest_seconds=100)
    proposer = Proposer("b0", settings, 1)
    asked = [move.client for turn in range(1, 7) for move in proposer.turn(10.0 * turn, view)]
    assert 2 < len(asked) <= 12
    assert len(set(asked)) == len(asked)  # nobody went, and nobody was asked again
    assert Proposer("b0", MovingSettings(moves_per_minute=0), 1).turn(10.0, view) == []


def test_a_broker_above_its_capacity_sends_clients_away_even_if_that_costs():
    workload = sparse(20, brokers=3, channels=8, seed=3, capacity_factor=1.5)
    view = view_of(workload, np.zeros(20, dtype=np.int32))
    moves = Proposer("b0", MovingSettings(moves_per_minute=6000), 1).turn(1.0, view)
    assert {move.reason for move in moves} == {"relief"}
    gone = sum(view.demands()[move.client] for move in moves)
    assert fits(view.state().load[0] - gone, view.arrays.capacity[0])


def test_of_rearrangements_all_follow_the_one_that_saves_most_after_a_while():
    workload = sparse(40, brokers=4, channels=12, seed=2)
    homes = spread(workload)
    best = Wiring(workload).solve("best", seed=1).tables["attachments"]["broker"].to_numpy()
    names = workload.subscriber_names.to_pylist()
    brokers = workload.broker_names.to_pylist()

    def proposed(broker, targets):
        pairs = tuple((name, brokers[to]) for name, to in zip(names, targets, strict=True))
        return Rearrangement(broker, 1, pairs)

    half = np.where(np.arange(40) < 30, best, homes)
    view = view_of(workload, homes, b1=proposed("b1", half), b2=proposed("b2", best))
    settings = MovingSettings(wait_seconds=15, turn_seconds=10, moves_per_minute=6000)
    asked = {}
    for broker in brokers:
        proposer = Proposer(broker, settings, 1)
        proposer.rearrangement = view.rearrangements.get(broker)
        assert proposer.turn(10.0, view) == []  # not known for long enough
        assert proposer.turn(20.0, view) == []
        for move in proposer.turn(30.0, view):
            assert move.reason == "rearrangement b2 1"
            assert homes[names.index(move.client)] == brokers.index(broker)
            asked[move.client] = move.to
    for name, to in asked.items():
        assert brokers.index(to) == best[names.index(name)]
    assert len(asked) > 5


def test_settings_are_checked():
    for wrong in ({"half_life": 0}, {"turn_seconds": -1}, {"least_gain": float("nan")}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            MovingSettings(**wrong)
