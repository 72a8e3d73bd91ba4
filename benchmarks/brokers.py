"""brokers: matching against a scan, and the distributed optimiser against the best central plan.

Parts, each in a process of its own:

- ``matching``: 100,000 rectangles in 2 to 4 dimensions, against NumPy comparing all of them: as
  anybody would write it, by rows, and as fast as we could make it, by columns;
- ``cost``: brokers that take turns, without a network (:mod:`fanwise.brokers.moving.rounds`), from
  clients spread at random, until no broker has anything to propose: their cost over that of
  `fanwise wire` on the same summaries. Beside it: never moving, a random wiring, and single moves
  alone as in the paper;
- ``drift``: the same with interests that change, over time.

``python -m benchmarks brokers`` runs all of them. ``python -m benchmarks.brokers PART ...`` runs
some; ``--quick`` takes a tenth of the sizes and writes nothing. Bars are for seconds of the
processor. ``cost`` and ``drift`` write the pictures of ``docs/brokers``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import row
from benchmarks.parts import Parted
from fanwise.arrays.tolerance import fits
from fanwise.brokers.matching.rectangle_index import RectangleIndex
from fanwise.brokers.moving.rounds import Rounds
from fanwise.brokers.moving.settings import MovingSettings
from fanwise.wire.problem import Wiring
from fanwise.wire.state import attachment_cost
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.sparse import sparse

PICTURES = Path(__file__).parents[1] / "docs" / "brokers"
RECTANGLES, POINTS = 100_000, 400
SCAN_RATIO, EVENTS_PER_SECOND, COST_RATIO = 20.0, 2000.0, 1.10
MOST_ROUNDS = 150
MARKETS: dict[str, Callable[[int], ContentWorkload]] = {
    "sparse, 100 clients, 5 brokers": lambda seed: sparse(100, seed=seed),
    "sparse, 200 clients, 10 brokers": lambda seed: sparse(200, seed=seed),
    "sparse, 240 clients, 8 brokers, 64 channels": lambda seed: sparse(
        240, brokers=8, channels=64, seed=seed
    ),
    "sparse, independent prices, 100 clients, 5 brokers": lambda seed: sparse(
        100, cost_law="uniform", seed=seed
    ),
    "sparser core, 200 clients, 10 brokers": lambda seed: sparse(
        200, audience=4, core_ratio=10, seed=seed
    ),
    "dense, 400 clients, 8 brokers": lambda seed: quadratic(
        400, subscribers_per_broker=50, seed=seed
    ),
}
SEEDS = {"sparse, 100 clients, 5 brokers": (1, 2, 3)}
"""Of markets of which more than one is drawn."""
PAPER, OURS = MovingSettings(changes=0), MovingSettings(busy=0.0)
"""The first never look for rearrangements, the second only in turns without a single move."""


# ---------------------------------------------------------------- matching


def measure_matching(scale: float) -> list[dict]:
    count = round(RECTANGLES * scale)
    found = [_match(count, dims, width) for dims in (2, 3, 4) for width in (0.02, 0.1, 0.5)]
    return [*found, _change(count)]


def _rectangles(count: int, dims: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([dims, round(100 * width)])
    centre, side = rng.random((count, dims)), width * rng.random((count, dims))
    return centre - side / 2, centre + side / 2


def _match(count: int, dims: int, width: float) -> dict:
    lo, hi = _rectangles(count, dims, width)
    index = RectangleIndex.build(np.arange(count), lo, hi)
    points = np.random.default_rng(1).random((POINTS, dims))
    asked = [tuple(point.tolist()) for point in points]
    low, high = np.ascontiguousarray(lo.T), np.ascontiguousarray(hi.T)

    def by_rows(point: np.ndarray) -> np.ndarray:
        return np.flatnonzero(((lo <= point) & (point <= hi)).all(axis=1))

    def by_columns(point: np.ndarray) -> np.ndarray:
        held = (low[0] <= point[0]) & (point[0] <= high[0])
        for axis in range(1, dims):
            held &= low[axis] <= point[axis]
            held &= point[axis] <= high[axis]
        return np.flatnonzero(held)

    found = [sorted(index.match(point)) for point in asked]
    same = all(by_rows(p).tolist() == keys for p, keys in zip(points, found, strict=True))
    same = same and all(
        by_columns(p).tolist() == keys for p, keys in zip(points[:50], found, strict=False)
    )
    seconds = _each(index.match, asked, 5)
    rows_seconds, columns_seconds = _each(by_rows, points[:100], 1), _each(by_columns, points, 1)
    ratio, rate = rows_seconds / seconds, 1 / seconds
    hits = np.mean([len(keys) for keys in found])
    return row(
        f"{count:,} rectangles, {dims} dimensions, sides to {width:g}, {hits:,.1f} found",
        f"{1e6 * seconds:.1f} us, {rate:,.0f} events/s; {ratio:,.0f} x a scan by rows "
        f"({1e6 * rows_seconds:,.0f} us), {columns_seconds / seconds:,.1f} x one by columns "
        f"({1e6 * columns_seconds:,.0f} us); {'same' if same else 'OTHER'} answer",
        f">= {SCAN_RATIO:g} x a scan, >= {EVENTS_PER_SECOND:,.0f}/s, same answer",
        met=bool(ratio >= SCAN_RATIO and rate >= EVENTS_PER_SECOND and same),
        seconds=seconds, by_rows=rows_seconds, by_columns=columns_seconds, found=float(hits),
    )  # fmt: skip


def _each(function: Callable[[Any], Any], items: Any, repeats: int) -> float:
    """Return the processor seconds of a call, the least of some runs over all items."""
    found = []
    for _ in range(repeats + 1):
        start = time.process_time()
        for item in items:
            function(item)
        found.append((time.process_time() - start) / len(items))
    return min(found)


def _change(count: int) -> dict:
    """Replace rectangles one by one, as many as there are: layouts that fall due included."""
    lo, hi = _rectangles(count, 3, 0.1)
    index = RectangleIndex.build(np.arange(count), lo, hi)
    sides = [(tuple(low.tolist()), tuple(high.tolist())) for low, high in zip(lo, hi, strict=True)]
    longest, start = 0.0, time.process_time()
    for key, (low, high) in enumerate(sides):
        before = time.process_time()
        index.remove(key)
        index.add(key + count, low, high)
        longest = max(longest, time.process_time() - before)
    seconds = (time.process_time() - start) / (2 * count)
    return row(
        f"{count:,} rectangles, 3 dimensions, all replaced one by one",
        f"{1e6 * seconds:.1f} us for each added or removed; the longest pause, laying out anew, "
        f"{1e3 * longest:.0f} ms",
        seconds=seconds, longest=longest,
    )  # fmt: skip


# ---------------------------------------------------------------- cost


def spread(problem: Wiring, seed: int) -> np.ndarray:
    """Return clients at any broker with room, drawn at random."""
    arrays, random = problem.arrays, np.random.default_rng(seed)
    load, homes = np.zeros(arrays.num_brokers), np.zeros(arrays.num_users, dtype=np.int32)
    for client in np.argsort(-arrays.demand, kind="stable"):
        room = np.flatnonzero(fits(load + arrays.demand[client], arrays.capacity))
        homes[client] = random.choice(room if len(room) else [int(np.argmin(load))])
        load[homes[client]] += arrays.demand[client]
    return homes


def settle(
    workload: ContentWorkload, homes: np.ndarray, settings: MovingSettings, seed: int
) -> dict[str, Any]:
    """Let brokers take turns until they have nothing to propose; tell of it."""
    start = time.process_time()
    rounds = Rounds(workload, homes, settings, seed=seed)
    costs, moves, is_settled = [float(rounds.view().state().cost)], 0, False
    for found in rounds.run(MOST_ROUNDS):
        costs.append(found.cost)
        moves += len(found.moves)
        is_settled = found.is_settled
        if is_settled:
            break
    return {
        "costs": costs, "moves": moves, "settled": is_settled, "rounds": len(costs) - 1,
        "seconds": time.process_time() - start,
    }  # fmt: skip


def measure_cost(scale: float) -> list[dict]:
    rows, curves = [], {}
    for name, make in list(MARKETS.items())[: len(MARKETS) if scale == 1 else 1]:
        for seed in SEEDS.get(name, (1,)) if scale == 1 else (1,):
            workload = make(seed)
            problem = Wiring(workload)
            plan = problem.solve("best", seed=1)
            best = float(plan.objective)
            homes = spread(problem, seed)
            random = sum(attachment_cost(problem.arrays, homes))
            near = float(problem.solve("packing", seed=1).objective)
            paper = settle(workload, homes, PAPER, seed)
            ours = settle(workload, homes, OURS, seed)
            ratio = ours["costs"][-1] / best
            found = row(
                f"{name}, seed {seed}",
                f"{ratio:.3f} x best after {ours['moves']} moves in {ours['rounds']} turns"
                f"{'' if ours['settled'] else ' (NOT settled)'}; single moves alone "
                f"{paper['costs'][-1] / best:.2f}, never moving (random) {random / best:.2f}, "
                f"everybody at the nearest broker {near / best:.2f}",
                f"<= {COST_RATIO:g} x best", met=bool(ratio <= COST_RATIO),
                ratio=ratio, best=best, paper=paper, ours=ours, random=random / best,
                nearest=near / best, bound=plan.bound,
            )  # fmt: skip
            rows.append(found)
            print(found["what"], found["measured"], file=sys.stderr, flush=True)
            curves[f"{name}, seed {seed}"] = (best, random, paper["costs"], ours["costs"])
    if scale == 1:
        _draw_settling(curves)
    return rows


def _draw_settling(curves: dict[str, Any]) -> None:
    from matplotlib.figure import Figure

    names = [name for name in curves if name.endswith("seed 1")]
    figure = Figure(figsize=(10, 6), layout="constrained")
    for axes, name in zip(figure.subplots(2, 3).flat, names, strict=True):
        best, random, paper, ours = curves[name]
        axes.axhline(random / best, color="0.6", label="never moving")
        axes.plot(np.array(paper) / best, label="single moves, as in the paper")
        axes.plot(np.array(ours) / best, label="with rearrangements")
        axes.axhline(COST_RATIO, color="0.2", linestyle=":", label="1.10 x the central plan")
        axes.set_title(name.removesuffix(", seed 1"), fontsize=8)
        axes.set_ylim(bottom=0.9)
        axes.set_yscale("log")
        axes.set_yticks([1, 1.5, 2, 3, 4], ["1", "1.5", "2", "3", "4"])
        axes.minorticks_off()
    figure.axes[0].legend(fontsize=7)
    figure.supxlabel("turns of every broker")
    figure.supylabel("cost over that of the central plan")
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURES / "settling.png", dpi=110)


# ---------------------------------------------------------------- drift


def measure_drift(scale: float) -> list[dict]:
    """Let interests wander, and compare with a central plan made anew again and again."""
    from fanwise.brokers.demo.crowd import Crowd

    clients, num_rounds, per_round = round(100 * max(scale, 0.25)), round(72 * max(scale, 0.25)), 1
    crowd = Crowd(5, clients, 40.0, 1)
    problem = Wiring(crowd.workload)
    homes = spread(problem, 1)
    runs = {name: Rounds(crowd.workload, homes, settings, seed=1)
            for name, settings in (("paper", PAPER), ("ours", OURS))}  # fmt: skip
    costs: dict[str, list[float]] = {"never": [], "paper": [], "ours": []}
    central: list[tuple[int, float]] = []
    moves = dict.fromkeys(runs, 0)
    for turn in range(num_rounds):
        if turn >= num_rounds // 4:  # they settle first
            for _ in range(per_round):
                crowd.drift(crowd.draw_client())
        workload = crowd.workload
        costs["never"].append(sum(attachment_cost(Wiring(workload).arrays, homes)))
        for name, rounds in runs.items():
            rounds.change(replace(workload))
            found = next(iter(rounds.run(1)))
            costs[name].append(found.cost)
            moves[name] += len(found.moves)
        if turn % (num_rounds // 6) == num_rounds // 6 - 1:
            central.append((turn, float(Wiring(workload).solve("best", seed=1).objective)))
    if scale == 1:
        _draw_drift(costs, central)
    late = [(turn, cost) for turn, cost in central if turn >= num_rounds // 4]
    ratios = {name: float(np.mean([costs[name][turn] / cost for turn, cost in late]))
              for name in costs}  # fmt: skip
    return [
        row(
            f"{clients} clients, 5 brokers; after each turn {per_round} wants something else",
            f"{ratios['ours']:.2f} x a central plan made at that moment ({moves['ours']} moves); "
            f"single moves alone {ratios['paper']:.2f} ({moves['paper']}), never moving "
            f"{ratios['never']:.2f}",
            ratios=ratios, moves=moves, costs=costs, central=central,
        )
    ]  # fmt: skip


def _draw_drift(costs: dict[str, list[float]], central: list[tuple[int, float]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.add_subplot()
    labels = {"never": "nobody ever moves", "paper": "single moves, as in the paper",
              "ours": "with rearrangements"}  # fmt: skip
    for name, label in labels.items():
        axes.plot(costs[name], label=label, color="0.6" if name == "never" else None)
    axes.plot(*zip(*central, strict=True), "ko--", label="solved centrally at that moment")
    axes.set_xlabel("turns of every broker; interests drift after the first quarter")
    axes.set_ylabel("cost C1 + C2")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURES / "drift.png", dpi=110)


def warm_up() -> None:
    """Compile before the clock starts."""
    workload = sparse(20, brokers=3, channels=6)
    Wiring(workload).solve("best", seed=1)
    for settings in (PAPER, OURS):
        settle(workload, spread(Wiring(workload), 1), settings, 1)
    index = RectangleIndex.build(np.arange(9), np.zeros((9, 2)), np.ones((9, 2)))
    index.add(9, (0, 0), (1, 1))
    index.remove(9)
    index.match((0.5, 0.5))


PARTED = Parted(
    "brokers",
    {"matching": measure_matching, "cost": measure_cost, "drift": measure_drift},
    warm_up,
)
run = PARTED.run


if __name__ == "__main__":
    PARTED.main(sys.argv[1:])
