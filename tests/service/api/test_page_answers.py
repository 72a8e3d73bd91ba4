"""What the API tells for the page: effects, curves, names, the network, what something takes."""

from __future__ import annotations

import pytest
from tests.service.networks import write_network
from tests.service.services import EVENTS, PAIRS, close_hour


def satisfied_by(served, events):
    """Subscribers that get two events, or all they want if that is less; by definition."""
    got, wanted = dict.fromkeys(dict(PAIRS), 0), dict.fromkeys(dict(PAIRS), 0)
    for who, topic in PAIRS:
        wanted[who] += events.get(topic, 0)
        got[who] += events.get(topic, 0) if topic in served else 0
    return {who for who, many in got.items() if wanted[who] and many >= min(2, wanted[who])}


def served_by(service, hash):
    return set(service.store.served_by(hash))


def test_a_decision_says_who_becomes_satisfied_and_who_no_longer_is(make_clients):
    clients = make_clients(decide={"capacity": 10})
    service, client = clients.service, clients.of("approve")
    first = service.store.pending()
    assert first.facts["effect"]["before"] == {
        "satisfied": 0, "served": 0, "used": 0.0, "value": 0.0,
    }  # fmt: skip
    assert first.facts["effect"]["gain"] == len(
        satisfied_by(served_by(service, first.hash), EVENTS)
    )
    client.post(f"/api/v1/decisions/{first.hash}/approve")
    events = {"news": 1, "chat/room": 9, "cats": 3, "dogs": 3}
    close_hour(service, 1, events)
    second = client.get("/api/v1/status").json()["newest"]
    before = satisfied_by(served_by(service, first.hash), events)
    after = satisfied_by(served_by(service, second["hash"]), events)
    effect = second["facts"]["effect"]
    assert effect["gain"] == len(after - before)
    assert effect["lose"] == len(before - after)
    assert effect["before"]["satisfied"] == len(before)
    now = client.get("/api/v1/status").json()["now"]
    assert (now["satisfied"], now["window"]) == (len(before), second["window"])
    client.post(f"/api/v1/decisions/{second['hash']}/approve")
    assert client.get("/api/v1/status").json()["now"]["satisfied"] == len(after)
    client.post(f"/api/v1/decisions/{first.hash}/rollback")
    rolled = client.get("/api/v1/status").json()
    assert rolled["in_force"]["hash"] == first.hash
    assert (rolled["now"]["satisfied"], rolled["now"]["window"]) == (len(before), second["window"])


def test_the_status_names_every_part_and_output(clients):
    client, service = clients.of("approve"), clients.service
    status = client.get("/api/v1/status").json()
    assert set(status["parts"]) == {"store", "stream", "receiver", "analyzer", "executor"}
    assert status["now"] is None
    assert status["settings"]["tau"] == 2
    service.health.receiver = "no connection"
    assert client.get("/api/v1/status").json()["parts"]["receiver"] == "no connection"
    client.post(f"/api/v1/decisions/{service.store.pending().hash}/approve")
    (output,) = client.get("/api/v1/status").json()["outputs"]
    assert output["is_behind"] is False


def test_the_series_is_the_history_in_order(clients):
    for hour in range(1, 5):
        close_hour(clients.service, hour, {"cats": hour + 1, "dogs": 2 * hour})
    client = clients.of("read")
    series = client.get("/api/v1/series").json()
    listed = client.get("/api/v1/decisions").json()["decisions"][::-1]
    assert series["value"] == [one["value"] for one in listed]
    assert series["bound"] == [one["bound"] for one in listed]
    assert series["end"] == [one["window"]["end"] for one in listed]
    assert series["used"] == [one["facts"]["used"] for one in listed]
    assert len({len(column) for column in series.values()}) == 1
    assert client.get("/api/v1/series?limit=2").json()["value"] == series["value"][-2:]
    assert client.get("/api/v1/series?limit=0").status_code == 422


def test_the_curve_rises_below_its_bound(clients):
    client = clients.of("read")
    curve = client.post("/api/v1/what-if/curve", json={}).json()
    values = [point["value"] for point in curve["points"]]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0, 6)
    assert all(point["value"] <= point["bound"] for point in curve["points"])
    assert curve["points"][-1]["capacity"] == curve["everything"] == 10 * 3 + 4 * 2 + 2 * 2 + 2
    solved = client.post(
        "/api/v1/what-if", json={"capacity": curve["points"][9]["capacity"]}
    ).json()
    assert values[9] <= solved["value"] <= curve["points"][9]["bound"]


def test_names_are_found_by_parts_of_them(clients):
    client = clients.of("read")
    assert client.get("/api/v1/search?text=a").json() == {
        "topics": ["cats", "chat/room"], "subscribers": ["ann", "dan", "fay"],
    }  # fmt: skip
    assert client.get("/api/v1/search?text=N&limit=1").json()["topics"] == ["news"]
    assert client.get("/api/v1/search", params={"text": "%_.*"}).json()["topics"] == []
    assert client.get("/api/v1/search").status_code == 422


def test_what_it_takes_to_serve_a_topic(make_clients):
    clients = make_clients(decide={"capacity": 12})
    client, service = clients.of("read"), clients.service
    served = served_by(service, service.store.pending().hash)
    assert "news" not in served, "it costs 30"
    news = client.get("/api/v1/topics/news").json()
    assert not news["served"]
    assert news["takes"]["is_possible"] is False
    assert news["takes"]["more"] == pytest.approx(sum(
        EVENTS[topic] * sum(wanted == topic for _, wanted in PAIRS) for topic in served
    ) + 30 - 12)  # fmt: skip
    ann = client.get("/api/v1/subscribers/ann").json()
    assert (ann["satisfied"], ann["takes"], ann["takes_cost"]) == (False, ["news"], 30)
    dan = client.get("/api/v1/subscribers/dan").json()
    assert (dan["satisfied"], dan["takes"], dan["takes_cost"]) == (True, [], None)


def test_exchanges_are_weighed(make_clients):
    clients = make_clients(decide={"capacity": 8, "pin": ["chat/room"]})
    cats = clients.of("read").get("/api/v1/topics/cats").json()
    assert cats["takes"]["more"] == 4
    assert cats["takes"]["is_possible"] is False, "what is pinned makes no room"


def test_the_network_has_the_loads_of_the_last_window(make_clients, tmp_path):
    links = [("a", "b", ["news", "cats"]), ("b", "c", ["gone"])]
    folder = write_network(tmp_path / "offload", links, [("news", "a"), ("cats", "a")])
    client = make_clients(server={"network": str(folder)}).of("read")
    found = client.get("/api/v1/network").json()
    assert found["configured"]
    assert found["generation"] == "g1"
    assert [(one["topics"], one["events"]) for one in found["links"]] == [(2, 12), (1, 0)]
    assert found["nodes"][0] == {"name": "a", "address": "127.0.0.1:2000", "links": 1, "entries": 2}
    (folder / "network.json").write_text("{")
    assert client.get("/api/v1/network").status_code == 404
    (folder / "network.json").unlink()
    assert "fanwise export" in client.get("/api/v1/network").json()["detail"]


def test_without_a_network_the_answer_says_so(clients):
    assert clients.of("read").get("/api/v1/network").json()["configured"] is False
