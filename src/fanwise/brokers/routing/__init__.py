"""Which way publications go between brokers, by costs or as a plan says."""
