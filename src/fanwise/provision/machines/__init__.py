"""Stage 2: which machines carry the chosen pairs."""
