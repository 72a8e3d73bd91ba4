"""The independent check of a provisioning: plain NumPy in chunks, no kernel, no shared formula."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.planning.verify import Check, expect, expect_equal
from fanwise.provision.verify_judgement import check_judgement
from fanwise.provision.verify_parameters import BUILT_IN, check_parameters
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

CHUNK = 1 << 20
VM_COLUMNS = ("usd_per_hour", "mbps", "capacity_bytes", "in_bytes", "out_bytes")
Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


class _Found(NamedTuple):
    """What the tables really say, in bytes per period."""

    in_bytes: Floats
    out_bytes: Floats
    topics: Longs
    pairs: Longs
    copies: Longs
    is_allocated: npt.NDArray[np.bool_]


def checks(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    """Recompute machines, traffic, satisfaction and money from the workload."""
    yield from check_parameters(workload, plan.parameters)
    yield from _check_machines(workload, plan)
    yield from _check_ids(workload, plan)
    position = _positions(workload, plan.tables["allocation"])
    yield from _check_pairs(workload, plan, position)
    found = _find_traffic(workload, plan, position)
    yield from _check_traffic(plan, found)
    yield from _check_limits(workload, plan, found)
    yield from _check_money(workload, plan, found)
    yield from check_judgement(plan)


def _check_machines(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    vms = plan.tables["vms"]
    missing = {"instance", *VM_COLUMNS} - set(vms.column_names)
    yield expect("columns", not missing, f"vms.parquet has no column {sorted(missing)}")
    kinds = [vms.schema.field(name).type for name in VM_COLUMNS]
    is_right = all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in kinds)
    yield expect("types", is_right, "vms.parquet must have numbers where numbers belong")
    each_once = np.array_equal(np.sort(_column(vms, "vm")), np.arange(vms.num_rows))
    last = vms.num_rows - 1
    yield expect("vms", each_once, f"vms.parquet must list the machines 0 to {last}, each once")
    allowed = _allowed(plan)
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


def _allowed(plan: Plan) -> Mapping[str, Mapping[str, float]]:
    """The catalogue's entries that the plan's machines may be of, by name."""
    catalogue, instance = plan.parameters["catalog"], plan.parameters["instance"]
    known: Mapping[str, Mapping[str, float]] = BUILT_IN if catalogue is None else catalogue
    return known if instance == "auto" else {instance: known[instance]}


def _check_ids(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    allocation = plan.tables["allocation"]
    for name, count in (
        ("vm", plan.tables["vms"].num_rows),
        ("topic", workload.num_topics),
        ("subscriber", workload.num_subscribers),
    ):
        ids = _column(allocation, name)
        is_unknown = (ids < 0) | (ids >= count)
        row = int(np.argmax(is_unknown)) if len(ids) else 0
        problem = f"allocation.parquet, row {row}: unknown {name}, there are {count}"
        yield expect(f"known {name}s", not is_unknown.any(), problem)


def _positions(workload: TopicWorkload, allocation: pa.Table) -> Longs:
    """Where each allocated pair stands among the workload's interests; -1 if it does not."""
    indptr, indices = workload.interests
    width = max(workload.num_topics, 1)
    rows = np.repeat(np.arange(workload.num_subscribers, dtype=np.int64), np.diff(indptr))
    interests = rows * width + indices
    topic, subscriber = _column(allocation, "topic"), _column(allocation, "subscriber")
    position = np.full(len(topic), -1, dtype=np.int64)
    if not len(interests):
        return position
    for start in range(0, len(topic), CHUNK):
        part = slice(start, start + CHUNK)
        wanted = subscriber[part].astype(np.int64) * width + topic[part]
        # Sorted questions walk through the interests in order: far fewer cache misses.
        order = np.argsort(wanted)
        place = np.searchsorted(interests, wanted[order])
        place = np.minimum(place, len(interests) - 1)
        answer = np.empty(len(wanted), dtype=np.int64)
        answer[order] = np.where(interests[place] == wanted[order], place, -1)
        position[part] = answer
    return position


def _check_pairs(workload: TopicWorkload, plan: Plan, position: Longs) -> Iterator[Check]:
    allocation = plan.tables["allocation"]
    is_invented = position < 0
    row = int(np.argmax(is_invented)) if len(position) else 0
    yield expect("interests", not is_invented.any(), _say_pair(workload, allocation, row,
                 "is no interest"))  # fmt: skip
    on_machine = _column(allocation, "vm").astype(np.int64) * max(workload.num_pairs, 1) + position
    order = np.argsort(on_machine, kind="stable")
    is_repeated = on_machine[order][1:] == on_machine[order][:-1]
    row = int(order[1:][np.argmax(is_repeated)]) if len(is_repeated) else 0
    yield expect("pairs", not is_repeated.any(), _say_pair(workload, allocation, row,
                 "is on its machine already"))  # fmt: skip


def _say_pair(workload: TopicWorkload, allocation: pa.Table, row: int, what: str) -> str:
    if row >= allocation.num_rows:
        return ""
    topic = workload.topic_names[allocation.column("topic")[row].as_py()].as_py()
    subscriber = workload.subscriber_names[allocation.column("subscriber")[row].as_py()].as_py()
    return f"allocation.parquet, row {row}: topic {topic!r} for subscriber {subscriber!r} {what}"


def _find_traffic(workload: TopicWorkload, plan: Plan, position: Longs) -> _Found:
    allocation = plan.tables["allocation"]
    num_vms = plan.tables["vms"].num_rows
    vm, topic = _column(allocation, "vm"), _column(allocation, "topic")
    need = workload.rates * _sizes(workload, plan)
    out_bytes = np.zeros(num_vms)
    for start in range(0, len(vm), CHUNK):
        part = slice(start, start + CHUNK)
        out_bytes += _add_up(vm[part], need[topic[part]], num_vms)
    width = max(workload.num_topics, 1)
    copies = np.sort(vm.astype(np.int64) * width + topic)
    copies = copies[np.diff(copies, prepend=-1) > 0]
    copy_vm, copy_topic = np.divmod(copies, width)
    is_allocated = np.zeros(workload.num_pairs, dtype=bool)
    is_allocated[position] = True
    return _Found(
        in_bytes=_add_up(copy_vm, need[copy_topic], num_vms),
        out_bytes=out_bytes,
        topics=np.bincount(copy_vm, minlength=num_vms),
        pairs=np.bincount(vm, minlength=num_vms),
        copies=np.bincount(copy_topic, minlength=workload.num_topics),
        is_allocated=is_allocated,
    )


def _check_traffic(plan: Plan, found: _Found) -> Iterator[Check]:
    vms = plan.tables["vms"]
    vm = _column(vms, "vm")
    for name, bytes_of_vm in (("in_bytes", found.in_bytes), ("out_bytes", found.out_bytes)):
        yield _all_close(name, _column(vms, name), bytes_of_vm[vm], vm)


def _check_limits(workload: TopicWorkload, plan: Plan, found: _Found) -> Iterator[Check]:
    over = list(_overloaded(plan, found))
    lacks = list(_unsatisfied(workload, plan, found))
    broken = list(over)
    if lacks:
        name = workload.subscriber_names[lacks[0][0]].as_py()
        broken.append(f"subscriber {name!r} gets {lacks[0][1]} events and needs {lacks[0][2]}")
    names = ("capacity is kept", "everybody is satisfied")
    holds = (not over, not lacks)
    if plan.feasible:
        for name, is_kept in zip(names, holds, strict=True):
            yield expect(name, is_kept, broken[0] if broken else "")
    else:
        is_right = bool(broken)
        yield expect("feasible", is_right, "the plan says infeasible, but it breaks no limit")
        yield expect("limits", False, "infeasible: " + "; ".join(broken))


def _overloaded(plan: Plan, found: _Found) -> Iterator[str]:
    """Say of the first machine over each limit what is wrong with it."""
    vms, allowed = plan.tables["vms"], _allowed(plan)
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


def _unsatisfied(
    workload: TopicWorkload, plan: Plan, found: _Found
) -> Iterator[tuple[int, float, float]]:
    """Yield (subscriber, what it gets, what it needs) for the first that lacks, block by block."""
    tau = plan.parameters["tau"]
    for first, last, rows, topics in _subscriber_chunks(workload):
        count = last - first
        start = int(workload.interests.indptr[first])
        is_allocated = found.is_allocated[start : start + len(topics)]
        rates = workload.rates[topics]
        demand = _demand(workload, tau, first, last, rows, rates)
        gets = _add_up(rows, rates * is_allocated, count)
        lacks = gets < demand * (1 - RELATIVE_TOLERANCE)
        if lacks.any():
            row = int(np.argmax(lacks))
            yield first + row, float(gets[row]), float(demand[row])


def _check_money(workload: TopicWorkload, plan: Plan, found: _Found) -> Iterator[Check]:
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
    num_in_need, least = 0, 0.0
    for demand, sent in _least_sent(workload, plan):
        num_in_need += int(np.count_nonzero(demand > 0))
        least += float(np.sum(sent))
    metrics: dict[str, float | None] = {
        "vms": vms.num_rows,
        "cost_machines": machines,
        "cost_bandwidth": incoming + outgoing,
        "cost_incoming": incoming,
        "cost_outgoing": outgoing,
        "cost_splits": split_bytes / 1e9 * parameters["price_gb_in"] * periods,
        "pairs": plan.tables["allocation"].num_rows,
        "topics": int(np.count_nonzero(found.copies)),
        "split_topics": int(np.count_nonzero(is_split)),
        "split_bytes": split_bytes,
        "in_bytes": in_bytes,
        "out_bytes": out_bytes,
        "utilisation": (in_bytes + out_bytes) / capacity if capacity else None,
        "subscribers": num_in_need,
        "paper_bound": _paper_bound(workload, plan, least),
    }
    for name, value in metrics.items():
        yield expect_equal(f"metrics.{name}", plan.metrics.get(name), value)


def _paper_bound(workload: TopicWorkload, plan: Plan, least: float) -> float | None:
    """What a plan costs at least that sends out this many bytes (the paper's Alg. 5)."""
    parameters, allowed = plan.parameters, _allowed(plan)
    if len(allowed) > 1:
        return None
    (entry,) = allowed.values()
    horizon = parameters["horizon_seconds"]
    capacity = entry["mbps"] * 125_000 * workload.period_seconds * (1 - parameters["reserve"])
    num_vms = math.ceil(least / capacity * (1 - RELATIVE_TOLERANCE))
    rent = num_vms * entry["usd_per_hour"] * (horizon / 3600)
    traffic = least / 1e9 * parameters["price_gb_out"] * (horizon / workload.period_seconds)
    return float(rent + traffic)


def _least_sent(workload: TopicWorkload, plan: Plan) -> Iterator[tuple[Floats, Floats]]:
    """Yield tau_v and the fewest bytes that it takes, over blocks of subscribers."""
    sizes = _sizes(workload, plan)
    for first, last, rows, topics in _subscriber_chunks(workload):
        count = last - first
        demand = _demand(workload, plan.parameters["tau"], first, last, rows,
                         workload.rates[topics])  # fmt: skip
        order = np.lexsort((sizes[topics], rows))
        rates, bytes_each = workload.rates[topics[order]], sizes[topics[order]]
        smallest = np.full(count, np.inf)
        np.minimum.at(smallest, rows, rates * bytes_each)  # rows ascend: the order keeps them
        cover, missing = np.zeros(count), demand.copy()
        place = np.searchsorted(rows, np.arange(count + 1))
        end, place = place[1:], place[:-1].copy()
        active = np.flatnonzero(missing > 0)
        while len(active):  # the cheapest topic of everybody, then the second of those who lack
            taken = np.minimum(rates[place[active]], missing[active])
            cover[active] += taken * bytes_each[place[active]]
            missing[active] -= taken
            place[active] += 1
            active = active[(missing[active] > 0) & (place[active] < end[active])]
        yield demand, np.where(demand > 0, np.maximum(cover, smallest), 0.0)


def _demand(
    workload: TopicWorkload, tau: Any, first: int, last: int, rows: Longs, rates: Floats
) -> Floats:
    wanted: Any = workload.tau[first:last] if tau == "column" else tau  # type: ignore[index]
    demand: Floats = np.minimum(wanted, _add_up(rows, rates, last - first))
    return demand


def _subscriber_chunks(
    workload: TopicWorkload,
) -> Iterator[tuple[int, int, Longs, npt.NDArray[np.int32]]]:
    """Yield (first, last, row of each pair, topic of each pair) over blocks of subscribers."""
    indptr, indices = workload.interests
    first = 0
    while first < workload.num_subscribers:
        last = int(np.searchsorted(indptr, indptr[first] + CHUNK, side="left"))
        last = min(max(last, first + 1), workload.num_subscribers)
        rows = np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1]))
        yield first, last, rows, indices[indptr[first] : indptr[last]]
        first = last


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
    is_wrong = ~np.isclose(stated, found, rtol=RELATIVE_TOLERANCE, atol=1e-12)
    if not is_wrong.any():
        return Check(name)
    row = int(np.argmax(is_wrong))
    return Check(name, f"machine {vm[row]} says {stated[row]}, found {found[row]}")
