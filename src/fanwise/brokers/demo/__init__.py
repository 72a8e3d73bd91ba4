"""A network to look at: brokers as processes, clients with drifting interests."""
