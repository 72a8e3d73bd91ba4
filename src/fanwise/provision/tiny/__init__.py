"""Tiny questions, of tens of pairs: every plan in a table, or one integer program."""
