"""Who wants which channel and what passes each link, by the definitions."""

from __future__ import annotations


def wants(box, channel):
    """Whether a rectangle (pairs of sides; None: wants nothing) shares a volume with a channel."""
    if box is None:
        return False
    return all(
        min(hi, top) > max(lo, bottom) for (lo, hi), (bottom, top) in zip(box, channel, strict=True)
    )


def useful(rates, wanted):
    """Rates by [user][channel], 0 where no other user wants the channel."""
    users = range(len(rates))
    return [
        [
            rate if any(wanted[j][c] for j in users if j != i) else 0.0
            for c, rate in enumerate(rates[i])
        ]
        for i in users
    ]


def inbound(rates, wanted):
    """What each user receives: from the others, on the channels it wants."""
    users = range(len(rates))
    return [
        sum(rates[j][c] for c, mine in enumerate(wanted[i]) if mine for j in users if j != i)
        for i in users
    ]


def outbound(rates, wanted):
    """What each user sends that somebody else wants."""
    return [sum(row) for row in useful(rates, wanted)]
