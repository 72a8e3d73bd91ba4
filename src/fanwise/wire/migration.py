"""Migration (the paper's Section IV.C): users move one by one to wherever that lowers the cost.

Round after round, the users with most traffic first (then the smaller id), each looks at all
brokers and is redirected to the one that lowers C1 + C2 most, if any with room does (ties: the
smaller id). It ends after a round without a move: no single redirection helps any more. First of
all, users of overloaded brokers, most traffic first, are redirected to the broker with room that
costs least, even if that costs more, until their broker holds its load.

``start`` says where it begins: ``packing``, ``random``, ``clustering`` or ``steiner-mixing``. A
time limit ends it between two moves.

Guarantee
    No user with room elsewhere can lower the cost by moving alone, once it has come to its end. It
    costs no more than the start, unless that overloads brokers.

Complexity
    A round prices users x brokers moves (see :mod:`fanwise.wire.move_costs`). Each lowers the cost
    by more than rounding, so it ends; how many rounds there are is not known, 2 to 20 in practice.

References
----------
    Y. Zhao, J. Wu: On the construction of the minimum cost content-based publish/subscribe
    overlays. IEEE SECON 2011, Section IV.C.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.planning.problem import Outcome, Run, Stopped
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.wire import clustering, packing, random_wiring, steiner_mixing
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.move_costs import price_moves
from fanwise.wire.problem import Wiring, make_tables
from fanwise.wire.state import State, apply_move, has_room, is_overloaded, make_state

LEAST_GAIN = 1e-12
"""Of the whole cost: what a move must save to be more than rounding."""
BATCH = 16
"""Users that are redirected between two looks at the clock."""


class Migrated(NamedTuple):
    """How many moves and rounds a migration took, and why it ended."""

    num_moves: int
    num_rounds: int
    stopped: Stopped


def solve(problem: Wiring, run: Run) -> Outcome:
    """Migration to convergence."""
    arrays = problem.arrays
    start = run.settings.get("start", "packing")
    with run.timed("start"):
        state = make_state(arrays, start_from(problem, start, run))
    migrated = migrate(arrays, state, run)
    return Outcome(
        make_tables(arrays, state.broker_of_user),
        metrics={"moves": migrated.num_moves, "rounds": migrated.num_rounds},
        is_interrupted=migrated.stopped == "interrupted",
        stopped=migrated.stopped,
    )


def start_from(problem: Wiring, name: str, run: Run) -> IntArray:
    """Return the attachment by one of the simpler algorithms."""
    if name == "random":
        return random_wiring.attach(problem, run.random())
    if name == "clustering":
        return clustering.attach(problem)
    if name == "steiner-mixing":
        return steiner_mixing.attach(problem, run.random())
    return packing.attach(problem)


def migrate(arrays: WiringArrays, state: State, run: Run) -> Migrated:
    """Redirect users until no redirection helps, or time is up. Changes the state."""
    order = np.argsort(-arrays.demand, kind="stable")
    num_moves = num_rounds = 0
    with run.progress.step("migrating") as step:
        search: Search[State] = Search(run, step, "min", limits_of(run), unit="cost")
        search.offer(state, state.cost)  # it changes in place, and is kept as it is
        with search.until_interrupted():
            num_moves += _redirect_all(arrays, state, order, search, is_relief=True)[0]
            while not search.is_over():
                before = state.cost
                moved, is_whole = _redirect_all(arrays, state, order, search, is_relief=False)
                num_moves += moved
                num_rounds += 1
                step.note(f"round {num_rounds}, {num_moves:,} moves, cost {state.cost:,.6g}")
                # What is saved below the least gain is rounding, of which there is no end.
                saved = before - state.cost
                search.is_settled = is_whole and not saved > LEAST_GAIN / 2 * abs(before)
    return Migrated(num_moves, num_rounds, search.stopped)


def _redirect_all(
    arrays: WiringArrays, state: State, order: LongArray, search: Search[State], *, is_relief: bool
) -> tuple[int, bool]:
    """Redirect users until the search is over; return how many moved, and whether all had a turn.

    Changes the state.
    """
    num_moves = 0
    for start in range(0, len(order), BATCH):
        if search.is_over():
            return num_moves, False
        num_moves += redirect(arrays, state, order[start : start + BATCH], is_relief)
    return num_moves, True


@kernel
def redirect(arrays: WiringArrays, state: State, order: LongArray, is_relief: bool) -> int:
    """Redirect each of some users to where the cost is least, if it falls; return how many.

    As a relief only users of overloaded brokers, and even if it rises. Changes the state.
    """
    moves = 0
    for user in order:
        broker = state.broker_of_user[user]
        # Moves that save no more than rounding could go round in circles.
        enough = -LEAST_GAIN * max(state.totals[0] + state.totals[1], 0.0)
        if is_relief:
            if arrays.demand[user] == 0 or not is_overloaded(arrays, state, broker):
                continue
            enough = np.inf
        best = cheapest_move(arrays, state, user, enough)
        if best != broker:
            apply_move(arrays, state, user, best)
            moves += 1
    return moves


@kernel
def cheapest_move(arrays: WiringArrays, state: State, user: int, below: float) -> int:
    """Return the broker with room whose change of cost is least and below a limit; else its own.

    Nobody is moved. Changes what :func:`fanwise.wire.move_costs.price_moves` does.
    """
    broker = state.broker_of_user[user]
    price_moves(arrays, state, user, 0, len(state.load))
    best, least = broker, below
    for b in range(len(state.load)):
        if b != broker and state.changes[b] < least and has_room(arrays, state, user, b):
            best, least = b, state.changes[b]
    return int(best)
