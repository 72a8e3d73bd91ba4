"""Why a provisioning is what it is: the fleet, one machine, one topic, one subscriber."""

from __future__ import annotations

from fanwise.planning.explanation import Explanation
from fanwise.planning.plan import Plan
from fanwise.provision.explain.machine import explain_machine
from fanwise.provision.explain.placement import read_placement
from fanwise.provision.explain.plan import explain_plan
from fanwise.provision.explain.sentences import (
    machine_passages,
    plan_passages,
    subscriber_passages,
    topic_passages,
)
from fanwise.provision.explain.subscriber import explain_subscriber
from fanwise.provision.explain.topic import explain_topic
from fanwise.provision.problem import Provisioning
from fanwise.workload.topic import TopicWorkload


def explain(
    workload: TopicWorkload,
    plan: Plan,
    topic: str | None = None,
    subscriber: str | None = None,
    machine: int | None = None,
) -> Explanation:
    """Explain a provisioning, or one item of it, for programs and for people.

    Plans and workloads with pairs on disk are read in chunks and never loaded as a whole.
    """
    plan.check_made_for(workload)
    placement = read_placement(Provisioning.state_from(workload, plan.parameters), plan)
    if topic is not None:
        about_topic = explain_topic(placement, topic)
        return Explanation.of(about_topic, topic_passages(about_topic))
    if subscriber is not None:
        about_subscriber = explain_subscriber(placement, subscriber)
        return Explanation.of(about_subscriber, subscriber_passages(about_subscriber))
    if machine is not None:
        about_machine = explain_machine(placement, machine)
        return Explanation.of(about_machine, machine_passages(about_machine))
    whole = explain_plan(placement, plan)
    return Explanation.of(whole, plan_passages(whole))
