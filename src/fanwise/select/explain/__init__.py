"""Why a selection is what it is."""
