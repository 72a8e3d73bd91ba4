"""Overlays that grow link by link by the greedy rule: over a table of pairs, or row by row."""
