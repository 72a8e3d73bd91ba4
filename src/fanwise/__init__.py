"""fanwise plans publish/subscribe systems, and proves how good the plans are.

A workload is what is published and who wants it: ``TopicWorkload``, ``ContentWorkload``. A problem
is a question about it: ``Selection``, ``Provisioning``, ``Connection``, ``Assignment``, ``Wiring``.
``problem.solve()`` gives a ``Plan`` with a proven bound; ``compare`` puts algorithms side by side.

Heavy parts load on first use: ``import fanwise`` itself is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fanwise._version import __version__

if TYPE_CHECKING:
    from fanwise.assign.problem import Assignment
    from fanwise.connect.problem import Connection
    from fanwise.planning.compare import compare
    from fanwise.planning.plan import Plan, read_plan
    from fanwise.provision.problem import Provisioning
    from fanwise.select.problem import Selection
    from fanwise.wire.problem import Wiring
    from fanwise.workload.content import ContentWorkload
    from fanwise.workload.reading import read_workload, write_workload
    from fanwise.workload.topic import TopicWorkload

_HOMES = {
    "Assignment": "fanwise.assign.problem",
    "Connection": "fanwise.connect.problem",
    "ContentWorkload": "fanwise.workload.content",
    "Plan": "fanwise.planning.plan",
    "Provisioning": "fanwise.provision.problem",
    "Selection": "fanwise.select.problem",
    "TopicWorkload": "fanwise.workload.topic",
    "Wiring": "fanwise.wire.problem",
    "compare": "fanwise.planning.compare",
    "read_plan": "fanwise.planning.plan",
    "read_workload": "fanwise.workload.reading",
    "write_workload": "fanwise.workload.reading",
}

__all__ = [
    "Assignment",
    "Connection",
    "ContentWorkload",
    "Plan",
    "Provisioning",
    "Selection",
    "TopicWorkload",
    "Wiring",
    "__version__",
    "compare",
    "read_plan",
    "read_workload",
    "write_workload",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fanwise' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
