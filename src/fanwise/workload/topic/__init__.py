"""Topic workloads: topics with rates, and the subscribers who follow them."""

from fanwise.workload.topic.model import RELATIVE_TOLERANCE, Tau, TopicWorkload

__all__ = ["RELATIVE_TOLERANCE", "Tau", "TopicWorkload"]
