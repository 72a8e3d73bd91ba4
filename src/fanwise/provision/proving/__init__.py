"""Certificates of bounds: who pays for incoming copies, the leaves of a search, least rent."""
