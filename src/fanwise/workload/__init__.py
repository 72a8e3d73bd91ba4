"""Immutable workloads: what is published, and who wants it."""
