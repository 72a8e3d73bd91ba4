"""Overlays that change: links added and taken away, components kept up to date, searches on top."""
