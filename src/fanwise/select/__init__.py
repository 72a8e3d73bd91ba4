"""Which topics to serve under a capacity so that most subscribers are satisfied (B3M, F-B3M)."""
