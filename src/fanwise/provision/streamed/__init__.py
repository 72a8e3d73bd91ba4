"""Provisioning of workloads that do not fit in memory: pairs stay on disk, in blocks.

Memory holds arrays with an entry per topic or subscriber; whatever has an entry per pair is a file:
the interests (read from Parquet once, then mapped), the chosen pairs, and the allocation.
"""
