"""Why an overlay is what it is: which topics are in pieces, who is cut off, how far messages go."""

from __future__ import annotations

from fanwise.connect.explain.plan import explain_plan
from fanwise.connect.explain.sentences import plan_passages, topic_passages
from fanwise.connect.explain.topic import explain_topic
from fanwise.planning.explanation import Explanation
from fanwise.planning.plan import Plan
from fanwise.workload.topic import TopicWorkload


def explain(workload: TopicWorkload, plan: Plan, topic: str | None = None) -> Explanation:
    """Explain an overlay, or one topic of it, for programs and for people."""
    if topic is not None:
        one = explain_topic(workload, plan, topic)
        return Explanation.of(one, topic_passages(one))
    whole = explain_plan(workload, plan)
    return Explanation.of(whole, plan_passages(whole))
