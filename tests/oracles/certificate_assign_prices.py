"""A third party's check of the prices of an assignment: what is paid, less what filters gain."""

from collections import defaultdict
from itertools import combinations_with_replacement, product

import numpy as np
from tests.oracles.certificate_assign_space import inside, measure
from tests.oracles.certificate_files import spread


def by_prices(q, proof, needed):
    """Return what is paid and worth at least, less what filters can gain, for the union."""
    if not proof["prices"]:
        return 0.0
    places = list(product(*(range(2 * len(own) - 1) for own in q.lattice)))
    low = [[own[k // 2] for k, own in zip(at, q.lattice, strict=True)] for at in places]
    high = [[own[(k + 1) // 2] for k, own in zip(at, q.lattice, strict=True)] for at in places]
    worth = spread(proof["worths"], "place", "worth", np.zeros(len(places)))
    charge = spread(proof["charges"], "broker", "charge", np.zeros(len(q.limit)))
    total, paid = -charge.sum(), defaultdict(lambda: np.zeros(len(places)))
    amounts = [*charge, *worth, *(row["price"] for row in proof["prices"])]
    assert min(amounts) >= 0, "a price below 0"
    assert all(0 <= row["place"] < len(places) for row in proof["prices"]), "an unknown place"
    sides = [corner for *ends, _ in q.cells for corner in ends if not q.is_volume]
    for k, own in enumerate(q.lattice):
        within = {side[k] for side in sides if own[0] < side[k] < own[-1]}
        assert within <= set(own.tolist()), "a side of events that is no line"
    for at in np.flatnonzero(worth):
        travels = sum(q.mass[p] * needed.get(p, 0) for p in inside(q, low[at], high[at]))
        total += worth[at] * travels
    for row in proof["prices"]:
        j, at = row["subscriber"], row["place"]
        assert inside(q, low[at], high[at]) <= q.pieces[j], "a place outside of what is wanted"
        paid[row["broker"]][at] += row["price"]
        paid[j, row["broker"]][at] += row["price"]
    payers = {row["subscriber"] for row in proof["prices"]}
    for j in payers:
        alike = [i for i in q.wanting if q.pieces[i] == q.pieces[j] and q.may[i] == q.may[j]]
        assert payers & set(alike) == {j}, "two who are alike, or somebody who wants nothing"
        fees = {b: charge[b] * len(alike) / q.limit[b] for b in q.may[j] if q.limit[b] > 0}
        total += min(paid[j, b].sum() + fee for b, fee in fees.items())
    costs = (1 - worth) * measure(q, np.array(low), np.array(high))
    boxes = q.alpha if q.dims == 1 else {2: 3, 3: 5}.get(q.alpha, q.alpha)
    for b in {b for j in q.wanting for b in q.may[j] if q.limit[b] > 0}:
        net = (paid[b] - costs).reshape(2 * len(q.lattice[0]) - 1, -1)
        spans = combinations_with_replacement(range(len(net)), 2)
        sums = (np.cumsum(net[first : last + 1].sum(axis=0)) for first, last in spans)
        gains = ((ends - np.minimum.accumulate([0, *ends[:-1]])).max() for ends in sums)
        total -= boxes * max(0.0, *gains)
    even = 4 / 3 * (q.alpha // 2) + q.alpha % 2
    is_cut = q.dims == 1 or q.alpha <= 3
    return total / (1 if is_cut else even if q.is_volume else q.alpha)
