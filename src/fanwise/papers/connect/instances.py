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


@dataclass(frozen=True)
class Graph:
    """A whole graph that samples are taken from."""

    name: str
    words: str
    is_real: bool
    workload: TopicWorkload


@dataclass(frozen=True)
class Social:
    """A sample: its name in the paper, its graph, its workload, and all that in words."""

    name: str
    graph: Graph
    workload: TopicWorkload
    title: str


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
        num_starts = course.settings.num_starts
        request = Request(nodes_at(course, nodes), seed=course.seed, num_starts=num_starts)
        workload = sample_workload(graph.workload, request)
        title = course.paper.phrase(
            "sample", name=name, nodes=workload.num_subscribers, is_real=graph.is_real
        )
        return Social(name, graph, workload, title)

    data = find_data()
    with course.progress.step("Social graphs"):
        friends = _generated("Facebook", course)
        if data is None:
            facebook, twitter = friends, _generated("Twitter", course)
        else:
            facebook, twitter = (_read(name, course, data) for name in ("Facebook", "Twitter"))
        yield sample("FB 1K", facebook, 1000)
        if data is not None:
            yield sample("FB 4K", facebook, 4000)
            yield sample("FB campus 1K", _read("Facebook, a university", course, data), 1000)
        yield sample("FB 10K", friends, 10_000)
        yield sample("TW 1K", twitter, 1000)
        yield sample("TW 10K", twitter, 10_000)


def _generated(name: str, course: Course) -> Graph:
    settings = course.settings
    nodes = settings.whole_per_sample * nodes_at(course, 10_000)
    mean, is_mutual = settings.mean_followings[name], name == "Facebook"
    workload = follow(nodes, mean_followings=mean, mutual=is_mutual, seed=course.seed)
    return Graph(name, course.paper.phrase("generated", users=nodes), False, workload)


def _read(name: str, course: Course, data: Path) -> Graph:
    entry = course.settings.graphs[name]
    path = data / entry["path"]
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
    users = workload.num_subscribers
    words = course.paper.phrase("public", words=entry["words"], users=users)
    return Graph(name, words, True, workload)
