"""Ruin and recreate on the rectangles of filters: how ``best`` improves an assignment."""
