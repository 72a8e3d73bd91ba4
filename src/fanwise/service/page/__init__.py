"""The page for operators: what is served at ``/`` and below ``/page/``."""
