"""The application: every path with who may use it, what it takes and what it answers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AfterValidator
from starlette.requests import cookie_parser

from fanwise import __version__
from fanwise.errors import FanwiseError, InputError, ParameterError
from fanwise.service.api import bodies, page_bodies
from fanwise.service.api.asking import Busy, Questions
from fanwise.service.api.auth import Person, cookie_name, let_in, requires
from fanwise.service.api.examples import add_examples
from fanwise.service.api.known import KnownTokens
from fanwise.service.api.limits import BoundedRequests, RateLimit
from fanwise.service.api.metrics import CONTENT_TYPE, Metrics
from fanwise.service.api.names import LONGEST_NAME, check_name, use_any_text
from fanwise.service.api.sessions import Sessions
from fanwise.service.api.signing_in import Door
from fanwise.service.executor.errors import ConflictError, UnknownDecisionError
from fanwise.service.page.files import Page
from fanwise.service.page.headers import CarefulHeaders
from fanwise.service.store.errors import StoreUnavailable
from fanwise.service.store.reading import LARGEST_PAGE

if TYPE_CHECKING:
    from fanwise.service.supervisor import Supervisor

log = logging.getLogger(__name__)

AWAY = "The store does not answer now; try again in a moment."
"""Where it is, and who we are there, is in the log and in the status alone."""
WAIT_SECONDS = 10.0
"""How long an approval waits for the outputs before it answers."""
LONGEST_SERIES = 2500

Hash = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The plan's id.")]
Name = Annotated[
    str,
    Path(min_length=1, description=f"Any text of at most {LONGEST_NAME:,} bytes in UTF-8."),
    AfterValidator(check_name),
]
Cursor = Annotated[
    str | None, Query(max_length=200, description="Where the page begins: of the page before.")
]
Reader = Annotated[Person, Depends(requires("read"))]
Asker = Annotated[Person, Depends(requires("read", is_free=False))]
"""With a token in any case: the answer takes long."""
Approver = Annotated[Person, Depends(requires("approve"))]
Admin = Annotated[Person, Depends(requires("admin"))]


def check_limit(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=10_000, description="Most rows of the answer.")] = 50,
) -> int:
    """Return how many rows an answer may have: no more than the configuration allows."""
    return min(limit, LARGEST_PAGE, int(request.app.state.largest_page))


Limit = Annotated[int, Depends(check_limit)]


def refuse_unknown(request: Request) -> None:
    """Refuse names in the query that a path does not take: they are misspelt."""
    described = request.app.openapi()["paths"][request.scope["route"].path_format]
    taken = described[request.method.lower()].get("parameters", ())
    known = [one["name"] for one in taken if one["in"] == "query"]
    unknown = sorted(request.query_params.keys() - known)
    if unknown:
        let_in(request)
        told = f"known are {', '.join(known)}" if known else "leave it out"
        raise HTTPException(422, f"{unknown[0]}: is no parameter of this path; {told}.")


def check_confirmed(person: Person, hash: str, typed: bodies.Confirmation | None) -> None:
    """Refuse what was typed for another decision; on the page it must be typed."""
    if typed is None and person.session is None:
        return
    if typed is None or not hash.startswith(typed.starts.lower()):
        raise ConflictError(
            f"Decision {hash}: type the first six or more characters of its hash to confirm it."
        )


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": bodies.Error, "description": "The request cannot be read."},
    401: {"model": bodies.Error, "description": "No valid token."},
    403: {"model": bodies.Error, "description": "The token's role is too small."},
    408: {"model": bodies.Error, "description": "The request did not come to its end."},
    413: {"model": bodies.Error, "description": "The request is too large."},
    422: {"model": bodies.Error, "description": "The request is not as described."},
    429: {"model": bodies.Error, "description": "Too many requests."},
    503: {"model": bodies.Error, "description": "The store does not answer now."},
}
TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"model": bodies.Error, "description": "Unknown."}}
CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": bodies.Error, "description": "No longer, or not yet, in the state for that."}
}


def make_app(service: Supervisor, metrics: Metrics) -> FastAPI:
    """Return the application of a running service."""
    server = service.configuration.server
    app = FastAPI(
        title="fanwise decision service",
        version=__version__,
        description="Watches traffic, decides which topics to serve, and carries decisions out.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        responses=ERRORS,
        dependencies=[Depends(refuse_unknown)],
    )
    app.state.store = service.store
    known = app.state.known = KnownTokens()
    sessions = app.state.sessions = Sessions(service.folder.sessions, longest=server.session)
    cookie = app.state.cookie = cookie_name(service.folder.path)
    app.state.anonymous_read = server.anonymous_read
    app.state.largest_page = server.largest_page
    app.add_middleware(
        BoundedRequests,
        largest=server.largest_request,
        limit=RateLimit(server.requests_per_minute),
        identify=lambda header: known.identify(service.store, header),
        known=known,
        find_session=lambda cookies: sessions.name_of(cookie_parser(cookies).get(cookie)),
    )
    app.add_middleware(CarefulHeaders)
    app.router.routes.extend(Page().routes)
    use_any_text()
    _add_errors(app)
    questions, door = Questions(service), Door(app)
    store, executor = service.store, service.executor

    @app.get("/healthz", tags=["health"], responses=_only())
    def healthz() -> dict[str, str]:
        """Whether the process runs."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["health"], responses={**_only(), 503: {"description": "Not ready."}})
    def readyz() -> Response:
        """Whether all parts are well; if not, which are not."""
        troubles = service.health.troubles
        return JSONResponse(
            {"status": "not ready" if troubles else "ready", "troubles": sorted(troubles)},
            503 if troubles else 200,
        )

    @app.get("/metrics", tags=["health"], response_class=Response, responses=TEXT)
    def read_metrics(person: Reader) -> Response:
        """Metrics as Prometheus reads them."""
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    @app.get("/api/v1/status", tags=["status"])
    def status(person: Reader) -> bodies.StatusBody:
        """How the service is: state of its parts, input, what is in force, what is pending."""
        return questions.status(person.role)

    @app.post("/api/v1/session", tags=["session"])
    def sign_in(
        request: Request, how: page_bodies.SignIn, answer: Response
    ) -> page_bodies.SessionBody:
        """Sign in on the page: begins a session, known by a cookie that scripts cannot read."""
        return door.sign_in(request, how, answer)

    @app.get("/api/v1/session", tags=["session"])
    def who_am_i(person: Reader) -> page_bodies.SessionBody:
        """Who you are, and what the page must send along with every change."""
        return door.describe(person)

    @app.delete("/api/v1/session", tags=["session"], status_code=204)
    def sign_out(person: Reader) -> Response:
        """Sign out: the session is worthless then."""
        answer = Response(status_code=204)
        door.sign_out(person, answer)
        return answer

    @app.get("/api/v1/decisions", tags=["decisions"])
    def list_decisions(person: Reader, limit: Limit, cursor: Cursor = None) -> bodies.DecisionPage:
        """Decisions, newest first."""
        found = store.decisions(limit, cursor)
        return bodies.DecisionPage(
            decisions=list(map(bodies.DecisionBody.of, found.rows)), cursor=found.cursor
        )

    @app.get("/api/v1/decisions/{hash}", tags=["decisions"], responses=UNKNOWN)
    def show_decision(person: Reader, hash: Hash) -> bodies.DecisionBody:
        """One decision; of several with the same hash the newest."""
        return bodies.DecisionBody.of(questions.find(hash))

    @app.get("/api/v1/decisions/{hash}/diff", tags=["decisions"], responses=UNKNOWN)
    def diff_decision(
        person: Reader,
        hash: Hash,
        limit: Limit,
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    ) -> bodies.DiffBody:
        """What it switches, with reasons, the costliest topics first."""
        return questions.diff(hash, limit, offset)

    @app.post(
        "/api/v1/decisions/{hash}/approve", tags=["decisions"], responses={**UNKNOWN, **CONFLICT}
    )
    def approve(
        person: Approver, hash: Hash, confirmation: bodies.Confirmation | None = None
    ) -> bodies.Applied:
        """Put the pending decision in force; its hash must be the one that is pending."""
        check_confirmed(person, hash, confirmation)
        begun = executor.approve(hash, person.name, person.token)
        return questions.applied(hash, begun, WAIT_SECONDS)

    @app.post(
        "/api/v1/decisions/{hash}/reject", tags=["decisions"], responses={**UNKNOWN, **CONFLICT}
    )
    def reject(
        person: Approver, hash: Hash, reason: bodies.Reason | None = None
    ) -> bodies.DecisionBody:
        """Refuse the pending decision; what is in force stays."""
        why = "" if reason is None else reason.why
        return bodies.DecisionBody.of(executor.reject(hash, person.name, why, person.token))

    @app.post(
        "/api/v1/decisions/{hash}/rollback", tags=["decisions"], responses={**UNKNOWN, **CONFLICT}
    )
    def roll_back(
        person: Approver, hash: Hash, confirmation: bodies.Confirmation | None = None
    ) -> bodies.Applied:
        """Put an earlier decision, which was in force once, in force again."""
        check_confirmed(person, hash, confirmation)
        begun = executor.roll_back(hash, person.name, person.token)
        return questions.applied(hash, begun, WAIT_SECONDS)

    @app.get("/api/v1/series", tags=["history"])
    def show_series(
        person: Reader,
        limit: Annotated[int, Query(ge=1, le=LONGEST_SERIES, description="Most decisions.")] = 720,
    ) -> page_bodies.Series:
        """Decisions over time, oldest first, as columns: value, bound, capacity, switches."""
        return questions.series(limit)

    @app.get("/api/v1/windows", tags=["history"])
    def list_windows(person: Reader, limit: Limit, cursor: Cursor = None) -> bodies.WindowPage:
        """Closed windows, newest first: events, late ones, bad rows."""
        found = store.windows(limit, cursor)
        return bodies.WindowPage(
            windows=list(map(bodies.WindowTotalsBody.of, found.rows)), cursor=found.cursor
        )

    @app.get("/api/v1/audit", tags=["history"])
    def list_audit(person: Reader, limit: Limit, cursor: Cursor = None) -> bodies.AuditPage:
        """Who did what, when, newest first."""
        found = store.audit(limit, cursor)
        return bodies.AuditPage(
            entries=list(map(bodies.AuditBody.of, found.rows)), cursor=found.cursor
        )

    @app.get("/api/v1/dead-letters", tags=["history"])
    def list_dead_letters(
        person: Reader, limit: Limit, cursor: Cursor = None
    ) -> bodies.DeadLetterPage:
        """What outputs could not be told although it was tried for long, newest first."""
        found = store.dead_letters(limit, cursor)
        return bodies.DeadLetterPage(
            deliveries=list(map(bodies.DeliveryBody.of, found.rows)), cursor=found.cursor
        )

    @app.get("/api/v1/pins", tags=["pins"])
    def list_pins(person: Reader) -> list[bodies.PinBody]:
        """Topics that are fixed by hand."""
        return list(map(bodies.PinBody.of, store.pins()))

    @app.put("/api/v1/pins/{topic:text}", tags=["pins"])
    def set_pin(person: Admin, topic: Name, pin: bodies.PinRequest) -> bodies.PinBody:
        """Always serve a topic, or never, from the next decision on."""
        made = store.set_pin(
            topic, pin.kind, who=person.name, at=questions.now(), token=person.token
        )
        return bodies.PinBody.of(made)

    @app.delete("/api/v1/pins/{topic:text}", tags=["pins"], status_code=204, responses=UNKNOWN)
    def remove_pin(person: Admin, topic: Name) -> Response:
        """Leave a topic to the numbers again."""
        done = store.remove_pin(topic, who=person.name, at=questions.now(), token=person.token)
        if not done:
            return _say(404, "This topic is neither pinned nor excluded.")
        return Response(status_code=204)

    @app.post(
        "/api/v1/what-if",
        tags=["questions"],
        responses={409: {"model": bodies.Error, "description": "No window has closed yet."}},
    )
    def what_if(person: Asker, question: bodies.WhatIf) -> bodies.WhatIfAnswer:
        """Solve the last window again with another tau, capacity or metric. Nothing is changed."""
        return questions.what_if(question)

    @app.post(
        "/api/v1/what-if/curve",
        tags=["questions"],
        responses={409: {"model": bodies.Error, "description": "No window has closed yet."}},
    )
    def show_curve(person: Asker, question: page_bodies.CurveQuestion) -> page_bodies.Curve:
        """Value and proven bound against capacity in the last window."""
        return questions.curve(question)

    @app.get("/api/v1/search", tags=["questions"], responses=CONFLICT)
    def search(
        person: Reader,
        text: Annotated[str, Query(min_length=1, max_length=LONGEST_NAME)],
        limit: Annotated[int, Query(ge=1, le=100, description="Most names of each kind.")] = 10,
    ) -> page_bodies.Found:
        """Topics and subscribers of the last window whose names contain a text."""
        return questions.search(text, limit)

    @app.get("/api/v1/network", tags=["questions"], responses=UNKNOWN)
    def show_network(person: Reader) -> page_bodies.NetworkBody:
        """The offload network: brokers, links, and what they would carry in the last window."""
        return questions.network()

    @app.get("/api/v1/topics/{name:text}", tags=["questions"], responses={**UNKNOWN, **CONFLICT})
    def show_topic(person: Reader, name: Name) -> bodies.TopicBody:
        """A topic in the last window: why it is served or offloaded, what that is worth."""
        return questions.topic(name)

    @app.get(
        "/api/v1/subscribers/{name:text}", tags=["questions"], responses={**UNKNOWN, **CONFLICT}
    )
    def show_subscriber(person: Reader, name: Name) -> bodies.SubscriberBody:
        """A subscriber in the last window: what it wants, gets, and through which topics."""
        return questions.subscriber(name)

    add_examples(app)
    return app


def _only() -> dict[int | str, dict[str, Any]]:
    """Paths that anybody may ask as often as they like."""
    return {}


def _add_errors(app: FastAPI) -> None:
    """Answer every error of ours in one line, and others without a word of what is inside."""

    def tell(status: int) -> Callable[[Request, Exception], Response]:
        return lambda request, error: _say(status, str(error))

    app.add_exception_handler(UnknownDecisionError, tell(404))
    app.add_exception_handler(ConflictError, tell(409))
    app.add_exception_handler(StoreUnavailable, lambda request, error: _say(503, AWAY))
    app.add_exception_handler(Busy, tell(429))
    app.add_exception_handler(ParameterError, tell(422))
    app.add_exception_handler(InputError, tell(404))
    app.add_exception_handler(FanwiseError, tell(422))

    @app.exception_handler(RequestValidationError)
    def refuse(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
        told = f"{place}: {first['msg']}" if place else first["msg"]
        return _refuse_entry(request) or _say(422, told)

    @app.exception_handler(400)
    def refuse_unreadable(request: Request, error: HTTPException) -> Response:
        return _refuse_entry(request) or _say(400, error.detail)

    @app.exception_handler(Exception)
    def hide(request: Request, error: Exception) -> Response:
        log.error("%s %s", request.method, request.url.path, exc_info=error)
        return _say(500, "Something went wrong; the service's log says what.")


def _refuse_entry(request: Request) -> Response | None:
    """Return what whoever may not ask hears; bodies are read before anybody is asked who it is."""
    try:
        let_in(request)
    except HTTPException as refusal:
        told = {"detail": refusal.detail}
        return JSONResponse(told, refusal.status_code, dict(refusal.headers or {}))
    except StoreUnavailable:
        return _say(503, AWAY)
    return None


def _say(status: int, text: str) -> Response:
    return JSONResponse({"detail": text}, status)
