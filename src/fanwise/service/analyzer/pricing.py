"""What machines for the served part of a decision would cost, by ``provision``.

Everybody who is satisfied stays so, and nobody else is paid for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.errors import FanwiseError
from fanwise.provision.catalogue import resolve_catalogue
from fanwise.provision.problem import Provisioning
from fanwise.select.problem import Selection
from fanwise.service.configuration.model import Price
from fanwise.workload.topic import TopicWorkload


def price_served(
    problem: Selection,
    served: npt.NDArray[np.bool_],
    price: Price,
    *,
    time_limit: float,
) -> dict[str, Any]:
    """Return what the served topics cost on machines for a window: cost, bound, machines.

    Where no plan exists, ``error`` says why.
    """
    try:
        question = Provisioning(
            served_part(problem.workload, served),
            tau="column",
            instance=price.instance,
            catalogue=resolve_catalogue(price.catalog),
            price_gb_in=price.price_gb,
            price_gb_out=price.price_gb,
        )
        plan = question.solve(time_limit=time_limit, proof=False)
    except FanwiseError as error:
        return {"error": str(error)}
    return {"cost": plan.objective, "bound": plan.bound, "machines": plan.metrics["vms"]}


def served_part(workload: TopicWorkload, served: npt.NDArray[np.bool_]) -> TopicWorkload:
    """Return the workload of the served topics alone, in which everybody wants all it gets."""
    indptr, topic = workload.interests
    subscriber = np.repeat(np.arange(workload.num_subscribers), np.diff(indptr))
    is_kept = served[topic]
    new_topic = np.cumsum(served) - 1
    gets = np.bincount(
        subscriber[is_kept],
        weights=workload.rates[topic[is_kept]],
        minlength=workload.num_subscribers,
    ).astype(np.float64)
    has_any = np.bincount(subscriber[is_kept], minlength=workload.num_subscribers) > 0
    new_subscriber = np.cumsum(has_any) - 1
    return TopicWorkload.from_arrays(
        workload.rates[served],
        new_subscriber[subscriber[is_kept]],
        new_topic[topic[is_kept]],
        num_subscribers=int(has_any.sum()),
        message_bytes=workload.message_bytes[served],
        period_seconds=workload.period_seconds,
        tau=gets[has_any],
    )
