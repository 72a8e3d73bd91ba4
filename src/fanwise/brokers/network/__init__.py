"""Brokers and directories as processes: sockets, disks and clocks around the state machines."""
