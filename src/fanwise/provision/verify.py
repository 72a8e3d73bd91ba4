"""The independent check of a provisioning: plain NumPy in chunks, no kernel, no shared formula.

Neither the allocation nor the interests need to be in memory: rows come in chunks, see
:mod:`fanwise.provision.verify_chunks`, and interests in blocks, see
:mod:`fanwise.provision.verify_pairs`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.planning.verify import ROUNDING, Check, expect, expect_equal, expect_metric
from fanwise.provision.streamed.plan import TablesOnDisk
from fanwise.provision.verify_chunks import AllocationRows, Row
from fanwise.provision.verify_judgement import check_judgement
from fanwise.provision.verify_pairs import Match, find_invented, match_pairs
from fanwise.provision.verify_parameters import allowed_types, check_parameters
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


class _Traffic(NamedTuple):
    """What runs on each machine, in bytes per period; machines of each topic; a repeated row."""

    in_bytes: Floats
    out_bytes: Floats
    topics: Longs
    pairs: Longs
    copies: Longs
    repeated: tuple[int, int, int] | None


def checks(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    """Recompute machines, traffic, satisfaction and money from the workload."""
    yield from check_parameters(workload, plan.parameters)
    yield from _check_machines(workload, plan)
    rows = _rows(plan)
    yield from _check_ids(workload, plan, rows)
    match = match_pairs(workload, plan.parameters["tau"], _sizes(workload, plan), rows)
    yield _check_interests(workload, rows, match)
    traffic = _find_traffic(workload, plan, rows)
    yield _check_repeats(workload, rows, traffic)
    yield from _check_traffic(plan, traffic)
    yield from _check_limits(workload, plan, traffic, match)
    yield from _check_money(workload, plan, traffic, match)
    yield from check_judgement(plan)


def _rows(plan: Plan) -> AllocationRows:
    if isinstance(plan.tables, TablesOnDisk):
        return plan.tables.rows
    return AllocationRows.of_table(plan.tables["allocation"])


def _check_machines(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    vms = plan.tables["vms"]
    each_once = np.array_equal(np.sort(_column(vms, "vm")), np.arange(vms.num_rows))
    last = vms.num_rows - 1
    yield expect("vms", each_once, f"vms.parquet must list the machines 0 to {last}, each once")
    allowed = allowed_types(plan.parameters)
    names = [str(name) for name in vms.column("instance").to_pylist()]
    others = sorted(set(names) - set(allowed))
    one_of = ", ".join(map(repr, allowed))
    yield expect("instances", not others, f"a machine is {others[:1]}, not {one_of}")
    if others:
        return
    entries = [allowed[name] for name in names]
    mbps = np.array([entry["mbps"] for entry in entries], dtype=np.float64)
    facts = {
        "usd_per_hour": np.array([entry["usd_per_hour"] for entry in entries], dtype=np.float64),
        "mbps": mbps,
        "capacity_bytes": mbps * 1_000_000 * workload.period_seconds / 8,
    }
    for name, fact in facts.items():
        yield _all_close(name, _column(vms, name), fact, _column(vms, "vm"))


def _check_ids(workload: TopicWorkload, plan: Plan, rows: AllocationRows) -> Iterator[Check]:
    counts = {
        "vm": plan.tables["vms"].num_rows,
        "topic": workload.num_topics,
        "subscriber": workload.num_subscribers,
    }
    unknown: dict[str, int] = {}
    start = 0
    for chunk in rows.chunks():
        for (name, count), ids in zip(counts.items(), chunk, strict=True):
            is_unknown = (ids < 0) | (ids >= count)
            if name not in unknown and is_unknown.any():
                unknown[name] = start + int(np.argmax(is_unknown))
        start += len(chunk.vm)
    for name, count in counts.items():
        row = unknown.get(name)
        problem = f"allocation.parquet, row {row}: unknown {name}, there are {count}"
        yield expect(f"known {name}s", row is None, problem)


def _check_interests(workload: TopicWorkload, rows: AllocationRows, match: Match) -> Check:
    if not match.invented:
        return Check("interests")
    row = find_invented(rows, match.invented)
    return Check("interests", _say_pair(workload, row, "is no interest"))


def _check_repeats(workload: TopicWorkload, rows: AllocationRows, traffic: _Traffic) -> Check:
    if traffic.repeated is None:
        return Check("pairs")
    vm, topic, subscriber = traffic.repeated
    row = rows.find(
        lambda chunk: (chunk.vm == vm) & (chunk.topic == topic) & (chunk.subscriber == subscriber),
        after=1,
    )
    return Check("pairs", _say_pair(workload, row, "is on its machine already"))


def _say_pair(workload: TopicWorkload, row: Row, what: str) -> str:
    topic = workload.topic_names[row.topic].as_py()
    subscriber = workload.subscriber_names[row.subscriber].as_py()
    place = f"allocation.parquet, row {row.number}"
    return f"{place}: topic {topic!r} for subscriber {subscriber!r} {what}"


def _find_traffic(workload: TopicWorkload, plan: Plan, rows: AllocationRows) -> _Traffic:
    """Add up what machines take in and send out; rows in order show each copy once."""
    num_vms = plan.tables["vms"].num_rows
    need = workload.rates * _sizes(workload, plan)
    in_bytes, out_bytes = np.zeros(num_vms), np.zeros(num_vms)
    topics, pairs = np.zeros(num_vms, dtype=np.int64), np.zeros(num_vms, dtype=np.int64)
    copies = np.zeros(workload.num_topics, dtype=np.int64)
    repeated = None
    last = (-1, -1, -1)
    for vm, topic, subscriber in rows.ordered():
        out_bytes += _add_up(vm, need[topic], num_vms)
        pairs += np.bincount(vm, minlength=num_vms)
        is_new = (np.diff(vm, prepend=last[0]) != 0) | (np.diff(topic, prepend=last[1]) != 0)
        in_bytes += _add_up(vm[is_new], need[topic[is_new]], num_vms)
        topics += np.bincount(vm[is_new], minlength=num_vms)
        np.add.at(copies, topic[is_new], 1)
        is_repeated = ~is_new & (np.diff(subscriber, prepend=last[2]) == 0)
        if repeated is None and is_repeated.any():
            row = int(np.argmax(is_repeated))
            repeated = int(vm[row]), int(topic[row]), int(subscriber[row])
        last = int(vm[-1]), int(topic[-1]), int(subscriber[-1])
    return _Traffic(in_bytes, out_bytes, topics, pairs, copies, repeated)


def _check_traffic(plan: Plan, found: _Traffic) -> Iterator[Check]:
    vms = plan.tables["vms"]
    vm = _column(vms, "vm")
    for name, bytes_of_vm in (("in_bytes", found.in_bytes), ("out_bytes", found.out_bytes)):
        yield _all_close(name, _column(vms, name), bytes_of_vm[vm], vm)


def _check_limits(
    workload: TopicWorkload, plan: Plan, traffic: _Traffic, match: Match
) -> Iterator[Check]:
    over = list(_overloaded(plan, traffic))
    lack = match.lack
    broken = list(over)
    if lack is not None:
        name = workload.subscriber_names[lack.subscriber].as_py()
        broken.append(f"subscriber {name!r} gets {lack.gets} events and needs {lack.needs}")
    names = ("capacity is kept", "everybody is satisfied")
    holds = (not over, lack is None)
    if plan.feasible:
        for name, is_kept in zip(names, holds, strict=True):
            yield expect(name, is_kept, broken[0] if broken else "")
    else:
        is_right = bool(broken)
        yield expect("feasible", is_right, "the plan says infeasible, but it breaks no limit")
        yield expect("limits", False, "infeasible: " + "; ".join(broken))


def _overloaded(plan: Plan, found: _Traffic) -> Iterator[str]:
    """Say of the first machine over each limit what is wrong with it."""
    vms, allowed = plan.tables["vms"], allowed_types(plan.parameters)
    vm = _column(vms, "vm")
    entries = [allowed[name] for name in vms.column("instance").to_pylist()]
    usable = _column(vms, "capacity_bytes") * (1 - plan.parameters["reserve"])
    for held, limits, what in (
        (found.in_bytes + found.out_bytes, usable, "moves {} bytes, it may move {}"),
        (found.topics, [entry.get("max_topics") for entry in entries], "has {} topics of {}"),
        (found.pairs, [entry.get("max_connections") for entry in entries],
         "has {} connections of {}"),
    ):  # fmt: skip
        limit = np.array([math.inf if most is None else most for most in limits])
        is_over = held[vm] > limit * (1 + RELATIVE_TOLERANCE)
        if is_over.any():
            row = int(np.argmax(is_over))
            yield f"machine {vm[row]} " + what.format(held[vm[row]], limit[row])


def _check_money(
    workload: TopicWorkload, plan: Plan, found: _Traffic, match: Match
) -> Iterator[Check]:
    vms, parameters = plan.tables["vms"], plan.parameters
    hours = parameters["horizon_seconds"] / 3600
    periods = parameters["horizon_seconds"] / workload.period_seconds
    machines = hours * float(np.sum(_column(vms, "usd_per_hour")))
    in_bytes, out_bytes = float(np.sum(found.in_bytes)), float(np.sum(found.out_bytes))
    incoming = in_bytes / 1e9 * parameters["price_gb_in"] * periods
    outgoing = out_bytes / 1e9 * parameters["price_gb_out"] * periods
    yield expect_equal("objective", plan.objective, machines + incoming + outgoing)

    need = workload.rates * _sizes(workload, plan)
    is_split = found.copies > 1
    split_bytes = float(np.sum((found.copies[is_split] - 1) * need[is_split]))
    capacity = float(np.sum(_column(vms, "capacity_bytes")))
    metrics: dict[str, float | None] = {
        "vms": vms.num_rows,
        "cost_machines": machines,
        "cost_bandwidth": incoming + outgoing,
        "cost_incoming": incoming,
        "cost_outgoing": outgoing,
        "cost_splits": split_bytes / 1e9 * parameters["price_gb_in"] * periods,
        "pairs": int(found.pairs.sum()),
        "topics": int(np.count_nonzero(found.copies)),
        "split_topics": int(np.count_nonzero(is_split)),
        "split_bytes": split_bytes,
        "in_bytes": in_bytes,
        "out_bytes": out_bytes,
        "utilisation": (in_bytes + out_bytes) / capacity if capacity else None,
        "subscribers": match.num_in_need,
        "paper_bound": _paper_bound(workload, plan, match.least_bytes),
    }
    for name, value in metrics.items():
        yield expect_metric(plan, name, value)


def _paper_bound(workload: TopicWorkload, plan: Plan, least: float) -> float | None:
    """Return what a plan costs at least that sends out this many bytes (the paper's Alg. 5)."""
    parameters, allowed = plan.parameters, allowed_types(plan.parameters)
    if len(allowed) > 1:
        return None
    (entry,) = allowed.values()
    horizon = parameters["horizon_seconds"]
    capacity = entry["mbps"] * 125_000 * workload.period_seconds * (1 - parameters["reserve"])
    num_vms = math.ceil(least / capacity * (1 - RELATIVE_TOLERANCE))
    rent = num_vms * entry["usd_per_hour"] * (horizon / 3600)
    traffic = least / 1e9 * parameters["price_gb_out"] * (horizon / workload.period_seconds)
    return float(rent + traffic)


def _sizes(workload: TopicWorkload, plan: Plan) -> Floats:
    size = plan.parameters["message_bytes"]
    if size is None:
        return workload.message_bytes
    return np.full(workload.num_topics, float(size))


def _add_up(groups: npt.NDArray[Any], values: Floats, num_groups: int) -> Floats:
    return np.bincount(groups, weights=values, minlength=num_groups).astype(np.float64)


def _column(table: pa.Table, name: str) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = table.column(name).to_numpy(zero_copy_only=False)
    return values


def _all_close(name: str, stated: Floats, found: Floats, vm: npt.NDArray[Any]) -> Check:
    """Make a check that every machine's number is the one found; NaN never is."""
    is_wrong = ~np.isclose(stated, found, rtol=RELATIVE_TOLERANCE, atol=ROUNDING)
    if not is_wrong.any():
        return Check(name)
    row = int(np.argmax(is_wrong))
    return Check(name, f"machine {vm[row]} says {stated[row]}, found {found[row]}")
