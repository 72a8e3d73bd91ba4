"""From publications and subscriptions by topic to topic workloads; samples of follow graphs."""
