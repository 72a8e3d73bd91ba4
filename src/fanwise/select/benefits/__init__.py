"""What the greedy algorithms work on: rows, queues and the order they serve topics in."""
