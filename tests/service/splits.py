"""A whole split for tests: brokers, an offload network by a plan, a forwarder, and what flows."""

from __future__ import annotations

import json
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.offload.test_local import FreePorts
from tests.service.crowds import Member, Seen
from tests.service.forwarding.forwarders import NAME, Setting
from tests.service.servers import new_folder
from tests.service.test_kill import JAVA

import fanwise as fw
from fanwise.client import Publisher
from fanwise.offload.export import export_network
from fanwise.offload.interests import gather_interests
from fanwise.offload.local import LocalNetwork

MINUTE = 60
START = 1_700_000_040
"""When the first window begins: messages carry their own time, a window is a minute of it."""
TICK = 0.02


@dataclass(frozen=True)
class Scale:
    """How much of everything; ``interests`` are those of a client, ``messages`` those of a window.

    Attributes
    ----------
    tau
        Messages in a window that satisfy a client.
    skew
        Of Zipf's law, for topics that clients want and for topics that are published on.
    """

    edges: int
    clients: int
    topics: int
    interests: int
    rate: float
    messages: int
    tau: int
    processes: int = 1
    skew: float = 1.0


class Interests:
    """Who wants what, and how much is published on it, by Zipf's law in different orders."""

    def __init__(self, scale: Scale, seed: int) -> None:
        self.scale, self._rng = scale, np.random.default_rng(seed)
        names = np.array([f"t/{number}" for number in range(scale.topics)])
        weights = 1 / np.arange(1, scale.topics + 1) ** scale.skew
        share = weights / weights.sum()
        self.wanted = {
            f"client-{number}": tuple(
                self._rng.choice(names, scale.interests, replace=False, p=share).tolist()
            )
            for number in range(scale.clients)
        }
        self.pairs = [(who, topic) for who, topics in self.wanted.items() for topic in topics]
        self.followers = Counter(topic for _, topic in self.pairs)
        topics = sorted(self.followers)
        self.share = dict(
            zip(self._rng.permutation(topics).tolist(), share[: len(topics)], strict=True)
        )

    def first_round(self) -> Counter[str]:
        """Return the messages of a window by topic."""
        total = sum(self.share.values())
        return Counter(
            {
                topic: max(1, round(self.scale.messages * share / total))
                for topic, share in self.share.items()
            }
        )

    def fewer(self, counts: Counter[str]) -> Counter[str]:
        """Return somewhat less: what fits a capacity still does, and nothing else stays."""
        return Counter(
            {
                topic: many - int(self._rng.integers(0, 1 + many // 5))
                for topic, many in counts.items()
            }
        )

    def cost(self, counts: Counter[str], served: set[str]) -> int:
        """Return how many deliveries serving topics takes."""
        return sum(counts[topic] * self.followers[topic] for topic in served)

    def satisfied(self, counts: Counter[str], served: set[str]) -> int:
        """Return how many clients get enough by what is served."""
        return sum(
            sum(counts[one] for one in topics if one in served)
            >= min(self.scale.tau, sum(counts[one] for one in topics))
            for topics in self.wanted.values()
        )


class Split:
    """Ingress, back end, edge brokers linked by a plan, and a forwarder; all are stopped."""

    def __init__(self, interests: Interests) -> None:
        self._interests = interests
        self.setting = Setting(nodes=())
        self._state = new_folder()
        self._edges = LocalNetwork(self._state, lambda node, what: None)

    def __enter__(self) -> Split:
        self.setting.__enter__()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        wanted = self._interests.wanted
        names = [f"edge-{number}" for number in range(self._interests.scale.edges)]
        edge_of = {who: names[number % len(names)] for number, who in enumerate(wanted)}
        gathered = gather_interests(self._workload(), edge_of)
        plan = fw.Connection(gathered, max_degree=3).solve("gpm")
        plan.verify()
        exported = export_network(plan, gathered, self.setting.network, FreePorts()(names))
        self._edges.apply(exported.folder)
        self._edges.wait_for_bridges()
        nodes = exported.folder.network.nodes
        self.members = [
            Member(who, nodes[edge_of[who]].port, topics) for who, topics in wanted.items()
        ]
        self.setting.configure()
        self.setting.start()

    def _workload(self) -> fw.TopicWorkload:
        wanted, topics = self._interests.wanted, sorted(self._interests.followers)
        number_of = {topic: number for number, topic in enumerate(topics)}
        pairs = [(who, number_of[one]) for who, some in enumerate(wanted.values()) for one in some]
        who, what = np.array(pairs, dtype=np.int32).T
        return fw.TopicWorkload.from_arrays(
            np.ones(len(topics)), who, what,
            num_subscribers=len(wanted), subscriber_names=list(wanted), topic_names=topics,
        )  # fmt: skip

    def __exit__(self, *_: object) -> None:
        self._edges.stop()
        shutil.rmtree(self._state, ignore_errors=True)
        self.setting.__exit__()


class Flow(threading.Thread):
    """Publishes without a pause: windows that are measured, and what flows between them.

    Attributes
    ----------
    sent
        Topic and window of each message; its number is its place, from 0 on.
    window
        Which is being published; odd ones are measured.
    is_late
        Whether the time in messages between two measured windows is so late that the one before
        is closed.
    rates
        Messages a second that were published in measured windows.
    """

    def __init__(self, ingress: int, rate: float, share: dict[str, float], seed: int) -> None:
        super().__init__()
        self._place, self._rate = f"127.0.0.1:{ingress}", rate
        self._topics, self._weights = list(share), list(share.values())
        self._rng = random.Random(seed)
        self._is_over, self._is_done = threading.Event(), threading.Event()
        self._todo: list[str] = []
        self._next: list[str] | None = None
        self.sent: list[tuple[str, int]] = []
        self.window, self.is_late = 0, True
        self.rates: list[float] = []

    def __enter__(self) -> Flow:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Return when all is on the forwarder's disk."""
        self._is_over.set()
        self.join()

    def publish(self, counts: Counter[str]) -> int:
        """Publish the messages of a window in a random order; return its number."""
        todo = list(counts.elements())
        self._rng.shuffle(todo)
        self._is_done.clear()
        self.is_late = False  # of what comes behind
        begun = time.monotonic()
        self._next = todo
        while not self._is_done.wait(1.0):
            assert self.is_alive(), "the publisher ended"
        self.rates.append(len(todo) / (time.monotonic() - begun))
        return self.window - 1

    def run(self) -> None:
        with Publisher(self._place, name="flow", forwarder=NAME) as publisher:
            begun, number = time.monotonic(), 0
            while not self._is_over.is_set():
                for topic, instant in self._some():
                    body = json.dumps({"id": len(self.sent), "at": round(instant, 6)})
                    self.sent.append((topic, self.window))
                    publisher.publish(topic, body.encode())
                    number += 1
                late = begun + number / self._rate - time.monotonic()
                if late > 0:
                    time.sleep(late)
                elif late < -1:
                    begun, number = time.monotonic(), 0
            publisher.flush(60)

    def _some(self) -> Iterator[tuple[str, float]]:
        """Yield what is to be published in a moment: topics, and the time in the message."""
        many = max(1, int(self._rate * TICK))
        if self._next is not None:
            self._todo, self._next = self._next, None
            self._of = len(self._todo)
            self.window += 1
        begin = START + self.window * MINUTE
        if self._todo:
            part, self._todo = self._todo[:many], self._todo[many:]
            for at, topic in enumerate(part):
                done = self._of - len(self._todo) - len(part) + at
                yield topic, begin + 50 * done / self._of
            if not self._todo:
                self.window += 1
                self._is_done.set()
            return
        for topic in self._rng.choices(self._topics, self._weights, k=many):
            yield topic, begin + (20 if self.is_late else 0)


def window_of(payload: bytes) -> int:
    """Return the number of the window that a message belongs to."""
    return int((json.loads(payload)["at"] - START) // MINUTE)


@dataclass
class Measured:
    """What clients saw of one window: deliveries of each side, and clients that got enough."""

    back_end: int = 0
    edges: int = 0
    satisfied: int = 0


def measure(sent: list[tuple[str, int]], seen: dict[str, Seen], window: int, tau: int) -> Measured:
    """Count what arrived at clients in a window, by the side it arrived from."""
    found = Measured()
    for one in seen.values():
        served, rest = (
            sum(sent[number][1] == window for number in numbers) for numbers in one.sides
        )
        found.back_end += served
        found.edges += rest
        found.satisfied += served >= min(tau, served + rest)
    return found


def compare(
    sent: list[tuple[str, int]], wanted: dict[str, tuple[str, ...]], seen: dict[str, Seen]
) -> tuple[int, int]:
    """Return how many messages were lost and doubled, over all clients."""
    lost = doubled = 0
    for who, topics in wanted.items():
        due = Counter(number for number, (topic, _) in enumerate(sent) if topic in topics)
        handed = Counter(seen[who].handed)
        lost += (due - handed).total()
        doubled += (handed - due).total()
    return lost, doubled


def write_pairs(folder: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """Write who wants what, for a service to begin with."""
    lines = [f"{who},{topic}" for who, topic in pairs]
    (folder / "pairs.csv").write_text("subscriber,topic\n" + "\n".join(lines) + "\n")


CONFIGURATION = """
state = "{folder}/state"
[server]
port = 0
[source]
kind = "mqtt"
port = {ingress}
broker_log = false
{source}
[monitor]
trigger = "0.5s"
snapshot = "{folder}/pairs.csv"
master = "local[2]"
conf = {{ "spark.driver.memory" = "512m", "spark.driver.extraJavaOptions" = "{java}" }}
[windows]
{windows}
[decide]
{decide}
[execute]
mode = "{mode}"
[[execute.forwarder]]
port = {ingress}
names = ["{name}"]
"""


def write_configuration(
    folder: Path, ingress: int, source: str, *, windows: str, decide: str, mode: str = "approve"
) -> Path:
    """Write the configuration of a service that watches the ingress and tells the forwarder."""
    path = folder / "fanwise.toml"
    path.write_text(
        CONFIGURATION.format(
            folder=folder, ingress=ingress, source=source, windows=windows, decide=decide,
            mode=mode, name=NAME, java=JAVA,
        )
    )  # fmt: skip
    return path
