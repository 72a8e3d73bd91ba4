"""Options that the commands of the broker network share, and what becomes of them."""

from __future__ import annotations

import ipaddress
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanwise.cli import console, signals
from fanwise.durations import parse_duration
from fanwise.errors import FanwiseError, MissingDependencyError, ParameterError

if TYPE_CHECKING:
    from fanwise.brokers.network.connection import Pulse
    from fanwise.brokers.network.endpoint import Admission
    from fanwise.brokers.network.server import Facts, ServerOptions

STOP_SECONDS = 20.0
"""From SIGTERM until the process ends in any case."""
MEGABYTE = 10**6

Data = Annotated[
    Path, typer.Option("--data", help="Folder of its log; made if missing.", show_default=False)
]
Listen = Annotated[
    str,
    typer.Option("--listen", metavar="ADDRESS", help="Where to listen; port 0: a free one."),
]
Advertise = Annotated[
    str | None,
    typer.Option(
        "--advertise", metavar="ADDRESS", help="Address that others are told, if another one.",
        show_default=False,
    ),
]  # fmt: skip
Directory = Annotated[
    str,
    typer.Option(
        "--directory", metavar="ADDRESS", help="Where the directory is.", show_default=False
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics", metavar="ADDRESS", help="Where to answer Prometheus.", show_default=False
    ),
]
TlsCertificate = Annotated[
    Path | None,
    typer.Option("--tls-certificate", help="PEM file to serve TLS with.", show_default=False),
]
TlsKey = Annotated[
    Path | None, typer.Option("--tls-key", help="PEM file of its key.", show_default=False)
]
TlsCa = Annotated[
    Path | None,
    typer.Option(
        "--tls-ca", help="PEM file of the authority of others; turns TLS towards them on.",
        show_default=False,
    ),
]  # fmt: skip
ClientTokens = Annotated[
    Path | None,
    typer.Option(
        "--client-tokens", help="File of tokens that let clients in, one a line.",
        show_default=False,
    ),
]  # fmt: skip
PeerTokens = Annotated[
    Path | None,
    typer.Option(
        "--peer-tokens", help="File of tokens that let brokers, directory and tools in; the first "
        "one is shown to them.", show_default=False,
    ),
]  # fmt: skip
Heartbeat = Annotated[
    str,
    typer.Option(
        "--heartbeat",
        metavar="TIME",
        help="Between signs of life; silence of 3.5 of them is death.",
    ),
]
Exposed = Annotated[
    bool,
    typer.Option(
        "--exposed", help="Listen beyond this machine also without TLS or tokens: whoever reaches "
        "it may read, publish, and pretend to be a broker.",
    ),
]  # fmt: skip
DiskLimit = Annotated[
    int, typer.Option("--disk-limit", metavar="MB", min=1, help="Most megabytes of the log.")
]
LeastFree = Annotated[
    int,
    typer.Option("--least-free", metavar="MB", min=0, help="Megabytes of the disk to leave free."),
]


def require_extra() -> None:
    """Refuse to begin without the packages of the network.

    Raises
    ------
    MissingDependencyError
        Which names what is missing, and how to get it.
    """
    try:
        import msgpack
        import prometheus_client
    except ImportError as error:
        raise MissingDependencyError(
            f"the broker network needs more packages ({error.name} is missing); "
            "pip install 'fanwise[brokers]'."
        ) from None
    del msgpack, prometheus_client


def read_address(text: str, option: str) -> str:
    """Return an address that an option gives, or refuse it."""
    from fanwise.brokers.network.addresses import parse_address

    try:
        parse_address(text, option)
    except ParameterError:
        raise FanwiseError(f"{option}: {text!r} is no address as in 127.0.0.1:7400.") from None
    return text


def read_pulse(heartbeat: str) -> Pulse:
    """Return the signs of life that an option asks for."""
    from fanwise.brokers.network.connection import Pulse

    seconds = float(parse_duration(heartbeat, "--heartbeat"))
    return Pulse(heartbeat=seconds, silence=3.5 * seconds)


def read_admission(
    certificate: Path | None,
    key: Path | None,
    authority: Path | None,
    client_tokens: Path | None,
    peer_tokens: Path | None,
) -> Admission:
    """Return who may come in, and how others are approached."""
    from fanwise.brokers.network.endpoint import Admission
    from fanwise.brokers.network.tls import serve_with, trust
    from fanwise.brokers.network.tokens import Tokens, read_tokens

    if (certificate is None) != (key is None):
        given, other = ("certificate", "key") if key is None else ("key", "certificate")
        raise FanwiseError(f"--tls-{given} needs --tls-{other} beside it.")
    if client_tokens is not None and peer_tokens is None:
        raise FanwiseError(
            "--client-tokens needs --peer-tokens beside it: else whoever says that it is a broker "
            "is let in."
        )
    clients = [] if client_tokens is None else read_tokens(client_tokens, "--client-tokens")
    peers = [] if peer_tokens is None else read_tokens(peer_tokens, "--peer-tokens")
    of_peers = Tokens(peers)
    return Admission(
        tokens={
            "client": Tokens(clients),
            **dict.fromkeys(("broker", "directory", "tool"), of_peers),
        },
        token=peers[0] if peers else "",
        serving=None if certificate is None or key is None else serve_with(certificate, key),
        trusting=None if authority is None else trust(authority),
    )


def read_server(
    data: Path,
    listen: str,
    advertise: str | None,
    metrics: str | None,
    admission: Admission,
    heartbeat: str,
    disk_limit: int,
    least_free: int,
    *,
    is_exposed: bool,
) -> ServerOptions:
    """Return what brokers and directories have in common."""
    from fanwise.brokers.network.server import ServerOptions

    host, port = _read_place(listen, "--listen")
    is_guarded = admission.serving is not None and bool(admission.tokens["client"])
    if not (_is_loopback(host) or is_guarded or is_exposed):
        raise FanwiseError(
            f"--listen: others reach {host}: give --tls-certificate, --tls-key, --client-tokens "
            "and --peer-tokens, or --exposed to let everybody in."
        )
    metrics_host, metrics_port = ("127.0.0.1", None) if metrics is None else (
        _read_place(metrics, "--metrics")
    )  # fmt: skip
    return ServerOptions(
        data=data, host=host, port=port,
        advertise="" if advertise is None else read_address(advertise, "--advertise"),
        admission=admission, pulse=read_pulse(heartbeat),
        metrics_host=metrics_host, metrics_port=metrics_port,
        least_free=least_free * MEGABYTE, disk_limit=disk_limit * MEGABYTE,
    )  # fmt: skip


def _read_place(text: str, option: str) -> tuple[str, int]:
    from fanwise.brokers.network.addresses import parse_address

    try:
        return parse_address(text, option, least_port=0)
    except ParameterError:
        raise FanwiseError(f"{option}: {text!r} is no address as in 127.0.0.1:7400.") from None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def begin() -> None:
    """Log to standard error, and have time to stop in order."""
    signals.be_patient(STOP_SECONDS)
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
    )
    logging.getLogger("fanwise").setLevel(logging.INFO)


def announce(kind: str, facts: Facts, *, as_json: bool) -> None:
    """Say that a server is ready."""
    if as_json:
        told = {
            "name": facts.name, "kind": kind, "address": facts.address, "listen": facts.listen,
            "data": str(facts.data), "metrics": facts.metrics,
        }  # fmt: skip
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        return
    label = kind if kind == facts.name else f"{kind} {facts.name}"
    metrics = f", metrics at {facts.metrics}" if facts.metrics else ""
    console.out().print(
        f"{label} listens at {facts.address}, log in {facts.data}{metrics}. Stop it "
        "with Ctrl-C.",
        markup=False, soft_wrap=True,
    )  # fmt: skip


def end(number: int | None) -> None:
    """End with the status that a signal means."""
    if number is not None:
        raise SystemExit(128 + number)
