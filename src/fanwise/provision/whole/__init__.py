"""Both stages at once: the cheapest plan of all, for small instances."""
