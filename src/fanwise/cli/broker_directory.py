"""``fanwise broker directory``."""

from __future__ import annotations

import typer

from fanwise.cli import broker_options as shared
from fanwise.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("directory")(directory)


def directory(
    data: shared.Data,
    listen: shared.Listen = "127.0.0.1:7400",
    advertise: shared.Advertise = None,
    metrics: shared.Metrics = None,
    tls_certificate: shared.TlsCertificate = None,
    tls_key: shared.TlsKey = None,
    client_tokens: shared.ClientTokens = None,
    peer_tokens: shared.PeerTokens = None,
    exposed: shared.Exposed = False,
    heartbeat: shared.Heartbeat = "2s",
    disk_limit: shared.DiskLimit = 1_000,
    least_free: shared.LeastFree = 16,
    as_json: options.Json = False,
) -> None:
    """Know which brokers there are, and tell clients which ones they may use.

    Brokers join by themselves and are listed until they leave; the list is on disk
    and survives a restart. While no directory runs, brokers and clients go on with
    what they know.

    Example: [bold]fanwise broker directory --data directory/ --listen 127.0.0.1:7400[/bold]
    """
    shared.require_extra()
    admission = shared.read_admission(tls_certificate, tls_key, None, client_tokens, peer_tokens)
    server = shared.read_server(
        data, listen, advertise, metrics, admission, heartbeat, disk_limit, least_free,
        is_exposed=exposed,
    )  # fmt: skip
    from fanwise.brokers.network.directory import DirectoryOptions, run_directory
    from fanwise.brokers.protocol.settings import DirectorySettings

    shared.begin()
    number = run_directory(
        DirectoryOptions(server, DirectorySettings(view_seconds=0.25)),
        lambda facts: shared.announce("directory", facts, as_json=as_json),
    )
    shared.end(number)
