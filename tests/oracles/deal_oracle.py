"""Plain-Python twin of dealing stubs to subscribers: lists, sets and one draw after the other."""

from __future__ import annotations


def shuffle_number(size, bits, left_shifts, right_shifts, x):
    """Send ``x`` through the rounds, again and again until it lies in ``range(size)``."""
    num_right, num_left = len(left_shifts[0]), len(right_shifts[0])
    assert num_right == 2**bits
    while True:
        left, right = divmod(x, num_right)
        for of_left, of_right in zip(left_shifts, right_shifts, strict=True):
            left = (left + of_left[right]) % num_left
            right = (right + of_right[left]) % num_right
        x = left * num_right + right
        if x < size:
            return x


def deal_rows(stubs, followings, first, further):
    """Topics of each subscriber; ``first`` and ``further`` list two orders of all stubs."""
    owners = []
    for topic in sorted(range(len(stubs)), key=lambda topic: (stubs[topic], topic)):
        owners += [topic] * stubs[topic]
    rows, start = [], 0
    for wanted in followings:
        row = {owners[first[position]] for position in range(start, start + wanted)}
        draw = start
        while len(row) < wanted:
            row.add(owners[further[draw % len(owners)]])
            draw += 1
        rows.append(sorted(row))
        start += wanted
    return rows
