"""A plan with few changes beside the one that is free to change."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from fanwise.planning.problem import Bound, Outcome
from fanwise.select.problem import Served
from fanwise.select.search import SelectionSearch

NET = "net_"
"""What names of tables begin with that bound the objective less the price of changes."""


def prefix_of(search: SelectionSearch) -> str:
    """Return what the names of the tables begin with that prove the bound of a search.

    Where changes have a price, bounds on the objective stand beside those on what is left of it.
    """
    return "" if search.problem.change_price is None else NET


def compare_with_free(search: SelectionSearch, free: Served, free_bound: Bound) -> Outcome:
    """Return the best selection of a closed search, and what is given up for its few changes.

    Parameters
    ----------
    free, free_bound
        A plan that is free to change, and a bound on the objective of every plan.
    """
    problem, served, net = search.problem, search.answer, None
    bound = free_bound
    if problem.change_price is not None:
        net = search.bound
    elif search.bound is not None:
        bound = search.bound
    value = problem.value(served)
    free_value = max(problem.value(free), value)
    search.metrics |= {
        "free_value": free_value,
        "free_changes": problem.num_changes(free),
        "given_up": free_value - value,
    }
    tables = dict(bound.proof.tables) if bound.proof is not None else {}
    tables["free"] = pa.table({"served": free})
    metrics: dict[str, float | None] = {}
    if problem.change_price is not None:
        metrics = {"net_value": search.value, "net_bound": None if net is None else net.value}
        tables |= {} if net is None or net.proof is None else net.proof.tables
    proof = None if bound.proof is None else replace(bound.proof, tables=tables)
    claimed = Bound(max(bound.value, value), proof)
    outcome = search.outcome({"topics": problem.table(served)}, claimed)
    return replace(outcome, metrics={**outcome.metrics, **metrics})
