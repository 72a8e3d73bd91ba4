"""The protocol as state machines that open no socket, read no clock and write no file.

A machine gets events and gives effects; whoever drives it carries them out: processes on a network,
or the simulation. Same inputs, same outputs.
"""
