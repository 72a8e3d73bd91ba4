"""The protocol's machines on a network that breaks, in virtual time, from a seed.

``python -m fanwise.brokers.simulation SEED`` prints what happens in a run.
"""
