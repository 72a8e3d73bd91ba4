"""Setty et al., INFOCOM 2014: the most satisfied subscribers within a capacity."""
