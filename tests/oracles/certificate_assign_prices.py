"""A third party's look at prices: what subscribers pay, less what any rectangle can gain."""

from itertools import product

from tests.oracles.certificate_assign_world import holds


def by_prices(world, tables):
    """Return the bound of prices: the least that all pay, less what rectangles can gain."""
    if "prices" not in tables:
        return 0.0
    charge = {row["broker"]: row["charge"] for row in tables.get("charges", ())}
    pays, at = {}, {}
    for row in tables["prices"]:
        j, b = row["subscriber"], row["broker"]
        pays[j, b] = row["price"]
        middle = tuple((x + y) / 2 for x, y in zip(*world.want[j], strict=True))
        at.setdefault(b, []).append((middle, row["price"]))
    total = -sum(charge.values())
    for j in {j for j, _ in pays}:
        alike = sum(world.want.get(i) == world.want[j] and world.may[i] == world.may[j]
                    for i in range(world.size))  # fmt: skip
        total += min(pays.get((j, b), 0.0) + charge.get(b, 0.0) * alike / world.limit[b]
                     for b in world.may[j] if world.limit[b] > 0)  # fmt: skip
    for points in at.values():
        spans = [[(a[k], b[k]) for a, _ in points for b, _ in points if a[k] <= b[k]]
                 for k in range(world.dims)]  # fmt: skip
        best = 0.0
        for box in (tuple(zip(*span, strict=True)) for span in product(*spans)):
            inside = sum(price for middle, price in points if holds(box, (middle, middle)))
            best = max(best, inside - world.measure([box]))
        total -= world.alpha * best
    even = 4 / 3 * (world.alpha // 2) + world.alpha % 2
    return total / (1 if world.dims == 1 else world.alpha if world.cells else even)
