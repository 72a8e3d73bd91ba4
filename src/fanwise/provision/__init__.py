"""The cheapest machines and bandwidth that satisfy everybody (MCSS)."""
