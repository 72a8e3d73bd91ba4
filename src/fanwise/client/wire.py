"""A connection to a broker inside an event loop, made again whenever it is lost.

paho-mqtt speaks MQTT 5; the loop tells it when its socket can be read or written. Each connection
is a paho client of its own: nothing of a lost one is left, whoever uses it sends again what counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from paho.mqtt.client import Client, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

FAILURE = 128
"""Reason codes from here on say that the broker refused."""
MOST_AT_ONCE = 64
"""Packets read before others get a turn."""
TICK = 0.5
"""Seconds between looks at whether the other side is still there."""
CONNECT_SECONDS = 5.0
KEEPALIVE = 15


@dataclass(frozen=True)
class Place:
    """A broker, and who to be there.

    Attributes
    ----------
    password
        Asked for each connection: it may change.
    tls
        What trusts the broker; None: no TLS.
    """

    host: str
    port: int
    username: str | None = None
    password: Callable[[], str | None] = lambda: None
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Session:
    """What a connection asks of the broker.

    Attributes
    ----------
    seconds
        How long the broker keeps the session of a client that is away; 0: not at all.
    is_resumed
        Whether the first connection goes on with a session that is there; later ones always do.
    receive_maximum
        How many messages the broker sends before it waits for acknowledgements.
    acknowledges
        Whether messages are acknowledged by :meth:`Wire.acknowledge` alone.
    """

    seconds: int = 0
    is_resumed: bool = False
    receive_maximum: int = 65_535
    acknowledges: bool = False


class Listener:
    """What a wire tells; override what matters."""

    def on_up(self, is_resumed: bool, window: int) -> None:
        """There is a connection; whether the broker knew the session, and how much it takes."""

    def on_down(self, reason: str) -> None:
        """There is none: it was lost, or could not be made."""

    def on_message(self, message: MQTTMessage) -> None:
        """A message came."""

    def on_sent(self, number: int, reason: ReasonCode) -> None:
        """The broker has acknowledged a message, or refused it."""

    def on_subscribed(self, number: int, reasons: Sequence[ReasonCode]) -> None:
        """The broker has answered a subscription."""


class Wire:
    """A connection that is kept up from :meth:`start` to :meth:`stop`.

    Parameters
    ----------
    explain
        Says in words why a connection failed.
    retry
        Seconds between attempts.
    """

    def __init__(
        self,
        place: Place,
        client_id: str,
        listener: Listener,
        session: Session | None = None,
        *,
        explain: Callable[[BaseException], str | None] = lambda error: None,
        retry: float = 0.5,
    ) -> None:
        self.place, self.client_id = place, client_id
        self._listener, self._session = listener, session or Session()
        self._explain, self._retry = explain, retry
        self.is_up = False
        self._client: Client | None = None
        self._socket: socket.socket | None = None
        self._is_first = True
        self._is_paused = False
        self._packets = 0
        self._down = asyncio.Event()
        self._reason = ""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Connect, and stay connected."""
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run())

    async def stop(self) -> None:
        """Leave the broker, after what was written has been sent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._client is not None and self.is_up:
            self.is_up = False
            self._client.disconnect()
            for _ in range(20):
                self._client.loop_write()
                if self._client is None or not self._client.want_write():
                    break
                await asyncio.sleep(0.01)
        self._forget()

    def subscribe(self, filters: Sequence[tuple[str, SubscribeOptions]]) -> int:
        """Ask for messages; return the number of the request."""
        assert self._client is not None
        return int(self._client.subscribe(list(filters))[1] or 0)

    def unsubscribe(self, filters: Sequence[str]) -> int:
        """Ask for no more messages; return the number of the request."""
        assert self._client is not None
        return int(self._client.unsubscribe(list(filters))[1] or 0)

    def publish(
        self,
        topic: str,
        payload: bytes,
        quality: int = 1,
        *,
        is_retained: bool = False,
        properties: Properties | None = None,
    ) -> int:
        """Send a message; return its number, as :meth:`Listener.on_sent` names it."""
        assert self._client is not None
        return self._client.publish(topic, payload, quality, is_retained, properties).mid

    def acknowledge(self, message: int, quality: int) -> None:
        """Tell the broker that a message of this connection was taken."""
        assert self._client is not None
        if quality:
            self._client.ack(message, quality)

    def pause(self) -> None:
        """Read nothing: the broker has to wait."""
        if not self._is_paused:
            self._is_paused = True
            if self._socket is not None:
                self._loop.remove_reader(self._socket)

    def resume(self) -> None:
        """Read again."""
        if self._is_paused:
            self._is_paused = False
            if self._socket is not None:
                self._loop.add_reader(self._socket, self._read)
                self._loop.call_soon(self._read)

    async def _run(self) -> None:
        while True:
            self._down.clear()
            try:
                await asyncio.wait_for(self._connect(), CONNECT_SECONDS + 2)
            except (OSError, ValueError, TimeoutError) as error:
                self._forget()
                said = self._explain(error) or getattr(error, "strerror", None)
                self._listener.on_down(said or str(error) or type(error).__name__)
            else:
                await self._attend()
                self._forget()
                self.is_up = False
                self._listener.on_down(self._reason)
            await asyncio.sleep(self._retry)

    async def _connect(self) -> None:
        place, session = self.place, self._session
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=self.client_id,
            protocol=MQTTv5,
            manual_ack=session.acknowledges,
            reconnect_on_failure=False,
        )
        client.max_queued_messages_set(0)
        client.max_inflight_messages_set(65_535)  # whoever sends counts for itself
        client.connect_timeout = CONNECT_SECONDS
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_publish = self._on_publish
        client.on_subscribe = self._on_subscribe
        if place.username is not None:
            client.username_pw_set(place.username, place.password())
        if place.tls is not None:
            client.tls_set_context(place.tls)
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = session.seconds
        properties.ReceiveMaximum = session.receive_maximum
        is_clean = self._is_first and not session.is_resumed
        self._reason = "the connection was lost"
        # Connecting blocks, also for the name of the host and for TLS.
        await self._loop.run_in_executor(
            None,
            lambda: client.connect(
                place.host, place.port, KEEPALIVE, clean_start=is_clean, properties=properties
            ),
        )
        found = client.socket()
        if found is None:
            raise OSError("the connection was lost")
        self._client = client
        self._socket = found  # type: ignore[assignment]
        client.on_socket_register_write = self._want_write
        client.on_socket_unregister_write = self._want_no_write
        client.on_socket_close = self._on_socket_close
        self._loop.add_reader(found, self._read)
        if client.want_write():
            self._want_write(client, None, found)

    async def _attend(self) -> None:
        """Return when the connection is lost."""
        waited = 0.0
        while not self._down.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._down.wait(), TICK)
            if self._client is not None:
                self._client.loop_misc()
            waited += TICK
            if not self.is_up and waited > CONNECT_SECONDS and not self._down.is_set():
                self._reason = "the broker does not answer"
                return

    def _read(self) -> None:
        client = self._client
        for _ in range(MOST_AT_ONCE):
            if client is None or self._socket is None or self._is_paused:
                return
            before = self._packets
            if client.loop_read() != MQTTErrorCode.MQTT_ERR_SUCCESS:
                self._down.set()
                return
            if self._packets == before:
                return
        self._loop.call_soon(self._read)  # TLS may hold more that the socket does not tell of

    def _write(self) -> None:
        if self._client is not None:
            self._client.loop_write()

    def _want_write(self, client: Any, data: Any, sock: Any) -> None:
        if self._socket is not None:
            self._loop.add_writer(self._socket, self._write)

    def _want_no_write(self, client: Any, data: Any, sock: Any) -> None:
        if self._socket is not None:
            self._loop.remove_writer(self._socket)

    def _on_socket_close(self, client: Any, data: Any, sock: Any) -> None:
        if self._socket is not None and client is self._client:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket = None
            self._down.set()

    def _forget(self) -> None:
        """Close what is left of a connection."""
        client, self._client = self._client, None
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket.close()
            self._socket = None
        if client is not None:
            client.on_disconnect = client.on_socket_close = None

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._packets += 1
        if reason.is_failure:
            self._reason = f"the broker refuses the connection: {reason}"
            self._down.set()
            return
        self._is_first = False
        self._is_paused = False
        self.is_up = True
        window = getattr(properties, "ReceiveMaximum", 65_535)
        self._listener.on_up(bool(flags.session_present), int(window))

    def _on_disconnect(
        self, client: Any, data: Any, flags: Any, reason: Any, properties: Any
    ) -> None:
        if client is self._client:
            if flags.is_disconnect_packet_from_server:
                self._reason = f"the broker ended the connection: {reason}"
            self.is_up = False
            self._down.set()

    def _on_message(self, client: Any, data: Any, message: MQTTMessage) -> None:
        self._packets += 1
        self._listener.on_message(message)

    def _on_publish(self, client: Any, data: Any, number: int, reason: Any, more: Any) -> None:
        self._packets += 1
        self._listener.on_sent(number, reason)

    def _on_subscribe(self, client: Any, data: Any, number: int, reasons: Any, more: Any) -> None:
        self._packets += 1
        self._listener.on_subscribed(number, reasons)
