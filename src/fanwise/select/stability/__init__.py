"""Plans that stay near the one in force."""
