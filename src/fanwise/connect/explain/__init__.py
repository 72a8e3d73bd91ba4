"""Why an overlay is what it is."""
