"""The API against its own description, by schemathesis: fine questions and broken ones."""

from __future__ import annotations

import contextlib

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks
from tests.service.api.conftest import Clients
from tests.service.services import close_hour, supervise

CONFORMANCE = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
MODES = {"fine": GenerationMode.POSITIVE, "broken": GenerationMode.NEGATIVE}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server with decisions in every state that a person can ask for."""
    service = supervise(
        tmp_path_factory.mktemp("served"),
        server={"requests_per_minute": 10**6, "what_if_seconds": "1s"},
    )
    close_hour(service, 0)
    service.executor.approve(service.store.pending().hash, "test")
    close_hour(service, 1, {"cats": 9, "dogs": 9, "news": 1})
    clients = Clients(service)
    yield clients
    clients.stop()


def ask_all(served, mode, examples, role="admin"):
    """Ask every path that is described so many times, and check every answer.

    Who has no role, or too small a one, hears that and nothing else.
    """
    schema = schemathesis.openapi.from_url(f"{served.server.url}/openapi.json")
    hashes = [one.hash for one in served.service.store.decisions(10).rows]
    known = {"hash": hashes, "topic": ["news", "a/b"], "name": ["news", "bob"]}
    headers = {} if role is None else {"Authorization": f"Bearer {served.tokens[role]}"}
    asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=examples,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],
        )
        @given(
            case=operation.as_strategy(generation_mode=MODES[mode]),
            pick=st.integers(0, 2),
        )
        def ask(case, pick):
            nonlocal asked
            asked += 1
            if mode == "fine":
                # Of what is drawn hardly any name would be known, and no cursor be one of ours.
                case.query.pop("cursor", None)
                for name in known.keys() & case.path_parameters.keys():
                    case.path_parameters[name] = [case.path_parameters[name], *known[name]][pick]
            if role == "admin":
                case.call_and_validate(headers=headers)
                return
            answer = case.call(headers=headers)
            case.validate_response(answer, checks=CONFORMANCE)
            is_open = case.path in ("/healthz", "/readyz", "/api/v1/session")
            if role is None and not is_open:
                assert answer.status_code in (401, 404, 405), (case.method, case.path)
            elif case.method.upper() != "GET" and not is_open and "what-if" not in case.path:
                # What is drawn may have a header of its own in place of the token.
                assert answer.status_code in (401, 403, 404, 405), (case.method, case.path)

        with contextlib.suppress(Unsatisfiable):  # nothing can be wrong with some questions
            ask()
    return asked


@pytest.mark.parametrize("mode", MODES)
def test_answers_are_as_described(served, mode):
    assert ask_all(served, mode, 15) > 100


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("role", [None, "read"])
def test_who_may_not_ask_hears_only_that(served, role, mode):
    assert ask_all(served, mode, 5, role) > 50


@pytest.mark.soak
@pytest.mark.parametrize("mode", MODES)
def test_answers_are_as_described_at_length(served, mode, keep_counts):
    keep_counts(requests=ask_all(served, mode, 300))
