"""Topic filters of MQTT: which topics they match, and which overlap."""

from __future__ import annotations


def is_pattern(filter: str) -> bool:
    """Whether a filter can match more than the topic of its own name."""
    return "+" in filter or "#" in filter


def matches(filter: str, topic: str) -> bool:
    """Whether a topic is meant by a filter."""
    if topic.startswith("$") and not filter.startswith("$"):
        return False
    wanted, levels = filter.split("/"), topic.split("/")
    for at, level in enumerate(wanted):
        if level == "#":
            return True
        if at >= len(levels) or level not in ("+", levels[at]):
            return False
    return len(wanted) == len(levels)


def overlap(one: str, other: str) -> bool:
    """Whether some topic is meant by both filters."""
    left, right = one.split("/"), other.split("/")
    for at in range(max(len(left), len(right))):
        here = left[at] if at < len(left) else None
        there = right[at] if at < len(right) else None
        if here == "#" or there == "#":
            return True
        if here is None or there is None:
            return False
        if here != there and "+" not in (here, there):
            return False
    return True


def is_filter(text: str) -> bool:
    """Whether a text is a topic filter: + and # alone in their levels, # at the end."""
    levels = text.split("/")
    return bool(text) and "\0" not in text and all(
        level in ("+", "#") if is_pattern(level) else True for level in levels
    ) and "#" not in levels[:-1]  # fmt: skip
