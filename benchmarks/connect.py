"""connect: the paper's algorithms in units of counting, memory, growth, and against NetworkX.

Counting is the yardstick: the pair contributions of the empty overlay, as the dense float32 product
of the interests with their transpose in NumPy where over 1% of them are ones, else as the sparse
product in SciPy, in one thread. Each workload has a process of its own, and so has each measurement
of memory.

Run one of them alone with ``python -m benchmarks.connect WORKLOAD``.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measuring import row, time_warm_runs
from fanwise.connect.growing.grow import grow_greedily, grow_in_phases
from fanwise.connect.problem import Connection
from fanwise.workload.generators.follow import follow
from fanwise.workload.generators.overlays import expo, unif, zipf
from fanwise.workload.topic import TopicWorkload

NODES, TOPICS, DEGREE = 10_000, 1_000, 4
WORKLOADS: dict[str, Callable[[], TopicWorkload]] = {
    "social": lambda: follow(NODES, seed=1),
    "expo": lambda: expo(NODES, TOPICS, seed=1),
    "zipf": lambda: zipf(NODES, TOPICS, seed=1),
    "unif": lambda: unif(NODES, TOPICS, seed=1),
    "dense": lambda: unif(NODES, TOPICS, size_law="uniform", min_size=100, max_size=500, seed=1),
    "1,000 nodes": lambda: follow(1_000, seed=1),
    "10,000 nodes": lambda: follow(10_000, seed=1),
    "100,000 nodes": lambda: follow(100_000, mean_followings=12, seed=1),
}
ALGORITHMS: dict[str, tuple[Callable[[Connection], Any], dict[str, Any]]] = {
    "gm": (grow_greedily, {}),
    "minmax-oda": (grow_in_phases, {}),
    "gpa": (grow_greedily, {"max_edges": DEGREE * NODES // 2}),
    "gpm": (grow_in_phases, {"max_degree": DEGREE}),
}
BARS = {
    "social": {"gm": 5, "minmax-oda": 20},
    "expo": {"gpa": 20, "gpm": 20},
    "zipf": {"gpa": 20, "gpm": 20},
    "unif": {"gpa": 20, "gpm": 20},
    "dense": {"gpa": 100, "gpm": 100},
}
MEGABYTES = {("social", "gm"): 400, ("social", "minmax-oda"): 400, ("100,000 nodes", "gm"): 2000}
RIVAL_NODES = {300: 30, 1_000: 3}
"""Nodes, and how many links NetworkX has the patience for."""
RIVAL_BAR = 100


def run() -> list[dict]:
    rows = []
    for workload, bars in BARS.items():
        measured = in_own_process(workload)
        for algorithm, bar in bars.items():
            found = measured[algorithm]
            ratio = found["seconds"] / measured["counting"]
            rows.append(
                row(
                    f"{algorithm}, {workload}",
                    f"{ratio:.1f} x counting of {measured['counting']:.2f} s, "
                    f"{found['edges']:,} links, support {found['support']:.4f}",
                    f"<= {bar} x",
                    met=ratio <= bar,
                    **found,
                    counting=measured["counting"],
                )
            )
    for (workload, algorithm), most in MEGABYTES.items():
        found = in_own_process(workload, algorithm)
        rows.append(
            row(
                f"memory of {algorithm}, {workload}",
                f"{found['megabytes']:.0f} MB, {found['seconds']:.1f} s",
                f"<= {most} MB",
                met=found["megabytes"] <= most,
                **found,
            )
        )
    for workload in ("1,000 nodes", "10,000 nodes"):
        found = in_own_process(workload, "gm")
        rows.append(
            row(f"growth of gm, {workload}", f"{found['seconds']:.2f} s, {found['pairs']:,} pairs",
                **found)
        )  # fmt: skip
    return rows + [beat_networkx(nodes, links) for nodes, links in RIVAL_NODES.items()]


def in_own_process(*arguments: str) -> dict[str, Any]:
    """Measure in a fresh process with one thread."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.connect", *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **threads},
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure_workload(name: str) -> dict[str, Any]:
    warm_up()
    workload = WORKLOADS[name]()
    counting = time_warm_runs(make_counting(workload)).least
    return {
        "counting": counting,
        **{algorithm: measure(workload, algorithm) for algorithm in BARS[name]},
    }


def measure_memory(name: str, algorithm: str) -> dict[str, Any]:
    warm_up()
    workload = WORKLOADS[name]()
    found = measure(workload, algorithm)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**found, "megabytes": peak, "pairs": workload.num_pairs}


def measure(workload: TopicWorkload, algorithm: str) -> dict[str, Any]:
    grow, budget = ALGORITHMS[algorithm]
    problem = Connection(workload, **budget)
    network = problem.network
    start = time.perf_counter()
    edges = grow(problem).edges
    seconds = time.perf_counter() - start
    support = network.value(edges) / network.complete_value
    degree = int(network.degrees(edges).max())
    return {"seconds": seconds, "edges": len(edges), "support": support, "max_degree": degree}


def make_counting(workload: TopicWorkload) -> Callable[[], Any]:
    from scipy.sparse import csr_array

    shape = workload.num_subscribers, workload.num_topics
    indptr, indices = workload.interests
    ones = np.ones(workload.num_pairs, dtype=np.float32)
    interests = csr_array((ones, indices, indptr), shape=shape)
    if workload.num_pairs > 0.01 * shape[0] * shape[1]:
        dense = interests.toarray()
        return lambda: dense @ dense.T
    followers = interests.T.tocsr()
    return lambda: interests @ followers


def warm_up() -> None:
    """Compile before the clock starts."""
    tiny = follow(50, mean_followings=5)
    for grow, budget in ALGORITHMS.values():
        for weight in ("one", "rate"):
            grow(Connection(tiny, topic_weight=weight, **budget))


def beat_networkx(nodes: int, num_links: int) -> dict:
    from benchmarks import connect_baseline

    workload = unif(nodes, 200, min_size=5, max_size=60, seed=1)
    indptr, indices = workload.interests
    lists = [indices[indptr[v] : indptr[v + 1]].tolist() for v in range(nodes)]
    values: dict[str, Any] = {}
    for name, baseline in (("gpa", connect_baseline.gpa), ("gpm", connect_baseline.gpm)):
        start = time.perf_counter()
        theirs = baseline(lists, num_links)
        slow = time.perf_counter() - start
        problem = Connection(workload, max_edges=num_links, max_degree=num_links)
        grow = ALGORITHMS[name][0]
        edges = grow(problem).edges
        fast = time_warm_runs(lambda grow=grow, problem=problem: grow(problem)).least
        assert [tuple(edge) for edge in edges.tolist()] == theirs
        values[name] = slow / fast
    least = min(values.values())
    return row(
        f"NetworkX, {nodes} nodes, the first {num_links} links",
        ", ".join(f"{name} {ratio:,.0f} x faster" for name, ratio in values.items()),
        f">= {RIVAL_BAR} x, same links",
        met=least >= RIVAL_BAR,
        **values,
    )


if __name__ == "__main__":
    name, *algorithm = sys.argv[1:]
    found = measure_memory(name, *algorithm) if algorithm else measure_workload(name)
    print(json.dumps(found))
