"""Setty et al., report 436, 2014: machines in a cloud for publish/subscribe, at the least cost."""
