"""What all families share: problem, solve, plan, bound and gap, checks."""
