"""wire: the paper's algorithms and `best` in time, against bounds, mixing and the optimum.

BoundParts, each in a process of its own:

- ``paper``: 10,000 users, 100 brokers, 100 channels, as in the paper's Table I;
- ``moves``: the cost of a whole attachment and of one move at that size;
- ``best``: `best` at that size, and C1 against its bound;
- ``sparse``: few subscribers everywhere and a core 50 times as expensive, against steiner-mixing;
- ``tiny``: `best` against the optimum, with and without branch and bound at the end;
- ``large``: 100,000 users, 1,000 brokers, 100 channels.

``python -m benchmarks wire`` runs all of them. ``python -m benchmarks.wire PART ...`` runs some and
leaves the others' rows in ``results/wire.json`` as they are; ``--quick`` takes a tenth of the
users, and writes nothing. Bars are for seconds of the processor, so that other work on the machine
does not count; ``wall_seconds`` are beside them. The problem is laid out before the clock starts.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import numpy as np

from benchmarks.measuring import row
from benchmarks.parts import Parted
from fanwise.wire import exact
from fanwise.wire.move_costs import price_moves
from fanwise.wire.problem import Wiring, read_attachments
from fanwise.wire.state import make_state
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.sparse import sparse

SEED = 1
USERS, PER_BROKER, CHANNELS = 10_000, 100, 100
LARGE = 100_000
PAPER_SECONDS = {"packing": 91, "clustering": 100, "steiner-mixing": 180}
BARS = {"packing": 0.1, "clustering": 10.0, "steiner-mixing": 10.0}
WHOLE_SECONDS, MOVES_PER_SECOND, BEST_SECONDS = 0.5, 1000, 60.0
ACCESS_RATIO, MIXING_RATIO, TINY_RATIO = 1.01, 1.5, 1.05
SPARSE_USERS, SPARSE_INSTANCES, TINY_INSTANCES = 300, 10, 20


def dense(users: int) -> Wiring:
    """Return a problem like the paper's, laid out."""
    problem = Wiring(
        quadratic(users, subscribers_per_broker=PER_BROKER, channels=CHANNELS, seed=SEED)
    )
    _ = problem.arrays
    return problem


def solve(problem: Wiring, algorithm: str, seed: int = SEED) -> dict[str, Any]:
    """Make one plan and tell of it; seconds are the processor's, with measuring and the bound."""
    _ = problem.arrays
    processor = time.process_time()
    plan = problem.solve(algorithm, seed=seed)
    return {
        "seconds": time.process_time() - processor,
        "wall_seconds": plan.seconds["solve"],
        "cost": plan.objective,
        "access": plan.metrics["access"],
        "core": plan.metrics["core"],
        "overloaded": plan.metrics["overloaded"],
        "bound": plan.bound,
        "gap": plan.gap,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def time_attaching(problem: Wiring, algorithm: str) -> float:
    """Return the least processor time of three runs of the algorithm alone."""
    from fanwise.planning.families import find_family
    from fanwise.planning.family import resolve_settings
    from fanwise.planning.problem import Run

    entries = find_family("wire").algorithms(algorithm)
    function, seconds = entries[0].load(), []
    for _ in range(3):
        start = time.process_time()
        function(problem, Run(seed=SEED, settings=resolve_settings(entries, {})))
        seconds.append(time.process_time() - start)
    return min(seconds)


def measure_paper(scale: float) -> list[dict]:
    problem = dense(round(USERS * scale))
    rows = []
    for name, bar in BARS.items():
        seconds = time_attaching(problem, name)
        rows.append(
            row(f"{name}, {size_of(problem)}",
                f"{seconds:.3f} s (the paper: {PAPER_SECONDS[name]} s)", f"<= {bar:g} s",
                met=seconds <= bar, seconds=seconds)
        )  # fmt: skip
    return rows


def size_of(problem: Wiring) -> str:
    arrays = problem.arrays
    return f"{arrays.num_users:,} x {arrays.num_brokers:,} x {arrays.num_channels}"


def measure_moves(scale: float) -> list[dict]:
    rows = []
    problems = {
        "dense": dense(round(USERS * scale)),
        "sparse": Wiring(sparse(round(USERS * scale), subscribers_per_broker=PER_BROKER)),
    }
    for kind, problem in problems.items():
        arrays = problem.arrays
        brokers = read_attachments(arrays, problem.solve("packing").tables)
        seconds = []
        for _ in range(3):
            start = time.process_time()
            state = make_state(arrays, brokers)
            seconds.append(time.process_time() - start)
        rows.append(
            row(f"cost of a whole attachment, {kind}, {size_of(problem)}",
                f"{min(seconds):.4f} s", f"<= {WHOLE_SECONDS:g} s",
                met=min(seconds) <= WHOLE_SECONDS, seconds=min(seconds))
        )  # fmt: skip
        users = np.random.default_rng(SEED).permutation(arrays.num_users)[:1000]
        start, priced = time.process_time(), 0
        for user in users:
            price_moves(arrays, state, user, 0, arrays.num_brokers)
            priced += arrays.num_brokers
            if time.process_time() - start > 10:
                break
        rate = priced / (time.process_time() - start)
        rows.append(
            row(f"moves priced, {kind}, {size_of(problem)}", f"{rate:,.0f} per second",
                f">= {MOVES_PER_SECOND:,}", met=rate >= MOVES_PER_SECOND, rate=rate)
        )  # fmt: skip
    return rows


def measure_best(scale: float) -> list[dict]:
    problem = dense(round(USERS * scale))
    found, packed = solve(problem, "best"), solve(problem, "packing")
    ratio = found["access"] / problem.bound_parts.access
    return [
        row(f"best, {size_of(problem)}",
            f"{found['seconds']:.1f} s, {100 * (1 - found['cost'] / packed['cost']):.2f}% less "
            f"than packing, gap {100 * found['gap']:.2f}%, {found['overloaded']} overloaded",
            f"<= {BEST_SECONDS:g} s", met=found["seconds"] <= BEST_SECONDS, **found),
        row("C1 of best over its bound, dense", f"{ratio:.5f}", f"<= {ACCESS_RATIO:g}",
            met=ratio <= ACCESS_RATIO, ratio=ratio),
    ]  # fmt: skip


def measure_sparse(scale: float) -> list[dict]:
    ratios, gains, results = [], [], []
    for seed in range(max(2, round(SPARSE_INSTANCES * scale))):
        problem = Wiring(sparse(SPARSE_USERS, seed=seed))
        best, mixed, moved = (
            solve(problem, name, seed) for name in ("best", "steiner-mixing", "migration")
        )
        ratios.append(mixed["cost"] / best["cost"])
        gains.append(moved["cost"] / best["cost"])
        results.append(best)
    mean = float(np.mean(ratios))
    seconds = [result["seconds"] for result in results]
    return [
        row(f"steiner-mixing / best, sparse, core x 50, {len(ratios)} of {size_of(problem)}",
            f"mean {mean:.2f}, least {min(ratios):.2f}; migration / best {np.mean(gains):.2f}; "
            f"best takes {np.mean(seconds):.1f} s", f"mean >= {MIXING_RATIO:g}",
            met=mean >= MIXING_RATIO, ratios=ratios, migration=gains, seconds=seconds,
            gaps=[result["gap"] for result in results])
    ]  # fmt: skip


def measure_tiny(scale: float) -> list[dict]:
    """Ratios to the proven optimum; without branch and bound at the end they are the search's."""
    closed, searched, rivals = [], [], {"steiner-mixing": [], "migration": []}
    most = exact.MAX_USERS
    for seed in range(max(5, round(TINY_INSTANCES * scale))):
        problem = Wiring(sparse(12, brokers=4, channels=6, seed=seed))
        optimum = problem.solve("exact").objective
        closed.append(problem.solve("best", seed=SEED).objective / optimum)
        exact.MAX_USERS = 0
        searched.append(problem.solve("best", seed=SEED).objective / optimum)
        exact.MAX_USERS = most
        for name, found in rivals.items():
            found.append(problem.solve(name, seed=SEED).objective / optimum)
    mean = float(np.mean(searched))
    return [
        row(f"best / exact, sparse, core x 50, {len(closed)} of 12 x 4 x 6",
            f"mean {np.mean(closed):.4f}; without branch and bound {mean:.4f}, worst "
            f"{max(searched):.3f}; migration {np.mean(rivals['migration']):.2f}, steiner-mixing "
            f"{np.mean(rivals['steiner-mixing']):.2f}", f"mean <= {TINY_RATIO:g}",
            met=mean <= TINY_RATIO, closed=closed, searched=searched, **rivals)
    ]  # fmt: skip


def measure_large(scale: float) -> list[dict]:
    problem = dense(round(LARGE * scale))
    rows = []
    for name in ("packing", "best"):
        found = solve(problem, name)
        rows.append(
            row(f"{name}, {size_of(problem)}",
                f"{found['seconds']:.1f} s of processor with the bound, cost {found['cost']:.5g}, "
                f"gap {100 * found['gap']:.2f}%, {found['megabytes']:,.0f} MB", "completes",
                met=found["overloaded"] == 0, **found)
        )  # fmt: skip
    return rows


def warm_up() -> None:
    """Compile before the clock starts."""
    for algorithm in (*BARS, "migration", "best"):
        Wiring(sparse(40, brokers=4, channels=8)).solve(algorithm)
    Wiring(sparse(8, brokers=3, channels=4)).solve("exact")


PARTED = Parted(
    "wire",
    {
        "paper": measure_paper,
        "moves": measure_moves,
        "best": measure_best,
        "sparse": measure_sparse,
        "tiny": measure_tiny,
        "large": measure_large,
    },
    warm_up,
)
run = PARTED.run


if __name__ == "__main__":
    PARTED.main(sys.argv[1:])
