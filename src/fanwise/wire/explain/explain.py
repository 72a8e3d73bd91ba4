"""Why a wiring is what it is: where its cost comes from, and why a user is on its broker."""

from __future__ import annotations

from fanwise.planning.explanation import Explanation
from fanwise.planning.plan import Plan
from fanwise.wire.explain.plan import explain_plan
from fanwise.wire.explain.sentences import plan_passages, subscriber_passages
from fanwise.wire.explain.subscriber import explain_subscriber
from fanwise.wire.problem import Wiring, read_attachments
from fanwise.wire.state import make_state
from fanwise.workload.content import ContentWorkload


def explain(workload: ContentWorkload, plan: Plan, subscriber: str | None = None) -> Explanation:
    """Explain a wiring, or one user of it, for programs and for people."""
    plan.check_made_for(workload)
    problem = Wiring.state_from(workload, plan.parameters)
    state = make_state(problem.arrays, read_attachments(problem.arrays, plan.tables))
    if subscriber is not None:
        one = explain_subscriber(problem, state, subscriber)
        return Explanation.of(one, subscriber_passages(one))
    whole = explain_plan(problem, plan, state)
    return Explanation.of(whole, plan_passages(whole))
