"""Spark versions of family algorithms, for workloads whose interests exceed one machine.

Found through planning's table by ``engine="spark"``. Subscribers stay partitioned; only vectors
with an entry per topic travel. The package travels to executors by itself.
"""
