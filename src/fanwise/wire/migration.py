"""Migration (the paper's Section IV.C): users move one by one to wherever that lowers the cost.

Round after round, the users with most traffic first (then the smaller id), each looks at all
brokers and is redirected to the one that lowers C1 + C2 most, if any with room does (ties: the
smaller id). It ends after a round without a move: no single redirection helps any more. First of
all, users of overloaded brokers, most traffic first, are redirected to the broker with room that
costs least, even if that costs more, until their broker holds its load.

``start`` says where it begins: ``packing``, ``random``, ``clustering`` or ``steiner-mixing``.

Each round lowers the cost by more than rounding, so it ends; the number of rounds is not bounded by
anything useful. A round prices users x brokers moves (see :mod:`fanwise.wire.state`). It heeds the
time limit.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.planning.problem import Outcome, Run, Stopped
from fanwise.wire import clustering, packing, random_wiring, steiner_mixing
from fanwise.wire.ground import Ground
from fanwise.wire.problem import Wiring, make_tables
from fanwise.wire.state import (
    State,
    apply_move,
    has_room,
    is_overloaded,
    make_state,
    price_moves,
)

LEAST_GAIN = 1e-12
"""Of the whole cost: what a move must save to be more than rounding."""
BATCH = 64
"""Users that are redirected between two looks at the clock."""


def solve(problem: Wiring, run: Run) -> Outcome:
    """Migration to convergence."""
    ground = problem.ground
    start = run.settings.get("start", "packing")
    with run.timed("start"):
        state = make_state(ground, start_from(problem, start, run))
    num_moves, num_rounds, stopped = migrate(ground, state, run)
    return Outcome(
        make_tables(ground, state.broker_of_user),
        metrics={"moves": num_moves, "rounds": num_rounds},
        is_interrupted=stopped == "interrupted",
        stopped=stopped,
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


def migrate(ground: Ground, state: State, run: Run) -> tuple[int, int, Stopped]:
    """Redirect users until no redirection helps; return moves, rounds and why it ended."""
    order = np.argsort(-ground.demand, kind="stable")
    num_moves = num_rounds = 0
    stopped: Stopped = "limit"
    try:
        with run.progress.step("migrating") as step:
            num_moves += redirect(ground, state, order, True)
            while not run.is_over():
                moved, before = 0, state.cost
                is_whole = True
                for start in range(0, len(order), BATCH):
                    moved += redirect(ground, state, order[start : start + BATCH], False)
                    if run.is_over():
                        is_whole = start + BATCH >= len(order)
                        break
                num_moves += moved
                num_rounds += 1
                step.note(f"round {num_rounds}, {moved:,} moves, cost {state.cost:,.6g}")
                # What is saved below the least gain is rounding, of which there is no end.
                if is_whole and not before - state.cost > LEAST_GAIN / 2 * abs(before):
                    stopped = "exhausted"
                    break
    except KeyboardInterrupt:
        stopped = "interrupted"
    return num_moves, num_rounds, stopped


@kernel
def redirect(ground: Ground, state: State, order: LongArray, is_relief: bool) -> int:
    """Redirect each of some users to where the cost is least, if it falls; return how many.

    As a relief only users of overloaded brokers, and even if it rises.
    """
    moves = 0
    for user in order:
        broker = state.broker_of_user[user]
        enough = -LEAST_GAIN * max(state.totals[0] + state.totals[1], 0.0)
        if is_relief:
            if ground.demand[user] == 0 or not is_overloaded(ground, state, broker):
                continue
            enough = np.inf
        best = cheapest_move(ground, state, user, enough)
        if best != broker:
            apply_move(ground, state, user, best)
            moves += 1
    return moves


@kernel
def cheapest_move(ground: Ground, state: State, user: int, below: float) -> int:
    """The broker with room whose change of cost is least and below a limit; else its own."""
    broker = state.broker_of_user[user]
    price_moves(ground, state, user, 0, len(state.load))
    best, least = broker, below
    for b in range(len(state.load)):
        if b != broker and state.changes[b] < least and has_room(ground, state, user, b):
            best, least = b, state.changes[b]
    return int(best)
