"""Wire for the yardstick: measured positions, narrow to broad interests, a cheap to dear core.

Users and brokers stand at nodes of measured networks (``latency`` of FANWISE_DATA); links cost
their distance. Narrow interests are about two subscribers for each broker and channel, along one
axis or two; middling ones five; broad ones random intervals. The core costs as much as access, 10
or 50 times as much. Folders of workloads with channels and rates are asked as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.quality import Case
from fanwise.wire.problem import Wiring
from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.files import read_content_workload
from fanwise.workload.generators.networks import read_coordinates
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.sparse import sparse

NETWORKS = {
    "planetlab": "planetlab_coords5d.csv.gz",
    "seattle": "seattle_coords5d.csv.gz",
    "skitter": "oversim_skitter2d_15000.csv.gz",
}
INTERESTS: dict[str, Callable[..., ContentWorkload]] = {
    "narrow": sparse,
    "narrow in 2D": partial(sparse, dims=2),
    "middling": partial(sparse, audience=5.0),
    "broad": partial(quadratic, subscribers_per_broker=20),
}
SIZES = (100, 120, 300, 1000)
CORES = (1.0, 10.0, 50.0)
SEED = 17


def cases(folders: tuple[Path, ...]) -> Iterator[Case]:
    folder = os.environ.get("FANWISE_DATA")
    for number, (name, file) in enumerate(NETWORKS.items()):
        place = Path(folder or "") / "data" / "latency" / file
        if not folder or not place.exists():
            continue
        for users in SIZES:
            for interests, make in INTERESTS.items():
                for core in CORES:
                    setting = f"{users} users, {interests}, core x {core:g}"
                    seed = SEED + number
                    yield Case(name, setting, partial(pose, place, make, users, core, seed))
    for place in folders:
        for core in CORES:
            yield Case(place.name, f"core x {core:g}", partial(ask_folder, place, core))


def pose(place: Path, make: Callable[..., ContentWorkload], users: int, core: float, seed: int):
    """Put a generated workload where measured nodes are; some stand for several users."""
    workload = make(users, seed=seed)
    nodes = read_coordinates(place)
    rng = np.random.default_rng([seed, users])
    chosen = rng.permutation(len(nodes))[: workload.num_brokers]
    workload = replace(
        workload,
        positions=nodes[rng.integers(len(nodes), size=users)],
        broker_positions=nodes[chosen],
        access_costs=None,
        broker_costs=None,
    )
    return Wiring(workload, core_factor=core)


def ask_folder(place: Path, core: float) -> Wiring:
    return Wiring(read_content_workload(place), core_factor=core)
