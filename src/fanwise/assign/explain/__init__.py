"""Why an assignment is what it is."""
