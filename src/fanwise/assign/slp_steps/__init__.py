"""The steps of SLP: sample, candidate filters, relaxation, rounding, assignment, adjustment."""
