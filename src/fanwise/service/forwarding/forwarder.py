"""The forwarder: from the ingress through the log to the sides, in one event loop.

One thread beside it brings messages to disk, as many at once as came in the meantime.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from paho.mqtt.client import MQTTMessage
from paho.mqtt.subscribeoptions import SubscribeOptions

from fanwise.client import naming
from fanwise.client.wire import Listener, Place, Session, Wire
from fanwise.errors import FanwiseError
from fanwise.pipeline.shared.times import iso
from fanwise.service.executor.to_file import replace_file
from fanwise.service.forwarding.answering import (
    MOST_RESENT,
    Answers,
    Question,
    QuestionError,
    read_question,
)
from fanwise.service.forwarding.destination import Address, Destination
from fanwise.service.forwarding.intake import RECEIVE_MAXIMUM, Arrival, Intake
from fanwise.service.forwarding.log import Log, LogFullError
from fanwise.service.forwarding.packing import pack_properties
from fanwise.service.forwarding.places import Places
from fanwise.service.forwarding.routing import (
    Decision,
    DecisionError,
    Edge,
    Network,
    NetworkError,
    Router,
    read_decision,
    read_generation,
    read_network,
)
from fanwise.service.forwarding.settings import Access, ForwarderConfiguration
from fanwise.service.tls import TrustOfNow, explain

log = logging.getLogger(__name__)

SESSION_SECONDS = 7 * 86_400
"""How long the ingress keeps the session of a forwarder that is away."""
MOST_WAITING_BYTES = 32 * 10**6
"""Bytes that wait for the disk; above, nothing more is read."""
MOST_AT_ONCE = 1_000
"""Messages brought to disk at once."""
TELL_SECONDS = 1.0
PLACE_SECONDS = 0.2
DISK_SECONDS = 5.0
"""How often places are written, and how often to the disk itself."""
RETRY_SECONDS = 0.5
LOOK_SECONDS = 1.0
"""How often the folder of the offload network is looked at, and old segments are."""
BACK_END = "back-end"


def read_clock() -> int:
    """Return microseconds since the epoch."""
    return time.time_ns() // 1000


class Forwarder(Listener):
    """Forwards until it is stopped.

    Attributes
    ----------
    trouble
        What keeps it from taking messages, in a sentence; empty if nothing does.
    """

    def __init__(
        self, configuration: ForwarderConfiguration, now: Callable[[], int] = read_clock
    ) -> None:
        self._configuration, self._now = configuration, now
        self.name = configuration.name
        folder = configuration.state
        self._log = Log(
            folder / "log",
            segment_bytes=configuration.log.segment,
            limit=configuration.log.limit,
        )
        self._places = Places(folder, self._log.name)
        self._decision_file = folder / "decision.json"
        self._router = Router(
            self._read_decision(),
            Network(),
            is_served_undecided=configuration.undecided == BACK_END,
        )
        self._intake = Intake(self._log, self._router, now)
        self._answers = Answers(self.name, self._log)
        self._arrivals: deque[Arrival] = deque()
        self._bytes = 0
        self._connection = 0
        self.trouble = ""
        self._ingress_trouble = "not connected yet"
        self._network_trouble = ""
        self._generation: str | None = None
        self._disk = ThreadPoolExecutor(1, "log")
        self._fatal: BaseException | None = None
        self._written_places: dict[str, int] = {}
        self._synced = 0.0
        self._is_started = self._was_ready = False

    async def run(self, is_over: asyncio.Event, ready: Callable[[], None]) -> None:
        """Forward until the event is set.

        Parameters
        ----------
        ready
            Called once the ingress has taken the subscriptions.

        Raises
        ------
        FanwiseError
            If the log cannot be written any more.
        """
        self._loop = asyncio.get_running_loop()
        self._is_over, self._ready = is_over, ready
        self._something = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._tell_soon = asyncio.Event()
        self._resends: asyncio.Queue[Question] = asyncio.Queue(1000)
        self._loop.set_exception_handler(self._on_exception)
        self._destinations = {BACK_END: self._make_back_end()}
        self._follow_network()
        ingress = self._configuration.ingress
        self._ingress = Wire(
            _place(ingress.host, ingress.port, ingress),
            f"fanwise-{self.name}",
            self,
            Session(SESSION_SECONDS, True, RECEIVE_MAXIMUM, acknowledges=True),
            explain=lambda error: explain(error, ingress.host, ingress.tls_ca),
        )
        for destination in self._destinations.values():
            destination.start()
        self._ingress.start()
        self._is_started = True
        tasks = [
            self._loop.create_task(work)
            for work in (self._write(), self._tell(), self._keep_places(), self._tidy(),
                         self._resend())
        ]  # fmt: skip
        for task in tasks:
            task.add_done_callback(self._on_done)
        try:
            await is_over.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._ingress.stop()
            for destination in self._destinations.values():
                await destination.stop()
            self._disk.shutdown(wait=True)
            self._write_places(to_disk=True)
            self._log.close()
        if self._fatal is not None:
            raise self._fatal

    # What the ingress tells.

    def on_up(self, is_resumed: bool, window: int) -> None:
        """Subscribe; go on with the session that the ingress has kept."""
        self._connection += 1
        self._intake.begin_session(is_resumed)
        topics = self._configuration.ingress.topics
        live = SubscribeOptions(
            qos=1, noLocal=True, retainHandling=SubscribeOptions.RETAIN_DO_NOT_SEND
        )
        kept = SubscribeOptions(qos=1, noLocal=True)
        control = [(naming.DECISION, kept), (naming.ask_topic(self.name), live)]
        self._ingress.subscribe([*((topic, live) for topic in topics), *control])

    def on_subscribed(self, number: int, reasons: Any) -> None:
        """Know that messages come from now on."""
        refused = [str(reason) for reason in reasons if reason.is_failure]
        self._ingress_trouble = (
            f"the ingress refuses subscriptions: {refused[0]}" if refused else ""
        )
        if refused:
            log.warning("%s", self._ingress_trouble)
            return
        log.info("Forwarder %s takes messages at %s.", self.name, self._ingress.place)
        if not self._was_ready:
            self._was_ready = True
            self._ready()
        self._tell_soon.set()

    def on_down(self, reason: str) -> None:
        """Wait for the ingress."""
        trouble = f"no connection to the ingress: {reason}"
        if self._ingress_trouble != trouble:
            log.warning("%s; trying again.", trouble)
        self._ingress_trouble = trouble

    def on_message(self, message: MQTTMessage) -> None:
        """Take a message; it is acknowledged once it is on disk."""
        number, quality, connection = message.mid, message.qos, self._connection
        topic = message.topic
        record = None
        reply: Callable[[], None] | None = None
        if not topic.startswith(naming.CONTROL):
            record = self._intake.take(message)
        elif topic == naming.DECISION:
            self._hear_decision(bytes(message.payload))
        elif topic == naming.ask_topic(self.name):
            reply = self._hear_publisher(bytes(message.payload))

        def done() -> None:
            if reply is not None and self._ingress.is_up:
                reply()
            if quality and connection == self._connection and self._ingress.is_up:
                self._ingress.acknowledge(number, quality)

        if record is not None:
            self._bytes += len(record.payload)
            if self._bytes > MOST_WAITING_BYTES:
                self._ingress.pause()
        self._arrivals.append(Arrival(record, done))
        self._something.set()

    # Decisions.

    def _hear_decision(self, body: bytes) -> None:
        """Switch, between two messages, to a decision that is newer."""
        if not body:
            return
        try:
            decision = read_decision(body)
        except DecisionError as error:
            log.warning("Ignored: %s.", error)
            return
        now = self._router.decision
        if decision.epoch < now.epoch or (
            decision.epoch == now.epoch and decision.hash != now.hash
        ):
            log.warning(
                "Ignored: the decision of epoch %d (%s); epoch %d is in force.",
                decision.epoch, _short(decision.hash), now.epoch,
            )  # fmt: skip
        elif decision.epoch > now.epoch:
            replace_file(self._decision_file, body)
            self._router.decision = decision
            log.info(
                "Epoch %d (%s) from message %d on: %s topics served.",
                decision.epoch, _short(decision.hash), self._intake.sequence + 1,
                "no decision, no" if decision.served is None else f"{len(decision.served):,}",
            )  # fmt: skip
        self._tell_soon.set()

    def _read_decision(self) -> Decision:
        try:
            return read_decision(self._decision_file.read_bytes())
        except FileNotFoundError:
            return Decision()
        except OSError as error:
            raise FanwiseError(f"{self._decision_file}: cannot be read: {error.strerror}") from None
        except DecisionError as error:
            raise FanwiseError(f"{self._decision_file}: {error}; remove it") from None

    # From memory to disk and on.

    async def _write(self) -> None:
        """Bring what came to disk, then acknowledge it and send it on."""
        while True:
            await self._something.wait()
            self._something.clear()
            while self._arrivals:
                batch = [
                    self._arrivals.popleft() for _ in range(min(len(self._arrivals), MOST_AT_ONCE))
                ]
                records = [one.record for one in batch if one.record is not None]
                if records:
                    await self._append(records)
                for one in batch:
                    one.done()
                self._bytes -= sum(len(record.payload) for record in records)
                if self._bytes <= MOST_WAITING_BYTES // 2:
                    self._ingress.resume()
                for destination in self._destinations.values():
                    for record in records:
                        destination.offer(record)
                    destination.pump()

    async def _append(self, records: list[Any]) -> None:
        """Return when messages are on disk; while there is no room, nothing is acknowledged."""
        while True:
            try:
                async with self._one_at_a_time:
                    await self._loop.run_in_executor(self._disk, self._log.append, records)
            except LogFullError as error:
                trouble = f"no message is taken: {error}"
                if not self.trouble:
                    log.warning("%s; waiting for room.", trouble)
                    self._ingress.pause()
                self.trouble = trouble
                self._tell_soon.set()
                self._remove_old()
                await asyncio.sleep(RETRY_SECONDS)
            else:
                if self.trouble:
                    log.info("There is room again: messages are taken.")
                    self.trouble = ""
                    self._ingress.resume()
                    self._tell_soon.set()
                return

    # Sides.

    def _make_back_end(self) -> Destination:
        settings = self._configuration.back_end
        made = Destination(
            Address(BACK_END, None),
            self._log,
            self._places.places.get(BACK_END, self._log.first - 1),
            _place(settings.host, settings.port, settings),
            f"fanwise-{self.name}-{self._log.name}",
            explain=lambda error: explain(error, settings.host, settings.tls_ca),
            on_up=lambda: self._hear_back_end_up(made),
            on_message=self._hear_question,
        )
        return made

    def _make_edge(self, node: str, edge: Edge) -> Destination:
        settings = self._configuration.offload
        assert settings is not None
        key, first = f"edge/{node}", self._log.first - 1
        return Destination(
            Address(key, node),
            self._log,
            self._places.places.get(key, self._log.position if self._places.places else first),
            _place(edge.host, edge.port, settings),
            f"fanwise-{self.name}-{self._log.name}",
            explain=lambda error: explain(error, edge.host, settings.tls_ca),
        )

    def _follow_network(self) -> list[Destination]:
        """Take over the offload network if it has changed; return brokers that are gone."""
        settings = self._configuration.offload
        if settings is None or read_generation(settings.folder) == self._generation:
            return []
        try:
            network = read_network(settings.folder)
        except NetworkError as error:
            if self._network_trouble != str(error):
                log.warning("%s; the network stays as it was.", error)
            self._network_trouble = str(error)
            return []
        self._network_trouble, self._generation = "", network.generation
        before = self._router.network.edges
        gone = [
            self._destinations.pop(f"edge/{node}")
            for node, edge in before.items()
            if network.edges.get(node) != edge
        ]
        for node, edge in network.edges.items():
            if before.get(node) != edge:
                self._destinations[f"edge/{node}"] = made = self._make_edge(node, edge)
                if self._is_started:
                    made.start()
        self._write_places(to_disk=True)  # before any message depends on a new one
        self._router.network = network
        log.info(
            "Offload network: %d brokers, %s topics.",
            len(network.edges), f"{len(network.entries):,}",
        )  # fmt: skip
        return gone

    # Questions.

    def _hear_publisher(self, body: bytes) -> Callable[[], None] | None:
        """Return what tells a publisher how far its messages are on disk."""
        try:
            found = json.loads(body)
            name, number = str(found["publisher"]), int(found["number"])
        except (ValueError, KeyError, TypeError):
            return None
        if not name or set("+#/\0") & set(name):
            return None

        def reply() -> None:
            taken = self._log.numbers.get(name, (0, 0))[0]
            told = {"forwarder": self.name, "log": self._log.name, "number": number, "taken": taken}
            self._ingress.publish(naming.answer_topic(name), json.dumps(told).encode(), 0)

        return reply

    def _hear_back_end_up(self, back_end: Destination) -> None:
        back_end.wire.subscribe([(naming.ask_topic(self.name), SubscribeOptions(qos=1))])

    def _hear_question(self, message: Any) -> None:
        try:
            question = read_question(message.payload)
        except QuestionError as error:
            log.warning("A question at the back end is ignored: %s.", error)
            return
        with contextlib.suppress(asyncio.QueueFull):  # whoever hears nothing asks again
            self._resends.put_nowait(question)

    async def _resend(self) -> None:
        """Answer questions, and send again what is asked for."""
        while True:
            question = await self._resends.get()
            back_end = self._destinations[BACK_END].wire
            topic = naming.answer_topic(question.asker)
            sequences = question.resend[:MOST_RESENT] if question.log == self._log.name else ()
            for at, sequence in enumerate(sequences):
                record = self._log.get(sequence)
                if record is None or not back_end.is_up:
                    continue
                properties = pack_properties(record, self._log.name, [(naming.TOPIC, record.topic)])
                back_end.publish(topic, record.payload, 0, properties=properties)
                if at % 50 == 49:
                    await asyncio.sleep(0)
            if back_end.is_up:
                back_end.publish(topic, self._answers.answer(question), 0)
            await asyncio.sleep(0)

    # State.

    def state(self) -> dict[str, Any]:
        """Return what the forwarder tells of itself."""
        places = {key: one.place for key, one in self._destinations.items()}
        edges = [place for key, place in places.items() if key != BACK_END]
        position = self._log.position
        sides = {BACK_END: places[BACK_END], "offload": min(edges, default=position)}
        away = sorted(key for key, one in self._destinations.items() if one.trouble)
        decision = self._router.decision
        troubles = (self.trouble, self._ingress_trouble, self._network_trouble,
                    f"no connection to {', '.join(away)}" if away else "")  # fmt: skip
        counts = self._intake.counts
        return {
            "name": self.name,
            "log": self._log.name,
            "epoch": decision.epoch,
            "hash": decision.hash,
            "position": position,
            "acknowledged": sides,
            "waiting": position - min(sides.values()) + len(self._arrivals),
            "at": iso(self._now()),
            "trouble": "; ".join(one for one in troubles if one),
            "away": away,
            "bytes": self._log.num_bytes,
            "counts": {
                "taken": counts.taken,
                "again": counts.again,
                "repeated": counts.repeated,
                "early": counts.early,
                "nowhere": self._router.nowhere,
                "refused": sum(one.refused for one in self._destinations.values()),
            },
        }

    async def _tell(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._tell_soon.wait(), TELL_SECONDS)
            self._tell_soon.clear()
            if self._ingress.is_up:
                told = json.dumps(self.state()).encode()
                self._ingress.publish(naming.state_topic(self.name), told, 1, is_retained=True)

    async def _keep_places(self) -> None:
        while True:
            await asyncio.sleep(PLACE_SECONDS)
            now = time.monotonic()
            to_disk = now - self._synced >= DISK_SECONDS
            self._synced = now if to_disk else self._synced
            self._write_places(to_disk=to_disk)

    def _write_places(self, *, to_disk: bool) -> None:
        places = {key: one.place for key, one in self._destinations.items()}
        if places != self._written_places:
            try:
                self._places.write(places, to_disk=to_disk)
            except OSError as error:  # the disk is full: more is sent again after a restart
                log.warning("Places cannot be written: %s.", error.strerror)
            else:
                self._written_places = places

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for gone in self._follow_network():
                await gone.stop()
            async with self._one_at_a_time:
                self._remove_old()
            if not self._arrivals:
                self._intake.forget(self._log.numbers)

    def _remove_old(self) -> None:
        acknowledged = min(one.place for one in list(self._destinations.values()))
        self._log.remove_old(acknowledged, self._configuration.log.keep)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._fatal = task.exception()
            self._is_over.set()

    def _on_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End: nothing may go on that does not know what happened."""
        loop.default_exception_handler(context)
        if context.get("exception") is not None:
            self._fatal = context["exception"]
            self._is_over.set()


def _place(host: str, port: int, access: Access) -> Place:
    def read_password() -> str | None:
        return None if access.password_file is None else _read_password(access.password_file)

    tls = None if access.tls_ca is None else TrustOfNow(access.tls_ca)
    return Place(host, port, access.username, read_password, tls)


def _read_password(path: Path) -> str:
    """Return the password in a file; whatever is wrong with it is an OSError."""
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise OSError(f"password_file: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OSError(f"password_file: {path} is not text in UTF-8") from None


def _short(hash: str | None) -> str:
    return "none" if hash is None else hash[:12]
