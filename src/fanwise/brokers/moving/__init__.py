"""Where clients should be at home: what they publish, what that costs, and which moves pay."""
