"""What families share on plain arrays."""
