"""Bounds on Spark: forced pairs and least covers there, dual ascent over the core on the driver.

Guarantee
    No plan that keeps its limits costs less.

Complexity
    A few passes over the pairs in the partitions; dual ascent on the driver over what they leave
    undecided.

References
----------
    Our own; see :mod:`fanwise.provision.bounds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.distributed.inputs import Inputs
from fanwise.distributed.partitions import in_order
from fanwise.distributed.provision_passes import (
    OPEN_SCHEMA,
    PACKED,
    AddLeastBytes,
    CountForced,
    Priceable,
    price_blocks,
    settle_blocks,
)
from fanwise.provision.bounds import (
    Proven,
    Traffic,
    no_traffic,
    rates_that_fit,
    total_bound,
    whole_price,
)
from fanwise.provision.pairs.charges import charge
from fanwise.provision.pairs.dual_ascent import IsEnough
from fanwise.provision.problem import Provisioning
from fanwise.provision.proving.rent import round_up
from fanwise.provision.proving.weights import price_weights, tried_in
from fanwise.provision.streamed.bounds import Open, gather_core, make_prices, weigh_core


def paper_bound_on_spark(problem: Provisioning, inputs: Inputs) -> float:
    """Return the paper's bound; see :func:`fanwise.provision.bounds.paper_bound`."""
    with inputs.blocks.broadcast(problem.sizes) as sizes:
        added = inputs.blocks.map(AddLeastBytes(inputs.rates_everywhere, sizes), "bytes double")
        out_bytes = float(added.toArrow().column("bytes").to_numpy().sum())
    num_vms = round_up(out_bytes / problem.capacity_bytes)
    return problem.costs(num_vms * problem.machine.usd_per_hour, 0.0, out_bytes).total


def prove_bound_on_spark(
    problem: Provisioning, inputs: Inputs, num_pairs: int, is_enough: IsEnough
) -> Proven:
    """Return what every plan costs at least; see :func:`fanwise.provision.bounds.prove_bound`.

    The rent is that for the least bytes; limits on pairs and topics do not count here.
    """
    if not inputs.facts.num_subscribers:
        return total_bound(problem, no_traffic, is_enough)._replace(value=0.0)
    return total_bound(problem, partial(_prove_traffic, problem, inputs, num_pairs), is_enough)


def _prove_traffic(
    problem: Provisioning,
    inputs: Inputs,
    num_pairs: int,
    in_price: float,
    out_price: float,
    is_enough: IsEnough,
) -> Traffic:
    blocks, workload = inputs.blocks, problem.workload
    charges = charge(problem, in_price, out_price, RELATIVE_TOLERANCE)
    is_whole = bool(np.array_equal(workload.rates, np.floor(workload.rates)))
    may_split = bool(np.any(workload.num_followers > charges.held))
    with blocks.broadcast(rates_that_fit(problem)) as rates:
        counts, _ = blocks.sums(CountForced(rates, is_whole), 2 if may_split else 1)
    num_forced = counts[: workload.num_topics]
    num_likely = counts[workload.num_topics :] if may_split else num_forced
    prices = make_prices(problem, charges, num_forced, num_likely)
    packed = blocks.frame.select(*PACKED)
    with blocks.broadcast(prices) as everywhere:
        settle = partial(settle_blocks, prices=everywhere, is_whole=is_whole)
        core = gather_core(_open(packed.mapInArrow(settle, OPEN_SCHEMA)), prices, charges)
    weights = weigh_core(core, charges, inputs.followers, inputs.facts.last_id + 1, is_enough)
    priced = price_weights(weights, charges, inputs.followers, num_forced)
    question = Priceable(prices.rates, priced, weights, tried_in(num_pairs), is_whole)
    with blocks.broadcast(question) as everywhere:
        price = partial(price_blocks, question=everywhere)
        covers = packed.mapInArrow(price, "price double").toArrow().column("price").to_numpy()
    return Traffic(whole_price(priced.paid + float(covers.sum()), num_pairs), weights)


def _open(settled: Any) -> Iterator[Open]:
    """Yield what is open in each block."""
    kinds = {"subscriber": "i4", "enough": "f8", "lengths": "i8", "topic": "i4", "place": "i4"}
    for row in in_order(settled, Open._fields):
        arrays = {name: np.frombuffer(row[name], dtype=kind) for name, kind in kinds.items()}
        yield Open(settled=row["settled"], **arrays)
