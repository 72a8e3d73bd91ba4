"""The store: decisions, windows, who did what, and what is still to be delivered."""
