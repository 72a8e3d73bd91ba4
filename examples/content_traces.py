"""From the message history of a content-based system to plans, on traces that it makes itself.

Trades have a price and a volume; brokers in three regions serve traders who want rectangles of
both. Raw events, subscriptions, positions and brokers go through Spark to a content workload with
an event density, channels, and what everybody publishes on each; from there to an assignment of
traders to brokers, and to a wiring of the overlay.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import fanwise as fw
from fanwise.pipeline import ContentOptions, ContentSources, ingest_content

SEED = 7
TRADERS, PUBLISHERS, EVENTS = 3_000, 400, 200_000
REGIONS = {"asia": (0.8, 0.3), "america": (0.1, 0.5), "europe": (0.5, 0.9)}
BROKERS_PER_REGION = 4
START = 1_772_409_600  # 2026-03-02
DAY = 86_400
CHANNELS = 64
TIME_LIMIT = 10


def main(folder: Path) -> None:
    start = time.perf_counter()

    def say(text: str) -> None:
        print(f"[{time.perf_counter() - start:5.1f} s] {text}", flush=True)

    say(f"writing the logs of a market: {EVENTS:,} trades, {TRADERS:,} traders")
    sources = write_traces(folder / "trace", np.random.default_rng(SEED))

    say("reading them with Spark, setting bad rows aside")
    report = ingest_content(
        sources,
        folder / "workload",
        ContentOptions(
            ["price", "volume"], num_channels=CHANNELS, channels_by="depth", root="exchange"
        ),
        start=START,
        end=START + DAY,
        max_bad_rows="0.1%",
        overwrite=True,
    )
    workload = fw.read_workload(folder / "workload")
    say(
        f"{workload}: {report.publications.fine:,} events in {report.cells} cells, "
        f"{report.channels} channels, {report.publishers} publishers, {report.num_bad} bad rows"
    )

    assignment = fw.Assignment(workload, max_delay=1.0, lbf=1.5, lbf_max=2.0)
    for algorithm in ("closest", "gr-star", "best"):
        plan = assignment.solve(algorithm, seed=SEED, time_limit=TIME_LIMIT)
        finish(plan, folder / "plans" / f"assign-{algorithm}")
        say(f"assign by {algorithm}: {plan.objective:,.0f} events a day enter the brokers")

    wiring = getattr(fw, "Wiring", None)
    if wiring is None:
        say("this version has no wire: no wiring plan")
        return
    plan = wiring(workload).solve("best", seed=SEED, time_limit=TIME_LIMIT)
    finish(plan, folder / "plans" / "wire-best")
    say(
        f"wire by best: cost {plan.objective:,.0f}, of it access {plan.metrics['access']:,.0f} and "
        f"core {plan.metrics['core']:,.0f}"
    )


def finish(plan: Any, folder: Path) -> None:
    """Verify and save a plan; one that breaks a limit says so itself."""
    if plan.feasible:
        plan.verify()
    plan.save(folder, overwrite=True)


def write_traces(folder: Path, rng: np.random.Generator) -> ContentSources:
    """Write four tables as CSV, with a few broken lines."""
    folder.mkdir(parents=True, exist_ok=True)
    homes = rng.choice(list(REGIONS), TRADERS, p=[4 / 9, 1 / 9, 4 / 9])
    traders = [f"{home}-{number}" for number, home in enumerate(homes)]
    places = np.array([REGIONS[home] for home in homes]) + rng.normal(0, 0.05, (TRADERS, 2))
    # Prices gather around a few instruments, volumes have a long tail.
    instruments = rng.uniform(10, 200, 12)
    prices = rng.choice(instruments, EVENTS) * rng.normal(1, 0.03, EVENTS)
    volumes = rng.lognormal(3, 0.8, EVENTS)
    seconds = np.sort(rng.integers(0, DAY, EVENTS))
    senders = rng.zipf(1.4, EVENTS) % PUBLISHERS
    interests = rng.choice(instruments, TRADERS)
    least = rng.lognormal(2.5, 1, TRADERS)
    write_csv(
        folder / "trades.csv",
        ("publisher", "timestamp", "price", "volume"),
        (
            (traders[who], START + int(at), f"{price:.2f}", f"{volume:.1f}")
            for who, at, price, volume in zip(senders, seconds, prices, volumes, strict=True)
        ),
    )
    with (folder / "trades.csv").open("a") as file:
        file.write("asia-0,yesterday,10,10\n,1772409600,10,10\n")
    write_csv(
        folder / "ranges.csv",
        ("subscriber", "lo_price", "hi_price", "lo_volume", "hi_volume"),
        (
            (name, f"{0.97 * price:.2f}", f"{1.03 * price:.2f}", f"{low:.1f}", f"{20 * low:.1f}")
            for name, price, low in zip(traders, interests, least, strict=True)
        ),
    )
    write_csv(
        folder / "places.csv",
        ("name", "net_0", "net_1"),
        [("exchange", 0.5, 0.5), *((name, *at) for name, at in zip(traders, places, strict=True))],
    )
    write_csv(
        folder / "brokers.csv",
        ("broker", "net_0", "net_1", "parent", "share", "capacity"),
        broker_rows(rng),
    )
    names = ("trades", "ranges", "places", "brokers")
    return ContentSources(*(folder / f"{name}.csv" for name in names))


def broker_rows(rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """A gateway in each region, and leaf brokers around it with equal shares."""
    rows: list[tuple[Any, ...]] = []
    share = 1 / (len(REGIONS) * BROKERS_PER_REGION)
    capacity = 0.4 * EVENTS * TRADERS * share
    for region, (x, y) in REGIONS.items():
        rows.append((region, x, y, "", "", capacity))
        for number in range(BROKERS_PER_REGION):
            at = rng.normal((x, y), 0.05)
            rows.append((f"{region}-{number}", at[0], at[1], region, share, capacity))
    return rows


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "content-output"))
