"""SpiderCastM by its description, with sets and dictionaries: plain Python."""


def spin(interests, limits, rounds, weight=None, greedy=3, random=1):
    """Return the links that nodes make, in order.

    ``rounds`` yields an order of nodes and the random numbers of each node, round by round.
    """
    num_nodes = len(interests)
    neighbours = [[] for _ in range(num_nodes)]
    target, asked = [1] * num_nodes, [0] * num_nodes
    links = []
    for order, draws in rounds:
        before = len(links)
        for node in order:
            if len(neighbours[node]) >= limits[node]:
                continue
            open_to = {
                other
                for other in range(num_nodes)
                if other != node
                and other not in neighbours[node]
                and len(neighbours[other]) < limits[other]
            }
            partner = None
            if asked[node] % (greedy + random) >= greedy:
                partner = meet(interests, node, open_to, draws[node])
            if partner is None:
                partner = cover(interests, node, neighbours, open_to, target, draws, weight)
            if partner is not None:
                asked[node] += 1
                neighbours[node].append(partner)
                neighbours[partner].append(node)
                links.append((min(node, partner), max(node, partner)))
        if len(links) == before:
            return links
    raise AssertionError("it should have stopped")


def meet(interests, node, open_to, draws):
    """Return a random node with a random topic of this one's, if one of four tries can link."""
    for k in range(0, 8, 2):
        if not interests[node]:
            return None
        topic = interests[node][int(draws[k] * len(interests[node]))]
        wanting = [v for v, topics in enumerate(interests) if topic in topics]
        other = wanting[int(draws[k + 1] * len(wanting))]
        if other in open_to:
            return other
    return None


def cover(interests, node, neighbours, open_to, target, draws, weight):
    """Return who covers most topics that are covered fewer than K times; K rises as needed."""
    while True:
        short = [
            topic
            for topic in interests[node]
            if sum(topic in interests[v] for v in neighbours[node]) < target[node]
        ]
        gains = {
            other: sum(1 if weight is None else weight[t] for t in short if t in interests[other])
            for other in open_to
        }
        best = max(gains, key=lambda other: (gains[other], -draws[other][0]), default=None)
        if best is not None and gains[best] > 0:
            return best
        if target[node] > len(neighbours[node]):
            return None
        target[node] += 1
