"""Breadth-first samples of a follow graph: a topic workload whose topics and subscribers are users.

A topic and a subscriber of the same name are one user; a subscriber follows the users whose topics
it wants. A sample visits users breadth first until it has as many as asked for, and keeps every
pair among them. What makes it repeatable:

- users wait in one queue, and the neighbours of a user join it in code-point order of their names;
- starting users come in the order of the SHA-256 of ``seed:name``, which favours nobody;
- whenever the queue runs dry, as many new users start as have started before. Graphs in many small
  pieces so need few restarts, each of which is a job on Spark.

The sample of a workload in memory is drawn here; :mod:`fanwise.pipeline.topic.sampling` draws the
same one on Spark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.arrays.csr import Csr, IntArray, LongArray, build_csr
from fanwise.arrays.jit import kernel
from fanwise.errors import InputError, ParameterError
from fanwise.workload.topic.model import TopicWorkload

ALONG = ("both", "followings", "followers")
"""Which links a visit goes along: from a user to those it follows, to its followers, or both."""

_COLUMNS_OF_SUBSCRIBERS = ("tau", "weight", "max_degree")


@dataclass(frozen=True)
class Request:
    """What to sample.

    Attributes
    ----------
    nodes
        Users to visit; all there are if they are fewer.
    seed
        Decides where to start.
    starts
        Names of the users to start from, in this order; empty: ``num_starts`` by the seed.
    num_starts
        How many users to start from where none is named.
    along
        One of :data:`ALONG`.
    keep_empty
        Keep users left without followers as topics, and without interests as subscribers.
    """

    nodes: int
    seed: int = 0
    starts: tuple[str, ...] = ()
    num_starts: int = 1
    along: str = "both"
    keep_empty: bool = False

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise ParameterError("nodes", "a whole number >= 1", self.nodes)
        if self.num_starts < 1:
            raise ParameterError("starts", "a whole number >= 1", self.num_starts)
        if self.seed < 0:
            raise ParameterError("seed", "a whole number >= 0", self.seed)
        if self.along not in ALONG:
            raise ParameterError("along", f"one of {', '.join(ALONG)}", self.along)
        if len(set(self.starts)) != len(self.starts):
            raise ParameterError("start", "a different user each time", ", ".join(self.starts))


def sample_workload(workload: TopicWorkload, request: Request) -> TopicWorkload:
    """Draw the sample of a workload in memory; O(pairs), and a hash for each user.

    Raises
    ------
    InputError
        No name is both a topic's and a subscriber's, or a start is no user.
    """
    names, users_of_topics, users_of_subscribers = _number_users(workload)
    lengths = np.diff(workload.interests.indptr)
    follower = np.repeat(users_of_subscribers, lengths)
    followee = users_of_topics[workload.interests.indices]
    links = _links_along(follower, followee, len(names), request.along)
    takes_part = np.zeros(len(names), dtype=np.bool_)
    takes_part[follower] = takes_part[followee] = True
    texts = names.to_pylist()
    first = _find_starts(texts, takes_part, request.starts)
    order = np.concatenate([first, _hash_order(texts, takes_part, request.seed)])
    visited, num_started = visit_users(
        *links, order.astype(np.int32), len(first) or request.num_starts, request.nodes
    )
    is_visited = np.zeros(len(names), dtype=np.bool_)
    is_visited[visited] = True
    inside = is_visited[follower] & is_visited[followee]
    topics = np.flatnonzero(is_visited[users_of_topics])
    subscribers = np.flatnonzero(is_visited[users_of_subscribers])
    return assemble(
        request,
        Visited(
            topics=_topic_table(workload, topics, users_of_topics),
            subscribers=_subscriber_table(workload, subscribers, users_of_subscribers),
            follower=follower[inside],
            followee=followee[inside],
            users=visited,
            num_starts=num_started,
        ),
        period_seconds=workload.period_seconds,
        whole={
            "topics": workload.num_topics,
            "subscribers": workload.num_subscribers,
            "pairs": workload.num_pairs,
        },
        origin=dict(workload.origin),
    )


@dataclass(frozen=True)
class Visited:
    """What is known of the users of a sample, who are numbered in the order of their names.

    Attributes
    ----------
    topics, subscribers
        Tables with the columns of a workload and ``user`` in place of the id.
    follower, followee
        The pairs among them, by user.
    users
        All of them, in the order in which they were visited.
    num_starts
        How many were started from.
    """

    topics: pa.Table
    subscribers: pa.Table
    follower: npt.NDArray[np.integer[Any]]
    followee: npt.NDArray[np.integer[Any]]
    users: IntArray
    num_starts: int

    def first_name(self) -> str | None:
        """Return who was visited first, under its name as a topic or as a subscriber."""
        for table in (self.topics, self.subscribers):
            row = pc.index(table.column("user"), self.users[0]).as_py() if len(self.users) else -1
            if row >= 0:
                return str(table.column("name")[row])
        return None


def assemble(
    request: Request,
    visited: Visited,
    *,
    period_seconds: float,
    whole: dict[str, int],
    origin: dict[str, Any],
) -> TopicWorkload:
    """Make the workload of a sample: ids in the order of names, nobody without pairs by default."""
    topics = visited.topics.sort_by("user")
    subscribers = visited.subscribers.sort_by("user")
    if not request.keep_empty:
        topics = _only(topics, np.unique(visited.followee))
        subscribers = _only(subscribers, np.unique(visited.follower))
    axes = sum(name.startswith("net_") for name in subscribers.column_names)
    optional = {
        name: subscribers.column(name).to_numpy()
        for name in _COLUMNS_OF_SUBSCRIBERS
        if name in subscribers.column_names
    }
    return TopicWorkload.from_arrays(
        topics.column("rate").to_numpy(),
        np.searchsorted(subscribers.column("user").to_numpy(), visited.follower),
        np.searchsorted(topics.column("user").to_numpy(), visited.followee),
        num_subscribers=subscribers.num_rows,
        message_bytes=topics.column("bytes").to_numpy(),
        topic_names=topics.column("name"),
        subscriber_names=subscribers.column("name"),
        period_seconds=period_seconds,
        **{
            name: topics.column(name).to_numpy()
            for name in ("cost", "change_price")
            if name in topics.column_names
        },
        positions=np.column_stack(
            [subscribers.column(f"net_{axis}").to_numpy() for axis in range(axes)]
        )
        if axes
        else None,
        origin={
            **origin,
            "sample": {
                "nodes": request.nodes,
                "seed": request.seed,
                "along": request.along,
                "users": len(visited.users),
                "start": visited.first_name(),
                "starts": visited.num_starts,
                "of": whole,
            },
        },
        **optional,
    )


def refuse_no_graph(num_both: int, place: str = "the workload") -> None:
    """Raise unless somebody is both a topic and a subscriber."""
    if num_both == 0:
        raise InputError(
            f"{place}: no name is both a topic's and a subscriber's, so it is no follow graph; "
            "sample one whose topics are users."
        )


def unknown_start(name: str) -> InputError:
    """Return the error of a start that takes part in no pair."""
    return InputError(
        f"--start {name}: no such user, or one without followers and followings; "
        "names are those of topics and subscribers."
    )


def _number_users(workload: TopicWorkload) -> tuple[pa.Array, IntArray, IntArray]:
    """Return the users' names in code-point order, and the user of each topic and subscriber."""
    found = pa.concat_arrays(
        [
            names.cast(pa.large_string())
            for names in (workload.topic_names, workload.subscriber_names)
        ]
    )
    names = pc.unique(found)
    refuse_no_graph(len(found) - len(names))
    names = names.take(pc.sort_indices(names))  # Arrow compares the bytes of UTF-8
    users = pc.index_in(found, names).to_numpy().astype(np.int32)
    return names, users[: workload.num_topics], users[workload.num_topics :]


def _links_along(follower: IntArray, followee: IntArray, num_users: int, along: str) -> Csr:
    if along == "followings":
        return build_csr(follower, followee, num_users)
    if along == "followers":
        return build_csr(followee, follower, num_users)
    ends = np.concatenate([follower, followee]), np.concatenate([followee, follower])
    return build_csr(*ends, num_users)


def _find_starts(
    names: Sequence[str], takes_part: npt.NDArray[np.bool_], wanted: Sequence[str]
) -> LongArray:
    user_of = {name: user for user, name in enumerate(names)} if wanted else {}
    for name in wanted:
        if name not in user_of or not takes_part[user_of[name]]:
            raise unknown_start(name)
    return np.array([user_of[name] for name in wanted], dtype=np.int64)


def _hash_order(names: Sequence[str], takes_part: npt.NDArray[np.bool_], seed: int) -> LongArray:
    """Return those who take part, by the SHA-256 of ``seed:name``."""
    users = np.flatnonzero(takes_part).tolist()
    digests = {user: hashlib.sha256(f"{seed}:{names[user]}".encode()).hexdigest() for user in users}
    return np.array(sorted(users, key=digests.__getitem__), dtype=np.int64)


def _topic_table(workload: TopicWorkload, chosen: LongArray, users: IntArray) -> pa.Table:
    columns: dict[str, Any] = {
        "user": users[chosen],
        "name": workload.topic_names.take(pa.array(chosen)),
        "rate": workload.rates[chosen],
        "bytes": workload.message_bytes[chosen],
    }
    for name, values in (("cost", workload.cost), ("change_price", workload.change_price)):
        if values is not None:
            columns[name] = values[chosen]
    return pa.table(columns)


def _subscriber_table(workload: TopicWorkload, chosen: LongArray, users: IntArray) -> pa.Table:
    columns: dict[str, Any] = {
        "user": users[chosen],
        "name": workload.subscriber_names.take(pa.array(chosen)),
    }
    for name in _COLUMNS_OF_SUBSCRIBERS:
        values = getattr(workload, name)
        if values is not None:
            columns[name] = values[chosen]
    if workload.positions is not None:
        for axis in range(workload.positions.shape[1]):
            columns[f"net_{axis}"] = workload.positions[chosen, axis]
    return pa.table(columns)


def _only(table: pa.Table, users: npt.NDArray[np.integer[Any]]) -> pa.Table:
    return table.filter(pa.array(np.isin(table.column("user").to_numpy(), users)))


@kernel
def visit_users(
    indptr: LongArray, indices: IntArray, order: IntArray, num_starts: int, most: int
) -> tuple[IntArray, int]:
    """Visit at most ``most`` users breadth first; return them in that order, and how many started.

    Starts come from ``order``: ``num_starts`` at first, then each time the queue runs dry as many
    as have started so far. Changes nothing.
    """
    queue = np.empty(min(most, len(indptr) - 1), dtype=np.int32)
    is_visited = np.zeros(len(indptr) - 1, dtype=np.bool_)
    head, tail, turn, started = 0, 0, 0, 0
    while tail < len(queue):
        if head == tail:
            wanted = started if started else num_starts
            found = 0
            while found < wanted and turn < len(order) and tail < len(queue):
                user = order[turn]
                turn += 1
                if not is_visited[user]:
                    is_visited[user] = True
                    queue[tail] = user
                    tail += 1
                    found += 1
            if found == 0:
                break
            started += found
            continue
        user = queue[head]
        head += 1
        for i in range(indptr[user], indptr[user + 1]):
            neighbour = indices[i]
            if not is_visited[neighbour] and tail < len(queue):
                is_visited[neighbour] = True
                queue[tail] = neighbour
                tail += 1
    return queue[:tail], started
