"""What clients and brokers cost, channel by channel, by the definition; and moves one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx as nx


def cost(
    homes: Mapping[str, str],
    wants: Mapping[str, set[int]],
    rates: Mapping[str, Mapping[int, float]],
    access: Mapping[tuple[str, str], float],
    between: Mapping[tuple[str, str], float],
) -> tuple[float, float]:
    """Return C1 and C2: of each publisher and channel, to all others who want it."""
    first = second = 0.0
    for publisher, published in rates.items():
        for channel, rate in published.items():
            others = [name for name in homes if name != publisher and channel in wants[name]]
            if not others:
                continue
            first += rate * access[publisher, homes[publisher]]
            first += sum(rate * access[name, homes[name]] for name in others)
            second += rate * spanning(
                {homes[publisher], *(homes[name] for name in others)}, between
            )
    return first, second


def spanning(brokers: set[str], between: Mapping[tuple[str, str], float]) -> float:
    """Return what the minimum spanning tree over brokers costs."""
    graph = nx.Graph()
    graph.add_nodes_from(brokers)
    for one in brokers:
        for other in brokers:
            if one < other:
                graph.add_edge(one, other, weight=between[one, other])
    return float(sum(data["weight"] for *_, data in nx.minimum_spanning_edges(graph)))


def check_order(
    demand: Sequence[float],
    at: Sequence[int],
    target: Sequence[int],
    capacity: Sequence[float],
    steps: Sequence[tuple[int, int]],
) -> tuple[list[int], float]:
    """Carry steps out, room kept at both ends; return where all are then, and the worst excess.

    Excess is load over capacity where a step has just taken room.
    """
    where = list(at)
    worst = float("-inf")
    for client, broker in steps:
        load = sum(demand[one] for one in range(len(where)) if where[one] == broker)
        worst = max(worst, load + demand[client] - capacity[broker])
        where[client] = broker
    return where, worst
