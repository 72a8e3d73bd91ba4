"""The independent check of a provisioning's parameters: nothing is read from the problem's code."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fanwise.planning.verify import Check, expect

if TYPE_CHECKING:
    from fanwise.workload.topic import TopicWorkload

BUILT_IN = {
    "c3.large": {"usd_per_hour": 0.15, "mbps": 64.0},
    "c3.xlarge": {"usd_per_hour": 0.30, "mbps": 128.0},
}
"""The built-in catalogue, written down a second time."""


def check_parameters(workload: TopicWorkload, parameters: Any) -> Iterator[Check]:
    """Check that everything the other checks build on is there and in its range."""
    for name in ("price_gb_in", "price_gb_out", "horizon_seconds", "message_bytes"):
        value = parameters.get(name)
        if name == "message_bytes" and value is None:
            continue
        is_right = is_number(value) and value >= 0 and (name.startswith("price") or value > 0)
        yield expect(name, is_right, f"parameters.{name} is {value!r}, not a number in its range")
    tau = parameters.get("tau")
    if tau == "column":
        has_column = workload.tau is not None
        yield expect("tau", has_column, "'column', but the workload has no column tau")
    else:
        is_right = is_number(tau) and tau >= 0
        yield expect("tau", is_right, f"parameters.tau is {tau!r}, not a number >= 0")
    reserve, max_cost = parameters.get("reserve"), parameters.get("max_cost")
    is_right = is_number(reserve) and 0 <= reserve < 1
    yield expect("reserve", is_right, f"parameters.reserve is {reserve!r}, not from 0 to below 1")
    is_right = max_cost is None or (is_number(max_cost) and max_cost >= 0)
    yield expect("max_cost", is_right, f"parameters.max_cost is {max_cost!r}, not a number >= 0")
    catalogue = parameters.get("catalog", ())
    is_right = catalogue is None or (
        isinstance(catalogue, dict) and catalogue and all(map(_is_entry, catalogue.values()))
    )
    problem = "parameters.catalog must give usd_per_hour and mbps by name, limits are whole numbers"
    yield expect("catalog", bool(is_right), problem)
    instance, known = parameters.get("instance"), BUILT_IN if catalogue is None else catalogue
    is_known = isinstance(instance, str) and (instance == "auto" or instance in known)
    yield expect("instance", is_known, f"{instance!r} is not in the catalogue")


def allowed_types(parameters: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return the catalogue's entries that machines may be of, by name."""
    catalogue, instance = parameters["catalog"], parameters["instance"]
    known: Mapping[str, Mapping[str, Any]] = BUILT_IN if catalogue is None else catalogue
    return known if instance == "auto" else {instance: known[instance]}


def is_number(value: object) -> bool:
    """Whether a JSON value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) <= {"usd_per_hour", "mbps", "max_topics", "max_connections"}
        and is_number(entry.get("usd_per_hour"))
        and entry["usd_per_hour"] >= 0
        and is_number(entry.get("mbps"))
        and entry["mbps"] > 0
        and all(_is_limit(entry.get(name)) for name in ("max_topics", "max_connections"))
    )


def _is_limit(limit: object) -> bool:
    return limit is None or (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 1)
