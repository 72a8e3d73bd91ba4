"""Why a wiring is what it is."""
