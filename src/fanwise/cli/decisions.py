"""``fanwise decisions``: a running service, from the command line."""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from fanwise.cli import console, options
from fanwise.errors import FanwiseError, InputError, MissingDependencyError

DEFAULT_URL = "http://127.0.0.1:8731"
SHORTEST = 4
"""Digits of a hash that are enough, where one decision alone has them."""
SHOWN = 12
"""Digits of a hash that are shown."""
_HASH = re.compile(r"\b[0-9a-f]{64}\b")
SEARCHED = 500
"""Newest decisions among which a shortened hash is looked for."""
LARGEST_PAGE = 10_000
"""Most rows that may be asked for at once."""
MAY_PASS = frozenset({404, 422, 429, 503})
"""Answers that say nothing of the decision: wrong or too many questions, no store."""
VERDICTS = {
    401: "give a token by --token or FANWISE_TOKEN; fanwise serve token create makes one",
    403: "use a token with a larger role",
}

decisions_app = typer.Typer(
    no_args_is_help=True,
    help="List, show, compare, approve, reject and roll back decisions of a running service.\n\n"
    "Example: [bold]fanwise decisions list --limit 5[/bold]",
)

Url = Annotated[
    str, typer.Option(help="Address of the service.", envvar="FANWISE_URL", show_envvar=True)
]
Token = Annotated[
    str | None,
    typer.Option(
        help="A token; better in the environment.", envvar="FANWISE_TOKEN", show_envvar=True
    ),
]
Authority = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="PEM file of the authority of the service's certificate, instead of the usual ones.",
        envvar="FANWISE_CA",
        show_envvar=True,
        show_default=False,
    ),
]
Hash = Annotated[
    str, typer.Argument(metavar="HASH", help="Of a decision; its first digits are enough.")
]


class StrangeAnswerError(Exception):
    """Whoever answers is no service of ours."""


class NotAllowedError(FanwiseError):
    """The service says no: the answer is no, not a mistake of the question."""

    exit_code = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.add_typer(decisions_app, name="decisions")


class Service:
    """A running service.

    Parameters
    ----------
    authority
        PEM file with whom to trust; left out: the usual ones.
    """

    def __init__(self, url: str, token: str | None, authority: Path | None = None) -> None:
        if not _is_address(url):
            raise InputError(f"--url: {url!r} is no address such as {DEFAULT_URL}.")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InputError("--token: is no token; fanwise serve token create makes one.")
        self._url, self._token = url.rstrip("/"), token or None
        self._authority = authority

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        parameters: dict[str, Any] | None = None,
        body: dict[str, Any] | None = None,
    ) -> Any:
        """Return what the service answers.

        Raises
        ------
        InputError
            Where it cannot be reached or does not understand.
        NotAllowedError
            Where it refuses.
        """
        try:
            import httpx
        except ImportError:
            raise MissingDependencyError(
                "this needs httpx; pip install 'fanwise[serve]'."
            ) from None
        from fanwise.service.tls import explain, trust

        authority = self._authority
        verify = True if authority is None else trust(authority, "--ca")
        headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        try:
            answer = httpx.request(
                method,
                self._url + path,
                params=parameters,
                json=body,
                headers=headers,
                timeout=60.0,
                verify=verify,
                # No proxy has a way to this machine's own loopback.
                trust_env=not _is_loopback(self._url),
            )
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            host = urlsplit(self._url).hostname or ""
            wrong = explain(error, host, authority, "give its authority by --ca or FANWISE_CA")
            if wrong is not None:
                raise InputError(f"{self._url}: {wrong}.") from None
            raise InputError(
                f"{self._url}: does not answer ({str(error) or type(error).__name__}); is the "
                "service running there? --url names another address."
            ) from None
        if answer.is_success:
            try:
                return answer.json()
            except ValueError:
                raise StrangeAnswerError from None
        detail = _detail(answer)
        hint = VERDICTS.get(answer.status_code)
        message = f"{self._url}: {detail}" + (f" ({hint})" if hint else "")
        raise (InputError if answer.status_code in MAY_PASS else NotAllowedError)(message)

    def full_hash(self, text: str) -> str:
        """Return the whole hash of a decision that begins with a text."""
        if len(text) == 64:
            return text
        if len(text) < SHORTEST:
            raise InputError(f"{text!r} is too short: give {SHORTEST} digits of the hash or more.")
        known = {one["hash"] for one in self.newest(SEARCHED) if one["hash"].startswith(text)}
        if len(known) != 1:
            found = "several decisions begin" if known else "no decision begins"
            raise InputError(f"{found} with {text!r}; fanwise decisions list shows them.")
        return str(known.pop())

    def newest(self, count: int) -> list[dict[str, Any]]:
        """Return the newest decisions."""
        return self.rows("/api/v1/decisions", "decisions", count)

    def rows(self, path: str, name: str, count: int) -> list[dict[str, Any]]:
        """Return the newest rows of what comes in pages."""
        rows: list[dict[str, Any]] = []
        parameters: dict[str, Any] = {}
        while len(rows) < count:
            parameters["limit"] = min(count - len(rows), 200)
            page = self.ask(path, parameters=parameters)
            rows += page[name]
            if page["cursor"] is None:
                break
            parameters["cursor"] = page["cursor"]
        return rows[:count]


def understood(command: Callable[..., None]) -> Callable[..., None]:
    """Say in one line that answers are not those of a service, whatever they are instead."""

    @functools.wraps(command)
    def run(*arguments: Any, **more: Any) -> None:
        try:
            command(*arguments, **more)
        except (StrangeAnswerError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise InputError(
                f"{more['url']}: is no answer of a fanwise service, or of another version; "
                "--url names another address."
            ) from error

    return run


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _shorten(text: str) -> str:
    """Return a text with the first digits of each hash alone: they are enough to name it."""
    return _HASH.sub(lambda found: found[0][:SHOWN], text)


def _detail(answer: Any) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}"


@decisions_app.command("list")
@understood
def list_decisions(
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = 20,
    url: Url = DEFAULT_URL,
    token: Token = None,
    ca: Authority = None,
    as_json: options.Json = False,
) -> None:
    """List the newest decisions.

    Example: [bold]fanwise decisions list --limit 5[/bold]
    """
    rows = Service(url, token, ca).newest(limit)
    if as_json:
        console.print_json({"decisions": rows})
        return
    table = [
        [
            _shorten(one["hash"]),
            one["window"]["start"][:16].replace("T", " "),
            one["state"],
            one["value"],
            console.percent(one["gap"]),
            one["changes"],
            _shorten(one["why"]),
        ]
        for one in rows
    ]
    columns = ("hash", "window", "state", "value", "gap", "changes", "why")
    console.out().print(console.table("Decisions", columns, table))


@decisions_app.command("show")
@understood
def show(
    hash: Hash,
    url: Url = DEFAULT_URL,
    token: Token = None,
    ca: Authority = None,
    as_json: options.Json = False,
) -> None:
    """Show one decision."""
    service = Service(url, token, ca)
    decision = service.ask(f"/api/v1/decisions/{service.full_hash(hash)}")
    _print_decision(decision, as_json=as_json)


@decisions_app.command("diff")
@understood
def diff(
    hash: Hash,
    limit: Annotated[int, typer.Option(min=1, help="How many topics, the costliest first.")] = 50,
    url: Url = DEFAULT_URL,
    token: Token = None,
    ca: Authority = None,
    as_json: options.Json = False,
) -> None:
    """Show which topics a decision switches, and why."""
    service = Service(url, token, ca)
    path = f"/api/v1/decisions/{service.full_hash(hash)}/diff"
    found = service.ask(path, parameters={"limit": min(limit, LARGEST_PAGE)})
    while found["next"] is not None and len(found["changes"]) < limit:
        more = min(limit - len(found["changes"]), LARGEST_PAGE)
        rest = service.ask(path, parameters={"offset": found["next"], "limit": more})
        found["changes"] += rest["changes"]
        found["next"] = rest["next"]
    found["changes"] = found["changes"][:limit]
    if as_json:
        console.print_json(found)
        return
    rows = [
        [
            "on" if one["served"] else "off",
            one["topic"],
            one["followers"],
            one["cost"],
            one["reason"],
        ]
        for one in found["changes"]
    ]
    title = f"{int(found['on']):,} on, {int(found['off']):,} off"
    columns = ("", "topic", "followers", "cost", "why")
    console.out().print(console.table(title, columns, rows))


@decisions_app.command("approve")
@understood
def approve(
    hash: Hash,
    url: Url = DEFAULT_URL,
    token: Token = None,
    ca: Authority = None,
    as_json: options.Json = False,
) -> None:
    """Put the pending decision in force."""
    _apply(hash, "approve", Service(url, token, ca), as_json=as_json)


@decisions_app.command("reject")
@understood
def reject(
    hash: Hash,
    why: Annotated[str, typer.Option(help="Why; the audit trail keeps it.")] = "",
    url: Url = DEFAULT_URL,
    token: Token = None,
    ca: Authority = None,
    as_json: options.Json = False,
) -> None:
    """Refuse the pending decision; what is in force stays."""
    service = Service(url, token, ca)
    path = f"/api/v1/decisions/{service.full_hash(hash)}/reject"
    _print_decision(service.ask(path, method="POST", body={"why": why}), as_json=as_json)


@decisions_app.command("rollback")
@understood
def roll_back(
    hash: Hash,
    url: Url = DEFAULT_URL,
    token: Token = None,
    ca: Authority = None,
    as_json: options.Json = False,
) -> None:
    """Put a decision in force again that was in force before."""
    _apply(hash, "rollback", Service(url, token, ca), as_json=as_json)


@decisions_app.command("dead-letters")
@understood
def list_dead_letters(
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = 20,
    url: Url = DEFAULT_URL,
    token: Token = None,
    ca: Authority = None,
    as_json: options.Json = False,
) -> None:
    """List what outputs could not be told although it was tried for long, and why."""
    rows = Service(url, token, ca).rows("/api/v1/dead-letters", "deliveries", limit)
    if as_json:
        console.print_json({"deliveries": rows})
        return
    table = [
        [
            one["created_at"][:16].replace("T", " "),
            one["output"],
            "nothing" if one["hash"] is None else _shorten(one["hash"]),
            one["attempts"],
            one["error"],
        ]
        for one in rows
    ]
    columns = ("since", "output", "hash", "attempts", "why")
    console.out().print(console.table("Dead letters", columns, table))


def _apply(hash: str, verb: str, service: Service, *, as_json: bool) -> None:
    path = f"/api/v1/decisions/{service.full_hash(hash)}/{verb}"
    done = service.ask(path, method="POST")
    if as_json:
        console.print_json(done)
    else:
        decision = done["decision"]
        words = {"done": "in force", "open": "being applied"}.get(done["state"], done["state"])
        why = f": {done['why'] or decision['why']}" if done["state"] not in ("done", "open") else ""
        told = console.printable(f"{_shorten(decision['hash'])} is {words}{why}")
        console.out().print(told, markup=False, soft_wrap=True)
    if done["state"] in ("failed", "cancelled"):
        raise typer.Exit(1)


def _print_decision(decision: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        console.print_json(decision)
        return
    window = decision["window"]
    pairs = [
        ("hash", decision["hash"]),
        ("window", f"{window['start']} to {window['end']}"),
        ("state", decision["state"]),
        ("why", decision["why"] or "–"),  # noqa: RUF001
        ("value", decision["value"]),
        ("bound", decision["bound"]),
        ("certified gap", console.percent(decision["gap"])),
        ("changes", decision["changes"]),
        ("foretold, delivered", f"{decision['predicted']}, {decision['delivered']}"),
        *((name.replace("_", " "), value) for name, value in decision["facts"].items()),
        *((f"seconds: {part}", value) for part, value in decision["seconds"].items()),
        ("workload", decision["workload"]),
    ]
    console.out().print(console.facts(f"Decision {decision['number']}", pairs))
