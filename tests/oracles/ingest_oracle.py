"""From rows to a workload in plain Python and exact arithmetic. Imports nothing from fanwise.

Rows are dictionaries of what the trace says; a row with the key ``_malformed`` could not be taken
apart. ``build`` follows the definitions one after the other, without an eye to speed.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from fractions import Fraction

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(seconds=1)
LAST = (datetime(9999, 12, 31, tzinfo=UTC) - EPOCH) // timedelta(seconds=1) + 86400
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def missing(value):
    return value is None or value == ""


def instant(value):
    """Exact epoch seconds, or None: also for what lies outside the years 1 to 9999."""
    if isinstance(value, datetime):
        moment = value
    else:
        text = str(value).strip()
        if NUMBER.fullmatch(text):
            seconds = Fraction(text)
            return seconds if FIRST <= seconds < LAST else None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Fraction((moment - EPOCH) // timedelta(microseconds=1), 10**6)


def number(value):
    """An exact number, or None: also for what float64 cannot count up to."""
    text = str(value).strip()
    if not NUMBER.fullmatch(text) or abs(Fraction(text)) > 2**53:
        return None
    return Fraction(text)


def judge_publication(row):
    if "_malformed" in row:
        return "malformed row"
    if missing(row.get("topic")):
        return "no topic"
    if "timestamp" in row:
        if missing(row["timestamp"]):
            return "no timestamp"
        if instant(row["timestamp"]) is None:
            return "timestamp not ISO 8601 or epoch seconds"
    if "events" in row:
        events = None if missing(row["events"]) else number(row["events"])
        if events is None or events < 0 or events.denominator != 1:
            return "events not a whole number >= 0"
    if not missing(row.get("bytes")):
        size = number(row["bytes"])
        if size is None or size < 0:
            return "bytes not a number >= 0"
    return None


def judge_subscription(row):
    if "_malformed" in row:
        return "malformed row"
    for name in ("subscriber", "topic"):
        if missing(row.get(name)):
            return f"no {name}"
    for name in ("since", "until"):
        if not missing(row.get(name)) and instant(row[name]) is None:
            return f"{name} not ISO 8601 or epoch seconds"
    since, until = span(row)
    if since is not None and until is not None and until <= since:
        return "until not after since"
    return None


def span(row):
    return tuple(
        None if missing(row.get(name)) else instant(row[name]) for name in ("since", "until")
    )


def overlap(row, start, end):
    since, until = span(row)
    return (since is None or end is None or since < end) and (
        until is None or start is None or until > start
    )


def workload(events, subscriptions, message_bytes, keep_empty):
    """Topics, subscribers and pairs of publications and subscriptions that all count."""
    rates, sizes = Counter(), {}
    for row in events:
        weight = number(row["events"]) if "events" in row else Fraction(1)
        topic = str(row["topic"])
        rates[topic] += weight
        if not missing(row.get("bytes")):
            sizes.setdefault(topic, []).append((number(row["bytes"]), weight))
    published = {topic for topic, rate in rates.items() if rate > 0}
    seen = {(str(row["subscriber"]), str(row["topic"])) for row in subscriptions}
    followed = {topic for _, topic in seen}
    pairs = {(who, topic) for who, topic in seen if topic in published}
    topics = []
    for topic in sorted(published & followed):
        known = sum(weight for _, weight in sizes.get(topic, ()))
        total = sum(size * weight for size, weight in sizes.get(topic, ()))
        topics.append(
            (topic, float(rates[topic]), float(total / known) if known else message_bytes)
        )
    subscribers = sorted({who for who, _ in (seen if keep_empty else pairs)})
    return {
        "topics": topics,
        "subscribers": subscribers,
        "pairs": pairs,
        "published": published,
        "followed": followed,
        "seen": seen,
    }


def build(
    publications,
    subscriptions,
    *,
    start=None,
    end=None,
    window=None,
    period=None,
    message_bytes=200.0,
    keep_empty=False,
    mutual=False,
):
    """Return the workload and the report; with ``window`` (seconds) a workload per window."""
    start = None if start is None else instant(start)
    end = None if end is None else instant(end)

    verdicts = [judge_publication(row) for row in publications]
    fine = [row for row, verdict in zip(publications, verdicts, strict=True) if verdict is None]
    timed = [row for row in fine if "timestamp" in row]
    inside = [
        row
        for row in fine
        if row not in timed
        or (
            (start is None or instant(row["timestamp"]) >= start)
            and (end is None or instant(row["timestamp"]) < end)
        )
    ]
    moments = [instant(row["timestamp"]) for row in inside if "timestamp" in row]
    first = start if start is not None else min(moments, default=None)
    last = end if end is not None else max(moments, default=None)
    # The last event is itself inside the period.
    after = end if end is not None or last is None else last + Fraction(1, 10**6)

    if window is not None:
        starts = []
        moment = (first // window) * window
        while moment < after:
            starts.append(moment)
            moment += window
        covered = starts[0], starts[-1] + window
    else:
        covered = first, after

    bad_subscriptions = [judge_subscription(row) for row in subscriptions]
    good = [
        row
        for row, verdict in zip(subscriptions, bad_subscriptions, strict=True)
        if verdict is None
    ]
    ways = len(good) * (2 if mutual else 1)
    if mutual:
        good += [{**row, "subscriber": row["topic"], "topic": row["subscriber"]} for row in good]
    counted = [row for row in good if overlap(row, *covered)]

    whole = workload(inside, counted, message_bytes, keep_empty)
    result = {
        "publications": {
            "rows": len(publications),
            "bad": dict(Counter(verdict for verdict in verdicts if verdict)),
            "outside": len(fine) - len(inside),
            "events": int(sum(number(row["events"]) if "events" in row else 1 for row in inside)),
        },
        "subscriptions": {
            "rows": sum(1 for verdict in bad_subscriptions if verdict) + ways,
            "bad": dict(Counter(verdict for verdict in bad_subscriptions if verdict)),
            "outside": len(good) - len(counted),
            "duplicates": len(counted) - len(whole["seen"]),
            "pairs": len(whole["seen"]),
        },
    }
    if window is None:
        if period is not None:
            result["period_seconds"] = float(period)
        else:
            result["period_seconds"] = float(max(last - first, Fraction(1)))
        result["workload"] = whole
        kept_topics = {name for name, _, _ in whole["topics"]}
        kept_subscribers = set(whole["subscribers"])
        result["pairs"] = {
            "dropped": len(whole["seen"]) - len(whole["pairs"]),
            "kept": len(whole["pairs"]),
        }
    else:
        result["period_seconds"] = float(window)
        result["windows"] = {}
        kept_topics, kept_subscribers, kept_pairs = set(), set(), 0
        for moment in starts:
            one = workload(
                [row for row in inside if moment <= instant(row["timestamp"]) < moment + window],
                [row for row in counted if overlap(row, moment, moment + window)],
                message_bytes,
                keep_empty,
            )
            name = (EPOCH + timedelta(seconds=int(moment))).strftime("%Y%m%dT%H%M%SZ")
            result["windows"][name] = one
            kept_topics |= {name for name, _, _ in one["topics"]}
            kept_subscribers |= set(one["subscribers"])
            kept_pairs += len(one["pairs"])
        result["pairs"] = {"kept": kept_pairs}
    result["topics"] = {
        "published": len(whole["published"]),
        "followed": len(whole["followed"]),
        "without_events": len(whole["followed"] - kept_topics),
        "without_followers": len(whole["published"] - kept_topics),
        "kept": len(kept_topics),
    }
    seen = {who for who, _ in whole["seen"]}
    result["subscribers"] = {
        "seen": len(seen),
        "without_interests": len(seen - kept_subscribers),
        "kept": len(kept_subscribers),
    }
    return result
