"""Stage 1: which (topic, subscriber) pairs satisfy everybody."""
