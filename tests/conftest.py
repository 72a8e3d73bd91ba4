"""Fixtures that all tests share."""

from __future__ import annotations

from hypothesis import settings

# Kernels compile inside the first example: a deadline would measure the compiler.
settings.register_profile("fanwise", deadline=None)
settings.load_profile("fanwise")
