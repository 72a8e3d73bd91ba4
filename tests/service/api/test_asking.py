"""What people ask about the last window: what-if, topics and subscribers, also after a restart."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest
from tests.service.api.conftest import Clients
from tests.service.services import close_hour, supervise

from fanwise.errors import InputError
from fanwise.select.problem import Selection
from fanwise.service.api import looking_up
from fanwise.service.api.looking_up import Names


def ask(clients, **question):
    return clients.of("read").post("/api/v1/what-if", json=question)


def test_what_if_obeys_what_people_have_fixed(make_clients):
    clients = make_clients(decide={"pin": ["dogs", "gone"], "exclude": ["news"]})
    admin = clients.of("admin")
    whole = ask(clients, capacity="100%").json()
    assert (whole["served"], whole["value"]) == (3, 4), "news is served to nobody"
    admin.put("/api/v1/pins/cats", json={"kind": "exclude"})
    admin.put("/api/v1/pins/unheard", json={"kind": "pin"})
    assert ask(clients, capacity="100%").json()["served"] == 2
    admin.put("/api/v1/pins/dogs", json={"kind": "exclude"})
    assert ask(clients, capacity="100%").json()["served"] == 1, "what is excluded stays so"
    admin.put("/api/v1/pins/dogs", json={"kind": "pin"})
    admin.put("/api/v1/pins/cats", json={"kind": "pin"})
    refused = ask(clients, capacity=0)
    assert refused.status_code == 422
    assert "capacity" in refused.json()["detail"]


def test_what_if_takes_no_longer_than_it_may(make_clients, monkeypatch):
    clients = make_clients(server={"what_if_seconds": "3s"})
    limits = []
    solve = Selection.solve
    monkeypatch.setattr(
        Selection,
        "solve",
        lambda problem, **more: limits.append(more["time_limit"]) or solve(problem, **more),
    )
    assert ask(clients).status_code == 200
    assert limits == [3.0]


def test_one_question_at_a_time_and_the_place_is_free_after_an_error(clients, monkeypatch):
    begun, go_on, solve = threading.Event(), threading.Event(), Selection.solve

    def wait(problem, **more):
        begun.set()
        assert go_on.wait(30)
        return solve(problem, **more)

    monkeypatch.setattr(Selection, "solve", wait)
    answers = []
    first = threading.Thread(target=lambda: answers.append(ask(clients)))
    first.start()
    assert begun.wait(30)
    assert ask(clients).status_code == 429
    go_on.set()
    first.join(30)
    assert answers[0].status_code == 200
    monkeypatch.setattr(Selection, "solve", lambda problem, **more: 1 / 0)
    assert ask(clients).status_code == 500
    monkeypatch.setattr(Selection, "solve", solve)
    assert ask(clients, tau=1e-9, capacity="0%").status_code == 200


@pytest.fixture
def again(tmp_path):
    """A service that has decided two windows and was started again."""
    service = supervise(tmp_path)
    close_hour(service, 0)
    close_hour(service, 1, {"news": 4, "cats": 2})
    service.stop()
    clients = Clients(supervise(tmp_path))
    yield clients
    clients.stop()


def test_after_a_restart_questions_are_answered_at_once(again):
    reader = again.of("read")
    news = reader.get("/api/v1/topics/news").json()
    assert (news["served"], news["facts"]["rate"]) == (True, 4.0)
    assert news["window"]["start"] == "1970-01-01T01:00:00.000Z"
    assert reader.get("/api/v1/subscribers/ann").json()["gets"] == 4.0
    assert reader.get("/api/v1/topics/dogs").status_code == 404
    assert ask(again, capacity="100%").json()["value"] == 5
    close_hour(again.service, 2, {"dogs": 3})
    assert reader.get("/api/v1/topics/dogs").json()["facts"]["rate"] == 3.0


def test_a_plan_that_cannot_be_read_is_no_answer(again, caplog):
    for folder in again.service.folder.workloads.iterdir():
        (folder / "workload.json").write_text("{")
    answer = again.of("read").get("/api/v1/topics/news")
    assert answer.status_code == 409
    assert "wait for" in answer.json()["detail"]


def test_before_the_first_window_there_is_nothing_to_ask(tmp_path):
    clients = Clients(supervise(tmp_path))
    assert clients.of("read").get("/api/v1/topics/news").status_code == 409
    clients.stop()


def test_names_are_found_by_an_index_and_misspelt_ones_among_few(monkeypatch):
    names = Names(pa.array([f"topic/{number:06d}" for number in range(50_000)]), "topic")
    assert names.find("topic/049999") == 49_999
    compared = []
    close = looking_up.difflib.get_close_matches
    monkeypatch.setattr(
        looking_up.difflib,
        "get_close_matches",
        lambda word, many, **more: compared.append(len(many)) or close(word, many, **more),
    )
    with pytest.raises(InputError, match=r"did you mean 'topic/0250\d1'"):
        names.find("topic/0250O1")
    with pytest.raises(InputError, match="no name is close"):
        names.find("zzz" * 10_000)
    assert max(compared) <= looking_up.MOST_COMPARED
    with pytest.raises(InputError, match="no name is close"):
        Names(pa.array([], pa.string()), "topic").find("a")


def test_the_index_is_built_once_a_window(clients, monkeypatch):
    made = []
    index = looking_up.Names
    monkeypatch.setattr(
        looking_up, "Names", lambda names, kind: made.append(kind) or index(names, kind)
    )
    reader = clients.of("read")
    for _ in range(3):
        assert reader.get("/api/v1/topics/news").status_code == 200
        assert reader.get("/api/v1/subscribers/bob").status_code == 200
        assert reader.get("/api/v1/topics/nothing").status_code == 404
    assert sorted(made) == ["subscriber", "topic"]
    close_hour(clients.service, 1, {"news": 1})
    assert reader.get("/api/v1/topics/news").status_code == 200
    assert sorted(made) == ["subscriber", "topic", "topic"]


def test_what_is_served_now_is_read_once_a_decision(clients, monkeypatch):
    service, reader, asked = clients.service, clients.of("read"), []
    hash = service.store.pending().hash
    clients.of("approve").post(f"/api/v1/decisions/{hash}/approve")
    served_by = service.store.served_by
    monkeypatch.setattr(service.store, "served_by", lambda one: asked.append(one) or served_by(one))
    for _ in range(3):
        assert reader.get("/api/v1/topics/cats").json()["in_force"]
        assert not reader.get("/api/v1/topics/news").json()["in_force"]
    assert asked == [hash]
