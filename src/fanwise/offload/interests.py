"""What edge brokers want: what one of the clients at them wants."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from fanwise.errors import InputError, PlanError
from fanwise.planning.plan import Plan
from fanwise.workload.topic import TopicWorkload

COLUMNS = ("subscriber", "edge")


def read_edges(path: Path) -> dict[str, str]:
    """Read at which edge broker each client is, from a CSV file.

    Raises
    ------
    InputError
        With the place of what is wrong.
    """
    edge_of: dict[str, str] = {}
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
            if missing:
                raise InputError(
                    f"{path}: column {missing[0]!r} is missing; there are "
                    f"{', '.join(rows.fieldnames or ()) or 'none'}."
                )
            for row in rows:
                client, edge = row["subscriber"], row["edge"]
                if client is None or edge is None:
                    raise InputError(f"{path}: line {rows.line_num} has too few fields.")
                if edge_of.setdefault(client, edge) != edge:
                    raise InputError(
                        f"{path}: line {rows.line_num}: {client!r} is at {edge_of[client]!r} "
                        "already; a client is at one edge broker."
                    )
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not a CSV file: {error}.") from None
    return edge_of


def gather_interests(
    workload: TopicWorkload, edge_of: Mapping[str, str], served: Plan | None = None
) -> TopicWorkload:
    """Return a workload whose subscribers are edge brokers. O(interests · log interests).

    Clients that ``edge_of`` does not know are at no edge broker and are left out, and so are
    topics that nobody else wants. Edge brokers are ordered by name.

    Parameters
    ----------
    served
        A plan of select for the same workload; topics that it serves are left out.
    """
    names = sorted(set(edge_of.values()))
    number_of = {name: number for number, name in enumerate(names)}
    edge_of_subscriber = np.array(
        [
            number_of[edge_of[name]] if name in edge_of else -1
            for name in workload.subscriber_names.to_pylist()
        ],
        dtype=np.int64,
    )
    edge = np.repeat(edge_of_subscriber, np.diff(workload.interests.indptr))
    topic = workload.interests.indices.astype(np.int64)
    is_wanted = (edge >= 0) & ~_served_topics(workload, served)[topic]
    pairs = np.unique(edge[is_wanted] * max(1, workload.num_topics) + topic[is_wanted])
    edge, topic = np.divmod(pairs, max(1, workload.num_topics))
    kept, topic = np.unique(topic, return_inverse=True)
    return TopicWorkload.from_arrays(
        workload.rates[kept],
        edge.astype(np.int32),
        topic.astype(np.int32),
        num_subscribers=len(names),
        message_bytes=workload.message_bytes[kept],
        topic_names=workload.topic_names.take(kept),
        subscriber_names=names,
        period_seconds=workload.period_seconds,
    )


def _served_topics(workload: TopicWorkload, plan: Plan | None) -> np.ndarray:
    is_served = np.zeros(workload.num_topics, dtype=bool)
    if plan is None:
        return is_served
    if plan.problem != "select":
        raise PlanError(f"is a {plan.problem} plan; only select plans serve topics.")
    plan.check_made_for(workload)
    table = plan.tables["topics"]
    is_served[table.filter(pc.field("served")).column("topic").to_numpy()] = True
    return is_served
