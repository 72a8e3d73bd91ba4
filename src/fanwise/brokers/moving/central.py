"""Between a `wire` plan and the names of clients and brokers."""

from __future__ import annotations

from pathlib import Path

from fanwise.brokers.routing.planned import read_matching_plan
from fanwise.errors import PlanError
from fanwise.workload.content.files import read_content_workload


def read_targets(workload: Path, plan: Path) -> dict[str, str]:
    """Return the broker that a plan has for each client, by names."""
    loaded = read_content_workload(workload)
    read = read_matching_plan(plan, loaded, "wire")
    if not read.feasible:
        raise PlanError(
            f"{plan}: it overloads brokers, so it cannot be carried out within their capacities; "
            "make one that does not."
        )
    clients, brokers = (
        names.to_pylist() for names in (loaded.subscriber_names, loaded.broker_names)
    )
    table = read.tables["attachments"]
    return {
        clients[client]: brokers[broker]
        for client, broker in zip(
            table["subscriber"].to_pylist(), table["broker"].to_pylist(), strict=True
        )
    }
