"""Small topic traces to workloads without Spark: the same folder, the same report."""
