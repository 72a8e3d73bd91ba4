"""Prices that prove bounds: from a linear programme, from the greedy algorithms, evaluated."""
