"""Docs of the service name what there is: metrics, commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.service.services import close_hour, supervise

from fanwise.service.api.metrics import Metrics

DOCS = Path(__file__).parents[2] / "docs" / "serve"


def known_metrics(tmp_path) -> set[str]:
    service = supervise(tmp_path)
    metrics = service.listener = Metrics(service)
    close_hour(service, 0)
    metrics.note_failure("file", "timeout")
    metrics.note_delivered(1.0, 1.0)
    text = metrics.text().decode()
    service.stop()
    return set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))


def test_every_metric_is_documented_and_on_the_dashboard_are_known_ones(tmp_path):
    known = {name for name in known_metrics(tmp_path) if not name.endswith("_created")}
    page = (DOCS / "operations.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"fanwise_\w+", page))
    listed |= {f"fanwise_decision{end}" for end in ("_bound", "_gap", "_changes")}
    assert {name for name in known if name not in listed} == set()
    bases = {re.sub(r"_(sum|count|bucket)$", "", name) for name in known}
    dashboard = json.loads((DOCS / "grafana.json").read_text(encoding="utf-8"))
    used = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"fanwise_\w+", target["expr"])
    }
    shown = {re.sub(r"_(sum|count|bucket)$", "", name) for name in used}
    assert shown <= bases
    # What tells of loss is never out of sight. How often something was applied is no trouble.
    assert bases - shown == {"fanwise_epoch"}
