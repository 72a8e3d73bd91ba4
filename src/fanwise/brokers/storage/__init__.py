"""What brokers and directories must not forget: a log, and snapshots that shorten it."""
