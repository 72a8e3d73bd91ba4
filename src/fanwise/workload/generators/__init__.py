"""Synthetic workloads and traces, one generator a module.

A generator is a function whose random choices follow from its ``seed`` alone; its docstring states
the statistics it aims at. They share heavy-tailed laws (:mod:`.laws`) and the matching of
subscribers to topics in communities (:mod:`.matching`).
"""
