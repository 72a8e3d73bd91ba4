"""The linear relaxation, the inequalities that tighten it, and the bounds it proves."""
