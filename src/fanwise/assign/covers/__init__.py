"""Fewest events that a few rectangles around some boxes can hold, exactly."""
