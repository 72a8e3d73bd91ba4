"""Zhao and Wu, SECON 2011: content-based overlays of the least cost."""
