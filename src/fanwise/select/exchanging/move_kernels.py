"""Moves from selection to selection: fill, peel, and take out a part to put it in better.

A move takes topics out by one of several rules, or forces a subscriber in, and fills what room
there is. What comes out is kept unless it is worse by more than is allowed. Random numbers are
handed in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tournament import largest_among, set_leaf
from fanwise.select.exchanging.standing_kernels import (
    HAIR,
    USED,
    VALUE,
    WORK,
    Field,
    Flags,
    Powers,
    Standing,
    show_worth,
    switch,
)

BLINK_AT_DROPS = 0.3
"""How often the topic of least loss is passed over, so that moves differ."""
TRIES = 100
"""Draws for a topic or subscriber of the kind that is looked for."""
WORST, ANY, RELATED, FORCED = 0, 1, 2, 3
NUM_RULES = 4


class Log(NamedTuple):
    """What a move has switched so far, to be able to take it back.

    ``many`` counts the entries of ``topics`` and of ``passed``: topics that were taken out of a
    tournament for the time of the move.
    """

    topics: IntArray
    is_odd: Flags
    passed: IntArray
    many: LongArray


class Dice(NamedTuple):
    """Numbers between 0 and 1 drawn beforehand, and which comes next; used again from the start."""

    numbers: FloatArray
    next: LongArray


@kernel
def roll(dice: Dice) -> float:
    """Return the next number.

    Changes ``dice``.
    """
    at = dice.next[0]
    dice.next[0] = at + 1 if at + 1 < len(dice.numbers) else 0
    number: float = dice.numbers[at]
    return number


@kernel
def switch_logged(field: Field, standing: Standing, topic: int, powers: Powers, log: Log) -> None:
    """Switch a topic and write it down.

    Changes ``standing`` and ``log``.
    """
    switch(field, standing, topic, powers)
    if log.many[0] < len(log.topics):
        log.topics[log.many[0]] = topic
        log.many[0] += 1
        log.is_odd[topic] = not log.is_odd[topic]


@kernel
def pass_over(field: Field, tree: FloatArray, topic: int, log: Log) -> None:
    """Take a topic out of a tournament until the end of the move.

    Changes ``tree`` and ``log``.
    """
    if log.many[1] < len(log.passed):
        log.passed[log.many[1]] = topic
        log.many[1] += 1
    set_leaf(tree, field.place[topic], -np.inf)


@kernel
def let_in_again(field: Field, standing: Standing, log: Log) -> None:
    """End what was passed over.

    Changes ``standing`` and ``log``.
    """
    for i in range(log.many[1]):
        show_worth(field, standing, log.passed[i])
    log.many[1] = 0


@kernel
def fill(
    field: Field,
    standing: Standing,
    most: float,
    powers: Powers,
    blink: float,
    dice: Dice,
    log: Log,
    is_late: Flags,
) -> None:
    """Serve topics by benefit per cost until none that helps fits.

    Changes ``standing``, ``dice`` and ``log``.
    """
    while not is_late[0]:
        room = most - standing.totals[USED]
        fitting = np.searchsorted(field.costs, room, side="right")
        place = largest_among(standing.adding, fitting)
        if place < 0:
            break
        topic = field.topic_at[place]
        if blink > 0.0 and log.many[1] < len(log.passed) and roll(dice) < blink:
            pass_over(field, standing.adding, topic, log)
        else:
            switch_logged(field, standing, topic, powers, log)
    let_in_again(field, standing, log)


@kernel
def peel(
    field: Field,
    standing: Standing,
    most: float,
    powers: Powers,
    blink: float,
    dice: Dice,
    log: Log,
    is_late: Flags,
) -> None:
    """Drop topics of least loss per cost until no more than so much is used.

    Changes ``standing``, ``dice`` and ``log``.
    """
    while standing.totals[USED] > most and not is_late[0]:
        place = largest_among(standing.dropping, len(field.costs))
        if place < 0:
            break
        topic = field.topic_at[place]
        if blink > 0.0 and log.many[1] < len(log.passed) and roll(dice) < blink:
            pass_over(field, standing.dropping, topic, log)
        else:
            switch_logged(field, standing, topic, powers, log)
    let_in_again(field, standing, log)


@kernel
def drop_any(
    field: Field, standing: Standing, most: float, powers: Powers, dice: Dice, log: Log
) -> None:
    """Drop topics at random until no more than so much is used.

    Changes ``standing``, ``dice`` and ``log``.
    """
    tries = 0
    while standing.totals[USED] > most and tries < TRIES:
        topic = int(roll(dice) * len(field.cost))
        tries += 1
        if standing.served[topic] and field.is_open[topic] and field.cost[topic] > 0.0:
            switch_logged(field, standing, topic, powers, log)
            tries = 0


@kernel
def drop_related(
    field: Field, standing: Standing, most: float, powers: Powers, dice: Dice, log: Log
) -> None:
    """Drop what followers of one topic get, one after another, until so much is used.

    Changes ``standing``, ``dice`` and ``log``.
    """
    for _ in range(TRIES):
        seed = int(roll(dice) * len(field.cost))
        first, last = field.topic_indptr[seed], field.topic_indptr[seed + 1]
        if not standing.served[seed] or first == last:
            continue
        for _ in range(TRIES):
            subscriber = field.followers[first + int(roll(dice) * (last - first))]
            begin, end = field.indptr[subscriber], field.indptr[subscriber + 1]
            for i in range(begin, end):
                topic = field.interests[i]
                if not standing.served[topic] or not field.is_open[topic]:
                    continue
                if field.cost[topic] > 0.0 and roll(dice) < 0.5:
                    switch_logged(field, standing, topic, powers, log)
                if standing.totals[USED] <= most:
                    return
        return


@kernel
def force_in(
    field: Field, standing: Standing, most: float, powers: Powers, dice: Dice, log: Log
) -> None:
    """Serve what an unsatisfied subscriber misses, cheap for what it gives, whatever is used then.

    Of a few drawn, it is the one that misses least for its weight, by the cost of what it follows.
    What was served for it stays until the end of the move.

    Changes ``standing``, ``dice`` and ``log``.
    """
    chosen, least = -1, np.inf
    seen = 0
    for _ in range(TRIES):
        subscriber = int(roll(dice) * len(field.need))
        lack = field.need[subscriber] - standing.got[subscriber]
        if field.weight[subscriber] <= 0.0 or lack <= HAIR * field.need[subscriber]:
            continue
        cost, rate = 0.0, 0.0
        for i in range(field.indptr[subscriber], field.indptr[subscriber + 1]):
            topic = field.interests[i]
            if not standing.served[topic] and field.is_open[topic]:
                cost += field.cost[topic]
                rate += field.rates[topic]
        if rate < lack * (1.0 - HAIR):
            continue
        seen += 1
        estimate = cost * lack / rate / field.weight[subscriber]
        if estimate < least:
            chosen, least = subscriber, estimate
        if seen >= 4:
            break
    if chosen < 0 or least * field.weight[chosen] > 0.3 * most:
        return
    while field.need[chosen] - standing.got[chosen] > HAIR * field.need[chosen]:
        lack = field.need[chosen] - standing.got[chosen]
        best, dearest = -1, np.inf
        for i in range(field.indptr[chosen], field.indptr[chosen + 1]):
            topic = field.interests[i]
            if standing.served[topic] or not field.is_open[topic]:
                continue
            price = field.cost[topic] / min(field.rates[topic], lack)
            if price < dearest:
                best, dearest = topic, price
        if best < 0:
            return
        switch_logged(field, standing, best, powers, log)
        pass_over(field, standing.dropping, best, log)


@kernel
def take_back(field: Field, standing: Standing, powers: Powers, log: Log, is_kept: bool) -> None:
    """End a move: keep it, or switch everything back.

    Changes ``standing`` and ``log``.
    """
    for i in range(log.many[0]):
        topic = log.topics[i]
        if log.is_odd[topic]:
            log.is_odd[topic] = False
            if not is_kept:
                switch(field, standing, topic, powers)
    log.many[0] = 0


@kernel
def make_moves(
    field: Field,
    standing: Standing,
    best: Flags,
    best_value: float,
    most: float,
    powers: Powers,
    allowed: float,
    largest: float,
    work: float,
    dice: Dice,
    log: Log,
    counts: npt.NDArray[np.int64],
    is_late: Flags,
) -> float:
    """Make moves until so many steps are taken; return the best value there was.

    Changes ``standing``, ``best``, ``dice``, ``log`` and ``counts``.

    Parameters
    ----------
    allowed
        By how much of the best value a move may end below it.
    largest
        How much of the capacity a move gives back at most.
    counts
        By rule: moves made, kept, and better than the best so far.
    """
    end = standing.totals[WORK] + work
    while standing.totals[WORK] < end and not is_late[0]:
        standing.totals[WORK] += TRIES  # even a move that finds nothing to do
        before = standing.totals[VALUE]
        rule = min(int(roll(dice) * NUM_RULES), NUM_RULES - 1)
        share = largest * np.exp(-5.0 * roll(dice))
        aim = standing.totals[USED] - share * most
        if rule == FORCED:
            force_in(field, standing, most, powers, dice, log)
            aim = most * (1.0 - share) if roll(dice) < 0.5 else most
            peel(field, standing, aim, powers, 0.0, dice, log, is_late)
        elif rule == WORST:
            peel(field, standing, aim, powers, BLINK_AT_DROPS, dice, log, is_late)
        elif rule == ANY:
            drop_any(field, standing, aim, powers, dice, log)
        else:
            drop_related(field, standing, aim, powers, dice, log)
        blink = 0.0 if roll(dice) < 0.5 else 0.05
        fill(field, standing, most, powers, blink, dice, log, is_late)
        value = standing.totals[VALUE]
        is_full = log.many[0] >= len(log.topics)
        fits = standing.totals[USED] <= most
        is_kept = is_full or (fits and (value >= before or value >= best_value * (1.0 - allowed)))
        take_back(field, standing, powers, log, is_kept)
        counts[rule, 0] += 1
        counts[rule, 1] += int(is_kept)
        if is_kept and fits and value > best_value + 1e-9 * abs(best_value):
            counts[rule, 2] += 1
            best_value = value
            best[:] = standing.served
    return best_value
