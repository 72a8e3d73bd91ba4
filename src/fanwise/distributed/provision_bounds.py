"""Bounds on Spark: forced pairs and least covers there, dual ascent over the core on the driver."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from fanwise.distributed.inputs import Inputs
from fanwise.distributed.partitions import in_order
from fanwise.distributed.provision_passes import OPEN_SCHEMA, AddLeastBytes, CountForced, Settle
from fanwise.provision.bounds import SUM_ROUNDING, rates_that_fit, total_bound
from fanwise.provision.pairs.charges import charge
from fanwise.provision.pairs.sharing import IsEnough, share
from fanwise.provision.problem import Provisioning
from fanwise.provision.rent import round_up
from fanwise.provision.streamed.bounds import SWEEPS, Open, gather_core, make_prices
from fanwise.workload.topic import RELATIVE_TOLERANCE


def paper_bound_on_spark(problem: Provisioning, inputs: Inputs) -> float:
    """Return the paper's bound; see :func:`fanwise.provision.bounds.paper_bound`."""
    with inputs.blocks.broadcast(problem.sizes) as sizes:
        added = inputs.blocks.map(AddLeastBytes(inputs.rates_everywhere, sizes), "bytes double")
        out_bytes = float(added.toArrow().column("bytes").to_numpy().sum())
    num_vms = round_up(out_bytes / problem.capacity_bytes)
    return problem.costs(num_vms * problem.machine.usd_per_hour, 0.0, out_bytes).total


def proven_bound_on_spark(
    problem: Provisioning, inputs: Inputs, num_pairs: int, is_enough: IsEnough
) -> float:
    """Return what every plan costs at least; see :func:`fanwise.provision.bounds.proven_bound`.

    The rent is that for the least bytes; limits on pairs and topics do not count here.
    """
    if not inputs.facts.num_subscribers:
        return 0.0
    return total_bound(problem, partial(_traffic_bound, problem, inputs, num_pairs), is_enough)


def _traffic_bound(
    problem: Provisioning,
    inputs: Inputs,
    num_pairs: int,
    in_price: float,
    out_price: float,
    is_enough: IsEnough,
) -> float:
    blocks, workload = inputs.blocks, problem.workload
    charges = charge(problem, in_price, out_price, RELATIVE_TOLERANCE)
    is_whole = bool(np.array_equal(workload.rates, np.floor(workload.rates)))
    may_split = bool(np.any(workload.num_followers > charges.held))
    with blocks.broadcast(rates_that_fit(problem)) as rates:
        counts, _ = blocks.sums(CountForced(rates, is_whole), 2 if may_split else 1)
    num_forced = counts[: workload.num_topics]
    num_likely = counts[workload.num_topics :] if may_split else num_forced
    prices = make_prices(problem, charges, num_forced, num_likely)
    with blocks.broadcast(prices) as everywhere:
        settled = blocks.map(Settle(everywhere, is_whole), OPEN_SCHEMA)
        core = gather_core(_open(settled), prices, charges)
    return share(core, SWEEPS, is_enough).bound * (1 - SUM_ROUNDING * num_pairs)


def _open(settled: Any) -> Iterator[Open]:
    """Yield what is open in each block; subscribers are numbered within it, which is enough."""
    kinds = {"subscriber": "i4", "enough": "f8", "lengths": "i8", "topic": "i4"}
    for row in in_order(settled, Open._fields):
        arrays = {name: np.frombuffer(row[name], dtype=kind) for name, kind in kinds.items()}
        yield Open(settled=row["settled"], **arrays)
