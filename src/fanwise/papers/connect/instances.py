"""Social workloads: breadth-first samples of public graphs, or of generated ones.

The paper's graphs are not public (Facebook) or not with us (all of Twitter). With ``FANWISE_DATA``
set to a folder that has ``data/``, samples are from two public graphs: ego-Twitter and
ego-Facebook (McAuley and Leskovec 2012), and one of Facebook100 (Traud et al. 2012) beside them.
Facebook's have about 5,000 nodes at most, so that FB 10K is always generated.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from fanwise.errors import InputError
from fanwise.papers.course import Course
from fanwise.workload.generators.follow import follow
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic.edges import workload_of_edges
from fanwise.workload.topic.sampling import Request, sample_workload

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


def nodes_at(course: Course, nodes: int) -> int:
    """Return the nodes of an instance.

    The scale is the share of the paper's pairs of nodes, what the work grows with: a hundredth has
    a tenth of the nodes.
    """
    least: int = course.settings.fewest_nodes
    return min(nodes, max(least, round(nodes * math.sqrt(course.scale))))


def social_instances(course: Course) -> Iterator[Social]:
    """Yield the samples of Table I, and others that public graphs give."""

    def sample(name: str, graph: Graph, nodes: int) -> Social:
        request = Request(nodes_at(course, nodes), seed=course.seed, num_starts=NUM_STARTS)
        return Social(name, graph, sample_workload(graph.workload, request))

    data = find_data()
    with course.progress.step("Social graphs"):
        friends = _generated("Facebook", course)
        if data is None:
            facebook, twitter = friends, _generated("Twitter", course)
        else:
            facebook = _read(
                "Facebook", "ego-Facebook of SNAP", data / "facebook/ego_facebook.parquet"
            )
            twitter = _read("Twitter", "ego-Twitter of SNAP", data / "ego_twitter/follows.parquet")
        yield sample("FB 1K", facebook, 1000)
        if data is not None:
            yield sample("FB 4K", facebook, 4000)
            path = data / "facebook/fb100_johnshopkins55.parquet"
            campus = _read("Facebook, a university", "Johns Hopkins of Facebook100", path)
            yield sample("FB campus 1K", campus, 1000)
        yield sample("FB 10K", friends, 10_000)
        yield sample("TW 1K", twitter, 1000)
        yield sample("TW 10K", twitter, 10_000)


def _generated(name: str, course: Course) -> Graph:
    nodes = WHOLE_PER_SAMPLE * nodes_at(course, 10_000)
    is_mutual = name == "Facebook"
    mean = FRIENDS if is_mutual else FOLLOWINGS
    workload = follow(nodes, mean_followings=mean, mutual=is_mutual, seed=course.seed)
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
