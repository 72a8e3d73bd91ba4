"""Examples in the description for other programs: one of each schema, and of each parameter."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from fanwise.service.api.bodies import HASH

_OLD = "99ab01cd5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809"
_HOUR = {"start": "2026-03-02T08:00:00.000Z", "end": "2026-03-02T09:00:00.000Z"}
_AT = "2026-03-02T09:01:03.250Z"
_CURSOR = "Mjc"
_DECISION: dict[str, Any] = {
    "number": 17,
    "hash": HASH,
    "window": _HOUR,
    "state": "pending",
    "value": 8123.0,
    "bound": 8130.0,
    "gap": 0.00086,
    "changes": 12,
    "workload": _OLD,
    "made_at": _AT,
    "previous": _OLD,
    "forecast": "last",
    "predicted": 8123.0,
    "delivered": None,
    "facts": {"topics": 50_000, "served": 1840, "satisfied": 8123, "capacity": 2.5e6},
    "seconds": {"build": 0.8, "solve": 1.1, "verify": 0.2, "explain": 0.1},
    "why": "",
    "in_force_at": None,
}
_CHANGE = {
    "topic": "artists/abba",
    "served": True,
    "cost": 5120.0,
    "followers": 640,
    "reason": "satisfies 212 subscribers for 5,120 deliveries",
}
_DELIVERY = {
    "epoch": 31,
    "hash": HASH,
    "output": "webhook",
    "attempts": 4,
    "error": "hooks.example.org did not answer within 10 seconds",
    "created_at": _AT,
    "next_attempt": "2026-03-02T09:01:33.250Z",
}
_APPLYING = {
    "epoch": 31,
    "hash": HASH,
    "kind": "apply",
    "who": "ann",
    "opened_at": _AT,
    "waiting": [_DELIVERY],
}
_OUTPUT = {"name": "webhook", "hash": _OLD, "epoch": 30, "is_sure": False, "is_behind": True}
_INPUT = {
    "events": 1_250_000,
    "late": 12,
    "bad": 3,
    "reasons": {"not JSON": 3},
    "gaps": 0,
    "lost_sessions": 0,
    "duplicates": 5,
    "redelivered": 40,
    "received": 1_250_020,
    "lag": 1.4,
    "idle": 0.3,
    "backlog": 20_480,
    "batch": 3611,
    "batch_seconds": 0.4,
    "rows_per_second": 5100.0,
    "subscriptions": 1_200_000,
    "last": "2026-03-02T09:01:02.100Z",
}
_WINDOWS = {"length": 3600.0, "slide": 3600.0, "lateness": 60.0, "last": _HOUR}
_NOW = {
    "window": _HOUR,
    "satisfied": 7990,
    "subscribers": 12_000,
    "value": 7990.0,
    "bound": 8130.0,
    "gap": 0.0172,
    "used": 2.48e6,
    "capacity": 2.5e6,
    "served": 1835,
    "topics": 50_000,
}
_PIN = {"topic": "artists/abba", "kind": "pin", "who": "ann", "at": _AT}
_TOTALS = {
    "window": _HOUR,
    "events": 52_000,
    "late": 3,
    "bad": 1,
    "closed_by": "watermark",
    "closed_at": _AT,
}
_ENTRY = {
    "number": 204,
    "at": _AT,
    "who": "ann",
    "what": "approve",
    "about": HASH,
    "note": "",
    "token": "3fa9c1d20b77",
}
_POINT = {"capacity": 3.75e6, "value": 7904.0, "bound": 7911.0, "served": 2011}
_NODE = {"name": "edge-1", "address": "10.0.0.5:1883", "links": 3, "entries": 120}
_LINK = {"source": "edge-1", "target": "edge-2", "topics": 40, "events": 5200.0}
SCHEMAS: dict[str, Any] = {
    "Error": {"detail": "Decision 4be1… is superseded; nothing is pending."},
    "WindowBody": _HOUR,
    "DecisionBody": _DECISION,
    "DecisionPage": {"decisions": [_DECISION], "cursor": _CURSOR},
    "ChangeBody": _CHANGE,
    "DiffBody": {
        "hash": HASH,
        "previous": _OLD,
        "on": 7,
        "off": 5,
        "changes": [_CHANGE],
        "next": 1,
    },
    "Confirmation": {"starts": HASH[:6]},
    "NowBody": _NOW,
    "Reason": {"why": "the campaign must stay up"},
    "Applied": {
        "decision": {**_DECISION, "state": "in-force"},
        "epoch": 31,
        "state": "done",
        "why": "",
    },
    "PinBody": _PIN,
    "PinRequest": {"kind": "pin"},
    "WhatIf": {"tau": 30, "capacity": "15%"},
    "WhatIfAnswer": {
        "window": _HOUR,
        "tau": 30.0,
        "capacity": 3.75e6,
        "metric": "binary",
        "value": 7904.0,
        "bound": 7911.0,
        "gap": 0.00089,
        "served": 2011,
        "changes": 180,
        "seconds": 1.2,
    },
    "TopicBody": {
        "topic": "artists/abba",
        "served": True,
        "in_force": False,
        "window": _HOUR,
        "facts": {"rate": 8.0, "followers": 640, "cost": 5120.0, "rank": 3},
        "pinned": None,
        "why": "subscribers depend on it",
        "takes": None,
    },
    "SubscriberBody": {
        "subscriber": "user-17",
        "window": _HOUR,
        "needs": 20.0,
        "gets": 24.0,
        "satisfied": True,
        "topics": [{"topic": "artists/abba", "events": 8.0, "cost": 5120.0, "served": True}],
        "takes": [],
        "takes_cost": None,
    },
    "WindowTotalsBody": _TOTALS,
    "WindowPage": {"windows": [_TOTALS], "cursor": None},
    "AuditBody": _ENTRY,
    "AuditPage": {"entries": [_ENTRY], "cursor": _CURSOR},
    "DeliveryBody": _DELIVERY,
    "DeadLetterPage": {"deliveries": [_DELIVERY], "cursor": None},
    "ApplyingBody": _APPLYING,
    "OutputBody": _OUTPUT,
    "InputBody": _INPUT,
    "WindowsBody": _WINDOWS,
    "StatusBody": {
        "version": "1.0.0",
        "mode": "approve",
        "ready": True,
        "troubles": {},
        "parts": {"store": "", "stream": "", "receiver": "", "analyzer": "", "executor": ""},
        "now": _NOW,
        "newest": _DECISION,
        "in_force": {**_DECISION, "number": 16, "hash": _OLD, "state": "in-force"},
        "pending": _DECISION,
        "epoch": 31,
        "applying": [_APPLYING],
        "outputs": [_OUTPUT],
        "dead_letters": 0,
        "input": _INPUT,
        "windows": _WINDOWS,
        "decisions": {"pending": 1, "in-force": 1, "superseded": 15},
        "settings": {"tau": 20.0, "capacity": 2.5e6, "metric": "binary"},
        "you": "read",
    },
    "ServingBody": {
        "more": 1200.0,
        "is_possible": True,
        "dropped": 2,
        "names": ["artists/toto", "artists/asia"],
        "subscribers": -4,
    },
    "Series": {
        "end": [_HOUR["end"]],
        "state": ["pending"],
        "value": [8123.0],
        "bound": [8130.0],
        "in_force": [7990.0],
        "used": [2.49e6],
        "in_force_used": [2.48e6],
        "capacity": [2.5e6],
        "changes": [12],
    },
    "CurveQuestion": {"tau": 30},
    "CurvePoint": _POINT,
    "Curve": {
        "window": _HOUR,
        "tau": 30.0,
        "metric": "binary",
        "everything": 25e6,
        "points": [_POINT],
        "seconds": 0.4,
    },
    "Found": {"topics": ["artists/abba"], "subscribers": []},
    "NodeBody": _NODE,
    "LinkBody": _LINK,
    "NetworkBody": {
        "configured": True,
        "generation": "5d41402a",
        "nodes": [_NODE],
        "links": [_LINK],
        "num_nodes": 2,
        "num_links": 1,
    },
    "SignIn": {"token": "fw_3fa9c1d20b77_…"},
    "SessionBody": {"name": "ann", "role": "approve", "csrf": _OLD, "until": _AT},
}
"""By the name of the schema."""
PARAMETERS: dict[str, Any] = {
    "hash": HASH,
    "topic": "artists/abba",
    "name": "artists/abba",
    "text": "abba",
    "limit": 50,
    "cursor": _CURSOR,
    "offset": 0,
}
"""By the name of the parameter."""


def add_examples(app: FastAPI) -> None:
    """Have the description of an application show examples."""
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _fill(describe())
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]


def _fill(described: dict[str, Any]) -> None:
    for name, schema in described.get("components", {}).get("schemas", {}).items():
        if name in SCHEMAS:
            schema["examples"] = [SCHEMAS[name]]
    for methods in described["paths"].values():
        for method in methods.values():
            for parameter in method.get("parameters", ()):
                if parameter["name"] in PARAMETERS:
                    parameter["example"] = PARAMETERS[parameter["name"]]
