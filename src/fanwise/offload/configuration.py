"""The configuration of one broker, for Mosquitto 2.0.

Bridges speak MQTT 5, so that user properties pass. Mosquitto 2.0 gives a bridge of MQTT 5 no
session at its farther end that outlives the connection, whatever ``cleansession`` says; ``true``
says what is, and keeps it so in later versions: a kept session would go on receiving topics that
the bridge has no longer. The near end keeps its queue while the farther one is away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from fanwise.offload.network import Bridge, Network, Node, client_id, connection_name
from fanwise.offload.options import NODE, Options
from fanwise.planning.outputs import REMARK

MAX_QUEUED_MESSAGES = 100_000
MAX_QUEUED_BYTES = 256 * 2**20
"""What a broker keeps for each client or bridge that is away."""
MAX_INFLIGHT = 200
"""Messages on their way over a bridge at once; Mosquitto's 20 make long links slow."""
AUTOSAVE_SECONDS = 60
KEEPALIVE_SECONDS = 10
"""A bridge notices after 1.5 times this that the other end is gone without a word."""
RESTART_SECONDS = "1 2"
"""Shortest and longest wait before a bridge tries again. One number alone waits 5 s in 2.0.11."""

RELOADED = frozenset(
    {
        "allow_anonymous",
        "password_file",
        "autosave_interval",
        "max_queued_messages",
        "max_queued_bytes",
        "max_inflight_messages",
        "log_timestamp_format",
    }
)
"""What Mosquitto 2.0.11 reads again on SIGHUP, of what is written here. Bridges are not."""


def needs_restart(old: str, new: str) -> bool:
    """Whether a broker must start anew for a configuration; else SIGHUP will do."""
    return _lasting(old) != _lasting(new)


def _lasting(text: str) -> list[str]:
    return [
        line
        for line in text.splitlines()
        if not line.startswith("#") and line.partition(" ")[0] not in RELOADED
    ]


def write_configuration(network: Network, node: Node, options: Options) -> str:
    """Return the text of a broker's configuration."""
    lines = [*_broker_lines(node, options)]
    for bridge in network.bridges_at(node.name):
        lines += ["", *_bridge_lines(network, bridge, options)]
    return "".join(f"{line}\n" for line in lines)


def _broker_lines(node: Node, options: Options) -> Iterator[str]:
    yield f"# {REMARK}: edge broker {json.dumps(node.name)}"
    yield f"listener {node.port} {options.listen or node.host}"
    if options.tls is not None:
        tls = options.tls
        yield f"cafile {tls.ca}"
        yield f"certfile {_of_node(tls.certificate, node)}"
        yield f"keyfile {_of_node(tls.key, node)}"
        if tls.require_certificate:
            yield "require_certificate true"
    if options.passwords is None:
        yield "allow_anonymous true"
    else:
        yield "allow_anonymous false"
        yield f"password_file {options.passwords.file}"
    yield "persistence true"
    yield f"autosave_interval {AUTOSAVE_SECONDS}"
    yield f"max_queued_messages {MAX_QUEUED_MESSAGES}"
    yield f"max_queued_bytes {MAX_QUEUED_BYTES}"
    yield f"max_inflight_messages {MAX_INFLIGHT}"
    yield "set_tcp_nodelay true"
    yield "log_dest stderr"
    yield "log_timestamp_format %Y-%m-%dT%H:%M:%S"


def _bridge_lines(network: Network, bridge: Bridge, options: Options) -> Iterator[str]:
    node, other = network.nodes[bridge.node], network.nodes[bridge.other]
    yield f"connection {connection_name(network, bridge)}"
    yield f"address {other.host}:{other.port}"
    yield f"remote_clientid {client_id(network, bridge)}"
    yield "bridge_protocol_version mqttv50"
    yield "cleansession true"
    yield "local_cleansession false"
    yield f"keepalive_interval {KEEPALIVE_SECONDS}"
    yield f"restart_timeout {RESTART_SECONDS}"
    yield "notifications true"
    yield "notifications_local_only true"
    if options.tls is not None:
        yield f"bridge_cafile {options.tls.ca}"
        if options.tls.require_certificate:
            yield f"bridge_certfile {_of_node(options.tls.certificate, node)}"
            yield f"bridge_keyfile {_of_node(options.tls.key, node)}"
    if options.passwords is not None:
        yield f"remote_username {options.passwords.username}"
        yield f"remote_password {options.passwords.password}"
    for topic in bridge.topics:
        yield f"topic {topic} both 1"


def _of_node(path: str, node: Node) -> str:
    return path.replace(NODE, node.file)
