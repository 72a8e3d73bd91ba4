"""Why a selection is what it is: one topic, the worth of capacity, who goes without."""

from __future__ import annotations

from fanwise.planning.explanation import Explanation
from fanwise.planning.plan import Plan
from fanwise.select.explain.plan import explain_plan
from fanwise.select.explain.sentences import plan_passages, topic_passages
from fanwise.select.explain.topic import explain_topic
from fanwise.select.problem import Selection, served_topics
from fanwise.workload.topic import TopicWorkload


def explain(workload: TopicWorkload, plan: Plan, topic: str | None = None) -> Explanation:
    """Explain a plan, or one topic of it, for programs and for people."""
    plan.check_made_for(workload)
    problem = Selection.state_from(workload, plan.parameters)
    served = served_topics(plan.tables["topics"], workload.num_topics)
    if topic is not None:
        one = explain_topic(problem, served, topic)
        return Explanation.of(one, topic_passages(one))
    whole = explain_plan(problem, served)
    return Explanation.of(whole, plan_passages(whole))
