"""From events with attributes and rectangles of subscribers to content workloads."""
