"""A synthetic twin of the Twitter trace on which [1]_ measures, up to its full size.

.. [1] Setty, Vitenberg, Kreitz, Urdaneta, van Steen: Cost-effective resource allocation for
   deploying pub/sub on cloud, Sec. IV-B and appendix D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.arrays.threads import cut_rows, in_threads, num_threads
from fanwise.errors import ParameterError
from fanwise.progress import SILENT, Progress, Step
from fanwise.workload.files import local_path
from fanwise.workload.folders import atomic_folder, refuse_existing
from fanwise.workload.generators.chunked_files import (
    CHUNK_PAIRS,
    PART_PAIRS,
    check_disk,
    write_interests,
    write_subscribers,
    write_topics,
)
from fanwise.workload.generators.streamed_matching import (
    Deal,
    balance_stubs,
    deal_stubs,
    fill_rows,
)
from fanwise.workload.generators.twitter_degrees import (
    PAIRS,
    SUBSCRIBERS,
    TOPICS,
    draw_followers,
    draw_followings,
    twitter_laws,
)
from fanwise.workload.generators.twitter_rates import draw_rates
from fanwise.workload.outputs import WORKLOAD
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic.files import write_header
from fanwise.workload.validation import numbered_names

PERIOD_SECONDS = 864_000.0
MESSAGE_BYTES = 200.0
SMALLEST_SCALE, LARGEST_SCALE = 1e-4, 3.0

_PIECES = 8  # of the subscribers, for threads
_NUM_DRAWS = 4


def twitter(
    *,
    scale: float = 0.01,
    message_bytes: float = MESSAGE_BYTES,
    seed: int = 0,
    progress: Progress = SILENT,
) -> TopicWorkload:
    """Generate a workload with the statistics of ten days at Twitter, in memory.

    :func:`write_twitter` writes the same workload to disk, at any scale. What appendix D of [1]_
    tells about the trace is met as follows at full size:

    ==============================================  ======================  ======================
    statistic                                       paper                   here
    ==============================================  ======================  ======================
    topics, subscribers, pairs                      8M, 30M, 683.5M         the same
    events                                          about 455M              455M
    topics with fewer than 10 events                about 4M                4.00M
    topics with more than 1,000; 100,000            about 46,000; 1         46,000; 1
    topics with more than 1e4; 1e6 followers        about 4,000; 66         4,000; 66
    subscribers with more than 10,000 followings    about 550               550
    glitches of the followings                      at 20 and 2,000         5.9% at 20, 9,000 at
                                                                            2,000
    glitch of the followers                         at 1e5                  a flatter tail beyond
    mean events by followers                        linear to 1e5, then     55 + 0.015 a follower
                                                    less                    to 1e5, then 200
    subscribers that receive more than 7,000        about 3M                3.0M
    most that a subscriber receives                 4% of all events        about 3%
    ==============================================  ======================  ======================

    The rest is ours. Bodies of both degrees are shifted power laws; topics and subscribers are
    matched at random. A bot with few followers has the most events; the others follow a law that is
    nearly lognormal.

    A scale multiplies topics, subscribers and pairs, and with them all the numbers above that count
    something. That leaves means as they are, and tails cannot be: a graph a hundredth as large has
    nobody with a million followers. Nobody follows, or is followed by, more than a fifth of the
    other side, and followers beyond 10,000 move closer together on a logarithmic axis until that
    holds: at 1/10, 1e5 and 1e6 become 59,000 and 351,000, at 1/100 they become 22,000 and 47,000.
    Where the first of them has gone to, the linear law ends, at the same rate, so that it is
    steeper. Pairs that the tail loses go to the other topics. The one bot stays down to 1/100.

    Parameters
    ----------
    scale
        Size against the real trace, from 0.0001 to 3. Above about 0.1 prefer :func:`write_twitter`.
    message_bytes
        Size of a message, the same for all topics.
    seed
        Makes every random choice repeatable.
    """
    with progress.step("Drawing a workload", total=_NUM_DRAWS + 1) as step:
        sketch = _draw_sketch(scale, message_bytes, seed, step)
        indices = np.empty(int(sketch.indptr[-1]), dtype=np.int32)

        def fill(cut: tuple[int, int]) -> None:
            rows = sketch.indptr[cut[0] : cut[1] + 1]
            fill_rows(sketch.deal, rows, indices[rows[0] : rows[-1]])

        in_threads(fill, cut_rows(sketch.indptr, _PIECES))
    return TopicWorkload(
        rates=sketch.rates,
        message_bytes=np.full(len(sketch.rates), float(message_bytes)),
        interests=Csr(sketch.indptr, indices),
        topic_names=numbered_names("t", len(sketch.rates)),
        subscriber_names=numbered_names("s", len(sketch.indptr) - 1),
        period_seconds=PERIOD_SECONDS,
        origin=_origin(scale, seed),
    )


@dataclass(frozen=True)
class Written:
    """What :func:`write_twitter` wrote."""

    topics: int
    subscribers: int
    pairs: int
    events: float


@dataclass(frozen=True)
class Needs:
    """Bytes of memory and disk that :func:`write_twitter` takes, about."""

    memory: float
    disk: float


def estimate_needs(scale: float) -> Needs:
    """Tell beforehand what writing a workload takes, from measured sizes and a little more."""
    topics, subscribers, pairs = _sizes(scale)
    return Needs(
        memory=2.0**29 + 2.0**26 * num_threads() + 20.0 * (topics + subscribers),
        disk=4.5 * pairs + 16.0 * topics + 12.0 * subscribers,
    )


def write_twitter(
    path: str | Path,
    *,
    scale: float = 0.01,
    message_bytes: float = MESSAGE_BYTES,
    seed: int = 0,
    overwrite: bool = False,
    part_pairs: int = PART_PAIRS,
    chunk_pairs: int = CHUNK_PAIRS,
    progress: Progress = SILENT,
) -> Written:
    """Write the workload of :func:`twitter` to a folder, in chunks and without holding its pairs.

    Memory is O(topics + subscribers) and one chunk for each core. The folder appears whole or not
    at all. In ``interests.parquet``, a folder of part files, subscribers ascend, and the topics of
    each.

    Parameters
    ----------
    part_pairs, chunk_pairs
        Pairs of a part file and of a chunk, about. They change the files, never what is in them.
    """
    destination = local_path(path)
    refuse_existing(destination, WORKLOAD, overwrite=overwrite)
    check_disk(destination, estimate_needs(scale).disk)
    with atomic_folder(destination, WORKLOAD, overwrite=overwrite) as folder:
        with progress.step("Drawing degrees and rates", total=_NUM_DRAWS) as step:
            sketch = _draw_sketch(scale, message_bytes, seed, step)
        topics, subscribers = len(sketch.rates), len(sketch.indptr) - 1
        pairs = int(sketch.indptr[-1])
        with progress.step("Writing", total=topics + subscribers + pairs) as step:
            write_topics(folder, sketch.rates, message_bytes)
            step.advance(topics)
            write_subscribers(folder, subscribers)
            step.advance(subscribers)
            write_interests(
                folder,
                sketch.indptr,
                sketch.find_rows,
                step,
                part_pairs=part_pairs,
                chunk_pairs=chunk_pairs,
            )
        write_header(
            folder,
            period_seconds=PERIOD_SECONDS,
            topics=topics,
            subscribers=subscribers,
            pairs=pairs,
            origin=_origin(scale, seed),
        )
    return Written(topics, subscribers, pairs, float(sketch.rates.sum()))


@dataclass(frozen=True)
class _Sketch:
    """All of a workload but its pairs, which follow from it.

    Attributes
    ----------
    rates
        Events of each topic.
    indptr
        Where the pairs of each subscriber start.
    deal
        From which any subscriber's pairs are found.
    """

    rates: FloatArray
    indptr: LongArray
    deal: Deal

    def find_rows(self, indptr: LongArray) -> IntArray:
        """Return the topics of the subscribers that a stretch of ``indptr`` stands for."""
        topics = np.empty(int(indptr[-1] - indptr[0]), dtype=np.int32)
        fill_rows(self.deal, indptr, topics)
        return topics


def _draw_sketch(scale: float, message_bytes: float, seed: int, step: Step) -> _Sketch:
    """Draw degrees and rates; the step is advanced ``_NUM_DRAWS`` times."""
    if not (math.isfinite(message_bytes) and message_bytes >= 0):
        raise ParameterError("message_bytes", "a finite number >= 0", message_bytes)
    topics, subscribers, pairs = _sizes(scale)
    for_followers, for_followings, for_rates, for_pairs = np.random.default_rng(seed).spawn(4)
    laws = twitter_laws(topics, subscribers, pairs)
    followers = draw_followers(laws.followers, topics, for_followers)
    step.advance()
    followings = draw_followings(laws.followings, subscribers, pairs, for_followings)
    step.advance()
    rates = draw_rates(followers, laws.celebrity, for_rates)
    step.advance()
    deal = deal_stubs(balance_stubs(followers, followings, for_pairs), for_pairs)
    indptr = np.zeros(subscribers + 1, dtype=np.int64)
    np.cumsum(followings, out=indptr[1:])
    step.advance()
    return _Sketch(rates, indptr, deal)


def _sizes(scale: float) -> tuple[int, int, int]:
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ParameterError("scale", f"from {SMALLEST_SCALE} to {LARGEST_SCALE:g}", scale)
    return round(TOPICS * scale), round(SUBSCRIBERS * scale), round(PAIRS * scale)


def _origin(scale: float, seed: int) -> dict[str, Any]:
    return {"generator": "twitter", "scale": scale, "seed": seed}
