"""Why an assignment is what it is: full brokers, binding limits, wasted traffic, one subscriber."""

from __future__ import annotations

from fanwise.assign.explain.plan import explain_plan
from fanwise.assign.explain.sentences import plan_passages, subscriber_passages
from fanwise.assign.explain.subscriber import explain_subscriber
from fanwise.assign.problem import Assignment
from fanwise.planning.explanation import Explanation
from fanwise.planning.plan import Plan
from fanwise.workload.content import ContentWorkload


def explain(workload: ContentWorkload, plan: Plan, subscriber: str | None = None) -> Explanation:
    """Explain an assignment, or where one subscriber is, for programs and for people."""
    plan.check_made_for(workload)
    problem = Assignment.state_from(workload, plan.parameters)
    if subscriber is not None:
        one = explain_subscriber(problem, plan, subscriber)
        return Explanation.of(one, subscriber_passages(one))
    whole = explain_plan(problem, plan)
    return Explanation.of(whole, plan_passages(whole))
