"""The last decision with its workload from disk: questions can be asked after a restart at once."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa

from fanwise.errors import FanwiseError
from fanwise.planning.plan import read_plan
from fanwise.select.problem import served_topics
from fanwise.service.analyzer.deciding import Decided
from fanwise.service.records import Decision
from fanwise.workload.topic.files import read_workload

log = logging.getLogger(__name__)


def recall_decided(decision: Decision, plan: Path, workload: Path) -> Decided | None:
    """Return a decision with what it rests on; None where that is no longer kept."""
    if not plan.is_dir() or not workload.is_dir():
        return None
    try:
        known = read_workload(workload)
        found = read_plan(plan, known)
    except (FanwiseError, OSError) as error:
        log.warning("%s: cannot be read again: %s", plan, error)
        return None
    served = served_topics(found.tables["topics"], known.num_topics)
    names = known.topic_names.filter(pa.array(served))
    return Decided(decision, [], names, known, found)
