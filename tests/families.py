"""What the common suite needs to know of each family.

A new family adds one entry here and inherits every test of ``planning/test_common_suite.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from tests.assign.breaks import BREAKS as ASSIGN_BREAKS
from tests.assign.small_places import content_of
from tests.connect.breaks import BREAKS as CONNECT_BREAKS
from tests.oracles import (
    assign_oracle,
    connect_oracle,
    provision_oracle,
    select_oracle,
    wire_oracle,
)
from tests.provision.breaks import BREAKS as PROVISION_BREAKS
from tests.select.breaks import BREAKS as SELECT_BREAKS
from tests.strategies import Instance
from tests.wire.breaks import BREAKS as WIRE_BREAKS
from tests.wire.small_wirings import wires_of, wiring_of

import fanwise as fw
from fanwise.planning.families import FAMILIES
from fanwise.planning.problem import Problem
from fanwise.workload.topic import TopicWorkload


@dataclass(frozen=True)
class FamilyCase:
    """How to pose, solve exactly and break problems of one family.

    ``workload`` makes the family's kind of workload of an instance. ``follows_ids``: algorithms
    take subscribers in the order of their ids, so that other ids may give another plan.
    """

    pose: Callable[[Any, Instance], Problem]
    optimum: Callable[[Problem, Instance], float | None]
    breaks: Mapping[str, Callable[[fw.Plan], fw.Plan]]
    workload: Callable[..., Any] = Instance.workload
    follows_ids: bool = False


def _tau(instance: Instance) -> float | str:
    return "column" if isinstance(instance.tau, list) else instance.tau


def _pose_selection(workload: TopicWorkload, instance: Instance) -> fw.Selection:
    return fw.Selection(workload, tau=_tau(instance), capacity="45%")


def _best_selection(problem: fw.Selection, instance: Instance) -> float:
    return float(
        select_oracle.optimum(
            instance.rates,
            instance.interests,
            instance.tau,
            problem.limit * (1 + 1e-12),
            cost=instance.cost,
            weight=instance.weight,
        )
    )


def _pose_provisioning(workload: TopicWorkload, instance: Instance) -> fw.Provisioning:
    return fw.Provisioning(workload, tau=_tau(instance))


def _best_provisioning(problem: fw.Provisioning, instance: Instance) -> float | None:
    return provision_oracle.optimum_of(problem, instance)


def _pose_connection(workload: TopicWorkload, instance: Instance) -> fw.Connection:
    return fw.Connection(workload, max_degree=2, max_edges=5)


def _best_connection(problem: fw.Connection, instance: Instance) -> float:
    degree = problem.degree_budget
    limits = connect_oracle.Limits(
        degrees=None if degree is None else [degree] * len(instance.interests),
        edges=problem.edge_limit,
    )
    return float(connect_oracle.optimum(instance.interests, limits))


def _pose_assignment(workload: fw.ContentWorkload, instance: Instance) -> fw.Assignment:
    return fw.Assignment(workload, alpha=1, max_delay=1e6, lbf=4.0, lbf_max=4.0)


def _best_assignment(problem: fw.Assignment, instance: Instance) -> float:
    return assign_oracle.optimum_of_one_rectangle(problem.workload)


def _pose_wiring(workload: fw.ContentWorkload, instance: Instance) -> fw.Wiring:
    return fw.Wiring(workload)


def _best_wiring(problem: fw.Wiring, instance: Instance) -> float:
    return wire_oracle.optimum(wire_oracle.facts_of(wires_of(instance)))


CASES: Mapping[str, FamilyCase] = {
    "select": FamilyCase(_pose_selection, _best_selection, SELECT_BREAKS),
    "provision": FamilyCase(_pose_provisioning, _best_provisioning, PROVISION_BREAKS),
    "connect": FamilyCase(_pose_connection, _best_connection, CONNECT_BREAKS),
    "assign": FamilyCase(
        _pose_assignment,
        _best_assignment,
        ASSIGN_BREAKS,
        workload=content_of,
        follows_ids=True,
    ),
    "wire": FamilyCase(
        _pose_wiring,
        _best_wiring,
        WIRE_BREAKS,
        workload=wiring_of,
        follows_ids=True,
    ),
}

ALGORITHMS = [
    (family.name, "+".join(names))
    for family in FAMILIES.values()
    for names in product(*family.stages.values())
]
"""Every (family, algorithm) there is: a new algorithm is tested without a line here."""


def is_seeded(family: str, algorithm: str) -> bool:
    return any(entry.is_seeded for entry in FAMILIES[family].algorithms(algorithm))
