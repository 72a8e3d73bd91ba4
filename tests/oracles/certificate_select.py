"""A third party's checker of certificates of select, in plain Python from the files alone."""

import json
from math import floor, inf
from pathlib import Path

import pyarrow.parquet as pq

TOLERANCE, ENOUGH = 1e-9, 1 - 1e-9 - 1e-12


def read(path):
    return pq.read_table(path).to_pydict()


def proven_bound(workload_folder, plan_folder):
    folder, plan_folder = Path(workload_folder), Path(plan_folder)
    asked = json.loads((plan_folder / "plan.json").read_text())["parameters"]
    topics, people = read(folder / "topics.parquet"), read(folder / "subscribers.parquet")
    pairs, plan = read(folder / "interests.parquet"), read(plan_folder / "topics.parquet")
    proof = {path.stem: read(path) for path in (plan_folder / "proof").glob("*.parquet")}
    rate = dict(zip(topics["topic"], topics["rate"], strict=True))
    interests = {v: [] for v in sorted(people["subscriber"])}
    for v, t in sorted(zip(pairs["subscriber"], pairs["topic"], strict=True)):
        interests[v].append(t)
    cost = {t: rate[t] * pairs["topic"].count(t) for t in rate}
    cost |= dict(zip(topics["topic"], topics.get("cost", ()), strict=False))
    need, weight = {}, {}
    for i, v in enumerate(people["subscriber"]):
        tau = people["tau"][i] if asked["tau"] == "column" else asked["tau"]
        need[v] = min(tau, sum(rate[t] for t in interests[v]))
        weight[v] = people.get("weight", [1.0] * len(need))[i] if need[v] > 0 else 0.0
    was = dict(zip(plan["topic"], plan.get("was_served", [False] * len(rate)), strict=True))
    named = dict(zip(topics["name"], topics["topic"], strict=True))
    pinned, excluded = (set(map(named.get, asked.get(key, ()))) for key in ("pin", "exclude"))
    is_binary, capacity = asked["metric"] == "binary", asked["capacity"] * (1 + TOLERANCE)

    def inequality(v, chosen):  # satisfaction <= constant + slopes of what is served
        enough, inside = need[v] * ENOUGH, [t for t in interests[v] if t in chosen]
        lack = enough - sum(map(rate.get, inside))
        if is_binary:
            outside = [t for t in interests[v] if t not in chosen] if lack > 0 else []
            return float(lack <= 0), {t: min(1.0, rate[t] / lack) for t in outside}
        received, lack = sum(map(rate.get, interests[v])), max(0.0, lack)
        last = {t: max(0.0, 1 - (received - rate[t]) / enough) for t in inside}
        slopes = {t: last.get(t, min(rate[t], lack) / enough) for t in interests[v]}
        return max(0.0, 1 - lack / enough - sum(last.values())), slopes

    def bound_of(prices, change, sets_of, served, dropped):  # of all plans of a case
        served, dropped = served | pinned, dropped | excluded
        left = capacity - sum(cost[t] for t in sorted(served))
        switched = sum(not was[t] for t in served) + sum(was[t] for t in dropped)
        if left < 0 or served & dropped or switched > asked.get("max_changes", inf):
            return -inf
        total = sum(weight.values()) + change * (asked.get("max_changes", 0) - sum(was.values()))
        profit = {t: change if was[t] else -change for t in rate}
        for v in interests:
            assert 0 <= prices[v] <= weight[v], "a price out of range"
            for share, chosen in sets_of(v) if prices[v] else ():
                constant, slopes = inequality(v, chosen)
                total -= prices[v] * share * (1 - constant)
                for t, slope in slopes.items():
                    profit[t] += prices[v] * share * slope
        free = [t for t in rate if t not in served | dropped and profit[t] > 0]
        for t in sorted(free, key=lambda t: cost[t] / profit[t]):
            total += profit[t] if cost[t] <= left else profit[t] * left / cost[t]
            left = max(0.0, left - cost[t])
        return total + sum(profit[t] for t in served)

    def stored_sets(v):
        table = proof.get("prices", {})
        parts = [table[f"part_{k}"][v] for k in range(len(table) - 1)]
        first = sum(len(interests[other]) for other in range(v))
        masks = proof["sets"]["sets"][first:] if "sets" in proof else [0] * len(interests[v])
        for k, part in enumerate(parts if any(parts) else [1]):
            chosen = {t for t, mask in zip(interests[v], masks, strict=False) if mask >> k & 1}
            yield part / max(1, sum(parts)), chosen

    def walk(tree, leaves, served, dropped):
        topic, known = next(tree), served | pinned
        if topic < 0:
            return bound_of(*next(leaves), lambda v: [(1.0, known)], served, dropped)
        sides = (served | {topic}, dropped), (served, dropped | {topic})
        return max([walk(tree, leaves, *side) for side in sides])

    nobody, rule = frozenset(), proof.get("rule", {}).get("rule")
    changes = iter(proof.get("changes", {}).get("price", ()))
    if rule == ["paper"]:
        least = sorted(max(need[v], min(map(rate.get, interests[v]))) for v in need if need[v])
        return max(
            n for n in range(len(least) + 1) if sum(least[:n]) <= capacity / (1 - 1.001e-9)
        ) + (not is_binary)
    if "tree" in proof:
        flat, many, tree = proof["leaves"]["price"], len(need), proof["tree"]["topic"]
        leaves = ((flat[many * i :], next(changes, 0.0)) for i in range(tree.count(-1)))
        bound = max(0.0, walk(iter(tree), leaves, nobody, nobody))
    else:
        table = proof.get("prices", {"price": [0.0] * len(need)})
        prices = weight if rule == ["alone"] else table["price"]
        bound = bound_of(prices, next(changes, 0.0), stored_sets, nobody, nobody)
    return floor(bound * (1 + TOLERANCE)) if is_binary and "weight" not in people else bound
