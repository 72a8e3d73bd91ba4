"""From rows of content traces to a workload, in plain Python. Imports nothing from fanwise.

Rows are dictionaries of what the trace says, in the order of files and lines. Cells and channels
are given; which of them holds an event is found by trying all.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from tests.oracles.ingest_oracle import NUMBER, instant, missing


def number(value):
    """A float, or None: also for what is too large to multiply."""
    text = str(value).strip()
    if not NUMBER.fullmatch(text) or abs(Fraction(text)) > Fraction(10) ** 150:
        return None
    return float(text)


def judge_event(row, attributes, space):
    if "_malformed" in row:
        return "malformed row"
    if missing(row.get("publisher")):
        return "no publisher"
    if missing(row.get("timestamp")):
        return "no timestamp"
    if instant(row["timestamp"]) is None:
        return "timestamp not ISO 8601 or epoch seconds"
    if any(missing(row.get(name)) for name in attributes):
        return "no value for an attribute"
    if any(number(row[name]) is None for name in attributes):
        return "attribute not a number"
    if not missing(row.get("bytes")):
        size = number(row["bytes"])
        if size is None or not 0 <= size <= 2**53:
            return "bytes not a number >= 0"
    if space is not None:
        for name, (lo, hi) in zip(attributes, space, strict=True):
            if not lo <= number(row[name]) <= hi:
                return "event outside the space"
    return None


def judge_rectangle(row, sides):
    if "_malformed" in row:
        return "malformed row"
    if missing(row.get("subscriber")):
        return "no subscriber"
    if any(missing(row.get(name)) for pair in sides for name in pair):
        return "rectangle side missing"
    if any(number(row[name]) is None for pair in sides for name in pair):
        return "rectangle side not a number"
    if any(number(row[lo]) > number(row[hi]) for lo, hi in sides):
        return "rectangle with lo > hi"
    return None


def judge_position(row, axes):
    if "_malformed" in row:
        return "malformed row"
    if missing(row.get("name", row.get("subscriber"))):
        return "no name"
    if any(missing(row.get(name)) or number(row[name]) is None for name in axes):
        return "coordinate not a number"
    return None


def first_of_each(rows, name, value, reason):
    """The first of each name; later rows are duplicates or bad. Rows are (row, verdict) pairs."""
    kept, verdicts, duplicates = {}, [], 0
    for row, verdict in rows:
        if verdict is None:
            who, what = name(row), value(row)
            if who not in kept:
                kept[who] = what
            elif kept[who] == what:
                duplicates += 1
            else:
                verdict = reason
        verdicts.append(verdict)
    return kept, verdicts, duplicates


def build(
    publications,
    subscriptions,
    positions,
    attributes,
    *,
    sides=None,
    num_axes=2,
    space=None,
    with_channels=True,
    start=None,
    end=None,
):
    """Return users with rectangle and position, the fine events, and the counts of a report."""
    sides = sides or [(f"lo_{name}", f"hi_{name}") for name in attributes]
    axes = [f"net_{axis}" for axis in range(num_axes)]
    places, position_verdicts, position_duplicates = first_of_each(
        [(row, judge_position(row, axes)) for row in positions],
        lambda row: str(row.get("name", row.get("subscriber"))),
        lambda row: [number(row[name]) for name in axes],
        "another position of the name",
    )

    event_verdicts, events = [], []
    outside = 0
    for row in publications:
        verdict = judge_event(row, attributes, space)
        if verdict is None:
            moment = instant(row["timestamp"])
            if (start is not None and moment < instant(start)) or (
                end is not None and moment >= instant(end)
            ):
                outside += 1
            elif with_channels and str(row["publisher"]) not in places:
                verdict = "no position"
            else:
                point = [number(row[name]) for name in attributes]
                size = None if missing(row.get("bytes")) else number(row["bytes"])
                events.append((str(row["publisher"]), moment, point, size))
        event_verdicts.append(verdict)

    def judge_placed(row):
        verdict = judge_rectangle(row, sides)
        return verdict or (None if str(row["subscriber"]) in places else "no position")

    boxes, box_verdicts, box_duplicates = first_of_each(
        [(row, judge_placed(row)) for row in subscriptions],
        lambda row: str(row["subscriber"]),
        lambda row: [(number(row[lo]), number(row[hi])) for lo, hi in sides],
        "another rectangle of the subscriber",
    )
    publishers = {who for who, *_ in events} if with_channels else set()
    users = sorted({*boxes, *publishers})
    sizes = [size for *_, size in events if size is not None]
    return {
        "users": [(name, places[name], boxes.get(name)) for name in users],
        "events": events,
        "mean_bytes": sum(sizes) / len(sizes) if sizes else None,
        "verdicts": [*event_verdicts, *box_verdicts, *position_verdicts],
        "report": {
            "publications": {
                "rows": len(publications),
                "bad": bad(event_verdicts),
                "outside": outside,
                "events": len(events),
            },
            "subscriptions": {
                "rows": len(subscriptions),
                "bad": bad(box_verdicts),
                "duplicates": box_duplicates,
            },
            "positions": {
                "rows": len(positions),
                "bad": bad(position_verdicts),
                "duplicates": position_duplicates,
                "unused": len(places) - len(users),
            },
            "subscribers": {
                "with_rectangle": len(boxes),
                "publishers": len(publishers) if with_channels else None,
                "without_rectangle": len(users) - len(boxes),
                "kept": len(users),
            },
        },
    }


def bad(verdicts):
    return dict(Counter(verdict for verdict in verdicts if verdict))


def holds(cell, point, top):
    """Whether a cell [lo, hi) holds a point; at the top of the space it is closed."""
    return all(
        lo <= value and (value < hi or (hi == end and value == hi))
        for (lo, hi), value, end in zip(cell, point, top, strict=True)
    )


def count(events, cells, top):
    """How many events each cell holds, and each (publisher, cell)."""
    per_cell, per_publisher = Counter(), Counter()
    for who, _, point, _ in events:
        found = [index for index, cell in enumerate(cells) if holds(cell, point, top)]
        assert len(found) == 1, f"{point} lies in {len(found)} cells"
        per_cell[found[0]] += 1
        per_publisher[who, found[0]] += 1
    return per_cell, per_publisher
