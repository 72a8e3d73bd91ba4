"""Assign for the yardstick: measured positions, and boxes of kinds that nothing was tuned to.

Subscribers and brokers stand at nodes of measured networks (``latency`` of FANWISE_DATA), the
publisher at the node in the middle. Boxes are uniform, small, in hot spots with heavy-tailed sides,
few different ones, or near each other where people are. The load limits are the paper's, raised to
a quarter above the least possible where that is more. The paper's own workloads come beside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.quality import Case
from fanwise.assign.problem import Assignment
from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.files import read_content_workload
from fanwise.workload.generators.grid import grid
from fanwise.workload.generators.groups import groups
from fanwise.workload.generators.networks import read_coordinates
from fanwise.workload.generators.rss import rss

NETWORKS = {
    "planetlab": "planetlab_coords5d.csv.gz",
    "seattle": "seattle_coords5d.csv.gz",
    "skitter": "oversim_skitter2d_15000.csv.gz",
}
BOXES = ("uniform", "small", "hot", "few", "local")
SETTINGS = ((300, 10, 3, 0.3), (500, 12, 1, 0.3), (1000, 20, 2, 0.3), (500, 12, 3, 1.0))
"""Subscribers, brokers, alpha and the allowed delay."""
SIZES = ((1000, 20), (1000, 100))
SETS: dict[str, Callable[..., ContentWorkload]] = {
    "#1 IS:L BI:L": partial(groups, interest_skew="L"),
    "#1 IS:H BI:L": groups,
    "#1 IS:L BI:H": partial(groups, interest_skew="L", broad_interests="H"),
    "#1 IS:H BI:H": partial(groups, broad_interests="H"),
    "#2": rss,
    "#3": grid,
}


def cases(folders: tuple[Path, ...]) -> Iterator[Case]:
    shared = os.environ.get("FANWISE_DATA")
    for name, file in NETWORKS.items() if shared else ():
        path = Path(shared or "") / "data" / "latency" / file
        for kind in BOXES:
            for setting in SETTINGS:
                subscribers, brokers, alpha, delay = setting
                told = f"{kind}, {subscribers} x {brokers}, alpha {alpha}, delay {delay:g}"
                yield Case(name, told, partial(pose, path, kind, *setting))
    for name, make in SETS.items():
        for subscribers, brokers in SIZES:
            told = f"{subscribers} x {brokers}"
            yield Case(name, told, partial(pose_set, make, subscribers, brokers))
    for folder in folders:
        if (folder / "brokers.parquet").exists():
            yield Case(folder.name, "as it is", partial(pose_folder, folder))


def pose_set(make: Callable[..., ContentWorkload], subscribers: int, brokers: int) -> Assignment:
    return Assignment(make(subscribers, brokers=brokers, seed=1))


def pose_folder(folder: Path) -> Assignment:
    return Assignment(read_content_workload(folder))


def pose(
    path: Path, kind: str, subscribers: int, brokers: int, alpha: int, delay: float
) -> Assignment:
    """Ask about boxes of a kind, wanted at nodes of a network."""
    rng = np.random.default_rng([subscribers, BOXES.index(kind)])
    nodes = read_coordinates(path)
    places = nodes[rng.integers(0, len(nodes), subscribers)]
    centre, side = draw_boxes(kind, (places - nodes.mean(axis=0)) / nodes.std(axis=0), rng)
    workload = ContentWorkload.from_arrays(
        centre - side / 2,
        centre + side / 2,
        places,
        nodes[rng.choice(len(nodes), brokers, replace=False)],
        publisher=nodes[np.argmin(((nodes - nodes.mean(axis=0)) ** 2).sum(axis=1))],
        parent=[-1] * brokers,
        share=[1 / brokers] * brokers,
    )
    problem = Assignment(workload, alpha=alpha, max_delay=delay, lbf=1.5, lbf_max=1.8)
    least, _ = problem.least
    if least is not None and 1.25 * least > problem.lbf_max:
        problem = replace(problem, lbf=1.1 * least, lbf_max=1.25 * least)
    return problem


def draw_boxes(
    kind: str, places: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return centres and sides in the unit square, given standardised places."""
    shape = len(places), 2
    if kind == "uniform":
        return rng.random(shape), 0.3 * rng.random(shape)
    if kind == "small":
        return rng.random(shape), 0.05 * rng.random(shape)
    if kind == "hot":
        weights = 1 / np.arange(1, 13)
        spot = rng.choice(12, len(places), p=weights / weights.sum())
        centre = rng.random((12, 2))[spot] + 0.04 * rng.standard_normal(shape)
        return centre, np.minimum(0.02 * (1 + rng.pareto(1.5, shape)), 0.5)
    if kind == "few":
        which = rng.integers(0, 40, len(places))
        return rng.random((40, 2))[which], 0.15 * rng.random((40, 2))[which]
    centre = 0.5 + 0.15 * places[:, :2] + 0.05 * rng.standard_normal(shape)
    return centre, 0.15 * rng.random(shape)
