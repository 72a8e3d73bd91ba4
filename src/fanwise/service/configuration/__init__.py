"""What the service is told: one TOML file, checked as a whole."""
