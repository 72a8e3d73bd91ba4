"""Social workloads: breadth-first samples of public graphs, or of generated ones.

The paper's graphs are not public (Facebook) or not with us (all of Twitter). With ``FANWISE_DATA``
set to a folder that has ``data/``, samples are from two public graphs: ego-Twitter and
ego-Facebook (McAuley and Leskovec 2012), and one of Facebook100 (Traud et al. 2012) beside them.
Facebook's have about 5,000 nodes at most, so that FB 10K is always generated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from fanwise.connect.reproducing.settings import nodes_at
from fanwise.errors import InputError
from fanwise.progress import Progress
from fanwise.workload.edges import workload_of_edges
from fanwise.workload.generators.follow import follow
from fanwise.workload.sampling import Request, sample_workload
from fanwise.workload.topic import TopicWorkload

VARIABLE = "FANWISE_DATA"
NUM_STARTS = 3
"""Samples start from "a few users", the paper says."""
FRIENDS, FOLLOWINGS = 19.0, 35.0
"""Mean of the paper's graphs: 28.3M friendships of 3M users, 1.47G followings of 41.7M."""
WHOLE_PER_SAMPLE = 5
"""A generated graph is so many times as large as the largest sample of it."""


@dataclass(frozen=True)
class Graph:
    """A whole graph that samples are taken from."""

    name: str
    words: str
    is_real: bool
    workload: TopicWorkload


@dataclass(frozen=True)
class Social:
    """A sample: its name in the paper, the graph it is from, and its workload."""

    name: str
    graph: Graph
    workload: TopicWorkload

    @property
    def title(self) -> str:
        """Name, size where it is another than the name says, and origin."""
        origin = "public graph" if self.graph.is_real else "generated"
        return f"{self.name} ({self.workload.num_subscribers:,} nodes, {origin})"


def find_data() -> Path | None:
    """Return the folder of public data sets; None where there is none."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) / "data" if folder else None


def social_instances(scale: float, seed: int, progress: Progress) -> Iterator[Social]:
    """Yield the samples of Table I, and others that public graphs give."""
    data = find_data()
    with progress.step("Social graphs"):
        friends = _generated("Facebook", scale, seed)
        if data is None:
            facebook, twitter = friends, _generated("Twitter", scale, seed)
        else:
            facebook = _read(
                "Facebook", "ego-Facebook of SNAP", data / "facebook/ego_facebook.parquet"
            )
            twitter = _read("Twitter", "ego-Twitter of SNAP", data / "ego_twitter/follows.parquet")
        yield _sample("FB 1K", facebook, nodes_at(scale, 1000), seed)
        if data is not None:
            yield _sample("FB 4K", facebook, nodes_at(scale, 4000), seed)
            path = data / "facebook/fb100_johnshopkins55.parquet"
            campus = _read("Facebook, a university", "Johns Hopkins of Facebook100", path)
            yield _sample("FB campus 1K", campus, nodes_at(scale, 1000), seed)
        yield _sample("FB 10K", friends, nodes_at(scale, 10_000), seed)
        yield _sample("TW 1K", twitter, nodes_at(scale, 1000), seed)
        yield _sample("TW 10K", twitter, nodes_at(scale, 10_000), seed)


def _generated(name: str, scale: float, seed: int) -> Graph:
    nodes = WHOLE_PER_SAMPLE * nodes_at(scale, 10_000)
    is_mutual = name == "Facebook"
    mean = FRIENDS if is_mutual else FOLLOWINGS
    workload = follow(nodes, mean_followings=mean, mutual=is_mutual, seed=seed)
    return Graph(name, f"generated, {nodes:,} users", False, workload)


def _read(name: str, words: str, path: Path) -> Graph:
    if not path.exists():
        raise InputError(f"{path}: not there, though {VARIABLE} names its folder; unset it.")
    table = pq.read_table(path)
    first, second = (
        ("follower", "followee") if "follower" in table.column_names else table.column_names[:2]
    )
    table = table.filter(pc.not_equal(table.column(first), table.column(second)))  # no own topic
    workload = workload_of_edges(
        table.column(first), table.column(second), mutual=first != "follower"
    )
    return Graph(name, f"{words}, {workload.num_subscribers:,} users", True, workload)


def _sample(name: str, graph: Graph, nodes: int, seed: int) -> Social:
    request = Request(nodes, seed=seed, num_starts=NUM_STARTS)
    return Social(name, graph, sample_workload(graph.workload, request))
