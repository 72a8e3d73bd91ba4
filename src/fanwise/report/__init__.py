"""Self-contained HTML reports about workloads and plans."""
