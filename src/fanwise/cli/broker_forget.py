"""``fanwise broker forget``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import broker_options as shared
from fanwise.cli import options
from fanwise.cli.broker_list import print_view
from fanwise.errors import FanwiseError

if TYPE_CHECKING:
    from fanwise.brokers.network.endpoint import Admission


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("forget")(forget)


def forget(
    name: Annotated[str, typer.Argument(help="The broker.", show_default=False)],
    directory: shared.Directory,
    tls_ca: shared.TlsCa = None,
    peer_tokens: shared.PeerTokens = None,
    as_json: options.Json = False,
) -> None:
    """Forget a broker whose disk is lost: nobody waits for it any longer.

    What was acknowledged by it alone is lost. A broker that works leaves by itself on
    SIGUSR1, and loses nothing.

    Example: [bold]fanwise broker forget east --directory 127.0.0.1:7400[/bold]
    """
    shared.require_extra()
    address = shared.read_address(directory, "--directory")
    admission = shared.read_admission(None, None, tls_ca, None, peer_tokens)
    print_view(asyncio.run(_forget(address, admission, name)), as_json=as_json)


async def _forget(address: str, admission: Admission, name: str) -> Any:
    from fanwise.brokers.messages import Leave, NotDone, View
    from fanwise.brokers.network.asking import Asker

    async with Asker(address, admission) as asker:
        view = await asker.hear(View)
        alive = {row[0]: row[5] for row in view.brokers}
        if name not in alive:
            raise FanwiseError(f"no broker {name!r} has joined; fanwise broker list shows them.")
        if alive[name]:
            raise FanwiseError(f"broker {name!r} lives; SIGUSR1 to its process has it leave.")
        asker.say(Leave(name))
        answer = await asker.hear(View, NotDone)
        while type(answer) is View and any(row[0] == name for row in answer.brokers):
            answer = await asker.hear(View, NotDone)
        if type(answer) is NotDone:
            raise FanwiseError(f"{name}: {answer.code} {answer.detail}".strip() + ".")
        return answer
