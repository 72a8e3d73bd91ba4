"""Files by which the configurations run under systemd or in containers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from fanwise.offload.network import Network
from fanwise.offload.options import NODE, Options
from fanwise.planning.outputs import REMARK

UNIT_FILE = "fanwise-edge@.service"
COMPOSE_FILE = "compose.yaml"
IMAGE = "eclipse-mosquitto:2.0"
LABEL = "fanwise.configuration"

UNIT = f"""\
# {REMARK}: edge brokers under systemd, one instance for each configuration.
# Put the configurations into /etc/fanwise/edges and this file into /etc/systemd/system.
[Unit]
Description=fanwise edge broker %i
Documentation=man:mosquitto.conf(5)
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/sbin/mosquitto -c /etc/fanwise/edges/%i.conf
ExecReload=/bin/kill -HUP $MAINPID
User=mosquitto
StateDirectory=fanwise-edge/%i
WorkingDirectory=/var/lib/fanwise-edge/%i
Restart=always
RestartSec=1
LimitNOFILE=65536
NoNewPrivileges=true
PrivateTmp=true
ProtectHome=true
ProtectSystem=strict

[Install]
WantedBy=multi-user.target
"""


def write_compose(network: Network, options: Options, texts: Mapping[str, str]) -> str:
    """Return a compose file with a service for each broker, on the network of the host.

    A label has the digest of its configuration: ``docker compose up`` makes a container anew if
    the configuration is another one, and only then.

    Parameters
    ----------
    texts
        The configurations, by the names of their files without the ending.
    """
    return "".join(f"{line}\n" for line in _compose_lines(network, options, texts))


def _compose_lines(network: Network, options: Options, texts: Mapping[str, str]) -> Iterator[str]:
    yield f"# {REMARK}: edge brokers as containers."
    yield "# docker compose -f compose.yaml up --detach --remove-orphans"
    yield "name: fanwise-edges"
    yield "services:" if network.nodes else "services: {}"
    for node in network.nodes.values():
        digest = hashlib.sha256(texts[node.file].encode()).hexdigest()
        data = "/mosquitto/data"
        mounts = [
            f"./{node.file}.conf:/mosquitto/config/mosquitto.conf:ro",
            f"{node.file}:{data}",
            *(f"{path}:{path}:ro" for path in _secrets(options, node.file)),
        ]
        yield f"  {_quote(node.file)}:"
        yield f"    image: {IMAGE}"
        yield "    network_mode: host"
        yield "    restart: unless-stopped"
        yield f"    working_dir: {data}"
        yield "    labels:"
        yield f"      {LABEL}: {_quote(digest)}"
        yield "    volumes:"
        for mount in mounts:
            yield f"      - {_quote(mount)}"
    if network.nodes:
        yield "volumes:"
    for node in network.nodes.values():
        yield f"  {_quote(node.file)}: {{}}"


def _secrets(options: Options, file: str) -> list[str]:
    """Return the files that a configuration names, which are mounted under the same names."""
    paths = []
    if options.tls is not None:
        tls = options.tls
        paths += [tls.ca, tls.certificate, tls.key]
    if options.passwords is not None:
        paths.append(options.passwords.file)
    return list(dict.fromkeys(path.replace(NODE, file) for path in paths))


def _quote(text: str) -> str:
    """Return a text as YAML; a dollar sign would be a variable of compose."""
    return json.dumps(text.replace("$", "$$"))
